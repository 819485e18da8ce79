//! Links that go down and come up.

use crate::cast::{sink, source};
use node::event::What;
use node::{Channel, Event, Frame, Graph, GraphError, Node, Out, Port, Properties, Time};
use sim::{Options, SimError, run};
use std::sync::{Arc, Mutex};

type Seen = Arc<Mutex<Vec<(Time, Port, bool)>>>;

/// Takes frames, and writes down what it is told of its links.
struct Witness(Seen, usize);

impl Node for Witness {
    fn properties(&self) -> Properties {
        Properties::of(self.1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.drop(frame, "seen");
        }
    }

    fn event(&mut self, now: Time, event: &Event, _: &mut Out) {
        if let What::Link(up) = event.what {
            self.0.lock().unwrap().push((now, event.port, up));
        }
    }
}

fn down(pairs: &[[u64; 2]]) -> Channel {
    Channel {
        down: pairs.iter().map(|pair| pair.map(Time::from_us)).collect(),
        ..Channel::default()
    }
}

#[test]
fn frames_on_their_way_while_a_link_is_down_are_lost_and_no_others() {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    // A frame every 10 us from 1 us on; 67.2 ns long with what goes around it.
    let first = Time::from_us(1);
    let a = graph.add("a", source(100, 60, first, Time::from_us(10)));
    let b = graph.add("b", node);
    // 11 and 21 begin within; that of 41 is still on its way at the end of the first bit's time; 61 leaves as the link comes up.
    let channel = down(&[[10, 30], [41, 42], [50, 61]]);
    graph.connect((a, 0), (b, 0), channel);
    let outcome = run(graph, Options::default()).unwrap();
    assert_eq!(outcome.links[0][0].lost, 4);
    let times: Vec<u64> = seen
        .lock()
        .unwrap()
        .iter()
        .map(|s| s.0.as_ps() / 10_000_000)
        .collect();
    assert_eq!(times[..4], [0, 3, 6, 7]);
    assert_eq!(times.len(), 96);
}

#[test]
fn both_ends_are_told_when_and_in_order() {
    let seen = Seen::default();
    let mut graph = Graph::default();
    let a = graph.add("a", Box::new(Witness(seen.clone(), 2)));
    let others = [Seen::default(), Seen::default()];
    for (port, pairs) in [(0, [[5, 7]].as_slice()), (1, &[[1, 2], [6, 8]])] {
        let far = others[port as usize].clone();
        let far = graph.add(format!("far {port}"), Box::new(Witness(far, 1)));
        graph.connect((a, port), (far, 0), down(pairs));
    }
    run(graph, Options::default()).unwrap();
    let us = Time::from_us;
    let told = seen.lock().unwrap().clone();
    let expected = [
        (us(1), Port(1), false),
        (us(2), Port(1), true),
        (us(5), Port(0), false),
        (us(6), Port(1), false),
        (us(7), Port(0), true),
        (us(8), Port(1), true),
    ];
    assert_eq!(told, expected);
    let told = others[0].lock().unwrap().clone();
    assert_eq!(told, [(us(5), Port(0), false), (us(7), Port(0), true)]);
}

#[test]
fn times_that_are_not_in_order_are_refused() {
    for pairs in [[[5, 5], [7, 8]], [[5, 7], [7, 8]], [[5, 9], [7, 8]]] {
        let mut graph = Graph::default();
        let a = graph.add("a", Box::new(Witness(Seen::default(), 1)));
        let b = graph.add("b", Box::new(Witness(Seen::default(), 1)));
        graph.connect((a, 0), (b, 0), down(&pairs));
        let fault = run(graph, Options::default()).unwrap_err();
        assert_eq!(fault, SimError::Graph(vec![GraphError::Down { link: 0 }]));
    }
}

/// Frames of 60 bytes every 10 us from 1 us on, over a link of 25 us, whose far end is a witness.
fn by_hand(threads: usize) -> (sim::Sim, Seen) {
    let mut graph = Graph::default();
    let seen = Seen::default();
    let a = graph.add("a", source(100, 60, Time::from_us(1), Time::from_us(10)));
    let b = graph.add("b", Box::new(Witness(seen.clone(), 1)));
    let channel = Channel {
        delay: Time::from_us(25),
        ..Channel::default()
    };
    graph.connect((a, 0), (b, 0), channel);
    let options = Options {
        threads,
        ..Options::default()
    };
    (sim::Sim::new(graph, options).unwrap(), seen)
}

#[test]
fn a_link_that_is_taken_down_by_hand_loses_what_is_on_its_way_and_what_is_sent_until_it_is_up() {
    let (mut sim, seen) = by_hand(1);
    let us = Time::from_us;
    assert!(sim.advance_to(us(50), u32::MAX).unwrap());
    // Those of 1, 11 and 21 us have arrived; 31 and 41 are on their way, and 51 waits to leave.
    assert_eq!(sim.set_link(0, false).unwrap(), 3);
    assert_eq!(sim.links_up(), [[false; 2]]);
    assert!(sim.advance_to(us(75), u32::MAX).unwrap());
    // Those of 61 and 71 us were given to a link that was down.
    assert_eq!(sim.set_link(0, true).unwrap(), 0);
    assert_eq!(sim.links_up(), [[true; 2]]);
    while let Some(next) = sim.next() {
        sim.advance_to(next, u32::MAX).unwrap();
    }
    let counters = sim.outcome().links[0][0];
    assert_eq!((counters.sent, counters.lost), (100, 5));
    assert_eq!(
        (counters.delivered, counters.in_flight),
        (Some(95), Some(0))
    );
    let told = seen.lock().unwrap().clone();
    let expected = [(us(50), Port(0), false), (us(75), Port(0), true)];
    assert_eq!(told, expected);
}

#[test]
fn frames_that_overtake_others_are_lost_with_their_link_too() {
    let mut graph = Graph::default();
    let (node, _) = sink();
    let a = graph.add("a", source(10, 60, Time::from_us(1), Time::from_us(1)));
    let b = graph.add("b", node);
    let channel = Channel {
        delay: Time::from_us(25),
        duplicate: node::Probability::new(1.0).unwrap(),
        ..Channel::default()
    };
    graph.connect((a, 0), (b, 0), channel);
    let mut sim = sim::Sim::new(graph, Options::default()).unwrap();
    sim.advance_to(Time::from_us(5), u32::MAX).unwrap();
    let waiting = sim.outcome().links[0][0].in_flight.unwrap();
    assert!(waiting >= 8, "{waiting}");
    assert_eq!(sim.set_link(0, false).unwrap(), waiting);
    while let Some(next) = sim.next() {
        sim.advance_to(next, u32::MAX).unwrap();
    }
    let counters = sim.outcome().links[0][0];
    assert_eq!((counters.delivered, counters.in_flight), (Some(0), Some(0)));
    assert_eq!(counters.lost, counters.sent + counters.duplicated);
}

#[test]
fn what_runs_in_several_parts_is_not_changed_by_hand() {
    let (mut sim, _) = by_hand(2);
    assert_eq!(sim.parts(), 2);
    assert_eq!(sim.set_link(0, false), Err(SimError::Parts));
}
