//! Prefixes of networks, as iproute2 writes them.

use alloc::string::{String, ToString};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// A network: `10.0.0.0/8`, `fd00::/16`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// Text that is no prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPrefix {
    /// Not an address, a slash and a length.
    #[error("`{0}` is not a prefix such as 10.0.0.0/8, fd00::/16 or `default`")]
    Text(String),
    /// Bits after the prefix.
    #[error("`{0}` has bits after its prefix; write {1}")]
    HostBits(String, Prefix),
}

impl Prefix {
    /// The prefix of an address; a length above that of an address counts as that.
    pub fn new(address: IpAddr, length: u8) -> Prefix {
        match address {
            IpAddr::V4(address) => {
                let length = length.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                Prefix {
                    address: Ipv4Addr::from_bits(address.to_bits() & mask).into(),
                    length,
                }
            }
            IpAddr::V6(address) => {
                let length = length.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                Prefix {
                    address: Ipv6Addr::from_bits(address.to_bits() & mask).into(),
                    length,
                }
            }
        }
    }

    /// All IPv4 addresses, or all IPv6 addresses.
    pub const fn all(is_v4: bool) -> Prefix {
        let address = match is_v4 {
            true => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            false => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        Prefix { address, length: 0 }
    }

    /// Its first address.
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// Its length in bits.
    pub fn length(self) -> u8 {
        self.length
    }

    /// Whether an address is in it.
    pub fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && Prefix::new(address, self.length) == self
    }
}

impl FromStr for Prefix {
    type Err = BadPrefix;

    fn from_str(text: &str) -> Result<Prefix, BadPrefix> {
        let bad = || BadPrefix::Text(text.to_string());
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => {
                // A sign would be read as part of a number.
                let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
                let length = length.parse::<u8>().ok().filter(|_| digits);
                (address, Some(length.ok_or_else(bad)?))
            }
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(longest);
        if length > longest {
            return Err(bad());
        }
        let prefix = Prefix::new(address, length);
        match prefix.address == address {
            true => Ok(prefix),
            false => Err(BadPrefix::HostBits(text.to_string(), prefix)),
        }
    }
}

impl fmt::Display for Prefix {
    /// As `ip route` does: without the length of one address, and `default` for all, in the alternate form in numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.address, self.length) {
            (address, 0) if address.is_unspecified() && !f.alternate() => f.write_str("default"),
            (IpAddr::V4(address), 32) => write!(f, "{address}"),
            (IpAddr::V6(address), 128) => write!(f, "{address}"),
            (address, length) => write!(f, "{address}/{length}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_read_as_iproute2_reads_it() {
        for (text, shown) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.0.0.1", "10.0.0.1"),
            ("10.0.0.1/32", "10.0.0.1"),
            ("0.0.0.0/0", "default"),
            ("fd00::/16", "fd00::/16"),
            ("fd00::1", "fd00::1"),
            ("::/0", "default"),
        ] {
            let prefix: Prefix = text.parse().expect(text);
            assert_eq!(prefix.to_string(), shown);
            assert!(prefix.contains(prefix.address()));
        }
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0/8",
            "fd00::/129",
            "x/3",
            "10.0.0.0/",
            "10.0.0.0/+8",
        ] {
            assert_eq!(
                text.parse::<Prefix>(),
                Err(BadPrefix::Text(text.to_string()))
            );
        }
        let error = "10.0.0.1/8".parse::<Prefix>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`10.0.0.1/8` has bits after its prefix; write 10.0.0.0/8"
        );
        let prefix: Prefix = "10.0.0.0/8".parse().unwrap();
        assert!(!prefix.contains("11.0.0.0".parse().unwrap()));
        assert!(!prefix.contains("::".parse().unwrap()));
    }
}
