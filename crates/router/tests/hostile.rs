use crate::hand::*;
use node::random::Random;
use node::{Node, Time};
use router::router::reason;

#[test]
fn random_frames_harm_nothing() {
    let routes = [
        "192.0.2.0/24 via 10.0.1.9",
        "blackhole 10.7.0.0/16",
        "2001:db8::/32 via fd00:1::9",
    ];
    let mut hand = Hand::new(config(3, &routes));
    hand.learn(1, 9);
    let mut random = Random::new(5);
    for round in 0..200_000_u64 {
        let mut frame = match random.below(3) {
            0 => udp(0, 2, "192.0.2.7", random.below(1400) as usize, |_| {}),
            1 => udp(0, 2, "2001:db8::7", random.below(1400) as usize, |_| {}),
            _ => (0..random.below(200))
                .map(|_| random.bits() as u8)
                .collect(),
        };
        for _ in 0..random.below(4) {
            if !frame.is_empty() {
                let at = random.below(frame.len().min(80) as u64) as usize;
                frame[at] = random.bits() as u8;
            }
        }
        frame.truncate(random.below(2 * frame.len() as u64 + 1) as usize);
        if random.chance(0.9) && frame.len() >= 14 {
            frame[..6].copy_from_slice(&router_mac(0));
        }
        hand.now = Time::from_us(round);
        hand.send(0, &frame);
        if round % 1000 == 0 && hand.router.next_wake().is_some_and(|next| next <= hand.now) {
            hand.router.wake(hand.now, &mut hand.out);
            hand.out.sends().for_each(drop);
        }
    }
}

#[test]
fn a_sender_gets_no_more_errors_than_the_limits_allow_whatever_it_forges() {
    let mut hand = Hand::new(config(2, &[]));
    let mut random = Random::new(5);
    let (mut errors, mut bytes) = (0, 0);
    // 100,000 packets in a second from forged addresses of one link, all of which "answer".
    for round in 0..100_000_u64 {
        hand.now = Time::from_us(10 * round);
        let host = 2 + random.below(250) as u8;
        if round < 250 {
            hand.learn(0, 2 + round as u8);
        }
        let frame = udp(0, host, "10.0.1.7", 1400, |frame| frame[22] = 1);
        for (_, frame) in hand.send(0, &frame) {
            errors += u32::from(icmp(&frame).is_some());
            bytes += frame.len();
        }
    }
    // 50 at once and 1,000 in a second.
    assert!(
        (900..=1_050).contains(&errors),
        "{errors} {:?}",
        hand.out.drops()
    );
    assert!(bytes < 1_050 * 600);
    assert_eq!(hand.drops(reason::HOP_LIMIT), 100_000);
}

#[test]
fn packets_for_hosts_that_do_not_exist_cost_bounded_memory() {
    let mut hand = Hand::new(config(2, &[]));
    for round in 0..60_000_u64 {
        hand.now = Time::from_us(round);
        let last = [(round >> 8) as u8, round as u8];
        hand.send(0, &udp(0, 2, "10.0.1.7", 1400, |frame| frame[33] = last[1]));
        hand.send(
            0,
            &udp(0, 2, "fd00:1::7", 1400, |frame| {
                frame[52..54].copy_from_slice(&last)
            }),
        );
    }
    let waiting: u64 = hand.drops("waits for an address") + hand.drops("too many neighbours");
    assert!(waiting > 100_000, "{waiting}");
}
