//! A frame read once, from front to back.

use super::{Key, NOT_ETHERTYPE, VLAN_PRESENT, WORDS};

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

const ARP: u16 = 0x0806;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PBB: u16 = 0x88E7;
const TAG: u16 = 0x8100;
const SERVICE_TAG: u16 = 0x88A8;

#[inline]
fn u16_at(frame: &[u8], at: usize) -> Option<u16> {
    let bytes: &[u8; 2] = frame.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes))
}

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
    let Some(header) = frame.first_chunk::<14>() else {
        return (key, layers);
    };
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *header;
    key.0[2] = mac(&[d0, d1, d2, d3, d4, d5]);
    key.0[3] = mac(&[s0, s1, s2, s3, s4, s5]);
    let mut ethertype = u16::from_be_bytes([t0, t1]);
    let mut at = 14;
    while matches!(ethertype, TAG | SERVICE_TAG) {
        let Some(word) = u32_at(frame, at) else {
            break;
        };
        if layers.tags == 0 {
            let control = (word >> 16) as u16;
            // The bit that was DEI says that there is a tag.
            key.0[3] |= u64::from(control | VLAN_PRESENT);
        }
        layers.tags += 1;
        ethertype = word as u16;
        at += 4;
    }
    if ethertype < 0x0600 {
        ethertype = match frame.get(at..at + 8) {
            Some(&[0xAA, 0xAA, 3, 0, 0, 0, high, low]) => {
                at += 8;
                u16::from_be_bytes([high, low])
            }
            _ => NOT_ETHERTYPE,
        };
    }
    key.0[2] |= u64::from(ethertype);
    layers.network_at = at as u16;
    let rest = &frame[at..];
    match ethertype {
        IPV4 => ipv4(rest, at, &mut key, &mut layers),
        IPV6 => drop(ipv6(rest, at, &mut key, &mut layers)),
        ARP => arp(rest, &mut key, &mut layers),
        MPLS | MPLS_MULTICAST => {
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
    let Some(header) = packet.first_chunk::<20>() else {
        return;
    };
    let length = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || length < 20 || packet.len() < length {
        return;
    }
    layers.network = Network::Ipv4;
    let protocol = header[9];
    layers.protocol = protocol;
    layers.protocol_at = at as u16 + 9;
    let addresses = [
        header[12], header[13], header[14], header[15], header[16], header[17], header[18],
        header[19],
    ];
    key.0[5] = u64::from_be_bytes(addresses);
    key.0[4] = u64::from(header[1]) << 56 | u64::from(protocol) << 48;
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3FFF;
    layers.fragment = fragment != 0;
    layers.later_fragment = fragment & 0x1FFF != 0;
    if !layers.later_fragment {
        transport(&packet[length..], at + length, key, layers);
    }
}

/// The ports, or ICMP's type and code.
#[inline]
fn transport(segment: &[u8], at: usize, key: &mut Key, layers: &mut Layers) {
    let needed = match layers.protocol {
        6 => 20,
        17 => 8,
        132 => 12,
        1 | 58 => 4,
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
        1 | 58 => {
            key.0[4] |= u64::from(segment[0]) << 32 | u64::from(segment[1]) << 16;
        }
        _ => {
            let ports = u32::from_be_bytes([segment[0], segment[1], segment[2], segment[3]]);
            key.0[4] |= u64::from(ports) << 16;
        }
    }
}

fn arp(packet: &[u8], key: &mut Key, layers: &mut Layers) {
    let Some(header) = packet.first_chunk::<28>() else {
        return;
    };
    if header[..6] != [0, 1, 8, 0, 6, 4] {
        return;
    }
    layers.network = Network::Arp;
    let word = |at: usize| {
        u64::from(u32::from_be_bytes([
            header[at],
            header[at + 1],
            header[at + 2],
            header[at + 3],
        ]))
    };
    let mac_at = |at: usize| {
        word(at) << 32 | u64::from(header[at + 4]) << 24 | u64::from(header[at + 5]) << 16
    };
    key.0[4] = u64::from(u16::from_be_bytes([header[6], header[7]]));
    key.0[5] = word(14) << 32 | word(24);
    key.0[6] = mac_at(8);
    key.0[7] = mac_at(18);
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
    let header = packet.first_chunk::<40>()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    layers.network = Network::Ipv6;
    for (word, bytes) in key.0[5..9].iter_mut().zip(header[8..].as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    let first = u32_at(header, 0)?;
    key.0[9] = u64::from(first & 0xF_FFFF) << 16;
    let class = u64::from(first >> 20 & 0xFF);
    let (mut next, mut at) = (header[6], 40);
    let (mut seen, mut last, mut destinations) = (0u16, 0u8, 0u8);
    layers.protocol_at = base as u16 + 6;
    // Each header moves on by eight bytes at least, so that the end of the frame bounds this.
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
        let Some(&[following, length]) = packet.get(at..at + 2) else {
            break false;
        };
        layers.protocol_at = (base + at) as u16;
        layers.routed |= next == 43 && packet.get(at + 3).is_some_and(|&left| left > 0);
        let size = match next {
            44 => {
                let Some(offset) = u16_at(packet, at + 2) else {
                    break false;
                };
                layers.fragment |= offset & 0xFFF9 != 0;
                layers.later_fragment |= offset & 0xFFF8 != 0;
                8
            }
            51 => (usize::from(length) + 2) * 4,
            _ => (usize::from(length) + 1) * 8,
        };
        at += size;
        next = following;
        if layers.later_fragment {
            break true;
        }
    };
    layers.protocol = next;
    key.0[4] = class << 56 | u64::from(next) << 48 | u64::from(seen);
    if !whole || layers.later_fragment {
        return None;
    }
    let segment = packet.get(at..)?;
    transport(segment, base + at, key, layers);
    if next != 58 || layers.transport_at == 0 || layers.fragment {
        return None;
    }
    neighbour(segment, base + at, key, layers)
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
