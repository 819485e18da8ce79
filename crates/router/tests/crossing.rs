//! Translation between IPv4 and IPv6 in a router: ports 0 and 1 are the IPv6 side, port 2 with 10.0.2.1 the IPv4 side.

use crate::hand::*;
use core::net::IpAddr;
use ip::header;
use node::{Frame, Node, Out};
use packet::checksum::checksum;
use router::nat::{self, config::Behaviour};
use router::router::{Config, Router};
use router::{nat64, siit};

const PREFIX: &str = "2001:db8:64::/96";
const SERVER: &str = "2001:db8:64::198.51.100.7";

fn nat64(external: &[&str], change: impl FnOnce(&mut nat64::Config)) -> Hand {
    let external = external.iter().map(|text| text.parse().unwrap());
    let mut keys = nat64::Config {
        prefix: PREFIX.parse().unwrap(),
        nat: nat::Config {
            external: external.collect(),
            ..nat::Config::default()
        },
        ..nat64::Config::default()
    };
    change(&mut keys);
    let mut config = config(3, &["default via 10.0.2.9"]);
    config.port[2].outside = true;
    config.port[2].mtu = 1_400;
    let mut hand = Hand::new(Config {
        nat64: Some(keys),
        ..config
    });
    hand.learn(0, 2);
    hand.learn(1, 3);
    hand.learn(2, 9);
    hand
}

/// A CLAT: hosts on port 0 have pairs, the rest of IPv4 is beyond port 2.
fn clat() -> Hand {
    let mut config = config(3, &["default via fd00:2::9"]);
    config.port[2].mtu = 1_400;
    let mut hand = Hand::new(Config {
        siit: Some(siit::Config {
            prefix: PREFIX.parse().unwrap(),
            pairs: vec!["10.0.0.0/24 2001:db8:46::/120".parse().unwrap()],
            router: Some([192, 0, 0, 8].into()),
            ..siit::Config::default()
        }),
        ..config
    });
    for port in 0..3 {
        hand.learn(port, if port == 2 { 9 } else { port as u8 + 2 });
    }
    hand
}

/// Source and destination of the one packet that has left, and its port; its checksums are right.
fn one(sent: &Sent) -> (u16, IpAddr, IpAddr) {
    let [(port, frame)] = &sent[..] else {
        panic!("{} frames", sent.len());
    };
    let packet = header::read(frame).expect("a packet");
    assert!(header::is_valid(frame, &packet));
    (*port, packet.source, packet.destination)
}

/// The packet that goes back by port 2: addresses and ports change places.
fn answer(frame: &[u8]) -> Vec<u8> {
    let mut back = frame.to_vec();
    back[..6].copy_from_slice(&router_mac(2));
    back[6..12].copy_from_slice(&host_mac(2, 9));
    match back[14] >> 4 {
        4 => {
            back[26..34].rotate_left(4);
            back[34..38].rotate_left(2);
            back[22] = 64;
            ip_checksum(&mut back);
        }
        _ => {
            back[22..54].rotate_left(16);
            back[54..58].rotate_left(2);
            back[21] = 64;
        }
    }
    back
}

fn ip_checksum(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let sum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
}

/// A UDP datagram with a right checksum.
fn datagram(port: u16, host: u8, to: &str, size: usize) -> Vec<u8> {
    let mut frame = Frame::new(&udp(port, host, to, size, |_| {}));
    let packet = header::read(&frame).unwrap();
    let ends = [packet.source, packet.destination];
    header::write_udp(&mut frame, (ends[0], 1024), (ends[1], 53));
    frame.to_vec()
}

#[test]
fn a_host_with_ipv6_alone_reaches_an_ipv4_server() {
    let mut hand = nat64(&[], |_| {});
    let sent = hand.send(0, &datagram(0, 2, SERVER, 100));
    assert_eq!(
        one(&sent),
        (2, address("10.0.2.1"), address("198.51.100.7"))
    );
    assert_eq!(sent[0].1[22], 63, "one hop");
    let back = hand.send(2, &answer(&sent[0].1));
    assert_eq!(one(&back), (0, address(SERVER), address("fd00:0::2")));
    assert_eq!(back[0].1[56..58], [4, 0], "the host's port");
    assert_eq!([hand.counter("to_v4"), hand.counter("to_v6")], [1, 1]);
    let rows = hand.router.tables(hand.now).pop().unwrap();
    assert_eq!(rows.name, "nat64");
    assert!(
        rows.entries[0].starts_with("udp [fd00::2]:1024 10.0.2.1:"),
        "{rows:?}"
    );
    // Other IPv6 packets are only forwarded, and IPv4 packets for other addresses.
    let native = hand.send(0, &datagram(0, 2, "fd00:1::3", 100));
    assert_eq!(one(&native), (1, address("fd00::2"), address("fd00:1::3")));
    hand.learn(1, 3);
    let native = hand.send(1, &datagram(1, 3, "198.51.100.9", 100));
    assert_eq!(one(&native).1, address("10.0.1.3"));
}

