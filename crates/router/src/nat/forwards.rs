//! Mappings that need no sessions: static ones, and explicit ones that a host has asked for.

use super::config::{Forward, Transport};
use super::endpoint::Endpoint;
use crate::prefix::Prefix;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use core::net::IpAddr;
use node::{ConfigError, Time};
use packet::ipv4::protocol;

/// Remote endpoints that may send to an explicit mapping (RFC 6887 section 13.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteFilter {
    /// Their addresses.
    pub prefix: Prefix,
    /// Their port; 0: any.
    pub port: u16,
}

/// The inside end of a mapping.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub inside: Endpoint,
    /// Time at which it ends; [`Time::MAX`] for a static one.
    pub expires: Time,
    /// Empty: any remote endpoint may send.
    pub filters: Vec<RemoteFilter>,
}

impl Target {
    pub fn is_static(&self) -> bool {
        self.expires == Time::MAX
    }

    pub fn allows(&self, remote: Endpoint) -> bool {
        let matches = |filter: &RemoteFilter| {
            let is_port = filter.port == 0 || filter.port == remote.id;
            is_port && filter.prefix.contains(IpAddr::V4(remote.address))
        };
        self.filters.is_empty() || self.filters.iter().any(matches)
    }
}

/// Number of a protocol.
pub(super) fn number_of(transport: Transport) -> u8 {
    match transport {
        Transport::Tcp => protocol::TCP,
        Transport::Udp => protocol::UDP,
    }
}

/// Static and explicit mappings in both directions.
#[derive(Debug, Default)]
pub(super) struct Forwards {
    to_external: BTreeMap<(u8, Endpoint), Endpoint>,
    to_inside: BTreeMap<(u8, Endpoint), Target>,
    /// Explicit mappings by the time at which they end.
    ends: BTreeSet<(Time, u8, Endpoint)>,
}

impl Forwards {
    /// # Errors
    /// When an endpoint has two mappings.
    pub fn new(forwards: &[Forward]) -> Result<Forwards, ConfigError> {
        let mut all = Forwards::default();
        for forward in forwards {
            let number = number_of(forward.protocol);
            let (inside, external) = (forward.inside.into(), forward.external.into());
            let is_known = all.external(number, inside).is_some()
                || all.to_inside.contains_key(&(number, external));
            if is_known {
                let reason = format!(
                    "{} or {} has two mappings",
                    forward.inside, forward.external
                );
                return Err(ConfigError::new("forward", reason));
            }
            let target = Target {
                inside,
                expires: Time::MAX,
                filters: Vec::new(),
            };
            all.insert(number, external, target);
        }
        Ok(all)
    }

    /// Adds a mapping, or changes the one that is there.
    pub fn insert(&mut self, number: u8, external: Endpoint, target: Target) {
        self.to_external.insert((number, target.inside), external);
        if !target.is_static() {
            self.ends.insert((target.expires, number, external));
        }
        let old = self.to_inside.insert((number, external), target);
        if let Some(old) = old {
            let new = self.to_inside[&(number, external)].expires;
            if new != old.expires {
                self.ends.remove(&(old.expires, number, external));
            }
        }
    }

    /// Removes an explicit mapping.
    pub fn remove(&mut self, number: u8, external: Endpoint) -> Option<Target> {
        let target = self.to_inside.remove(&(number, external))?;
        self.to_external.remove(&(number, target.inside));
        self.ends.remove(&(target.expires, number, external));
        Some(target)
    }

    /// Removes the next mapping whose time is over: protocol, inside and external endpoint.
    pub fn expire(&mut self, now: Time) -> Option<(u8, Endpoint, Endpoint)> {
        let &(expires, number, external) = self.ends.first()?;
        let target = (expires <= now).then(|| self.remove(number, external))??;
        Some((number, target.inside, external))
    }

    /// Time at which the next mapping ends.
    pub fn next(&self) -> Option<Time> {
        self.ends.first().map(|&(expires, ..)| expires)
    }

    pub fn external(&self, number: u8, inside: Endpoint) -> Option<Endpoint> {
        self.to_external.get(&(number, inside)).copied()
    }

    pub fn target(&self, number: u8, external: Endpoint) -> Option<&Target> {
        self.to_inside.get(&(number, external))
    }

    pub fn inside(&self, number: u8, external: Endpoint) -> Option<Endpoint> {
        self.target(number, external).map(|target| target.inside)
    }

    /// Protocol, external endpoint and inside end of each.
    pub fn iter(&self) -> impl Iterator<Item = (u8, Endpoint, &Target)> {
        let all = self.to_inside.iter();
        all.map(|(&(number, external), target)| (number, external, target))
    }
}
