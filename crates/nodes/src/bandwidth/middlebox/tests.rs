//! A middlebox and its far end, with a wire of 10 Gb/s between them that a test holds in its hands.

use super::*;
use core::net::Ipv4Addr;
use node::random::Random;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, protocol};
use packet::udp::Udp;
use std::sync::{Arc, Mutex};
use std::vec;

const TEN: Rate = Rate::TEN_GIGABIT;

/// A UDP datagram of host 1 to host 2, from this port, with FCS of so many bytes.
fn datagram(port: u16, number: u32, size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let ethernet = Ethernet {
        destination: Mac([2, 0, 0, 0, 0, 2]),
        source: Mac([2, 0, 0, 0, 0, 1]),
        tags: &[],
        ethertype: ethertype::IPV4,
    };
    let [from, to] = [1, 2].map(|n| Ipv4Addr::new(10, 0, 0, n));
    let ip = Ipv4::new(from, to, protocol::UDP);
    let udp = Udp {
        source_port: port,
        destination_port: 7,
    };
    ethernet.build(&mut bytes, |out| {
        ip.build(out, |out| {
            udp.build(ip.pseudo(), out, |out| {
                let end = out.len() + size - 4 - 42;
                out.extend(number.to_be_bytes());
                out.resize(end, 0);
            });
        });
    });
    bytes
}

/// What left: its port, when its first bit did, and what it is.
type Left = (Port, Time, Vec<u8>);

/// Runs a node until this time: frames come in when their last bit does.
fn run(node: &mut Middlebox, frames: &[(Port, Time, Vec<u8>)], until: Time) -> Vec<Left> {
    let mut out = Out::default();
    let mut left = Vec::new();
    let mut frames = frames.iter().peekable();
    let whole = |at: Time, bytes: &[u8]| at + TEN.time_of(8 * bytes.len() as u64, 0).0;
    loop {
        let came = frames.peek().map(|(_, at, bytes)| whole(*at, bytes));
        let wake = node.next_wake();
        let Some(now) = came.into_iter().chain(wake).min().filter(|at| *at <= until) else {
            return left;
        };
        if came == Some(now) {
            let (port, at, bytes) = frames.next().unwrap();
            let mut frame = Frame::new(bytes);
            frame.set_arrived(*at);
            node.frames(now, *port, &mut vec![frame], &mut out);
        } else {
            node.wake(now, &mut out);
        }
        for departure in out.sends() {
            let node::When::At(at) = departure.when else {
                panic!("all has its time");
            };
            assert!(at >= now, "{at:?} is past at {now:?}");
            left.push((departure.port, at, departure.frame.to_vec()));
        }
    }
}

fn node(config: Config) -> Middlebox {
    Middlebox::new(config, Box::new(|_| {}), Box::new(|_, _, _| {})).unwrap()
}

fn flows() -> Vec<Flow> {
    vec!["10.0.0.1 10.0.0.2 udp 1000".parse().unwrap()]
}

fn train(text: &str) -> Trains {
    text.parse().unwrap()
}

/// Frames of two flows and of random sizes, at random columns of four bytes.
fn mixed(seed: u64, count: u32) -> Vec<(Port, Time, Vec<u8>)> {
    let mut random = Random::new(seed);
    let mut at = Time::from_us(10);
    (0..count)
        .map(|number| {
            let size = 64 + random.below(1454) as usize;
            let port = 1000 + random.below(2) as u16;
            let frame = (INSIDE, at, datagram(port, number, size));
            let idle = 32 * random.below(500);
            let bits = wire_bits(frame.2.len()).next_multiple_of(32) + idle;
            at += TEN.time_of(bits, 0).0;
            frame
        })
        .collect()
}

#[test]
fn what_passes_leaves_exactly_the_latency_later_and_nothing_overlaps() {
    for seed in 0..20 {
        let config = Config {
            flows: flows(),
            trains: train("20, 2:1:9 Gb/s, 10 us, 100 us"),
            ..Config::default()
        };
        let mut node = node(config);
        let frames = mixed(seed, 2_000);
        let left = run(&mut node, &frames, Time::from_secs(1));
        let is_probe = |bytes: &[u8]| bytes[34..36] == 1000u16.to_be_bytes();
        let passing: Vec<_> = frames.iter().filter(|it| !is_probe(&it.2)).collect();
        let passed: Vec<_> = left
            .iter()
            .filter(|it| it.2[34..36] == 1001u16.to_be_bytes())
            .collect();
        assert_eq!(passing.len(), passed.len());
        for (came, left) in passing.iter().zip(passed) {
            assert_eq!((left.1, &left.2), (came.1 + Time::from_us(4), &came.2));
        }
        for pair in left.windows(2) {
            let over = pair[0].1 + TEN.time_of(wire_bits(pair[0].2.len()), 0).0;
            assert!(pair[1].1 >= over, "{:?} {:?}", pair[0].1, pair[1].1);
        }
        // All of the application is there, in order.
        let of_flow = |all: &[Left]| -> Vec<Vec<u8>> {
            let all = all.iter().filter(|it| is_probe(&it.2));
            all.map(|it| it.2.clone()).collect()
        };
        assert_eq!(of_flow(&left), of_flow(&frames));
        let statistics = node.statistics();
        assert!(statistics.get("displaced").unwrap() > 0);
        assert!(statistics.get("trains").unwrap() > 10);
    }
}

