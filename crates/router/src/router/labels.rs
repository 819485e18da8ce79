//! Labelled packets (RFC 3031, RFC 3032), with the TTLs of RFC 3443: uniform tunnels where the router propagates TTLs, pipes where it
//! does not.
//!
//! Labels are followed whatever is below them, as by Linux; the last of them is popped from IP packets alone. Errors about an IP
//! packet show the stack with which it arrived (RFC 4950), and follow the path of the label where the router has no route to the
//! sender (RFC 3032 section 2.3.1).

use super::config::{Config, resolve_hops};
use super::multipath::choose;
use super::{Router, Transit, fragment, reason, v4};
use crate::label_route::LabelAction;
use crate::mpls::Stack;
use crate::route::Hop;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;
use ip::extended::add_labels;
use ip::header::ETHERNET;
use ip::icmp::Error;
use node::{ConfigError, Frame, Out, Time, When};
use packet::ethernet::ethertype;
use packet::mpls::Label;

/// Labels that stand for no label, before an IPv4 and an IPv6 packet (RFC 3032 section 2.1).
const EXPLICIT_NULL: [u32; 2] = [0, 2];
/// TTL of labels that do not have that of their packet.
const FULL_TTL: u8 = 255;

/// Bytes of an IP packet up to its TTL and checksum.
const WITH_TTL: usize = 12;

/// The packet below the labels of a frame.
#[derive(Clone, Copy, Debug)]
struct Below {
    /// Port of arrival.
    from: u16,
    vrf: usize,
    /// `None`: no whole IP packet.
    packet: Option<Transit>,
}

/// Effect of a label.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Forward(Vec<Hop>),
    /// The packet below is looked up in a VRF.
    Local(usize),
}

/// The routes of labels.
#[derive(Debug)]
pub(super) struct Labels {
    pub routes: BTreeMap<u32, Action>,
    /// Whether the TTLs of packets and of their labels are one (`ip_ttl_propagate`).
    pub propagates: bool,
}

/// Routes of labels, whose hops all name their ports; `vrfs` are the names of the VRFs.
pub(super) fn labels(config: &Config, vrfs: &[Option<String>]) -> Result<Labels, ConfigError> {
    let mut routes = BTreeMap::new();
    for route in &config.mpls {
        let error = |reason| ConfigError::new("mpls", format!("`{route}`: {reason}"));
        let action = match route.action.clone() {
            LabelAction::Local(vrf) => {
                let place = vrfs.iter().position(|known| *known == vrf);
                let no_vrf = || error(String::from("no port is in this VRF"));
                Action::Local(place.ok_or_else(no_vrf)?)
            }
            LabelAction::Forward(mut hops) => {
                resolve_hops(config, &None, &mut hops).map_err(error)?;
                Action::Forward(hops)
            }
        };
        if routes.insert(route.label, action).is_some() {
            return Err(error(String::from("the label has two routes")));
        }
    }
    Ok(Labels {
        routes,
        propagates: config.ttl_propagate,
    })
}

impl Router {
    /// Takes a frame with labels.
    pub(super) fn labelled(&mut self, now: Time, from: u16, mut frame: Frame, out: &mut Out) {
        let port = &self.ports[usize::from(from)];
        if !port.mpls {
            return out.drop(frame, reason::LABELS_REFUSED);
        }
        if frame[0] & 1 == 1 {
            return out.drop(frame, reason::GROUP_FRAME);
        }
        let vrf = port.vrf;
        let Some(stack) = Stack::read(&frame[ETHERNET..]) else {
            return out.drop(frame, reason::BAD_LABELS);
        };
        frame.remove(ETHERNET, stack.bytes());
        let kind = match version(&frame) {
            6 => ethertype::IPV6,
            _ => ethertype::IPV4,
        };
        frame[12..14].copy_from_slice(&kind.to_be_bytes());
        let packet = Transit::read(&frame, from, vrf);
        self.switch(now, Below { from, vrf, packet }, stack, frame, out);
    }

