//! A prober and a reflector over a wire that delays, loses, or is not there.

use super::*;
use crate::bandwidth::reflector::{self, Reflector};
use std::sync::{Arc, Mutex};
use std::vec;

const WIRE: Time = Time::from_us(50);

/// Runs the two until nothing is left to happen; `passes` decides which probes reach the reflector.
fn run(config: Config, mut passes: impl FnMut(u64) -> bool) -> (Vec<Estimate>, Statistics) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let tell = Box::new(move |estimate| tell.lock().unwrap().push(estimate));
    let mut prober = Prober::new(config, tell).unwrap();
    let mut reflector = Reflector::new(&reflector::Config::default());
    let mut out = Out::default();
    // What is on its way: when it comes, to whom, and the frame.
    let mut way: Vec<(Time, bool, Frame)> = Vec::new();
    let (mut now, mut sent) = (Time::ZERO, 0);
    for _ in 0..1_000_000 {
        let first = (0..way.len()).min_by_key(|n| way[*n].0);
        let wake = prober.next_wake();
        match (first, wake) {
            (Some(n), wake) if wake.is_none_or(|wake| way[n].0 <= wake) => {
                let (at, to_reflector, mut frame) = way.remove(n);
                now = now.max(at);
                frame.set_arrived(at);
                let mut frames = vec![frame];
                match to_reflector {
                    true => reflector.frames(now, Port(0), &mut frames, &mut out),
                    false => prober.frames(now, Port(0), &mut frames, &mut out),
                }
                let sends: Vec<_> = out.sends().collect();
                for send in sends {
                    way.push((now + WIRE, !to_reflector, send.frame));
                }
            }
            (_, Some(wake)) => {
                now = now.max(wake);
                prober.wake(now, &mut out);
                let sends: Vec<_> = out.sends().collect();
                for send in sends {
                    let at = match send.when {
                        node::When::Now => now,
                        node::When::At(at) => at,
                    };
                    let is_probe = Message::of_frame(&send.frame).is_some();
                    sent += u64::from(is_probe);
                    if !is_probe || passes(sent - 1) {
                        way.push((at + WIRE, true, send.frame));
                    }
                }
            }
            (None, None) => break,
            (Some(_), None) => unreachable!("the first arm has it"),
        }
    }
    let estimates = told.lock().unwrap().clone();
    (estimates, prober.statistics())
}

fn config(method: Method) -> Config {
    Config {
        method: Methods(vec![method]),
        samples: 3,
        ..Config::default()
    }
}

#[test]
fn a_sample_has_the_packets_of_its_trains_and_is_judged_when_all_came() {
    let (estimates, statistics) = run(config(Method::MinProbe), |_| true);
    assert_eq!(estimates.len(), 3);
    for (n, estimate) in estimates.iter().enumerate() {
        assert_eq!(
            (estimate.packets, estimate.trains, estimate.lost),
            (1_920, 96, 0)
        );
        assert_eq!(estimate.first, 1_920 * n as u64);
        assert_eq!(estimate.bits, 1_920 * 8 * 812);
        // The last reply is there a round trip behind the last probe.
        assert!(estimate.known - estimate.ended < Time::from_us(101));
        // An empty wire: nothing turns.
        assert_eq!(estimate.answer.estimate, None);
        assert_eq!(estimate.answer.points.len(), 96);
    }
    assert_eq!(statistics.get("replies"), Some(5_760));
    assert_eq!(statistics.get("no_answers"), Some(3));
}

#[test]
fn adaptive_trains_follow_what_came_back() {
    let (estimates, _) = run(config(Method::Pathload), |_| true);
    assert_eq!(estimates.len(), 3);
    for estimate in &estimates {
        // No delay grows: all is free, and how much that is nobody knows.
        assert_eq!(estimate.answer.estimate, None, "{estimate:?}");
        assert!(
            estimate.answer.how.contains("at no rate up to"),
            "{estimate:?}"
        );
        assert!(estimate.answer.points.last().unwrap().0 >= 9.9e9);
        assert_eq!(estimate.packets, 100 * estimate.trains);
    }
    // Every probe at a rate above a half is lost: to Pathload that is too fast.
    let (lossy, _) = run(config(Method::Pathload), |n| n % 2 == 0);
    assert!(
        lossy[0].answer.how.contains("at every rate down to"),
        "{lossy:?}"
    );
    assert!(lossy[0].answer.points.last().unwrap().0 < 0.2e9);
}

#[test]
fn lost_probes_end_a_train_at_the_timeout() {
    // Behind the 800 of the check.
    let (estimates, statistics) = run(config(Method::Spruce), |n| n != 803);
    assert_eq!(estimates[0].lost, 1);
    assert!(estimates[0].known - estimates[0].begun >= Time::from_ms(100));
    assert_eq!(estimates[1].lost, 0);
    assert_eq!(statistics.get("lost"), Some(1));
    let (none, _) = run(config(Method::Spruce), |_| false);
    assert!(
        none.iter()
            .all(|estimate| estimate.answer.estimate.is_none())
    );
    assert_eq!(none.len(), 3);
}

#[test]
fn all_methods_take_turns() {
    let all = Config {
        method: Methods(Method::ALL.into()),
        samples: 2,
        ..Config::default()
    };
    let (estimates, _) = run(all, |_| true);
    let methods: Vec<Method> = estimates.iter().map(|estimate| estimate.method).collect();
    assert_eq!(methods, [Method::ALL, Method::ALL].concat());
}

#[test]
fn without_a_reflector_every_sample_is_without_an_answer() {
    let nobody = Config {
        target: [198, 18, 0, 9].into(),
        ..config(Method::MinProbe)
    };
    let (estimates, statistics) = run(nobody, |_| true);
    assert_eq!(estimates.len(), 3);
    assert!(estimates[0].answer.how.contains("next hop"));
    assert_eq!(statistics.get("sent"), Some(0));
    assert_eq!(statistics.get("resolved"), Some(0));
}

#[test]
fn what_cannot_be_sent_is_refused_by_its_key() {
    let refused = |config: Config| Prober::new(config, Box::new(|_| ())).err().unwrap().key;
    let trains = |method, trains: &str| Config {
        trains: Some(trains.parse().unwrap()),
        ..config(method)
    };
    let sweep = "20, 1:1:9 Gb/s, 10 us, 4 ms";
    assert_eq!(refused(trains(Method::Pathload, sweep)), "trains");
    let adaptive = "20, adaptive, 10 us, 4 ms";
    assert_eq!(refused(trains(Method::MinProbe, adaptive)), "trains");
    let size = |size| Config {
        size: Some(size),
        ..config(Method::MinProbe)
    };
    assert_eq!(refused(size(63)), "size");
    assert_eq!(refused(size(9_019)), "size");
    let several = Config {
        method: Methods(Method::ALL.into()),
        ..size(792)
    };
    assert_eq!(refused(several), "size");
    let none = Config {
        method: Methods(vec![]),
        ..Config::default()
    };
    assert_eq!(refused(none), "method");
    let samples = Config {
        samples: 0,
        ..Config::default()
    };
    assert_eq!(refused(samples), "samples");
}
