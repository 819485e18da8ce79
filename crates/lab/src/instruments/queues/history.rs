//! The history of a queue: every packet that was offered to it, and every drop and mark.

use ::packet::ethernet::ethertype;
use ::packet::flow::five_tuple;
use ::packet::vlan::untagged;
use node::{Frame, Time};
use queue::egress::QueueEvent;
use queue::replay::Offer;
use queue::{Decision, Packet};
use std::collections::BTreeMap;

/// Maximum number of packets in a history: 80 MB.
const MAX_PACKETS: usize = 1_000_000;

/// A drop or a mark, and the index of the packet's offer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decided {
    pub offer: usize,
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
    /// Order of events in which the packet of each offer came and left; `u32::MAX` while it is in the queue.
    stays: Vec<(u32, u32)>,
    /// Events so far.
    events: u32,
    /// Offer of the packet with each handle.
    offer_of: Vec<usize>,
    pub decided: Vec<Decided>,
    /// Name of each flow, by the flow of the packets' facts. Frames that are not IP are one flow, named after the first of them.
    flows: BTreeMap<u32, String>,
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
                when,
            } => {
                if self.offers.len() == MAX_PACKETS {
                    self.full = Some(at);
                    return;
                }
                self.flows
                    .entry(packet.facts.flow)
                    .or_insert_with(|| name_of(frame));
                let handle = packet.handle as usize;
                let known = self.offer_of.len().max(handle + 1);
                self.offer_of.resize(known, 0);
                self.offer_of[handle] = self.offers.len();
                let (len, facts) = (packet.len, packet.facts);
                self.push(Offer::Packet {
                    at,
                    len,
                    facts,
                    when,
                });
            }
            QueueEvent::Flushed { at } => {
                for (_, left) in &mut self.stays {
                    *left = (*left).min(self.events);
                }
                self.push(Offer::Flush { at });
                // It is no packet.
                self.leave(self.offers.len() - 1);
            }
            QueueEvent::Decided(decision) => {
                let offer = self.offer_of(&decision.packet);
                self.decided.push(Decided {
                    offer,
                    decision: *decision,
                });
                if decision.verdict == queue::Verdict::Dropped {
                    self.leave(offer);
                }
            }
            QueueEvent::Sent { packet, .. } => self.leave(self.offer_of(packet)),
        }
    }

    fn push(&mut self, offer: Offer) {
        self.offers.push(offer);
        self.stays.push((self.events, u32::MAX));
    }

    fn leave(&mut self, offer: usize) {
        self.stays[offer].1 = self.events;
    }

    fn offer_of(&self, packet: &Packet) -> usize {
        self.offer_of[packet.handle as usize]
    }

    /// Name of the flow of an offer, and its length in bytes.
    pub fn packet(&self, offer: usize) -> (&str, u32, Time) {
        match &self.offers[offer] {
            Offer::Packet { at, len, facts, .. } => {
                let name = self.flows.get(&facts.flow);
                (name.map_or("", |name| name), *len, *at)
            }
            Offer::Flush { at } => ("", 0, *at),
        }
    }

    /// Packets that were in the queue when a packet was offered, by flow, the flow with most bytes first.
    pub fn ahead(&self, offer: usize) -> Vec<Share> {
        let came = self.stays[offer].0;
        let mut shares: BTreeMap<&str, Share> = BTreeMap::new();
        for index in (0..offer).filter(|index| self.stays[*index].1 > came) {
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

/// Name of a frame's flow: `10.0.0.2:49152 > 10.0.0.1:5201 TCP`.
fn name_of(frame: &Frame) -> String {
    let Some(tuple) = five_tuple(frame) else {
        let kind = untagged(frame).map(|(kind, _)| kind);
        return match kind {
            Some(ethertype::ARP) => "ARP".into(),
            _ => "not IP".into(),
        };
    };
    let text = tuple.to_string();
    let ends = text.rsplit_once(" protocol ").map_or(&text[..], |it| it.0);
    match tuple.protocol {
        1 => format!("{} > {} ICMP", tuple.source, tuple.destination),
        58 => format!("{} > {} ICMPv6", tuple.source, tuple.destination),
        6 => format!("{ends} TCP"),
        17 => format!("{ends} UDP"),
        _ => text,
    }
}
