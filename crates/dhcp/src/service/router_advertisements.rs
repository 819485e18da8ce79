//! Router advertisements (RFC 4861 section 6.2).
//!
//! - **Parameters:** `ports`, all with an IPv6 address. `interval`, 10 min: maximum time between two advertisements, 4 s to 30 min;
//!   `min_interval`, a third of it: minimum, 3 s to three quarters of it. `lifetime`, three intervals: time for which the
//!   router is a default router, 0 for none, at most 65535 s. `preference`, `medium`: or `high`, `low` (RFC 4191). `hop_limit`, 64;
//!   `managed` and `other`, false: the flags M and O; `reachable` and `retransmission`, 0: not stated; `mtu`, false: whether the
//!   port's MTU is stated. `prefixes`, a list, else the /64 networks of the port's own addresses, as they come and go: `prefix`, such as
//!   `2001:db8:1::/64`; `on_link`, true; `autonomous`, true; `delegated`, false: the flag P of RFC 9762. `valid`, 30 days, and
//!   `preferred`, 7 days: lifetimes of all prefixes. `routes`, none: a list of `to`, `preference`, medium, and `lifetime`, that of
//!   the router (RFC 4191). `dns`, `search`, none: name servers and domains (RFC 8106), valid for three intervals.
//!   `translator`, none: prefix of a NAT64, such as `64:ff9b::/96` (RFC 8781). `unique`, none: prefix of which each host gets a
//!   /64 of its own (RFC 8273), with `max_hosts`, 1024. `stop`, none: time at which the router ceases to be one.
//! - **Routes:** with `unique` one to the prefix of each host.
//! - **Counters:** `advertisements`, `solicitations`; with `unique` `unique_prefixes` at the end.
//! - **Tables:** with `unique` `Unique prefixes`.
//! - **Drops:** `bad router solicitation`; `router solicitation too soon`, `no prefix for a host`.
//!
//! A prefix of the port's own addresses that has gone is advertised as deprecated, with a valid lifetime of two hours, three
//! times (RFC 9096 section 3.5). Solicitations of hosts cost one advertisement in three seconds; with `unique` one in a second for each host.

mod config;
mod unique;

pub use config::{Config, PrefixConfig, RouteConfig, make};

use super::{MAX_SHOWN, Ports, link_local_of};
use crate::advertisement::schedule::{Intervals, Schedule};
use crate::advertisement::{
    self, ALL_NODES, Advertisement, Prefix, Solicitation, is_solicitation, read_solicitation,
};
use crate::v6::message::masked;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use ip::discovery::group_mac;
use ip::service::{Change, Link, Service};
use node::outcome::Table;
use node::random::Random;
use node::{Frame, Out, Port, Statistics, Time};
use unique::Unique;

/// Interval at which the addresses of the ports are looked at.
const POLL_INTERVAL: Time = Time::from_secs(1);
/// Valid lifetime of a prefix that has gone (RFC 4862 section 5.5.3).
const GONE_VALID: Time = Time::from_secs(7200);
/// Maximum number of own prefixes of a port.
const MAX_OWN: usize = 16;
/// Length of a prefix of which hosts make addresses, bits.
const LINK_PREFIX: u8 = 64;

/// A port.
#[derive(Debug, Default)]
struct Advertiser {
    schedule: Schedule,
    /// Networks of its own addresses.
    own: Vec<Ipv6Addr>,
    /// Those that have gone, and the number of advertisements that still say so.
    gone: Vec<(Ipv6Addr, u32)>,
}

#[derive(Debug)]
struct Advertisements {
    ports: Ports,
    intervals: Intervals,
    /// Contents of the advertisements of all ports.
    template: Advertisement,
    states_mtu: bool,
    /// Whether the prefixes are those of the ports' own addresses.
    automatic: bool,
    lifetimes: [Time; 2],
    stop: Option<Time>,
    random: Random,
    advertisers: BTreeMap<u16, Advertiser>,
    unique: Option<Unique>,
    look: Time,
    scratch: Vec<u8>,
    changes: VecDeque<Change>,
    sent: u64,
    asked: u64,
}

