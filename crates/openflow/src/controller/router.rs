//! A static router on each switch that has interfaces.
//!
//! It answers ARP and pings for its own addresses, asks for the addresses of next hops, and gives each destination an entry that
//! sets the addresses and, in 1.3, counts the TTL down (1.0 has no such action). Packets wait for an answer of ARP, a
//! few for each next hop.
//!
//! - **Parameters:** `interfaces`, a list of `switch`, `port`, `address` (`10.0.1.1/24`) and `mac`; `routes`, a list of `switch`, `to`
//!   (a prefix) and `via` (an address). `idle_timeout`, 60 s; `priority`, 10.
//! - **Counters:** `routed`; `arp_asked`, `arp_answered`; `unreachable`: packets without a route; `waiting_dropped`: packets for which
//!   there was no room while ARP was asked; `expired`: packets whose TTL was up.

use super::firewall::Prefix;
use super::{App, Handle, Headers, Verdict};
use crate::action::Action;
use crate::channel::Peer;
use crate::instruction::Instruction;
use crate::matching::Match;
use crate::message::{FlowMod, PacketIn, PacketOut};
use crate::oxm::{Field, Oxm};
use crate::port::PortNo;
use crate::version::Version;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::Time;
use packet::arp::{Arp, Operation};
use packet::checksum::update;
use packet::ethernet::{Mac, ethertype};

/// Maximum number of packets that wait for one next hop.
const WAITING: usize = 8;
/// Maximum number of next hops that are known, and of next hops that packets wait for.
const MAX_NEXT_HOPS: usize = 4096;
/// Interval between two requests for the same address.
const REQUEST_INTERVAL: Time = Time::from_secs(1);

/// An interface of the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Interface {
    /// The switch's number.
    pub switch: u64,
    pub port: u32,
    /// Its address, with the length of its network's prefix.
    pub address: Prefix,
    /// Its hardware address.
    pub mac: Mac,
}

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Route {
    /// The switch's number.
    pub switch: u64,
    /// The destinations.
    pub to: Prefix,
    /// The next hop, in the network of one of its interfaces.
    pub via: Ipv4Addr,
}

/// What the program is made from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    pub interfaces: Vec<Interface>,
    /// Routes beyond the interfaces' own networks; the longest prefix counts.
    pub routes: Vec<Route>,
    /// Seconds without a packet after which an entry goes; 0 for never.
    pub idle_timeout: u16,
    /// The priority of entries.
    pub priority: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            interfaces: Vec::new(),
            routes: Vec::new(),
            idle_timeout: 60,
            priority: 10,
        }
    }
}

/// What waits for the address of a next hop.
#[derive(Debug)]
struct Waiting {
    asked: Time,
    packets: Vec<(PortNo, Vec<u8>)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    routed: u64,
    arp_asked: u64,
    arp_answered: u64,
    unreachable: u64,
    waiting_dropped: u64,
    expired: u64,
}

/// A static router.
#[derive(Debug)]
pub struct Router {
    config: Config,
    /// Hardware addresses, by switch and address.
    neighbours: BTreeMap<(u64, [u8; 4]), Mac>,
    waiting: BTreeMap<(u64, [u8; 4]), Waiting>,
    counters: Counters,
}

