//! Times are exact, to the picosecond.

use crate::cast::{Echo, Hub, sink, source};
use node::outcome::{Direction, Finish};
use node::{Channel, Graph, Rate, Tap, Time};
use sim::{Options, run};
use std::sync::{Arc, Mutex};

const SLOT: Time = Time::from_ps(67_200);

#[test]
fn shortest_frames_leave_ten_gigabit_every_67_2_ns_and_arrive_so() {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let start = Time::from_us(1);
    let a = graph.add("a", source(1_000, 60, start, Time::ZERO));
    let b = graph.add("b", node);
    let delay = Time::from_ns(500);
    graph.connect(
        (a, 0),
        (b, 0),
        Channel {
            delay,
            ..Channel::default()
        },
    );
    let outcome = run(graph, Options::default()).unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1_000);
    for (n, &(now, first_bit, number, len)) in (0..).zip(seen.iter()) {
        assert_eq!(first_bit, start + SLOT * n + delay);
        assert_eq!(
            now,
            first_bit + Time::from_ps(51_200),
            "64 bytes behind the SFD"
        );
        assert_eq!((u64::from(number), len), (n, 60));
    }
    assert_eq!((outcome.frames, outcome.finish), (1_000, Finish::Idle));
    assert_eq!(outcome.ended, seen.last().unwrap().0);
    assert_eq!(outcome.links[0][0].sent, 1_000);
    assert_eq!(outcome.nodes[1].drops, [("test sink".to_string(), 1_000)]);
}

#[test]
fn gaps_asked_for_are_kept_over_two_hops_and_a_repeater() {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let gap = Time::from_ps(123_457);
    let a = graph.add("a", source(500, 60, Time::from_ms(1), gap));
    let hub = graph.add("hub", Box::new(Hub(2)));
    let b = graph.add("b", node);
    graph.connect((a, 0), (hub, 0), Channel::default());
    graph.connect((hub, 1), (b, 0), Channel::default());
    run(graph, Options::default()).unwrap();
    let seen = seen.lock().unwrap();
    // Stored and forwarded: the frame, then the next preamble.
    let forward = Time::from_ps(51_200 + 6_400);
    assert_eq!(seen[0].1, Time::from_ms(1) + forward);
    for pair in seen.windows(2) {
        assert_eq!(pair[1].1 - pair[0].1, gap);
    }
}

#[test]
fn a_rate_without_a_whole_bit_time_does_not_drift() {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let a = graph.add("a", source(10_000, 60, Time::ZERO, Time::ZERO));
    let b = graph.add("b", node);
    let rate = Rate::from_bits_per_second(3_000_000_007);
    let queue = node::QueueLimit::Packets(u32::MAX);
    let channel = Channel {
        rate,
        queue,
        ..Channel::default()
    };
    graph.connect((a, 0), (b, 0), channel);
    run(graph, Options::default()).unwrap();
    let seen = seen.lock().unwrap();
    let exact = 9_999u128 * 84 * 8 * 1_000_000_000_000 / 3_000_000_007;
    let span = u128::from((seen.last().unwrap().1 - seen[0].1).as_ps());
    assert!(span.abs_diff(exact) <= 1, "{span} {exact}");
}

#[test]
fn short_frames_are_padded_on_the_wire() {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let a = graph.add("a", source(2, 14, Time::ZERO, Time::ZERO));
    let b = graph.add("b", node);
    graph.connect((a, 0), (b, 0), Channel::default());
    run(graph, Options::default()).unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!((seen[0].3, seen[1].1 - seen[0].1), (60, SLOT));
}

