//! Explicit address mappings (RFC 7757): pairs of an IPv4 and an IPv6 prefix that stand for each other.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::str::FromStr;
use node::ConfigError;

/// Maximum number of pairs of prefixes; those of single addresses have no maximum.
pub const MAX_PREFIXES: usize = 256;

/// Fault of a text that is not a pair.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a pair of an IPv4 and an IPv6 prefix with at least as many bits after the latter, such as \
     `192.0.2.0/24 2001:db8::/120`"
)]
pub struct BadPair(pub String);

/// An IPv4 and an IPv6 prefix; the bits after the former follow the latter, and then zeros (RFC 7757 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    v4: Ipv4Addr,
    length_v4: u8,
    v6: Ipv6Addr,
    length_v6: u8,
}

fn mask_v4(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

fn mask_v6(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl Pair {
    /// A pair; `None` when bits of an address come after its prefix, or the IPv6 prefix leaves fewer bits than the IPv4
    /// prefix does.
    pub fn new(v4: Ipv4Addr, length_v4: u8, v6: Ipv6Addr, length_v6: u8) -> Option<Pair> {
        let fits = length_v4 <= 32 && length_v6 <= 128 && 32 - length_v4 <= 128 - length_v6;
        let is_prefix = fits
            && v4.to_bits() & !mask_v4(length_v4) == 0
            && v6.to_bits() & !mask_v6(length_v6) == 0;
        is_prefix.then_some(Pair {
            v4,
            length_v4,
            v6,
            length_v6,
        })
    }

    fn is_single(self) -> bool {
        self.length_v4 == 32 && self.length_v6 == 128
    }

    /// Bits of an IPv6 address after its prefix, besides those of the IPv4 address.
    fn rest(self) -> u32 {
        (128 - u32::from(self.length_v6)) - (32 - u32::from(self.length_v4))
    }

    fn to_v6(self, address: Ipv4Addr) -> Option<Ipv6Addr> {
        let mask = mask_v4(self.length_v4);
        let suffix = u128::from(address.to_bits() & !mask);
        let is_in = address.to_bits() & mask == self.v4.to_bits();
        is_in.then(|| Ipv6Addr::from_bits(self.v6.to_bits() | suffix << self.rest()))
    }

    fn to_v4(self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let mask = mask_v6(self.length_v6);
        let suffix = (address.to_bits() & !mask) >> self.rest();
        let is_in = address.to_bits() & mask == self.v6.to_bits();
        is_in.then(|| Ipv4Addr::from_bits(self.v4.to_bits() | suffix as u32))
    }
}

impl From<(Ipv4Addr, Ipv6Addr)> for Pair {
    fn from((v4, v6): (Ipv4Addr, Ipv6Addr)) -> Pair {
        Pair {
            v4,
            length_v4: 32,
            v6,
            length_v6: 128,
        }
    }
}

fn prefix<T: FromStr>(text: &str, max: u8) -> Option<(T, u8)> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, length.parse().ok()?),
        None => (text, max),
    };
    Some((address.parse().ok()?, length))
}

/// `192.0.2.0/24 2001:db8::/120`, or two addresses.
impl FromStr for Pair {
    type Err = BadPair;
    fn from_str(text: &str) -> Result<Pair, BadPair> {
        let read = || {
            let (v4, v6) = text.split_once(' ')?;
            let (v4, length_v4) = prefix(v4, 32)?;
            let (v6, length_v6) = prefix(v6.trim_start(), 128)?;
            Pair::new(v4, length_v4, v6, length_v6)
        };
        read().ok_or_else(|| BadPair(text.to_string()))
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (v4, v6) = (self.v4, self.v6);
        write!(f, "{v4}/{} {v6}/{}", self.length_v4, self.length_v6)
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(Pair: "a pair, such as \"192.0.2.0/24 2001:db8::/120\"");

/// All pairs, with the longest prefix first.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    single_v6: BTreeMap<Ipv4Addr, Ipv6Addr>,
    single_v4: BTreeMap<Ipv6Addr, Ipv4Addr>,
    by_v4: Vec<Pair>,
    by_v6: Vec<Pair>,
}

impl Pairs {
    /// # Errors
    /// When a prefix has two pairs, or there are too many.
    pub fn new(all: &[Pair]) -> Result<Pairs, ConfigError> {
        let mut pairs = Pairs::default();
        let error = |reason| Err(ConfigError::new("pairs", reason));
        for pair in all {
            if pair.is_single() {
                if !pairs.insert(pair.v4, pair.v6) {
                    return error(format!("{} or {} has two pairs", pair.v4, pair.v6));
                }
                continue;
            }
            let same = |other: &&Pair| {
                (other.v4, other.length_v4) == (pair.v4, pair.length_v4)
                    || (other.v6, other.length_v6) == (pair.v6, pair.length_v6)
            };
            if let Some(other) = pairs.by_v4.iter().find(same) {
                return error(format!("`{other}` and `{pair}` share a prefix"));
            }
            pairs.by_v4.push(*pair);
        }
        if pairs.by_v4.len() > MAX_PREFIXES {
            return error(format!("at most {MAX_PREFIXES} pairs of prefixes"));
        }
        pairs.by_v6 = pairs.by_v4.clone();
        pairs.by_v4.sort_by_key(|pair| 32 - pair.length_v4);
        pairs.by_v6.sort_by_key(|pair| 128 - pair.length_v6);
        Ok(pairs)
    }

