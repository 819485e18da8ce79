//! Types of values, and their texts.

use super::Fault;
use alloc::format;
use alloc::string::String;
use core::net::{Ipv4Addr, Ipv6Addr};
use packet::ipv4::protocol;
use packet::tcp::flag;

/// Type of a field, of the elements of a set, and of the keys of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Ipv4,
    Ipv6,
    Port,
    Protocol,
    IcmpMessage,
    Icmpv6Message,
    IcmpCode,
    Icmpv6Code,
    Mark,
    State,
    Status,
    Direction,
    Family,
    Dscp,
    Flags,
    Interface,
    /// A number of at most this many bits.
    Number(u8),
}

const PORTS: [(&str, u128); 22] = [
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("domain", 53),
    ("bootps", 67),
    ("bootpc", 68),
    ("tftp", 69),
    ("http", 80),
    ("pop3", 110),
    ("sunrpc", 111),
    ("ntp", 123),
    ("imap2", 143),
    ("snmp", 161),
    ("bgp", 179),
    ("ldap", 389),
    ("https", 443),
    ("submission", 587),
    ("ldaps", 636),
    ("imaps", 993),
    ("pop3s", 995),
    ("mysql", 3306),
];
const PROTOCOLS: [(&str, u128); 9] = [
    ("icmp", protocol::ICMP as u128),
    ("igmp", protocol::IGMP as u128),
    ("tcp", protocol::TCP as u128),
    ("udp", protocol::UDP as u128),
    ("gre", protocol::GRE as u128),
    ("esp", protocol::ESP as u128),
    ("ah", protocol::AUTHENTICATION as u128),
    ("icmpv6", protocol::ICMPV6 as u128),
    ("sctp", protocol::SCTP as u128),
];
const ICMP_TYPES: [(&str, u128); 13] = [
    ("echo-reply", 0),
    ("destination-unreachable", 3),
    ("source-quench", 4),
    ("redirect", 5),
    ("echo-request", 8),
    ("router-advertisement", 9),
    ("router-solicitation", 10),
    ("time-exceeded", 11),
    ("parameter-problem", 12),
    ("timestamp-request", 13),
    ("timestamp-reply", 14),
    ("address-mask-request", 17),
    ("address-mask-reply", 18),
];
const ICMPV6_TYPES: [(&str, u128); 14] = [
    ("destination-unreachable", 1),
    ("packet-too-big", 2),
    ("time-exceeded", 3),
    ("parameter-problem", 4),
    ("echo-request", 128),
    ("echo-reply", 129),
    ("mld-listener-query", 130),
    ("mld-listener-report", 131),
    ("mld-listener-done", 132),
    ("nd-router-solicit", 133),
    ("nd-router-advert", 134),
    ("nd-neighbor-solicit", 135),
    ("nd-neighbor-advert", 136),
    ("nd-redirect", 137),
];
/// Codes of "destination unreachable".
pub(super) const ICMP_CODES: [(&str, u128); 7] = [
    ("net-unreachable", 0),
    ("host-unreachable", 1),
    ("prot-unreachable", 2),
    ("port-unreachable", 3),
    ("net-prohibited", 9),
    ("host-prohibited", 10),
    ("admin-prohibited", 13),
];
pub(super) const ICMPV6_CODES: [(&str, u128); 6] = [
    ("no-route", 0),
    ("admin-prohibited", 1),
    ("addr-unreachable", 3),
    ("port-unreachable", 4),
    ("policy-fail", 5),
    ("reject-route", 6),
];
/// `ct state`, in the bits of nftables.
const STATES: [(&str, u128); 5] = [
    ("invalid", 1),
    ("established", 2),
    ("related", 4),
    ("new", 8),
    ("untracked", 64),
];
const STATUS: [(&str, u128); 6] = [
    ("expected", 1),
    ("seen-reply", 2),
    ("assured", 4),
    ("confirmed", 8),
    ("snat", 16),
    ("dnat", 32),
];
const DIRECTIONS: [(&str, u128); 2] = [("original", 0), ("reply", 1)];
const FAMILIES: [(&str, u128); 2] = [("ipv4", 2), ("ipv6", 10)];
const DSCP: [(&str, u128); 21] = [
    ("cs0", 0),
    ("cs1", 8),
    ("cs2", 16),
    ("cs3", 24),
    ("cs4", 32),
    ("cs5", 40),
    ("cs6", 48),
    ("cs7", 56),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("ef", 46),
];
const FLAGS: [(&str, u128); 8] = [
    ("fin", flag::FIN as u128),
    ("syn", flag::SYN as u128),
    ("rst", flag::RST as u128),
    ("psh", flag::PSH as u128),
    ("ack", flag::ACK as u128),
    ("urg", flag::URG as u128),
    ("ecn", flag::ECE as u128),
    ("cwr", flag::CWR as u128),
];

