//! Stateless translation between IPv4 and IPv6: there and back, and the tables of RFC 7915.

use crate::nat::packets::*;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ip::header;
use node::Frame;
use node::random::Random;
use packet::ethernet::ethertype;
use packet::icmpv6::Icmpv6;
use packet::ipv6::{Ipv6, Ipv6View};
use packet::udp::Udp;
use router::siit::{Config, Siit, Verdict};

const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const ROUTER: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

fn host_v6() -> Ipv6Addr {
    "2001:db8::46".parse().unwrap()
}

fn server_v6() -> Ipv6Addr {
    "64:ff9b::198.51.100.7".parse().unwrap()
}

fn siit() -> Siit {
    Siit::new(Config {
        pairs: vec![(HOST, host_v6()).into()],
        router: Some(ROUTER),
        ..Config::default()
    })
    .unwrap()
}

/// Translates to IPv6, and checks lengths, addresses and checksums.
fn to_v6(siit: &Siit, frame: &Frame) -> Frame {
    let mut frame = frame.clone();
    let verdict = siit.to_v6(&mut frame);
    assert!(matches!(verdict, Verdict::Translated { .. }), "{verdict:?}");
    assert_eq!(frame[12..14], ethertype::IPV6.to_be_bytes());
    let view = Ipv6View::new(&frame[14..]).unwrap();
    assert_eq!(frame.len(), 54 + view.payload().len(), "no padding");
    if view.next_header() != 44 {
        let read = header::read(&frame).expect("an IPv6 packet");
        assert!(header::is_valid(&frame, &read));
    }
    frame
}

fn to_v4(siit: &mut Siit, frame: &Frame) -> Frame {
    let mut frame = frame.clone();
    let verdict = siit.to_v4(&mut frame);
    assert!(matches!(verdict, Verdict::Translated { .. }), "{verdict:?}");
    assert_eq!(frame[12..14], ethertype::IPV4.to_be_bytes());
    if u16::from_be_bytes([frame[20], frame[21]]) & 0x3FFF == 0 {
        let read = header::read(&frame).expect("an IPv4 packet with a right checksum");
        assert!(header::is_valid(&frame, &read));
    }
    frame
}

fn random_packet(random: &mut Random) -> Packet {
    let body = match random.below(6) {
        0 => Body::Udp(true),
        1 => Body::Tcp(random.below(64) as u8),
        2 => Body::Query(8),
        3 => Body::Query(0),
        _ => Body::Other([50, 33, 136][random.index(3)]),
    };
    let mut ends = [(HOST, 1_024 + random.below(9) as u16), (SERVER, 53)];
    if random.below(2) == 0 {
        ends.reverse();
    }
    if let Body::Query(_) = body {
        ends[1].1 = 0;
    }
    let mut packet = Packet::new(ends[0], ends[1], body);
    packet.data = (0..random.below(60)).map(|n| n as u8 ^ 0x35).collect();
    packet.padding = random.index(9);
    packet
}

#[test]
fn packets_come_back_as_they_were() {
    let (mut siit, mut random) = (siit(), Random::new(1));
    for number in 0..20_000 {
        let mut packet = random_packet(&mut random);
        let is_error = number % 4 == 0;
        if is_error {
            packet.padding = 0;
            let quoted = Box::new(packet.clone());
            let length = 28 + 2 * random.index(30);
            let (source, destination) = (packet.destination.0, packet.source.0);
            packet = Packet::new(
                (source, 0),
                (destination, 0),
                Body::Error(11, quoted, length),
            );
        }
        packet.has_options = random.below(4) == 0;
        let there = to_v6(&siit, &packet.frame());
        let back = to_v4(&mut siit, &there);
        // Options are gone, and the packet may be fragmented.
        packet.has_options = false;
        packet.padding = 0;
        let mut expected = packet.frame();
        let clean = |frame: &mut Frame, at: usize| {
            frame[at + 4..at + 8].fill(0);
            frame[at + 10..at + 12].fill(0);
        };
        let mut back = back.clone();
        clean(&mut back, 14);
        clean(&mut expected, 14);
        if is_error {
            // The error's own checksum covers the quoted identification, and the unused field is
            // zero.
            for frame in [&mut back, &mut expected] {
                clean(frame, 42);
                frame[36..42].fill(0);
            }
        }
        assert_eq!(back[..], expected[..], "{packet:?}");
    }
}

