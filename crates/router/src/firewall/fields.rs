//! Fields of packets and connections that rules look at.

use super::Packet;
use super::values::Type;
use crate::conntrack::{Direction, State};
use core::net::IpAddr;

/// Bytes of an IPv6 header before its addresses.
const IPV6_SOURCE: usize = 8;
const IPV4_SOURCE: usize = 12;

/// A field. Its value has at most 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Ports of arrival and departure; [`NO_PORT`] without one.
    Iif,
    Oif,
    L4Protocol,
    Family,
    Length,
    Mark,
    /// Bytes of the IP header of a version.
    Ip {
        is_v4: bool,
        at: u8,
        bytes: u8,
        shift: u8,
        bits: u8,
    },
    /// Bytes of the header of a protocol, or of any.
    Upper {
        protocol: Option<u8>,
        at: u8,
        bytes: u8,
    },
    CtState,
    CtMark,
    CtStatus,
    CtDirection,
}

/// Number of no port.
pub(super) const NO_PORT: u128 = u128::MAX;

/// A name of a field in the language: the words before it, the field, and its type.
pub(super) struct Named {
    pub words: &'static str,
    pub field: Field,
    pub kind: Type,
}

const fn ip(is_v4: bool, at: u8, bytes: u8) -> Field {
    Field::Ip {
        is_v4,
        at,
        bytes,
        shift: 0,
        bits: 8 * bytes,
    }
}

const fn upper(protocol: u8, at: u8, bytes: u8) -> Field {
    Field::Upper {
        protocol: Some(protocol),
        at,
        bytes,
    }
}

const fn named(words: &'static str, field: Field, kind: Type) -> Named {
    Named { words, field, kind }
}

/// All fields.
pub(super) const FIELDS: [Named; 43] = [
    named("meta l4proto", Field::L4Protocol, Type::Protocol),
    named("meta nfproto", Field::Family, Type::Family),
    named("meta length", Field::Length, Type::Number(32)),
    named("meta mark", Field::Mark, Type::Mark),
    named("ip saddr", ip(true, 12, 4), Type::Ipv4),
    named("ip daddr", ip(true, 16, 4), Type::Ipv4),
    named("ip protocol", ip(true, 9, 1), Type::Protocol),
    named("ip ttl", ip(true, 8, 1), Type::Number(8)),
    named("ip length", ip(true, 2, 2), Type::Number(16)),
    named("ip id", ip(true, 4, 2), Type::Number(16)),
    named(
        "ip dscp",
        Field::Ip {
            is_v4: true,
            at: 1,
            bytes: 1,
            shift: 2,
            bits: 6,
        },
        Type::Dscp,
    ),
    named("ip6 saddr", ip(false, 8, 16), Type::Ipv6),
    named("ip6 daddr", ip(false, 24, 16), Type::Ipv6),
    named("ip6 nexthdr", ip(false, 6, 1), Type::Protocol),
    named("ip6 hoplimit", ip(false, 7, 1), Type::Number(8)),
    named("ip6 length", ip(false, 4, 2), Type::Number(16)),
    named(
        "ip6 dscp",
        Field::Ip {
            is_v4: false,
            at: 0,
            bytes: 2,
            shift: 6,
            bits: 6,
        },
        Type::Dscp,
    ),
    named("icmp type", upper(1, 0, 1), Type::IcmpMessage),
    named("icmp code", upper(1, 1, 1), Type::IcmpCode),
    named("icmpv6 type", upper(58, 0, 1), Type::Icmpv6Message),
    named("icmpv6 code", upper(58, 1, 1), Type::Icmpv6Code),
    named("tcp sport", upper(6, 0, 2), Type::Port),
    named("tcp dport", upper(6, 2, 2), Type::Port),
    named("tcp sequence", upper(6, 4, 4), Type::Number(32)),
    named("tcp ackseq", upper(6, 8, 4), Type::Number(32)),
    named("tcp flags", upper(6, 13, 1), Type::Flags),
    named("tcp window", upper(6, 14, 2), Type::Number(16)),
    named("udp sport", upper(17, 0, 2), Type::Port),
    named("udp dport", upper(17, 2, 2), Type::Port),
    named("udp length", upper(17, 4, 2), Type::Number(16)),
    named(
        "th sport",
        Field::Upper {
            protocol: None,
            at: 0,
            bytes: 2,
        },
        Type::Port,
    ),
    named(
        "th dport",
        Field::Upper {
            protocol: None,
            at: 2,
            bytes: 2,
        },
        Type::Port,
    ),
    named("ct state", Field::CtState, Type::State),
    named("ct mark", Field::CtMark, Type::Mark),
    named("ct status", Field::CtStatus, Type::Status),
    named("ct direction", Field::CtDirection, Type::Direction),
    named("meta iif", Field::Iif, Type::Interface),
    named("meta oif", Field::Oif, Type::Interface),
    named("meta iifname", Field::Iif, Type::Interface),
    named("meta oifname", Field::Oif, Type::Interface),
    named("iif", Field::Iif, Type::Interface),
    named("oif", Field::Oif, Type::Interface),
    named("mark", Field::Mark, Type::Mark),
];

