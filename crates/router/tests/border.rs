//! NAT in a router: ports 0 and 1 are the inside, port 2 with 10.0.2.1 the outside.

use crate::hand::*;
use packet::arp::Arp;
use packet::checksum::checksum;
use packet::ethernet::Mac;
use router::nat;
use router::router::{Config, reason};

fn hand(external: &[&str]) -> Hand {
    let mut config = config(3, &["default via 10.0.2.9"]);
    config.port[2].outside = true;
    let external = external.iter().map(|text| text.parse().unwrap());
    let mut hand = Hand::new(Config {
        nat: Some(nat::Config {
            external: external.collect(),
            ..nat::Config::default()
        }),
        ..config
    });
    hand.learn(0, 2);
    hand.learn(1, 3);
    hand.learn(2, 9);
    hand
}

/// The packet that goes back: addresses and ports change places, and the frame comes from the outside.
fn answer(frame: &[u8]) -> Vec<u8> {
    let mut back = frame.to_vec();
    back[..6].copy_from_slice(&router_mac(2));
    back[6..12].copy_from_slice(&host_mac(2, 9));
    back[26..34].rotate_left(4);
    back[34..38].rotate_left(2);
    back[22] = 64;
    with_checksum(back)
}

fn with_checksum(mut frame: Vec<u8>) -> Vec<u8> {
    let header = 14 + usize::from(frame[14] & 15) * 4;
    frame[24..26].fill(0);
    let sum = checksum(&frame[14..header]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

#[test]
fn a_packet_leaves_with_the_ports_address_and_its_answer_comes_back() {
    let mut hand = hand(&[]);
    let sent = hand.send(0, &udp(0, 2, "198.51.100.7", 100, |_| {}));
    let [(2, out)] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!(out[26..30], [10, 0, 2, 1]);
    let back = hand.send(2, &answer(out));
    let [(0, back)] = &back[..] else {
        panic!("{back:?}");
    };
    assert_eq!(
        (&back[30..34], &back[36..38]),
        (&[10, 0, 0, 2][..], &[4, 0][..])
    );
    // A packet that stays inside is not translated.
    let inside = hand.send(0, &udp(0, 2, "10.0.1.3", 100, |_| {}));
    assert_eq!((inside[0].0, &inside[0].1[26..30]), (1, &[10, 0, 0, 2][..]));
    assert_eq!(hand.counter("nat_outbound"), 1);
}

#[test]
fn fragments_are_translated_as_one_packet_both_ways() {
    let mut hand = hand(&[]);
    let whole = udp(0, 2, "198.51.100.7", 1_200, |frame| frame[20] = 0);
    let cut = |frame: &[u8]| {
        let [mut first, mut last] = [34..634, 634..frame.len()].map(|part| {
            let mut piece = frame[..34].to_vec();
            piece.extend(&frame[part]);
            let length = (piece.len() - 14) as u16;
            piece[16..18].copy_from_slice(&length.to_be_bytes());
            piece
        });
        first[20..22].copy_from_slice(&[0x20, 0]);
        last[20..22].copy_from_slice(&[0, 75]);
        [with_checksum(last), with_checksum(first)]
    };
    let mut out = Vec::new();
    for piece in cut(&whole) {
        out.extend(hand.send(0, &piece));
    }
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].1[42..], whole[42..]);
    assert_eq!(out[0].1[26..30], [10, 0, 2, 1]);
    let mut back = Vec::new();
    for piece in cut(&answer(&out[0].1)) {
        back.extend(hand.send(2, &piece));
    }
    assert_eq!(
        (back.len(), back[0].0, &back[0].1[30..34]),
        (1, 0, &[10, 0, 0, 2][..])
    );
}

#[test]
fn errors_from_the_outside_and_about_it_reach_the_sender_inside() {
    let mut hand = hand(&[]);
    let sent = hand.send(0, &udp(0, 2, "198.51.100.7", 30, |_| {}));
    // A router outside reports that the hop limit is used up.
    let mut error = sent[0].1[..14].to_vec();
    error[..6].copy_from_slice(&router_mac(2));
    error[6..12].copy_from_slice(&host_mac(2, 9));
    error.extend([
        0x45, 0, 0, 56, 0, 1, 0, 0, 60, 1, 0, 0, 203, 0, 113, 9, 10, 0, 2, 1,
    ]);
    error.extend([11, 0, 0, 0, 0, 0, 0, 0]);
    error.extend(&sent[0].1[14..42]);
    let sum = checksum(&error[34..]);
    error[36..38].copy_from_slice(&sum.to_be_bytes());
    let got = hand.send(2, &with_checksum(error));
    let [(0, got)] = &got[..] else {
        panic!("{got:?}");
    };
    assert_eq!(icmp(got), Some((11, 0, address("203.0.113.9"))));
    // It quotes the packet as the host has sent it.
    assert_eq!(
        (&got[54..58], &got[62..64]),
        (&[10, 0, 0, 2][..], &[4, 0][..])
    );
    // So does the router about a next hop outside that does not answer.
    hand.send(0, &udp(0, 2, "10.0.2.77", 30, |_| {}));
    let report = loop {
        let sent = hand.wake();
        if let Some(report) = sent
            .into_iter()
            .find(|(port, frame)| *port == 0 && icmp(frame).is_some())
        {
            break report.1;
        }
    };
    assert_eq!(
        icmp(&report).map(|report| (report.0, report.1)),
        Some((3, 1))
    );
    assert_eq!(
        (&report[30..34], &report[54..58]),
        (&[10, 0, 0, 2][..], &[10, 0, 0, 2][..])
    );
    assert_eq!(hand.drops(reason::NEIGHBOUR), 1);
}

