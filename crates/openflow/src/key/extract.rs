//! A frame read once, from front to back.

use super::{Key, NOT_ETHERTYPE, VLAN_PRESENT, WORDS};
use packet::arp::Arp;
use packet::ethernet::{EthernetView, ethertype};
use packet::ipv4::{Ipv4View, protocol};
use packet::ipv6::{Extension, Ipv6View};
use packet::vlan::Tags;

/// Bits of the field ipv6_exthdr (enum ofp_ipv6exthdr_flags).
pub mod exthdr {
    /// "No next header" ends the chain.
    pub const NONEXT: u16 = 1 << 0;
    /// Encrypted security payload.
    pub const ESP: u16 = 1 << 1;
    /// Authentication header.
    pub const AUTH: u16 = 1 << 2;
    /// One or two destination options headers.
    pub const DEST: u16 = 1 << 3;
    /// Fragment header.
    pub const FRAG: u16 = 1 << 4;
    /// Routing header.
    pub const ROUTER: u16 = 1 << 5;
    /// Hop-by-hop options.
    pub const HOP: u16 = 1 << 6;
    /// A header came more often than it may.
    pub const UNREP: u16 = 1 << 7;
    /// The headers are not in the order that RFC 8200 section 4.1 prefers.
    pub const UNSEQ: u16 = 1 << 8;
}

/// What stands behind the Ethernet header and its tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Something that is not looked into, or is cut short.
    #[default]
    Other,
    /// ARP for Ethernet and IPv4.
    Arp,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// MPLS; the network header is the outermost label.
    Mpls,
    /// Provider backbone bridging; the network header is the I-TAG.
    Pbb,
}

/// Where a frame's headers begin; actions need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// What is behind the tags.
    pub network: Network,
    /// Whether the IP packet is a fragment, the first included.
    pub fragment: bool,
    /// Whether it is a fragment that begins behind the first byte.
    pub later_fragment: bool,
    /// How many VLAN tags there are.
    pub tags: u16,
    /// Where the network header begins: behind the Ethernet header, its tags, and a SNAP header.
    pub network_at: u16,
    /// Where the header of TCP, UDP, SCTP or ICMP begins; zero if there is none, or only a piece of it.
    pub transport_at: u16,
    /// The IP protocol; zero if there is no IP.
    pub protocol: u8,
    /// Where it stands: in the IP header, or the last of IPv6's extension headers.
    pub protocol_at: u16,
    /// Whether an IPv6 routing header has segments left: then the destination in the header is not that of checksums.
    pub routed: bool,
    /// Of a neighbour solicitation or advertisement, where its option with a link-layer address begins; else zero.
    pub nd_option_at: u16,
}

/// Provider backbone bridging (802.1ah).
const PBB: u16 = 0x88E7;

