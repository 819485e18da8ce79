use crate::hand::*;
use node::{Frame, Node, Port, Time};

#[test]
fn packets_are_forwarded_and_refused_without_allocating() {
    let mut hand = Hand::new(config(
        2,
        &["192.0.2.0/24 via 10.0.1.9", "2001:db8::/32 via fd00:1::9"],
    ));
    hand.learn(0, 2);
    hand.learn(1, 9);
    let frames = [
        udp(0, 2, "192.0.2.7", 1000, |_| {}),
        udp(0, 2, "2001:db8::7", 1000, |_| {}),
        udp(0, 2, "192.0.2.7", 1000, |frame| frame[22] = 1),
        udp(0, 2, "198.51.100.1", 1000, |_| {}),
        udp(0, 2, "10.0.1.1", 1000, |_| {}),
    ];
    let mut before = 0;
    let (mut arrived, mut sent): (Vec<Frame>, Vec<_>) =
        (Vec::with_capacity(8), Vec::with_capacity(64));
    for round in 0..200 {
        if round == 100 {
            before = allocations::of_this_thread();
        }
        hand.now = Time::from_secs(round);
        for frame in &frames {
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
