//! Topology discovery by LLDP (IEEE 802.1AB), hosts by their packets, and a tree for floods.
//!
//! Each port of each switch sends a packet that says which switch and port it is; where it comes in, a link ends. The
//! links that a tree over all switches does not need are blocked for floods and for what comes in by them, so that a
//! flood goes to every switch once. Only links that were seen in both directions are in the tree.
//!
//! A link is gone when a switch reports that the port at either end is down, or when it was not seen for `ageing`. One
//! that is overdue is asked for four times an interval, so that the loss of a single packet does no harm. When links come
//! or go the tree changes, and [`App::paths_changed`] notifies programs, so that packets take the new paths within
//! two intervals. It notifies them again until an interval has passed: packets that were on their way meanwhile teach
//! paths that are wrong by then. A port that comes up is left out of floods until it is known whether there is a link, for half an
//! interval at most. The interval must be longer than packets are on their way.
//!
//! - **Parameters:** `interval`, 1 s: between two packets of a port. `ageing`, 1.75 intervals.
//! - **Counters:** `links`, in both directions; `hosts`; `blocked`: ports; `lldp_sent`, `lldp_received`.

use super::network::{Attachment, Host, Link, MAX_HOSTS, MAX_LINKS};
use super::{App, Handle, Headers, Verdict, is_live};
use crate::action::Action;
use crate::channel::Peer;
use crate::instruction::Instruction;
use crate::matching::Match;
use crate::message::{FlowMod, PacketIn, PacketOut, PortReason, PortStatus};
use crate::oxm::{Field, Oxm};
use crate::port::PortNo;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use node::Time;

const LLDP: u16 = 0x88CC;
/// Neighbours only; bridges do not forward it.
const NEAREST: [u8; 6] = [0x01, 0x80, 0xC2, 0, 0, 0x0E];
/// What marks our own, as subtype 7 (locally assigned) of the chassis.
const MARK: &[u8; 6] = b"wire:\0";
/// The shortest time between two rounds.
const QUICKEST: Time = Time::from_ms(10);
/// Wakes in an interval: in the first of them all ports announce themselves.
const TICKS: u64 = 4;

/// What the program is made from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Between two packets of a port, at least 10 ms.
    pub interval: Time,
    /// How long a link is kept after it was seen last; `None`: 1.75 intervals.
    pub ageing: Option<Time>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            interval: Time::from_secs(1),
            ageing: None,
        }
    }
}

impl Config {
    fn tick(&self) -> Time {
        Time::from_ps(self.interval.as_ps() / TICKS)
    }

    fn ageing(&self) -> Time {
        self.ageing.unwrap_or(self.interval * 2 - self.tick())
    }
}

/// Topology discovery.
#[derive(Debug)]
pub struct Topology {
    config: Config,
    due: Option<Time>,
    /// Ticks since all ports have announced themselves.
    ticks: u64,
    /// The ends of links when these changed last, and the time until which programs are notified of the change.
    ends: BTreeSet<Attachment>,
    unrest: Option<Time>,
    /// Ports that are down.
    down: BTreeSet<Attachment>,
    /// Ports that have come up, and until when they are held.
    held: BTreeMap<Attachment, Time>,
    links: u64,
    hosts: u64,
    blocked: u64,
    sent: u64,
    received: u64,
}

impl Topology {
    /// One that knows nothing.
    pub fn new(config: Config) -> Topology {
        Topology {
            config: Config {
                interval: config.interval.max(QUICKEST),
                ..config
            },
            due: None,
            ticks: 0,
            ends: BTreeSet::new(),
            unrest: None,
            down: BTreeSet::new(),
            held: BTreeMap::new(),
            links: 0,
            hosts: 0,
            blocked: 0,
            sent: 0,
            received: 0,
        }
    }

