//! Messages of IGMP (RFC 1112, 2236, 3376) and MLD (RFC 2710, 3810), with one form for both.

mod build;
mod parse;

pub use build::{build_frame, destination};
pub use parse::{BadMessage, Received, parse_frame};

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use node::Time;
use packet::ethernet::Mac;

/// IP family of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IGMP.
    V4,
    /// MLD.
    V6,
}

impl Family {
    /// Both.
    pub const BOTH: [Family; 2] = [Family::V4, Family::V6];

    /// Of an address.
    pub fn of(address: IpAddr) -> Family {
        match address {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }

    /// The group of all hosts of a link.
    pub fn all_hosts(self) -> IpAddr {
        match self {
            Family::V4 => Ipv4Addr::new(224, 0, 0, 1).into(),
            Family::V6 => Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1).into(),
        }
    }
}

/// Version of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// IGMPv1: no leaves.
    One,
    /// IGMPv2 and MLDv1.
    Two,
    /// IGMPv3 and MLDv2: sources.
    #[default]
    Three,
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Version {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Version, D::Error> {
        match u8::deserialize(input)? {
            1 => Ok(Version::One),
            2 => Ok(Version::Two),
            3 => Ok(Version::Three),
            _ => Err(serde::de::Error::custom(
                "a version of IGMP is 1, 2 or 3; MLDv1 counts as 2, MLDv2 as 3",
            )),
        }
    }
}

/// Kind of a group record (RFC 3376 section 4.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// `MODE_IS_INCLUDE`.
    IsInclude = 1,
    /// `MODE_IS_EXCLUDE`.
    IsExclude,
    /// `CHANGE_TO_INCLUDE_MODE`.
    ToInclude,
    /// `CHANGE_TO_EXCLUDE_MODE`.
    ToExclude,
    /// `ALLOW_NEW_SOURCES`.
    Allow,
    /// `BLOCK_OLD_SOURCES`.
    Block,
}

/// A group record of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its kind.
    pub kind: RecordKind,
    /// The group.
    pub group: IpAddr,
    /// Sources.
    pub sources: Vec<IpAddr>,
}

impl Record {
    /// Whether it ends a membership: no source is wanted.
    pub fn is_leave(&self) -> bool {
        self.kind == RecordKind::ToInclude && self.sources.is_empty()
    }
}

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Version.
    pub version: Version,
    /// The group; `None` in a general query.
    pub group: Option<IpAddr>,
    /// Sources that it asks for; none for all.
    pub sources: Vec<IpAddr>,
    /// Maximum response time, up to 3174.4 s; of IGMP in steps of 100 ms, of IGMPv1 10 s.
    pub max_response: Time,
    /// Routers do not lower their timers (S flag).
    pub suppress: bool,
    /// The querier's robustness variable, 0 to 7.
    pub robustness: u8,
    /// The querier's interval, in seconds up to 31,744; zero where it is not stated.
    pub interval: Time,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// From the querier.
    Query(Query),
    /// A report of one group, of [`Version::One`] or [`Version::Two`].
    Report(Version, IpAddr),
    /// `Leave Group`, or MLDv1's `Done`.
    Leave(IpAddr),
    /// A report of [`Version::Three`].
    Records(Vec<Record>),
}

/// The MAC address of a group (RFC 1112 section 6.4, RFC 2464 section 7).
pub fn mac_of(group: IpAddr) -> Mac {
    match group {
        IpAddr::V4(group) => {
            let [_, b, c, d] = group.octets();
            Mac([1, 0, 0x5E, b & 0x7F, c, d])
        }
        IpAddr::V6(group) => {
            let [.., a, b, c, d] = group.octets();
            Mac([0x33, 0x33, a, b, c, d])
        }
    }
}

/// Whether an address is a group whose membership is reported and may be limited to some ports: not those of a link's
/// own protocols, 224.0.0.0/24 (RFC 4541 section 2.1.2), and not ff02::1 or the scopes 0 and 1 (RFC 3810 section 6).
pub fn is_reported(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(group) => group.is_multicast() && group.octets()[..3] != [224, 0, 0],
        IpAddr::V6(group) => {
            let scope = group.octets()[1] & 15;
            group.is_multicast() && scope > 1 && IpAddr::V6(group) != Family::V6.all_hosts()
        }
    }
}

/// Whether a router forwards packets to a group: not those with the scope of a link or less.
pub fn is_routable(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(_) => is_reported(group),
        IpAddr::V6(address) => is_reported(group) && address.octets()[1] & 15 > 2,
    }
}
