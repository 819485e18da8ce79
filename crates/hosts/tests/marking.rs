//! Senders and queue disciplines that mark: a link's queue in front of hosts with ECN, DCTCP and accurate ECN.

use crate::transfer::bulk;
use hosts::host::{self, make};
use hosts::program::{Config as Program, Congestion, Ecn, bulk, sink};
use node::outcome::Direction;
use node::{Channel, Graph, Outcome, Rate, Time};
use queue::egress::{PortQueue, QueueEvent};
use queue::{Config as Queue, Verdict, dualpi2, fifo, fq_codel};
use std::sync::{Arc, Mutex};

/// A link from a host with senders to a host with a sink.
#[derive(Clone, Copy)]
struct Path {
    megabits: u64,
    /// One way.
    delay: Time,
    /// When the queue is looked at: from `begins` to the end.
    begins: Time,
    seconds: u64,
}

impl Path {
    /// Packets of 1,538 bytes on the line that are under way in a round trip.
    fn packets(&self) -> f64 {
        self.megabits as f64 * 1e6 * 2.0 * self.delay.as_secs_f64() / 8.0 / 1538.0
    }

    /// Seconds for which the queue is looked at.
    fn observed(&self) -> f64 {
        self.seconds as f64 - self.begins.as_secs_f64()
    }
}

/// Behaviour of the queue.
#[derive(Clone, Default)]
struct Seen {
    marks: u64,
    drops: u64,
    /// Packets that left as ECT(1), or with a mark, and all others: their number and their time in the queue.
    low: (u64, Time),
    classic: (u64, Time),
    longest: u64,
    /// Packets times time, and since when there are how many.
    area: f64,
    since: (Time, u64),
}

impl Seen {
    fn see(&mut self, begins: Time, event: &QueueEvent<'_>) {
        match event {
            QueueEvent::Decided(decision) if decision.at >= begins => match decision.verdict {
                Verdict::Marked => self.marks += 1,
                Verdict::Dropped => self.drops += 1,
            },
            QueueEvent::Sent {
                at,
                packet,
                backlog,
            } if *at >= begins => {
                let (since, packets) = self.since;
                self.area += packets as f64 * (*at - since.max(begins)).as_secs_f64();
                self.since = (*at, backlog.packets);
                self.longest = self.longest.max(backlog.packets);
                let kind = match packet.facts.ecn.is_l4s() {
                    true => &mut self.low,
                    false => &mut self.classic,
                };
                kind.0 += 1;
                kind.1 += *at - packet.enqueued;
            }
            _ => {}
        }
    }
}

/// Runs senders over a path, and returns the outcome and the behaviour of the queue.
fn run(
    path: Path,
    queue: Queue,
    senders: Vec<bulk::Config>,
    sink: sink::Config,
) -> (Outcome, Seen) {
    let mut graph = Graph::default();
    let senders = senders.into_iter().map(Program::Bulk).collect();
    let ends = [(1, senders), (2, vec![Program::Sink(sink)])].map(|(number, programs)| {
        let config = host::Config {
            address: vec![format!("10.0.0.{number}/24").parse().unwrap()],
            ..host::Config::default()
        };
        graph.add(
            format!("h{number}"),
            make(config, programs, number).unwrap(),
        )
    });
    let channel = Channel {
        rate: Rate::from_bits_per_second(path.megabits * 1_000_000),
        delay: path.delay,
        ..Channel::default()
    };
    graph.connect((ends[0], 0), (ends[1], 0), channel);
    let seen = Arc::new(Mutex::new(Seen::default()));
    let sees = Arc::clone(&seen);
    let begins = path.begins;
    let port = PortQueue {
        link: 0,
        direction: Direction::Forth,
        make: Box::new(move || queue.build(7).unwrap()),
        see: Some(Box::new(move |event| {
            sees.lock().unwrap().see(begins, event)
        })),
        pause: Default::default(),
    };
    let options = sim::Options {
        seed: 3,
        until: Some(Time::from_secs(path.seconds)),
        disciplines: vec![port],
        ..sim::Options::default()
    };
    let outcome = sim::run(graph, options).unwrap();
    let seen = seen.lock().unwrap().clone();
    (outcome, seen)
}

impl Seen {
    /// Share of the line that was busy, by packets of full size.
    fn share(&self, path: Path) -> f64 {
        let sent = self.low.0 + self.classic.0;
        let most = path.megabits as f64 * 1e6 * path.observed() / 8.0 / 1538.0;
        sent as f64 / most
    }

