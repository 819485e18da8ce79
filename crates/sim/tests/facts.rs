//! What nodes are told of the queues that they send into.

use crate::cast;
use node::event::{Event, What};
use node::{Channel, Frame, Graph, Node, Out, Port, Properties, Rate, Time};
use sim::{Options, run};
use std::sync::{Arc, Mutex};

type Told = Arc<Mutex<Vec<Event>>>;

/// Sends on what comes, and takes down what it is told.
struct Listener {
    age: Time,
    told: Told,
}

impl Node for Listener {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: Some(self.age),
            ..Properties::of(2)
        }
    }

    fn event(&mut self, now: Time, event: &Event, _: &mut Out) {
        assert_eq!(event.at, now);
        self.told.lock().unwrap().push(*event);
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.send(Port(1), frame);
        }
    }
}

/// 1,000 frames of 1,000 bytes at 1 Gb/s (a slot of 8.192 us) into a link of 100 Mb/s.
fn told(age: Time) -> Vec<Event> {
    let told = Told::default();
    let mut graph = Graph::default();
    let slot = Time::from_ns(8_192);
    let source = graph.add("a", cast::source(1_000, 1_000, Time::from_us(1), slot));
    let listener = Listener {
        age,
        told: told.clone(),
    };
    let listener = graph.add("r", Box::new(listener));
    let sink = graph.add("b", cast::sink().0);
    let rate = |bits| Channel {
        rate: Rate::from_bits_per_second(bits),
        ..Channel::default()
    };
    graph.connect((source, 0), (listener, 0), rate(1_000_000_000));
    graph.connect((listener, 1), (sink, 0), rate(100_000_000));
    run(graph, Options::default()).unwrap();
    let told = told.lock().unwrap();
    told.clone()
}

#[test]
fn a_node_knows_how_long_its_queue_is_before_each_frame() {
    let told = told(Time::ZERO);
    // Two ports, an interface and a queue of each.
    assert_eq!(told.len(), 1_000 * 4);
    let queue = |event: &Event| match event.what {
        What::Queue(queue) if event.port == Port(1) => Some(queue),
        _ => None,
    };
    let queues: Vec<_> = told.iter().filter_map(queue).collect();
    assert_eq!(queues[0].packets, 0);
    // Ten frames come while one leaves: 999 have come, the 100th is leaving.
    let last = queues[999];
    assert_eq!((last.packets, last.bytes), (899, 899_000));
    assert_eq!((last.sent_packets, last.sent_bytes), (100, 100_000));
    // Each of them takes 24 bytes more on the wire: preamble, FCS and gap.
    assert_eq!(last.wait(), Some(Time::from_ns(899 * 1_024 * 80)));
    let Event { what, .. } = told[told.len() - 4];
    let What::Interface(left) = what else {
        panic!("an interface comes first");
    };
    assert_eq!(left.received.packets, 1_000);
    assert_eq!(left.received.bytes, 1_000_000);
}

#[test]
fn facts_come_as_seldom_as_they_are_wanted() {
    let told = told(Time::from_ms(1));
    // The frames come within 8.2 ms.
    assert_eq!(told.len(), 9 * 4);
    let gaps = told.windows(5).map(|five| five[4].at - five[0].at);
    assert!(gaps.into_iter().all(|gap| gap >= Time::from_ms(1)));
}