#[test]
fn both_directions_of_a_link_are_independent() {
    let mut graph = Graph::default();
    let a = graph.add("a", source(1_000, 60, Time::from_us(5), Time::ZERO));
    let b = graph.add("b", Box::new(Echo));
    graph.connect((a, 0), (b, 0), Channel::default());
    let times = Arc::new(Mutex::new(Vec::new()));
    let taps = Direction::BOTH.map(|direction| {
        let times = times.clone();
        let see = Box::new(move |_: Time, frame: &node::Frame| {
            times.lock().unwrap().push((direction, frame.arrived()));
        });
        Tap {
            link: 0,
            direction,
            see,
        }
    });
    let outcome = run(
        graph,
        Options {
            taps: taps.into(),
            ..Options::default()
        },
    )
    .unwrap();
    assert_eq!(outcome.frames, 2_000);
    let times = times.lock().unwrap();
    for (way, offset) in [(Direction::Forth, 0), (Direction::Back, 57_600)] {
        let of_way = times.iter().filter(|seen| seen.0 == way);
        for (n, seen) in (0..).zip(of_way) {
            assert_eq!(seen.1, Time::from_ps(5_000_000 + offset + 67_200 * n));
        }
    }
}

#[test]
fn nothing_happens_after_the_time_that_was_asked_for() {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let a = graph.add("a", source(1_000, 60, Time::ZERO, Time::from_us(1)));
    let b = graph.add("b", node);
    graph.connect((a, 0), (b, 0), Channel::default());
    let until = Some(Time::from_us(10));
    let outcome = run(
        graph,
        Options {
            until,
            ..Options::default()
        },
    )
    .unwrap();
    assert_eq!(
        (outcome.ended, outcome.finish),
        (Time::from_us(10), Finish::Duration)
    );
    assert_eq!(
        seen.lock().unwrap().len(),
        10,
        "the eleventh is still on its way"
    );
}

#[test]
fn a_run_stops_when_asked_to() {
    let mut graph = Graph::default();
    let a = graph.add("a", source(1, 60, Time::ZERO, Time::ZERO));
    let hub = graph.add("hub", Box::new(Hub(3)));
    graph.connect((a, 0), (hub, 0), Channel::default());
    // A loop: the frame goes round for ever.
    graph.connect((hub, 1), (hub, 2), Channel::default());
    let looks = std::sync::atomic::AtomicU32::new(0);
    let stop = move || looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 10;
    let outcome = run(
        graph,
        Options {
            stop: Some(Box::new(stop)),
            ..Options::default()
        },
    )
    .unwrap();
    assert_eq!(outcome.finish, Finish::Stopped);
}

/// A node that needs only the head of a frame and sends it on at once.
struct CutThrough(usize);

impl node::Node for CutThrough {
    fn properties(&self) -> node::Properties {
        node::Properties {
            needs: Some(self.0),
            ..node::Properties::of(2)
        }
    }
    fn frames(
        &mut self,
        _: Time,
        port: node::Port,
        frames: &mut Vec<node::Frame>,
        out: &mut node::Out,
    ) {
        for frame in frames.drain(..) {
            out.send(node::Port(1 - port.0), frame);
        }
    }
}

#[test]
fn a_node_that_needs_only_the_head_of_a_frame_is_told_when_the_head_is_in() {
    // From first bit in to first bit out: the bytes that are needed, then the next preamble.
    for (needs, len, latency) in [
        (0, 1514, 6_400),
        (14, 60, 17_600),
        (1514, 1514, 1_220_800),
        (9_999, 1514, 1_220_800),
    ] {
        let mut graph = Graph::default();
        let (node, seen) = sink();
        let a = graph.add("a", source(100, len, Time::from_us(2), Time::ZERO));
        let through = graph.add("through", Box::new(CutThrough(needs)));
        let b = graph.add("b", node);
        graph.connect((a, 0), (through, 0), Channel::default());
        graph.connect((through, 1), (b, 0), Channel::default());
        run(graph, Options::default()).unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 100);
        assert_eq!(seen[0].1, Time::from_us(2) + Time::from_ps(latency));
        let slot = Time::from_ps(800) * (len as u64 + 24);
        assert!(seen.windows(2).all(|pair| pair[1].1 - pair[0].1 == slot));
        assert!(seen.iter().all(|seen| seen.3 == len), "whole in any case");
    }
}
