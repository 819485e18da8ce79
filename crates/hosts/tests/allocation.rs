//! In steady state nothing is allocated, however many segments and datagrams pass.

use hosts::host::{self, make};
use hosts::program::{Config as Program, bulk, sink, udp};
use node::{Channel, Graph, Rate, Time};

fn allocations_in(seconds: u64) -> (u64, u64) {
    let mut graph = Graph::default();
    let bulk = Program::Bulk(bulk::Config {
        buffer: 1 << 18,
        ..bulk::Config::new("10.0.0.2".parse().unwrap())
    });
    let udp = Program::Udp(udp::Config {
        to: "10.0.0.2".parse().unwrap(),
        rate: Rate::from_bits_per_second(1_000_000).unwrap(),
        size: 500,
        start: Time::ZERO,
        duration: None,
        count: None,
        stream: 0,
    });
    let sink = Program::Sink(sink::Config::default());
    let ends = [(1, vec![bulk, udp]), (2, vec![sink])].map(|(number, programs)| {
        let config = host::Config {
            address: vec![format!("10.0.0.{number}/24").parse().unwrap()],
            ..host::Config::default()
        };
        graph.add(
            format!("h{number}"),
            make(config, programs, number).unwrap(),
        )
    });
    let channel = Channel {
        rate: Rate::from_bits_per_second(100_000_000),
        delay: Time::from_ms(1),
        ..Channel::default()
    };
    graph.connect((ends[0], 0), (ends[1], 0), channel);
    let options = sim::Options {
        until: Some(Time::from_secs(seconds)),
        ..sim::Options::default()
    };
    let mut sim = sim::Sim::new(graph, options).unwrap();
    let before = allocations::of_this_thread();
    sim.advance().unwrap();
    let allocations = allocations::of_this_thread() - before;
    (allocations, sim.outcome().frames)
}

#[test]
fn three_times_the_packets_need_no_more_allocations() {
    let (few, packets) = allocations_in(2);
    let (more, many) = allocations_in(6);
    assert!(many > 2 * packets, "{packets} and {many} packets");
    assert_eq!(few, more);
}
