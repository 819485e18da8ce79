//! A middlebox on links of blocks: what passes keeps its gaps to the bit, though trains go in between.

use node::{Channel, Clocks, Frame, Graph, Level, Node, Out, Port, Properties, QueueLimit, Time};
use nodes::bandwidth::middlebox::{Config, Middlebox};
use nodes::generator::{self, Generator, LogNormal, Pattern, Sizes};
use nodes::sink::Sink;
use sim::{Options, run};
use std::sync::{Arc, Mutex};

/// When the first bit of a frame came, and the frame.
type Seen = Arc<Mutex<Vec<(Time, Vec<u8>)>>>;

/// A node, and what comes to it by port 0.
struct Watched<N>(N, Seen);

impl<N: Node> Node for Watched<N> {
    fn properties(&self) -> Properties {
        self.0.properties()
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        if port == Port(0) {
            let came = frames.iter().map(|it| (it.arrived(), it.to_vec()));
            self.1.lock().unwrap().extend(came);
        }
        self.0.frames(now, port, frames, out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.0.wake(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.0.next_wake()
    }
}

/// Frames from this UDP port.
fn of_port(seen: &Seen, port: u16) -> Vec<(Time, Vec<u8>)> {
    let seen = seen.lock().unwrap();
    let own = seen.iter();
    own.filter(|(_, bytes)| bytes[34..36] == port.to_be_bytes())
        .cloned()
        .collect()
}

#[test]
fn what_passes_a_middlebox_keeps_its_gaps_to_the_bit_and_trains_get_theirs() {
    let source = generator::Config {
        rate: Some("6 Gb/s".parse().unwrap()),
        pattern: Pattern::Poisson,
        size: Sizes::LogNormal(LogNormal::new(792.0, 300.0)),
        flows: 2,
        udp_source: 1000,
        count: Some(20_000),
        ..generator::Config::default()
    };
    let middlebox = Config {
        flows: vec!["198.18.0.1 198.18.0.2 udp 1000".parse().unwrap()],
        trains: "20, 2:1:9 Gb/s, 10 us, 100 us".parse().unwrap(),
        ..Config::default()
    };
    let (before, behind) = (Seen::default(), Seen::default());
    let middlebox = Middlebox::new(middlebox, Box::new(|_| {}), Box::new(|_, _, _| {})).unwrap();
    let sink = Sink::new(Default::default()).unwrap();
    let mut graph = Graph::default();
    let a = graph.add("a", Box::new(Generator::new(source).unwrap()));
    let m = graph.add("m", Box::new(Watched(middlebox, before.clone())));
    let b = graph.add("b", Box::new(Watched(sink, behind.clone())));
    let channel = Channel {
        level: Level::Block(Clocks::default()),
        delay: Time::from_ps(51_200),
        queue: QueueLimit::Packets(u32::MAX),
        ..Channel::default()
    };
    graph.connect((a, 0), (m, 0), channel.clone());
    graph.connect((m, 1), (b, 0), channel);
    run(graph, Options::default()).unwrap();
    // Another flow: all of it, in order, each a constant time behind its arrival, the latency and what the line takes.
    let [came, left] = [&before, &behind].map(|seen| of_port(seen, 1001));
    assert_eq!(came.len(), 10_000);
    assert_eq!(left.len(), 10_000);
    let line = left[0].0 - came[0].0;
    assert!(
        line > Time::from_us(4) && line < Time::from_ns(4_100),
        "{line:?}"
    );
    for (came, left) in came.iter().zip(&left) {
        assert_eq!((left.0 - came.0, &left.1), (line, &came.1));
    }
    // The flow of the trains: all of it, with other gaps.
    let [came, left] = [&before, &behind].map(|seen| of_port(seen, 1000));
    let bytes = |all: &[(Time, Vec<u8>)]| -> Vec<Vec<u8>> {
        all.iter().map(|(_, bytes)| bytes.clone()).collect()
    };
    assert_eq!(bytes(&came), bytes(&left));
    let gaps = |all: &[(Time, Vec<u8>)]| -> Vec<Time> {
        all.windows(2).map(|pair| pair[1].0 - pair[0].0).collect()
    };
    assert_ne!(gaps(&came), gaps(&left));
}
