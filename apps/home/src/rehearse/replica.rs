//! A switch and the control program of a home in simulated time, with a router and a DNS server that knows no names.

use super::Past;
use crate::flows::FlowKey;
use crate::frame;
use crate::gateway::Settings;
use crate::home::{Home, Shared};
use crate::networks::Networks;
use crate::node::HomeNode;
use crate::plan::Plan;
use crate::record::NoRecord;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use dhcp::datagram;
use node::{Frame, Node, Out, Port, Time};
use openflow::switch::{Config, Switch};
use packet::arp::Arp;
use packet::checksum::checksum;
use packet::ethernet::{Mac, ethertype};
use packet::ipv4::protocol;
use std::collections::{BTreeMap, BTreeSet};

/// Port of the switch that leads to the router.
const UPLINK: u32 = 1;
const ROUTER: Mac = Mac([2, 0, 0, 0, 0xFF, 0xFF]);
/// Time in which the switch connects.
const CONNECT_TIME: Time = Time::from_secs(2);
/// Address that stands for the Internet in a row about all flows of a device (RFC 5737, RFC 3849).
const SOMEWHERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SOMEWHERE6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 1);
/// DNS server of the replica, when the router has none.
const SERVER: SocketAddrV4 = SocketAddrV4::new(SOMEWHERE, 53);

/// Outcome of a flow's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It left the switch at the right port.
    Passed,
    /// It did not, or a device at its ends is gone.
    Dropped,
    /// It depends on the answer to a reverse lookup, or on single flows that are not recorded.
    Unknown,
}

/// An end of a flow.
struct End {
    mac: Mac,
    port: u32,
    /// Whether it may use the network, and its flows are judged by name.
    is_restricted: bool,
}

pub(super) struct Replica {
    now: Time,
    home: Shared,
    gateway: Mac,
    plan: Plan,
    networks: Networks,
    ports: u16,
    switch: Switch,
    program: HomeNode,
    outs: [Out; 2],
    /// Frames that left the switch since the last packet: port and bytes.
    sent: Vec<(u32, Vec<u8>)>,
    /// Whether the program has looked a name up since the last packet.
    has_asked: bool,
    /// Addresses with names that were looked up.
    unknown: BTreeSet<IpAddr>,
}

impl Replica {
    pub(super) fn new(mut home: Home, settings: &Settings, now: Time) -> Replica {
        home.freeze();
        // Each port of a device gets a number after the uplink; a device without a port gets one of its own.
        let mut ports: BTreeMap<Option<u32>, u32> = BTreeMap::new();
        let mut last = UPLINK;
        let macs: Vec<Mac> = home.devices().map(|device| device.mac).collect();
        for mac in macs {
            let Some(device) = home.device_mut(mac) else {
                continue;
            };
            let number = match device.port {
                Some(_) => *ports.entry(device.port).or_insert_with(|| {
                    last += 1;
                    last
                }),
                None => {
                    last += 1;
                    last
                }
            };
            device.authentication.move_to(device.port, number);
            device.port = Some(number);
        }
        let count = u16::try_from(last).unwrap_or(u16::MAX);
        let config = Config {
            ports: count,
            ..Config::default()
        };
        let dns = match settings.dns.is_empty() {
            true => vec![SERVER.into()],
            false => settings.dns.clone(),
        };
        let settings = Settings {
            uplink: UPLINK,
            authenticator: None,
            dns,
            poll: Time::ZERO,
            seed: 0,
            ..settings.clone()
        };
        let (plan, networks) = (home.plan, home.networks);
        let gateway = settings.mac;
        let home = home.shared();
        let program = HomeNode::new(home.clone(), settings, Box::new(NoRecord), Vec::new());
        let mut replica = Replica {
            now,
            home,
            gateway,
            plan,
            networks,
            ports: count,
            switch: Switch::new(config).unwrap_or_else(|error| unreachable!("{error}")),
            program,
            outs: Default::default(),
            sent: Vec::new(),
            has_asked: false,
            unknown: BTreeSet::new(),
        };
        replica.run(now + CONNECT_TIME);
        replica
    }

