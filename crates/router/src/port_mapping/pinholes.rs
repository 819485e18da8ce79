//! Pinholes in a firewall of IPv6 that hosts ask for by PCP (RFC 6887): the external address of a mapping is the host's own.
//!
//! A packet that begins a connection through a pinhole is `related` to the rules, as one that a [helper](crate::conntrack::Helper)
//! expects. So rules decide whether pinholes count: `ct state established,related accept` lets them.
//!
//! PEER makes a pinhole for its peer alone. THIRD_PARTY is refused. Limits and lifetimes are those of [`Config`]; a host that forges
//! addresses can use all of `mappings`, of some 300 bytes each, for `max_lifetime`.

use super::ledger::MAX_FILTERS;
use super::pcp::{self, Client, Code, Failure, Request};
use super::{Config, Counters, epoch};
use crate::nat::RemoteFilter;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr, SocketAddrV6};
use node::Time;
use node::outcome::Table;

/// Endpoint inside, and the peer of a pinhole for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    host: Ipv6Addr,
    is_tcp: bool,
    port: u16,
    peer: Option<(Ipv6Addr, u16)>,
}

#[derive(Clone, Debug)]
struct Entry {
    nonce: [u8; 12],
    until: Time,
    /// Empty: any remote endpoint.
    filters: Vec<RemoteFilter>,
}

/// All pinholes, and the server that makes them.
#[derive(Debug)]
pub struct Pinholes {
    config: Config,
    entries: BTreeMap<Key, Entry>,
    counters: Counters,
}

impl Pinholes {
    /// No pinholes. The values of the configuration are in their ranges.
    pub(super) fn new(config: Config) -> Pinholes {
        Pinholes {
            config,
            entries: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    /// Answers a datagram that a host inside has sent to [`PORT`](super::PORT), into `answer`, which is empty; `false` when there is
    /// no answer.
    pub fn datagram(
        &mut self,
        now: Time,
        host: Ipv6Addr,
        request: &[u8],
        answer: &mut Vec<u8>,
    ) -> bool {
        let is_request = self.config.pcp && pcp::is_request(request) && request[0] != 0;
        if !is_request {
            self.counters.ignored += 1;
            return false;
        }
        self.counters.requests += 1;
        if let Err(failure) = self.carry_out(now, host, request, answer) {
            self.counters.refused += 1;
            pcp::refuse(now, failure, request, answer);
        }
        true
    }

    fn carry_out(
        &mut self,
        now: Time,
        host: Ipv6Addr,
        request: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let client = Client::of_pinholes(host);
        let request = Request::read(request, &client, self.config.third_party)?;
        if request.is_announcement() {
            request.answer(now, (host, 0), 0, answer);
            return Ok(());
        }
        if request.options.third_party.is_some() {
            return Err(Code::NotAuthorized.into());
        }
        let peer = request.peer()?;
        let (is_tcp, port) = request.inside()?;
        let key = Key {
            host,
            is_tcp,
            port,
            peer,
        };
        let known = self.entries.get(&key).filter(|entry| entry.until > now);
        if let Some(entry) = known.filter(|entry| entry.nonce != request.nonce()) {
            return Err(Failure::new(Code::NotAuthorized, entry.until - now));
        }
        if request.seconds == 0 {
            self.entries.remove(&key);
            request.answer(now, request.suggested(), 0, answer);
            return Ok(());
        }
        if request.options.prefers_failure {
            match request.suggested() {
                (_, 0) => return Err(Code::MalformedOption.into()),
                suggested if suggested != (host, port) => {
                    return Err(Code::CannotProvideExternal.into());
                }
                _ => {}
            }
        }
        let before = known.map_or_else(Vec::new, |entry| entry.filters.clone());
        let is_new = known.is_none();
        let filters = request.options.filters(before);
        if filters.len() > MAX_FILTERS {
            return Err(Code::ExcessiveRemotePeers.into());
        }
        if is_new && !self.has_room(now, host) {
            self.counters.over_quota += 1;
            return Err(Code::UserExQuota.into());
        }
        let lifetime = Time::from_secs(request.seconds.into());
        let lifetime = lifetime.clamp(self.config.min_lifetime, self.config.max_lifetime);
        let entry = Entry {
            nonce: request.nonce(),
            until: now + lifetime,
            filters,
        };
        self.entries.insert(key, entry);
        self.counters.granted += 1;
        request.answer(now, (host, port), epoch(lifetime), answer);
        Ok(())
    }

    /// Whether a host may have another pinhole, after those whose time is over are gone.
    fn has_room(&mut self, now: Time, host: Ipv6Addr) -> bool {
        let is_full = |own: &Pinholes| {
            own.of(host) >= own.config.per_host || own.entries.len() >= own.config.mappings
        };
        if is_full(self) {
            self.entries.retain(|_, entry| entry.until > now);
        }
        !is_full(self)
    }

    /// Number of entries of a host.
    fn of(&self, host: Ipv6Addr) -> usize {
        let first = Key {
            host,
            is_tcp: false,
            port: 0,
            peer: None,
        };
        let all = self.entries.range(first..);
        all.take_while(|(key, _)| key.host == host).count()
    }

    /// Whether a pinhole lets a packet in that begins a connection, from and to these endpoints.
    pub fn allows(&self, now: Time, is_tcp: bool, from: SocketAddrV6, to: SocketAddrV6) -> bool {
        let peers = [None, Some((*from.ip(), from.port()))];
        peers.into_iter().any(|peer| {
            let key = Key {
                host: *to.ip(),
                is_tcp,
                port: to.port(),
                peer,
            };
            let matches = |filter: &RemoteFilter| {
                let is_port = filter.port == 0 || filter.port == from.port();
                is_port && filter.prefix.contains(IpAddr::V6(*from.ip()))
            };
            let entry = self.entries.get(&key).filter(|entry| entry.until > now);
            entry.is_some_and(|entry| entry.filters.is_empty() || entry.filters.iter().any(matches))
        })
    }

    /// Counts since the start.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Number of entries that are kept, some of which may have ended.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no entry is kept.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The pinholes at `now`, as the table `pinholes`: protocol, endpoint inside, peer, lifetime that is left.
    pub fn table(&self, now: Time) -> Table {
        let live = self.entries.iter().filter(|(_, entry)| entry.until > now);
        let entries = live.map(|(key, entry)| {
            let protocol = if key.is_tcp { "tcp" } else { "udp" };
            let inside = SocketAddrV6::new(key.host, key.port, 0, 0);
            let peer = key.peer.map_or_else(
                || {
                    String::from(if entry.filters.is_empty() {
                        "any"
                    } else {
                        "filters"
                    })
                },
                |(address, port)| format!("{}", SocketAddrV6::new(address, port, 0, 0)),
            );
            format!("{protocol} {inside} {peer} {}", entry.until - now)
        });
        Table {
            name: String::from("pinholes"),
            entries: entries.collect(),
        }
    }
}
