//! Neighbours, routes and echo over a link.

use crate::frames::*;
use ip::interface::Config;
use ip::neighbours::State;
use ip::routes::Route;
use node::Time;
use packet::arp::{Arp, Operation};
use packet::ethernet::Mac;
use packet::icmpv6::Icmpv6;
use packet::ipv6::Ipv6View;

#[test]
fn arp_request_for_own_address_is_answered_and_teaches_the_sender() {
    let mut hand = Hand::new(config());
    let sent = hand.frame(&arp(PEER, [10, 0, 0, 1], [10, 0, 0, 2]));
    let reply = Arp::parse(&sent[0][14..]).unwrap();
    assert_eq!(
        (reply.operation, reply.sender_mac),
        (Operation::Reply, Mac(OWN))
    );
    assert_eq!(sent[0][..6], PEER);
    assert_eq!(
        hand.interface.neighbour(Time::ZERO, v4(1)),
        Some(State::Stale)
    );
    // What is sent needs no question then.
    let sent = hand.send(v4(1), &udp(OWN, v4(2), v4(1), [1, 2], b"x"));
    assert_eq!((sent.len(), &sent[0][..6]), (1, &PEER[..]));
}

#[test]
fn arp_teaches_nothing_about_others_groups_or_addresses_off_the_link() {
    let mut hand = Hand::new(config());
    for (sender, target) in [
        ([10, 0, 0, 9], [10, 0, 0, 3]),
        ([10, 0, 1, 9], [10, 0, 0, 2]),
        ([0, 0, 0, 0], [10, 0, 0, 2]),
        ([224, 0, 0, 1], [10, 0, 0, 2]),
        ([255, 255, 255, 255], [10, 0, 0, 2]),
        ([10, 0, 0, 2], [10, 0, 0, 2]),
        ([10, 0, 0, 9], [10, 0, 0, 9]),
    ] {
        hand.frame(&arp(PEER, sender, target));
        assert_eq!(
            hand.interface.neighbour(Time::ZERO, sender.into()),
            None,
            "{sender:?}"
        );
    }
}

#[test]
fn packets_wait_in_order_for_a_neighbour_and_are_dropped_without_one() {
    for (to, own) in [(v4(1), v4(2)), (v6(1), v6(2))] {
        let mut hand = Hand::new(config());
        let mut asked = Vec::new();
        for number in 0..5 {
            asked.extend(hand.send(to, &udp(OWN, own, to, [number, 2], b"x")));
        }
        assert_eq!(asked.len(), 1);
        let answer = match to.is_ipv4() {
            true => {
                let arp = Arp::parse(&asked[0][14..]).unwrap().reply(Mac(PEER));
                let mut frame = Vec::new();
                arp.build_frame(&mut frame);
                frame
            }
            false => {
                let core::net::IpAddr::V6(target) = to else {
                    panic!()
                };
                let own = Ipv6View::new(&asked[0][14..]).unwrap().source();
                let option = [&[2, 1][..], &PEER].concat();
                let message = Icmpv6::NeighbourAdvertisement { target, flags: 3 };
                discovery(target, own, message, &option)
            }
        };
        let sent = hand.frame(&answer);
        let ports: Vec<_> = sent.iter().map(|frame| frame[frame.len() - 8]).collect();
        assert_eq!(sent.len(), 5, "{ports:?}");
        assert_eq!(
            hand.interface.neighbour(Time::ZERO, to),
            Some(State::Reachable)
        );
        // Another that is silent is asked three times.
        let silent = if to.is_ipv4() { v4(9) } else { v6(9) };
        let mut times = vec![
            0;
            hand.send(silent, &udp(OWN, own, silent, [1, 2], b"x"))
                .len()
        ];
        times.extend(hand.until(Time::from_secs(9)).iter().map(|(ms, _)| *ms));
        assert_eq!(times, [0, 1000, 2000]);
        assert_eq!(hand.out.drops(), [("no host answered for this address", 1)]);
        assert_eq!(hand.interface.waiting_bytes(), 0);
    }
}

#[test]
fn packets_off_the_link_go_to_the_router_of_the_longest_prefix() {
    let mut hand = Hand::new(Config {
        routes: vec![
            Route::default_via(v4(254)),
            Route {
                to: "192.0.2.1/24".parse().unwrap(),
                via: Some(v4(253)),
            },
        ],
        ..config()
    });
    for (to, hop) in [
        ([192, 0, 2, 7], 253),
        ([198, 51, 100, 1], 254),
        ([10, 0, 0, 7], 7),
    ] {
        let sent = hand.send(to.into(), &udp(OWN, v4(2), to.into(), [1, 2], b"x"));
        assert_eq!(Arp::parse(&sent[0][14..]).unwrap().target.octets()[3], hop);
    }
    assert!(hand.send("fd01::1".parse().unwrap(), &[0; 60]).is_empty());
    assert_eq!(hand.out.drops(), [("no route", 1)]);
}

#[test]
fn groups_need_no_question() {
    let mut hand = Hand::new(config());
    for (to, mac) in [
        ("224.0.0.251", [1, 0, 0x5E, 0, 0, 251]),
        ("239.129.2.3", [1, 0, 0x5E, 1, 2, 3]),
        ("255.255.255.255", BROADCAST),
        ("ff02::1:2", [0x33, 0x33, 0, 1, 0, 2]),
    ] {
        let to: core::net::IpAddr = to.parse().unwrap();
        let own = if to.is_ipv4() { v4(2) } else { v6(2) };
        let sent = hand.send(to, &udp(OWN, own, to, [1, 2], b"x"));
        assert_eq!((sent.len(), &sent[0][..6]), (1, &mac[..]));
    }
}