#[test]
fn unsolicited_packets_and_loops_are_dropped() {
    let mut hand = nat64(&[], |_| {});
    assert!(hand.send(2, &datagram(2, 9, "10.0.2.1", 8)).is_empty());
    assert_eq!(hand.drops("inbound packet that no mapping admits"), 1);
    let mut looped = datagram(0, 2, SERVER, 8);
    looped[22..38].copy_from_slice(&match address("2001:db8:64::1.2.3.4") {
        IpAddr::V6(address) => address.octets(),
        IpAddr::V4(_) => unreachable!("an IPv6 address"),
    });
    assert!(hand.send(0, &looped).is_empty());
    assert_eq!(hand.drops("source in the prefix of the NAT64"), 1);
    assert_eq!(hand.counter("nat64_mappings_made"), 0);
}

#[test]
fn two_hosts_reach_each_other_by_their_external_endpoints() {
    let mut hand = nat64(&["203.0.113.1"], |keys| {
        keys.nat.filtering = Behaviour::EndpointIndependent;
    });
    let first = hand.send(0, &datagram(0, 2, SERVER, 8));
    let port = u16::from_be_bytes([first[0].1[34], first[0].1[35]]);
    let mut to = Frame::new(&udp(1, 3, "2001:db8:64::203.0.113.1", 8, |_| {}));
    let ends = (address("fd00:1::3"), address("2001:db8:64::203.0.113.1"));
    header::write_udp(&mut to, (ends.0, 7_000), (ends.1, port));
    let sent = hand.send(1, &to);
    let (by, from, destination) = one(&sent);
    assert_eq!((by, destination), (0, address("fd00::2")));
    assert_eq!(
        from,
        address("2001:db8:64::203.0.113.1"),
        "as RFC 6146 has it"
    );
    assert_eq!(hand.counter("nat64_hairpinned"), 1);
}

#[test]
fn hop_limits_end_at_the_router_with_its_own_address() {
    let mut hand = nat64(&[], |_| {});
    let mut last = datagram(0, 2, SERVER, 8);
    last[21] = 1;
    let sent = hand.send(0, &last);
    assert_eq!(icmp(&sent[0].1), Some((3, 0, address("fd00:0::1"))));
    let out = hand.send(0, &datagram(0, 2, SERVER, 8));
    let mut back = answer(&out[0].1);
    back[22] = 1;
    ip_checksum(&mut back);
    let sent = hand.send(2, &back);
    assert_eq!(icmp(&sent[0].1), Some((11, 0, address("10.0.2.1"))));
}

#[test]
fn long_packets_are_reported_in_the_senders_version_or_cut() {
    let mut hand = nat64(&[], |_| {});
    // 1452 bytes become 1432, more than the link's 1400.
    let sent = hand.send(0, &datagram(0, 2, SERVER, 1_452 - 48));
    assert_eq!(
        icmp(&sent[0].1).map(|found| (found.0, found.1)),
        Some((2, 0))
    );
    assert_eq!(one(&sent).2, address("fd00::2"));
    let mtu = u32::from_be_bytes(sent[0].1[58..62].try_into().unwrap());
    assert_eq!(mtu, 1_420);
    let out = hand.send(0, &datagram(0, 2, SERVER, mtu as usize - 48));
    assert_eq!((out[0].0, out[0].1.len()), (2, 14 + 1_400));
    // An inbound packet of 1490 bytes needs 1510, and the first port has 1500.
    let mut back = Frame::new(&answer(&out[0].1));
    back.resize(14 + 1_490);
    back[16..18].copy_from_slice(&1_490_u16.to_be_bytes());
    let ends = [address("198.51.100.7"), address("10.0.2.1")];
    let port = u16::from_be_bytes([back[36], back[37]]);
    back[40..42].fill(0);
    header::write_udp(&mut back, (ends[0], 53), (ends[1], port));
    back[20..22].copy_from_slice(&[0x40, 0]);
    ip_checksum(&mut back);
    let sent = hand.send(2, &back);
    assert_eq!(icmp(&sent[0].1), Some((3, 4, address("10.0.2.1"))));
    assert_eq!(sent[0].1[40..42], 1_480_u16.to_be_bytes());
    // Without the flag it is cut into fragments of 1280 bytes at most.
    back[20..22].copy_from_slice(&[0, 0]);
    ip_checksum(&mut back);
    let sent = hand.send(2, &back);
    let lengths: Vec<usize> = sent.iter().map(|(_, frame)| frame.len() - 14).collect();
    assert_eq!(lengths, [1_280, 1_490 - 20 + 40 + 8 + 48 - 1_280]);
}

