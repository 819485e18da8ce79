//! Graphs over veth pairs. Without the rights to make them each test says that it was skipped.

use live::netns::NetnsError;
use live::world::{self, Options, WorldError};
use node::outcome::{Direction, Finish};
use node::{
    Channel, Frame, Graph, Node, Out, Outcome, Port, Probability, Properties, Statistics, Tap, Time,
};
use std::sync::{Arc, Mutex};

/// Sends `count` frames, one each `gap`, and counts what comes back, with the time it took.
struct Source {
    next: u64,
    count: u64,
    gap: Time,
    back: Arc<Mutex<Vec<(u64, Time)>>>,
}

impl Node for Source {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            let number = u64::from_be_bytes(frame[14..22].try_into().unwrap());
            let left = self.gap * number;
            self.back
                .lock()
                .unwrap()
                .push((number, frame.arrived() - left));
            out.done(frame);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        while self.next < self.count && self.gap * self.next <= now {
            let mut frame = out.frame();
            frame.extend(b"\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a\x88\xb5");
            frame.extend(&self.next.to_be_bytes());
            out.send_at(Port(0), self.gap * self.next, frame);
            self.next += 1;
        }
    }

    fn next_wake(&self) -> Option<Time> {
        (self.next < self.count).then(|| self.gap * self.next)
    }
}

/// Sends everything back so much later than it arrived.
struct Echo(Time);

impl Node for Echo {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            assert!(now >= frame.arrived());
            assert_eq!(frame.len(), 60, "short frames are padded on a link");
            let at = frame.arrived() + self.0;
            out.send_at(port, at, frame);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([("echoed", 7)])
    }
}

struct Bench {
    graph: Graph,
    back: Arc<Mutex<Vec<(u64, Time)>>>,
}

fn bench(count: u64, gap: Time, echo: Time, channel: Channel) -> Bench {
    let back = Arc::default();
    let mut graph = Graph::default();
    let source = Source {
        next: 0,
        count,
        gap,
        back: Arc::clone(&back),
    };
    let source = graph.add("source", Box::new(source));
    let echo = graph.add("echo", Box::new(Echo(echo)));
    graph.connect((source, 0), (echo, 0), channel);
    Bench { graph, back }
}

