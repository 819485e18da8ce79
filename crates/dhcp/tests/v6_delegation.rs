//! A router delegates the whole prefix that its provider has delegated to it, and has its default route from the provider's advertisements.

use dhcp::service::{router_advertisements, router_discovery, v6_client, v6_server};
use dhcp::v6::policy::SubnetConfig;
use ip::service::Service;
use node::{Channel, Graph, NodeId, Time};
use packet::ethernet::Mac;
use router::router::{Config, PortConfig, Router};

fn port(last: u8, address: &[&str]) -> PortConfig {
    PortConfig {
        address: address.iter().map(|text| text.parse().unwrap()).collect(),
        mac: Some(Mac([2, 0, 0, 0, 7, last])),
        ipv6: true,
        ..PortConfig::default()
    }
}

fn router(ports: Vec<PortConfig>, services: Vec<Box<dyn Service>>) -> Box<Router> {
    let router = Router::new(Config {
        port: ports,
        ..Config::default()
    });
    Box::new(router.unwrap().with_services(None, services).unwrap())
}

fn entries(sim: &sim::Sim, node: NodeId, table: &str) -> Vec<String> {
    let tables = sim.tables(node);
    let found = tables.into_iter().find(|one| one.name.starts_with(table));
    found.map_or(Vec::new(), |one| one.entries)
}

#[test]
fn an_inner_router_has_the_whole_prefix_and_the_outer_one_a_route_to_it() {
    let mut graph = Graph::default();
    let server = v6_server::Config {
        ports: vec![0],
        subnets: vec![SubnetConfig {
            network: "2001:db8:1::/64".parse().ok(),
            prefixes: vec!["2001:db8:100::/48".parse().unwrap()],
            preferred: Time::from_secs(60),
            valid: Time::from_secs(120),
            ..SubnetConfig::default()
        }],
        ..v6_server::Config::default()
    };
    let advertises = router_advertisements::Config {
        ports: vec![0],
        interval: Time::from_secs(10),
        stop: Some(Time::from_secs(300)),
        ..router_advertisements::Config::default()
    };
    let services = vec![
        v6_server::make(&server).unwrap(),
        router_advertisements::make(&advertises, 1).unwrap(),
    ];
    let provider = graph.add(
        "provider",
        router(vec![port(1, &["2001:db8:1::1/64"])], services),
    );
    let client = v6_client::Config {
        address: false,
        prefix: Some(56),
        delegate_ports: vec![1],
        ..v6_client::Config::default()
    };
    let services = vec![
        v6_client::make(&client, 2).unwrap(),
        router_discovery::make(&router_discovery::Config { port: 0 }),
    ];
    let outer = graph.add("outer", router(vec![port(2, &[]), port(3, &[])], services));
    let client = v6_client::Config {
        address: false,
        prefix: Some(56),
        prefix_ports: vec![1],
        ..v6_client::Config::default()
    };
    let services = vec![v6_client::make(&client, 3).unwrap()];
    let inner = graph.add("inner", router(vec![port(4, &[]), port(5, &[])], services));
    graph.connect((provider, 0), (outer, 0), Channel::default());
    graph.connect((outer, 1), (inner, 0), Channel::default());
    let mut sim = sim::Sim::new(graph, sim::Options::default()).unwrap();
    for second in [30, 290] {
        sim.advance_to(Time::from_secs(second), u32::MAX).unwrap();
        let held = entries(&sim, inner, "DHCPv6 client");
        let prefix = held.first().and_then(|line| line.split_once(' '));
        let prefix = prefix.expect("a prefix").0;
        assert!(
            prefix.starts_with("2001:db8:100") && prefix.ends_with("/56"),
            "{held:?}"
        );
        for (node, via) in [
            (outer, "fe80::ff:fe00:704"),
            (provider, "fe80::ff:fe00:702"),
        ] {
            let routes = entries(&sim, node, "route");
            let mut lines = routes.iter().filter(|line| line.starts_with(prefix));
            assert!(
                lines.next().is_some_and(|line| line.contains(via)),
                "{routes:?}"
            );
        }
        let routes = entries(&sim, outer, "route");
        let is_default = |line: &&String| line.contains("fe80::ff:fe00:701");
        assert!(routes.iter().any(|line| is_default(&line)), "{routes:?}");
    }
    // The provider ceases to be a router.
    sim.advance_to(Time::from_secs(320), u32::MAX).unwrap();
    let routes = entries(&sim, outer, "route");
    assert!(
        !routes.iter().any(|line| line.contains("fe80::ff:fe00:701")),
        "{routes:?}"
    );
    for node in [inner, outer] {
        assert_eq!(sim.statistics(node).get("refused_changes"), Some(0));
    }
}
