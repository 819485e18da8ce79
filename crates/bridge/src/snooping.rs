//! Snooping of IGMP and MLD (RFC 4541): packets to a group leave by the ports that have members, and by those
//! that have routers.
//!
//! A [`Snooper`] does no I/O. For each frame to a group its caller asks [`Snooper::handle_frame`] for the
//! ports, and sends the queries of [`Snooper::poll_transmit`].
//!
//! - Router ports: where a general query with a source address, or a hello of PIM, has arrived within the
//!   last 255 s, and those that are configured.
//! - Queries go everywhere; reports and leaves to router ports only, so that hosts do not suppress each
//!   other's reports (section 2.1.1 1).
//! - Packets to groups of the link's own protocols go everywhere, as do all others while no querier is known or
//!   its first query is younger than its response time, and for 10 s after a topology change.
//! - Each port has the state of RFC 3376 section 6.4: sources of version 3 are followed.
//!
//! Total cost: at most `memberships` pairs of a group and a port, of one port at most
//! `memberships_per_port`, each with at most 64 sources. A leave causes at most `robustness` queries, however
//! many leaves there are in the time between them.

mod config;
mod messages;

pub use config::{Config, PortConfig};

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use multicast::membership::Membership;
use multicast::message::{self, BadMessage, Family, Message, Query};
use multicast::querier::Querier;
use node::{ConfigError, Time};
use packet::ethernet::{Mac, ethertype};

/// Time after which a port without queries is no router port any more (`Other Querier Present Interval`).
const ROUTER_TIME: Time = Time::from_secs(255);
/// Interval at which memberships that have ended are taken out.
const SWEEP: Time = Time::from_secs(10);
/// Time for which all packets to groups are flooded after a topology change.
const FLOOD_TIME: Time = Time::from_secs(10);
const IGMP: u8 = 2;
const PIM: u8 = 103;

/// Ports for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All.
    Flood,
    /// Those of [`Snooper::ports`].
    Ports,
}

#[derive(Clone, Copy, Debug, Default)]
struct Port {
    config: PortConfig,
    router_until: [Time; 2],
    memberships: usize,
}

/// Counters of snooping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reports, leaves and records taken.
    pub reports: u64,
    /// Queries seen.
    pub queries: u64,
    /// Queries sent.
    pub sent: u64,
    /// Memberships and sources for which there was no room.
    pub refused: u64,
}

type Key = (u16, IpAddr);

/// Snooping in a switch.
#[derive(Debug)]
pub struct Snooper {
    config: Config,
    ports: Vec<Port>,
    groups: BTreeMap<Key, Vec<(u16, Membership)>>,
    memberships: usize,
    queriers: [Querier; 2],
    own: [IpAddr; 2],
    /// From when to when members are known by a querier, of each family.
    querier_from: [Time; 2],
    querier_until: [Time; 2],
    flood_until: Time,
    sweep_at: Time,
    /// General queries because the topology has changed, of each family.
    solicit: [bool; 2],
    found: Vec<u16>,
    counters: Counters,
}

fn index(family: Family) -> usize {
    usize::from(family == Family::V6)
}