    fn mean(&self, path: Path) -> f64 {
        self.area / path.observed()
    }
}

fn fifo(mark: Option<u32>) -> Queue {
    Queue::Fifo(fifo::Config {
        mark,
        ..fifo::Config::default()
    })
}

fn dctcp(ecn: Ecn) -> bulk::Config {
    bulk::Config {
        congestion: Congestion::Dctcp,
        ecn,
        buffer: 8 << 20,
        ..bulk(2)
    }
}

#[test]
fn dctcp_fills_a_link_with_a_queue_of_the_marking_threshold() {
    for (megabits, delay, flows) in [
        (1_000, Time::from_us(500), 2),
        (1_000, Time::from_us(500), 10),
        (1_000, Time::from_us(100), 4),
        (100, Time::from_ms(2), 3),
    ] {
        let path = Path {
            megabits,
            delay,
            begins: Time::from_secs(1),
            seconds: 2,
        };
        // Section 3.4 of the paper of Alizadeh and others (SIGCOMM 2010): no loss of throughput from K > C * RTT / 7 on; then the queue
        // is K + N at most, and its amplitude is A.
        let product = path.packets();
        let threshold = (product / 7.0 * 1.3).ceil() + 4.0;
        let most = threshold + f64::from(flows);
        let amplitude = (2.0 * f64::from(flows) * (product + threshold)).sqrt() / 2.0;
        // Feedback of each mark by DCTCP's acknowledgements, and by accurate ECN of a receiver without DCTCP.
        for (ecn, receiver) in [
            (Ecn::Passive, Congestion::Dctcp),
            (Ecn::Accurate, Congestion::Cubic),
        ] {
            let sink = sink::Config {
                congestion: receiver,
                ..sink::Config::default()
            };
            let all = bulk::Config {
                flows: Some(flows),
                ..dctcp(ecn)
            };
            let (outcome, seen) = run(path, fifo(Some(threshold as u32)), vec![all], sink);
            let (share, mean) = (seen.share(path), seen.mean(path));
            let context = format!(
                "{megabits} Mb/s, {delay}, {flows} flows, {ecn:?}: K {threshold}, A {amplitude:.1}, share {share:.4}, \
                 mean {mean:.1}, longest {}",
                seen.longest
            );
            assert!(share > 0.99, "{context}");
            assert!(seen.drops == 0 && seen.marks > 0, "{context}");
            // An acknowledgement of two segments lets two leave at once, three while a window grows.
            assert!(
                seen.longest as f64 <= most + 2.0 * f64::from(flows),
                "{context}"
            );
            assert!(mean >= most - amplitude - 2.0 && mean <= most, "{context}");
            let flows = &outcome.nodes[0].flows;
            assert!(flows.iter().all(|flow| flow.resent == 0), "{context}");
        }
    }
}

#[test]
fn a_marking_threshold_below_the_bound_costs_dctcp_throughput() {
    let path = Path {
        megabits: 1_000,
        delay: Time::from_us(500),
        begins: Time::from_secs(1),
        seconds: 2,
    };
    let sink = sink::Config {
        congestion: Congestion::Dctcp,
        ..sink::Config::default()
    };
    let share = |threshold| {
        let senders = vec![dctcp(Ecn::On)];
        run(path, fifo(Some(threshold)), senders, sink.clone())
            .1
            .share(path)
    };
    let (below, above) = (share(1), share(20));
    assert!(below < 0.99 && above > 0.999, "{below} {above}");
}

#[test]
fn marks_take_the_place_of_losses_and_hosts_that_do_not_ask_get_none() {
    let path = Path {
        megabits: 20,
        delay: Time::from_ms(10),
        begins: Time::from_secs(10),
        seconds: 20,
    };
    for congestion in [Congestion::Cubic, Congestion::Reno] {
        for ecn in [Ecn::Off, Ecn::Passive, Ecn::On, Ecn::Accurate] {
            let sender = bulk::Config {
                congestion,
                ecn,
                ..bulk(2)
            };
            let queue = Queue::FqCodel(fq_codel::Config::default());
            let (outcome, seen) = run(path, queue, vec![sender], sink::Config::default());
            let (share, flow) = (seen.share(path), &outcome.nodes[0].flows[0]);
            let context = format!(
                "{congestion:?} {ecn:?}: share {share:.3}, {} marks, {} drops, {} resent",
                seen.marks, seen.drops, flow.resent
            );
            assert!(share > 0.9, "{context}");
            match ecn {
                Ecn::On | Ecn::Accurate => assert!(seen.marks > 0 && seen.drops == 0, "{context}"),
                _ => assert!(seen.marks == 0 && seen.drops > 0, "{context}"),
            }
        }
    }
}