#[test]
fn a_train_leaves_when_it_is_whole_at_its_rate_whatever_the_sizes() {
    let config = Config {
        flows: flows(),
        trains: train("4, 1 Gb/s, 10 us, 1 ms"),
        ..Config::default()
    };
    let sizes = [792, 64, 1518, 300];
    let frames: Vec<_> = (0u32..4)
        .map(|n| {
            let at = Time::from_us(10 * u64::from(n));
            (INSIDE, at, datagram(1000, n, sizes[n as usize]))
        })
        .collect();
    let left = run(&mut node(config), &frames, Time::from_ms(100));
    assert_eq!(left.len(), 4);
    assert!(left[0].1 >= Time::from_us(30));
    let gaps: Vec<_> = left
        .windows(2)
        .map(|it| (it[1].1 - it[0].1).as_ns())
        .collect();
    // At 1 Gb/s a byte takes 8 ns; with 20 around each frame.
    assert_eq!(gaps, [812 * 8, 84 * 8, 1538 * 8]);
}

#[test]
fn gaps_are_as_many_idle_characters_as_are_asked_for() {
    let config = Config {
        flows: flows(),
        gaps: vec![120, 12, 4000],
        ..Config::default()
    };
    let frames: Vec<_> = (0u32..4)
        .map(|n| {
            (
                INSIDE,
                Time::from_us(5 * u64::from(n)),
                datagram(1000, n, 792),
            )
        })
        .collect();
    let left = run(&mut node(config), &frames, Time::from_ms(100));
    let bytes: Vec<_> = left
        .windows(2)
        .map(|it| (it[1].1 - it[0].1).as_ps() / 800 - 800)
        .collect();
    assert_eq!(bytes, [120, 12, 4000]);
}

#[test]
fn what_is_not_enough_is_made_up_with_dummies_that_the_far_end_takes_out() {
    let trains = train("5, 1 Gb/s, 10 us, 1 ms");
    let config = Config {
        flows: flows(),
        trains,
        ..Config::default()
    };
    let mut near = node(config.clone());
    let frames = [
        (INSIDE, Time::from_us(1), datagram(1000, 1, 500)),
        (INSIDE, Time::from_us(2), datagram(1000, 2, 500)),
    ];
    let left = run(&mut near, &frames, Time::from_ms(5));
    assert_eq!(left.len(), 5);
    // The oldest has waited for 1 ms.
    assert!(left[0].1 >= Time::from_us(1001) && left[0].1 < Time::from_us(1010));
    let counter = |node: &Middlebox, name: &str| node.statistics().get(name).unwrap();
    assert_eq!(
        (counter(&near, "probes"), counter(&near, "dummies")),
        (2, 3)
    );
    assert!((997_000..1_000_000).contains(&counter(&near, "added_most_ns")));
    let mut far = node(Config {
        mode: Mode::Extract,
        ..config
    });
    let frames: Vec<_> = left.into_iter().map(|it| (OUTSIDE, it.1, it.2)).collect();
    let left = run(&mut far, &frames, Time::from_ms(5));
    let inside: Vec<_> = left.iter().filter(|it| it.0 == INSIDE).collect();
    assert_eq!(inside.len(), 2);
    assert_eq!(
        (counter(&far, "extracted"), counter(&far, "removed")),
        (5, 3)
    );
    let gaps = far.command(Command::Gaps).unwrap();
    assert_eq!(gaps.lines().count(), 4);
    // At a tenth of the rate the gap behind 520 bytes is nine times as long, and the least gap.
    assert_eq!(gaps.lines().next(), Some("4692"));
    // And the near end hears of all.
    let replies: Vec<_> = left
        .into_iter()
        .filter(|it| it.0 == OUTSIDE)
        .map(|it| (OUTSIDE, it.1, it.2))
        .collect();
    let mut again = node(Config {
        flows: flows(),
        trains,
        ..Config::default()
    });
    assert_eq!(replies.len(), 5);
    run(&mut again, &replies, Time::from_ms(9));
    assert_eq!(counter(&again, "stray"), 5, "it has sent none");
    run(&mut near, &replies, Time::from_ms(9));
    assert_eq!((counter(&near, "replies"), counter(&near, "lost")), (5, 0));
}

