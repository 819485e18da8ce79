use crate::hand::*;
use node::{Node, Time};
use router::router::{Config, PortConfig, Router, reason};
use std::net::IpAddr;

#[test]
fn a_packet_goes_to_its_next_hop_with_one_hop_less() {
    let mut hand = Hand::new(config(
        2,
        &["192.0.2.0/24 via 10.0.1.9", "2001:db8::/32 via fd00:1::9"],
    ));
    hand.learn(1, 9);
    for (to, hops) in [("192.0.2.7", 22), ("2001:db8::7", 21)] {
        let sent = udp(0, 2, to, 100, |_| {});
        let got = hand.send(0, &sent);
        let [(1, frame)] = &got[..] else {
            panic!("{got:?}");
        };
        assert_eq!(frame[..6], host_mac(1, 9));
        assert_eq!(frame[6..12], router_mac(1));
        assert_eq!(frame[hops], sent[hops] - 1);
        assert_eq!(frame[34..], sent[34..]);
    }
    assert_eq!(hand.counter("forwarded"), 2);
}

#[test]
fn a_network_on_a_link_needs_no_address_of_the_router_in_it() {
    let mut hand = Hand::new(config(2, &["192.0.2.0/24 dev 1", "2001:db8::/64 dev 1"]));
    let asked = hand.send(0, &udp(0, 2, "192.0.2.7", 100, |_| {}));
    let [(1, request)] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(request[28..32], [10, 0, 1, 1]);
    assert_eq!(request[38..42], [192, 0, 2, 7]);
    let asked = hand.send(0, &udp(0, 2, "2001:db8::7", 100, |_| {}));
    let [(1, request)] = &asked[..] else {
        panic!("{asked:?}");
    };
    let IpAddr::V6(target) = address("2001:db8::7") else {
        unreachable!("an IPv6 address")
    };
    assert_eq!(request[62..78], target.octets());
}

#[test]
fn a_next_hop_that_does_not_answer_is_reported_to_each_sender_after_three_seconds() {
    let mut hand = Hand::new(config(2, &[]));
    hand.learn(0, 2);
    hand.learn(0, 3);
    for (to, kind, code) in [("10.0.1.7", 3, 1), ("fd00:1::7", 1, 3)] {
        let start = hand.now;
        // One question, whatever waits.
        let asked = hand.send(0, &udp(0, 2, to, 10, |_| {}));
        assert_eq!(asked.len(), 1);
        assert!(hand.send(0, &udp(0, 3, to, 10, |_| {})).is_empty());
        let mut reports = Vec::new();
        while reports.is_empty() {
            let sent = hand.wake();
            reports = sent
                .iter()
                .filter_map(|(port, frame)| Some((*port, icmp(frame)?)))
                .collect();
            reports.retain(|(_, (kind, ..))| *kind != 135);
        }
        assert_eq!(hand.now, start + Time::from_secs(3));
        assert_eq!(reports.len(), 2, "{reports:?}");
        for (port, (got, why, _)) in reports {
            assert_eq!((port, got, why), (0, kind, code));
        }
    }
    assert_eq!(hand.drops(reason::NEIGHBOUR), 4);
}

#[test]
fn an_mtu_of_any_size_is_kept_and_the_fragments_are_the_packet() {
    for mtu in (576..1500).step_by(37) {
        let mut config = config(2, &[]);
        config.port[1] = PortConfig {
            address: vec!["10.0.1.1/24".parse().unwrap()],
            mtu,
            ..config.port[1].clone()
        };
        let mut hand = Hand::new(config);
        hand.learn(0, 2);
        hand.learn(1, 9);
        for size in [mtu - 28, mtu - 27, 1472] {
            let whole = udp(0, 2, "10.0.1.9", size, |frame| frame[20] = 0);
            let sent = hand.send(0, &whole);
            let mut payload: Vec<u8> = Vec::new();
            for (port, frame) in &sent {
                assert_eq!(*port, 1);
                assert!(frame.len() <= 14 + mtu);
                let place = u16::from_be_bytes([frame[20], frame[21]]);
                assert_eq!(usize::from(place & 0x1FFF) * 8, payload.len());
                payload.extend(&frame[34..]);
                assert_eq!(place & 0x2000 == 0, payload.len() == size + 8);
            }
            assert_eq!(payload, whole[34..]);
            let forbidden = udp(0, 2, "10.0.1.9", size, |frame| frame[20] |= 0x40);
            let sent = hand.send(0, &forbidden);
            let report = icmp(&sent[0].1);
            match size + 28 > mtu {
                true => {
                    assert_eq!(report, Some((3, 4, address("10.0.0.1"))));
                    assert_eq!(sent[0].1[40..42], (mtu as u16).to_be_bytes());
                }
                false => assert_eq!((sent[0].0, report), (1, None)),
            }
        }
    }
}

