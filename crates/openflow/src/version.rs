//! The versions of the protocol that are spoken here.

use core::fmt;
use core::str::FromStr;

/// A version of OpenFlow; its number is the first byte of each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// OpenFlow 1.0.x, 0x01 on the wire.
    V10 = 1,
    /// OpenFlow 1.3.x, 0x04 on the wire.
    V13 = 4,
}

impl Version {
    /// Those spoken here, the lowest first.
    pub const ALL: [Version; 2] = [Version::V10, Version::V13];

    /// The version with this number in the header.
    pub const fn from_wire(number: u8) -> Option<Version> {
        match number {
            1 => Some(Version::V10),
            4 => Some(Version::V13),
            _ => None,
        }
    }

    /// The number in the header.
    pub const fn wire(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::V10 => "1.0",
            Version::V13 => "1.3",
        })
    }
}

/// A text that is no version spoken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("versions 1.0 and 1.3 are spoken here, OpenFlow10 and OpenFlow13 to Open vSwitch")]
pub struct BadVersion;

impl FromStr for Version {
    type Err = BadVersion;

    /// Reads `1.0`, `1.3`, and Open vSwitch's `OpenFlow10`, `OpenFlow13`.
    fn from_str(text: &str) -> Result<Version, BadVersion> {
        let name = |version: &&Version| match version {
            Version::V10 => text == "1.0" || text.eq_ignore_ascii_case("OpenFlow10"),
            Version::V13 => text == "1.3" || text.eq_ignore_ascii_case("OpenFlow13"),
        };
        Version::ALL.iter().find(name).copied().ok_or(BadVersion)
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(Version: "a version, such as \"1.3\"");

/// What a version of the protocol cannot say, or no message can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("OpenFlow {version} cannot say {what}")]
pub struct Unsupported {
    /// The version asked for.
    pub version: Version,
    /// What it lacks: a noun, such as `a group`.
    pub what: &'static str,
}

impl Unsupported {
    pub(crate) fn new(version: Version, what: &'static str) -> Unsupported {
        Unsupported { version, what }
    }
}