impl Advertisements {
    /// Compares the addresses of a port with those that were advertised.
    fn look_at(&mut self, now: Time, link: &Link<'_>) {
        let mut own = Vec::new();
        let mut has_v6 = false;
        for network in link.interface.addresses().map(|own| own.network) {
            let IpAddr::V6(address) = network.address else {
                continue;
            };
            has_v6 = true;
            let prefix = masked(address, LINK_PREFIX);
            let good = network.prefix == LINK_PREFIX && !address.is_unicast_link_local();
            if good && !own.contains(&prefix) && own.len() < MAX_OWN {
                own.push(prefix);
            }
        }
        if !has_v6 {
            self.advertisers.remove(&link.port.0);
            return;
        }
        let is_new = !self.advertisers.contains_key(&link.port.0);
        let port = self.advertisers.entry(link.port.0).or_default();
        if is_new {
            // Routers that start together do not send together (RFC 4861 section 6.2.4).
            port.schedule.change(now, &mut self.random);
        }
        if self.automatic && port.own != own {
            port.gone.retain(|(prefix, _)| !own.contains(prefix));
            let gone = port.own.iter().filter(|prefix| !own.contains(prefix));
            let gone: Vec<_> = gone.map(|prefix| (*prefix, 3)).collect();
            port.gone.extend(gone);
            port.gone.truncate(MAX_OWN);
            port.own = own;
            if !is_new {
                port.schedule.change(now, &mut self.random);
            }
        }
    }

    /// The advertisement of a port.
    fn of_port(&self, link: &Link<'_>) -> Advertisement {
        let mut one = self.template.clone();
        if self.states_mtu {
            one.mtu = Some(link.mtu as u32);
        }
        let Some(port) = self.advertisers.get(&link.port.0) else {
            return one;
        };
        if port.schedule.ceases() {
            one.lifetime = Time::ZERO;
            one.name_lifetime = Time::ZERO;
            one.routes
                .iter_mut()
                .for_each(|route| route.lifetime = Time::ZERO);
        }
        let [preferred, valid] = self.lifetimes;
        let prefix = |address, preferred, valid| Prefix {
            address,
            length: LINK_PREFIX,
            on_link: true,
            autonomous: true,
            delegated: false,
            valid,
            preferred,
        };
        let own = port.own.iter().filter(|_| self.automatic);
        one.prefixes
            .extend(own.map(|address| prefix(*address, preferred, valid)));
        let gone = port.gone.iter();
        one.prefixes
            .extend(gone.map(|(address, _)| prefix(*address, Time::ZERO, GONE_VALID)));
        one
    }

    fn send(
        &mut self,
        link: &Link<'_>,
        one: &Advertisement,
        to: ([u8; 6], Ipv6Addr),
        out: &mut Out,
    ) {
        let mut one = one;
        let fitting;
        if one.size() > advertisement::MAX_SIZE {
            // Own prefixes come without limit of the configuration's check.
            let mut cut = one.clone();
            while cut.size() > advertisement::MAX_SIZE && cut.prefixes.pop().is_some() {}
            fitting = cut;
            one = &fitting;
        }
        self.scratch.clear();
        let from = (link.interface.mac(), link_local_of(link));
        one.write(from, to, &mut self.scratch);
        let mut frame = out.frame();
        frame.extend(&self.scratch);
        out.send(link.port, frame);
        self.sent += 1;
    }

    /// Answers a solicitation by a unique prefix; drops it if there is none.
    fn answer(
        &mut self,
        now: Time,
        link: &Link<'_>,
        asker: Solicitation,
        frame: Frame,
        out: &mut Out,
    ) {
        let Some(unique) = &mut self.unique else {
            return out.done(frame);
        };
        let times = [self.lifetimes[1], self.intervals.max];
        let given = unique.give(now, link.port.0, asker, times);
        let prefix = match given {
            Ok(prefix) => prefix,
            Err(reason) => return out.drop(frame, reason),
        };
        self.changes.extend(unique.changes());
        out.done(frame);
        self.send_unique(link, prefix, asker, out);
    }