#[test]
fn fragments_keep_their_place_and_checksum() {
    let mut siit = siit();
    let mut packet = Packet::udp((HOST, 5_000), (SERVER, 53));
    packet.data = vec![9; 64];
    let mut first = packet.frame();
    first[20] = 0x20;
    let mut last = packet.frame();
    last[20..22].copy_from_slice(&[0, 9]);
    for (fragment, place) in [(first, 1), (last, 9 << 3)] {
        let there = to_v6(&siit, &fragment);
        let view = Ipv6View::new(&there[14..]).unwrap();
        assert_eq!((view.next_header(), there[54]), (44, 17));
        assert_eq!(u16::from_be_bytes([there[56], there[57]]), place);
        assert_eq!(there[58..62], [0, 0, 0x12, 0x34]);
        let back = to_v4(&mut siit, &there);
        assert_eq!(back[18..22], fragment[18..22]);
        assert_eq!(back[34..], fragment[34..]);
    }
    let mut ping = Packet::new((HOST, 7), (SERVER, 0), Body::Query(8)).frame();
    ping[20] = 0x20;
    assert!(matches!(siit.to_v6(&mut ping), Verdict::Drop(_)));
}

#[test]
fn a_udp_checksum_is_made_where_there_is_none() {
    let frame = Packet::new((HOST, 5_000), (SERVER, 53), Body::Udp(false)).frame();
    let there = to_v6(&siit(), &frame);
    assert_ne!(there[60..62], [0, 0]);
}

/// An IPv6 packet in a frame.
fn v6(source: Ipv6Addr, destination: Ipv6Addr, number: u8, payload: &[u8]) -> Frame {
    let mut bytes = vec![0; 12];
    bytes.extend(ethertype::IPV6.to_be_bytes());
    Ipv6::new(source, destination, number).build(&mut bytes, |out| out.extend(payload));
    Frame::new(&bytes)
}

fn datagram_v6(size: usize) -> Vec<u8> {
    let pseudo = packet::checksum::Pseudo::ipv6(server_v6().octets(), host_v6().octets(), 17);
    let mut out = Vec::new();
    let udp = Udp {
        source_port: 53,
        destination_port: 5_000,
    };
    udp.build(pseudo, &mut out, |out| out.resize(out.len() + size, 7));
    out
}

#[test]
fn short_packets_may_be_fragmented_and_long_ones_not() {
    let mut siit = siit();
    for (size, bits) in [(100, 0), (1_232, 0), (1_233, 0x40)] {
        let frame = v6(server_v6(), host_v6(), 17, &datagram_v6(size));
        let back = to_v4(&mut siit, &frame);
        assert_eq!(back[20], bits, "{size}");
        assert_eq!(back[18..20] == [0, 0], bits == 0x40);
    }
}

