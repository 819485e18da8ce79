//! Key of one direction of a connection.

use super::headers::{Headers, is_extension};
use crate::nat::index::Key;
use alloc::format;
use alloc::string::String;
use core::net::IpAddr;
use packet::ipv4::protocol;

/// Type of PPP in a GRE header.
const PPP: [u8; 2] = [0x88, 0x0B];

/// Addresses, protocol, and ports of one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// Number of the VRF: connections of different VRFs are apart.
    pub zone: u16,
    /// Upper protocol.
    pub protocol: u8,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source and destination port; of ICMP the identifier, and type and code; of GRE two keys; 0 of other protocols.
    pub ids: [u16; 2],
}

impl Key for Tuple {
    fn bytes(self) -> impl AsRef<[u8]> {
        let mut bytes = [0; 40];
        for (place, address) in [(0, self.source), (16, self.destination)] {
            match address {
                IpAddr::V4(address) => bytes[place..place + 4].copy_from_slice(&address.octets()),
                IpAddr::V6(address) => bytes[place..place + 16].copy_from_slice(&address.octets()),
            }
        }
        bytes[32..34].copy_from_slice(&self.zone.to_ne_bytes());
        bytes[34] = self.protocol;
        bytes[35] = u8::from(self.source.is_ipv4());
        bytes[36..38].copy_from_slice(&self.ids[0].to_ne_bytes());
        bytes[38..].copy_from_slice(&self.ids[1].to_ne_bytes());
        bytes
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// Type of the reply to an ICMP query, and of the query to a reply (RFC 792, RFC 950; RFC 4443, RFC 4620).
fn other_type(number: u8, kind: u8) -> Option<u8> {
    Some(match (number, kind) {
        (protocol::ICMP, 8) => 0,
        (protocol::ICMP, 0) => 8,
        (protocol::ICMP, 13 | 15 | 17) => kind + 1,
        (protocol::ICMP, 14 | 16 | 18) => kind - 1,
        (protocol::ICMPV6, 128 | 139) => kind + 1,
        (protocol::ICMPV6, 129 | 140) => kind - 1,
        _ => return None,
    })
}

/// Keys of a GRE packet: the call of PPTP's (RFC 2637 section 4.1), towards its receiver, and 0 of others. `None` of that version with
/// another payload than PPP.
fn keys(upper: &[u8]) -> Option<[u16; 2]> {
    let is_enhanced = upper.get(1).is_some_and(|flags| flags & 7 == 1);
    let Some(header) = upper.first_chunk::<8>().filter(|_| is_enhanced) else {
        return Some([0, 0]);
    };
    let [_, _, kind @ .., _, _, call, more] = *header;
    (kind == PPP).then_some([0, u16::from_be_bytes([call, more])])
}

impl Tuple {
    /// The key of a packet; `None` when its headers are cut off, or it is a later fragment.
    pub fn read(zone: u16, bytes: &[u8], headers: &Headers) -> Option<Tuple> {
        let upper = headers.upper(bytes)?;
        let ids = match headers.protocol {
            protocol::TCP | protocol::UDP => [u16_at(upper, 0)?, u16_at(upper, 2)?],
            protocol::ICMP | protocol::ICMPV6 => {
                upper.first_chunk::<8>()?;
                [u16_at(upper, 4)?, u16_at(upper, 0)?]
            }
            protocol::GRE => keys(upper)?,
            // The chain of extension headers has no upper protocol, or is cut off.
            number if headers.source.is_ipv6() && is_extension(number) => return None,
            _ => [0, 0],
        };
        Some(Tuple {
            zone,
            protocol: headers.protocol,
            source: headers.source,
            destination: headers.destination,
            ids,
        })
    }

    /// The key of the other direction; `None` of an ICMP message that has no reply.
    pub fn inverse(self) -> Option<Tuple> {
        let ids = match self.protocol {
            protocol::ICMP | protocol::ICMPV6 => {
                let [kind, code] = self.ids[1].to_be_bytes();
                let kind = other_type(self.protocol, kind)?;
                [self.ids[0], u16::from_be_bytes([kind, code])]
            }
            _ => [self.ids[1], self.ids[0]],
        };
        Some(Tuple {
            source: self.destination,
            destination: self.source,
            ids,
            ..self
        })
    }

    /// Whether a packet of this key may begin a connection: of ICMP only queries.
    pub fn may_begin(&self) -> bool {
        let [kind, _] = self.ids[1].to_be_bytes();
        match self.protocol {
            protocol::ICMP => self.source.is_ipv4() && matches!(kind, 8 | 13 | 15 | 17),
            protocol::ICMPV6 => self.source.is_ipv6() && matches!(kind, 128 | 139),
            _ => true,
        }
    }

    /// The key as conntrack-tools write it.
    pub(super) fn text(&self) -> String {
        let ends = format!("src={} dst={}", self.source, self.destination);
        let [first, second] = self.ids;
        match self.protocol {
            protocol::TCP | protocol::UDP => format!("{ends} sport={first} dport={second}"),
            protocol::ICMP | protocol::ICMPV6 => {
                let [kind, code] = second.to_be_bytes();
                format!("{ends} type={kind} code={code} id={first}")
            }
            protocol::GRE => format!("{ends} srckey={first:#x} dstkey={second:#x}"),
            _ => ends,
        }
    }
}
