use crate::hand::*;
use node::{Frame, Node, Port, Time};
use router::{nat64, siit};

#[test]
fn packets_are_forwarded_and_refused_without_allocating() {
    let hand = Hand::new(config(
        2,
        &["192.0.2.0/24 via 10.0.1.9", "2001:db8::/32 via fd00:1::9"],
    ));
    let frames = [
        udp(0, 2, "192.0.2.7", 1000, |_| {}),
        udp(0, 2, "2001:db8::7", 1000, |_| {}),
        udp(0, 2, "192.0.2.7", 1000, |frame| frame[22] = 1),
        udp(0, 2, "198.51.100.1", 1000, |_| {}),
        udp(0, 2, "10.0.1.1", 1000, |_| {}),
    ];
    without_allocating(hand, &frames);
}

#[test]
fn packets_are_translated_without_allocating() {
    let prefix: siit::Prefix = "2001:db8:64::/96".parse().unwrap();
    let mut nat64 = config(2, &["default via 10.0.1.9"]);
    nat64.port[1].outside = true;
    nat64.nat64 = Some(nat64::Config {
        prefix,
        ..nat64::Config::default()
    });
    let to_v4 = udp(0, 2, "2001:db8:64::198.51.100.7", 1000, |_| {});
    without_allocating(Hand::new(nat64), &[to_v4]);
    let mut clat = config(2, &["default via fd00:1::9"]);
    clat.siit = Some(siit::Config {
        prefix,
        pairs: vec!["10.0.0.0/24 2001:db8:46::/120".parse().unwrap()],
        ..siit::Config::default()
    });
    let to_v6 = udp(0, 2, "198.51.100.7", 1000, |_| {});
    without_allocating(Hand::new(clat), &[to_v6]);
}

/// Sends frames from a host of port 0, again and again.
fn without_allocating(mut hand: Hand, frames: &[Vec<u8>]) {
    hand.learn(0, 2);
    hand.learn(1, 9);
    let mut before = 0;
    let (mut arrived, mut sent): (Vec<Frame>, Vec<_>) =
        (Vec::with_capacity(8), Vec::with_capacity(64));
    for round in 0..200 {
        if round == 100 {
            before = allocations::of_this_thread();
        }
        hand.now = Time::from_secs(round);
        for frame in frames {
            arrived.push(hand.out.pool().take_with(frame));
        }
        hand.router
            .frames(hand.now, Port(0), &mut arrived, &mut hand.out);
        sent.extend(hand.out.sends());
        for departure in sent.drain(..) {
            hand.out.pool().give(departure.frame);
        }
    }
    assert_eq!(allocations::of_this_thread() - before, 0);
}
