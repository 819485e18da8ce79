//! A packet as disciplines see it, and the facts that classifiers need.

use core::net::IpAddr;
use node::Time;
use packet::crc32c::Crc32c;
use packet::ip::IpView;
use packet::{flow, vlan};

/// Codepoint of explicit congestion notification: the two low bits of the traffic class (RFC 3168
/// section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecn {
    /// 00: the transport does not understand ECN.
    #[default]
    NotEct,
    /// 01: ECN-capable; low-latency, low-loss, scalable throughput (RFC 9331).
    Ect1,
    /// 10: ECN-capable.
    Ect0,
    /// 11: congestion experienced.
    Ce,
}

impl Ecn {
    /// From the two low bits of a traffic class; the others are ignored.
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Whether a queue may mark the packet instead of dropping it. A packet that carries CE already
    /// may be marked again.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }

    /// Whether the packet belongs into the low-latency queue: ECT(1) or CE (RFC 9331 section 5.1).
    pub const fn is_l4s(self) -> bool {
        matches!(self, Ecn::Ect1 | Ecn::Ce)
    }
}

/// Facts of a frame by which packets are classified. Calculated once, from the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts {
    /// Hash of the five-tuple; 0 for frames that are not IP. See [`packet::flow`].
    pub flow: u32,
    /// Hash of the source address; 0 for frames that are not IP.
    pub source: u32,
    /// Hash of the destination address; 0 for frames that are not IP.
    pub destination: u32,
    /// Differentiated services codepoint, 0..=63 (RFC 2474); 0 for frames that are not IP.
    pub dscp: u8,
    /// ECN codepoint; [`Ecn::NotEct`] for frames that are not IP.
    pub ecn: Ecn,
    /// Priority, 0..=15: the priority code point of an outer VLAN tag, else the class selector,
    /// which is the three high bits of the DSCP. 8..=15 are for owners that set priorities
    /// themselves, as Linux's `skb->priority`.
    pub priority: u8,
    /// Output queue of an OpenFlow switch for the frame (`set_queue`, `enqueue`); 0 elsewhere.
    pub queue: u32,
}

impl Facts {
    /// Facts of an Ethernet frame without FCS. Every slice has some: a frame that is cut off is not
    /// IP.
    pub fn of(frame: &[u8]) -> Facts {
        let mut facts = Facts {
            flow: flow::hash(frame),
            ..Facts::default()
        };
        if let Some((kind, packet)) = vlan::untagged(frame)
            && let Ok(ip) = IpView::new_any_length(kind, packet)
        {
            let class = ip.traffic_class();
            facts.dscp = class >> 2;
            facts.ecn = Ecn::from_bits(class);
            facts.priority = class >> 5;
            facts.source = address_hash(ip.source());
            facts.destination = address_hash(ip.destination());
        }
        if let Some(&[high, low, tag, _]) = frame.get(12..16).and_then(<[u8]>::first_chunk)
            && vlan::is_tag(u16::from_be_bytes([high, low]))
        {
            facts.priority = tag >> 5;
        }
        facts
    }
}

fn address_hash(address: IpAddr) -> u32 {
    let sum = Crc32c::default();
    match address {
        IpAddr::V4(address) => sum.plus(&address.octets()).value(),
        IpAddr::V6(address) => sum.plus(&address.octets()).value(),
    }
}

/// A packet in a discipline. The owner keeps the frame itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Length in bytes, as the discipline must count it. Linux counts the Ethernet header, and no
    /// FCS.
    pub len: u32,
    /// Index of the frame at its owner. Disciplines pass it through.
    pub handle: u32,
    /// Facts for classifiers. A mark sets `ecn` to [`Ecn::Ce`].
    pub facts: Facts,
    /// Time of the last enqueue. Disciplines set it.
    pub enqueued: Time,
}

impl Packet {
    /// A packet of `len` bytes.
    pub const fn new(handle: u32, len: u32, facts: Facts) -> Packet {
        Packet {
            len,
            handle,
            facts,
            enqueued: Time::ZERO,
        }
    }

    /// Time in the queue until `now`.
    pub fn sojourn(&self, now: Time) -> Time {
        now - self.enqueued
    }
}