#[test]
fn fragments_in_any_order_are_one_packet_for_the_nat64() {
    let mut hand = nat64(&[], |_| {});
    let whole = Frame::new(&datagram(0, 2, SERVER, 3_000));
    let mut pieces = Vec::new();
    let mut out = Out::default();
    ip::fragments::cut(whole, 1_280, 7, &mut out, |piece, _| pieces.push(piece));
    assert_eq!(pieces.len(), 3);
    for piece in pieces[1..].iter().rev() {
        assert!(hand.send(0, piece).is_empty());
    }
    let sent = hand.send(0, &pieces[0]);
    assert_eq!(sent.len(), 3, "cut by the IPv4 link's MTU");
    assert!(
        sent.iter()
            .all(|(port, frame)| *port == 2 && frame[26..30] == [10, 0, 2, 1])
    );
    assert_eq!(hand.counter("nat64_sessions_made"), 1);
}

#[test]
fn hosts_are_bounded_and_numbers_are_used_again() {
    let mut hand = nat64(&[], |keys| keys.hosts = 3);
    let from = |host: u8| {
        let mut frame = Frame::new(&udp(0, host, SERVER, 8, |_| {}));
        let own = address(&format!("fd00::{host}"));
        header::write_udp(&mut frame, (own, 1), (address(SERVER), 2));
        frame
    };
    for host in 2..=9 {
        hand.send(0, &from(host));
    }
    assert_eq!(hand.counter("to_v4"), 3);
    assert_eq!(hand.counter("nat64_over_hosts"), 5);
    hand.now += node::Time::from_secs(301);
    for host in 9..=13 {
        hand.send(0, &from(host));
    }
    assert_eq!(hand.counter("to_v4"), 6);
}

#[test]
fn a_prohibited_packet_is_reported_to_its_ipv6_host() {
    let mut hand = nat64(&[], |keys| keys.nat.sessions = 1);
    hand.send(0, &datagram(0, 2, SERVER, 8));
    let sent = hand.send(0, &datagram(0, 2, "2001:db8:64::198.51.100.8", 8));
    assert_eq!(
        icmp(&sent[0].1).map(|found| (found.0, found.1)),
        Some((1, 1))
    );
    assert_eq!(one(&sent).2, address("fd00::2"));
}

#[test]
fn a_next_hop_that_does_not_answer_is_reported_across() {
    let mut hand = nat64(&[], |_| {});
    let quiet = datagram(0, 2, "2001:db8:64::10.0.2.77", 8);
    let mut reports = hand.send(0, &quiet);
    while reports.iter().all(|(_, frame)| icmp(frame).is_none()) {
        reports = hand.wake();
    }
    let report = reports.into_iter().find(|(_, frame)| icmp(frame).is_some());
    let report = vec![report.unwrap()];
    assert_eq!(icmp(&report[0].1), Some((1, 0, address("fd00:0::1"))));
    assert_eq!(one(&report).2, address("fd00::2"));
}

#[test]
fn a_clat_translates_what_has_no_ipv4_route_and_its_answers() {
    let mut hand = clat();
    let sent = hand.send(0, &datagram(0, 2, "198.51.100.7", 100));
    let host = address("2001:db8:46::2");
    assert_eq!(one(&sent), (2, host, address(SERVER)));
    assert_eq!(sent[0].1[21], 63);
    let back = hand.send(2, &answer(&sent[0].1));
    assert_eq!(
        one(&back),
        (0, address("198.51.100.7"), address("10.0.0.2"))
    );
    // Hosts of both links still reach each other by IPv4, and all by IPv6.
    let native = hand.send(0, &datagram(0, 2, "10.0.1.3", 100));
    assert_eq!(one(&native).1, address("10.0.0.2"));
    let native = hand.send(1, &datagram(1, 3, "10.0.0.2", 100));
    assert_eq!(one(&native).2, address("10.0.0.2"));
    let native = hand.send(0, &datagram(0, 2, SERVER, 100));
    assert_eq!(one(&native), (2, address("fd00::2"), address(SERVER)));
    assert_eq!([hand.counter("to_v4"), hand.counter("to_v6")], [1, 1]);
}