/// The far end hears all as it left, so that no train is above what the path has: no answer. Behind a wire that is slower there is one.
#[test]
fn available_bandwidth_is_estimated_of_applications_packets() {
    for (spare, found) in [(f64::INFINITY, false), (5e9, true)] {
        let estimates = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&estimates);
        let config = Config {
            flows: flows(),
            method: Some(Method::MinProbe),
            ..Config::default()
        };
        let tell = Box::new(move |it| told.lock().unwrap().push(it));
        let mut near = Middlebox::new(config.clone(), tell, Box::new(|_, _, _| {})).unwrap();
        let mut far = node(Config {
            mode: Mode::Extract,
            ..config
        });
        let frames: Vec<_> = (0u32..4_000)
            .map(|n| {
                let at = Time::from_ns(3_200 * u64::from(n));
                (INSIDE, at, datagram(1000, n, 792))
            })
            .collect();
        let left = run(&mut near, &frames, Time::from_ms(40));
        // A queue that is served at what is to spare.
        let mut free = Time::ZERO;
        let there: Vec<_> = left
            .into_iter()
            .map(|(_, at, bytes)| {
                let at = at.max(free);
                free = at + Time::from_ps((wire_bits(bytes.len()) as f64 * 1e12 / spare) as u64);
                (OUTSIDE, at, bytes)
            })
            .collect();
        let back: Vec<_> = run(&mut far, &there, Time::from_ms(50))
            .into_iter()
            .filter(|it| it.0 == OUTSIDE)
            .collect();
        run(&mut near, &back, Time::from_secs(1));
        let estimates = estimates.lock().unwrap();
        let first: &Estimate = estimates.first().expect("a sample is over");
        assert_eq!((first.packets, first.lost, first.trains), (1_920, 0, 96));
        assert_eq!(first.bits, 0, "no dummies");
        match first.answer.estimate {
            Some(it) => assert!(found && (it.value - spare).abs() < 0.15e9, "{it:?}"),
            None => assert!(!found, "{}", first.answer.how),
        }
    }
}

#[test]
fn commands_change_what_it_does_and_wrong_ones_are_refused() {
    let config = Config {
        commands: vec![
            Timed {
                at: Time::from_us(50),
                run: "set_mode forward".into(),
            },
            Timed {
                at: Time::from_us(20),
                run: "flow_remove 10.0.0.9 10.0.0.2".into(),
            },
        ],
        flows: flows(),
        ..Config::default()
    };
    let mut node = node(config);
    let frames: Vec<_> = (0u32..10)
        .map(|n| {
            (
                INSIDE,
                Time::from_us(10 * u64::from(n)),
                datagram(1000, n, 200),
            )
        })
        .collect();
    run(&mut node, &frames, Time::from_us(100));
    let counter = |name: &str| node.statistics().get(name).unwrap();
    assert_eq!((counter("passed"), counter("held")), (5, 5));
    assert_eq!(counter("refused"), 1);
    let flow = Command::FlowRemove(flows()[0]);
    assert_eq!(node.command(flow.clone()), Ok(String::new()));
    assert_eq!(node.command(flow), Err(CommandError::NoFlow));
}

#[test]
fn what_cannot_work_is_refused_at_its_key() {
    let new = |config| Middlebox::new(config, Box::new(|_| {}), Box::new(|_, _, _| {})).err();
    let usual = Config::default;
    for (config, key) in [
        (
            Config {
                latency: Time::from_us(1),
                ..usual()
            },
            "latency",
        ),
        // At 100 Mb/s a frame of 1518 bytes takes 123 us.
        (
            Config {
                rate: "100 Mb/s".parse().unwrap(),
                latency: Time::from_us(200),
                ..usual()
            },
            "latency",
        ),
        (
            Config {
                trains: Trains::PATHLOAD,
                ..usual()
            },
            "trains",
        ),
        (
            Config {
                gaps: vec![3],
                ..usual()
            },
            "gaps",
        ),
        (
            Config {
                dummy_size: 2_000,
                ..usual()
            },
            "dummy_size",
        ),
        (
            Config {
                timeout: Time::ZERO,
                ..usual()
            },
            "timeout",
        ),
    ] {
        assert_eq!(new(config).map(|error| error.key), Some(key));
    }
}

/// With D of 100 ms, an application whose packets were held for the next sample would stand still.
#[test]
fn what_no_train_of_a_sample_took_leaves_at_once_and_in_order() {
    let config = Config {
        flows: flows(),
        trains: train("20, 5 Gb/s, 10 us, 100 ms"),
        ..Config::default()
    };
    let mut node = node(config);
    let frames: Vec<_> = (0u32..40)
        .map(|n| {
            let at = Time::from_ns(700 * u64::from(n));
            (INSIDE, at, datagram(1000, n, 792))
        })
        .collect();
    let left = run(&mut node, &frames, Time::from_ms(50));
    let bytes = |all: &[Left]| -> Vec<Vec<u8>> { all.iter().map(|it| it.2.clone()).collect() };
    assert_eq!(bytes(&left), bytes(&frames));
    let last = left.last().unwrap().1;
    assert!(last < Time::from_us(60), "{last:?}");
    let counter = |name: &str| node.statistics().get(name).unwrap();
    assert_eq!((counter("probes"), counter("trains")), (20, 1));
    assert_eq!(counter("released") + counter("passed"), 20);
    assert!(counter("released") > 0);
}