#[test]
fn vrfs_have_the_same_addresses_and_their_own_routes() {
    let named = |name: &str, address: &str, mac: u8| PortConfig {
        address: vec![address.parse().unwrap()],
        vrf: Some(name.into()),
        mac: Some(packet::ethernet::Mac([2, 0, 0, 0, 1, mac])),
        ..PortConfig::default()
    };
    let mut hand = Hand::new(Config {
        port: vec![
            named("red", "10.0.0.1/24", 0),
            named("blue", "10.0.1.1/24", 1),
            named("red", "10.9.0.1/24", 2),
            named("blue", "10.9.0.1/24", 3),
        ],
        route: vec!["192.0.2.0/24 via 10.9.0.2 vrf red".parse().unwrap()],
        ..Config::default()
    });
    // The next hop is asked for on the port of the VRF.
    let asked = hand.send(0, &udp(0, 2, "10.9.0.7", 10, |_| {}));
    assert_eq!((asked.len(), asked[0].0), (1, 2));
    let asked = hand.send(1, &udp(1, 2, "10.9.0.7", 10, |_| {}));
    assert_eq!((asked.len(), asked[0].0), (1, 3));
    let asked = hand.send(0, &udp(0, 2, "192.0.2.1", 10, |_| {}));
    assert_eq!((asked.len(), asked[0].0), (1, 2));
    hand.send(1, &udp(1, 2, "192.0.2.1", 10, |_| {}));
    assert_eq!(hand.drops(reason::NO_ROUTE), 1);
    let names: Vec<_> = hand
        .router
        .tables(Time::ZERO)
        .into_iter()
        .map(|table| table.name)
        .collect();
    assert_eq!(names, ["routes of blue", "routes of red", "neighbours"]);
}

#[test]
fn no_error_answers_a_broadcast_source_an_error_or_a_group() {
    let mut hand = Hand::new(config(2, &["unreachable 10.7.0.0/16"]));
    hand.learn(0, 2);
    let refused = |frame: &mut [u8], source: [u8; 4]| frame[26..30].copy_from_slice(&source);
    for source in [
        [10, 0, 0, 255],
        [10, 0, 0, 1],
        [224, 0, 0, 1],
        [127, 0, 0, 1],
        [0; 4],
    ] {
        let frame = udp(0, 2, "10.7.0.1", 10, |frame| refused(frame, source));
        assert!(hand.send(0, &frame).is_empty(), "{source:?}");
    }
    assert_eq!(hand.drops(reason::SOURCE), 5);
    let late = udp(0, 2, "10.0.1.5", 10, |frame| (frame[0], frame[22]) = (1, 1));
    assert!(hand.send(0, &late).is_empty());
    let expired = udp(0, 2, "10.0.1.5", 10, |frame| frame[22] = 1);
    let sent = hand.send(0, &expired);
    let error = &sent[0].1;
    assert_eq!(icmp(error), Some((11, 0, address("10.0.0.1"))));
    // An error about the error.
    let mut about = error.clone();
    about[..6].copy_from_slice(&router_mac(0));
    about[22] = 1;
    about[26..30].copy_from_slice(&[10, 0, 0, 2]);
    about[30..34].copy_from_slice(&[10, 0, 1, 5]);
    about[24..26].fill(0);
    let sum = packet::checksum::checksum(&about[14..34]);
    about[24..26].copy_from_slice(&sum.to_be_bytes());
    assert!(hand.send(0, &about).is_empty());
}

#[test]
fn a_configuration_that_cannot_work_says_what_to_do() {
    let error = |config: Config| Router::new(config).expect_err("a fault").to_string();
    let with = |route: &str| error(config(2, &[route]));
    assert!(error(Config::default()).contains("1 to 1024 ports"));
    assert!(with("192.0.2.0/24 via 10.7.0.1").contains("10.7.0.1 is in no network of its port"));
    assert!(with("192.0.2.0/24 via 10.0.0.1").contains("10.0.0.1 is in no network"));
    assert!(with("192.0.2.0/24 dev 2").contains("no port 2"));
    assert!(with("192.0.2.0/24 via 10.0.0.2 dev 1").contains("add an address, or `onlink`"));
    assert!(with("192.0.2.0/24 via 10.7.0.1 onlink").contains("add `dev PORT`"));
    assert!(with("192.0.2.0/24 via 10.0.0.2 vrf red").contains("no port is in this VRF"));
    assert!(with("10.0.0.0/24 via 10.0.1.2").contains("give one a `metric`"));
    let mut twice = config(2, &[]);
    twice.port[1].address = twice.port[0].address.clone();
    assert!(error(twice).contains("two ports have the address 10.0.0.1"));
    let mut bare = config(1, &[]);
    bare.port[0].address = vec!["10.0.0.1".parse().unwrap()];
    assert!(error(bare).contains("write 10.0.0.1 with its prefix"));
    let mut short = config(1, &[]);
    short.port[0].mtu = 1279;
    assert!(error(short).contains("from 1280 to 9000 bytes"));
    let mut rule = config(1, &[]);
    rule.rule = vec!["iif 4 lookup 7".parse().unwrap()];
    assert!(error(rule).contains("the router has no such port"));
}

#[test]
fn a_full_table_is_read_at_once() {
    // Short prefixes, and many IPv6 routes below one: each alone would have the trie built again.
    let mut routes = Vec::new();
    for number in 0..60_000_u32 {
        let [_, a, b, c] = number.to_be_bytes();
        routes.push(format!("2001:db8:{:x}::/48 via fd00:1::9", number));
        routes.push(format!("{}.{b}.{c}.0/24 via 10.0.1.9", 11 + a));
        if number % 64 == 0 {
            routes.push(format!(
                "{}.{}.0.0/16 via 10.0.0.9",
                20 + (number / 64) / 256,
                (number / 64) % 256
            ));
        }
    }
    let texts: Vec<&str> = routes.iter().map(String::as_str).collect();
    let mut hand = Hand::new(config(2, &texts));
    hand.learn(1, 9);
    let got = hand.send(0, &udp(0, 2, "2001:db8:ea5f::1", 10, |_| {}));
    assert_eq!(got[0].0, 1);
    let got = hand.send(0, &udp(0, 2, "11.234.95.1", 10, |_| {}));
    assert_eq!(got[0].0, 1);
}
