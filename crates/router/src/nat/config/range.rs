//! Ranges of addresses and ports, as texts.

use alloc::string::{String, ToString};
use core::fmt;
use core::net::Ipv4Addr;
use core::str::FromStr;

/// Fault of a text that is not a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRange {
    /// Not addresses.
    #[error("`{0}` is not an address or a range, such as 192.0.2.1 or 192.0.2.8-192.0.2.15")]
    Addresses(String),
    /// Not ports.
    #[error("`{0}` is not a range of ports from 1 up, such as 1024-65535")]
    Ports(String),
}

/// IPv4 addresses from `first` to `last`: `192.0.2.8-192.0.2.15`, or a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    /// First address.
    pub first: Ipv4Addr,
    /// Last address, not before `first`.
    pub last: Ipv4Addr,
}

impl From<Ipv4Addr> for AddressRange {
    fn from(address: Ipv4Addr) -> AddressRange {
        AddressRange {
            first: address,
            last: address,
        }
    }
}

impl FromStr for AddressRange {
    type Err = BadRange;
    fn from_str(text: &str) -> Result<AddressRange, BadRange> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(AddressRange { first, last }),
            _ => Err(BadRange::Addresses(text.to_string())),
        }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

/// Ports from `first` to `last`: `1024-65535`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// The ports from `first` to `last`; `None` when there is none, or port 0 is among them.
    pub const fn new(first: u16, last: u16) -> Option<PortRange> {
        if first == 0 || first > last {
            return None;
        }
        Some(PortRange { first, last })
    }

    /// First port.
    pub const fn first(self) -> u16 {
        self.first
    }

    /// Last port.
    pub const fn last(self) -> u16 {
        self.last
    }

    /// Number of ports.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub const fn len(self) -> u16 {
        self.last - self.first + 1
    }
}

impl Default for PortRange {
    fn default() -> PortRange {
        PortRange {
            first: 1_024,
            last: 65_535,
        }
    }
}

impl FromStr for PortRange {
    type Err = BadRange;
    fn from_str(text: &str) -> Result<PortRange, BadRange> {
        let ends = text.split_once('-').and_then(|(first, last)| {
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            PortRange::new(first, last)
        });
        ends.ok_or_else(|| BadRange::Ports(text.to_string()))
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(
    AddressRange: "an address or a range, such as \"192.0.2.1\"",
    PortRange: "a range of ports, such as \"1024-65535\"",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_read_back_as_they_are_shown() {
        for text in ["192.0.2.1", "192.0.2.1-192.0.3.7"] {
            let range: AddressRange = text.parse().unwrap();
            assert_eq!(range.to_string(), text);
        }
        for text in ["1-1", "1024-65535"] {
            let range: PortRange = text.parse().unwrap();
            assert_eq!(range.to_string(), text);
        }
        for text in ["", "192.0.2.2-192.0.2.1", "192.0.2.1-", "1-2-3"] {
            assert!(text.parse::<AddressRange>().is_err(), "{text}");
        }
        for text in ["", "7", "0-9", "9-8", "1-65536", "1-2-3"] {
            assert!(text.parse::<PortRange>().is_err(), "{text}");
        }
    }
}
