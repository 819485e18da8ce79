//! Owners of mappings, and the limits.

use super::Config;
use crate::nat::{MapError, Nat, RemoteFilter, Suggestion, Transport};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use node::Time;

/// Maximum number of filters of a mapping.
pub const MAX_FILTERS: usize = 8;
/// Maximum length of a mapping's description, bytes.
pub const MAX_DESCRIPTION: usize = 64;

/// Owner of a mapping, who alone may change or end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The client with this nonce.
    Pcp([u8; 12]),
    /// The host, by NAT-PMP.
    NatPmp,
    /// The host, by UPnP.
    Upnp,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Owner::Pcp(_) => "pcp",
            Owner::NatPmp => "nat-pmp",
            Owner::Upnp => "upnp",
        })
    }
}

/// A mapping's inside endpoint, and the remote one of a session that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub host: Ipv4Addr,
    pub is_tcp: bool,
    pub port: u16,
    pub remote: Option<SocketAddrV4>,
}

impl Key {
    pub fn transport(&self) -> Transport {
        match self.is_tcp {
            true => Transport::Tcp,
            false => Transport::Udp,
        }
    }

    pub fn inside(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.host, self.port)
    }

    /// Before all keys of a host.
    fn first(host: Ipv4Addr) -> Key {
        Key {
            host,
            is_tcp: false,
            port: 0,
            remote: None,
        }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    owner: Owner,
    until: Time,
    description: String,
}

/// Properties of a mapping that is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish<'a> {
    pub suggestion: Suggestion,
    pub lifetime: Time,
    pub filters: &'a [RemoteFilter],
    /// At most [`MAX_DESCRIPTION`] bytes.
    pub description: &'a str,
}

/// A mapping that was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub external: SocketAddrV4,
    pub lifetime: Time,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Another owner has the mapping, for this time.
    Owner(Time),
    /// Too many mappings, or too many of the host.
    Quota,
    Nat(MapError),
}

/// All entries.
#[derive(Debug)]
pub(super) struct Ledger {
    entries: BTreeMap<Key, Entry>,
    per_host: usize,
    max: usize,
    lifetimes: [Time; 2],
}

impl Ledger {
    pub fn new(config: &Config) -> Ledger {
        Ledger {
            entries: BTreeMap::new(),
            per_host: config.per_host,
            max: config.mappings,
            lifetimes: [config.min_lifetime, config.max_lifetime],
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether an owner may have a mapping.
    fn check(&mut self, now: Time, key: &Key, owner: Owner) -> Result<(), Refusal> {
        let own = self.entries.get(key).filter(|entry| entry.until > now);
        match own {
            Some(entry) if entry.owner != owner => return Err(Refusal::Owner(entry.until - now)),
            Some(_) => return Ok(()),
            None => drop(self.entries.remove(key)),
        }
        if self.of(key.host) >= self.per_host || self.entries.len() >= self.max {
            self.entries.retain(|_, entry| entry.until > now);
        }
        match self.of(key.host) < self.per_host && self.entries.len() < self.max {
            true => Ok(()),
            false => Err(Refusal::Quota),
        }
    }

    /// Number of entries of a host.
    fn of(&self, host: Ipv4Addr) -> usize {
        let all = self.entries.range(Key::first(host)..);
        all.take_while(|(key, _)| key.host == host).count()
    }

    /// Makes or renews a mapping, with a lifetime in range.
    pub fn grant(
        &mut self,
        now: Time,
        nat: &mut Nat,
        key: Key,
        owner: Owner,
        wish: Wish<'_>,
    ) -> Result<Grant, Refusal> {
        let lifetime = wish.lifetime.clamp(self.lifetimes[0], self.lifetimes[1]);
        let until = now + lifetime;
        let known = nat.mapped(key.transport(), key.inside());
        let is_static = known.is_some_and(|mapped| mapped.until == Time::MAX);
        if !is_static {
            self.check(now, &key, owner)?;
        }
        let external = match key.remote {
            None => nat
                .map(
                    now,
                    key.transport(),
                    key.inside(),
                    wish.suggestion,
                    until,
                    wish.filters,
                )
                .map(|mapped| mapped.external),
            Some(remote) => {
                let ends = [key.inside(), remote];
                nat.keep_session(now, key.transport(), ends, wish.suggestion, until)
            }
        };
        let external = external.map_err(Refusal::Nat)?;
        if !is_static {
            let description = String::from(wish.description);
            let entry = Entry {
                owner,
                until,
                description,
            };
            self.entries.insert(key, entry);
        }
        Ok(Grant { external, lifetime })
    }

    /// Ends a mapping. One that does not exist has ended.
    pub fn end(&mut self, now: Time, nat: &mut Nat, key: Key, owner: Owner) -> Result<(), Refusal> {
        match self.entries.get(&key).filter(|entry| entry.until > now) {
            Some(entry) if entry.owner != owner => return Err(Refusal::Owner(entry.until - now)),
            None => return Ok(()),
            Some(_) => drop(self.entries.remove(&key)),
        }
        match key.remote {
            None => drop(nat.unmap(now, key.transport(), key.inside())),
            // The session lives on by its own timer.
            Some(remote) => {
                let ends = [key.inside(), remote];
                let _ = nat.keep_session(now, key.transport(), ends, Suggestion::None, now);
            }
        }
        Ok(())
    }

    /// Ends all mappings of a host, protocol and owner.
    pub fn end_all(
        &mut self,
        now: Time,
        nat: &mut Nat,
        host: Ipv4Addr,
        is_tcp: bool,
        owner: Owner,
    ) {
        let all = self.entries.range(Key::first(host)..);
        let own = all.take_while(|(key, _)| key.host == host);
        let own = own.filter(|(key, entry)| key.is_tcp == is_tcp && entry.owner == owner);
        let keys: alloc::vec::Vec<Key> = own.map(|(key, _)| *key).collect();
        for key in keys {
            let _ = self.end(now, nat, key, owner);
        }
    }

    /// Mappings of a host that an owner has: time that is left, and description.
    pub fn of_owner(
        &self,
        now: Time,
        host: Ipv4Addr,
        owner: Owner,
    ) -> impl Iterator<Item = (Key, Time, &str)> {
        let all = self.entries.range(Key::first(host)..);
        let own = all.take_while(move |(key, _)| key.host == host);
        let live = own.filter(move |(_, entry)| entry.owner == owner && entry.until > now);
        live.map(move |(key, entry)| (*key, entry.until - now, entry.description.as_str()))
    }

    pub fn lines(
        &self,
        now: Time,
        address: impl Fn(Ipv4Addr) -> IpAddr,
    ) -> impl Iterator<Item = String> {
        let live = self
            .entries
            .iter()
            .filter(move |(_, entry)| entry.until > now);
        live.map(move |(key, entry)| {
            let protocol = if key.is_tcp { "tcp" } else { "udp" };
            let remote = key
                .remote
                .map_or_else(|| String::from("any"), |remote| format!("{remote}"));
            let (owner, left, about) = (entry.owner, entry.until - now, &entry.description);
            let inside = SocketAddr::new(address(key.host), key.port);
            let line = format!("{protocol} {inside} {remote} {owner} {left} {about}");
            String::from(line.trim_end())
        })
    }
}
