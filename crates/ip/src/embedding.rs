//! IPv4 addresses in IPv6 addresses (RFC 6052).

use alloc::string::{String, ToString};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// Fault of a text that is not a prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a prefix for IPv4 addresses: its length is 32, 40, 48, 56, 64 or 96, as of 64:ff9b::/96"
)]
pub struct BadPrefix(pub String);

/// A prefix of IPv6 addresses in which IPv4 addresses are embedded: `64:ff9b::/96`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: [u8; 16],
    length: u8,
}

/// The byte of an address that is always zero (RFC 6052 section 2.2).
const RESERVED: usize = 8;

impl Prefix {
    /// The well-known prefix, 64:ff9b::/96, which only carries global addresses (RFC 6052 section
    /// 3.1).
    pub const WELL_KNOWN: Prefix = Prefix {
        address: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        length: 96,
    };

    /// A prefix; `None` unless `length` is 32, 40, 48, 56, 64 or 96 bits, the rest of the address
    /// is zero, and with 96 bits the reserved byte is.
    pub fn new(address: Ipv6Addr, length: u8) -> Option<Prefix> {
        let address = address.octets();
        let rest = address.get(usize::from(length) / 8..)?;
        let is_zero = rest.iter().all(|&byte| byte == 0) && address[RESERVED] == 0;
        let is_length = matches!(length, 32 | 40 | 48 | 56 | 64 | 96);
        (is_length && is_zero).then_some(Prefix { address, length })
    }

    /// The prefix, with zeros after it.
    pub fn address(self) -> Ipv6Addr {
        self.address.into()
    }

    /// Its length, bits.
    pub fn length(self) -> u8 {
        self.length
    }

    /// Number of bits of the IPv4 address among the first `bits` bits of an address of this prefix; `None` when the prefix is longer.
    pub fn embedded_bits(self, bits: u8) -> Option<u8> {
        let of = |place: usize| usize::from(bits).saturating_sub(8 * place).min(8);
        let covered: usize = self.places().into_iter().map(of).sum();
        (self.length..=128).contains(&bits).then_some(covered as u8)
    }

    /// Places of the four bytes of an IPv4 address.
    fn places(self) -> [usize; 4] {
        let first = usize::from(self.length) / 8;
        core::array::from_fn(|index| {
            let place = first + index;
            place + usize::from(first <= RESERVED && place >= RESERVED)
        })
    }

    /// The IPv6 address of an IPv4 address; `None` when the well-known prefix must not carry it.
    pub fn embed(self, address: Ipv4Addr) -> Option<Ipv6Addr> {
        if self == Prefix::WELL_KNOWN && !is_global(address) {
            return None;
        }
        let mut bytes = self.address;
        for (place, byte) in self.places().into_iter().zip(address.octets()) {
            bytes[place] = byte;
        }
        Some(bytes.into())
    }

    /// The IPv4 address in an IPv6 address of this prefix. The bits after it do not matter.
    pub fn extract(self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let bytes = address.octets();
        let length = usize::from(self.length) / 8;
        if bytes[..length] != self.address[..length] || bytes[RESERVED] != 0 {
            return None;
        }
        let address = Ipv4Addr::from(self.places().map(|place| bytes[place]));
        (self != Prefix::WELL_KNOWN || is_global(address)).then_some(address)
    }
}

/// Whether an address is global: not of RFC 1918, RFC 6598, loopback, link-local, multicast or
/// reserved.
fn is_global(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    let is_shared = a == 100 && b & 0xC0 == 64;
    !(address.is_private()
        || is_shared
        || address.is_loopback()
        || address.is_link_local()
        || a == 0
        || a >= 224)
}

impl FromStr for Prefix {
    type Err = BadPrefix;
    fn from_str(text: &str) -> Result<Prefix, BadPrefix> {
        let parts = text
            .split_once('/')
            .and_then(|(address, length)| Prefix::new(address.parse().ok()?, length.parse().ok()?));
        parts.ok_or_else(|| BadPrefix(text.to_string()))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv6Addr::from(self.address), self.length)
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(Prefix: "a prefix, such as \"64:ff9b::/96\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_6052_hold() {
        let address = Ipv4Addr::new(192, 0, 2, 33);
        for (prefix, expected) in [
            ("2001:db8::/32", "2001:db8:c000:221::"),
            ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
            ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
            ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
            ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100:0"),
            ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
            ("64:ff9b::/96", "64:ff9b::192.0.2.33"),
        ] {
            let prefix: Prefix = prefix.parse().unwrap();
            let expected: Ipv6Addr = expected.parse().unwrap();
            assert_eq!(prefix.embed(address), Some(expected), "{prefix}");
            assert_eq!(prefix.extract(expected), Some(address));
            assert_eq!(prefix.to_string().parse(), Ok(prefix));
            let [first, ..] = expected.octets();
            let mut other = expected.octets();
            other[0] = first ^ 1;
            assert_eq!(prefix.extract(other.into()), None);
        }
    }

    #[test]
    fn bits_of_the_ipv4_address_are_counted_without_the_reserved_byte() {
        let long: Prefix = "64:ff9b::/96".parse().unwrap();
        let bits = [95, 96, 120, 128, 129].map(|bits| long.embedded_bits(bits));
        assert_eq!(bits, [None, Some(0), Some(24), Some(32), None]);
        let short: Prefix = "2001:db8:122::/48".parse().unwrap();
        let bits = [48, 60, 64, 70, 72, 80, 88, 128].map(|bits| short.embedded_bits(bits));
        assert_eq!(bits, [0, 12, 16, 16, 16, 24, 32, 32].map(Some));
    }

    #[test]
    fn the_well_known_prefix_carries_global_addresses_only() {
        for address in [
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "224.0.0.1",
        ] {
            let address: Ipv4Addr = address.parse().unwrap();
            assert_eq!(Prefix::WELL_KNOWN.embed(address), None);
            let other: Prefix = "2001:db8::/96".parse().unwrap();
            assert!(other.embed(address).is_some());
        }
    }

    #[test]
    fn other_lengths_and_bits_are_refused() {
        for text in [
            "::/0",
            "::/33",
            "2001:db8::/128",
            "2001:db8::",
            "2001:db8::1/96",
            "2001:db8:0:0:100::/96",
            "x/96",
        ] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }
}