#[test]
fn a_report_about_a_host_inside_that_is_gone_does_not_show_its_address() {
    let mut hand = hand(&[]);
    let sent = hand.send(0, &udp(0, 2, "198.51.100.7", 30, |_| {}));
    let back = answer(&sent[0].1);
    // The host does not answer: the router asks for its address again, and then packets wait for it.
    let mut report = None;
    hand.now = node::Time::from_secs(60);
    for _ in 0..40 {
        hand.learn(2, 9);
        hand.send(2, &back);
        let sent = hand.wake();
        report = report.or(sent
            .into_iter()
            .find(|(port, frame)| *port == 2 && icmp(frame).is_some()));
    }
    let (_, report) = report.expect("a report to the outside");
    assert_eq!(
        icmp(&report).map(|report| (report.0, report.1)),
        Some((3, 1))
    );
    // Destination and port of the packet that it quotes.
    assert_eq!(
        (&report[58..62], &report[64..66]),
        (&[10, 0, 2, 1][..], &sent[0].1[34..36])
    );
}

#[test]
fn external_addresses_of_no_port_are_the_routers_and_it_answers_for_them() {
    let mut hand = hand(&["10.0.2.100-10.0.2.101"]);
    let mut question = Vec::new();
    Arp::request(
        Mac(host_mac(2, 9)),
        [10, 0, 2, 9].into(),
        [10, 0, 2, 101].into(),
    )
    .build_frame(&mut question);
    let reply = hand.send(2, &question);
    assert_eq!((reply[0].0, &reply[0].1[22..28]), (2, &router_mac(2)[..]));
    let sent = hand.send(0, &udp(0, 2, "198.51.100.7", 30, |_| {}));
    assert!(matches!(sent[0].1[26..30], [10, 0, 2, 100 | 101]));
    // No host inside has asked for this.
    let stray = udp(2, 9, "10.0.2.101", 30, |_| {});
    assert!(hand.send(2, &stray).is_empty());
    assert_eq!(hand.counter("nat_unsolicited"), 1);
}

#[test]
fn inside_hosts_reach_each_other_at_external_endpoints() {
    let mut hand = hand(&[]);
    let first = hand.send(0, &udp(0, 2, "198.51.100.7", 30, |_| {}));
    let second = hand.send(
        1,
        &udp(1, 3, "10.0.2.1", 30, |frame| {
            frame[36..38].copy_from_slice(&first[0].1[34..36]);
            frame[40..42].fill(0);
        }),
    );
    // Address-dependent filtering: 10.0.2.1 has not been sent to.
    assert!(second.is_empty());
    let third = hand.send(
        0,
        &udp(0, 2, "10.0.2.1", 30, |frame| {
            frame[36..38].copy_from_slice(&[0x27, 0x0F]);
            frame[40..42].fill(0);
        }),
    );
    assert!(third.is_empty());
    let again = hand.send(
        1,
        &udp(1, 3, "10.0.2.1", 30, |frame| {
            frame[36..38].copy_from_slice(&first[0].1[34..36]);
            frame[40..42].fill(0);
        }),
    );
    let [(0, got)] = &again[..] else {
        panic!("{again:?}");
    };
    assert_eq!(
        (&got[26..30], &got[30..34]),
        (&[10, 0, 2, 1][..], &[10, 0, 0, 2][..])
    );
}

#[test]
fn a_nat_that_cannot_work_says_what_to_do() {
    let error = |change: &dyn Fn(&mut Config)| {
        let mut config = config(2, &[]);
        change(&mut config);
        router::router::Router::new(config)
            .expect_err("a fault")
            .to_string()
    };
    let nat = || Some(nat::Config::default());
    assert!(error(&|config| config.nat = nat()).contains("add `outside = true` to one"));
    assert!(error(&|config| config.port[0].outside = true).contains("add [node.NAME.nat]"));
}
