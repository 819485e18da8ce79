//! Nodes and graphs that do not keep the rules: an error that names the place, or a counted drop.

use crate::cast;
use crate::cast::{Echo, sink, source};
use node::outcome::Direction;
use node::{Channel, Frame, Graph, Node, Out, Port, Properties, Tap, Time};
use sim::{Options, SimError, run};

/// Wants to be woken in the past, forever.
struct Restless;

impl Node for Restless {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.done(frame);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        Some(Time::ZERO)
    }
}

#[test]
fn a_node_that_wants_wakes_in_the_past_for_ever_is_named() {
    let mut graph = Graph::default();
    let a = graph.add("a", source(10, 60, Time::from_ms(1), Time::ZERO));
    let b = graph.add("restless", Box::new(Restless));
    graph.connect((a, 0), (b, 0), Channel::default());
    let Err(SimError::Stuck { node, at }) = run(graph, Options::default()) else {
        panic!("it ran");
    };
    assert_eq!((node.as_str(), at), ("restless", Time::ZERO));
}

#[test]
fn a_loop_of_links_that_take_no_time_is_found() {
    let mut graph = Graph::default();
    let a = graph.add("a", source(1, 60, Time::ZERO, Time::ZERO));
    let hub = graph.add("hub", Box::new(cast::Hub(3)));
    let instant = Channel {
        rate: None,
        ..Channel::default()
    };
    graph.connect((a, 0), (hub, 0), instant.clone());
    graph.connect((hub, 1), (hub, 2), instant);
    let error = run(graph, Options::default()).unwrap_err();
    assert!(
        matches!(&error, SimError::Stuck { node, .. } if node == "hub"),
        "{error}"
    );
}

/// Sends what it gets by a port that is not there, and as a frame that is too long.
struct Careless;

impl Node for Careless {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for mut frame in frames.drain(..) {
            let copy = out.copy(&frame);
            out.send(Port(7), copy);
            let copy = out.copy(&frame);
            out.send_at(port, Time::MAX, copy);
            frame.resize(node::frame::MAX_FRAME_LEN + 1);
            out.send(port, frame);
        }
    }
}

#[test]
fn frames_that_no_link_can_take_are_counted_drops() {
    let mut graph = Graph::default();
    let a = graph.add("a", source(3, 60, Time::ZERO, Time::ZERO));
    let b = graph.add("b", Box::new(Careless));
    graph.connect((a, 0), (b, 0), Channel::default());
    let outcome = run(graph, Options::default()).unwrap();
    let drops: Vec<(&str, u64)> = outcome.nodes[1]
        .drops
        .iter()
        .map(|(reason, count)| (reason.as_str(), *count))
        .collect();
    assert_eq!(
        drops,
        [
            ("sent by a port that is not there", 3),
            ("longer than 262,144 bytes", 3),
            ("would arrive after the end of time", 3),
        ]
    );
}

#[test]
fn a_wrong_graph_and_a_wrong_tap_are_errors() {
    let mut graph = Graph::default();
    graph.add("alone", Box::new(Echo));
    assert!(
        matches!(run(graph, Options::default()), Err(SimError::Graph(faults)) if faults.len() == 1)
    );

    for link in [1, usize::MAX] {
        let mut graph = Graph::default();
        let a = graph.add("a", Box::new(Echo));
        let b = graph.add("b", sink().0);
        graph.connect((a, 0), (b, 0), Channel::default());
        let see = Box::new(|_: Time, _: &Frame| {});
        let direction = Direction::Back;
        let taps = vec![Tap {
            link,
            direction,
            see,
        }];
        let result = run(
            graph,
            Options {
                taps,
                ..Options::default()
            },
        );
        assert_eq!(result, Err(SimError::NoSuchLink { link, links: 1 }));
    }
}