    /// Adds a pair of two addresses; `false`, and nothing changes, when one of them has a pair of its own.
    pub fn insert(&mut self, v4: Ipv4Addr, v6: Ipv6Addr) -> bool {
        if self.single_v6.contains_key(&v4) || self.single_v4.contains_key(&v6) {
            return false;
        }
        self.single_v6.insert(v4, v6);
        self.single_v4.insert(v6, v4);
        true
    }

    /// Removes the pair of an IPv4 address.
    pub fn remove(&mut self, v4: Ipv4Addr) {
        if let Some(v6) = self.single_v6.remove(&v4) {
            self.single_v4.remove(&v6);
        }
    }

    pub fn to_v6(&self, address: Ipv4Addr) -> Option<Ipv6Addr> {
        let single = self.single_v6.get(&address).copied();
        single.or_else(|| self.by_v4.iter().find_map(|pair| pair.to_v6(address)))
    }

    pub fn to_v4(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let single = self.single_v4.get(&address).copied();
        single.or_else(|| self.by_v6.iter().find_map(|pair| pair.to_v4(address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7757_holds() {
        // Section 3.2: the table's mappings, with addresses of both versions.
        let all = [
            ("192.0.2.1 2001:db8:aaaa::", "192.0.2.1", "2001:db8:aaaa::"),
            (
                "192.0.2.2/32 2001:db8:bbbb::b/128",
                "192.0.2.2",
                "2001:db8:bbbb::b",
            ),
            (
                "192.0.2.16/28 2001:db8:cccc::/124",
                "192.0.2.21",
                "2001:db8:cccc::5",
            ),
            (
                "192.0.2.128/26 2001:db8:dddd::/64",
                "192.0.2.150",
                "2001:db8:dddd:0:5800::",
            ),
            (
                "192.0.2.192/29 2001:db8:eeee:8::/62",
                "192.0.2.195",
                "2001:db8:eeee:9:8000::",
            ),
            ("192.0.2.224/31 64:ff9b::/127", "192.0.2.225", "64:ff9b::1"),
        ];
        let pairs: Vec<Pair> = all.iter().map(|row| row.0.parse().unwrap()).collect();
        let pairs = Pairs::new(&pairs).unwrap();
        for (_, v4, v6) in all {
            let (v4, v6) = (v4.parse().unwrap(), v6.parse().unwrap());
            assert_eq!((pairs.to_v6(v4), pairs.to_v4(v6)), (Some(v6), Some(v4)));
        }
        assert_eq!(pairs.to_v6("192.0.2.9".parse().unwrap()), None);
    }

    #[test]
    fn the_longest_prefix_wins_and_bad_pairs_are_refused() {
        let pairs = ["10.0.0.0/8 2001:db8::/104", "10.1.0.0/16 2001:db8:1::/112"];
        let pairs = pairs.map(|text| text.parse().unwrap());
        let pairs = Pairs::new(&pairs).unwrap();
        let v6 = |text: &str| pairs.to_v6(text.parse().unwrap()).unwrap().to_string();
        assert_eq!(
            [v6("10.2.0.3"), v6("10.1.0.3")],
            ["2001:db8::2:3", "2001:db8:1::3"]
        );
        for text in [
            "10.0.0.1/8 ::/104",
            "10.0.0.0/8 ::/105",
            "10.0.0.0/8",
            "::/0 ::/0",
            "",
        ] {
            assert!(text.parse::<Pair>().is_err(), "{text}");
        }
        let twice = ["10.0.0.0/8 2001:db8::/104", "10.0.0.0/8 2001:db9::/104"];
        assert!(Pairs::new(&twice.map(|text| text.parse().unwrap())).is_err());
    }
}
