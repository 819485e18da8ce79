//! The home router on interfaces of this machine: switch, control program and router as one node.
//!
//! ```text
//! LAN interfaces - switch - router - WAN interface
//!                    |         |
//!             control program  TAP interface, which makes this machine a host behind the router
//! ```
//!
//! With Open vSwitch, its bridge replaces the switch: it connects to the control program, and the router uses an internal port of
//! the bridge.

use crate::gateway::Settings;
use crate::home::Shared;
use crate::node::HomeNode;
use crate::record::Record;
use core::net::Ipv4Addr;
use dhcp::service;
use ip::address::InterfaceAddress;
use ip::service::Service;
use node::{ConfigError, Member, Node, Port};
use nodes::composite::{Composite, Place};
use openflow::switch::{self, Switch};
use packet::ethernet::Mac;
use router::router::{self as router_node, PortConfig, Router};

/// Only replies from outside reach the home.
const FIREWALL: &str = "table inet home {
    chain forward {
        type filter hook forward priority 0; policy drop;
        ct state established,related accept
        iifname { lan, host } accept
    }
}";

/// Ports of the router.
const LAN: u16 = 0;
const WAN: u16 = 1;
/// Length of the prefix that the router asks the provider for, bits (RFC 7084 WPD-3).
const PREFIX_LENGTH: u8 = 56;

/// Configuration of the router's outside.
#[derive(Clone, Debug)]
pub struct Uplink {
    /// MAC address of the port.
    pub mac: Mac,
    /// Address of the port; `None`: by DHCP.
    pub address: Option<InterfaceAddress>,
    /// Next hop of the default route, with an address.
    pub gateway: Option<Ipv4Addr>,
}

/// The ports of a home router, in the order of [`whole`]: LAN interfaces or the bridge's port and the control channel, WAN, host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lan {
    /// Switch of Wireline with this number of LAN ports; the last one may be the authenticator's.
    Switch(u16),
    /// External switch: its internal port for the router, then the control channel.
    Bridge,
}

/// The home router as one node. Its ports: those of the LAN, then the WAN, then this machine's own.
///
/// # Errors
/// When a setting is out of its range.
pub fn whole(
    lan: Lan,
    home: &Shared,
    settings: Settings,
    record: Box<dyn Record>,
    uplink: &Uplink,
) -> Result<Composite, ConfigError> {
    let plan = home.lock().plan;
    let seed = settings.seed;
    let mut members = vec![
        member("router", router(&plan, &settings, uplink)?),
        member(
            "home",
            HomeNode::new(home.clone(), settings, record, Vec::new()),
        ),
    ];
    let (router, control) = (0, (1, Port(0)));
    let mut joined: Vec<(Place, Place)> = Vec::new();
    let mut ports: Vec<Place> = Vec::new();
    match lan {
        Lan::Switch(count) => {
            let config = switch::Config {
                ports: count + 1,
                seed,
                ..switch::Config::default()
            };
            members.push(member("switch", Switch::new(config)?));
            joined.push(((2, Port(0)), (router, Port(0))));
            joined.push(((2, Port(count + 1)), control));
            ports.extend((1..=count).map(|port| (2, Port(port))));
        }
        Lan::Bridge => ports.extend([(router, Port(0)), control]),
    }
    ports.extend([(router, Port(1)), (router, Port(2))]);
    Composite::new(members, &joined, ports)
        .map_err(|fault| ConfigError::new("lan", fault.to_string()))
}

fn member(name: &str, node: impl Node + 'static) -> Member {
    Member {
        name: name.into(),
        node: Box::new(node),
    }
}

fn router(
    plan: &crate::plan::Plan,
    settings: &Settings,
    uplink: &Uplink,
) -> Result<Router, ConfigError> {
    let (_, prefix) = plan.network();
    let network = |address: Ipv4Addr, prefix: u8| {
        let network: Result<InterfaceAddress, _> = format!("{address}/{prefix}").parse();
        network.map_err(|_| {
            ConfigError::new(
                "network",
                "not a network for hosts; use one such as 10.2.0.0/16",
            )
        })
    };
    let port = |name: &str, address: Vec<InterfaceAddress>| PortConfig {
        name: Some(name.into()),
        address,
        ..PortConfig::default()
    };
    let route = uplink
        .gateway
        .map(|gateway| format!("default via {gateway}").parse());
    let route = route
        .transpose()
        .map_err(|_| ConfigError::new("gateway", "not the address of a next hop"))?;
    let config = router_node::Config {
        port: vec![
            PortConfig {
                ipv6: settings.ipv6,
                ..port("lan", vec![network(plan.gateway(0), prefix)?])
            },
            PortConfig {
                mac: Some(uplink.mac),
                outside: true,
                ipv6: settings.ipv6,
                ..port("wan", uplink.address.into_iter().collect())
            },
            port("host", vec![network(plan.gateway(plan.host()), 30)?]),
        ],
        route: route.into_iter().collect(),
        firewall: Some(FIREWALL.into()),
        nat: Some(router::nat::Config::default()),
        seed: settings.seed,
        ..router_node::Config::default()
    };
    let mut services: Vec<Box<dyn Service>> = Vec::new();
    if uplink.address.is_none() {
        let client = service::v4_client::Config {
            port: WAN,
            ..Default::default()
        };
        services.push(service::v4_client::make(&client, settings.seed)?);
    }
    if settings.ipv6 {
        let client = service::v6_client::Config {
            port: WAN,
            prefix: Some(PREFIX_LENGTH),
            delegate_ports: vec![LAN],
            ..Default::default()
        };
        services.push(service::v6_client::make(&client, settings.seed)?);
        let discovery = service::router_discovery::Config { port: WAN };
        services.push(service::router_discovery::make(&discovery));
    }
    Router::new(config)?.with_services(None, services)
}
