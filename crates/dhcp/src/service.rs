//! The protocols as services of hosts and routers ([`ip::service::Service`]).
//!
//! Each has a `Config`, whose keys are those of a lab's program, and a `make`.

pub mod router_advertisements;
pub mod router_discovery;
pub mod v4_client;
pub mod v4_relay;
pub mod v4_server;
pub mod v6_client;
pub mod v6_relay;
pub mod v6_server;

use crate::datagram;
use crate::leases::Limits;
use crate::v6::server::Delegation;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use ip::address::{InterfaceAddress, is_host};
use ip::routers::link_local;
use ip::service::{Change, Link, ROUTED};
use node::{ConfigError, Out, Port, Time};

/// Maximum number of entries that a table shows.
const MAX_SHOWN: usize = 4096;

/// The ports that a service works on: all if it has no list.
#[derive(Debug)]
struct Ports(Vec<u16>);

impl Ports {
    fn new(ports: Vec<u16>) -> Result<Ports, ConfigError> {
        let mut sorted = ports.clone();
        sorted.sort_unstable();
        sorted.dedup();
        match sorted.len() == ports.len() {
            true => Ok(Ports(sorted)),
            false => Err(ConfigError::new("ports", "each port appears once")),
        }
    }

    fn contains(&self, port: Port) -> bool {
        self.0.is_empty() || self.0.binary_search(&port.0).is_ok()
    }
}

/// The route to a delegated prefix.
impl From<Delegation> for Change {
    fn from(delegation: Delegation) -> Change {
        Change::Route {
            to: InterfaceAddress {
                address: delegation.prefix.into(),
                prefix: delegation.length,
            },
            via: Some(delegation.via.into()),
            port: Port(delegation.port),
            present: delegation.present,
        }
    }
}

/// The first IPv4 address of a link.
fn v4_of(link: &Link<'_>) -> Option<Ipv4Addr> {
    let mut all = link.interface.addresses();
    all.find_map(|own| match own.network.address {
        IpAddr::V4(address) if own.is_assigned() => Some(address),
        _ => None,
    })
}

/// Whether an address is the broadcast address of the link, or of one of its networks.
fn is_broadcast(link: &Link<'_>, address: Ipv4Addr) -> bool {
    let mut all = link.interface.addresses();
    address.is_broadcast()
        || all.any(|own| {
            let mut all_ones = own.network;
            all_ones.address = address.into();
            own.network.contains(address.into()) && all_ones.is_broadcast()
        })
}

/// The first IPv6 address of a link that is not link-local.
fn v6_of(link: &Link<'_>) -> Option<Ipv6Addr> {
    let mut all = link.interface.addresses();
    all.find_map(|own| match own.network.address {
        IpAddr::V6(address) if own.is_assigned() && !address.is_unicast_link_local() => {
            Some(address)
        }
        _ => None,
    })
}

/// The link-local address of a link, or the one that its MAC address makes.
fn link_local_of(link: &Link<'_>) -> Ipv6Addr {
    let mut all = link.interface.addresses();
    let own = all.find_map(|own| match own.network.address {
        IpAddr::V6(address) if address.is_unicast_link_local() => Some(address),
        _ => None,
    });
    let made = || match link_local(link.interface.mac()).address {
        IpAddr::V6(address) => address,
        IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
    };
    own.unwrap_or_else(made)
}

/// Source MAC address of a frame.
fn source_mac(frame: &[u8]) -> [u8; 6] {
    let source = frame.get(6..12).and_then(|mac| mac.try_into().ok());
    source.unwrap_or_default()
}

/// Maximum number of servers of a relay.
const MAX_SERVERS: usize = 16;

/// Checks the servers of a relay.
fn check_servers<A: Copy + Into<IpAddr>>(servers: &[A]) -> Result<(), ConfigError> {
    let is_good = |server: &A| is_host((*server).into());
    match (1..=MAX_SERVERS).contains(&servers.len()) && servers.iter().all(is_good) {
        true => Ok(()),
        false => Err(ConfigError::new("servers", "1 to 16 addresses of servers")),
    }
}

/// Sends a relay's message to each server, from the address of the port by which it leaves.
fn send_to_servers<A: Copy + Into<IpAddr>>(
    servers: &[A],
    port: u16,
    message: &[u8],
    out: &mut Out,
) {
    for server in servers {
        let server: IpAddr = (*server).into();
        let none: IpAddr = match server {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let [from, to] = [none, server].map(|address| SocketAddr::new(address, port));
        let frame = datagram::frame([[0; 6]; 2], from, to, message, out);
        out.send(ROUTED, frame);
    }
}

/// Checks the limits of a server's leases.
fn limits(
    offer: Time,
    leases: usize,
    offers: usize,
    circuit: Option<usize>,
) -> Result<Limits, ConfigError> {
    let check = |key, holds: bool, reason: &str| match holds {
        true => Ok(()),
        false => Err(ConfigError::new(key, reason)),
    };
    let times = Time::from_secs(1)..=Time::from_secs(600);
    check("offer", times.contains(&offer), "1 s to 10 min")?;
    check(
        "max_leases",
        (1..=1 << 24).contains(&leases),
        "1 to 16777216",
    )?;
    check("max_offers", (1..=1 << 16).contains(&offers), "1 to 65536")?;
    let circuit = circuit.unwrap_or(usize::MAX);
    check("max_per_circuit", circuit > 0, "at least 1")?;
    Ok(Limits {
        leases,
        offers,
        circuit,
    })
}