    /// Has every live port of a switch of which this holds say who it is.
    fn announce(
        &mut self,
        switch: Peer,
        wanted: impl Fn(Attachment) -> bool,
        handle: &mut Handle<'_>,
    ) {
        let Some(info) = handle.network().switch(switch) else {
            return;
        };
        let datapath = info.datapath;
        let ports: Vec<_> = info
            .live_ports()
            .map(|port| (port.number, port.hardware.0))
            .filter(|&(port, _)| wanted(Attachment { datapath, port }))
            .collect();
        for (port, hardware) in ports {
            let packet = announcement(datapath, port, hardware, self.config.ageing());
            let actions = [Action::output(port)];
            let out = PacketOut {
                buffer: None,
                in_port: PortNo::CONTROLLER,
                actions: (&actions[..]).into(),
                data: &packet,
            };
            if handle.packet_out(switch, &out).is_ok() {
                self.sent += 1;
            }
        }
    }

    /// Has the ports at the beginning of overdue links say who they are.
    fn ask_again(&mut self, handle: &mut Handle<'_>) {
        let (now, late) = (handle.now(), self.config.interval + self.config.tick());
        let links = handle.network().links.iter();
        let overdue: BTreeSet<Attachment> = links
            .filter(|(_, link)| link.last + late <= now)
            .map(|(from, _)| *from)
            .collect();
        let switches: BTreeSet<u64> = overdue.iter().map(|at| at.datapath).collect();
        for datapath in switches {
            if let Some(switch) = handle.network().find(datapath) {
                self.announce(switch, |at| overdue.contains(&at), handle);
            }
        }
    }

    fn seen(&mut self, from: Attachment, to: Attachment, handle: &mut Handle<'_>) {
        self.received += 1;
        let now = handle.now();
        let network = handle.network_mut();
        // Who sends what never was there has no say.
        let known = network
            .find(from.datapath)
            .and_then(|peer| network.switch(peer)?.port(from.port));
        if known.is_none() {
            return;
        }
        let room = network.links.len() < MAX_LINKS;
        let old = network.links.get(&from).copied();
        match old {
            Some(link) if link.to == to => {
                network.links.insert(from, Link { last: now, ..link });
            }
            None if !room => {}
            _ => {
                let (first, last) = (now, now);
                network.links.insert(from, Link { to, first, last });
                self.changed(handle);
            }
        }
    }

    /// Where there is a link there is no host, and the tree is another.
    fn changed(&mut self, handle: &mut Handle<'_>) {
        let now = handle.now();
        let network = handle.network_mut();
        let mut ends: BTreeSet<Attachment> = BTreeSet::new();
        for (from, link) in &network.links {
            ends.extend([*from, link.to]);
        }
        network.hosts.retain(|_, host| !ends.contains(&host.at));
        let open = tree(&network.links);
        network.blocked = ends.difference(&open).copied().collect();
        network.rerouted.extend(self.ends.union(&ends));
        // From here on the tree says what becomes of them.
        self.held.retain(|at, _| !ends.contains(at));
        network.held = self.held.keys().copied().collect();
        self.ends = ends;
        self.unrest = Some(now + self.config.interval);
        self.links = network.links.len() as u64;
        self.blocked = network.blocked.len() as u64;
        self.hosts = network.hosts.len() as u64;
    }

    fn host(&mut self, switch: Peer, packet: &PacketIn<'_>, handle: &mut Handle<'_>) {
        let Some(headers) = Headers::read(packet.data) else {
            return;
        };
        let now = handle.now();
        let network = handle.network_mut();
        let Some(at) = network.attachment(switch, packet.in_port()) else {
            return;
        };
        let between = network.links.contains_key(&at);
        if headers.source.is_group() || between || !at.port.is_physical() {
            return;
        }
        let address = headers
            .ipv4
            .map(|(from, _)| from)
            .filter(|from| *from != [0; 4] && headers.ethertype == 0x0806);
        let room = network.hosts.len() < MAX_HOSTS;
        let old = network.hosts.get(&headers.source).copied();
        if old.is_some() || room {
            let address = address.or(old.and_then(|host| host.address));
            let host = Host {
                at,
                address,
                last: now,
            };
            network.hosts.insert(headers.source, host);
        }
        self.hosts = network.hosts.len() as u64;
    }
}

