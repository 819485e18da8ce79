//! Routes to delegated prefixes.

use alloc::collections::{BTreeMap, VecDeque};
use core::net::Ipv6Addr;

/// A route to a delegated prefix, by the client that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delegation {
    /// The prefix.
    pub prefix: Ipv6Addr,
    /// Its length, bits.
    pub length: u8,
    /// Link-local address of the client.
    pub via: Ipv6Addr,
    /// The port.
    pub port: u16,
    /// Whether the route is added; `false`: it is removed.
    pub present: bool,
}

/// The routes that exist, at most one for each lease, and changes that the caller does not know yet.
#[derive(Debug, Default)]
pub struct Delegations {
    routes: BTreeMap<u128, Delegation>,
    changes: VecDeque<Delegation>,
}

impl Delegations {
    pub fn add(&mut self, prefix: u128, length: u8, (via, port): (Ipv6Addr, u16)) {
        let route = Delegation {
            prefix: prefix.into(),
            length,
            via,
            port,
            present: true,
        };
        if self.routes.get(&prefix) != Some(&route) {
            self.end(prefix);
            self.routes.insert(prefix, route);
            self.changes.push_back(route);
        }
    }

    pub fn end(&mut self, prefix: u128) {
        if let Some(route) = self.routes.remove(&prefix) {
            self.changes.push_back(Delegation {
                present: false,
                ..route
            });
        }
    }

    pub fn poll(&mut self) -> Option<Delegation> {
        self.changes.pop_front()
    }
}
