use crate::hand::*;
use node::random::Random;
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
    for (multipath, hosts, ports) in [(Multipath::L3, 20_000, 1), (Multipath::L4, 1, 20_000)] {
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
