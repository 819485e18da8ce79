//! Our clients get addresses from our server through our relay, over links that lose and delay frames.

use dhcp::service::{v4_client, v4_relay, v4_server};
use hosts::host;
use node::random::Random;
use node::{Channel, Graph, NodeId, Probability, Time};
use packet::ethernet::Mac;
use router::router::{Config as RouterConfig, PortConfig, Router};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

const CLIENTS: u16 = 4;

/// Address and end of a lease, from the lines of tables.
fn leases(sim: &sim::Sim, node: NodeId) -> BTreeMap<Ipv4Addr, Time> {
    let tables = sim.tables(node);
    let table = tables.iter().find(|table| table.name.starts_with("DHCP"));
    let lines = table.expect("a table of DHCP").entries.iter();
    let lines = lines.filter(|line| !line.contains("offered") && line.contains(" until "));
    lines
        .map(|line| {
            let (address, _) = line.split_once([' ', '/']).unwrap();
            let (_, until) = line.split_once(" until ").unwrap();
            (address.parse().unwrap(), until.parse().unwrap())
        })
        .collect()
}

struct Network {
    sim: sim::Sim,
    clients: Vec<NodeId>,
    server: NodeId,
}

fn network(seed: u64, loss: f64, delay: Time, probe: Time, lease: Time) -> Network {
    let mut graph = Graph::default();
    let mut random = Random::new(seed);
    let mut channel = || Channel {
        loss: Probability::new(loss).unwrap(),
        delay: Time::from_ps(random.below(delay.as_ps() + 1)),
        ..Channel::default()
    };
    let port = |number: u16| PortConfig {
        address: vec![format!("10.0.{number}.1/24").parse().unwrap()],
        ..PortConfig::default()
    };
    let relay = v4_relay::Config {
        ports: (0..CLIENTS).collect(),
        servers: vec![[10, 0, CLIENTS as u8, 2].into()],
        ..v4_relay::Config::default()
    };
    let router = Router::new(RouterConfig {
        port: (0..=CLIENTS).map(port).collect(),
        ..RouterConfig::default()
    });
    let router = router
        .unwrap()
        .with_services(None, vec![v4_relay::make(&relay).unwrap()]);
    let router = graph.add("router", Box::new(router.unwrap()));
    let subnet = |number: u16| {
        let mut config = crate::v4_messages::subnet(
            &format!("10.0.{number}.0/24"),
            &format!("10.0.{number}.10-10.0.{number}.12"),
        );
        config.lease = lease;
        config.named.router = vec![[10, 0, number as u8, 1].into()];
        config
    };
    let config = v4_server::Config {
        subnets: (0..CLIENTS).map(subnet).collect(),
        ..v4_server::Config::default()
    };
    let server = host::with_services(
        host::Config {
            address: vec![format!("10.0.{CLIENTS}.2/24").parse().unwrap()],
            gateway: vec![format!("10.0.{CLIENTS}.1").parse().unwrap()],
            ..host::Config::default()
        },
        Vec::new(),
        vec![v4_server::make(&config).unwrap()],
        seed,
    );
    let server = graph.add("server", server.unwrap());
    graph.connect((server, 0), (router, CLIENTS), channel());
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let config = v4_client::Config {
            probe,
            ..v4_client::Config::default()
        };
        let service = v4_client::make(&config, seed + u64::from(number)).unwrap();
        let config = host::Config {
            mac: Some(Mac([2, 0, 0, 0, 9, number as u8])),
            ..host::Config::default()
        };
        let host = host::with_services(config, Vec::new(), vec![service], seed).unwrap();
        let client = graph.add(format!("client{number}"), host);
        graph.connect((client, 0), (router, number), channel());
        clients.push(client);
    }
    let options = sim::Options {
        seed,
        until: Some(Time::from_secs(1000)),
        threads: 1,
        ..sim::Options::default()
    };
    Network {
        sim: sim::Sim::new(graph, options).unwrap(),
        clients,
        server,
    }
}

#[test]
fn clients_get_and_keep_addresses_through_a_relay_whatever_the_links_lose() {
    for seed in 0..24 {
        let loss = (seed % 4) as f64 / 10.0;
        let delay = Time::from_ms([0, 20, 400][seed as usize % 3]);
        let probe = Time::from_secs(seed % 2 * 2);
        let lease = Time::from_secs([60, 300][seed as usize / 2 % 2]);
        let mut network = network(seed, loss, delay, probe, lease);
        let mut had = 0;
        for second in 1..600 {
            network
                .sim
                .advance_to(Time::from_secs(second), u32::MAX)
                .unwrap();
            let server = leases(&network.sim, network.server);
            for (number, client) in network.clients.iter().enumerate() {
                let own = leases(&network.sim, *client);
                assert!(own.len() <= 1);
                for (address, until) in own {
                    had += 1;
                    assert_eq!(usize::from(address.octets()[2]), number, "seed {seed}");
                    // The server never counts on less than the client.
                    let known = server.get(&address);
                    assert!(
                        known.is_some_and(|known| *known >= until),
                        "seed {seed}: {address}"
                    );
                }
            }
        }
        // Seconds in which all clients could have had addresses.
        let all = 600 * u64::from(CLIENTS);
        let least = match seed % 4 {
            0 => all * 98 / 100,
            1 => all * 90 / 100,
            2 => all * 70 / 100,
            _ => all * 40 / 100,
        };
        assert!(
            had >= least,
            "seed {seed}, loss {loss}, {lease}: {had} of {all}"
        );
    }
}
