//! The layers that templates have, and their fields.

use super::value::Type::{
    self, Address4, Address6, Flags, Hardware, Named, Number, Text, Timestamps,
};
use crate::dns::kind;

/// A layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Eth,
    Vlan,
    Mpls,
    Arp,
    Ip,
    Ipv6,
    Icmp,
    Icmpv6,
    Tcp,
    Udp,
    Dns,
    Vxlan,
    Gre,
    /// Payload.
    Bytes,
}

/// A field: its name, others of the same, and what it holds.
pub struct Known {
    pub name: &'static str,
    pub also: &'static [&'static str],
    pub holds: Type,
}

const fn known(name: &'static str, also: &'static [&'static str], holds: Type) -> Known {
    Known { name, also, holds }
}

const OPERATIONS: &[(&str, u64)] = &[("who-has", 1), ("is-at", 2)];
const ICMP: &[(&str, u64)] = &[
    ("echo-reply", 0),
    ("unreachable", 3),
    ("redirect", 5),
    ("echo-request", 8),
    ("time-exceeded", 11),
];
const ICMPV6: &[(&str, u64)] = &[
    ("unreachable", 1),
    ("too-big", 2),
    ("time-exceeded", 3),
    ("echo-request", 128),
    ("echo-reply", 129),
    ("neighbour-solicitation", 135),
    ("neighbour-advertisement", 136),
];
const FRAGMENT: &[(&str, u64)] = &[("none", 0), ("MF", 1), ("DF", 2), ("DF+MF", 3)];
/// Types of DNS as named numbers.
const RECORDS: &[(&str, u64)] = &{
    let mut records = [("", 0u64); kind::NAMES.len()];
    let mut index = 0;
    while index < records.len() {
        records[index] = (kind::NAMES[index].0, kind::NAMES[index].1 as u64);
        index += 1;
    }
    records
};

/// Each layer's name and fields. scapy's names are among them.
pub const LAYERS: &[(Kind, &[&str], &[Known])] = &[
    (
        Kind::Eth,
        &["eth", "Ether"],
        &[
            known("dst", &[], Hardware),
            known("src", &[], Hardware),
            known("type", &[], Number(16)),
        ],
    ),
    (
        Kind::Vlan,
        &["vlan", "Dot1Q"],
        &[
            known("id", &["vlan"], Number(12)),
            known("prio", &["pcp"], Number(3)),
            known("dei", &[], Number(1)),
            known("type", &[], Number(16)),
        ],
    ),
    (
        Kind::Mpls,
        &["mpls", "MPLS"],
        &[
            known("label", &[], Number(20)),
            known("tc", &["exp", "cos"], Number(3)),
            known("bottom", &["s"], Number(1)),
            known("ttl", &[], Number(8)),
        ],
    ),
    (
        Kind::Arp,
        &["arp", "ARP"],
        &[
            known("op", &[], Named(OPERATIONS, 16)),
            known("hwsrc", &["sha"], Hardware),
            known("psrc", &["spa"], Address4),
            known("hwdst", &["tha"], Hardware),
            known("pdst", &["tpa", "dst"], Address4),
        ],
    ),
    (
        Kind::Ip,
        &["ip", "ipv4", "IP"],
        &[
            known("src", &[], Address4),
            known("dst", &[], Address4),
            known("ttl", &[], Number(8)),
            known("tos", &[], Number(8)),
            known("dscp", &[], Number(6)),
            known("ecn", &[], Number(2)),
            known("id", &[], Number(16)),
            known("flags", &[], Named(FRAGMENT, 2)),
            known("frag", &[], Number(13)),
            known("proto", &[], Number(8)),
            known("len", &[], Number(16)),
            known("chksum", &["checksum"], Number(16)),
        ],
    ),
    (
        Kind::Ipv6,
        &["ipv6", "IPv6"],
        &[
            known("src", &[], Address6),
            known("dst", &[], Address6),
            known("hlim", &["ttl"], Number(8)),
            known("tc", &[], Number(8)),
            known("dscp", &[], Number(6)),
            known("ecn", &[], Number(2)),
            known("fl", &["flow"], Number(20)),
            known("nh", &["proto"], Number(8)),
            known("plen", &["len"], Number(16)),
        ],
    ),
    (
        Kind::Icmp,
        &["icmp", "ICMP"],
        &[
            known("type", &[], Named(ICMP, 8)),
            known("code", &[], Number(8)),
            known("id", &[], Number(16)),
            known("seq", &[], Number(16)),
            known("chksum", &["checksum"], Number(16)),
        ],
    ),
    (
        Kind::Icmpv6,
        &["icmpv6", "ICMPv6"],
        &[
            known("type", &[], Named(ICMPV6, 8)),
            known("code", &[], Number(8)),
            known("id", &[], Number(16)),
            known("seq", &[], Number(16)),
            known("target", &["tgt"], Address6),
            known("chksum", &["checksum", "cksum"], Number(16)),
        ],
    ),
    (
        Kind::Tcp,
        &["tcp", "TCP"],
        &[
            known("sport", &[], Number(16)),
            known("dport", &[], Number(16)),
            known("seq", &[], Number(32)),
            known("ack", &[], Number(32)),
            known("flags", &[], Flags),
            known("window", &["win"], Number(16)),
            known("urgptr", &["urgent"], Number(16)),
            known("mss", &[], Number(16)),
            known("wscale", &[], Number(8)),
            known("sackok", &["sack"], Number(1)),
            known("ts", &["timestamps"], Timestamps),
            known("chksum", &["checksum"], Number(16)),
        ],
    ),
    (
        Kind::Udp,
        &["udp", "UDP"],
        &[
            known("sport", &[], Number(16)),
            known("dport", &[], Number(16)),
            known("len", &[], Number(16)),
            known("chksum", &["checksum"], Number(16)),
        ],
    ),
    (
        Kind::Dns,
        &["dns", "DNS"],
        &[
            known("name", &["qname"], Text),
            known("type", &["qtype"], Named(RECORDS, 16)),
            known("id", &[], Number(16)),
            known("rd", &[], Number(1)),
        ],
    ),
    (
        Kind::Vxlan,
        &["vxlan", "VXLAN"],
        &[known("vni", &[], Number(24))],
    ),
    (
        Kind::Gre,
        &["gre", "GRE"],
        &[
            known("key", &[], Number(32)),
            known("seq", &[], Number(32)),
            known("type", &["proto"], Number(16)),
        ],
    ),
];

impl Kind {
    /// The layer of a name.
    pub fn named(name: &str) -> Option<Kind> {
        let mut layers = LAYERS.iter();
        let found = layers.find(|(_, names, _)| names.contains(&name));
        found.map(|(kind, _, _)| *kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = LAYERS.iter().find(|(kind, _, _)| *kind == self);
        found.map_or("bytes", |(_, names, _)| names[0])
    }

    /// Its fields.
    pub fn fields(self) -> &'static [Known] {
        let found = LAYERS.iter().find(|(kind, _, _)| *kind == self);
        found.map_or(&[], |(_, _, fields)| fields)
    }
}
