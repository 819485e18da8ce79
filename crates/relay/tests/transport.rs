//! TCP of hosts through two compressing nodes.

use hosts::host::{self, make};
use hosts::program::{Config as Program, bulk, sink};
use measure::distribution::Distribution;
use node::{Channel, Graph, NodeId, Outcome, Probability, Rate, Time};
use relay::compress::{Compress, Config, Mode};

const BYTES: u64 = 2_000_000;

fn host(graph: &mut Graph, number: u8, program: Program, v6: bool) -> NodeId {
    let address = match v6 {
        true => format!("fd00::{number}/64"),
        false => format!("10.0.0.{number}/24"),
    };
    let config = host::Config {
        address: vec![address.parse().unwrap()],
        ..host::Config::default()
    };
    let made = make(config, vec![program], number.into()).unwrap();
    graph.add(format!("h{number}"), made)
}

/// Two million bytes over 10 Mb/s with losses; what came of it, and the near node.
fn transfer(mode: Mode, loss: f64, v6: bool) -> (Outcome, NodeId) {
    let mut graph = Graph::default();
    let to = if v6 { "fd00::2" } else { "10.0.0.2" };
    let bulk = bulk::Config {
        bytes: Some(Distribution::Constant(BYTES)),
        count: Some(1),
        buffer: 1 << 18,
        ..bulk::Config::new(to.parse().unwrap())
    };
    let a = host(&mut graph, 1, Program::Bulk(bulk), v6);
    let node = |mode| {
        let config = Config {
            mode,
            ..Config::default()
        };
        Box::new(Compress::new(config, b"").unwrap())
    };
    let near = graph.add("near", node(mode));
    let far = graph.add("far", node(mode));
    let b = host(&mut graph, 2, Program::Sink(sink::Config::default()), v6);
    graph.connect((a, 0), (near, 0), Channel::default());
    let narrow = Channel {
        rate: Rate::from_bits_per_second(10_000_000),
        delay: Time::from_ms(5),
        loss: Probability::new(loss).unwrap(),
        ..Channel::default()
    };
    graph.connect((near, 1), (far, 1), narrow);
    graph.connect((far, 0), (b, 0), Channel::default());
    let options = sim::Options {
        seed: 4,
        until: Some(Time::from_secs(120)),
        ..sim::Options::default()
    };
    (sim::run(graph, options).unwrap(), near)
}

fn goodput(outcome: &Outcome) -> f64 {
    let flows = &outcome.nodes.last().unwrap().flows;
    let flow = flows.iter().find(|flow| flow.program == "sink").unwrap();
    // Whether the last acknowledgement came too is not told apart here.
    assert_eq!(flow.bytes, BYTES, "{flow:?}");
    flow.goodput()
}

fn compressed(outcome: &Outcome, node: NodeId) -> u64 {
    let counters = &outcome.nodes[node.0].counters;
    let found = counters.iter().find(|(name, _)| name == "compressed");
    found.unwrap().1
}

#[test]
fn a_transfer_is_faster_than_the_link_by_what_compression_gives() {
    for v6 in [false, true] {
        let (plain, node) = transfer(Mode::Never, 0.0, v6);
        assert_eq!(compressed(&plain, node), 0);
        let (adaptive, node) = transfer(Mode::Adaptive, 0.0, v6);
        assert!(compressed(&adaptive, node) > 500, "IPv6: {v6}");
        let (plain, adaptive) = (goodput(&plain), goodput(&adaptive));
        assert!(plain < 9.6e6, "{plain}");
        assert!(adaptive > 1.3 * plain, "{plain} {adaptive}, IPv6: {v6}");
    }
}

#[test]
fn all_arrives_where_the_link_loses_packets() {
    for mode in [Mode::Adaptive, Mode::Always] {
        let (outcome, node) = transfer(mode, 0.02, false);
        goodput(&outcome);
        assert!(compressed(&outcome, node) > 100);
    }
}
