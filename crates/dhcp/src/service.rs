//! The protocols as services of hosts and routers ([`ip::service::Service`]).
//!
//! Each has a `Config`, whose keys are those of a lab's program, and a `make`.

pub mod v4_client;
pub mod v4_relay;
pub mod v4_server;

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use ip::service::Link;
use node::{ConfigError, Port};

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