/// The ends of the links of a tree over all switches: breadth first from the lowest number, links in order.
fn tree(links: &BTreeMap<Attachment, Link>) -> BTreeSet<Attachment> {
    let mut by_switch: BTreeMap<u64, Vec<(Attachment, Attachment)>> = BTreeMap::new();
    // By a link that carries packets one way only there is no conversation.
    let returns = |from: Attachment, link: &Link| links.get(&link.to).is_some_and(|l| l.to == from);
    for (from, link) in links.iter().filter(|(from, link)| returns(**from, link)) {
        by_switch
            .entry(from.datapath)
            .or_default()
            .push((*from, link.to));
    }
    let (mut open, mut reached) = (BTreeSet::new(), BTreeSet::new());
    for &root in by_switch.keys() {
        if !reached.insert(root) {
            continue;
        }
        let mut next = VecDeque::from([root]);
        while let Some(switch) = next.pop_front() {
            for &(from, to) in by_switch.get(&switch).into_iter().flatten() {
                if reached.insert(to.datapath) {
                    open.extend([from, to]);
                    next.push_back(to.datapath);
                }
            }
        }
    }
    open
}

fn tlv(kind: u16, value: &[&[u8]], out: &mut Vec<u8>) {
    let length: usize = value.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&(kind << 9 | length as u16).to_be_bytes());
    value.iter().for_each(|part| out.extend_from_slice(part));
}

fn announcement(datapath: u64, port: PortNo, hardware: [u8; 6], ageing: Time) -> Vec<u8> {
    let mut packet = Vec::with_capacity(64);
    packet.extend_from_slice(&NEAREST);
    packet.extend_from_slice(&hardware);
    packet.extend_from_slice(&LLDP.to_be_bytes());
    let seconds = (ageing.as_ns().div_ceil(1_000_000_000)).min(65_535) as u16;
    tlv(1, &[&[7], MARK, &datapath.to_be_bytes()], &mut packet);
    tlv(2, &[&[7], &port.0.to_be_bytes()], &mut packet);
    tlv(3, &[&seconds.to_be_bytes()], &mut packet);
    tlv(0, &[], &mut packet);
    packet.resize(packet.len().max(60), 0);
    packet
}

/// Which port of which switch has sent this, if it is ours.
fn announced(data: &[u8]) -> Option<Attachment> {
    let mut rest = data.get(14..)?;
    let mut next = |wanted: u16| {
        let (head, behind) = rest.split_first_chunk::<2>()?;
        let head = u16::from_be_bytes(*head);
        let (value, behind) = behind.split_at_checked(usize::from(head & 0x1ff))?;
        rest = behind;
        (head >> 9 == wanted).then_some(value)
    };
    let chassis = next(1)?.strip_prefix(&[7])?.strip_prefix(MARK)?;
    let datapath = u64::from_be_bytes(chassis.try_into().ok()?);
    let port = next(2)?.strip_prefix(&[7])?;
    let port = PortNo(u32::from_be_bytes(port.try_into().ok()?));
    Some(Attachment { datapath, port })
}

