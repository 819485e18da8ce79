//! The history of a queue: every packet that was offered to it, and every drop and mark.

use ::packet::ethernet::ethertype;
use ::packet::flow::{FiveTuple, five_tuple};
use ::packet::ipv4::protocol;
use ::packet::vlan::untagged;
use node::{Frame, Time};
use queue::egress::QueueEvent;
use queue::replay::Offer;
use queue::{Backlog, Decision, Packet, Segment};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

/// Maximum number of packets in a history: some 90 MB.
const MAX_PACKETS: usize = 1_000_000;

/// A drop or a mark, the index of the packet's offer, and its place in the order of events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decided {
    pub offer: usize,
    pub event: u32,
    pub decision: Decision,
}

/// Packets and bytes of a flow in a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub flow: String,
    pub packets: u64,
    pub bytes: u64,
}

/// The history of a queue.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub offers: Vec<Offer>,
    /// TCP segments of the offers, up to the last that has one.
    pub segments: Vec<Option<Segment>>,
    /// Order of events in which the packet of each offer came and left; `u32::MAX` while it is in the queue.
    stays: Vec<(u32, u32)>,
    /// Events so far.
    events: u32,
    /// Offer of the packet with each handle.
    offer_of: Vec<usize>,
    pub decided: Vec<Decided>,
    /// Index of the flow of each offer. A flush has none, and 0.
    flow_of: Vec<u32>,
    /// Index of each flow.
    flows: BTreeMap<Flow, u32>,
    /// Name of each flow, by its index.
    names: Vec<String>,
    /// Time at which the history became full.
    pub full: Option<Time>,
}

impl History {
    pub fn see(&mut self, event: &QueueEvent<'_>) {
        if self.full.is_some() {
            return;
        }
        self.events += 1;
        match *event {
            QueueEvent::Offered {
                at,
                packet,
                frame,
                segment,
                when,
            } => {
                if self.offers.len() == MAX_PACKETS {
                    self.full = Some(at);
                    return;
                }
                let flow = Flow::of(frame);
                let next = self.names.len() as u32;
                let flow = *self.flows.entry(flow).or_insert_with(|| {
                    self.names.push(flow.to_string());
                    next
                });
                let handle = packet.handle as usize;
                let known = self.offer_of.len().max(handle + 1);
                self.offer_of.resize(known, 0);
                self.offer_of[handle] = self.offers.len();
                if let Some(segment) = segment {
                    self.segments.resize(self.offers.len(), None);
                    self.segments.push(Some(*segment));
                }
                let (len, facts) = (packet.len, packet.facts);
                let offer = Offer::Packet {
                    at,
                    len,
                    facts,
                    when,
                };
                self.push(offer, flow);
            }
            QueueEvent::Flushed { at } => {
                for (_, left) in &mut self.stays {
                    *left = (*left).min(self.events);
                }
                self.push(Offer::Flush { at }, 0);
                // It is no packet.
                self.leave(self.offers.len() - 1);
            }
            QueueEvent::Decided(decision) => {
                let offer = self.offer_of(&decision.packet);
                self.decided.push(Decided {
                    offer,
                    event: self.events,
                    decision: *decision,
                });
                if decision.verdict == queue::Verdict::Dropped {
                    self.leave(offer);
                }
            }
            QueueEvent::Sent { packet, .. } => self.leave(self.offer_of(packet)),
            QueueEvent::Pause { .. } => {}
        }
    }

    fn push(&mut self, offer: Offer, flow: u32) {
        self.offers.push(offer);
        self.flow_of.push(flow);
        self.stays.push((self.events, u32::MAX));
    }

    fn leave(&mut self, offer: usize) {
        self.stays[offer].1 = self.events;
    }

    fn offer_of(&self, packet: &Packet) -> usize {
        self.offer_of[packet.handle as usize]
    }

    /// Name of the flow of an offer, its length in bytes, and when it came.
    pub fn packet(&self, offer: usize) -> (&str, u32, Time) {
        match &self.offers[offer] {
            Offer::Packet { at, len, .. } => (&self.names[self.flow_of[offer] as usize], *len, *at),
            Offer::Flush { at } => ("", 0, *at),
        }
    }

    /// Offers that were in the port's queue when a packet was offered, without its own.
    pub fn found(&self, offer: usize) -> impl Iterator<Item = usize> {
        let came = self.stays[offer].0;
        (0..offer).filter(move |index| self.stays[*index].1 > came)
    }

