use super::*;
use crate::ethernet::{Ethernet, Mac};
use crate::flow::five_tuple;
use crate::gre::Gre;
use crate::icmp::Icmp;
use crate::ip::IpView;
use crate::ipv4::Ipv4;
use crate::ipv6::Ipv6;
use crate::tcp::{Tcp, TcpOption};
use crate::udp::Udp;
use crate::vlan::untagged;
use crate::vxlan::Vxlan;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};
use proptest::prelude::*;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const UDP: Udp = Udp {
    source_port: 4000,
    destination_port: 53,
};

fn frame(tags: &[Tag], kind: u16, payload: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let header = Ethernet {
        destination: Mac([2, 0, 0, 0, 0, 2]),
        source: Mac([2, 0, 0, 0, 0, 1]),
        tags,
        ethertype: kind,
    };
    let mut frame = Vec::new();
    header.build(&mut frame, payload);
    frame
}

fn udp_over_ipv4(out: &mut Vec<u8>) {
    let ip = Ipv4::new(A, B, protocol::UDP);
    ip.build(out, |out| {
        UDP.build(ip.pseudo(), out, |out| out.extend(b"data"))
    });
}

/// Each header by its name and place; then what is behind the last one, and where.
fn names(frame: &[u8]) -> (Vec<(&'static str, usize)>, Next, usize) {
    let mut walk = layers(frame);
    let names = walk.by_ref().map(|layer| {
        let name = match layer.header {
            Header::Ethernet(_) => "ethernet",
            Header::Tag(_) => "tag",
            Header::Label(_) => "label",
            Header::Arp(_) => "arp",
            Header::Ipv4(_) => "ipv4",
            Header::Ipv6(_) => "ipv6",
            Header::Extension(_) => "extension",
            Header::Tcp(_) => "tcp",
            Header::Udp(_) => "udp",
            Header::Icmp(_) => "icmp",
            Header::Icmpv6(_) => "icmpv6",
            Header::Gre(_) => "gre",
            Header::Vxlan(_) => "vxlan",
            Header::Geneve(_) => "geneve",
            Header::Pppoe(_) => "pppoe",
        };
        (name, layer.at)
    });
    (names.collect(), walk.next_header(), walk.at())
}

#[test]
fn tags_and_options_are_walked_over() {
    let ip = Ipv4 {
        options: &[148, 4, 0, 0],
        ..Ipv4::new(A, B, protocol::TCP)
    };
    let tcp = Tcp {
        source_port: 80,
        destination_port: 4000,
        sequence: 1,
        acknowledgement: 2,
        flags: 0,
        window: 3,
        urgent: 0,
        options: &[TcpOption::MaximumSegment(1460)],
    };
    let mut frame = frame(&[Tag::new(7), Tag::new(8)], ethertype::IPV4, |out| {
        ip.build(out, |out| {
            tcp.build(ip.pseudo(), out, |out| out.extend(b"data"))
        });
    });
    let end = frame.len();
    frame.extend([0; 9]);
    let all = [
        ("ethernet", 0),
        ("tag", 14),
        ("tag", 18),
        ("ipv4", 22),
        ("tcp", 46),
    ];
    assert_eq!(names(&frame), (all.to_vec(), Next::Data, 70));
    let mut walk = layers(&frame);
    assert_eq!(walk.by_ref().count(), 5);
    // The padding does not count.
    assert_eq!((walk.rest(), walk.at() + 4), (&b"data"[..], end));
    assert_eq!((walk.bad(), walk.cut()), (None, None));
}

#[test]
fn extension_headers_are_walked_over_up_to_a_later_fragment() {
    let options = Extension {
        kind: protocol::DESTINATION,
        bytes: &[0, 0, 1, 4, 0, 0, 0, 0],
    };
    let part = |bytes| Extension {
        kind: protocol::FRAGMENT,
        bytes,
    };
    let walked = |extensions: &[Extension<'_>]| {
        let ip = Ipv6 {
            extensions,
            ..Ipv6::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, protocol::UDP)
        };
        names(&frame(&[], ethertype::IPV6, |out| {
            ip.build(out, |out| UDP.build(ip.pseudo(), out, |_| ()));
        }))
    };
    let mut all = [
        ("ethernet", 0),
        ("ipv6", 14),
        ("extension", 54),
        ("extension", 62),
    ]
    .to_vec();
    let later = walked(&[options, part(&[0, 0, 0, 8, 0, 0, 0, 9])]);
    assert_eq!(later, (all.clone(), Next::LaterFragment(17), 70));
    all.push(("udp", 70));
    let first = walked(&[options, part(&[0, 0, 0, 1, 0, 0, 0, 9])]);
    assert_eq!(first, (all, Next::Data, 78));
}

