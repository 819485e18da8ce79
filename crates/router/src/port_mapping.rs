//! Port mapping protocols: hosts inside ask the router's NAT for mappings by PCP (RFC 6887), NAT-PMP (RFC 6886) or UPnP
//! (Internet Gateway Device).
//!
//! A [`Server`] takes the requests of all three, and keeps an entry for each mapping that it has made, with its owner. The
//! mappings are the [NAT's](crate::nat::Nat::map).
//!
//! - **Who may ask:** a host inside, for its own address; with `third_party` a PCP client for others, too. The router gives the
//!   server no requests from the outside. Only the owner may change or end a mapping: by PCP the client with its nonce, by the
//!   others the host with the protocol by which it was made.
//! - **Bounds:** `per_host` and `mappings` entries of some 200 bytes, each with at most [`MAX_FILTERS`] filters and a
//!   description of [`MAX_DESCRIPTION`] bytes; lifetimes from `min_lifetime` to `max_lifetime`. A host that forges addresses
//!   of others inside can use all of `mappings` for `max_lifetime`, that is, at most that number of ports, and no more. An
//!   answer of PCP or NAT-PMP is at most as long as its request, or 24 bytes.
//!
//! Hosts behind a [NAT64](crate::nat64) ask by PCP over IPv6; they learn its prefix, too (RFC 7225). A host is known to the NAT64 by a
//! number, of which a host that forges addresses can use `hosts`, while it can keep those with mappings alone, at most `mappings`.
//!
//! Hosts with IPv6 ask for [pinholes](Pinholes) in the router's firewall.
//!
//! Not done: mappings for all ports or for other protocols than TCP and UDP.

mod ledger;
mod nat_pmp;
mod pcp;
mod pinholes;
mod upnp;

pub use ledger::{MAX_DESCRIPTION, MAX_FILTERS};
pub use pinholes::Pinholes;
pub use upnp::{GROUP as SSDP_GROUP, MAX_CONNECTIONS, PORT as UPNP_PORT, SSDP_PORT};

use crate::nat::Nat;
use crate::nat64::Nat64;
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};
use ledger::Ledger;
use node::{ConfigError, Out, Time};
use upnp::Gateway;

/// UDP port of servers.
pub const PORT: u16 = 5351;
/// UDP port of clients to which announcements are sent.
pub const CLIENT_PORT: u16 = 5350;
/// Group to which announcements are sent.
pub const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
/// The same over IPv6.
pub const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
/// Maximum number of mappings.
pub const MAX_MAPPINGS: usize = 65_536;
/// Announcements after a start, and the time between the first two; each further one takes twice as long (RFC 6886 section
/// 3.2.1).
const ANNOUNCEMENTS: u32 = 10;
const FIRST_INTERVAL: Time = Time::from_ms(250);

/// Configuration of a server. Without a protocol there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Whether PCP is answered. Default: yes.
    pub pcp: bool,
    /// Whether NAT-PMP is answered. Default: yes.
    pub nat_pmp: bool,
    /// Whether UPnP is answered. Default: no, as any page in a browser inside can try it.
    pub upnp: bool,
    /// Whether a PCP client may ask for mappings of other hosts. Default: no.
    pub third_party: bool,
    /// Maximum number of mappings of an inside host, at least 1. Default: 32.
    pub per_host: usize,
    /// Maximum number of mappings, 1 to [`MAX_MAPPINGS`]. Default: 1,024.
    pub mappings: usize,
    /// Shortest lifetime, at least 1 s. Default: 2 min (RFC 6887 section 15).
    pub min_lifetime: Time,
    /// Longest lifetime, at most 49 days. Default: 24 h.
    pub max_lifetime: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            pcp: true,
            nat_pmp: true,
            upnp: false,
            third_party: false,
            per_host: 32,
            mappings: 1_024,
            min_lifetime: Time::from_secs(120),
            max_lifetime: Time::from_secs(86_400),
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), ConfigError> {
        if self.per_host == 0 || !(1..=MAX_MAPPINGS).contains(&self.mappings) {
            let reason = format!("`mappings` is 1 to {MAX_MAPPINGS}, `per_host` at least 1");
            return Err(ConfigError::new("mappings", reason));
        }
        let is_ordered = self.min_lifetime <= self.max_lifetime;
        let is_in_range = self.min_lifetime >= Time::from_secs(1)
            && self.max_lifetime <= Time::from_secs(49 * 86_400);
        if !is_ordered || !is_in_range {
            let reason = "lifetimes are 1 s to 49 days, and the minimum is not above the maximum";
            return Err(ConfigError::new("max_lifetime", reason));
        }
        Ok(())
    }

    /// The server for pinholes of this configuration.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn pinholes(self) -> Result<Pinholes, ConfigError> {
        self.check()?;
        Ok(Pinholes::new(self))
    }
}

/// Counts of requests and of their results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests that were read, of any protocol.
    pub requests: u64,
    /// Requests for mappings that were granted.
    pub granted: u64,
    /// Requests that were answered with an error.
    pub refused: u64,
    /// Datagrams that were not answered.
    pub ignored: u64,
    /// Requests beyond `per_host` or `mappings`.
    pub over_quota: u64,
}

impl Counters {
    /// The counters with their names.
    pub fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("requests", self.requests),
            ("granted", self.granted),
            ("refused", self.refused),
            ("ignored", self.ignored),
            ("over_quota", self.over_quota),
        ]
    }
}