    fn send_unique(
        &mut self,
        link: &Link<'_>,
        prefix: Ipv6Addr,
        host: Solicitation,
        out: &mut Out,
    ) {
        let mut one = self.of_port(link);
        let [preferred, valid] = self.lifetimes;
        // Not on the link: hosts reach each other by the router (RFC 8273 section 4).
        one.prefixes.push(Prefix {
            address: prefix,
            length: LINK_PREFIX,
            on_link: false,
            autonomous: true,
            delegated: false,
            valid,
            preferred,
        });
        let to = match host.source.is_unspecified() {
            true => ALL_NODES,
            false => host.source,
        };
        self.send(link, &one, (host.mac, to), out);
    }
}

impl Service for Advertisements {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        if !self.ports.contains(link.port) || !is_solicitation(&frame) {
            return Some(frame);
        }
        let Some(asker) = read_solicitation(&frame) else {
            out.drop(frame, "bad router solicitation");
            return None;
        };
        self.asked += 1;
        let Some(port) = self.advertisers.get_mut(&link.port.0) else {
            return Some(frame);
        };
        if self.unique.is_some() && !port.schedule.ceases() {
            self.answer(now, link, asker, frame, out);
            return None;
        }
        port.schedule.solicit(now, &mut self.random);
        out.done(frame);
        None
    }

    fn wake(&mut self, now: Time, links: &[Link<'_>], out: &mut Out) {
        let looks = now >= self.look;
        let stops = self.stop.is_some_and(|at| at <= now);
        if looks {
            self.look = now + POLL_INTERVAL;
        }
        for link in links {
            if !self.ports.contains(link.port) {
                continue;
            }
            if looks {
                self.look_at(now, link);
            }
            let Some(port) = self.advertisers.get_mut(&link.port.0) else {
                continue;
            };
            if stops && !port.schedule.ceases() && port.schedule.next() < Time::MAX {
                port.schedule.cease(now, &mut self.random);
            }
            if port.schedule.next() > now {
                continue;
            }
            let one = self.of_port(link);
            let group = group_mac(ALL_NODES.into()).unwrap_or_default();
            self.send(link, &one, (group, ALL_NODES), out);
            let Some(port) = self.advertisers.get_mut(&link.port.0) else {
                continue;
            };
            port.schedule.sent(now, self.intervals, &mut self.random);
            port.gone.iter_mut().for_each(|(_, count)| *count -= 1);
            port.gone.retain(|(_, count)| *count > 0);
        }
        if stops {
            self.stop = None;
        }
        let Some(unique) = &mut self.unique else {
            return;
        };
        unique.expire(now);
        let mut refreshed = Vec::new();
        while let Some((port, prefix, host)) = unique.refresh(now, self.intervals.max) {
            let link = links.iter().find(|link| link.port.0 == port);
            let Some(link) = link else { continue };
            // A host that is still there keeps its prefix.
            let is_there = link.interface.neighbour(now, host.source.into()).is_some();
            if is_there {
                unique.extend(prefix, now + self.lifetimes[1]);
            }
            refreshed.push((link, prefix, host));
        }
        self.changes.extend(unique.changes());
        for (link, prefix, host) in refreshed {
            self.send_unique(link, prefix, host, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let ports = self.advertisers.values();
        let next = ports.map(|port| port.schedule.next());
        let unique = self.unique.as_ref().and_then(Unique::next_wake);
        next.chain(unique).chain(self.stop).chain([self.look]).min()
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    fn count(&self, all: &mut Statistics) {
        all.counter("advertisements", self.sent);
        all.counter("solicitations", self.asked);
        if let Some(unique) = &self.unique {
            all.counter("unique_prefixes", unique.len() as u64);
        }
    }

    fn tables(&self, _now: Time) -> Vec<Table> {
        let unique = self.unique.as_ref();
        let table = unique.map(|unique| Table {
            name: "Unique prefixes".into(),
            entries: unique.lines().take(MAX_SHOWN).collect(),
        });
        table.into_iter().collect()
    }
}

/// A route to a host's prefix.
fn route(prefix: Ipv6Addr, host: Ipv6Addr, port: u16, present: bool) -> Change {
    Change::Route {
        to: ip::address::InterfaceAddress {
            address: prefix.into(),
            prefix: LINK_PREFIX,
        },
        via: Some(host.into()),
        port: Port(port),
        present,
    }
}