impl Router {
    /// One with these interfaces and routes.
    pub fn new(config: Config) -> Router {
        Router {
            config,
            neighbours: BTreeMap::new(),
            waiting: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    fn interface_at(&self, switch: u64, port: PortNo) -> Option<Interface> {
        let mut all = self.config.interfaces.iter();
        all.find(|one| one.switch == switch && one.port == port.0)
            .copied()
    }

    /// The interface and the next hop for a destination.
    fn hop(&self, switch: u64, to: [u8; 4]) -> Option<(Interface, [u8; 4])> {
        let near = |to: [u8; 4]| {
            let all = self.config.interfaces.iter();
            let all = all.filter(|one| one.switch == switch && one.address.holds(to));
            all.max_by_key(|one| one.address.length)
        };
        if let Some(interface) = near(to) {
            return Some((*interface, to));
        }
        let routes = self.config.routes.iter();
        let routes = routes.filter(|route| route.switch == switch && route.to.holds(to));
        let via = routes.max_by_key(|route| route.to.length)?.via.octets();
        near(via).map(|interface| (*interface, via))
    }

    fn arp(
        &mut self,
        switch: Peer,
        datapath: u64,
        interface: Interface,
        packet: &PacketIn<'_>,
        handle: &mut Handle<'_>,
    ) {
        let Ok(arp) = Arp::parse(packet.data.get(14..).unwrap_or(&[])) else {
            return;
        };
        let sender = arp.sender.octets();
        let local = interface.address.holds(sender) && !arp.sender_mac.is_group();
        if local && self.neighbours.len() < MAX_NEXT_HOPS {
            self.neighbours.insert((datapath, sender), arp.sender_mac);
        }
        if arp.operation == Operation::Request && arp.target.octets() == interface.address.address {
            self.counters.arp_answered += 1;
            let mut reply = frame(arp.sender_mac, interface.mac, ethertype::ARP);
            arp.reply(interface.mac).build(&mut reply);
            emit(switch, packet.in_port(), &reply, handle);
        }
        if let Some(waiting) = self.waiting.remove(&(datapath, sender)).filter(|_| local) {
            for (in_port, data) in waiting.packets {
                self.route(switch, datapath, in_port, None, &data, handle);
            }
        }
    }

    /// Sends a packet on its way, and those after it without us.
    fn route(
        &mut self,
        switch: Peer,
        datapath: u64,
        in_port: PortNo,
        buffer: Option<u32>,
        data: &[u8],
        handle: &mut Handle<'_>,
    ) {
        let Some(headers) = Headers::read(data) else {
            return;
        };
        let Some((_, to)) = headers.ipv4 else { return };
        let Some((interface, hop)) = self.hop(datapath, to) else {
            self.counters.unreachable += 1;
            return;
        };
        if data.get(headers.payload + 8).is_none_or(|&ttl| ttl <= 1) {
            self.counters.expired += 1;
            return;
        }
        let Some(&mac) = self.neighbours.get(&(datapath, hop)) else {
            return self.wait(switch, datapath, interface, hop, in_port, data, handle);
        };
        self.counters.routed += 1;
        let wide = |mac: Mac| {
            mac.0
                .iter()
                .fold(0, |all, &byte| all << 8 | u128::from(byte))
        };
        let set_source = Action::SetField(Oxm::new(Field::EthSrc, wide(interface.mac)));
        let set_destination = Action::SetField(Oxm::new(Field::EthDst, wide(mac)));
        let port = match PortNo(interface.port) {
            port if port == in_port => PortNo::IN_PORT,
            port => port,
        };
        let output = Action::output(port);
        let with_ttl = [set_source, set_destination, Action::DecNwTtl, output];
        let without = [set_source, set_destination, output];
        let actions = match handle.version(switch) {
            Some(Version::V13) => &with_ttl[..],
            _ => &without[..],
        };
        let fields = [
            Oxm::new(Field::InPort, in_port.0.into()),
            Oxm::new(Field::EthType, ethertype::IPV4.into()),
            Oxm::new(Field::Ipv4Dst, u32::from_be_bytes(to).into()),
        ];
        let apply = [Instruction::ApplyActions(actions.into())];
        let flow = FlowMod {
            matching: Match::new(&fields[..]),
            priority: self.config.priority,
            idle_timeout: self.config.idle_timeout,
            buffer,
            instructions: (&apply[..]).into(),
            ..FlowMod::default()
        };
        // The switch may be gone meanwhile.
        let _ = handle.flow_mod(switch, &flow);
        if buffer.is_none() {
            let out = PacketOut {
                buffer: None,
                in_port,
                actions: actions.into(),
                data,
            };
            let _ = handle.packet_out(switch, &out);
        }
    }

    #[allow(clippy::too_many_arguments)] // One packet, where it came from, and where it goes.
    fn wait(
        &mut self,
        switch: Peer,
        datapath: u64,
        interface: Interface,
        hop: [u8; 4],
        in_port: PortNo,
        data: &[u8],
        handle: &mut Handle<'_>,
    ) {
        let now = handle.now();
        let known = self
            .waiting
            .get(&(datapath, hop))
            .map(|waiting| waiting.asked);
        if known.is_none() && self.waiting.len() >= MAX_NEXT_HOPS {
            self.waiting
                .retain(|_, waiting| waiting.asked + REQUEST_INTERVAL > now);
            if self.waiting.len() >= MAX_NEXT_HOPS {
                self.counters.waiting_dropped += 1;
                return;
            }
        }
        let waiting = self.waiting.entry((datapath, hop)).or_insert(Waiting {
            asked: now,
            packets: Vec::new(),
        });
        match waiting.packets.len() < WAITING {
            true => waiting.packets.push((in_port, data.into())),
            false => self.counters.waiting_dropped += 1,
        }
        if known.is_none_or(|asked| asked + REQUEST_INTERVAL <= now) {
            waiting.asked = now;
            self.counters.arp_asked += 1;
            let mut ask = frame(Mac::BROADCAST, interface.mac, ethertype::ARP);
            let own = Ipv4Addr::from(interface.address.address);
            Arp::request(interface.mac, own, Ipv4Addr::from(hop)).build(&mut ask);
            emit(switch, PortNo(interface.port), &ask, handle);
        }
    }
}

fn frame(to: Mac, from: Mac, kind: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(64);
    frame.extend_from_slice(&to.0);
    frame.extend_from_slice(&from.0);
    frame.extend_from_slice(&kind.to_be_bytes());
    frame
}

fn emit(switch: Peer, port: PortNo, data: &[u8], handle: &mut Handle<'_>) {
    let actions = [Action::output(port)];
    let out = PacketOut {
        buffer: None,
        in_port: PortNo::CONTROLLER,
        actions: (&actions[..]).into(),
        data,
    };
    // The switch may be gone meanwhile.
    let _ = handle.packet_out(switch, &out);
}

/// The reply to a ping, made of the request: addresses change places, and the type is another.
fn pong(data: &[u8], headers: &Headers, mac: Mac) -> Option<Vec<u8>> {
    let ip = headers.payload;
    let words = usize::from(*data.get(ip)? & 15) * 4;
    let icmp = ip + words;
    let request = headers.protocol == Some(1) && headers.transport == Some((8, 0));
    if !request {
        return None;
    }
    let mut reply = data.to_vec();
    reply[..6].copy_from_slice(&headers.source.0);
    reply[6..12].copy_from_slice(&mac.0);
    reply[ip + 12..ip + 16].copy_from_slice(&data[ip + 16..ip + 20]);
    reply[ip + 16..ip + 20].copy_from_slice(&data[ip + 12..ip + 16]);
    reply[icmp] = 0;
    let old = u16::from_be_bytes([*data.get(icmp + 2)?, *data.get(icmp + 3)?]);
    // Type and code were 0x0800.
    let new = update(old, 0x0800, 0);
    reply[icmp + 2..icmp + 4].copy_from_slice(&new.to_be_bytes());
    Some(reply)
}

impl App for Router {
    fn name(&self) -> &'static str {
        "router"
    }

    fn switch_down(&mut self, switch: Peer, handle: &mut Handle<'_>) {
        if let Some(info) = handle.network().switch(switch) {
            let gone = info.datapath;
            self.neighbours.retain(|(datapath, _), _| *datapath != gone);
            self.waiting.retain(|(datapath, _), _| *datapath != gone);
        }
    }

    fn packet_in(
        &mut self,
        switch: Peer,
        packet: &PacketIn<'_>,
        handle: &mut Handle<'_>,
    ) -> Verdict {
        let in_port = packet.in_port();
        let Some(at) = handle.network().attachment(switch, in_port) else {
            return Verdict::Pass;
        };
        let Some(interface) = self.interface_at(at.datapath, in_port) else {
            return Verdict::Pass;
        };
        let Some(headers) = Headers::read(packet.data) else {
            return Verdict::Done;
        };
        match headers.ethertype {
            ethertype::ARP => self.arp(switch, at.datapath, interface, packet, handle),
            ethertype::IPV4 if headers.destination == interface.mac => {
                let to = headers.ipv4.map(|(_, to)| to);
                let own =
                    |one: &Interface| one.switch == at.datapath && Some(one.address.address) == to;
                if self.config.interfaces.iter().any(own) {
                    if let Some(reply) = pong(packet.data, &headers, interface.mac) {
                        emit(switch, in_port, &reply, handle);
                    }
                } else {
                    self.route(
                        switch,
                        at.datapath,
                        in_port,
                        packet.buffer,
                        packet.data,
                        handle,
                    );
                }
            }
            _ => {}
        }
        Verdict::Done
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        let own = &self.counters;
        for (name, count) in [
            ("routed", own.routed),
            ("arp_asked", own.arp_asked),
            ("arp_answered", own.arp_answered),
            ("unreachable", own.unreachable),
            ("waiting_dropped", own.waiting_dropped),
            ("expired", own.expired),
        ] {
            visit(name, count);
        }
    }
}