    /// Offers that were in the port's queue at a decision, the packet's own included.
    pub fn waiting(&self, decided: &Decided) -> impl Iterator<Item = usize> {
        let event = decided.event;
        let came_before = move |index: &usize| self.stays[*index].0 < event;
        let offers = (0..self.offers.len()).take_while(came_before);
        offers.filter(move |index| self.stays[*index].1 >= event)
    }

    /// Packets and bytes of some offers.
    pub fn size(&self, offers: impl Iterator<Item = usize>) -> Backlog {
        let mut size = Backlog::default();
        offers.for_each(|offer| size.add(self.packet(offer).1));
        size
    }

    /// Packets and bytes of some offers by flow, the flow with most bytes first.
    pub fn shares(&self, offers: impl Iterator<Item = usize>) -> Vec<Share> {
        let mut shares: BTreeMap<&str, Share> = BTreeMap::new();
        for index in offers {
            let (flow, len, _) = self.packet(index);
            let share = shares.entry(flow).or_default();
            share.packets += 1;
            share.bytes += u64::from(len);
        }
        let mut shares: Vec<Share> = shares
            .into_iter()
            .map(|(flow, share)| Share {
                flow: flow.into(),
                ..share
            })
            .collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.bytes));
        shares
    }
}

/// Conversation that a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Flow {
    Ip(FiveTuple),
    /// By EtherType.
    Other(u16),
}

impl Flow {
    fn of(frame: &Frame) -> Flow {
        match five_tuple(frame) {
            Some(tuple) => Flow::Ip(tuple),
            None => Flow::Other(untagged(frame).map_or(0, |(kind, _)| kind)),
        }
    }
}

impl fmt::Display for Flow {
    /// `10.0.0.2:49152 > 10.0.0.1:5201 TCP`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tuple = match self {
            Flow::Ip(tuple) => tuple,
            Flow::Other(ethertype::ARP) => return f.write_str("ARP"),
            Flow::Other(kind) => return write!(f, "EtherType {kind:04x}"),
        };
        let (source, destination) = (tuple.source, tuple.destination);
        let name = match tuple.protocol {
            protocol::ICMP => return write!(f, "{source} > {destination} ICMP"),
            protocol::ICMPV6 => return write!(f, "{source} > {destination} ICMPv6"),
            protocol::TCP => "TCP",
            protocol::UDP => "UDP",
            _ => return write!(f, "{tuple}"),
        };
        let source = SocketAddr::new(source, tuple.source_port);
        let destination = SocketAddr::new(destination, tuple.destination_port);
        write!(f, "{source} > {destination} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::{Pool, When};

    /// Offers frames of 60 bytes with these first 14 and then others, and lets each leave at once.
    fn seen(count: usize, frames: &[(u16, &[u8])]) -> History {
        let mut history = History::default();
        let mut pool = Pool::default();
        for n in 0..count {
            let (kind, bytes) = frames[n % frames.len()];
            let mut frame = pool.take();
            frame.extend(&[0; 12]);
            frame.extend(&kind.to_be_bytes());
            frame.extend(bytes);
            frame.resize(60);
            let packet = Packet::new(0, 60, queue::Facts::of(&frame));
            let at = Time::from_us(n as u64);
            history.see(&QueueEvent::Offered {
                at,
                packet: &packet,
                frame: &frame,
                segment: None,
                when: When::Now,
            });
            history.see(&QueueEvent::Sent {
                at,
                packet: &packet,
                backlog: queue::Backlog::default(),
            });
            pool.give(frame);
        }
        history
    }

    #[test]
    fn each_frame_has_the_name_of_its_own_flow() {
        let udp = [
            0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 53, 0, 99,
        ];
        let icmp = [
            0x45, 0, 0, 40, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 8, 0,
        ];
        let frames: [(u16, &[u8]); 4] = [
            (0x0806, &[]),
            (0x0800, &udp),
            (0x88CC, &[]),
            (0x0800, &icmp),
        ];
        let history = seen(8, &frames);
        let names: Vec<&str> = (0..8).map(|offer| history.packet(offer).0).collect();
        let wanted = [
            "ARP",
            "10.0.0.1:53 > 10.0.0.2:99 UDP",
            "EtherType 88cc",
            "10.0.0.1 > 10.0.0.2 ICMP",
        ];
        assert_eq!(names, [wanted, wanted].concat());
    }

    #[test]
    fn a_history_that_is_full_says_from_when_on() {
        let history = seen(MAX_PACKETS + 5, &[(0x0806, &[])]);
        assert_eq!(history.full, Some(Time::from_us(MAX_PACKETS as u64)));
        assert_eq!(history.offers.len(), MAX_PACKETS);
        assert_eq!(seen(MAX_PACKETS, &[(0x0806, &[])]).full, None);
    }
}