    /// Sends the first packet of each flow, with the distances in time between them.
    pub(super) fn replay(mut self, flows: &[Past]) -> Vec<Fate> {
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.sort_by_key(|index| flows[*index].first);
        let zero = order.first().map_or(0, |index| flows[*index].first);
        let start = self.now;
        let mut fates = vec![Fate::Dropped; flows.len()];
        for index in order {
            let past = &flows[index];
            self.run(start + Time::from_ns(past.first - zero));
            fates[index] = self.send(past);
        }
        fates
    }

    fn send(&mut self, past: &Past) -> Fate {
        // A device at one end is gone.
        let (Some(from), Some(to)) = (self.end(past.ends.0), self.end(past.ends.1)) else {
            return Fate::Dropped;
        };
        let is_outside = past.ends.0.is_none() || past.ends.1.is_none();
        if past.key.protocol == 0 && is_outside && (from.is_restricted || to.is_restricted) {
            return Fate::Unknown;
        }
        let key = self.example(&past.key);
        self.sent.clear();
        self.has_asked = false;
        let frame = packet((from.mac, self.gateway), &key);
        let frames = &mut vec![Frame::new(&frame)];
        let port = Port(from.port as u16 - 1);
        self.switch
            .frames(self.now, port, frames, &mut self.outs[0]);
        self.settle();
        let other = if past.ends.0.is_some() {
            key.destination
        } else {
            key.source
        };
        if self.has_asked {
            self.unknown.insert(other);
        }
        let ends = [key.source, key.destination];
        let has_left = self
            .sent
            .iter()
            .any(|(port, frame)| *port == to.port && ends_of(frame) == Some(ends));
        match has_left {
            _ if self.unknown.contains(&other) && (self.has_asked || has_left) => Fate::Unknown,
            true => Fate::Passed,
            false => Fate::Dropped,
        }
    }

    /// An end of a flow: a device, or the router for addresses outside.
    fn end(&self, mac: Option<Mac>) -> Option<End> {
        let Some(mac) = mac else {
            return Some(End {
                mac: ROUTER,
                port: UPLINK,
                is_restricted: false,
            });
        };
        let home = self.home.lock();
        let device = home.device(mac)?;
        Some(End {
            mac,
            port: device.port?,
            is_restricted: device.is_admitted() && device.domains.restrict(),
        })
    }

    /// A flow that stands for a row about all flows of a device; any other flow as it is.
    fn example(&self, key: &FlowKey) -> FlowKey {
        if key.protocol != 0 {
            return *key;
        }
        let end = |address: IpAddr| match address {
            IpAddr::V4(address) if address.is_unspecified() => SOMEWHERE.into(),
            IpAddr::V6(address) if address.is_unspecified() => SOMEWHERE6.into(),
            // The first address of a device's network stands for all of them.
            IpAddr::V6(address) => {
                let slot = self.networks.slot(address);
                let network = self.networks.of(address);
                let own = slot.and_then(|slot| network?.address_of(slot));
                own.unwrap_or(address).into()
            }
            IpAddr::V4(_) => address,
        };
        FlowKey {
            protocol: protocol::UDP,
            source: end(key.source),
            destination: end(key.destination),
            ports: Some((49_152, 443)),
        }
    }

    fn run(&mut self, until: Time) {
        self.settle();
        loop {
            let wakes = [self.switch.next_wake(), self.program.next_wake()];
            let Some(next) = wakes.into_iter().flatten().min().filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(next);
            let due = |at: Option<Time>| at.is_some_and(|at| at <= self.now);
            if due(wakes[0]) {
                self.switch.wake(self.now, &mut self.outs[0]);
            }
            if due(wakes[1]) {
                self.program.wake(self.now, &mut self.outs[1]);
            }
            self.settle();
        }
        self.now = self.now.max(until);
    }

    /// Delivers frames between switch, program and router until none is left.
    fn settle(&mut self) {
        loop {
            let from_switch: Vec<_> = self.outs[0].sends().collect();
            let from_program: Vec<_> = self.outs[1].sends().collect();
            if from_switch.is_empty() && from_program.is_empty() {
                return;
            }
            for sent in from_switch {
                if sent.port.0 < self.ports {
                    self.leave(u32::from(sent.port.0) + 1, &sent.frame);
                } else {
                    let frames = &mut vec![sent.frame];
                    self.program
                        .frames(self.now, Port(0), frames, &mut self.outs[1]);
                }
            }
            for sent in from_program {
                let (port, frames) = (Port(self.ports), &mut vec![sent.frame]);
                self.switch
                    .frames(self.now, port, frames, &mut self.outs[0]);
            }
        }
    }

