use crate::hand::*;
use node::event::{Event, What};
use node::random::Random;
use node::{Node, Port, Time};
use router::router::{Config, Multipath};
use std::collections::BTreeMap;

const ROUTE: &str = "192.0.2.0/24 nexthop via 10.0.1.9 weight 1 nexthop via 10.0.2.9 weight 2 nexthop via 10.0.3.9 weight 5";

fn hand(multipath: Multipath, seed: u64) -> Hand {
    let mut hand = Hand::new(Config {
        multipath,
        seed,
        ..config(4, &[ROUTE])
    });
    (1..4).for_each(|port| hand.learn(port, 9));
    hand
}

/// A datagram of a flow.
fn datagram(random: &mut Random, hosts: u64, ports: u64) -> Vec<u8> {
    let (host, port) = (random.below(hosts) as u16, random.below(ports) as u16);
    udp(0, 2, "192.0.2.7", 20, |frame| {
        frame[26..28].copy_from_slice(&[172, 16]);
        frame[28..30].copy_from_slice(&host.to_be_bytes());
        frame[34..36].copy_from_slice(&port.to_be_bytes());
    })
}

#[test]
fn flows_keep_their_path_and_the_paths_get_their_shares() {
    for (multipath, hosts, ports) in [
        (Multipath::L3, 20_000, 1),
        (Multipath::L4, 1, 20_000),
        (Multipath::Resilient, 1, 20_000),
    ] {
        let (mut hand, mut random) = (hand(multipath, 3), Random::new(1));
        let (mut paths, mut shares) = (BTreeMap::new(), [0_i32; 4]);
        for _ in 0..20_000 {
            let frame = datagram(&mut random, hosts, ports);
            let sent = hand.send(0, &frame);
            shares[usize::from(sent[0].0)] += 1;
            let flow = frame[26..38].to_vec();
            assert_eq!(*paths.entry(flow).or_insert(sent[0].0), sent[0].0);
        }
        for (port, weight) in [(1, 1), (2, 2), (3, 5)] {
            let wanted = 20_000 * weight / 8;
            let off = (shares[port] - wanted).abs();
            assert!(off < 400, "{multipath:?} {shares:?}");
        }
    }
}

#[test]
fn by_addresses_all_flows_of_two_hosts_go_one_way() {
    let (mut hand, mut random) = (hand(Multipath::L3, 0), Random::new(1));
    let first = hand.send(0, &datagram(&mut random, 1, 60_000))[0].0;
    for _ in 0..500 {
        assert_eq!(hand.send(0, &datagram(&mut random, 1, 60_000))[0].0, first);
    }
}

#[test]
fn packet_by_packet_each_path_gets_its_share_of_every_eight_packets() {
    let (mut hand, mut random) = (hand(Multipath::PerPacket, 0), Random::new(1));
    for _ in 0..50 {
        let mut shares = [0_i32; 4];
        for _ in 0..8 {
            shares[usize::from(hand.send(0, &datagram(&mut random, 1, 1))[0].0)] += 1;
        }
        assert_eq!(shares, [0, 1, 2, 5]);
    }
}

#[test]
fn routers_in_a_row_do_not_choose_alike() {
    let [mut first, mut second] = [1, 2].map(|seed| hand(Multipath::L4, seed));
    let mut random = Random::new(1);
    let mut same = 0;
    for _ in 0..4_000 {
        let frame = datagram(&mut random, 1, 60_000);
        same += u32::from(first.send(0, &frame)[0].0 == second.send(0, &frame)[0].0);
    }
    // Independent choices agree with probability (1 + 4 + 25) / 64.
    assert!((1_700..2_050).contains(&same), "{same}");
}

/// Ports by which 4,000 flows leave.
fn paths(hand: &mut Hand) -> Vec<u16> {
    let mut random = Random::new(5);
    let mut one = || hand.send(0, &datagram(&mut random, 100, 60_000))[0].0;
    (0..4_000).map(|_| one()).collect()
}

#[test]
fn when_a_link_fails_resilient_hops_keep_the_flows_of_the_others() {
    for (multipath, keeps) in [(Multipath::Resilient, true), (Multipath::L4, false)] {
        let mut hand = hand(multipath, 3);
        let before = paths(&mut hand);
        let mut moved = 0;
        for failed in [1, 2, 3] {
            let mut link = |up| {
                let event = Event {
                    at: Time::ZERO,
                    port: Port(failed),
                    what: What::Link(up),
                };
                hand.router.event(Time::ZERO, &event, &mut hand.out);
                paths(&mut hand)
            };
            let during = link(false);
            assert!(during.iter().all(|port| *port != failed));
            let both = before.iter().zip(&during);
            let both = both.filter(|(old, new)| **old != failed && old != new);
            moved += both.count();
            assert_eq!(link(true), before);
        }
        assert_eq!(moved == 0, keeps, "{multipath:?} {moved}");
    }
}

#[test]
fn a_floating_route_carries_packets_while_the_link_of_the_first_is_down() {
    let routes = [
        "192.0.2.0/24 via 10.0.1.9",
        "192.0.2.0/24 via 10.0.2.9 metric 10",
        "default via 10.0.3.9",
    ];
    let mut hand = Hand::new(config(4, &routes));
    (1..4).for_each(|port| hand.learn(port, 9));
    let mut random = Random::new(1);
    for (port, up, expected) in [
        (0, true, 1),
        (1, false, 2),
        (2, false, 3),
        (1, true, 1),
        (2, true, 1),
    ] {
        let event = Event {
            at: Time::ZERO,
            port: Port(port),
            what: What::Link(up),
        };
        hand.router.event(Time::ZERO, &event, &mut hand.out);
        assert_eq!(hand.send(0, &datagram(&mut random, 9, 9))[0].0, expected);
    }
}
