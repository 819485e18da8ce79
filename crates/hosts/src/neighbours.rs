//! Who is on the link: ARP (RFC 826) and neighbour discovery (RFC 4861), and what waits for an answer.
//!
//! A stack that asks at most once a second for anybody, as small ones do, would hold up a host that
//! begins to speak to many at once; this one asks for each by itself, at once.

use crate::address::InterfaceAddress;
use crate::endpoint::Egress;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use node::{Frame, Out, Port, Time, When};
use packet::arp::Arp;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::icmpv6::{Icmpv6, Icmpv6View};
use packet::ipv6::{Ipv6, Ipv6View};

/// Number of requests for a neighbour that does not answer, and the timeout of each (RFC 4861
/// section 10; Linux sends as many by ARP).
const QUESTIONS: u32 = 3;
const ANSWER: Time = Time::from_secs(1);
/// Neighbour discovery is only heard from the same link (RFC 4861).
const ON_LINK: u8 = 255;
/// Frames that wait for one answer.
const WAITING: usize = 1024;
/// Maximum number of neighbours. When the table is full, the neighbour requested first is removed.
const MAX_NEIGHBOURS: usize = 4096;
const ICMPV6: u8 = 58;

/// State of a host about its link.
pub(crate) struct Neighbours {
    mac: [u8; 6],
    networks: Vec<InterfaceAddress>,
    gateways: Vec<IpAddr>,
    known: BTreeMap<IpAddr, [u8; 6]>,
    incomplete: BTreeMap<IpAddr, Incomplete>,
    /// When the first of those asked for is due again.
    next: Option<Time>,
    scratch: Vec<u8>,
}

/// Somebody who has not answered yet.
struct Incomplete {
    questions: u32,
    again: Time,
    waiting: Vec<(When, Frame)>,
}

impl Incomplete {
    fn give_up(self, out: &mut Out) {
        for (_, frame) in self.waiting {
            out.drop(frame, "no host answered for this address");
        }
    }
}

impl Egress for Neighbours {
    /// Sends it when it is known where to.
    fn send(&mut self, now: Time, to: IpAddr, when: When, frame: Frame, out: &mut Out) {
        // Who is on the link, and known, is by far the usual case.
        let hop = match self.known.get(&to) {
            Some(mac) => return self.depart(*mac, when, frame, out),
            None => self.hop(to),
        };
        let Some(hop) = hop else {
            return out.drop(frame, "no route");
        };
        if let Some(&mac) = self.known.get(&hop) {
            return self.depart(mac, when, frame, out);
        }
        if !self.incomplete.contains_key(&hop) {
            self.ask(hop, out);
            let incomplete = Incomplete {
                questions: 1,
                again: now + ANSWER,
                waiting: Vec::new(),
            };
            self.incomplete.insert(hop, incomplete);
            self.reckon();
        }
        let incomplete = self.incomplete.get_mut(&hop).expect("just put in");
        match incomplete.waiting.len() < WAITING {
            true => incomplete.waiting.push((when, frame)),
            false => out.drop(frame, "waits for an address"),
        }
    }
}

impl Neighbours {
    pub fn new(mac: [u8; 6], networks: Vec<InterfaceAddress>, gateways: Vec<IpAddr>) -> Neighbours {
        Neighbours {
            mac,
            networks,
            gateways,
            known: BTreeMap::new(),
            incomplete: BTreeMap::new(),
            next: None,
            scratch: Vec::new(),
        }
    }

    /// The host's own address towards somebody, if there is a way.
    pub fn source(&self, to: IpAddr) -> Option<IpAddr> {
        let hop = self.hop(to)?;
        let same = |network: &&InterfaceAddress| network.address.is_ipv4() == to.is_ipv4();
        let mut own = self.networks.iter().filter(same);
        let on_link = own.clone().find(|network| network.contains(hop));
        on_link
            .or_else(|| own.next())
            .map(|network| network.address)
    }

    /// Who is to be asked for: the receiver, or a gateway.
    fn hop(&self, to: IpAddr) -> Option<IpAddr> {
        let on_link = self.networks.iter().any(|network| network.contains(to));
        match on_link {
            true => Some(to),
            false => {
                let same = |gateway: &&IpAddr| gateway.is_ipv4() == to.is_ipv4();
                self.gateways.iter().find(same).copied()
            }
        }
    }

    fn depart(&self, mac: [u8; 6], when: When, mut frame: Frame, out: &mut Out) {
        frame[..6].copy_from_slice(&mac);
        frame[6..12].copy_from_slice(&self.mac);
        match when {
            When::Now => out.send(Port(0), frame),
            When::At(at) => out.send_at(Port(0), at, frame),
        }
    }

    /// Somebody has said which MAC address is his; what waits for him leaves.
    fn learn(&mut self, who: IpAddr, mac: [u8; 6], out: &mut Out) {
        if mac[0] & 1 == 1 || !crate::address::is_unicast(who) {
            return;
        }
        let incomplete = self.incomplete.remove(&who);
        if incomplete.is_none()
            && !self.known.contains_key(&who)
            && self.known.len() >= MAX_NEIGHBOURS
        {
            self.known.pop_first();
        }
        self.known.insert(who, mac);
        if let Some(incomplete) = incomplete {
            self.reckon();
            for (when, frame) in incomplete.waiting {
                self.depart(mac, when, frame, out);
            }
        }
    }