#[test]
fn a_scalable_sender_shares_a_link_with_cubic_and_waits_less() {
    let path = Path {
        megabits: 50,
        delay: Time::from_ms(5),
        begins: Time::from_secs(10),
        seconds: 20,
    };
    let cubic = bulk::Config {
        ecn: Ecn::On,
        ..bulk(2)
    };
    let queue = Queue::DualPi2(dualpi2::Config::default());
    let senders = vec![dctcp(Ecn::L4s), cubic];
    let (outcome, seen) = run(path, queue, senders, sink::Config::default());
    let wait = |(packets, time): (u64, Time)| time.as_secs_f64() * 1e3 / packets.max(1) as f64;
    let (low, classic) = (wait(seen.low), wait(seen.classic));
    let [scalable, other] = [0, 1].map(|flow| outcome.nodes[0].flows[flow].goodput());
    let context = format!(
        "{low:.3} and {classic:.3} ms, {:.1} and {:.1} Mb/s, share {:.3}, {} drops",
        scalable / 1e6,
        other / 1e6,
        seen.share(path),
        seen.drops
    );
    assert!(low < 1.0 && classic > 5.0, "{context}");
    // RFC 9332 aims at equal rates for equal round trips; the longer queue makes the round trip of Cubic about twice as long here.
    let ratio = scalable / other;
    assert!(ratio > 0.5 && ratio < 4.0, "{context}");
    assert!(seen.share(path) > 0.95 && seen.drops == 0, "{context}");
}

#[test]
fn paced_segments_leave_a_short_queue() {
    let path = Path {
        megabits: 100,
        delay: Time::from_ms(10),
        begins: Time::ZERO,
        seconds: 10,
    };
    let longest = |pacing| {
        let sender = bulk::Config {
            pacing,
            initial_window: 40,
            // Half of what the path holds: a queue comes of bursts alone.
            buffer: (path.packets() / 2.0 * 1460.0) as usize,
            ..bulk(2)
        };
        let (outcome, seen) = run(path, fifo(None), vec![sender], sink::Config::default());
        let rate = outcome.nodes[0].flows[0].goodput();
        (seen.longest, rate)
    };
    let (paced, other) = (longest(true), longest(false));
    // The first ten segments are not paced.
    assert!(paced.0 <= 10 && other.0 > 30, "{paced:?} {other:?}");
    assert!(paced.1 > 0.95 * other.1, "{paced:?} {other:?}");
}

fn bbr() -> bulk::Config {
    bulk::Config {
        congestion: Congestion::Bbr,
        buffer: 8 << 20,
        ..bulk(2)
    }
}

#[test]
fn bbr_fills_a_link_and_not_its_queue() {
    for (megabits, delay) in [
        (10, Time::from_ms(20)),
        (100, Time::from_ms(10)),
        (500, Time::from_ms(1)),
    ] {
        let path = Path {
            megabits,
            delay,
            begins: Time::from_secs(3),
            seconds: 9,
        };
        let share = |congestion| {
            let sender = bulk::Config {
                congestion,
                ..bbr()
            };
            let (_, seen) = run(path, fifo(None), vec![sender], sink::Config::default());
            (seen.share(path), seen.mean(path), seen.longest as f64)
        };
        let (with_bbr, with_cubic) = (share(Congestion::Bbr), share(Congestion::Cubic));
        let context = format!("{megabits} Mb/s, {delay}: {with_bbr:?}, Cubic {with_cubic:?}");
        assert!(with_bbr.0 > 0.95, "{context}");
        // The window is twice the product of rate and round trip: the queue holds the other half at most, and a quarter for a round trip
        // in eight.
        let product = path.packets();
        assert!(with_bbr.1 < 0.3 * product + 3.0, "{context}");
        assert!(with_bbr.2 < 1.1 * product + 6.0, "{context}");
        assert!(with_cubic.1 > 2.0 * with_bbr.1, "{context}");
    }
}
