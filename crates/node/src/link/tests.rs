use super::*;
use crate::When;

fn link(channel: Channel) -> Transmitter {
    Transmitter::new(channel, 1)
}

#[test]
fn shortest_frames_leave_ten_gigabit_every_67_2_ns() {
    let mut link = link(Channel {
        delay: Time::from_ns(500),
        ..Channel::default()
    });
    let flights = (0..100).map(|_| link.offer(Time::ZERO, When::Now, 60).unwrap());
    for (n, flight) in (0..).zip(flights) {
        assert_eq!(flight.departed, Time::from_ps(6_400 + 67_200 * n));
        assert_eq!(flight.arrived, Some(flight.departed + Time::from_ns(500)));
        assert_eq!(flight.duration, Time::from_ps(51_200));
    }
}

#[test]
fn short_frames_are_padded_on_the_wire() {
    let mut link = link(Channel::default());
    link.offer(Time::ZERO, When::Now, 14);
    assert_eq!(
        link.offer(Time::ZERO, When::Now, 14).unwrap().departed,
        Time::from_ps(73_600)
    );
}

#[test]
fn a_smaller_gap_packs_frames_closer() {
    for (gap, slot) in [(8, 64_000), (12, 67_200), (5, 61_600), (100, 137_600)] {
        let mut link = link(Channel {
            gap,
            ..Channel::default()
        });
        for n in 0..100 {
            let flight = link.offer(Time::ZERO, When::Now, 60).unwrap();
            assert_eq!(flight.departed, Time::from_ps(6_400 + slot * n));
        }
    }
}

#[test]
fn a_scheduled_departure_is_exact_and_keeps_order() {
    let mut link = link(Channel::default());
    let at = Time::from_ms(10);
    assert_eq!(
        link.offer(Time::ZERO, When::At(at), 60).unwrap().departed,
        at
    );
    // Asked to leave at once, but behind the one before it.
    assert_eq!(
        link.offer(Time::ZERO, When::Now, 60).unwrap().departed,
        at + Time::from_ps(67_200)
    );
    assert_eq!(link.counters().late, 0);
    let late = link.offer(Time::from_secs(1), When::At(at), 60).unwrap();
    assert_eq!(
        (late.departed, link.counters().late),
        (Time::from_secs(1), 1)
    );
}

#[test]
fn the_queue_drops_at_its_tail_and_drains() {
    let mut link = link(Channel {
        queue: QueueLimit::Packets(2),
        ..Channel::default()
    });
    let passed = (0..5)
        .filter(|_| link.offer(Time::ZERO, When::Now, 60).is_some())
        .count();
    assert_eq!((passed, link.counters().queue_full), (3, 2));
    // One frame later there is room for one more.
    let later = Time::from_ps(67_200);
    assert!(link.offer(later, When::Now, 60).is_some());
    assert!(link.offer(later, When::Now, 60).is_none());
}

#[test]
fn a_queue_in_bytes_counts_bytes() {
    let mut link = link(Channel {
        queue: QueueLimit::Bytes(1_600),
        ..Channel::default()
    });
    let passed = |link: &mut Transmitter, len| link.offer(Time::ZERO, When::Now, len).is_some();
    assert!(passed(&mut link, 1514), "leaves at once");
    assert!(passed(&mut link, 1514), "waits");
    assert!(!passed(&mut link, 1514), "does not fit");
    assert!(passed(&mut link, 60), "a small one still does");
}

#[test]
fn frames_that_wait_for_their_time_do_not_fill_the_queue() {
    let mut link = link(Channel {
        queue: QueueLimit::Packets(1),
        ..Channel::default()
    });
    for n in 0..1000 {
        let at = Time::from_secs(1) + Time::from_ps(67_200) * n;
        assert_eq!(
            link.offer(Time::ZERO, When::At(at), 60).unwrap().departed,
            at
        );
    }
}

#[test]
fn a_rate_with_no_whole_bit_time_does_not_drift() {
    let rate = Rate::from_bits_per_second(3_000_000_007);
    let mut link = link(Channel {
        rate,
        queue: QueueLimit::Packets(u32::MAX),
        ..Channel::default()
    });
    let last = (0..100_001)
        .map(|_| link.offer(Time::ZERO, When::Now, 60).unwrap())
        .last()
        .unwrap();
    let exact = 100_000u128 * 84 * 8 * 1_000_000_000_000 / 3_000_000_007;
    let preamble = rate.unwrap().time_of(64, 0).0;
    assert_eq!(u128::from((last.departed - preamble).as_ps()), exact);
}

#[test]
fn impairments_happen_as_often_as_asked_and_alike_for_a_seed() {
    let chance = |p| Probability::new(p).unwrap();
    let channel = Channel {
        rate: None,
        loss: chance(0.1),
        duplicate: chance(0.2),
        reorder: chance(0.3),
        reorder_by: Time::from_us(1),
        bit_error: 1e-4,
        ..Channel::default()
    };
    let run = || {
        let mut link = Transmitter::new(channel.clone(), 7);
        (0..100_000).for_each(|n| {
            link.offer(Time::from_ns(n), When::Now, 121);
        });
        link.counters()
    };
    let counters = run();
    assert_eq!(counters, run());
    let near = |count: u64, expected: f64| (count as f64 / expected - 1.0).abs() < 0.03;
    assert!(near(counters.lost, 10_000.0), "{counters:?}");
    assert!(near(counters.reordered, 30_000.0), "{counters:?}");
    // 1000 bits at 1e-4: 9.52 % of what was not lost.
    assert!(near(counters.bit_errors, 90_000.0 * 0.0952), "{counters:?}");
    assert!(
        near(counters.duplicated, 90_000.0 * 0.9048 * 0.2),
        "{counters:?}"
    );
}

#[test]
fn certain_loss_loses_everything_and_none_nothing() {
    let all = Probability::new(1.0).unwrap();
    let mut lossy = link(Channel {
        loss: all,
        ..Channel::default()
    });
    assert_eq!(
        lossy.offer(Time::ZERO, When::Now, 60).unwrap().arrived,
        None
    );
    assert_eq!(Probability::new(1.5), None);
    assert_eq!(Probability::new(f64::NAN), None);
}