#[test]
fn extension_headers_are_skipped_but_no_route() {
    let mut siit = siit();
    let datagram = datagram_v6(5);
    let options = [[60, 0, 1, 4, 0, 0, 0, 0], [17, 0, 1, 4, 0, 0, 0, 0]].concat();
    let frame = v6(
        server_v6(),
        host_v6(),
        0,
        &[&options[..], &datagram].concat(),
    );
    let back = to_v4(&mut siit, &frame);
    assert_eq!((back[23], back.len()), (17, 34 + datagram.len()));
    for (left, is_dropped) in [(0, false), (1, true)] {
        let route = [17, 0, 2, left, 0, 0, 0, 0];
        let mut frame = v6(
            server_v6(),
            host_v6(),
            43,
            &[&route[..], &datagram].concat(),
        );
        let verdict = siit.to_v4(&mut frame);
        assert_eq!(matches!(verdict, Verdict::Drop(_)), is_dropped);
    }
    // In IPv4, too: loose source route, not used up.
    let mut frame = Packet {
        has_options: true,
        ..Packet::udp((HOST, 5_000), (SERVER, 53))
    }
    .frame();
    frame[34..38].copy_from_slice(&[131, 3, 4, 0]);
    assert!(matches!(
        siit.to_v6(&mut frame.clone()),
        Verdict::Translated { .. }
    ));
    frame[36] = 3;
    assert_eq!(siit.to_v6(&mut frame), Verdict::Drop("source route"));
}

/// An ICMP error about a datagram of the host, with a type, a code and the four bytes after the
/// checksum.
fn error_v4([kind, code]: [u8; 2], rest: u32) -> Frame {
    let quoted = Box::new(Packet::udp((HOST, 5_000), (SERVER, 53)));
    let error = Body::Error(kind, quoted, 28);
    let mut frame = Packet::new((ROUTER_OUTSIDE, 0), (HOST, 0), error).frame();
    frame[35] = code;
    frame[36..38].fill(0);
    frame[38..42].copy_from_slice(&rest.to_be_bytes());
    let sum = packet::checksum::checksum(&frame[34..]);
    frame[36..38].copy_from_slice(&sum.to_be_bytes());
    frame
}

const ROUTER_OUTSIDE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);

#[test]
fn errors_become_those_of_the_tables() {
    let siit = siit();
    for (from, rest, expected) in [
        ([3, 0], 0, Some((1, 0, 0))),
        ([3, 1], 0, Some((1, 0, 0))),
        ([3, 2], 0, Some((4, 1, 6))),
        ([3, 3], 0, Some((1, 4, 0))),
        ([3, 4], 1_400, Some((2, 0, 1_420))),
        ([3, 4], 1_490, Some((2, 0, 1_500))),
        ([3, 4], 0, Some((2, 0, 1_280))),
        ([3, 13], 0, Some((1, 1, 0))),
        ([3, 14], 0, None),
        ([4, 0], 0, None),
        ([5, 1], 0, None),
        ([11, 0], 0, Some((3, 0, 0))),
        ([11, 1], 0, Some((3, 1, 0))),
        ([12, 0], 8 << 24, Some((4, 0, 7))),
        ([12, 0], 17 << 24, Some((4, 0, 24))),
        ([12, 0], 10 << 24, None),
    ] {
        let mut frame = error_v4(from, rest);
        let Some((kind, code, rest)) = expected else {
            assert!(
                matches!(siit.to_v6(&mut frame), Verdict::Drop(_)),
                "{from:?}"
            );
            continue;
        };
        let there = to_v6(&siit, &frame);
        assert_eq!(there[54..56], [kind, code], "{from:?}");
        assert_eq!(there[58..62], u32::to_be_bytes(rest), "{from:?} {rest}");
        // The quoted packet, as the host has sent it.
        let quoted = Ipv6View::new_cut(&there[62..]).unwrap();
        assert_eq!(
            (quoted.source(), quoted.destination()),
            (host_v6(), server_v6())
        );
    }
}