/// A server for PCP, NAT-PMP and UPnP.
#[derive(Debug)]
pub struct Server {
    config: Config,
    ledger: Ledger,
    counters: Counters,
    /// Time of the next announcement, and the number of those that follow.
    announcement: Option<(Time, u32)>,
    gateway: Option<Gateway>,
}

impl Server {
    /// A server without mappings, whose epoch begins at time 0. The names of its device come from `seed`.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(config: Config, seed: u64) -> Result<Server, ConfigError> {
        config.check()?;
        let announces = config.pcp || config.nat_pmp;
        Ok(Server {
            ledger: Ledger::new(&config),
            counters: Counters::default(),
            gateway: config.upnp.then(|| Gateway::new(seed)),
            announcement: announces.then_some((Time::ZERO, ANNOUNCEMENTS - 1)),
            config,
        })
    }

    /// Answers a datagram that an inside host has sent to [`PORT`], into `answer`, which is empty; `false` when there is no
    /// answer.
    pub fn datagram(
        &mut self,
        now: Time,
        nat: &mut Nat,
        client: SocketAddrV4,
        request: &[u8],
        answer: &mut Vec<u8>,
    ) -> bool {
        nat.expire(now);
        let is_answered = match request.first() {
            Some(0) if self.config.nat_pmp => self.nat_pmp(now, nat, *client.ip(), request, answer),
            // The version is negotiated by the answer (RFC 6887 section 9, RFC 6886 section 3.5).
            Some(_) if self.config.pcp => {
                let client = Some(pcp::Client::v4(*client.ip()));
                self.pcp(now, nat, client, request, answer)
            }
            Some(_) if self.config.nat_pmp => self.nat_pmp(now, nat, *client.ip(), request, answer),
            _ => false,
        };
        self.count(is_answered)
    }

    /// As [`datagram`](Server::datagram), for a host behind a NAT64. Requests of NAT-PMP are not for it.
    pub fn datagram_v6(
        &mut self,
        now: Time,
        nat64: &mut Nat64,
        client: Ipv6Addr,
        request: &[u8],
        answer: &mut Vec<u8>,
    ) -> bool {
        nat64.expire(now);
        let is_pcp = self.config.pcp && request.first().is_some_and(|version| *version != 0);
        let client = nat64.host(client).map(|host| pcp::Client {
            address: client,
            host,
            prefix: Some(nat64.prefix()),
            has_v6_peers: false,
        });
        let is_answered = is_pcp && self.pcp(now, nat64.nat(), client, request, answer);
        self.count(is_answered)
    }

    fn count(&mut self, is_answered: bool) -> bool {
        match is_answered {
            true => self.counters.requests += 1,
            false => self.counters.ignored += 1,
        }
        is_answered
    }

    /// The next announcement that is due, to be sent to [`GROUP`] and [`CLIENT_PORT`] on each link inside: a payload of each
    /// protocol.
    pub fn poll_announcement(&mut self, now: Time, nat: &Nat) -> Option<[Option<Vec<u8>>; 2]> {
        let (at, left) = self.announcement.filter(|(at, _)| *at <= now)?;
        let sent = ANNOUNCEMENTS - 1 - left;
        self.announcement = left
            .checked_sub(1)
            .map(|left| (at + FIRST_INTERVAL * (1 << sent), left));
        let pcp = self.config.pcp.then(|| pcp::announcement(now));
        let nat_pmp = self.config.nat_pmp.then(|| nat_pmp::announcement(now, nat));
        Some([pcp, nat_pmp])
    }

    /// Drives connections that are due.
    pub fn wake(&mut self, now: Time, nat: &mut Nat, out: &mut Out) {
        self.wake_gateway(now, nat, out);
    }

    /// Time of the next announcement, notification or segment.
    pub fn next_wake(&self) -> Option<Time> {
        let announcement = self.announcement.map(|(at, _)| at);
        announcement.into_iter().chain(self.gateway_wake()).min()
    }

    /// Counts since the start.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Number of entries that are kept, some of which may have ended.
    pub fn len(&self) -> usize {
        self.ledger.len()
    }

    /// Whether no entry is kept.
    pub fn is_empty(&self) -> bool {
        self.ledger.len() == 0
    }

    /// Its entries at `now`, as the table `port mappings`: protocol, inside endpoint, remote endpoint, way, lifetime that is
    /// left, description.
    pub fn table(&self, now: Time) -> node::outcome::Table {
        self.table_of(now, "port mappings", IpAddr::V4)
    }

    /// The same with a name, and with the hosts' addresses for those that the NAT knows.
    pub fn table_of(
        &self,
        now: Time,
        name: &str,
        address: impl Fn(Ipv4Addr) -> IpAddr,
    ) -> node::outcome::Table {
        node::outcome::Table {
            name: name.into(),
            entries: self.ledger.lines(now, address).collect(),
        }
    }
}

/// Whether a request of PCP asks for an IPv4 address.
pub(crate) fn wants_v4(request: &[u8]) -> bool {
    pcp::wants_v4(request)
}

/// Seconds since the start of the server (RFC 6887 section 8.5).
fn epoch(now: Time) -> u32 {
    (now.as_ps() / Time::from_secs(1).as_ps()) as u32
}