#[inline]
fn u32_at(frame: &[u8], at: usize) -> Option<u32> {
    let bytes: &[u8; 4] = frame.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// 48 bits in the upper part of a word.
#[inline]
fn mac(bytes: &[u8; 6]) -> u64 {
    let [a, b, c, d, e, f] = *bytes;
    u64::from_be_bytes([a, b, c, d, e, f, 0, 0])
}

/// The key of a frame that arrived by `in_port`, and where its headers are.
///
/// Metadata and tunnel_id are zero. What is cut short or not known has zeros in its place. The transport fields of an IP
/// fragment, the first included, are zero (OpenFlow 1.0 section 3.4).
#[inline]
pub fn extract(frame: &[u8], in_port: u32) -> (Key, Layers) {
    let mut key = Key([0; WORDS]);
    let mut layers = Layers::default();
    key.set_in_port(in_port);
    let Ok(header) = EthernetView::new(frame) else {
        return (key, layers);
    };
    key.0[2] = mac(&header.destination().0);
    key.0[3] = mac(&header.source().0);
    let mut tags = Tags::behind(header);
    // Service tags of before 802.1ad are an EtherType like others to OpenFlow.
    while matches!(tags.ethertype(), ethertype::VLAN | ethertype::SERVICE_VLAN)
        && let Some(tag) = tags.next()
    {
        if layers.tags == 0 {
            let [_, _, high, low] = tag.to_bytes();
            // The bit that was DEI says that there is a tag.
            key.0[3] |= u64::from(u16::from_be_bytes([high, low]) | VLAN_PRESENT);
        }
        layers.tags += 1;
    }
    let (mut kind, mut rest) = (tags.ethertype(), tags.payload());
    if kind < ethertype::LOWEST {
        kind = match rest.split_first_chunk() {
            Some((&[0xAA, 0xAA, 3, 0, 0, 0, high, low], behind)) => {
                rest = behind;
                u16::from_be_bytes([high, low])
            }
            _ => NOT_ETHERTYPE,
        };
    }
    key.0[2] |= u64::from(kind);
    let at = frame.len() - rest.len();
    layers.network_at = at as u16;
    match kind {
        ethertype::IPV4 => ipv4(rest, at, &mut key, &mut layers),
        ethertype::IPV6 => drop(ipv6(rest, at, &mut key, &mut layers)),
        ethertype::ARP => arp(rest, &mut key, &mut layers),
        ethertype::MPLS | ethertype::MPLS_MULTICAST => {
            if let Some(entry) = u32_at(rest, 0) {
                key.0[9] = u64::from(entry >> 8) << 40;
                layers.network = Network::Mpls;
            }
        }
        PBB => {
            if let Some(tag) = u32_at(rest, 0) {
                key.0[9] = u64::from(tag & 0xFF_FFFF) << 16;
                layers.network = Network::Pbb;
            }
        }
        _ => {}
    }
    (key, layers)
}

#[inline]
fn ipv4(packet: &[u8], at: usize, key: &mut Key, layers: &mut Layers) {
    let Ok(ip) = Ipv4View::new_any_length(packet) else {
        return;
    };
    layers.network = Network::Ipv4;
    layers.protocol = ip.protocol();
    layers.protocol_at = at as u16 + 9;
    key.0[5] = u64::from(ip.source().to_bits()) << 32 | u64::from(ip.destination().to_bits());
    key.0[4] = u64::from(ip.traffic_class()) << 56 | u64::from(ip.protocol()) << 48;
    layers.fragment = ip.is_fragment();
    layers.later_fragment = ip.fragment_offset() > 0;
    if !layers.later_fragment {
        transport(ip.payload(), at + ip.header_length(), key, layers);
    }
}

/// The ports, or ICMP's type and code.
#[inline]
fn transport(segment: &[u8], at: usize, key: &mut Key, layers: &mut Layers) {
    let needed = match layers.protocol {
        protocol::TCP => 20,
        protocol::UDP => 8,
        protocol::SCTP => 12,
        protocol::ICMP | protocol::ICMPV6 => 4,
        _ => return,
    };
    if segment.len() < needed {
        return;
    }
    layers.transport_at = at as u16;
    if layers.fragment {
        return;
    }
    match layers.protocol {
        protocol::ICMP | protocol::ICMPV6 => {
            key.0[4] |= u64::from(segment[0]) << 32 | u64::from(segment[1]) << 16;
        }
        _ => {
            let ports = u32::from_be_bytes([segment[0], segment[1], segment[2], segment[3]]);
            key.0[4] |= u64::from(ports) << 16;
        }
    }
}

#[inline]
fn arp(packet: &[u8], key: &mut Key, layers: &mut Layers) {
    let Ok(arp) = Arp::parse(packet) else {
        return;
    };
    layers.network = Network::Arp;
    key.0[4] = u64::from(u16::from_be_bytes([packet[6], packet[7]]));
    key.0[5] = u64::from(arp.sender.to_bits()) << 32 | u64::from(arp.target.to_bits());
    key.0[6] = mac(&arp.sender_mac.0);
    key.0[7] = mac(&arp.target_mac.0);
}

/// How far an extension header comes in the order that RFC 8200 section 4.1 prefers.
fn rank(next: u8) -> (u8, u16) {
    match next {
        0 => (1, exthdr::HOP),
        60 => (2, exthdr::DEST),
        43 => (3, exthdr::ROUTER),
        44 => (4, exthdr::FRAG),
        51 => (5, exthdr::AUTH),
        50 => (6, exthdr::ESP),
        _ => (0, 0),
    }
}

/// `None` once there is no more to read.
fn ipv6(packet: &[u8], base: usize, key: &mut Key, layers: &mut Layers) -> Option<()> {
    let ip = Ipv6View::new_any_length(packet).ok()?;
    layers.network = Network::Ipv6;
    for (word, eight) in key.0[5..9].iter_mut().zip(ip.addresses()) {
        *word = u64::from_be_bytes(eight);
    }
    key.0[9] = u64::from(ip.flow_label()) << 16;
    let class = u64::from(ip.traffic_class());
    let (mut next, mut rest) = (ip.next_header(), ip.payload());
    let (mut seen, mut last, mut destinations) = (0u16, 0u8, 0u8);
    layers.protocol_at = base as u16 + 6;
    let whole = loop {
        let (order, bit) = rank(next);
        if next == 59 {
            seen |= exthdr::NONEXT;
            break true;
        }
        if bit == 0 {
            break true;
        }
        // Destination options may come twice: before a routing header, and last.
        let twice = bit == exthdr::DEST && destinations == 1;
        if seen & bit != 0 && !twice {
            seen |= exthdr::UNREP;
        }
        let order = match bit == exthdr::DEST && (last > 2 || destinations > 0) {
            true => 7,
            false => order,
        };
        if order < last {
            seen |= exthdr::UNSEQ;
        }
        last = last.max(order);
        destinations += u8::from(bit == exthdr::DEST && destinations < 2);
        seen |= bit;
        if next == 50 {
            break true;
        }
        let Some(Ok((extension, following, behind))) = Extension::split(next, rest) else {
            break false;
        };
        layers.protocol_at = (base + packet.len() - rest.len()) as u16;
        layers.routed |= next == protocol::ROUTING && extension.bytes[3] > 0;
        if let Some(part) = extension.fragment() {
            layers.fragment |= part.more || part.offset > 0;
            layers.later_fragment |= part.offset > 0;
        }
        (next, rest) = (following, behind);
        if layers.later_fragment {
            break true;
        }
    };
    layers.protocol = next;
    key.0[4] = class << 56 | u64::from(next) << 48 | u64::from(seen);
    if !whole || layers.later_fragment {
        return None;
    }
    let at = base + packet.len() - rest.len();
    transport(rest, at, key, layers);
    if next != protocol::ICMPV6 || layers.transport_at == 0 || layers.fragment {
        return None;
    }
    neighbour(rest, at, key, layers)
}

/// Neighbour solicitation and advertisement (RFC 4861 sections 4.3 and 4.4).
fn neighbour(message: &[u8], base: usize, key: &mut Key, layers: &mut Layers) -> Option<()> {
    let (wanted, word) = match message[..2] {
        [135, 0] => (1, 13),
        [136, 0] => (2, 14),
        _ => return None,
    };
    let target: &[u8; 16] = message.get(8..)?.first_chunk()?;
    for (word, bytes) in key.0[11..13].iter_mut().zip(target.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    let mut at = 24;
    while let Some(&[kind, length]) = message.get(at..at + 2) {
        let size = usize::from(length) * 8;
        if size == 0 || message.len() < at + size {
            break;
        }
        if kind == wanted && size == 8 {
            let address: &[u8; 6] = message[at + 2..].first_chunk()?;
            key.0[word] = mac(address);
            layers.nd_option_at = (base + at) as u16;
            break;
        }
        at += size;
    }
    Some(())
}