#[test]
fn errors_of_ipv6_become_those_of_the_tables() {
    let mut siit = siit();
    let own: Ipv6Addr = "2001:db8::1".parse().unwrap();
    let quoted = v6(server_v6(), host_v6(), 17, &datagram_v6(1_000));
    for (kind, code, rest, expected) in [
        (1, 0, 0, Some((3, 1, 0))),
        (1, 1, 0, Some((3, 10, 0))),
        (1, 4, 0, Some((3, 3, 0))),
        (1, 5, 0, None),
        (2, 0, 1_400, Some((3, 4, 1_380))),
        (2, 0, 9_000, Some((3, 4, 1_480))),
        (3, 0, 0, Some((11, 0, 0))),
        (4, 0, 7, Some((12, 0, 8 << 24))),
        (4, 0, 41, None),
        (4, 1, 0, Some((3, 2, 0))),
        (4, 2, 0, None),
        (135, 0, 0, None),
    ] {
        let pseudo = packet::checksum::Pseudo::ipv6(own.octets(), server_v6().octets(), 58);
        let mut message = Vec::new();
        let error = Icmpv6::Other { kind, code, rest };
        error.build(pseudo, &mut message, |out| out.extend(&quoted[14..]));
        let mut frame = v6(own, server_v6(), 58, &message);
        let Some((kind, code, rest)) = expected else {
            assert!(
                matches!(siit.to_v4(&mut frame), Verdict::Drop(_)),
                "{kind} {code}"
            );
            continue;
        };
        let back = to_v4(&mut siit, &frame);
        assert_eq!(back[34..36], [kind, code]);
        assert_eq!(back[38..42], u32::to_be_bytes(rest), "{kind} {code}");
        assert_eq!(back.len(), 14 + 576, "no longer than IPv4's errors are");
        let read = header::read(&back).unwrap();
        assert_eq!(
            read.source,
            IpAddr::V4(ROUTER),
            "a router without an IPv4 address"
        );
        assert_eq!(back[54..58], SERVER.octets());
        assert_eq!(back[58..62], HOST.octets());
    }
}

#[test]
fn a_protocol_of_the_other_version_is_dropped() {
    let mut siit = siit();
    for number in [0, 43, 44, 58, 60] {
        let mut frame = Packet::new((HOST, 0), (SERVER, 0), Body::Other(number)).frame();
        assert!(
            matches!(siit.to_v6(&mut frame), Verdict::Drop(_)),
            "{number}"
        );
    }
    let mut frame = v6(server_v6(), host_v6(), 1, &[8, 0, 0, 0, 0, 0, 0, 0]);
    assert!(matches!(siit.to_v4(&mut frame), Verdict::Drop(_)));
}

#[test]
fn garbage_does_no_harm() {
    let (mut siit, mut random) = (siit(), Random::new(9));
    for number in 0..60_000 {
        let mut packet = random_packet(&mut random);
        if number % 3 == 0 {
            let quoted = Box::new(packet.clone());
            packet = Packet::new((SERVER, 0), (HOST, 0), Body::Error(3, quoted, 48));
        }
        let mut frame = packet.frame();
        if number % 2 == 0 {
            frame = to_v6(&siit, &frame);
        }
        for _ in 0..random.below(4) {
            let at = random.index(frame.len());
            frame[at] = random.bits() as u8;
        }
        if random.below(3) == 0 {
            frame.resize(random.index(frame.len() + 30));
        }
        match number % 2 {
            0 => siit.to_v4(&mut frame),
            _ => siit.to_v6(&mut frame),
        };
    }
}

#[cfg(feature = "serde")]
#[test]
fn keys_are_read_and_unknown_ones_refused() {
    let text = "prefix = \"2001:db8::/32\"\npairs = [\"192.0.0.1 2001:db8::46\"]\nmtu_v6 = 1400";
    let config: Config = toml::from_str(text).unwrap();
    let expected = Config {
        prefix: "2001:db8::/32".parse().unwrap(),
        pairs: vec![(HOST, host_v6()).into()],
        mtu_v6: 1_400,
        ..Config::default()
    };
    assert_eq!(config, expected);
    assert!(toml::from_str::<Config>("prefixes = 1").is_err());
    for config in [
        Config {
            mtu_v6: 1_279,
            ..Config::default()
        },
        Config {
            mtu_v4: 67,
            ..Config::default()
        },
        Config {
            pairs: vec![(HOST, host_v6()).into(), (HOST, server_v6()).into()],
            ..Config::default()
        },
    ] {
        assert!(Siit::new(config).is_err());
    }
}