#[test]
fn a_clat_answers_traceroute_and_long_packets_itself() {
    let mut hand = clat();
    let mut last = datagram(0, 2, "198.51.100.7", 8);
    last[22] = 1;
    ip_checksum(&mut last);
    let sent = hand.send(0, &last);
    assert_eq!(icmp(&sent[0].1), Some((11, 0, address("10.0.0.1"))));
    let mut long = datagram(0, 2, "198.51.100.7", 1_400 - 28);
    long[20] = 0x40;
    ip_checksum(&mut long);
    let sent = hand.send(0, &long);
    assert_eq!(icmp(&sent[0].1), Some((3, 4, address("10.0.0.1"))));
    assert_eq!(sent[0].1[40..42], 1_380_u16.to_be_bytes());
    // Fragments of 1500 bytes are cut again: they would be longer as IPv6 packets.
    let whole = Frame::new(&datagram(0, 2, "198.51.100.7", 2_000));
    let mut pieces = Vec::new();
    let mut out = Out::default();
    ip::fragments::cut(whole, 1_500, 7, &mut out, |piece, _| pieces.push(piece));
    let sent: Vec<_> = pieces
        .iter()
        .flat_map(|piece| hand.send(0, piece))
        .collect();
    let mut whole = ip::fragments::Reassembly::default();
    let mut found = None;
    for (_, frame) in &sent {
        assert!(frame.len() <= 14 + 1_280);
        let fragment = ip::fragments::Fragment::read(frame).expect("a fragment");
        found = whole
            .take(hand.now, fragment, Frame::new(frame), &mut out)
            .or(found);
    }
    let found = found.expect("a whole packet");
    let packet = header::read(&found).unwrap();
    assert!(header::is_valid(&found, &packet) && found.len() == 14 + 48 + 2_000);
}

#[test]
fn two_hosts_with_pairs_reach_each_other_over_ipv4_addresses() {
    let mut config = config(2, &[]);
    config.siit = Some(siit::Config {
        prefix: PREFIX.parse().unwrap(),
        pairs: vec![
            "192.0.2.2 fd00:0::2".parse().unwrap(),
            "192.0.2.3 fd00:1::3".parse().unwrap(),
        ],
        ..siit::Config::default()
    });
    let mut hand = Hand::new(config);
    hand.learn(0, 2);
    hand.learn(1, 3);
    let sent = hand.send(0, &datagram(0, 2, "2001:db8:64::192.0.2.3", 8));
    let from = address("2001:db8:64::192.0.2.2");
    assert_eq!(
        one(&sent),
        (1, from, address("fd00:1::3")),
        "RFC 7757 section 4.2"
    );
}

#[test]
fn a_router_has_one_translator_and_own_external_addresses() {
    let both = |change: fn(&mut Config)| {
        let mut keys = config(2, &[]);
        keys.port[1].outside = true;
        keys.nat64 = Some(nat64::Config::default());
        change(&mut keys);
        Router::new(keys).map(drop).unwrap_err().to_string()
    };
    let error = both(|keys| keys.siit = Some(siit::Config::default()));
    assert!(error.contains("one translator"), "{error}");
    let error = both(|keys| keys.nat = Some(nat::Config::default()));
    assert!(
        error.contains("10.0.1.1 is an external address of `nat`, too"),
        "{error}"
    );
}

/// The router `name` of a lab file.
#[cfg(feature = "serde")]
fn router_of(text: &str, name: &str) -> Config {
    let lab: toml::Table = text.parse().expect("TOML");
    let mut node = lab["node"][name].as_table().expect("a table").clone();
    for of_labs in ["kind", "program"] {
        node.remove(of_labs);
    }
    node.try_into().expect("a router")
}

#[test]
#[cfg(feature = "serde")]
fn the_routers_of_the_description_and_of_the_example_can_be_made() {
    let description = include_str!("../../lab/src/kinds/descriptions/router.toml");
    let example = include_str!("../../../examples/nat64/lab.toml");
    let described = router_of(description, "r");
    assert!(described.nat64.is_some() && described.port_mapping.is_some());
    assert!(router_of(example, "clat").siit.is_some());
    for (text, name) in [(description, "r"), (example, "clat"), (example, "plat")] {
        Router::new(router_of(text, name)).expect("a good configuration");
    }
}