#[test]
fn tunnels_are_walked_into() {
    let inner = frame(&[Tag::new(5)], ethertype::ARP, |_| ());
    let mut arp = Vec::new();
    Arp::request(Mac([2, 0, 0, 0, 0, 1]), A, B).build(&mut arp);
    let vxlan = Vxlan { network: 9 };
    let to_vxlan = Udp {
        destination_port: vxlan::PORT,
        ..UDP
    };
    let gre = Gre {
        protocol: ethertype::MPLS,
        checksum: true,
        key: Some(3),
        sequence: None,
    };
    let label = Label {
        label: 100,
        class: 0,
        ttl: 64,
    };
    let outer = Ipv4::new(A, B, protocol::GRE);
    let middle = Ipv4::new(A, B, protocol::UDP);
    let nested = frame(&[], ethertype::IPV4, |out| {
        outer.build(out, |out| {
            gre.build(out, |out| {
                crate::mpls::build(&[label, label], out);
                middle.build(out, |out| {
                    to_vxlan.build(middle.pseudo(), out, |out| {
                        vxlan.build(out, |out| out.extend(inner.iter().chain(&arp)));
                    });
                });
            });
        });
    });
    let all = [
        ("ethernet", 0),
        ("ipv4", 14),
        ("gre", 34),
        ("label", 46),
        ("label", 50),
        ("ipv4", 54),
        ("udp", 74),
        ("vxlan", 82),
        ("ethernet", 90),
        ("tag", 104),
        ("arp", 108),
    ];
    assert_eq!(names(&nested), (all.to_vec(), Next::Data, 136));
}

#[test]
fn what_is_cut_off_or_malformed_is_told_with_its_place() {
    let whole = frame(&[Tag::new(5)], ethertype::IPV4, udp_over_ipv4);
    for (length, bad, at) in [
        (13, "Ethernet header cut off", 0),
        (17, "VLAN tag cut off", 14),
        (37, "IPv4 header cut off", 18),
        (45, "UDP header cut off", 38),
    ] {
        let mut walk = layers(&whole[..length]);
        walk.by_ref().for_each(drop);
        assert_eq!((walk.bad(), walk.at()), (Some(BadHeader(bad)), at));
        assert!(walk.next().is_none());
    }
    let mut walk = layers(&whole[..47]);
    assert_eq!(walk.by_ref().count(), 4);
    let cut = Some(BadHeader("IPv4 packet cut off"));
    assert_eq!((walk.bad(), walk.cut(), walk.rest().len()), (None, cut, 1));

    let mut long = whole.clone();
    long[43] = 200;
    let mut walk = layers(&long);
    assert_eq!(walk.by_ref().count(), 4);
    assert_eq!(walk.cut(), Some(BadHeader("UDP datagram cut off")));
    // The first fragment of a longer datagram is whole.
    long[24] = 0x20;
    let mut walk = layers(&long);
    assert_eq!((walk.by_ref().count(), walk.cut()), (4, None));
}

/// A frame of TCP with four bytes of payload, whose IPv4 total length and whose header length in
/// words are these.
fn tcp_with(total: Option<u16>, words: u8) -> Vec<u8> {
    let ip = Ipv4::new(A, B, protocol::TCP);
    let tcp = Tcp {
        source_port: 80,
        destination_port: 4000,
        sequence: 1,
        acknowledgement: 2,
        flags: 0,
        window: 3,
        urgent: 0,
        options: &[],
    };
    let mut frame = frame(&[], ethertype::IPV4, |out| {
        ip.build(out, |out| {
            tcp.build(ip.pseudo(), out, |out| out.extend(b"data"))
        });
    });
    if let Some(total) = total {
        frame[16..18].copy_from_slice(&total.to_be_bytes());
    }
    frame[46] = words << 4;
    frame
}

