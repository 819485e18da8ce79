//! A prefix of its own for each host (RFC 8273).
//!
//! A host is known by its port and MAC address. Its prefix has a route by the link-local address from which it asked; a host that
//! asks without an address gets the route when it asks again.

use super::{LINK_PREFIX, route};
use crate::advertisement::Solicitation;
use crate::leases::{Lease, Leases, Limits, Range};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv6Addr;
use ip::routers::with_mac;
use ip::service::Change;
use node::Time;
use packet::ethernet::Mac;

/// Minimum time between two answers to a host.
const MIN_INTERVAL: Time = Time::from_secs(1);

/// A host with a prefix.
#[derive(Clone, Copy, Debug)]
struct Host {
    port: u16,
    mac: [u8; 6],
    /// Link-local address: next hop of the route.
    address: Ipv6Addr,
    answered: Time,
    refresh: Time,
}

#[derive(Debug)]
pub struct Unique {
    range: [Range; 1],
    leases: Leases,
    /// By prefix.
    hosts: BTreeMap<u128, Host>,
    refreshes: BTreeSet<(Time, u128)>,
    changes: Vec<Change>,
}

fn key(port: u16, mac: [u8; 6]) -> [u8; 8] {
    let [a, b] = port.to_be_bytes();
    let [c, d, e, f, g, h] = mac;
    [a, b, c, d, e, f, g, h]
}

impl Unique {
    /// For at most `max` hosts with prefixes of a prefix of at most 64 bits.
    pub fn new(prefix: Ipv6Addr, length: u8, max: usize) -> Unique {
        let first = u128::from(prefix);
        let host_bits = u128::MAX.checked_shr(length.into()).unwrap_or(0);
        let step = 1 << (128 - u32::from(LINK_PREFIX));
        Unique {
            range: [Range {
                first,
                last: (first | host_bits) & !(step - 1),
                step,
            }],
            leases: Leases::new(Limits {
                leases: max,
                ..Limits::default()
            }),
            hosts: BTreeMap::new(),
            refreshes: BTreeSet::new(),
            changes: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// The prefix of a host that asks, for `valid`; it is refreshed every `interval`. An error when it has asked just now or there is no room.
    pub fn give(
        &mut self,
        now: Time,
        port: u16,
        asker: Solicitation,
        [valid, interval]: [Time; 2],
    ) -> Result<Ipv6Addr, &'static str> {
        self.expire(now);
        let key = key(port, asker.mac);
        let until = now + valid;
        let none = "no prefix for a host";
        let circuit = port.to_be_bytes();
        let known = self.leases.find(&key).map(|lease| lease.address);
        let recent = known.and_then(|prefix| self.hosts.get(&prefix));
        if recent.is_some_and(|host| now < host.answered + MIN_INTERVAL) {
            return Err("router solicitation too soon");
        }
        let prefix = self.leases.offer(&key, &circuit, &self.range, None, until);
        let prefix = prefix.map_err(|_| none)?;
        let bound = self.leases.bind(&key, &circuit, &self.range, prefix, until);
        bound.map_err(|_| none)?;
        let old = self.hosts.get(&prefix).copied();
        let made = with_mac(Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0), asker.mac);
        let address = match (asker.source.is_unspecified(), old) {
            (false, _) => asker.source,
            (true, Some(old)) => old.address,
            (true, None) => made,
        };
        if old.is_none_or(|old| old.address != address) {
            if let Some(old) = old {
                self.changes
                    .push(route(prefix.into(), old.address, port, false));
            }
            self.changes.push(route(prefix.into(), address, port, true));
        }
        if let Some(old) = old {
            self.refreshes.remove(&(old.refresh, prefix));
        }
        let host = Host {
            port,
            mac: asker.mac,
            address,
            answered: now,
            refresh: now + interval,
        };
        self.refreshes.insert((host.refresh, prefix));
        self.hosts.insert(prefix, host);
        Ok(prefix.into())
    }

    /// The next host whose advertisement is due, with its port and prefix; the one after that comes in `interval`.
    pub fn refresh(&mut self, now: Time, interval: Time) -> Option<(u16, Ipv6Addr, Solicitation)> {
        let due = *self.refreshes.first().filter(|(at, _)| *at <= now)?;
        self.refreshes.remove(&due);
        let (_, prefix) = due;
        let host = self.hosts.get_mut(&prefix)?;
        host.refresh = now + interval;
        self.refreshes.insert((host.refresh, prefix));
        let asker = Solicitation {
            source: host.address,
            mac: host.mac,
        };
        Some((host.port, prefix.into(), asker))
    }

    /// Keeps a prefix that a host has until `until`.
    pub fn extend(&mut self, prefix: Ipv6Addr, until: Time) {
        let prefix = u128::from(prefix);
        if let Some(host) = self.hosts.get(&prefix) {
            let key = key(host.port, host.mac);
            let circuit = host.port.to_be_bytes();
            let bound = self.leases.bind(&key, &circuit, &self.range, prefix, until);
            debug_assert!(bound.is_ok(), "the host has this prefix");
        }
    }

    pub fn next_wake(&self) -> Option<Time> {
        let refresh = self.refreshes.first().map(|(at, _)| *at);
        refresh.into_iter().chain(self.leases.next_end()).min()
    }

    /// Routes that have changed.
    pub fn changes(&mut self) -> impl Iterator<Item = Change> {
        self.changes.drain(..)
    }

    /// The hosts as lines.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.hosts.iter().map(|(prefix, host)| {
            let prefix = Ipv6Addr::from(*prefix);
            format!(
                "{prefix}/{LINK_PREFIX} of {} at {} port {}",
                Mac(host.mac),
                host.address,
                host.port
            )
        })
    }

    /// Removes hosts whose prefixes have expired.
    pub fn expire(&mut self, now: Time) {
        while let Some(Lease { address, .. }) = self.leases.expire(now) {
            if let Some(host) = self.hosts.remove(&address) {
                self.refreshes.remove(&(host.refresh, address));
                self.changes
                    .push(route(address.into(), host.address, host.port, false));
            }
        }
    }
}
