//! In steady state nothing is allocated, however many frames pass.

use crate::cast;
use node::{Channel, Clocks, Frame, Graph, Level, Node, Oscillator, Out, Port, Properties, Time};
use sim::{Options, run};

struct Quiet;

impl Node for Quiet {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.drop(frame, "quiet");
        }
    }
}

fn allocations_of(frames: u32, level: Level) -> u64 {
    let channel = || Channel {
        level: level.clone(),
        ..Channel::default()
    };
    let mut graph = Graph::default();
    let hub = graph.add("hub", Box::new(cast::Hub(4)));
    let slot = Time::from_ps(67_200);
    let a = graph.add("a", cast::source(frames, 60, Time::from_us(1), slot));
    graph.connect((a, 0), (hub, 0), channel());
    for port in 1..4 {
        let quiet = graph.add(format!("quiet{port}"), Box::new(Quiet));
        graph.connect((hub, port), (quiet, 0), channel());
    }
    let before = allocations::of_this_thread();
    let outcome = run(graph, Options::default()).unwrap();
    assert_eq!(outcome.frames, 4 * u64::from(frames));
    allocations::of_this_thread() - before
}

#[test]
fn ten_times_the_frames_need_no_more_allocations() {
    let [sender, receiver] = [100.0, -100.0].map(Oscillator::fast_by);
    let clocks = Clocks {
        sender,
        receiver,
        ..Clocks::default()
    };
    for level in [Level::Frame, Level::Block(clocks)] {
        let few = allocations_of(10_000, level.clone());
        assert_eq!(allocations_of(100_000, level), few);
    }
}