impl App for Topology {
    fn name(&self) -> &'static str {
        "topology"
    }

    fn switch_up(&mut self, switch: Peer, handle: &mut Handle<'_>) {
        let fields = [Oxm::new(Field::EthType, LLDP.into())];
        let actions = [Action::output(PortNo::CONTROLLER)];
        let apply = [Instruction::ApplyActions((&actions[..]).into())];
        let flow = FlowMod {
            matching: Match::new(&fields[..]),
            priority: u16::MAX,
            instructions: (&apply[..]).into(),
            ..FlowMod::default()
        };
        // The switch may be gone meanwhile.
        let _ = handle.flow_mod(switch, &flow);
        self.announce(switch, |_| true, handle);
        if self.due.is_none() {
            self.due = Some(handle.now() + self.config.tick());
            self.ticks = 0;
        }
    }

    fn switch_down(&mut self, switch: Peer, handle: &mut Handle<'_>) {
        let Some(info) = handle.network().switch(switch) else {
            return;
        };
        let datapath = info.datapath;
        let network = handle.network_mut();
        network
            .links
            .retain(|from, link| from.datapath != datapath && link.to.datapath != datapath);
        network.hosts.retain(|_, host| host.at.datapath != datapath);
        self.down.retain(|at| at.datapath != datapath);
        self.held.retain(|at, _| at.datapath != datapath);
        self.changed(handle);
    }

    fn port_status(&mut self, switch: Peer, status: &PortStatus, handle: &mut Handle<'_>) {
        let network = handle.network_mut();
        let Some(at) = network.attachment(switch, status.port.number) else {
            return;
        };
        if !is_live(&status.port) || status.reason == PortReason::Delete {
            network
                .links
                .retain(|from, link| *from != at && link.to != at);
            network.hosts.retain(|_, host| host.at != at);
            self.held.remove(&at);
            match status.reason {
                PortReason::Delete => self.down.remove(&at),
                PortReason::Add | PortReason::Modify => self.down.insert(at),
            };
            self.changed(handle);
        } else if self.down.remove(&at) || status.reason == PortReason::Add {
            let until = handle.now() + self.config.tick() * 2;
            self.held.insert(at, until);
            handle.network_mut().held.insert(at);
            self.announce(switch, |port| port == at, handle);
        }
    }

    fn packet_in(
        &mut self,
        switch: Peer,
        packet: &PacketIn<'_>,
        handle: &mut Handle<'_>,
    ) -> Verdict {
        if packet.data.get(12..14) != Some(&LLDP.to_be_bytes()) {
            self.host(switch, packet, handle);
            return Verdict::Pass;
        }
        let to = handle.network().attachment(switch, packet.in_port());
        if let (Some(from), Some(to)) = (announced(packet.data), to)
            && from != to
        {
            self.seen(from, to, handle);
        }
        Verdict::Done
    }

    fn next_wake(&self) -> Option<Time> {
        self.due
    }

    fn wake(&mut self, handle: &mut Handle<'_>) {
        let now = handle.now();
        let ageing = self.config.ageing();
        let network = handle.network_mut();
        let before = network.links.len();
        network.links.retain(|_, link| link.last + ageing > now);
        let after = network.links.len();
        if after != before {
            self.changed(handle);
        } else if self.unrest.is_some_and(|until| now <= until) {
            network.rerouted.extend(&self.ends);
        }
        if !self.held.is_empty() {
            self.held.retain(|_, until| *until > now);
            handle.network_mut().held = self.held.keys().copied().collect();
        }
        self.ticks = (self.ticks + 1) % TICKS;
        let switches: Vec<Peer> = handle.network().switches().map(|info| info.peer).collect();
        match self.ticks {
            0 => switches
                .iter()
                .for_each(|&switch| self.announce(switch, |_| true, handle)),
            _ => self.ask_again(handle),
        }
        self.due = (!switches.is_empty()).then(|| now + self.config.tick());
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        for (name, count) in [
            ("links", self.links),
            ("hosts", self.hosts),
            ("blocked", self.blocked),
            ("lldp_sent", self.sent),
            ("lldp_received", self.received),
        ] {
            visit(name, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(datapath: u64, port: u32) -> Attachment {
        let port = PortNo(port);
        Attachment { datapath, port }
    }

    #[test]
    fn what_is_announced_is_read() {
        let packet = announcement(
            0xAB00_0000_0000_0001,
            PortNo(513),
            [2; 6],
            Time::from_ms(3500),
        );
        assert_eq!(announced(&packet), Some(at(0xAB00_0000_0000_0001, 513)));
        for length in 0..40 {
            // No panic, and nothing made up.
            assert_eq!(announced(&packet[..length.min(36)]), None);
        }
    }

    #[test]
    fn a_ring_is_opened_at_one_link_and_only_there() {
        let link = |to| Link {
            to,
            first: Time::ZERO,
            last: Time::ZERO,
        };
        let mut links = BTreeMap::new();
        for (from, to) in [
            (at(1, 1), at(2, 1)),
            (at(2, 2), at(3, 1)),
            (at(3, 2), at(1, 2)),
        ] {
            links.insert(from, link(to));
            links.insert(to, link(from));
        }
        let open = tree(&links);
        assert_eq!(open, [at(1, 1), at(1, 2), at(2, 1), at(3, 2)].into());
        // Two links between the same switches are a ring too.
        let mut twice = BTreeMap::new();
        for port in [1, 2] {
            twice.insert(at(1, port), link(at(2, port)));
            twice.insert(at(2, port), link(at(1, port)));
        }
        assert_eq!(tree(&twice).len(), 2);
        // A connection that carries packets one way only is not a link.
        twice.remove(&at(1, 1));
        assert_eq!(tree(&twice), [at(1, 2), at(2, 2)].into());
    }
}
