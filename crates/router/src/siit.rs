//! Stateless translation between IPv4 and IPv6 (SIIT: RFC 7915, RFC 6052, RFC 7757): the core of
//! NAT64 and of a CLAT (RFC 6877).
//!
//! A [`Siit`] has no table of connections. An IPv4 address and its IPv6 address are either a pair
//! of `pairs`, or one is embedded in the other by [`ip::embedding`]. It rewrites headers, ICMP messages with
//! the packet that an error quotes, and checksums. Hop limits are the router's: it counts a hop
//! before or after.
//!
//! - **Fragments:** each is translated, but not those of ICMP and of UDP without a checksum, which
//!   need the whole packet.
//! - **Not translated:** ICMP other than echo and errors, multicast, source routes, options (which
//!   are dropped), extensions of errors (RFC 4884).
//!
//! ```
//! use router::siit::{Config, Siit};
//!
//! // A CLAT: the host's own address has a pair, all others are embedded.
//! let siit = Siit::new(Config {
//!     prefix: "64:ff9b::/96".parse().unwrap(),
//!     pairs: vec!["192.0.0.1 2001:db8::46".parse().unwrap()],
//!     ..Config::default()
//! }).unwrap();
//! let server = "198.51.100.7".parse().unwrap();
//! assert_eq!(siit.address_v6(server), "64:ff9b::c633:6407".parse().ok());
//! ```

mod extensions;
mod messages;
mod pairs;
mod translate;

pub use ip::embedding::{BadPrefix, Prefix};
pub use pairs::{BadPair, MAX_PREFIXES, Pair};

use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};
use node::ConfigError;

/// Configuration of a translator.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Prefix of IPv6 addresses in which IPv4 addresses are embedded. Default: 64:ff9b::/96.
    pub prefix: Prefix,
    /// Pairs of an IPv4 and an IPv6 prefix, or address, that stand for each other (RFC 7757). Default: none.
    pub pairs: Vec<Pair>,
    /// MTU of the IPv4 side in bytes, at least 68. Default: 1500.
    pub mtu_v4: u16,
    /// MTU of the IPv6 side in bytes, at least 1280. Default: 1500.
    pub mtu_v6: u16,
    /// IPv4 address of routers without one, as the source of their ICMP errors (RFC 6791). Default:
    /// none, and these errors are dropped.
    pub router: Option<Ipv4Addr>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            prefix: Prefix::WELL_KNOWN,
            pairs: Vec::new(),
            mtu_v4: 1_500,
            mtu_v6: 1_500,
            router: None,
        }
    }
}

/// Result of a packet's translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The frame has a packet of the other version.
    Translated {
        /// Whether routers may fragment the packet: the caller cuts it into fragments of at most
        /// 1280 bytes when it is longer (RFC 7915 section 4). Only of packets that become IPv6.
        may_fragment: bool,
    },
    /// Drop the packet, for this reason. The frame may have changed.
    Drop(&'static str),
}

/// A stateless translator between IPv4 and IPv6.
#[derive(Clone, Debug)]
pub struct Siit {
    config: Config,
    pairs: pairs::Pairs,
    /// Identification of the next IPv4 packet that may be fragmented.
    identification: u16,
}

impl Siit {
    /// # Errors
    /// When an address has two pairs, or an MTU is out of its range.
    pub fn new(config: Config) -> Result<Siit, ConfigError> {
        if config.mtu_v4 < 68 {
            return Err(ConfigError::new("mtu_v4", "IPv4 needs at least 68 bytes"));
        }
        if config.mtu_v6 < 1_280 {
            return Err(ConfigError::new("mtu_v6", "IPv6 needs at least 1280 bytes"));
        }
        Ok(Siit {
            pairs: pairs::Pairs::new(&config.pairs)?,
            config,
            identification: 0,
        })
    }

    /// The IPv6 address for an IPv4 address.
    pub fn address_v6(&self, address: Ipv4Addr) -> Option<Ipv6Addr> {
        let pair = self.pairs.to_v6(address);
        pair.or_else(|| self.config.prefix.embed(address))
    }

    /// The IPv4 address for an IPv6 address.
    pub fn address_v4(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let pair = self.pairs.to_v4(address);
        pair.or_else(|| self.config.prefix.extract(address))
    }

    /// The IPv6 address of the pair that an IPv4 address is in.
    pub fn pair_v6(&self, address: Ipv4Addr) -> Option<Ipv6Addr> {
        self.pairs.to_v6(address)
    }

    /// The IPv4 address of the pair that an IPv6 address is in.
    pub fn pair_v4(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        self.pairs.to_v4(address)
    }

    /// The prefix in which IPv4 addresses are embedded.
    pub fn prefix(&self) -> Prefix {
        self.config.prefix
    }

    /// Adds a pair of two addresses; `false`, and nothing changes, when one of them has a pair of its own.
    pub fn add_pair(&mut self, v4: Ipv4Addr, v6: Ipv6Addr) -> bool {
        self.pairs.insert(v4, v6)
    }

    /// Removes the pair of an IPv4 address.
    pub fn remove_pair(&mut self, v4: Ipv4Addr) {
        self.pairs.remove(v4);
    }
}