#[test]
fn a_header_length_of_tcp_that_makes_no_sense_leaves_the_ports() {
    for (words, wrong, payload) in [
        (5, None, 4),
        (6, None, 0),
        (7, Some("TCP options cut off"), 0),
        (15, Some("TCP options cut off"), 0),
        (4, Some("TCP header length below 20"), 4),
        (0, Some("TCP header length below 20"), 4),
    ] {
        let bytes = tcp_with(None, words);
        let mut walk = layers(&bytes);
        let tcp = walk.find_map(|layer| match layer.header {
            Header::Tcp(tcp) => Some(tcp),
            _ => None,
        });
        let tcp = tcp.expect("the header is there");
        assert_eq!((tcp.source_port(), tcp.destination_port()), (80, 4000));
        assert_eq!(tcp.header_length(), usize::from(words) * 4);
        assert_eq!(tcp.payload().len(), payload, "{words}");
        let wrong = wrong.map(BadHeader);
        assert_eq!(
            (tcp.bad_length(), walk.cut(), walk.bad()),
            (wrong, wrong, None)
        );
        assert_eq!(TcpView::new(&bytes[34..]).err(), wrong);
    }
}

#[test]
fn a_total_length_of_zero_goes_to_the_end_and_one_below_the_header_nowhere() {
    for protocol in [protocol::TCP, protocol::UDP, protocol::ICMP] {
        let mut bytes = frame(&[], ethertype::IPV4, |out| {
            Ipv4::new(A, B, protocol).build(out, |out| out.extend([0; 60]));
        });
        bytes[16..18].fill(0);
        let mut walk = layers(&bytes);
        let ip = walk.find_map(|layer| match layer.header {
            Header::Ipv4(ip) => Some(ip.payload().len()),
            _ => None,
        });
        assert_eq!((ip, walk.cut()), (Some(60), None));
    }
    let bytes = tcp_with(Some(19), 5);
    let mut walk = layers(&bytes);
    assert_eq!(walk.by_ref().count(), 2);
    let wrong = Some(BadHeader("IPv4 total length below the header's"));
    assert_eq!(
        (walk.cut(), walk.bad(), walk.rest().len()),
        (wrong, None, 0)
    );
}

#[test]
fn a_length_of_udp_below_its_header_leaves_the_ports() {
    for length in 0..8 {
        let mut bytes = frame(&[], ethertype::IPV4, udp_over_ipv4);
        bytes[39] = length;
        let mut walk = layers(&bytes);
        let udp = walk.find_map(|layer| match layer.header {
            Header::Udp(udp) => Some((udp.source_port(), udp.payload().len())),
            _ => None,
        });
        assert_eq!(udp, Some((4000, 0)));
        assert_eq!(walk.cut(), Some(BadHeader("UDP length below 8")));
    }
}

#[test]
fn a_packet_claims_no_more_than_there_was_on_the_wire() {
    // Of 44 bytes, 24 behind the header; the claim is in bytes beyond them.
    for (total, captured, length, beyond) in [
        (Some(144), 58, None, 100),
        (Some(144), 58, Some(58), 0),
        (Some(144), 58, Some(98), 40),
        (Some(144), 58, Some(1000), 100),
        (None, 56, Some(58), 2),
        (None, 58, Some(1000), 0),
        (Some(0), 58, Some(1000), 942),
        (Some(0), 58, None, 0),
    ] {
        let bytes = tcp_with(total, 5);
        let walk = layers(&bytes[..captured]);
        let mut walk = match length {
            Some(length) => walk.of_length(length),
            None => walk,
        };
        walk.by_ref().for_each(drop);
        assert_eq!(walk.beyond(), beyond, "{total:?} {captured} {length:?}");
        let claims = total.is_some_and(|total| usize::from(total) > captured - 14);
        assert_eq!(walk.cut().is_some(), claims || captured < 58);
    }
}