    /// Takes a frame that leaves the switch. The router answers ARP and queries.
    fn leave(&mut self, port: u32, frame: &[u8]) {
        let answer = match port {
            UPLINK => self.arp(frame).or_else(|| self.no_name(frame)),
            _ => None,
        };
        match answer {
            Some(answer) => {
                let frames = &mut vec![Frame::new(&answer)];
                let port = Port(UPLINK as u16 - 1);
                self.switch
                    .frames(self.now, port, frames, &mut self.outs[0]);
            }
            None => self.sent.push((port, frame.to_vec())),
        }
    }

    fn arp(&self, frame: &[u8]) -> Option<Vec<u8>> {
        if frame.get(12..frame::IP)? != ethertype::ARP.to_be_bytes() {
            return None;
        }
        let request = Arp::parse(&frame[frame::IP..]).ok()?;
        let is_router = request.target == self.plan.gateway(0);
        is_router.then(|| frame::arp(self.gateway, ROUTER, &request.reply(ROUTER)))
    }

    /// The answer to a query of the program itself: there is no such name.
    fn no_name(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        let query = datagram::read(frame, 53)?;
        if query.source.ip() != IpAddr::V4(self.plan.device(0)) {
            return None;
        }
        self.has_asked = true;
        let mut reply = query.payload.to_vec();
        let flags = reply.get_mut(2..4)?;
        flags.copy_from_slice(&[0x81, 0x83]);
        let (from, to): (SocketAddr, SocketAddr) = (query.destination, query.source);
        let macs = (ROUTER, self.gateway);
        Some(
            frame::Frames::default()
                .datagram(macs, from, to, &reply)
                .to_vec(),
        )
    }
}

/// Source and destination of an IP packet.
fn ends_of(frame: &[u8]) -> Option<[IpAddr; 2]> {
    let ip = frame.get(frame::IP..)?;
    Some(match ip.first()? >> 4 {
        4 => {
            let octets = ip.get(12..20)?;
            [0, 4].map(|at| {
                IpAddr::from([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
            })
        }
        _ => {
            let octets = ip.get(8..40)?;
            let half = |at: usize| <[u8; 16]>::try_from(&octets[at..at + 16]).ok();
            [half(0)?.into(), half(16)?.into()]
        }
    })
}

/// A packet of a flow, with the MAC addresses of its sender and of the gateway.
fn packet((from, to): (Mac, Mac), key: &FlowKey) -> Vec<u8> {
    let (first, second) = key.ports.unwrap_or_default();
    let mut upper = match key.protocol {
        protocol::ICMP | protocol::ICMPV6 => vec![first as u8, second as u8, 0, 0],
        _ => [first.to_be_bytes(), second.to_be_bytes()].concat(),
    };
    // TCP has the longest header.
    upper.resize(20, 0);
    let mut frame = [to.0, from.0].concat();
    match (key.source, key.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            frame.extend(ethertype::IPV4.to_be_bytes());
            // Without ports it is a later fragment, if the protocol has ports.
            let has_ports = matches!(key.protocol, protocol::TCP | protocol::UDP | protocol::ICMP);
            let fragment = u8::from(has_ports && key.ports.is_none());
            frame.extend([0x45, 0, 0, 40, 0, 0, 0, fragment, 64, key.protocol, 0, 0]);
            frame.extend(source.octets());
            frame.extend(destination.octets());
            let sum = checksum(&frame[frame::IP..]);
            frame[frame::IP + 10..frame::IP + 12].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            frame.extend(ethertype::IPV6.to_be_bytes());
            let is_fragment = key.protocol == protocol::FRAGMENT;
            if is_fragment {
                upper = [&[protocol::UDP, 0, 0, 8, 0, 0, 0, 1][..], &upper].concat();
            }
            frame.extend([0x60, 0, 0, 0, 0, upper.len() as u8, key.protocol, 64]);
            frame.extend(source.octets());
            frame.extend(destination.octets());
        }
        _ => {}
    }
    frame.extend(upper);
    frame
}
