//! All methods against a queue whose available bandwidth is known: one link, and cross traffic of even packets.

use super::*;
use crate::train::{Begins, Trains, Walk, wire_bits};
use node::random::Random;

/// Sends trains through a link of 10 Gb/s on which packets of 792 bytes leave at a rate, until a method has its answer.
fn ask(method: Method, trains: Trains, size: u16, cross: f64, seed: u64) -> Answer {
    let bits = wire_bits(usize::from(size) - 4);
    let mut estimator = method.estimator(Rate::TEN_GIGABIT, bits);
    let mut link = Link::new(cross, seed);
    let mut walk = Walk::new(trains, seed);
    let mut at = Time::from_us(100);
    loop {
        let rate = match &walk {
            Some(walk) => walk.rate(),
            None => match estimator.next() {
                Some(rate) => rate,
                None => return estimator.answer(),
            },
        };
        let (mut packets, mut begins, mut carry) = (Vec::new(), Begins::Packet, 0);
        while begins == Begins::Packet {
            packets.push(Packet {
                left: at,
                came: Some(link.passes(at, bits)),
                bits,
            });
            (at, begins) = match &mut walk {
                Some(walk) => walk.next(at, bits),
                None if packets.len() < trains.packets as usize => {
                    let (time, left) = rate.time_of(bits, carry);
                    carry = left;
                    (at + time, Begins::Packet)
                }
                None => (at + Time::from_us(50), Begins::Train),
            };
        }
        let packets = &packets[..];
        estimator.see(&Observed { rate, packets });
        if begins == Begins::Sample {
            return estimator.answer();
        }
    }
}

/// A queue before a link: when it is free, and when the next packet of others comes, picoseconds.
struct Link {
    free: f64,
    next: f64,
    gap: f64,
    others: f64,
}

impl Link {
    fn new(cross: f64, seed: u64) -> Link {
        let others = wire_bits(788) as f64 / 1e10 * 1e12;
        let gap = others * 1e10 / cross;
        let next = Random::new(seed ^ 0x51).unit() * gap;
        Link {
            free: 0.0,
            next,
            gap,
            others,
        }
    }

    fn passes(&mut self, at: Time, bits: u64) -> Time {
        let at = at.as_ps() as f64;
        while self.next <= at {
            self.free = self.free.max(self.next) + self.others;
            self.next += self.gap;
        }
        let begins = self.free.max(at);
        self.free = begins + bits as f64 / 1e10 * 1e12;
        // The receiver's clock is another one.
        Time::from_ps(begins as u64 + 77_000_000_000)
    }
}

/// The mean error of ten samples, Gb/s.
fn error(method: Method, trains: Trains, size: u16, cross: u32) -> Option<f64> {
    let truth = 10.0 - f64::from(cross);
    let answers = (0..10).map(|seed| ask(method, trains, size, f64::from(cross) * 1e9, seed));
    let values: Option<Vec<f64>> = answers
        .map(|answer| Some(answer.estimate?.value / 1e9))
        .collect();
    let values = values?;
    Some(values.iter().sum::<f64>() / values.len() as f64 - truth)
}

#[test]
fn minprobe_is_within_a_tenth_of_a_gigabit_at_20_packets_of_792_bytes() {
    for cross in 1..=8 {
        let (trains, size) = Method::MinProbe.usual();
        let error = error(Method::MinProbe, trains, size, cross).unwrap();
        assert!(error.abs() <= 0.1, "{cross} Gb/s: {error}");
    }
}

#[test]
fn every_method_finds_what_even_cross_traffic_leaves() {
    // As far off as each is known to be where all is even.
    for (method, bound) in [
        (Method::Topp, 0.3),
        (Method::Spruce, 0.5),
        (Method::Pathload, 0.5),
        (Method::Ptr, 1.2),
        (Method::Igi, 1.5),
        (Method::PathChirp, 2.0),
    ] {
        let (trains, size) = method.usual();
        for cross in [3, 6, 8] {
            // Few gaps are increased where almost all that comes is others' (Hu and Steenkiste, section 5).
            if (method, cross) == (Method::Igi, 8) {
                continue;
            }
            let error = error(method, trains, size, cross);
            assert!(
                error.unwrap().abs() <= bound,
                "{method:?} at {cross} Gb/s: {error:?}"
            );
        }
    }
}

#[test]
fn methods_say_no_answer_where_nothing_is_to_be_seen() {
    let (trains, size) = Method::MinProbe.usual();
    for method in [Method::MinProbe, Method::Topp] {
        // No cross traffic to speak of: no rate is too high.
        let answer = ask(method, trains, size, 1.0, 1);
        assert_eq!(answer.estimate, None, "{}", answer.how);
    }
    for method in Method::ALL {
        let mut estimator = method.estimator(Rate::TEN_GIGABIT, 6_496);
        assert_eq!(estimator.answer().estimate, None, "{method:?} of no train");
        let lost = Packet {
            left: Time::from_us(1),
            came: None,
            bits: 6_496,
        };
        for n in 0..40 {
            let packets = [Packet {
                left: Time::from_us(n),
                ..lost
            }; 3];
            let rate = Rate::TEN_GIGABIT;
            estimator.see(&Observed {
                rate,
                packets: &packets,
            });
        }
        let answer = estimator.answer();
        // To Pathload losses say that a rate is too high.
        assert_eq!(
            answer.estimate.is_some(),
            method == Method::Pathload,
            "{method:?}: {}",
            answer.how
        );
    }
}

#[test]
fn delays_follow_from_gaps_alone() {
    let packet = |left, came| Packet {
        left: Time::from_ns(left),
        came: Some(Time::from_ns(came)),
        bits: 6_496,
    };
    let packets = [packet(0, 5_000), packet(1_000, 6_500), packet(2_000, 8_000)];
    let rate = Rate::TEN_GIGABIT;
    let train = Observed {
        rate,
        packets: &packets,
    };
    assert_eq!(train.delays(), [0.0, 500_000.0, 1_000_000.0]);
    let stretched: f64 = train.gaps().map(|(sent, came, _)| came - sent).sum();
    assert_eq!(stretched, 1_000_000.0, "sum(h) - sum(g)");
}

#[test]
fn delays_grow_by_trend_and_not_by_chance() {
    let growing: Vec<f64> = (0..100).map(f64::from).collect();
    assert!(pathload::grows(&growing));
    let turning: Vec<f64> = (0..100).map(|n| f64::from(n % 10)).collect();
    assert!(!pathload::grows(&turning));
    assert!(!pathload::grows(&[0.0; 100]));
    assert!(!pathload::grows(&[]));
}

#[test]
fn a_series_is_smoothed_over_five() {
    let smooth = minprobe::smoothed(&[4.0, 4.0, 4.0, 4.0, 4.0, 0.0]);
    assert_eq!(smooth[..5], [4.0; 5]);
    assert!((smooth[5] - 4.0 * 15.0 / 31.0).abs() < 1e-12, "{smooth:?}");
    assert_eq!(minprobe::smoothed(&[]), Vec::<f64>::new());
}
