//! Datagrams and pings that are longer than the MTU.

use crate::transfer::{channel, flow, sink};
use hosts::host::{self, make};
use hosts::program::{Config as Program, ping, udp};
use node::random::Random;
use node::{Channel, Graph, Outcome, Probability, Rate, Time};

fn host(
    graph: &mut Graph,
    number: u8,
    mtu: usize,
    v6: bool,
    programs: Vec<Program>,
) -> node::NodeId {
    let address = match v6 {
        true => format!("fd00::{number}/64"),
        false => format!("10.0.0.{number}/24"),
    };
    let config = host::Config {
        address: vec![address.parse().unwrap()],
        mtu,
        ..host::Config::default()
    };
    graph.add(
        format!("h{number}"),
        make(config, programs, number.into()).unwrap(),
    )
}

/// A host that sends datagrams and pings of a size to another.
fn run(size: usize, mtus: [usize; 2], v6: bool, channel: Channel, seed: u64) -> Outcome {
    let to = |port: &str| match (v6, port) {
        (false, _) => format!("10.0.0.2{port}").parse().unwrap(),
        (true, _) => "fd00::2".parse().unwrap(),
    };
    let near = vec![
        Program::Udp(udp::Config {
            to: to(":5001"),
            rate: Rate::from_bits_per_second(50_000_000).unwrap(),
            size,
            start: Time::ZERO,
            duration: None,
            count: Some(20),
            stream: 0,
        }),
        Program::Ping(ping::Config {
            to: to(""),
            count: Some(20),
            interval: Time::from_ms(20),
            size,
            start: Time::from_ms(3),
            timeout: Time::from_secs(1),
        }),
    ];
    let mut graph = Graph::default();
    let a = host(&mut graph, 1, mtus[0], v6, near);
    let b = host(&mut graph, 2, mtus[1], v6, vec![sink()]);
    graph.connect((a, 0), (b, 0), channel);
    let options = sim::Options {
        seed,
        until: Some(Time::from_secs(62)),
        ..sim::Options::default()
    };
    sim::run(graph, options).unwrap()
}

#[test]
fn datagrams_and_pings_of_any_size_arrive_at_any_mtu() {
    let mut random = Random::new(3);
    let link = || channel(1_000, Time::from_us(100));
    let edges = [1_472, 1_473, 2_952, 2_953, 65_507];
    for round in 0..60 {
        let v6 = round % 2 == 1;
        let size = match edges.get(round / 2) {
            Some(&size) => size,
            None => 18 + random.below(12_000) as usize,
        };
        let least = if v6 { 1_280 } else { 576 };
        let mut mtu = || match round < 10 {
            true => 1_500,
            false => least + random.below(1_500) as usize,
        };
        let mtus = [mtu(), mtu()];
        let outcome = run(size, mtus, v6, link(), 1);
        let (sent, came) = (flow(&outcome, 0, "udp"), flow(&outcome, 1, "sink"));
        let ping = flow(&outcome, 0, "ping");
        let all = 20 * size as u64;
        assert_eq!(
            (sent.lost, came.packets, came.lost, came.bytes),
            (0, 20, 0, all),
            "{size} {mtus:?}"
        );
        assert_eq!((ping.packets, ping.lost), (20, 0), "{size} {mtus:?}");
        assert!(outcome.nodes.iter().all(|node| node.drops.is_empty()));
    }
}

#[test]
fn a_datagram_is_lost_with_any_of_its_fragments_and_what_came_of_it_is_dropped() {
    let (mut came_in_all, mut lost_pings, mut dropped) = (0, 0, 0);
    for seed in 0..5 {
        let link = Channel {
            loss: Probability::new(0.03).unwrap(),
            ..channel(1_000, Time::from_us(100))
        };
        let outcome = run(9_000, [1_500; 2], false, link, seed);
        let (came, ping) = (flow(&outcome, 1, "sink"), flow(&outcome, 0, "ping"));
        assert!((5..=20).contains(&came.packets), "{came:?}");
        assert!(ping.lost < 20, "{ping:?}");
        assert_eq!(came.bytes, 9_000 * came.packets);
        came_in_all += came.packets;
        lost_pings += ping.lost;
        let drops = outcome.nodes.iter().flat_map(|node| &node.drops);
        let missing = drops.filter(|drop| drop.0 == "another fragment is missing");
        dropped += missing.map(|drop| drop.1).sum::<u64>();
    }
    // Of seven fragments one is lost with 19 %: of 100 datagrams 81 come, of as many pings 65.
    assert!((65..95).contains(&came_in_all), "{came_in_all}");
    assert!((15..55).contains(&lost_pings), "{lost_pings}");
    assert!(dropped > 0);
}

#[test]
fn what_no_packet_can_hold_is_refused_when_the_host_is_made() {
    let config = |to: &str, size| {
        Program::Udp(udp::Config {
            to: to.parse().unwrap(),
            rate: Rate::TEN_GIGABIT,
            size,
            start: Time::ZERO,
            duration: None,
            count: None,
            stream: 0,
        })
    };
    let ask = |to: &str, size| {
        Program::Ping(ping::Config {
            to: to.parse().unwrap(),
            count: None,
            interval: Time::from_secs(1),
            size,
            start: Time::ZERO,
            timeout: Time::from_secs(1),
        })
    };
    for (to, most) in [("10.0.0.2", 65_507), ("fd00::2", 65_527)] {
        for program in [config, ask] {
            let host = |size| {
                let addresses = ["10.0.0.1/24", "fd00::1/64"];
                let config = host::Config {
                    address: addresses.map(|text| text.parse().unwrap()).into(),
                    ..host::Config::default()
                };
                make(config, vec![program(to, size)], 1).map(drop)
            };
            assert!(host(most).is_ok());
            let error = host(most + 1).unwrap_err().to_string();
            assert!(error.contains(&format!("at most {most} bytes")), "{error}");
        }
    }
}
