//! What a link at the level of blocks costs beside one at the level of frames: a source that keeps
//! the link full, and a sink, at both levels in one run; with clocks 200 ppm apart, and with bits
//! wrong.
//!
//! Times are those spent on the processor, best of several runs each taken in turn, since other
//! programs load the machine. The node that sends does next to nothing, so what is compared is the
//! links.

use node::{Channel, Clocks, Frame, Graph, Level, Node, Oscillator, Out, Port, Properties, Time};
use std::time::Duration;

const RUNS: usize = 5;
const FRAMES: u64 = 2_000_000;
/// Frames handed to the link at once.
const AT_ONCE: u64 = 64;

/// Keeps its link full.
struct Source {
    len: usize,
    sent: u64,
    /// When the link has room for more.
    next: Time,
}

impl Node for Source {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.done(frame);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        for _ in 0..AT_ONCE {
            let mut frame = out.frame();
            frame.resize(self.len);
            out.send(Port(0), frame);
        }
        self.sent += AT_ONCE;
        self.next = now + Time::from_ps(800) * ((self.len as u64 + 24) * AT_ONCE);
    }

    fn next_wake(&self) -> Option<Time> {
        (self.sent < FRAMES).then_some(self.next)
    }
}

struct Sink;

impl Node for Sink {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.done(frame);
        }
    }
}

fn graph(size: usize, level: Level, bit_error: f64) -> Graph {
    let mut graph = Graph::default();
    let source = Source {
        len: size - 4,
        sent: 0,
        next: Time::ZERO,
    };
    let a = graph.add("a", Box::new(source));
    let b = graph.add("b", Box::new(Sink));
    let channel = Channel {
        delay: Time::from_ns(50),
        level,
        bit_error,
        ..Channel::default()
    };
    graph.connect((a, 0), (b, 0), channel);
    graph
}

/// How long this thread has been on a processor.
fn on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("Linux tells a thread's time"))
}

fn main() {
    let [fast, slow] = [100.0, -100.0].map(Oscillator::fast_by);
    let apart = Level::Block(Clocks {
        sender: fast,
        receiver: slow,
        ..Clocks::default()
    });
    let ramp = Oscillator {
        per_degree: 0.5,
        temperature: vec![(Time::ZERO, 0.0), (Time::from_secs(10), 100.0)],
        ..Oscillator::default()
    };
    let drifting = Level::Block(Clocks {
        sender: ramp,
        ..Clocks::default()
    });
    let exact = Level::Block(Clocks::default());
    let kinds = [
        ("frames", Level::Frame, 0.0),
        ("blocks, exact clocks", exact, 0.0),
        ("blocks, 200 ppm", apart.clone(), 0.0),
        ("blocks, drifting", drifting, 0.0),
        ("frames, 1e-9", Level::Frame, 1e-9),
        ("blocks, 200 ppm, 1e-9", apart.clone(), 1e-9),
        ("blocks, 200 ppm, 1e-7", apart, 1e-7),
    ];
    println!("one core, best of {RUNS}, {FRAMES} frames; millions of frames a second");
    println!(
        "{:<24} {:>10} {:>10} {:>10}",
        "link", "64 B", "512 B", "1518 B"
    );
    let mut best = vec![[Duration::MAX; 3]; kinds.len()];
    for _ in 0..RUNS {
        for (row, (_, level, bit_error)) in best.iter_mut().zip(&kinds) {
            for (best, size) in row.iter_mut().zip([64, 512, 1518]) {
                let graph = graph(size, level.clone(), *bit_error);
                let start = on_processor();
                let outcome = sim::run(graph, sim::Options::default()).expect("a good graph");
                *best = (*best).min(on_processor() - start);
                let counters = outcome.links[0][0];
                assert_eq!(outcome.frames + counters.bit_errors, counters.sent);
            }
        }
    }
    let rate = |time: Duration| FRAMES as f64 / time.as_secs_f64() / 1e6;
    for ((name, ..), row) in kinds.iter().zip(&best) {
        let [a, b, c] = row.map(rate);
        println!("{name:<24} {a:>10.2} {b:>10.2} {c:>10.2}");
    }
    println!(
        "{:<24} {:>10} {:>10} {:>10}",
        "times a frame-level link", "", "", ""
    );
    for ((name, level, bit_error), row) in kinds.iter().zip(&best) {
        if *level == Level::Frame {
            continue;
        }
        let peer = if *bit_error > 0.0 { 4 } else { 0 };
        let ratio = |n: usize| row[n].as_secs_f64() / best[peer][n].as_secs_f64();
        let [a, b, c] = [0, 1, 2].map(ratio);
        println!("{name:<24} {a:>10.2} {b:>10.2} {c:>10.2}");
    }
}
