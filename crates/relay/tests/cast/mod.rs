//! The nodes that the tests play with.

pub mod packets;
pub mod payload;

use node::{Channel, Frame, Graph, Node, NodeId, Out, Outcome, Port, Properties, Rate, Time};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, protocol};
use packet::udp::Udp;
use std::sync::{Arc, Mutex};

/// A datagram from 10.0.0.1 to 10.0.0.2.
pub fn udp(ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    udp_of(([10, 0, 0, 1], [10, 0, 0, 2]), ports, 0, payload)
}

/// A datagram.
pub fn udp_of(
    (source, destination): ([u8; 4], [u8; 4]),
    (from, to): (u16, u16),
    dscp: u8,
    payload: &[u8],
) -> Vec<u8> {
    let ethernet = Ethernet {
        destination: Mac([2, 0, 0, 0, 0, 2]),
        source: Mac([2, 0, 0, 0, 0, 1]),
        tags: &[],
        ethertype: ethertype::IPV4,
    };
    let mut ip = Ipv4::new(source.into(), destination.into(), protocol::UDP);
    ip.traffic_class = dscp << 2;
    let udp = Udp {
        source_port: from,
        destination_port: to,
    };
    let mut frame = Vec::new();
    ethernet.build(&mut frame, |out| {
        ip.build(out, |out| {
            udp.build(ip.pseudo(), out, |out| out.extend(payload));
        });
    });
    frame
}

/// Sends frames at their times, and takes in what comes.
pub struct Source {
    frames: Vec<(Time, Vec<u8>)>,
    sent: usize,
}

/// One that sends these, in order.
pub fn source(frames: impl IntoIterator<Item = (Time, Vec<u8>)>) -> Box<Source> {
    Box::new(Source {
        frames: frames.into_iter().collect(),
        sent: 0,
    })
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
        while let Some((at, bytes)) = self.frames.get(self.sent)
            && *at <= now
        {
            let mut frame = out.frame();
            frame.extend(bytes);
            out.send_at(Port(0), *at, frame);
            self.sent += 1;
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.frames.get(self.sent).map(|(at, _)| *at)
    }
}

/// What a sink has seen: when, and the bytes.
pub type Seen = Arc<Mutex<Vec<(Time, Vec<u8>)>>>;

struct Sink(Seen);

/// Takes down what comes.
pub fn sink() -> (Box<dyn Node>, Seen) {
    let seen = Seen::default();
    (Box::new(Sink(seen.clone())), seen)
}

impl Node for Sink {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.0.lock().unwrap().push((now, frame.to_vec()));
            out.done(frame);
        }
    }
}

/// A link of so many megabits a second.
pub fn link(megabits: u64) -> Channel {
    Channel {
        rate: Rate::from_bits_per_second(megabits * 1_000_000),
        ..Channel::default()
    }
}

/// A link without errors that is never a bottleneck.
pub fn wide() -> Channel {
    link(10_000)
}

pub fn run(graph: Graph, until: Time) -> Outcome {
    let options = sim::Options {
        seed: 1,
        until: Some(until),
        ..sim::Options::default()
    };
    sim::run(graph, options).unwrap()
}

/// A node's counter.
pub fn counter(outcome: &Outcome, node: NodeId, name: &str) -> u64 {
    let counters = &outcome.nodes[node.0].counters;
    let found = counters.iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("{name}: {counters:?}")).1
}

/// How many frames a node dropped for a reason.
pub fn drops(outcome: &Outcome, node: NodeId, reason: &str) -> u64 {
    let drops = &outcome.nodes[node.0].drops;
    let found = drops.iter().find(|(known, _)| known == reason);
    found.map_or(0, |(_, count)| *count)
}