#[test]
fn unreachability_is_found_by_unicast_questions() {
    let mut hand = Hand::new(Config {
        reachable: Some(Time::from_secs(30)),
        ..config()
    });
    hand.frame(&arp(PEER, [10, 0, 0, 1], [10, 0, 0, 2]));
    let datagram = udp(OWN, v4(2), v4(1), [1, 2], b"x");
    hand.send(v4(1), &datagram);
    assert_eq!(
        hand.interface.neighbour(hand.now, v4(1)),
        Some(State::Delay)
    );
    let asked = hand.until(Time::from_ms(5_500));
    assert_eq!(
        (asked.len(), asked[0].0, &asked[0].1[..6]),
        (1, 5000, &PEER[..])
    );
    // An answer, or progress of an upper layer, ends it.
    hand.interface.confirm(hand.now, v4(1));
    assert!(hand.until(Time::from_secs(30)).is_empty());
    hand.now = Time::from_secs(40);
    hand.send(v4(1), &datagram);
    let asked: Vec<_> = hand
        .until(Time::from_secs(60))
        .iter()
        .map(|one| one.0)
        .collect();
    assert_eq!(asked, [45_000, 46_000, 47_000]);
    assert_eq!(hand.interface.neighbour(hand.now, v4(1)), None);
}

#[test]
fn echo_comes_back_whole_at_any_size_and_mtu() {
    let mut random = node::random::Random::new(9);
    for round in 0..400 {
        let is_v4 = round % 2 == 0;
        let (from, to) = if is_v4 {
            (v4(1), v4(2))
        } else {
            (v6(1), v6(2))
        };
        let mtu = if is_v4 { 576 } else { 1280 } + random.below(3_000) as usize;
        let mut hand = Hand::new(Config { mtu, ..config() });
        let data: Vec<u8> = (0..random.below(9_000))
            .map(|_| random.bits() as u8)
            .collect();
        // The peer's own fragments, in any order and some twice.
        let mut pieces = pieces(
            &echo(OWN, from, to, &data),
            600 + random.below(1_000) as usize,
        );
        for _ in 0..random.below(4) {
            let again = pieces[random.index(pieces.len())].clone();
            let place = random.index(pieces.len());
            pieces.insert(place, again);
        }
        let mut sent = Vec::new();
        let swap = random.index(pieces.len());
        pieces.swap(0, swap);
        for piece in pieces {
            sent.extend(hand.frame(&piece));
        }
        assert!(sent.iter().all(|frame| frame.len() <= 14 + mtu));
        // Put together by a second interface.
        let mut peer = Hand::new(Config {
            mac: PEER,
            addresses: vec![
                "10.0.0.1/24".parse().unwrap(),
                "fd00::1/64".parse().unwrap(),
            ],
            ..Config::default()
        });
        let mut whole = None;
        for frame in sent {
            let frame = node::Frame::new(&frame);
            let received = peer
                .interface
                .handle_frame(Time::ZERO, frame, &mut peer.out);
            if let ip::Received::Packet(frame, packet) = received {
                assert_eq!(ip::icmp::echo_reply(&frame, &packet), Some((7, 9)));
                whole = Some(frame[packet.payload + 8..packet.end].to_vec());
            }
        }
        assert_eq!(whole, Some(data), "round {round}");
    }
}

fn pieces(frame: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let (mut all, mut out) = (Vec::new(), node::Out::default());
    let frame = node::Frame::new(frame);
    ip::fragments::cut(frame, mtu, 77, &mut out, |frame, _| {
        all.push(frame.to_vec())
    });
    all
}

#[test]
fn echo_to_groups_is_answered_over_ipv6_alone() {
    let mut hand = Hand::new(config());
    let all_nodes = "ff02::1".parse().unwrap();
    let sent = hand.frame(&echo([0x33, 0x33, 0, 0, 0, 1], v6(1), all_nodes, b"data"));
    assert_eq!(ip::header::read(&sent[0]).unwrap().source, v6(2));
    for to in ["10.0.0.255", "255.255.255.255", "224.0.0.1"] {
        assert!(
            hand.frame(&echo(BROADCAST, v4(1), to.parse().unwrap(), b"data"))
                .is_empty()
        );
    }
    // Neither to or from an address that is not a host's.
    for from in [
        "0.0.0.0",
        "127.0.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "10.0.0.2",
    ] {
        assert!(
            hand.frame(&echo(OWN, from.parse().unwrap(), v4(2), b"data"))
                .is_empty()
        );
    }
    for from in ["::", "::1", "ff02::1", "fd00::2"] {
        assert!(
            hand.frame(&echo(OWN, from.parse().unwrap(), v6(2), b"data"))
                .is_empty()
        );
    }
}

#[test]
fn damaged_frames_get_no_answer() {
    for (from, to) in [(v4(1), v4(2)), (v6(1), v6(2))] {
        let whole = echo(OWN, from, to, b"abcdefgh");
        for length in 0..whole.len() {
            assert!(
                Hand::new(config()).frame(&whole[..length]).is_empty(),
                "{length}"
            );
        }
        // All that a checksum covers.
        let start = if from.is_ipv4() { 14 } else { 22 };
        for at in start..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                let sent = Hand::new(config()).frame(&damaged);
                assert!(sent.is_empty(), "byte {at} bit {bit}: {sent:02x?}");
            }
        }
    }
}