impl Field {
    /// Whether the field is one of a tracked connection.
    pub fn needs_tracking(self) -> bool {
        matches!(
            self,
            Field::CtState | Field::CtMark | Field::CtStatus | Field::CtDirection
        )
    }

    /// IP version and upper protocol of the packets that have the field.
    pub fn needs(self) -> (Option<bool>, Option<u8>) {
        match self {
            Field::Ip { is_v4, .. } => (Some(is_v4), None),
            Field::Upper {
                protocol: Some(1), ..
            } => (Some(true), Some(1)),
            Field::Upper {
                protocol: Some(58), ..
            } => (Some(false), Some(58)),
            Field::Upper { protocol, .. } => (None, protocol),
            _ => (None, None),
        }
    }

    /// The field's value; `None` when the packet has none.
    #[inline]
    pub fn load(self, packet: &Packet) -> Option<u128> {
        let headers = packet.headers;
        match self {
            Field::Iif => Some(packet.iif.map_or(NO_PORT, u128::from)),
            Field::Oif => Some(packet.oif.map_or(NO_PORT, u128::from)),
            Field::L4Protocol => headers.upper_protocol().map(u128::from),
            Field::Family => Some(if headers.source.is_ipv4() { 2 } else { 10 }),
            Field::Length => Some((headers.end - headers.ip) as u128),
            Field::Mark => Some(packet.mark.into()),
            Field::Ip {
                is_v4,
                at,
                bytes,
                shift,
                bits,
            } => {
                if headers.source.is_ipv4() != is_v4 {
                    return None;
                }
                let value = match (headers.source, headers.destination) {
                    (IpAddr::V4(source), _) if usize::from(at) == IPV4_SOURCE => {
                        source.to_bits().into()
                    }
                    (IpAddr::V6(source), _) if usize::from(at) == IPV6_SOURCE => source.to_bits(),
                    _ => number(packet.frame, headers.ip + usize::from(at), bytes)?,
                };
                Some(value >> shift & (u128::MAX >> (128 - u32::from(bits))))
            }
            Field::Upper { at, bytes, .. } => {
                // Extension headers without an end have nothing after them.
                let named = headers.upper_protocol()?;
                let (is_v4, wanted) = self.needs();
                let is_other = is_v4.is_some_and(|is_v4| is_v4 != headers.source.is_ipv4());
                if is_other || wanted.is_some_and(|wanted| wanted != named) {
                    return None;
                }
                let at = usize::from(at);
                let upper = headers.upper(packet.frame)?;
                upper.get(at..at + usize::from(bytes))?;
                number(packet.frame, headers.payload + at, bytes)
            }
            Field::CtState => Some(match packet.tracked.state {
                State::Invalid => 1,
                State::Established => 2,
                State::Related => 4,
                State::New => 8,
                State::Untracked => 64,
            }),
            Field::CtMark => packet
                .tracker
                .as_deref()?
                .mark(&packet.tracked)
                .map(u128::from),
            Field::CtStatus => packet
                .tracker
                .as_deref()?
                .status(&packet.tracked)
                .map(u128::from),
            Field::CtDirection => {
                packet
                    .tracked
                    .has_connection()
                    .then_some(match packet.tracked.direction {
                        Direction::Original => 0,
                        Direction::Reply => 1,
                    })
            }
        }
    }
}

#[inline]
fn number(frame: &[u8], at: usize, bytes: u8) -> Option<u128> {
    let field = frame.get(at..at + usize::from(bytes))?;
    Some(match *field {
        [a] => a.into(),
        [a, b] => u16::from_be_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
        _ => field
            .iter()
            .fold(0, |value, byte| value << 8 | u128::from(*byte)),
    })
}
