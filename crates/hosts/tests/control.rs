//! Control channels over TCP/IP, between nodes that speak in segments.

use hosts::control::{Config, Tcp};
use node::{
    Channel, Frame, Graph, Node, Out, Port, Probability, Properties, Rate, Statistics, Time,
};
use packet::segment::{Kind, Segment};
use std::collections::BTreeMap;

/// Opens connections and sends on each; or takes them and says everything back.
#[derive(Default)]
struct End {
    opens: u32,
    bytes: u32,
    /// By connection: what came, and what of the own was acknowledged.
    came: BTreeMap<u32, (u32, u32)>,
    closed: u64,
    begun: bool,
}

impl End {
    fn say(kind: Kind, connection: u32, count: u32, bytes: &[u8], out: &mut Out) {
        let mut text = Vec::new();
        let segment = Segment {
            kind,
            connection,
            count,
            bytes,
        };
        segment.write(&mut text);
        let mut frame = out.frame();
        frame.extend(&text);
        out.send(Port(0), frame);
    }
}

impl Node for End {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn next_wake(&self) -> Option<Time> {
        (!self.begun && self.opens > 0).then_some(Time::from_ms(1))
    }

    fn wake(&mut self, _: Time, out: &mut Out) {
        self.begun = true;
        for connection in 0..self.opens {
            End::say(Kind::Open, connection, 0, b"", out);
        }
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            let segment = Segment::read(&frame).unwrap();
            let connection = segment.connection;
            match segment.kind {
                Kind::Open if self.opens == 0 => End::say(Kind::Open, connection, 0, b"", out),
                Kind::Open => {
                    let piece = vec![connection as u8; 1000];
                    for n in 0..self.bytes / 1000 {
                        End::say(Kind::Data, connection, n * 1000, &piece, out);
                    }
                }
                Kind::Data => {
                    let entry = self.came.entry(connection).or_default();
                    assert_eq!(segment.count, entry.0);
                    entry.0 += segment.bytes.len() as u32;
                    let came = entry.0;
                    End::say(Kind::Acknowledge, connection, came, b"", out);
                    if self.opens == 0 {
                        End::say(Kind::Data, connection, segment.count, segment.bytes, out);
                    } else {
                        assert!(segment.bytes.iter().all(|byte| *byte == connection as u8));
                        if came == self.bytes {
                            End::say(Kind::Close, connection, 0, b"", out);
                        }
                    }
                }
                Kind::Acknowledge => self.came.entry(connection).or_default().1 = segment.count,
                Kind::Close => self.closed += 1,
            }
            out.done(frame);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            (
                "came",
                self.came.values().map(|came| u64::from(came.0)).sum(),
            ),
            (
                "acknowledged",
                self.came.values().map(|came| u64::from(came.1)).sum(),
            ),
            ("closed", self.closed),
        ])
    }
}

fn between(opens: u32, bytes: u32, listen: u16, loss: f64) -> node::Outcome {
    let config = |number: u8| Config {
        address: vec![format!("10.0.0.{number}/24").parse().unwrap()],
        ..Config::default()
    };
    let client = Config {
        to: Some("10.0.0.2:6653".parse().unwrap()),
        ..config(1)
    };
    let server = Config {
        listen: Some(listen),
        ..config(2)
    };
    let mut graph = Graph::default();
    let asks = End {
        opens,
        bytes,
        ..End::default()
    };
    let a = graph.add("a", Box::new(asks));
    let x = graph.add("x", Box::new(Tcp::new(client, 1).unwrap()));
    let y = graph.add("y", Box::new(Tcp::new(server, 2).unwrap()));
    let b = graph.add("b", Box::new(End::default()));
    let ideal = || Channel {
        rate: None,
        delay: Time::from_us(1),
        ..Channel::default()
    };
    let network = Channel {
        rate: Rate::from_bits_per_second(100_000_000),
        delay: Time::from_ms(1),
        loss: Probability::new(loss).unwrap(),
        ..Channel::default()
    };
    graph.connect((a, 0), (x, 0), ideal());
    graph.connect((x, 1), (y, 1), network);
    graph.connect((y, 0), (b, 0), ideal());
    let options = sim::Options {
        seed: 4,
        until: Some(Time::from_secs(60)),
        ..sim::Options::default()
    };
    sim::run(graph, options).unwrap()
}

fn counter(outcome: &node::Outcome, node: usize, name: &str) -> u64 {
    let counters = &outcome.nodes[node].counters;
    counters.iter().find(|(known, _)| known == name).unwrap().1
}

#[test]
fn what_goes_in_comes_back_over_tcp() {
    for loss in [0.0, 0.02] {
        let outcome = between(3, 100_000, 6653, loss);
        assert_eq!(counter(&outcome, 0, "came"), 300_000);
        assert_eq!(counter(&outcome, 0, "acknowledged"), 300_000);
        assert_eq!(counter(&outcome, 3, "came"), 300_000);
        // Closed at one end, it is told at the other, and nothing is left over.
        assert_eq!(counter(&outcome, 3, "closed"), 3);
        assert_eq!(
            (counter(&outcome, 1, "open"), counter(&outcome, 2, "open")),
            (0, 0)
        );
    }
}

#[test]
fn a_connection_that_nobody_takes_is_closed() {
    let outcome = between(2, 1000, 6654, 0.0);
    assert_eq!(counter(&outcome, 0, "closed"), 2);
    assert_eq!(counter(&outcome, 2, "refused"), 2);
}
