//! A proxy of IGMP and MLD that forwards packets to groups (RFC 4605): a router at the edge without a multicast routing
//! protocol.
//!
//! On its downstream links it is the querier and knows the members; on its upstream link it is a host that is a member of
//! what any downstream link wants. A packet to a group from upstream leaves by each downstream link with members of which the proxy is
//! the querier; one from downstream leaves by those and by the upstream link.
//!
//! - **Parameters:** `upstream`, 0: port of the upstream link. `downstream`, the others: ports. `queries`: version and timers.
//!   `groups`, 1024: how many groups a link may have.
//! - **Counters:** `multicast_forwarded`: copies sent; `multicast_reports`, `multicast_queries`: messages taken;
//!   `multicast_sent`: messages sent; `multicast_refused`: memberships and sources without room.
//! - **Drops:** `group without members`; `hop limit used up`; `longer than the next link's MTU`; `packet to a group from no host`;
//!   and messages that are not valid, each by its reason.
//!
//! Groups with the scope of a link never leave it, nor packets whose hop limit is 1. Of a link with the proxy as a bystander
//! another router is the querier.
//!
//! Total cost: memory for `groups` memberships with 64 sources each on each link. A report costs at most the proxy's own report
//! upstream, and `robustness` queries back; packets leave as often as there are links with members.

mod members;

use crate::host::Host;
use crate::link::{Known, ToGroup, earliest, next_hop, to_group};
use crate::membership::Membership;
use crate::message::{self, Family, Message};
use crate::querier::{self, Querier};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;
use ip::service::{Link, Service};
use node::outcome::Table;
use node::{ConfigError, Frame, Out, Port, Statistics, Time};

/// Interval at which memberships that have ended are taken out: members leave upstream at most that much later.
const SWEEP: Time = Time::from_secs(1);

/// Configuration of a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Port of the upstream link.
    pub upstream: u16,
    /// Ports of the downstream links; empty: all others.
    pub downstream: Vec<u16>,
    /// Version and timers of the queries.
    pub queries: querier::Config,
    /// Maximum number of groups of a link, 1 to 65,536.
    pub groups: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            upstream: 0,
            downstream: Vec::new(),
            queries: querier::Config::default(),
            groups: 1024,
        }
    }
}

/// A downstream link.
#[derive(Debug)]
struct Downstream {
    known: Known,
    queriers: [Querier; 2],
    groups: BTreeMap<IpAddr, Membership>,
}

/// The service.
#[derive(Debug)]
pub struct Proxy {
    config: Config,
    upstream: Option<Known>,
    hosts: [Host; 2],
    downstream: Vec<Downstream>,
    sweep_at: Time,
    started: bool,
    forwarded: u64,
    reports: u64,
    queries: u64,
    sent: u64,
    refused: u64,
}

fn index(family: Family) -> usize {
    usize::from(family == Family::V6)
}

