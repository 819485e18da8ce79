//! Graphs that run in several parts do, to the last bit, what they do in one.

use crate::cast;
use node::Probability;
use node::outcome::Direction;
use node::random::Random;
use node::{Channel, Frame, Graph, NodeId, Outcome, Rate, Tap, Time};
use nodes::delay::{self, Delay};
use nodes::generator::{self, Generator, Sizes};
use nodes::switch::{self, Switch};
use queue::egress::PortQueue;
use sim::{Options, Sim};
use std::sync::{Arc, Mutex};

/// What one direction of a link delivers: when, and which bytes.
type Delivered = Vec<(Time, Time, Vec<u8>)>;

/// A ring of switches with hosts, links of all kinds, and boxes between them.
fn ring(switches: u16, seed: u64) -> Graph {
    let mut graph = Graph::default();
    let mut random = Random::new(seed);
    let mut draw = |bound| random.below(bound);
    let hubs: Vec<NodeId> = (0..switches)
        .map(|number| {
            let config = switch::Config {
                ports: 6,
                ..switch::Config::default()
            };
            graph.add(format!("s{number}"), Box::new(Switch::new(config).unwrap()))
        })
        .collect();
    for number in 0..switches {
        for host in 0..4u16 {
            let mac = |number: u16, host: u16| [2, 0, 0, 0, number as u8, host as u8];
            let config = generator::Config {
                count: Some(40),
                start: Time::from_ns(draw(5_000)),
                gap: Some(Time::from_ns(500 + draw(3_000))),
                size: Sizes::One(64 + draw(1_000) as u16),
                source: mac(number, host).into(),
                destination: mac((number + 1 + draw(3) as u16) % switches, draw(4) as u16).into(),
                ..generator::Config::default()
            };
            let generator = Generator::new(config).unwrap();
            let id = graph.add(format!("h{number}-{host}"), Box::new(generator));
            let channel = Channel {
                // Some take no time at all, so that their ends must stay together.
                rate: [None, Some(Rate::TEN_GIGABIT)][draw(2) as usize],
                delay: Time::from_ns(draw(2) * 40),
                ..Channel::default()
            };
            graph.connect((id, 0), (hubs[number as usize], host), channel);
        }
        let next = hubs[usize::from((number + 1) % switches)];
        let channel = Channel {
            delay: Time::from_ns(200 + draw(1_000)),
            loss: Probability::new(0.05).unwrap(),
            duplicate: Probability::new(0.05).unwrap(),
            reorder: Probability::new(0.1).unwrap(),
            reorder_by: Time::from_us(3),
            bit_error: 1e-5,
            down: vec![[Time::from_us(20), Time::from_us(24)]],
            ..Channel::default()
        };
        // A ring without a spanning tree would never come to rest: a box that loses some stands in each link.
        let config = delay::Config {
            forth: "delay 2us 1us loss 60%".parse().unwrap(),
            back: None,
        };
        let between = graph.add(format!("d{number}"), Box::new(Delay::new(config).unwrap()));
        graph.connect((hubs[number as usize], 4), (between, 0), channel.clone());
        graph.connect((between, 1), (next, 5), channel);
    }
    graph
}

/// Runs it with so many threads: how many parts there were, what came of it, and what each link delivered.
fn run(make: impl Fn() -> Graph, threads: usize) -> (usize, Outcome, Vec<Delivered>) {
    run_cut(make, threads, 0)
}

/// The same, with so many events on one thread before.
fn run_cut(
    make: impl Fn() -> Graph,
    threads: usize,
    whole_for: u64,
) -> (usize, Outcome, Vec<Delivered>) {
    run_queued(make, threads, whole_for, &[])
}

/// The same, with the disciplines on the links in turn.
fn run_queued(
    make: impl Fn() -> Graph,
    threads: usize,
    whole_for: u64,
    disciplines: &[queue::Config],
) -> (usize, Outcome, Vec<Delivered>) {
    let graph = make();
    let lanes = (0..2 * graph.links.len()).zip(disciplines.iter().cycle());
    let disciplines = lanes.map(|(lane, config)| {
        let config = config.clone();
        PortQueue {
            link: lane / 2,
            direction: Direction::BOTH[lane % 2],
            make: Box::new(move || config.build(lane as u64).unwrap()),
            see: None,
            pause: Default::default(),
        }
    });
    let seen: Vec<Arc<Mutex<Delivered>>> =
        (0..2 * graph.links.len()).map(|_| Arc::default()).collect();
    let taps = seen.iter().enumerate().map(|(lane, seen)| {
        let seen = seen.clone();
        Tap {
            link: lane / 2,
            direction: Direction::BOTH[lane % 2],
            see: Box::new(move |now: Time, frame: &Frame| {
                seen.lock()
                    .unwrap()
                    .push((now, frame.arrived(), frame.to_vec()));
            }),
        }
    });
    let options = Options {
        seed: 5,
        threads,
        whole_for,
        taps: taps.collect(),
        disciplines: disciplines.collect(),
        until: Some(Time::from_us(400)),
        ..Options::default()
    };
    let mut sim = Sim::new(graph, options).unwrap();
    sim.advance().unwrap();
    let seen = seen.iter().map(|seen| seen.lock().unwrap().clone());
    (sim.parts(), sim.outcome(), seen.collect())
}