#[test]
fn what_is_not_known_is_left_with_its_number() {
    let other = frame(&[], 0x88F7, |out| out.extend([1; 46]));
    assert_eq!(names(&other).1, Next::Ethertype(0x88F7));
    let spanning_tree = frame(&[], 38, |out| out.extend([0x42; 38]));
    assert_eq!(names(&spanning_tree).1, Next::Ethertype(38));
    let sctp = frame(&[], ethertype::IPV4, |out| {
        Ipv4::new(A, B, protocol::SCTP).build(out, |out| out.extend([0; 12]));
    });
    assert_eq!(names(&sctp).1, Next::Protocol(132));
    // Of IPv4 these numbers are those of no header that is known.
    let options = frame(&[], ethertype::IPV4, |out| {
        Ipv4::new(A, B, protocol::DESTINATION)
            .build(out, |out| out.extend([17, 0, 0, 0, 0, 0, 0, 0]));
    });
    assert_eq!(names(&options).1, Next::Protocol(60));
}

#[test]
fn a_walk_may_begin_at_any_header() {
    let mut packet = Vec::new();
    let echo = Icmp::EchoRequest {
        identification: 7,
        sequence: 1,
    };
    Ipv4::new(A, B, protocol::ICMP).build(&mut packet, |out| echo.build(out, |_| ()));
    let mut walk = Layers::new(Next::Ethertype(ethertype::IPV4), &packet);
    assert_eq!(walk.by_ref().count(), 2);
    assert_eq!((walk.at(), walk.rest().len()), (28, 0));
}

/// What every walk holds to.
fn holds(frame: &[u8]) -> Result<(), TestCaseError> {
    let mut walk = layers(frame);
    let (mut behind, mut outermost) = (0, None);
    while let Some(layer) = walk.next() {
        prop_assert!(layer.at == behind && walk.at() >= layer.at + 4);
        behind = walk.at();
        prop_assert!(behind + walk.rest().len() <= frame.len());
        prop_assert_eq!(&frame[behind..][..walk.rest().len()], walk.rest());
        let addresses = match layer.header {
            Header::Ipv4(ip) => Some((ip.source().into(), ip.destination().into())),
            Header::Ipv6(ip) => Some((ip.source().into(), ip.destination().into())),
            _ => None,
        };
        outermost = outermost.or(addresses);
    }
    prop_assert!(walk.next().is_none());
    // The five-tuple is that of the outermost packet behind tags.
    if let (Some(tuple), Some((source, destination))) = (five_tuple(frame), outermost) {
        let packet = untagged(frame).and_then(|(kind, packet)| IpView::new(kind, packet).ok());
        if packet.is_some() {
            prop_assert_eq!((tuple.source, tuple.destination), (source, destination));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_walked_over_within_their_bounds(
        kind in prop_oneof![
            Just(ethertype::IPV4), Just(ethertype::IPV6), Just(ethertype::ARP), Just(ethertype::MPLS),
            Just(ethertype::VLAN), Just(ethertype::BRIDGED), any::<u16>(),
        ],
        first in prop_oneof![Just(0x45u8), Just(0x46), Just(0x60), any::<u8>()],
        rest: Vec<u8>,
    ) {
        let mut bytes = frame(&[], kind, |out| out.push(first));
        bytes.extend(rest);
        holds(&bytes)?;
    }

    #[test]
    fn damaged_packets_are_walked_over_within_their_bounds(
        number in prop_oneof![Just(4u8), Just(6), Just(17), Just(41), Just(43), Just(44), Just(47), Just(51), Just(60), any::<u8>()],
        six: bool, payload in proptest::collection::vec(any::<u8>(), 0..120), at: usize, value: u8, length: usize,
    ) {
        let mut bytes = frame(&[Tag::new(1)], if six { ethertype::IPV6 } else { ethertype::IPV4 }, |out| match six {
            true => Ipv6::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, number).build(out, |out| out.extend(&payload)),
            false => Ipv4::new(A, B, number).build(out, |out| out.extend(&payload)),
        });
        holds(&bytes)?;
        let at = at % bytes.len();
        bytes[at] = value;
        bytes.truncate(length % (bytes.len() + 1));
        holds(&bytes)?;
    }
}