impl Proxy {
    /// A proxy without members.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(config: Config, seed: u64) -> Result<Proxy, ConfigError> {
        config.queries.check()?;
        if !(1..=65_536).contains(&config.groups) {
            return Err(ConfigError::new("groups", "a link has 1 to 65536 groups"));
        }
        if config.downstream.contains(&config.upstream) {
            let reason = "the upstream link is no downstream link";
            return Err(ConfigError::new("downstream", reason));
        }
        let version = config.queries.version;
        let host = |number| Host::new(version, node::random::split_mix(seed, number));
        Ok(Proxy {
            upstream: None,
            hosts: [host(0), host(1)],
            downstream: Vec::new(),
            sweep_at: Time::MAX,
            started: false,
            forwarded: 0,
            reports: 0,
            queries: 0,
            sent: 0,
            refused: 0,
            config,
        })
    }

    fn see(&mut self, link: &Link<'_>) {
        let known = Known::new(link);
        if link.port.0 == self.config.upstream {
            self.upstream = Some(known);
            return;
        }
        let list = &self.config.downstream;
        if !list.is_empty() && !list.contains(&link.port.0) {
            return;
        }
        match self
            .downstream
            .iter_mut()
            .find(|down| down.known.port == link.port)
        {
            Some(down) => down.known = known,
            None => self.downstream.push(Downstream {
                known,
                queriers: Family::BOTH.map(|family| Querier::new(self.config.queries, family)),
                groups: BTreeMap::new(),
            }),
        }
    }

    fn forward(&mut self, now: Time, from: Port, packet: ToGroup, frame: Frame, out: &mut Out) {
        let is_host = !packet.source.is_unspecified() && !packet.source.is_multicast();
        if !is_host {
            return out.drop(frame, "packet to a group from no host");
        }
        if packet.hop_limit <= 1 {
            return out.drop(frame, "hop limit used up");
        }
        let family = Family::of(packet.group);
        let (mut copies, mut long) = (0, false);
        let mut send = |known: &Known, out: &mut Out| {
            if packet.length > known.mtu {
                long = true;
                return;
            }
            let mut copy = out.copy(&frame);
            next_hop(&mut copy, packet.group, known.mac);
            out.send(known.port, copy);
            copies += 1;
        };
        for down in self
            .downstream
            .iter()
            .filter(|down| down.known.port != from)
        {
            let wanted = down.groups.get(&packet.group);
            let wanted = wanted.is_some_and(|membership| membership.wants(now, packet.source));
            if wanted && down.queriers[index(family)].is_active(now) {
                send(&down.known, out);
            }
        }
        if let Some(upstream) = &self.upstream
            && from.0 != self.config.upstream
        {
            send(upstream, out);
        }
        self.forwarded += copies;
        match (copies, long) {
            (0, true) => out.drop(frame, "longer than the next link's MTU"),
            (0, false) => out.drop(frame, "group without members"),
            _ => out.done(frame),
        }
    }

    fn transmit(&mut self, now: Time, out: &mut Out) {
        for family in Family::BOTH {
            for down in &mut self.downstream {
                while let Some(query) = down.queriers[index(family)].poll_transmit(now) {
                    self.sent += u64::from(down.known.send(&Message::Query(query), family, out));
                }
            }
            if let Some(upstream) = &self.upstream {
                while let Some(message) = self.hosts[index(family)].poll_transmit(now) {
                    self.sent += u64::from(upstream.send(&message, family, out));
                }
            }
        }
    }
}

/// The service, for a node with this seed.
///
/// # Errors
/// Those of [`Proxy::new`].
pub fn make(config: &Config, seed: u64) -> Result<Box<dyn Service>, ConfigError> {
    Ok(Box::new(Proxy::new(config.clone(), seed)?))
}

impl Service for Proxy {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let packet = match to_group(&frame) {
            Some(packet) if frame[0] & 1 == 1 => packet,
            _ => return Some(frame),
        };
        if let Some(received) = message::parse_frame(&frame, 14) {
            match received {
                Ok(received) => {
                    self.see(link);
                    self.handle_message(now, link.port, received);
                    self.transmit(now, out);
                    out.done(frame);
                }
                Err(reason) => out.drop(frame, reason.0),
            }
            return None;
        }
        let is_of_proxy = self
            .downstream
            .iter()
            .any(|down| down.known.port == link.port)
            || link.port.0 == self.config.upstream;
        if !message::is_routable(packet.group) || !is_of_proxy {
            return Some(frame);
        }
        self.forward(now, link.port, packet, frame, out);
        None
    }

    fn wake(&mut self, now: Time, links: &[Link<'_>], out: &mut Out) {
        self.started = true;
        links.iter().for_each(|link| self.see(link));
        if self.sweep_at <= now {
            self.sweep(now);
        }
        self.transmit(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        if !self.started {
            return Some(Time::ZERO);
        }
        let queries = self.downstream.iter().flat_map(|down| &down.queriers);
        let queries = queries.map(|querier| Some(querier.next_wake()));
        let hosts = self.hosts.iter().map(Host::next_wake);
        let next = earliest(queries.chain(hosts).chain([Some(self.sweep_at)]));
        next.filter(|&at| at != Time::MAX)
    }

    fn count(&self, all: &mut Statistics) {
        all.counter("multicast_forwarded", self.forwarded);
        all.counter("multicast_reports", self.reports);
        all.counter("multicast_queries", self.queries);
        all.counter("multicast_sent", self.sent);
        let asked = self
            .downstream
            .iter()
            .flat_map(|down| &down.queriers)
            .map(Querier::refused);
        all.counter("multicast_refused", self.refused + asked.sum::<u64>());
    }

    fn tables(&self, now: Time) -> Vec<Table> {
        let mut entries: Vec<String> = Vec::new();
        for down in &self.downstream {
            for (group, membership) in down.groups.iter().filter(|(_, of)| of.is_alive(now)) {
                let (exclude, sources) = membership.filter(now);
                let mode = if exclude { "exclude" } else { "include" };
                entries.push(format!(
                    "port {} {group} {mode} {sources:?}",
                    down.known.port
                ));
            }
        }
        vec![Table {
            name: "multicast members".into(),
            entries,
        }]
    }
}