#[test]
fn several_parts_do_what_one_does() {
    for seed in 0..20 {
        let make = || ring(3 + (seed % 6) as u16, seed);
        let (one, outcome, seen) = run(make, 1);
        assert_eq!(one, 1);
        assert!(outcome.frames > 1_000 && outcome.links.iter().flatten().any(|link| link.lost > 0));
        for threads in [2, 3, 7] {
            let (parts, again, also) = run(make, threads);
            assert!(parts > 1, "seed {seed}: {parts} parts");
            assert_eq!(again, outcome, "seed {seed}, {parts} parts");
            assert!(
                also == seen,
                "seed {seed}, {parts} parts: links deliver something else"
            );
        }
    }
}

#[test]
fn links_with_queue_disciplines_do_the_same_in_several_parts() {
    let disciplines = crate::disciplines::all();
    for seed in 0..10 {
        let make = || ring(3 + (seed % 6) as u16, seed);
        let (_, outcome, seen) = run_queued(make, 1, 0, &disciplines);
        assert!(outcome.frames > 1_000);
        for (threads, whole_for) in [(2, 0), (7, 0), (3, 200)] {
            let (parts, again, also) = run_queued(make, threads, whole_for, &disciplines);
            assert!(parts > 1 || whole_for > 0, "seed {seed}: {parts} parts");
            assert_eq!(again, outcome, "seed {seed}, {parts} parts");
            assert!(also == seen, "seed {seed}, {parts} parts");
        }
    }
}

#[test]
fn a_run_is_cut_on_its_way_where_much_happens_within_a_delay() {
    for seed in 0..10 {
        let between = |delay: Time| {
            let mut graph = ring(5, seed);
            let channels = graph.links.iter_mut().flat_map(|link| &mut link.channels);
            let long = channels.filter(|channel| channel.delay >= Time::from_ns(200));
            long.for_each(|channel| channel.delay = delay);
            graph
        };
        let make = || between(Time::from_us(50));
        let one = run(make, 1);
        for whole_for in [1, 150, 1_000] {
            let (parts, outcome, seen) = run_cut(make, 3, whole_for);
            assert!(
                parts > 1 || whole_for == 1,
                "seed {seed}, {whole_for}: {parts} parts"
            );
            assert_eq!(outcome, one.1, "seed {seed}, cut at {whole_for}");
            assert!(
                seen == one.2,
                "seed {seed}, cut at {whole_for}: links deliver something else"
            );
        }
        // Next to nothing happens within these delays.
        assert_eq!(run_cut(|| between(Time::from_ns(20)), 3, 150).0, 1);
    }
}

#[test]
fn what_takes_no_time_stays_together() {
    let make = || {
        let mut graph = ring(4, 1);
        for link in &mut graph.links {
            for channel in &mut link.channels {
                (channel.rate, channel.delay) = (None, Time::ZERO);
            }
        }
        graph
    };
    assert_eq!(run(make, 4).0, 1);
}

#[test]
fn a_node_that_panics_in_a_thread_ends_the_run() {
    struct Bomb;
    impl node::Node for Bomb {
        fn properties(&self) -> node::Properties {
            node::Properties::of(1)
        }
        fn frames(&mut self, _: Time, _: node::Port, _: &mut Vec<Frame>, _: &mut node::Out) {
            panic!("a bomb");
        }
    }
    for bomb in [0, 1] {
        let mut graph = Graph::default();
        let nodes: Vec<NodeId> = (0..2)
            .map(|index| match index == bomb {
                true => graph.add("bomb", Box::new(Bomb)),
                false => graph.add(
                    "a",
                    cast::source(1_000_000, 60, Time::from_us(1), Time::ZERO),
                ),
            })
            .collect();
        let channel = Channel {
            delay: Time::from_us(1),
            ..Channel::default()
        };
        graph.connect((nodes[0], 0), (nodes[1], 0), channel);
        let options = Options {
            threads: 2,
            ..Options::default()
        };
        let ended =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sim::run(graph, options)));
        assert!(ended.is_err());
    }
}

#[test]
fn of_several_nodes_where_time_stands_still_the_first_one_is_named_on_any_number_of_threads() {
    /// Wants to be woken in the past, for ever, when it has a frame.
    struct Late(bool);
    impl node::Node for Late {
        fn properties(&self) -> node::Properties {
            node::Properties::of(3)
        }
        fn frames(&mut self, _: Time, _: node::Port, frames: &mut Vec<Frame>, out: &mut node::Out) {
            self.0 = true;
            frames.drain(..).for_each(|frame| out.done(frame));
        }
        fn next_wake(&self) -> Option<Time> {
            self.0.then_some(Time::ZERO)
        }
    }
    // A ring of four; each has a source of its own, which is later than the others.
    for first in 0..4 {
        for threads in 1..=4 {
            let mut graph = Graph::default();
            let channel = Channel {
                delay: Time::from_us(1),
                ..Channel::default()
            };
            let late: Vec<NodeId> = (0..4)
                .map(|node| graph.add(format!("late{node}"), Box::new(Late(false))))
                .collect();
            for node in 0..4 {
                let start = Time::from_ns(10_000 + (node as u64 + 4 - first) % 4 * 300);
                let name = format!("source{node}");
                let source = graph.add(name, cast::source(1, 60, start, Time::ZERO));
                graph.connect((source, 0), (late[node], 2), channel.clone());
                let next = late[(node + 1) % 4];
                graph.connect((late[node], 0), (next, 1), channel.clone());
            }
            let options = Options {
                threads,
                ..Options::default()
            };
            let error = sim::run(graph, options).unwrap_err();
            let named = format!("late{first}");
            assert!(
                matches!(&error, sim::SimError::Stuck { node, .. } if *node == named),
                "{threads} threads: {error}, not {named}"
            );
        }
    }
}
