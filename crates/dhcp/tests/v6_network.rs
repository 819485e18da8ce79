//! A requesting router gets an address and a prefix of our server through our relay, numbers its port, and advertises the prefix to a host,
//! over links that lose and delay frames.

use dhcp::service::{router_advertisements, v6_client, v6_relay, v6_server};
use dhcp::v6::policy::SubnetConfig;
use hosts::host;
use ip::service::Service;
use node::random::Random;
use node::{Channel, Graph, NodeId, Probability, Time};
use router::router::{Config, PortConfig, Router};

fn port(address: &[&str]) -> PortConfig {
    PortConfig {
        address: address.iter().map(|text| text.parse().unwrap()).collect(),
        ipv6: true,
        ..PortConfig::default()
    }
}

fn router(ports: Vec<PortConfig>, routes: &[&str], services: Vec<Box<dyn Service>>) -> Box<Router> {
    let router = Router::new(Config {
        port: ports,
        route: routes.iter().map(|text| text.parse().unwrap()).collect(),
        ..Config::default()
    });
    Box::new(router.unwrap().with_services(None, services).unwrap())
}

fn entries(sim: &sim::Sim, node: NodeId, table: &str) -> Vec<String> {
    let tables = sim.tables(node);
    let found = tables.into_iter().find(|one| one.name.contains(table));
    found.map_or(Vec::new(), |one| one.entries)
}

/// Items of a table of leases with their ends.
fn leases(lines: &[String]) -> Vec<(String, Time)> {
    let lines = lines.iter().filter(|line| !line.contains("offered"));
    let parts = lines.filter_map(|line| line.split_once(" until "));
    parts
        .map(|(item, until)| {
            let item = item.trim_start_matches("prefix ");
            let address = item.split([' ', '/']).next().unwrap();
            (address.to_string(), until.parse().unwrap())
        })
        .collect()
}

#[test]
fn a_requesting_router_numbers_its_port_through_a_relay_whatever_the_links_lose() {
    for seed in 0..16 {
        let loss = (seed % 4) as f64 / 10.0;
        let mut random = Random::new(seed);
        let mut channel = || Channel {
            loss: Probability::new(loss).unwrap(),
            delay: Time::from_ms(random.below(200)),
            ..Channel::default()
        };
        let mut graph = Graph::default();
        let relay = v6_relay::Config {
            ports: vec![0],
            servers: vec!["2001:db8:9::2".parse().unwrap()],
            ..v6_relay::Config::default()
        };
        let relay = graph.add(
            "relay",
            router(
                vec![port(&["2001:db8:1::1/64"]), port(&["2001:db8:9::1/64"])],
                &[],
                vec![v6_relay::make(&relay).unwrap()],
            ),
        );
        let server = v6_server::Config {
            subnets: vec![SubnetConfig {
                network: "2001:db8:1::/64".parse().ok(),
                pool: vec!["2001:db8:1::100-2001:db8:1::1ff".into()],
                prefixes: vec!["2001:db8:100::/48".parse().unwrap()],
                preferred: Time::from_secs(120),
                valid: Time::from_secs(240),
                ..SubnetConfig::default()
            }],
            ..v6_server::Config::default()
        };
        let server = host::with_services(
            host::Config {
                address: vec!["2001:db8:9::2/64".parse().unwrap()],
                gateway: vec!["2001:db8:9::1".parse().unwrap()],
                ..host::Config::default()
            },
            Vec::new(),
            vec![v6_server::make(&server).unwrap()],
            seed,
        );
        let server = graph.add("server", server.unwrap());
        let client = v6_client::Config {
            prefix: Some(56),
            prefix_ports: vec![1],
            ..v6_client::Config::default()
        };
        let advertises = router_advertisements::Config {
            ports: vec![1],
            interval: Time::from_secs(10),
            ..router_advertisements::Config::default()
        };
        let services = vec![
            v6_client::make(&client, seed).unwrap(),
            router_advertisements::make(&advertises, seed).unwrap(),
        ];
        let mut ports = vec![port(&[]), port(&[])];
        ports[0].mac = Some(packet::ethernet::Mac([2, 0, 0, 0, 7, 0]));
        ports[1].mac = Some(packet::ethernet::Mac([2, 0, 0, 0, 7, 1]));
        let client = graph.add("client", router(ports, &[], services));
        graph.connect((client, 0), (relay, 0), channel());
        graph.connect((server, 0), (relay, 1), channel());
        let listener = graph.add(
            "host",
            host::make(
                host::Config {
                    address: vec!["2001:db8:7::1/64".parse().unwrap()],
                    ..host::Config::default()
                },
                Vec::new(),
                seed,
            )
            .unwrap(),
        );
        graph.connect((client, 1), (listener, 0), Channel::default());
        let options = sim::Options {
            seed,
            threads: 1,
            ..sim::Options::default()
        };
        let mut sim = sim::Sim::new(graph, options).unwrap();
        let mut had = 0;
        for second in 1..900 {
            sim.advance_to(Time::from_secs(second), u32::MAX).unwrap();
            let held = leases(&entries(&sim, client, "DHCPv6 client"));
            let known = leases(&entries(&sim, server, "DHCPv6 leases"));
            for (item, until) in &held {
                let found = known.iter().find(|(one, _)| one == item);
                assert!(
                    found.is_some_and(|(_, end)| end >= until),
                    "seed {seed}: {item}"
                );
            }
            had += u64::from(held.len() == 2);
            let delegated = held
                .iter()
                .find(|(item, _)| item.starts_with("2001:db8:100"));
            let routes = entries(&sim, client, "route");
            let numbered = routes.iter().any(|line| line.starts_with("2001:db8:100:"));
            // The route of the port and the lease come and go together.
            assert_eq!(
                delegated.is_some(),
                numbered,
                "seed {seed} at {second} s: {held:?} {routes:?}"
            );
            if let (Some((prefix, _)), true) = (delegated, loss == 0.0) {
                // The relay has a route to it.
                let routes = entries(&sim, relay, "route");
                assert!(
                    routes.iter().any(|line| line.starts_with(prefix)),
                    "{routes:?}"
                );
            }
        }
        let least = [98, 90, 75, 50][seed as usize % 4];
        assert!(
            had >= 900 * least / 100,
            "seed {seed}, loss {loss}: {had} of 900"
        );
        let counters = sim.statistics(client);
        assert!(counters.get("advertisements").unwrap() > 80);
        assert_eq!(counters.get("refused_changes"), Some(0), "seed {seed}");
    }
}
