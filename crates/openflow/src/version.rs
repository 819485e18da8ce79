//! The versions of the protocol that are spoken here.

use core::fmt;

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
