//! Delegations: the servers of zones, with bounded memory.

use crate::lru::Lru;
use crate::name::{Key, OwnedName};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use node::Time;

/// Maximum number of delegations that are kept.
const MAX_DELEGATIONS: usize = 8_192;
/// Maximum number of servers of a zone that are looked at; the root has 13.
pub const MAX_SERVERS: usize = 16;
/// Maximum number of addresses of a server.
pub const MAX_ADDRESSES: usize = 8;
/// Upper limit of the TTL of a delegation. It is renewed by the parent zone alone, and does not outlive the parent's, so that
/// a name that a parent has removed ends (ghost and phoenix domain names).
const MAX_TTL: u32 = 86_400;

/// A server of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServer {
    /// Its name; the root's servers of the configuration have none.
    pub name: Option<OwnedName>,
    /// Addresses from glue, or found.
    pub addresses: Vec<SocketAddr>,
}

/// The servers of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegation {
    /// Number of labels of the zone's name.
    pub labels: usize,
    /// Its servers.
    pub servers: Vec<NameServer>,
    /// End of its TTL.
    pub expires: Time,
}

/// The delegations that are known.
#[derive(Debug)]
pub struct Delegations {
    root: Delegation,
    known: Lru<Arc<[u8]>, Delegation>,
}

impl Delegations {
    pub fn new(roots: Vec<SocketAddr>) -> Delegations {
        let server = |address| NameServer {
            name: None,
            addresses: alloc::vec![address],
        };
        Delegations {
            root: Delegation {
                labels: 0,
                servers: roots.into_iter().map(server).collect(),
                expires: Time::MAX,
            },
            known: Lru::default(),
        }
    }

    /// The closest known delegation of a name with at most `labels` labels.
    pub fn find(&mut self, now: Time, name: &Key, labels: usize) -> Delegation {
        for labels in (1..=labels.min(name.labels())).rev() {
            let found = self.known.get(name.ancestor(labels));
            if let Some(found) = found.filter(|found| now < found.expires) {
                return found.clone();
            }
        }
        self.root.clone()
    }

    /// Keeps a delegation.
    pub fn put(&mut self, zone: &[u8], delegation: Delegation) {
        self.known.insert(zone.into(), delegation);
        if self.known.len() > MAX_DELEGATIONS {
            self.known.pop_oldest();
        }
    }

    /// Adds the addresses of a server that were found, for later searches.
    pub fn add_addresses(&mut self, zone: &[u8], server: &OwnedName, addresses: &[SocketAddr]) {
        let Some(found) = self.known.get(zone) else {
            return;
        };
        let mut servers = found.servers.iter_mut();
        if let Some(found) = servers.find(|other| other.name.as_ref() == Some(server)) {
            found.addresses = addresses.to_vec();
        }
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }
}

/// End of a delegation with a TTL in seconds by a zone that ends at `parent`.
pub fn end(now: Time, ttl: u32, parent: Time) -> Time {
    (now + Time::from_secs(ttl.min(MAX_TTL).into())).min(parent)
}

/// Whether queries may go to an address of a response: to a host, and not to the own machine.
pub fn is_usable(address: IpAddr, with_v6: bool) -> bool {
    ip::address::is_host(address) && (with_v6 || address.is_ipv4())
}
