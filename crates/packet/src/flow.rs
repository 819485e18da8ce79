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

mod crc32c;

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Tags that are passed over; a frame with more has no tuple.
const TAGS: usize = 4;
/// Extension headers of IPv6 that are passed over.
const EXTENSIONS: usize = 8;
const TCP: u8 = 6;
const UDP: u8 = 17;

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
                crc32c::sum([[a, b, c, d, e, f, g, h]], self.protocol, ports)
            }
            (source, destination) => {
                let octets = |address| match address {
                    IpAddr::V4(v4) => Ipv4Addr::to_ipv6_mapped(&v4).octets(),
                    IpAddr::V6(v6) => v6.octets(),
                };
                let (source, destination) = (octets(source), octets(destination));
                let addresses = [
                    array(&source, 0),
                    array(&source, 8),
                    array(&destination, 0),
                    array(&destination, 8),
                ];
                crc32c::sum(
                    addresses.map(Option::unwrap_or_default),
                    self.protocol,
                    ports,
                )
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
    let found = find(frame)?;
    let (source, destination) = match found.version {
        Version::Four => (
            IpAddr::V4(Ipv4Addr::from(array::<4>(frame, found.addresses)?)),
            IpAddr::V4(Ipv4Addr::from(array::<4>(frame, found.addresses + 4)?)),
        ),
        Version::Six => (
            IpAddr::V6(Ipv6Addr::from(array::<16>(frame, found.addresses)?)),
            IpAddr::V6(Ipv6Addr::from(array::<16>(frame, found.addresses + 16)?)),
        ),
    };
    let [a, b, c, d] = found.ports;
    Some(FiveTuple {
        source,
        destination,
        protocol: found.protocol,
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
        && (head[23] == UDP || head[23] == TCP)
    {
        let addresses = core::array::from_fn(|i| head[26 + i]);
        let ports = core::array::from_fn(|i| head[34 + i]);
        return crc32c::sum([addresses], head[23], ports);
    }
    hash_any(frame).unwrap_or(0)
}

fn hash_any(frame: &[u8]) -> Option<u32> {
    let found = find(frame)?;
    let chunk = |index: usize| array(frame, found.addresses + 8 * index);
    Some(match found.version {
        Version::Four => crc32c::sum([chunk(0)?], found.protocol, found.ports),
        Version::Six => {
            let addresses = [chunk(0)?, chunk(1)?, chunk(2)?, chunk(3)?];
            crc32c::sum(addresses, found.protocol, found.ports)
        }
    })
}

enum Version {
    Four,
    Six,
}

/// Where the parts of a tuple are.
struct Found {
    version: Version,
    /// Offset of the source address; the destination follows, and both are within the frame.
    addresses: usize,
    protocol: u8,
    ports: [u8; 4],
}

/// Whether the frame ends before the IP packet does that it begins with: whoever wrote it was cut off. Of other
/// packets that cannot be told.
pub fn is_cut(frame: &[u8]) -> bool {
    let length = |at: usize| array(frame, at).map(|bytes| usize::from(u16::from_be_bytes(bytes)));
    let end = match header(frame) {
        // A length of zero is that of a super-frame.
        Some((Version::Four, at)) => length(at + 2).map(|length| at + length.max(20)),
        Some((Version::Six, at)) => length(at + 4).map(|length| at + 40 + length),
        None => Some(0),
    };
    end.is_none_or(|end| end > frame.len())
}

/// The version of a frame's IP header, and where that starts.
#[inline]
fn header(frame: &[u8]) -> Option<(Version, usize)> {
    let mut at = 12;
    for _ in 0..=TAGS {
        match array::<2>(frame, at)? {
            [0x81 | 0x91, 0x00] | [0x88, 0xA8] => at += 4,
            [0x08, 0x00] => return Some((Version::Four, at + 2)),
            [0x86, 0xDD] => return Some((Version::Six, at + 2)),
            _ => return None,
        }
    }
    None
}

fn find(frame: &[u8]) -> Option<Found> {
    match header(frame)? {
        (Version::Four, at) => find_ipv4(frame, at),
        (Version::Six, at) => find_ipv6(frame, at),
    }
}

fn find_ipv4(frame: &[u8], at: usize) -> Option<Found> {
    let header: [u8; 20] = array(frame, at)?;
    let length = usize::from(header[0] & 0x0F) * 4;
    if header[0] >> 4 != 4 || length < 20 || frame.len() < at + length {
        return None;
    }
    let first = u16::from_be_bytes([header[6], header[7]]) & 0x1FFF == 0;
    Some(Found {
        version: Version::Four,
        addresses: at + 12,
        protocol: header[9],
        ports: if first {
            ports(frame, at + length, header[9])
        } else {
            [0; 4]
        },
    })
}

fn find_ipv6(frame: &[u8], at: usize) -> Option<Found> {
    let header: [u8; 40] = array(frame, at)?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let (protocol, behind) = walk_extensions(frame, header[6], at + 40);
    Some(Found {
        version: Version::Six,
        addresses: at + 8,
        protocol,
        ports: behind.map_or([0; 4], |behind| ports(frame, behind, protocol)),
    })
}

/// The protocol at which the walk along the extension headers ends, and where it starts; no place
/// for what has no ports in any case.
fn walk_extensions(frame: &[u8], mut protocol: u8, mut at: usize) -> (u8, Option<usize>) {
    for _ in 0..EXTENSIONS {
        let unit = match protocol {
            0 | 43 | 60 | 135 | 139 | 140 => 8,
            51 => 4,
            44 => 0,
            _ => return (protocol, Some(at)),
        };
        let Some([next, length, high, low, ..]) = array::<8>(frame, at) else {
            return (protocol, None);
        };
        let end = at + 8 + usize::from(length) * unit;
        if end > frame.len() {
            return (protocol, None);
        }
        let later = protocol == 44 && u16::from_be_bytes([high, low]) >> 3 != 0;
        (protocol, at) = (next, end);
        if later {
            return (protocol, None);
        }
    }
    (protocol, Some(at))
}

/// The ports at `at`, which come first in every protocol that has them.
fn ports(frame: &[u8], at: usize, protocol: u8) -> [u8; 4] {
    match protocol {
        TCP | UDP | 33 | 132 | 136 => array(frame, at).unwrap_or_default(),
        _ => [0; 4],
    }
}

/// The `N` bytes at `at`, if they are all there.
#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests;
