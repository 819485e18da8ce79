//! Counters and tables of a NAT.

use super::endpoint::Endpoint;
use super::forwards::Target;
use super::state::{Mapping, Session};
use alloc::string::ToString;
use core::fmt;
use core::net::{Ipv4Addr, SocketAddrV4};
use core::ops::RangeInclusive;
use node::Time;
use packet::ipv4::protocol;

/// Counts of packets and of what they led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Outbound packets that were translated.
    pub outbound: u64,
    /// Inbound packets that were translated.
    pub inbound: u64,
    /// Packets between inside hosts that were translated; they count as outbound and inbound, too.
    pub hairpinned: u64,
    /// Mappings that were made.
    pub mappings_made: u64,
    /// Mappings that have ended.
    pub mappings_ended: u64,
    /// Sessions that were made.
    pub sessions_made: u64,
    /// Sessions that have ended.
    pub sessions_ended: u64,
    /// Inbound packets that no mapping admitted.
    pub unsolicited: u64,
    /// ICMP errors that belonged to no session.
    pub stray_errors: u64,
    /// Outbound packets that must not begin a session.
    pub not_first: u64,
    /// Outbound packets for which no external port was free.
    pub no_port: u64,
    /// Outbound packets beyond `sessions`.
    pub over_limit: u64,
    /// Outbound packets beyond `sessions_per_host`.
    pub over_host_limit: u64,
    /// Malformed packets.
    pub malformed: u64,
    /// Unsolicited SYNs that were held.
    pub syns_held: u64,
    /// Held SYNs that must be answered.
    pub syns_unanswered: u64,
    /// Blocks of ports that hosts got.
    pub blocks_assigned: u64,
    /// Blocks of ports that came back.
    pub blocks_released: u64,
}

impl Counters {
    /// The counters with their names.
    pub fn named(&self) -> [(&'static str, u64); 18] {
        [
            ("outbound", self.outbound),
            ("inbound", self.inbound),
            ("hairpinned", self.hairpinned),
            ("mappings_made", self.mappings_made),
            ("mappings_ended", self.mappings_ended),
            ("sessions_made", self.sessions_made),
            ("sessions_ended", self.sessions_ended),
            ("unsolicited", self.unsolicited),
            ("stray_errors", self.stray_errors),
            ("not_first", self.not_first),
            ("no_port", self.no_port),
            ("over_limit", self.over_limit),
            ("over_host_limit", self.over_host_limit),
            ("malformed", self.malformed),
            ("syns_held", self.syns_held),
            ("syns_unanswered", self.syns_unanswered),
            ("blocks_assigned", self.blocks_assigned),
            ("blocks_released", self.blocks_released),
        ]
    }
}

/// A session, or a static or explicit mapping, as a line of a table. Ports are 0 where a protocol has none;
/// ICMP's inside and external ports are identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Number of the protocol.
    pub protocol: u8,
    /// Endpoint of the inside host.
    pub inside: SocketAddrV4,
    /// Its external endpoint.
    pub external: SocketAddrV4,
    /// Remote endpoint; `None` for a static or explicit mapping.
    pub remote: Option<SocketAddrV4>,
    /// State of a TCP connection; `static` or `mapped` for a mapping without sessions; of others `replied` or
    /// `unreplied`.
    pub state: &'static str,
    /// Time until the session ends if no packet comes; [`Time::MAX`] for a static mapping.
    pub left: Time,
}

impl Row {
    pub(super) fn of_session(now: Time, mapping: &Mapping, session: &Session) -> Row {
        Row {
            protocol: mapping.protocol,
            inside: mapping.inside.into(),
            external: mapping.external.into(),
            remote: Some(session.remote.into()),
            state: match session.tcp {
                Some(state) => state.name(),
                None if session.is_replied => "replied",
                None => "unreplied",
            },
            left: session.timer.expires - now,
        }
    }

    pub(super) fn of_forward(now: Time, protocol: u8, external: Endpoint, target: &Target) -> Row {
        let is_static = target.is_static();
        Row {
            protocol,
            inside: target.inside.into(),
            external: external.into(),
            remote: None,
            state: if is_static { "static" } else { "mapped" },
            left: match is_static {
                true => Time::MAX,
                false => target.expires - now,
            },
        }
    }
}

/// `udp 10.0.0.2:5000 192.0.2.1:40000 198.51.100.7:53 replied 300 s`.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protocol {
            protocol::TCP => f.write_str("tcp")?,
            protocol::UDP => f.write_str("udp")?,
            protocol::ICMP => f.write_str("icmp")?,
            other => write!(f, "protocol-{other}")?,
        }
        write!(f, " {} {}", self.inside, self.external)?;
        let Some(remote) = self.remote else {
            return match self.left {
                Time::MAX => f.write_str(" any static"),
                left => write!(f, " any {} {left}", self.state),
            };
        };
        write!(f, " {remote} {} {}", self.state, self.left)
    }
}

/// A block of ports of an inside host: `10.0.0.2 192.0.2.1 1024-1087`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// Address of the inside host.
    pub inside: Ipv4Addr,
    /// External address.
    pub external: Ipv4Addr,
    /// Ports, for each protocol.
    pub ports: RangeInclusive<u16>,
}

impl fmt::Display for BlockRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.ports.start(), self.ports.end());
        write!(f, "{} {} {first}-{last}", self.inside, self.external)
    }
}

/// Table of lines.
pub(super) fn table<T: fmt::Display>(
    name: &str,
    rows: impl IntoIterator<Item = T>,
) -> node::outcome::Table {
    node::outcome::Table {
        name: name.into(),
        entries: rows.into_iter().map(|row| row.to_string()).collect(),
    }
}