    /// Follows the labels of a packet, which are in `stack` and not in the frame.
    fn switch(&mut self, now: Time, below: Below, arrived: Stack, mut frame: Frame, out: &mut Out) {
        let mut stack = arrived;
        let mut vrf = below.vrf;
        let mut last = None;
        while let Some(top) = stack.pop() {
            let hop = match self.labels.routes.get(&top.label) {
                _ if EXPLICIT_NULL.contains(&top.label) => None,
                None => return out.drop(frame, reason::NO_LABEL),
                Some(Action::Local(table)) => {
                    vrf = *table;
                    None
                }
                Some(Action::Forward(hops)) => {
                    let (multipath, seed) = (self.config.multipath, self.config.seed);
                    Some(choose(multipath, seed, &mut self.turn, hops, &frame))
                }
            };
            if top.ttl <= 1 {
                let failure = (Error::HopLimit, reason::HOP_LIMIT);
                let below = Below { vrf, ..below };
                return self.fail_labelled(now, &below, failure, &arrived, frame, out);
            }
            if let Some(hop) = hop {
                let after = self.replace(top, hop, stack, &mut frame);
                return self.forward_labelled(now, &below, hop, [&arrived, &after], frame, out);
            }
            // The next header counts this hop.
            self.carry_ttl(top.ttl, &mut stack, &mut frame);
            last = Some(top.label);
        }
        let is_v4 = below.packet.map(|packet| packet.source.is_ipv4());
        let null = EXPLICIT_NULL.iter().position(|null| last == Some(*null));
        if null
            .zip(is_v4)
            .is_some_and(|(null, is_v4)| (null == 0) != is_v4)
        {
            return out.drop(frame, reason::NOT_IP);
        }
        self.redirects.is_labelled = true;
        match below.packet.map(|packet| packet.source) {
            Some(IpAddr::V4(_)) => self.v4(now, below.from, vrf, frame, out),
            Some(IpAddr::V6(_)) => self.v6(now, below.from, vrf, frame, out),
            None if matches!(version(&frame), 4 | 6) => out.drop(frame, reason::BAD_HEADER),
            None => out.drop(frame, reason::NOT_IP),
        }
        self.redirects.is_labelled = false;
    }

    /// The stack with the labels of a hop in the place of the top entry.
    fn replace(&self, top: Label, hop: Hop, mut stack: Stack, frame: &mut Frame) -> Stack {
        match hop.labels.is_empty() {
            true => self.carry_ttl(top.ttl - 1, &mut stack, frame),
            false => hop.labels.push(&mut stack, top.class, top.ttl - 1),
        }
        stack
    }

    /// Copies the TTL of a popped label to the next label or the packet, if the router propagates TTLs. One that is lower stays: a label
    /// that was pushed elsewhere need not have the packet's TTL.
    fn carry_ttl(&self, ttl: u8, stack: &mut Stack, frame: &mut Frame) {
        if !self.labels.propagates {
            return;
        }
        match stack.top() {
            Some(next) => next.ttl = next.ttl.min(ttl),
            None => lower_hops(frame, ttl),
        }
    }

    /// Sends a packet on whose stack was the first of two, and is the second now.
    fn forward_labelled(
        &mut self,
        now: Time,
        below: &Below,
        hop: Hop,
        [arrived, stack]: [&Stack; 2],
        frame: Frame,
        out: &mut Out,
    ) {
        if stack.bytes() == 0 && !has_ttl(&frame) {
            return out.drop(frame, reason::NOT_IP);
        }
        let mtu = self.ports[usize::from(hop.port.unwrap_or_default())].mtu - stack.bytes();
        self.counters.labelled += 1;
        if frame.len() - ETHERNET <= mtu {
            return self.send_labelled(now, hop, stack, frame, out);
        }
        if below.packet.is_none_or(|packet| packet.whole) {
            let failure = (Error::TooBig(mtu as u32), reason::TOO_BIG);
            return self.fail_labelled(now, below, failure, arrived, frame, out);
        }
        self.counters.fragmented += 1;
        fragment::cut(frame, mtu, out, |frame, out| {
            self.send_labelled(now, hop, stack, frame, out);
        });
    }

    /// Sends a packet to a hop with labels.
    fn send_labelled(
        &mut self,
        now: Time,
        hop: Hop,
        stack: &Stack,
        mut frame: Frame,
        out: &mut Out,
    ) {
        let Some(via) = hop.via else {
            return out.drop(frame, reason::NO_ROUTE);
        };
        write_stack(stack, &mut frame);
        let port = &mut self.ports[usize::from(hop.port.unwrap_or_default())];
        port.interface
            .send_to_neighbour(now, via, When::Now, frame, out);
    }

