//! The five-tuple of a frame, and its 32-bit hash (FORMATS section 4; docs/decisions/0004).
//!
//! The hash is CRC-32C over source address, destination address, protocol, source port and
//! destination port as they stand in the packet: 13 bytes for IPv4, 37 for IPv6. These rules make
//! it the same in every part, in RTL too:
//!
//! - Up to four tags (EtherTypes 8100, 88A8 and 9100) are passed over. What is not IP behind them,
//!   or has no complete IP header, has no tuple and the hash zero.
//! - Ports are the first four bytes of TCP, UDP, DCCP, SCTP and UDP-Lite; zero for other
//!   protocols, for every fragment but the first, and where the frame ends before them. The
//!   lengths that the headers claim for the packet do not count, only the bytes that are there.
//! - The protocol of IPv6 is the next-header value behind up to eight extension headers
//!   (hop-by-hop, routing, fragment, authentication, destination options, mobility, HIP, shim6).
//!   It is that of the header at which the walk ends: a later fragment, a header that the frame
//!   cuts off, a ninth one.
//!
//! ```
//! let mut frame = [0u8; 60];
//! frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
//! frame[26..38].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2, 0, 53, 0, 53]);
//! let tuple = packet::flow::five_tuple(&frame).unwrap();
//! assert_eq!(tuple.to_string(), "10.0.0.1:53 > 10.0.0.2:53 protocol 17");
//! assert_eq!(packet::flow::hash(&frame), tuple.hash());
//! ```

use crate::crc32c;
use crate::ethernet::ethertype;
use crate::ip::IpView;
use crate::ipv4::protocol;
use crate::vlan::untagged;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Extension headers of IPv6 that are passed over.
const EXTENSIONS: usize = 8;

/// Who talks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiveTuple {
    /// Source address; of the same family as the destination.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// The IP protocol number behind all extension headers.
    pub protocol: u8,
    /// Source port, or zero.
    pub source_port: u16,
    /// Destination port, or zero.
    pub destination_port: u16,
}

impl FiveTuple {
    /// The tuple's hash: that of every frame which has this tuple. Addresses of different families
    /// never stand in one packet; their hash is that of the tuple with both written as IPv6.
    pub fn hash(&self) -> u32 {
        let ports = u32::from(self.source_port) << 16 | u32::from(self.destination_port);
        let ports = ports.to_be_bytes();
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let [a, b, c, d] = source.octets();
                let [e, f, g, h] = destination.octets();
                crc32c::of_tuple([[a, b, c, d, e, f, g, h]], self.protocol, ports)
            }
            (source, destination) => {
                let octets = |address| match address {
                    IpAddr::V4(v4) => Ipv4Addr::to_ipv6_mapped(&v4).octets(),
                    IpAddr::V6(v6) => v6.octets(),
                };
                let addresses = [octets(source), octets(destination)];
                let mut words = [[0; 8]; 4];
                words
                    .as_flattened_mut()
                    .copy_from_slice(addresses.as_flattened());
                crc32c::of_tuple(words, self.protocol, ports)
            }
        }
    }
}

impl fmt::Display for FiveTuple {
    /// `10.0.0.1:53 > 10.0.0.2:53 protocol 17`, with IPv6 addresses in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = SocketAddr::new(self.source, self.source_port);
        let destination = SocketAddr::new(self.destination, self.destination_port);
        write!(f, "{source} > {destination} protocol {}", self.protocol)
    }
}

/// The five-tuple of an Ethernet frame; `None` for what is not IP.
pub fn five_tuple(frame: &[u8]) -> Option<FiveTuple> {
    let (ip, protocol, [a, b, c, d]) = read(frame)?;
    let (source, destination) = match ip {
        IpView::V4(ip) => (IpAddr::V4(ip.source()), IpAddr::V4(ip.destination())),
        IpView::V6(ip) => (IpAddr::V6(ip.source()), IpAddr::V6(ip.destination())),
    };
    Some(FiveTuple {
        source,
        destination,
        protocol,
        source_port: u16::from_be_bytes([a, b]),
        destination_port: u16::from_be_bytes([c, d]),
    })
}

/// The hash of a frame's five-tuple; zero for what is not IP.
#[inline]
pub fn hash(frame: &[u8]) -> u32 {
    // Nearly all of most traffic: untagged IPv4 without options, not a fragment, TCP or UDP.
    if let Some(head) = frame.first_chunk::<38>()
        && [head[12], head[13], head[14]] == [0x08, 0x00, 0x45]
        && (head[20] & 0x3F, head[21]) == (0, 0)
        && (head[23] == protocol::UDP || head[23] == protocol::TCP)
    {
        let addresses = core::array::from_fn(|i| head[26 + i]);
        let ports = core::array::from_fn(|i| head[34 + i]);
        return crc32c::of_tuple([addresses], head[23], ports);
    }
    hash_any(frame)
}

fn hash_any(frame: &[u8]) -> u32 {
    match read(frame) {
        Some((IpView::V4(ip), protocol, ports)) => {
            crc32c::of_tuple([ip.addresses()], protocol, ports)
        }
        Some((IpView::V6(ip), protocol, ports)) => {
            crc32c::of_tuple(ip.addresses(), protocol, ports)
        }
        None => 0,
    }
}

/// The packet, the protocol behind its extension headers, and the ports.
#[inline(always)]
fn read(frame: &[u8]) -> Option<(IpView<'_>, u8, [u8; 4])> {
    let (kind, packet) = untagged(frame)?;
    let ip = IpView::new_any_length(kind, packet).ok()?;
    let (protocol, later, payload) = match ip {
        IpView::V4(ip) => (ip.protocol(), ip.fragment_offset() > 0, ip.payload()),
        IpView::V6(ip) => {
            let mut walk = ip.extensions();
            walk.by_ref().take(EXTENSIONS).for_each(drop);
            (walk.protocol(), walk.is_later_fragment(), walk.payload())
        }
    };
    let ports = match payload.first_chunk() {
        Some(ports) if !later && protocol::has_ports(protocol) => *ports,
        _ => [0; 4],
    };
    Some((ip, protocol, ports))
}

/// Whether the frame ends before the IP packet does that it begins with: whoever wrote it was cut off. Of other
/// packets that cannot be told.
pub fn is_cut(frame: &[u8]) -> bool {
    let Some((kind, packet)) = untagged(frame) else {
        return false;
    };
    let length = |at: usize| {
        let bytes = packet.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map(|bytes| usize::from(u16::from_be_bytes(*bytes)))
    };
    let end = match kind {
        // A length of zero is that of a super-frame.
        ethertype::IPV4 => length(2).map(|length| length.max(20)),
        ethertype::IPV6 => length(4).map(|length| 40 + length),
        _ => return false,
    };
    end.is_none_or(|end| end > packet.len())
}

#[cfg(test)]
mod tests;