impl Type {
    /// The type that a set declares.
    pub fn named(name: &str) -> Option<Type> {
        Some(match name {
            "ipv4_addr" => Type::Ipv4,
            "ipv6_addr" => Type::Ipv6,
            "inet_service" => Type::Port,
            "inet_proto" => Type::Protocol,
            "icmp_type" => Type::IcmpMessage,
            "icmpv6_type" => Type::Icmpv6Message,
            "mark" => Type::Mark,
            "ct_state" => Type::State,
            "dscp" => Type::Dscp,
            _ => return None,
        })
    }

    fn names(self) -> &'static [(&'static str, u128)] {
        match self {
            Type::Port => &PORTS,
            Type::Protocol => &PROTOCOLS,
            Type::IcmpMessage => &ICMP_TYPES,
            Type::Icmpv6Message => &ICMPV6_TYPES,
            Type::IcmpCode => &ICMP_CODES,
            Type::Icmpv6Code => &ICMPV6_CODES,
            Type::State => &STATES,
            Type::Status => &STATUS,
            Type::Direction => &DIRECTIONS,
            Type::Family => &FAMILIES,
            Type::Dscp => &DSCP,
            Type::Flags => &FLAGS,
            _ => &[],
        }
    }

    /// Number of bits of a value.
    fn bits(self) -> u8 {
        match self {
            Type::Ipv6 => 128,
            Type::Ipv4 | Type::Mark | Type::State | Type::Status | Type::Interface => 32,
            Type::Port => 16,
            Type::Dscp => 6,
            Type::Number(bits) => bits,
            _ => 8,
        }
    }

    /// The largest value.
    pub fn max(self) -> u128 {
        u128::MAX >> (128 - u32::from(self.bits()))
    }

    /// Whether a list of values means any of their bits.
    pub fn is_bits(self) -> bool {
        matches!(self, Type::State | Type::Status | Type::Flags)
    }

    /// Whether values have an order, so that there are ranges of them.
    pub fn has_ranges(self) -> bool {
        !self.is_bits() && !matches!(self, Type::Direction | Type::Family | Type::Interface)
    }

    fn one(self, text: &str) -> Option<u128> {
        if let Some((_, value)) = self.names().iter().find(|(name, _)| *name == text) {
            return Some(*value);
        }
        match self {
            Type::Ipv4 => {
                return text
                    .parse()
                    .ok()
                    .map(|address: Ipv4Addr| address.to_bits().into());
            }
            Type::Ipv6 => return text.parse().ok().map(Ipv6Addr::to_bits),
            // Names alone.
            Type::State | Type::Status | Type::Direction | Type::Family => return None,
            _ => {}
        }
        let value = match text.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16).ok()?,
            None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok()?,
            None => return None,
        };
        (value <= self.max()).then_some(value)
    }

    fn example(self) -> String {
        match (self, self.names().first()) {
            (Type::Ipv4, _) => String::from("an IPv4 address, such as 192.0.2.1 or 192.0.2.0/24"),
            (Type::Ipv6, _) => {
                String::from("an IPv6 address, such as 2001:db8::1 or 2001:db8::/32")
            }
            (_, Some((name, _))) => {
                format!("a name such as `{name}`, or a number to {}", self.max())
            }
            _ => format!("a number from 0 to {}", self.max()),
        }
    }

    /// Reads a value, a prefix, or a range, as its first and last value.
    pub fn read(self, text: &str, line: u32, column: u32) -> Result<(u128, u128), Fault> {
        let error = |reason| Fault::new(line, column, reason);
        let fault = || error(format!("`{text}`: write {}", self.example()));
        if let Some(value) = self.one(text) {
            return Ok((value, value));
        }
        if let Some((address, length)) = text.split_once('/')
            && matches!(self, Type::Ipv4 | Type::Ipv6)
        {
            let value = self.one(address).ok_or_else(fault)?;
            let length: u32 = length.parse().map_err(|_| fault())?;
            let free = u32::from(self.bits())
                .checked_sub(length)
                .ok_or_else(fault)?;
            let host = u128::MAX.checked_shl(free).map_or(u128::MAX, |mask| !mask) & self.max();
            let host = if free == 0 { 0 } else { host };
            return Ok((value & !host, value | host));
        }
        let Some((first, last)) = text.split_once('-').filter(|_| self.has_ranges()) else {
            return Err(fault());
        };
        let [first, last] = [first, last].map(|text| self.one(text).ok_or_else(fault));
        let (first, last) = (first?, last?);
        match first < last {
            true => Ok((first, last)),
            false => Err(error(format!(
                "`{text}`: the range ends before its second value"
            ))),
        }
    }
}
