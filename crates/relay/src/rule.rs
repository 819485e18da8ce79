//! Which packets are meant: by addresses, protocol, ports and DSCP.
//!
//! A [`Rule`] has up to five conditions; those that are given must all hold, and of a list one of its members. A rule
//! without conditions matches every IP packet. Fragments have no ports here, not even the first: what becomes of a packet
//! must become of all its parts.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use packet::flow::{FiveTuple, five_tuple};
use packet::ip::IpView;
use packet::ipv4::protocol;
use packet::vlan::untagged;

/// What rules look at of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Who talks to whom; without ports in every fragment.
    pub tuple: FiveTuple,
    /// The six bits of RFC 2474.
    pub dscp: u8,
}

impl Headers {
    /// Reads them; `None` for what is not IP.
    pub fn read(frame: &[u8]) -> Option<Headers> {
        let mut tuple = five_tuple(frame)?;
        let (kind, packet) = untagged(frame)?;
        let ip = IpView::new_any_length(kind, packet).ok()?;
        if ip.is_fragment() {
            (tuple.source_port, tuple.destination_port) = (0, 0);
        }
        let dscp = ip.traffic_class() >> 2;
        Some(Headers { tuple, dscp })
    }
}

/// A condition on packets. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Rule {
    /// Where packets come from: one of these.
    pub from: Vec<Prefix>,
    /// Where they go: one of these.
    pub to: Vec<Prefix>,
    /// What IP carries, behind extension headers: one of these.
    pub protocol: Vec<Protocol>,
    /// Either end's port is among these; only TCP, UDP, UDP-Lite, SCTP and DCCP have ports.
    pub ports: Vec<Ports>,
    /// The DSCP is one of these, 0 to 63.
    pub dscp: Vec<u8>,
}

impl Rule {
    /// Whether a packet is meant.
    pub fn matches(&self, headers: &Headers) -> bool {
        let tuple = &headers.tuple;
        let ends = [tuple.source_port, tuple.destination_port];
        holds(&self.dscp, |dscp| *dscp == headers.dscp)
            && holds(&self.protocol, |protocol| protocol.0 == tuple.protocol)
            && holds(&self.ports, |ports| {
                protocol::has_ports(tuple.protocol) && ends.iter().any(|port| ports.contains(*port))
            })
            && holds(&self.from, |prefix| prefix.contains(tuple.source))
            && holds(&self.to, |prefix| prefix.contains(tuple.destination))
    }
}

/// Whether a list is empty, or something holds for one of its members.
fn holds<T>(list: &[T], holds: impl FnMut(&T) -> bool) -> bool {
    list.is_empty() || list.iter().any(holds)
}

/// Whether one of the rules matches, or there are none; what is not IP matches none.
pub fn any_matches(rules: &[Rule], headers: Option<&Headers>) -> bool {
    headers.is_some_and(|headers| holds(rules, |rule| rule.matches(headers)))
}

/// Why a text is no condition of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    #[error("`{0}` is not a prefix, such as 10.0.0.0/8 or 2001:db8::/32")]
    Prefix(String),
    /// A prefix that is too long; the longest of this version of IP.
    #[error("`{0}`: a prefix of this version has 0 to {1} bits")]
    Length(String, u8),
    /// Not a range of ports.
    #[error("`{0}` is not a port or a range of ports, such as 5004 or 5004-5010")]
    Ports(String),
    #[error("`{0}` is not a protocol: tcp, udp, icmp, icmpv6, sctp, or a number to 255")]
    Protocol(String),
}

/// Addresses that share their first bits: `10.0.0.0/8`, `2001:db8::/32`; without a length one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// Whether an address is among them.
    pub fn contains(self, other: IpAddr) -> bool {
        let same =
            |difference: u128, width: u8| self.bits == 0 || difference >> (width - self.bits) == 0;
        match (self.address, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same((a.to_bits() ^ b.to_bits()).into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits() ^ b.to_bits(), 128),
            _ => false,
        }
    }
}

impl FromStr for Prefix {
    type Err = ConditionError;
    fn from_str(text: &str) -> Result<Prefix, ConditionError> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let wanted = || ConditionError::Prefix(text.into());
        let address: IpAddr = address.trim().parse().map_err(|_| wanted())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => width,
            Some(bits) => bits.trim().parse().map_err(|_| wanted())?,
        };
        match bits <= width {
            true => Ok(Prefix { address, bits }),
            false => Err(ConditionError::Length(text.into(), width)),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// Ports from one to another, both included: `"5004"`, `"5004-5010"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    /// Whether a port is among them.
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl FromStr for Ports {
    type Err = ConditionError;
    fn from_str(text: &str) -> Result<Ports, ConditionError> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let wanted = || ConditionError::Ports(text.into());
        let port = |text: &str| text.trim().parse().map_err(|_| wanted());
        let (first, last) = (port(first)?, port(last)?);
        match first <= last {
            true => Ok(Ports { first, last }),
            false => Err(wanted()),
        }
    }
}

/// What IP carries: `"tcp"`, `"udp"`, `"icmp"`, `"icmpv6"`, `"sctp"`, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol(pub u8);