fn run(graph: Graph, options: Options) -> Option<Outcome> {
    match world::run(graph, options) {
        Ok(outcome) => Some(outcome),
        Err(WorldError::Netns(NetnsError::Permission { doing })) => {
            println!("skipped: {doing} is not allowed here");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn frames_go_round_in_order_and_never_earlier_than_the_bound() {
    let delay = Time::from_ms(3);
    let channel = Channel {
        delay: Time::from_ms(1),
        ..Channel::default()
    };
    let bench = bench(200, Time::from_us(100), delay, channel);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let options = Options {
        taps: vec![Tap {
            link: 0,
            direction: Direction::Forth,
            see: Box::new(move |at, frame| {
                assert!(at >= frame.arrived());
                log.lock().unwrap().push(frame[21]);
            }),
        }],
        ..Options::default()
    };
    let Some(outcome) = run(bench.graph, options) else {
        return;
    };
    let back = bench.back.lock().unwrap();
    assert!(back.iter().map(|(number, _)| *number).eq(0..200));
    // Two ways of 1 ms and the echo; each clock reading may be some 100 ns off.
    let lead = Time::from_ns(2 * live::port::pace::MAX_LEAD_NS);
    let least = delay + Time::from_us(1_998) - lead;
    assert!(back.iter().all(|(_, took)| *took >= least), "{back:?}");
    assert!(seen.lock().unwrap().iter().copied().eq(0..200));
    assert_eq!((outcome.finish, outcome.frames), (Finish::Idle, 400));
    let timing = outcome.timing.unwrap();
    assert_eq!(timing.frames, 400);
    assert!(timing.raw.p50 <= timing.raw.p99 && timing.raw.p99 <= timing.raw.max);
    assert_eq!(outcome.links[0].map(|link| link.sent), [200, 200]);
    assert_eq!(outcome.nodes[1].name, "echo");
    assert_eq!(outcome.nodes[1].counters, [("echoed".to_string(), 7)]);
    assert!(
        outcome.nodes.iter().all(|node| node.drops.is_empty()),
        "{outcome:?}"
    );
}

#[test]
fn what_a_link_loses_it_loses_as_in_simulated_time() {
    let channel = Channel {
        loss: Probability::new(0.2).unwrap(),
        ..Channel::default()
    };
    let options = || Options {
        seed: 5,
        ..Options::default()
    };
    let make = || bench(300, Time::from_us(20), Time::from_us(200), channel.clone());
    let (first, second) = (make(), make());
    let Some(one) = run(first.graph, options()) else {
        return;
    };
    let two = run(second.graph, options()).unwrap();
    // Whether a departure was late is the machine's doing, not the link's.
    let lost = |outcome: &Outcome| outcome.links[0].map(|link| (link.sent, link.lost));
    assert_eq!(lost(&one), lost(&two));
    assert!(one.links[0][0].lost > 0);
    let numbers = |back: &Mutex<Vec<(u64, Time)>>| -> Vec<u64> {
        back.lock()
            .unwrap()
            .iter()
            .map(|(number, _)| *number)
            .collect()
    };
    assert_eq!(numbers(&first.back), numbers(&second.back));
    let simulated = make();
    let expected = sim::run(
        simulated.graph,
        sim::Options {
            seed: 5,
            ..sim::Options::default()
        },
    )
    .unwrap();
    assert_eq!(lost(&expected), lost(&one));
    assert_eq!(numbers(&first.back), numbers(&simulated.back));
}

#[test]
fn a_run_ends_when_its_time_is_up() {
    let bench = bench(u64::MAX, Time::from_ms(1), Time::ZERO, Channel::default());
    let until = Some(Time::from_ms(50));
    let options = Options {
        until,
        ..Options::default()
    };
    let Some(outcome) = run(bench.graph, options) else {
        return;
    };
    assert_eq!(outcome.finish, Finish::Duration);
    assert_eq!(outcome.ended, Time::from_ms(50));
    let back = bench.back.lock().unwrap().len();
    // Those of 0 to 50 ms, if the machine was quick enough for all.
    assert!(back <= 51, "{back}");
}

#[test]
fn a_frame_sent_by_a_port_that_is_not_there_is_a_counted_drop() {
    struct Lost(bool);
    impl Node for Lost {
        fn properties(&self) -> Properties {
            Properties::of(1)
        }

        fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
            for frame in frames.drain(..) {
                out.done(frame);
            }
        }

        fn wake(&mut self, _: Time, out: &mut Out) {
            self.0 = true;
            out.send(Port(9), Frame::new(&[0; 60]));
            out.send(
                Port(0),
                Frame::new(&vec![0; node::frame::MAX_FRAME_LEN + 1]),
            );
        }

        fn next_wake(&self) -> Option<Time> {
            (!self.0).then_some(Time::ZERO)
        }
    }
    let mut graph = Graph::default();
    let a = graph.add("a", Box::new(Lost(false)));
    let b = graph.add("b", Box::new(Lost(true)));
    graph.connect((a, 0), (b, 0), Channel::default());
    let Some(outcome) = run(graph, Options::default()) else {
        return;
    };
    let drops: Vec<_> = outcome.nodes[0]
        .drops
        .iter()
        .map(|(r, n)| (&r[..], *n))
        .collect();
    assert_eq!(
        drops,
        [
            ("sent by a port that is not there", 1),
            ("longer than 262,144 bytes", 1)
        ]
    );
}

#[test]
fn a_panicking_node_ends_the_run_and_leaves_nothing() {
    struct Bad;
    impl Node for Bad {
        fn properties(&self) -> Properties {
            Properties::of(1)
        }

        fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, _: &mut Out) {
            for _ in frames.drain(..) {}
        }

        fn wake(&mut self, _: Time, _: &mut Out) {
            panic!("as a node may");
        }

        fn next_wake(&self) -> Option<Time> {
            Some(Time::ZERO)
        }
    }
    let mut graph = Graph::default();
    let a = graph.add("a", Box::new(Bad));
    let b = graph.add("b", Box::new(Echo(Time::ZERO)));
    graph.connect((a, 0), (b, 0), Channel::default());
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run(graph, Options::default()).is_none()
    }));
    // Skipped, or ended by the panic.
    assert!(!matches!(result, Ok(false)));
}