    /// As [`fail`](Router::fail), for a packet that arrived with labels. Others than IP packets have no sender.
    fn fail_labelled(
        &mut self,
        now: Time,
        below: &Below,
        (error, why): (Error, &'static str),
        arrived: &Stack,
        frame: Frame,
        out: &mut Out,
    ) {
        let Some(packet) = below.packet else {
            return out.drop(frame, why);
        };
        let transit = &Transit {
            vrf: below.vrf,
            ..packet
        };
        let mut report = out.copy(&frame);
        out.drop(frame, why);
        let hop = self.hop(&self.back(transit), &report);
        let same = |own: &IpAddr| own.is_ipv4() == transit.source.is_ipv4();
        let arrival = &self.ports[usize::from(transit.from)].interface;
        let near = || {
            arrival
                .addresses()
                .map(|own| own.network.address)
                .find(same)
        };
        // Traceroute shows the port of arrival.
        let from = near().or_else(|| hop.and_then(|hop| self.source(transit, hop)));
        let written = from.is_some_and(|from| self.write(now, transit, error, from, &mut report));
        if !written {
            return out.done(report);
        }
        if error.is_limited() && !self.limit.allows(now, transit.source) {
            return out.drop(report, reason::LIMIT);
        }
        // Packet too big of IPv6 has no room for the length of its quote (RFC 4884 section 4).
        if transit.source.is_ipv4() || !matches!(error, Error::TooBig(_)) {
            add_labels(&mut report, arrived.entries());
        }
        self.counters.errors += 1;
        if let Some(hop) = hop {
            return self.transmit(now, hop, transit.source, None, report, out);
        }
        let top = arrived.entries().first().map_or(0, |top| top.label);
        let onwards = matches!(self.labels.routes.get(&top), Some(Action::Forward(_)));
        match Transit::read(&report, transit.from, transit.vrf).filter(|_| onwards) {
            Some(transit) => {
                let mut stack = *arrived;
                stack.set_ttl(FULL_TTL);
                let below = Below {
                    packet: Some(transit),
                    ..*below
                };
                self.switch(now, below, stack, report, out);
            }
            None => out.drop(report, reason::NO_ROUTE),
        }
    }

    /// Gives a packet the labels of its next hop.
    pub(super) fn push_labels(&self, hop: Hop, frame: &mut Frame) {
        if hop.labels.is_empty() {
            return;
        }
        let hops = match frame[ETHERNET] >> 4 {
            4 => frame[ETHERNET + 8],
            _ => frame[ETHERNET + 7],
        };
        let ttl = if self.labels.propagates {
            hops
        } else {
            FULL_TTL
        };
        let mut stack = Stack::empty();
        hop.labels.push(&mut stack, 0, ttl);
        write_stack(&stack, frame);
    }
}

fn write_stack(stack: &Stack, frame: &mut Frame) {
    if stack.bytes() == 0 {
        return;
    }
    frame.insert(ETHERNET, stack.bytes());
    stack.write(&mut frame[ETHERNET..ETHERNET + stack.bytes()]);
    frame[12..14].copy_from_slice(&ethertype::MPLS.to_be_bytes());
}

/// Version of the IP packet in a frame; 0 without any byte of it.
fn version(frame: &[u8]) -> u8 {
    frame.get(ETHERNET).map_or(0, |byte| byte >> 4)
}

/// Whether a frame has enough of an IP packet for a router that pops its last label, as in Linux: the TTL.
fn has_ttl(frame: &[u8]) -> bool {
    matches!(version(frame), 4 | 6) && frame.len() >= ETHERNET + WITH_TTL
}

/// Sets the TTL or hop limit of a packet to `hops`, if it is higher.
fn lower_hops(frame: &mut Frame, hops: u8) {
    if !has_ttl(frame) {
        return;
    }
    match version(frame) {
        4 if frame[ETHERNET + 8] > hops => v4::set_hops(frame, hops),
        6 if frame[ETHERNET + 7] > hops => frame[ETHERNET + 7] = hops,
        _ => {}
    }
}