    /// Learns from ARP that is meant for this host, question or answer.
    pub fn hear_arp(&mut self, frame: &[u8], out: &mut Out) {
        let Some(Ok(arp)) = frame.get(14..).map(Arp::parse) else {
            return;
        };
        let mine = |network: &InterfaceAddress| network.address == IpAddr::V4(arp.target);
        // Who announces a new address for himself is believed if he is known.
        let known = self.known.contains_key(&IpAddr::V4(arp.sender));
        if self.networks.iter().any(mine) || (arp.sender == arp.target && known) {
            self.learn(arp.sender.into(), arp.sender_mac.0, out);
        }
    }

    /// Learns from a neighbour's solicitation or advertisement.
    pub fn hear_icmpv6(&mut self, frame: &[u8], out: &mut Out) {
        let Some(Ok(ip)) = frame.get(14..).map(Ipv6View::new) else {
            return;
        };
        let Ok(message) = Icmpv6View::new(ip.payload()) else {
            return;
        };
        if ip.hop_limit() != ON_LINK || !message.is_checksum_valid(ip.pseudo(ICMPV6)) {
            return;
        }
        let Some(mac) = message.link_layer_address() else {
            return;
        };
        match message.message() {
            Icmpv6::NeighbourAdvertisement { target, .. } => {
                let target = IpAddr::V6(target);
                if self.incomplete.contains_key(&target) || self.known.contains_key(&target) {
                    self.learn(target, mac.0, out);
                }
            }
            Icmpv6::NeighbourSolicitation { target } => {
                let mine = |network: &InterfaceAddress| network.address == IpAddr::V6(target);
                if self.networks.iter().any(mine) {
                    self.learn(ip.source().into(), mac.0, out);
                }
            }
            _ => {}
        }
    }

    /// When somebody is to be asked for again.
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    fn reckon(&mut self) {
        self.next = self
            .incomplete
            .values()
            .map(|incomplete| incomplete.again)
            .min();
    }

    /// Asks again, or gives up.
    pub fn wake(&mut self, now: Time, out: &mut Out) {
        if self.next.is_none_or(|next| next > now) {
            return;
        }
        let due =
            |(who, incomplete): (&IpAddr, &Incomplete)| (incomplete.again <= now).then_some(*who);
        let due: Vec<IpAddr> = self.incomplete.iter().filter_map(due).collect();
        for who in due {
            let incomplete = self.incomplete.get_mut(&who).expect("just found");
            if incomplete.questions < QUESTIONS {
                incomplete.questions += 1;
                incomplete.again = now + ANSWER;
                self.ask(who, out);
            } else if let Some(incomplete) = self.incomplete.remove(&who) {
                incomplete.give_up(out);
            }
        }
        self.reckon();
    }

    /// Waits no longer for anybody who has not answered.
    pub fn give_up(&mut self, out: &mut Out) {
        for (_, incomplete) in core::mem::take(&mut self.incomplete) {
            incomplete.give_up(out);
        }
        self.reckon();
    }

    fn ask(&mut self, who: IpAddr, out: &mut Out) {
        let Some(own) = self.source(who) else { return };
        self.scratch.clear();
        let mac = Mac(self.mac);
        match (own, who) {
            (IpAddr::V4(own), IpAddr::V4(who)) => question_arp(mac, own, who, &mut self.scratch),
            (IpAddr::V6(own), IpAddr::V6(who)) => solicitation(mac, own, who, &mut self.scratch),
            _ => return,
        }
        let mut frame = out.frame();
        frame.extend(&self.scratch);
        out.send(Port(0), frame);
    }
}

fn question_arp(mac: Mac, own: Ipv4Addr, who: Ipv4Addr, out: &mut Vec<u8>) {
    Arp::request(mac, own, who).build_frame(out);
}

fn solicitation(mac: Mac, own: Ipv6Addr, target: Ipv6Addr, out: &mut Vec<u8>) {
    let [.., a, b, c] = target.octets();
    let low = [0xFF00 | u16::from(a), u16::from(b) << 8 | u16::from(c)];
    let group = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 1, low[0], low[1]);
    let mut ip = Ipv6::new(own, group, ICMPV6);
    ip.hop_limit = ON_LINK;
    let ethernet = Ethernet {
        destination: Mac([0x33, 0x33, 0xFF, a, b, c]),
        source: mac,
        tags: &[],
        ethertype: ethertype::IPV6,
    };
    ethernet.build(out, |out| {
        ip.build(out, |out| {
            let message = Icmpv6::NeighbourSolicitation { target };
            // The option that says who asks.
            message.build(ip.pseudo(), out, |out| {
                out.extend([1, 1]);
                out.extend(mac.0);
            });
        });
    });
}