impl FromStr for Protocol {
    type Err = ConditionError;
    fn from_str(text: &str) -> Result<Protocol, ConditionError> {
        let known = [
            ("icmp", 1),
            ("tcp", 6),
            ("udp", 17),
            ("icmpv6", 58),
            ("sctp", 132),
        ];
        let text = text.trim();
        let found = known.iter().find(|(name, _)| *name == text);
        let number = found.map(|found| found.1).or_else(|| text.parse().ok());
        let wanted = || ConditionError::Protocol(text.into());
        number.map(Protocol).ok_or_else(wanted)
    }
}

/// Texts, or numbers, from files.
#[cfg(feature = "serde")]
mod read {
    use super::{ConditionError, Ports, Prefix, Protocol};
    use alloc::string::ToString;
    use core::fmt::{self, Display};
    use core::marker::PhantomData;
    use core::str::FromStr;
    use serde::de::{Deserialize, Deserializer, Error, Visitor};

    struct Text<T>(PhantomData<T>);

    impl<T: FromStr<Err = ConditionError>> Visitor<'_> for Text<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            parse(number)
        }
        fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
            parse(number)
        }
    }

    fn parse<T: FromStr<Err = ConditionError>, E: Error>(number: impl Display) -> Result<T, E> {
        number.to_string().parse().map_err(E::custom)
    }

    macro_rules! from_text {
        ($($of:ty),*) => { $(
            impl<'de> Deserialize<'de> for $of {
                fn deserialize<D: Deserializer<'de>>(input: D) -> Result<$of, D::Error> {
                    input.deserialize_any(Text(PhantomData))
                }
            }
        )* };
    }
    from_text!(Prefix, Ports, Protocol);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(source: &str, destination: &str, protocol: u8, ports: (u16, u16)) -> Headers {
        Headers {
            tuple: FiveTuple {
                source: source.parse().unwrap(),
                destination: destination.parse().unwrap(),
                protocol,
                source_port: ports.0,
                destination_port: ports.1,
            },
            dscp: 46,
        }
    }

    #[test]
    fn all_conditions_must_hold_and_of_a_list_one() {
        let rule = Rule {
            from: ["10.0.0.0/8".parse().unwrap()].into(),
            ports: ["80".parse().unwrap(), "5004-5010".parse().unwrap()].into(),
            ..Rule::default()
        };
        assert!(rule.matches(&headers("10.9.9.9", "1.2.3.4", 17, (1, 5010))));
        assert!(rule.matches(&headers("10.9.9.9", "1.2.3.4", 6, (80, 1))));
        assert!(!rule.matches(&headers("10.9.9.9", "1.2.3.4", 17, (1, 5011))));
        assert!(!rule.matches(&headers("11.9.9.9", "1.2.3.4", 17, (1, 5010))));
        let dscp = |dscp: &[u8]| Rule {
            dscp: dscp.into(),
            ..Rule::default()
        };
        let packet = headers("fd00::1", "fd00::2", 58, (0, 0));
        assert!(dscp(&[46, 34]).matches(&packet) && !dscp(&[34]).matches(&packet));
        assert!(any_matches(&[], Some(&packet)) && !any_matches(&[], None));
    }

    #[test]
    fn what_has_no_ports_matches_no_port() {
        let rule = Rule {
            ports: ["0-65535".parse().unwrap()].into(),
            ..Rule::default()
        };
        assert!(!rule.matches(&headers("10.0.0.1", "10.0.0.2", 1, (0, 0))));
        assert!(rule.matches(&headers("10.0.0.1", "10.0.0.2", 132, (0, 0))));
    }

    #[test]
    fn prefixes_hold_what_shares_their_bits() {
        for (prefix, inside, outside) in [
            ("10.1.0.0/16", "10.1.255.255", "10.2.0.0"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.2"),
            ("0.0.0.0/0", "255.1.1.1", "::1"),
            ("2001:db8::/32", "2001:db8:ffff::", "2001:db9::"),
            ("::/0", "ff02::1", "10.0.0.1"),
        ] {
            let prefix: Prefix = prefix.parse().unwrap();
            assert!(prefix.contains(inside.parse().unwrap()), "{prefix}");
            assert!(!prefix.contains(outside.parse().unwrap()), "{prefix}");
        }
        for wrong in [
            "10.0.0.0/33",
            "10.0.0/8",
            "::/129",
            "",
            "a/8",
            "10.0.0.0/-1",
        ] {
            assert!(wrong.parse::<Prefix>().is_err(), "{wrong}");
        }
        for wrong in ["65536", "2-1", "", "-", "a"] {
            assert!(wrong.parse::<Ports>().is_err(), "{wrong}");
        }
        assert!("tcp6".parse::<Protocol>().is_err());
    }

    #[test]
    fn the_parts_of_a_packet_are_all_alike() {
        let mut frame = [0u8; 60];
        frame[12..24].copy_from_slice(&[8, 0, 0x45, 0xB8, 0, 46, 0, 0, 0, 0, 64, 17]);
        frame[34..38].copy_from_slice(&[0, 53, 0, 54]);
        let whole = Headers::read(&frame).unwrap();
        assert_eq!((whole.dscp, whole.tuple.source_port), (46, 53));
        frame[20] = 0x20;
        let first = Headers::read(&frame).unwrap();
        frame[21] = 0x10;
        assert_eq!(Headers::read(&frame), Some(first));
        assert_eq!(first.tuple.destination_port, 0);
    }
}