impl Snooper {
    /// A snooper without members; `mac` is the address of the switch.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(config: Config, ports: &[PortConfig], mac: Mac) -> Result<Snooper, ConfigError> {
        config.queries.check()?;
        if !(1..=65_536).contains(&config.memberships) {
            return Err(ConfigError::new(
                "memberships",
                "a switch knows 1 to 65536 memberships",
            ));
        }
        let [a, b, c, d, e, f] = mac.0;
        let identifier = [a ^ 2, b, c, 0xFF, 0xFE, d, e, f];
        let link_local = 0xFE80 << 112 | u128::from(u64::from_be_bytes(identifier));
        let port = |&config| Port {
            config,
            ..Port::default()
        };
        Ok(Snooper {
            ports: ports.iter().map(port).collect(),
            groups: BTreeMap::new(),
            memberships: 0,
            queriers: Family::BOTH.map(|family| Querier::new(config.queries, family)),
            own: [config.address.into(), Ipv6Addr::from(link_local).into()],
            querier_from: [config.queries.response; 2],
            querier_until: [Time::ZERO; 2],
            flood_until: Time::ZERO,
            sweep_at: Time::MAX,
            solicit: [false; 2],
            found: Vec::with_capacity(ports.len()),
            counters: Counters::default(),
            config,
        })
    }

    /// The ports for a frame to a group that has arrived at `port`: its IP packet begins at `at`, its VLAN is
    /// `vlan`. The port of arrival may be among them.
    ///
    /// # Errors
    /// When the frame has a message of IGMP or MLD that is not valid.
    pub fn handle_frame(
        &mut self,
        now: Time,
        port: u16,
        vlan: u16,
        frame: &[u8],
        at: usize,
    ) -> Result<Verdict, BadMessage> {
        let Some((source, group, protocol)) = addresses(frame, at) else {
            return Ok(Verdict::Flood);
        };
        let family = index(Family::of(group));
        if let Some(received) = message::parse_frame(frame, at) {
            let received = received?;
            let is_query = matches!(received.message, Message::Query(_));
            self.handle_message(now, port, vlan, received);
            return Ok(match is_query || !self.knows_members(now, family) {
                true => Verdict::Flood,
                false => self.router_ports(now, family),
            });
        }
        // Unknown kinds of IGMP go everywhere (section 2.1.1 3).
        if protocol == IGMP {
            return Ok(Verdict::Flood);
        }
        if protocol == PIM && !message::is_reported(group) {
            self.ports[usize::from(port)].router_until[family] = now + ROUTER_TIME;
        }
        let may_limit = message::is_reported(group) && now >= self.flood_until;
        if !may_limit || !self.knows_members(now, family) {
            return Ok(Verdict::Flood);
        }
        let mut is_known = false;
        self.found.clear();
        if let Some(members) = self.groups.get(&(vlan, group)) {
            for (port, membership) in members {
                is_known |= membership.is_alive(now);
                if membership.wants(now, source) {
                    self.found.push(*port);
                }
            }
        }
        if !is_known && self.config.flood_unknown {
            return Ok(Verdict::Flood);
        }
        for (number, port) in (0..).zip(&self.ports) {
            let is_router = port.config.router || port.router_until[family] > now;
            if is_router && !self.found.contains(&number) {
                self.found.push(number);
            }
        }
        Ok(Verdict::Ports)
    }

    fn router_ports(&mut self, now: Time, family: usize) -> Verdict {
        self.found.clear();
        let ports = (0..).zip(&self.ports);
        let routers =
            ports.filter(|(_, port)| port.config.router || port.router_until[family] > now);
        self.found.extend(routers.map(|(number, _)| number));
        Verdict::Ports
    }

    /// Whether there is a querier, and members have had the time to answer it.
    fn knows_members(&self, now: Time, family: usize) -> bool {
        let is_own = self.config.querier && self.queriers[family].is_active(now);
        now >= self.querier_from[family] && (is_own || now < self.querier_until[family])
    }

    /// The ports of the last [`Verdict::Ports`].
    pub fn ports(&self) -> &[u16] {
        &self.found
    }

    fn sweep(&mut self, now: Time) {
        let (ports, total) = (&mut self.ports, &mut self.memberships);
        self.groups.retain(|_, members| {
            members.retain_mut(|(port, membership)| {
                let is_alive = membership.expire(now);
                if !is_alive {
                    ports[usize::from(*port)].memberships -= 1;
                    *total -= 1;
                }
                is_alive
            });
            !members.is_empty()
        });
        self.sweep_at = match self.groups.is_empty() {
            true => Time::MAX,
            false => now + SWEEP,
        };
    }

    /// The topology has changed: packets are flooded for a while, and members are asked to report (section 2.1.1 4).
    pub fn handle_topology_change(&mut self, now: Time) {
        // At most once in a second, however often the topology changes.
        let until = now + FLOOD_TIME;
        if until >= self.flood_until + Time::from_secs(1) {
            self.solicit = [true; 2];
        }
        self.flood_until = until;
    }

    /// The link of a port has gone down: its members and routers are gone.
    pub fn handle_link_down(&mut self, port: u16) {
        let Some(state) = self.ports.get_mut(usize::from(port)) else {
            return;
        };
        state.router_until = [Time::ZERO; 2];
        let keys = self
            .groups
            .iter()
            .filter(|(_, members)| members.iter().any(|(of, _)| *of == port));
        let keys: Vec<Key> = keys.map(|(key, _)| *key).collect();
        keys.into_iter()
            .for_each(|(vlan, group)| self.remove(port, vlan, group));
    }

    /// Removes expired entries.
    pub fn wake(&mut self, now: Time) {
        if self.sweep_at <= now {
            self.sweep(now);
        }
    }

    /// When [`wake`](Snooper::wake) or [`poll_transmit`](Snooper::poll_transmit) is due.
    pub fn next_wake(&self) -> Option<Time> {
        let queries = self.queriers.iter().map(Querier::next_wake);
        let queries = queries.filter(|_| self.config.querier).min();
        let next = queries.unwrap_or(Time::MAX).min(self.sweep_at);
        (next != Time::MAX).then_some(next)
    }

    /// The next query to send, and its source address; asked after each call until `None`. It leaves by the ports that
    /// [`query_leaves_by`](Snooper::query_leaves_by) names.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Query, IpAddr)> {
        for family in [0, 1] {
            if core::mem::take(&mut self.solicit[family]) {
                let queries = self.config.queries;
                let query = Query {
                    version: queries.version,
                    group: None,
                    sources: Vec::new(),
                    max_response: queries.response,
                    suppress: false,
                    robustness: queries.robustness,
                    interval: queries.interval,
                };
                // Without an address no query takes part in the election of queriers; MLD has none without.
                let is_querier = self.is_querier(now, Family::BOTH[family]);
                let source = match family {
                    _ if is_querier => self.own[family],
                    0 => Ipv4Addr::UNSPECIFIED.into(),
                    _ => continue,
                };
                self.counters.sent += 1;
                return Some((query, source));
            }
            if self.config.querier
                && let Some(query) = self.queriers[family].poll_transmit(now)
            {
                self.counters.sent += 1;
                return Some((query, self.own[family]));
            }
        }
        None
    }

    /// Whether a query leaves by a port: one for a group by the ports that have members in the VLAN.
    pub fn query_leaves_by(&self, query: &Query, vlan: u16, port: u16) -> bool {
        query.group.is_none_or(|group| {
            let members = self.groups.get(&(vlan, group)).into_iter().flatten();
            members.into_iter().any(|(of, _)| *of == port)
        })
    }

    /// Number of memberships, ended ones included until they are taken out.
    pub fn memberships(&self) -> usize {
        self.memberships
    }

    /// Counters.
    pub fn counters(&self) -> Counters {
        let asked: u64 = self.queriers.iter().map(Querier::refused).sum();
        Counters {
            refused: self.counters.refused + asked,
            ..self.counters
        }
    }

    /// One line for each group and port, and for each router port.
    pub fn entries(&self, now: Time) -> Vec<String> {
        let mut lines = Vec::new();
        for ((vlan, group), members) in &self.groups {
            for (port, membership) in members.iter().filter(|(_, of)| of.is_alive(now)) {
                let (is_exclude, sources) = membership.filter(now);
                let mode = if is_exclude { "exclude" } else { "include" };
                let mut line = format!("{group} port {port}");
                if *vlan != 0 {
                    line += &format!(" VLAN {vlan}");
                }
                if !is_exclude || !sources.is_empty() {
                    line += &format!(" {mode} {sources:?}");
                }
                lines.push(line);
            }
        }
        for (number, port) in self.ports.iter().enumerate() {
            if port.config.router || port.router_until.iter().any(|&until| until > now) {
                lines.push(format!("router port {number}"));
            }
        }
        lines
    }
}

/// Source, group and protocol of an IP packet to a group; `None` for anything else.
#[inline]
fn addresses(frame: &[u8], at: usize) -> Option<(IpAddr, IpAddr, u8)> {
    let kind = frame.get(at.checked_sub(2)?..at)?;
    let packet = &frame[at..];
    let (source, group, protocol) = match u16::from_be_bytes([kind[0], kind[1]]) {
        ethertype::IPV4 => {
            let header: &[u8; 20] = packet.first_chunk()?;
            let word = |at: usize| {
                u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
            };
            let address = |at| IpAddr::from(Ipv4Addr::from(word(at)));
            (address(12), address(16), header[9])
        }
        ethertype::IPV6 => {
            let header: &[u8; 40] = packet.first_chunk()?;
            let address =
                |at: usize| -> [u8; 16] { core::array::from_fn(|index| header[at + index]) };
            (address(8).into(), address(24).into(), header[6])
        }
        _ => return None,
    };
    group.is_multicast().then_some((source, group, protocol))
}
