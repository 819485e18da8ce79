//! Configuration of router advertisements.

use super::unique::Unique;
use super::{Advertisements, Ports};
use crate::advertisement::schedule::Intervals;
use crate::advertisement::{Advertisement, MAX_SIZE, Preference, Prefix, Route};
use crate::domain;
use crate::v6::message::masked;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use ip::address::InterfaceAddress;
use ip::service::Service;
use node::random::Random;
use node::{ConfigError, Time};

/// Maximum lifetime of a router (RFC 8319).
const MAX_LIFETIME: Time = Time::from_secs(65_535);
const DAY: Time = Time::from_secs(86_400);

/// Configuration, see the [module](super).
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Ports; empty: all that have an IPv6 address.
    pub ports: Vec<u16>,
    /// Maximum time between two advertisements, 4 s to 30 min.
    pub interval: Time,
    /// Minimum time, 3 s to three quarters of `interval`; `None`: a third of it.
    pub min_interval: Option<Time>,
    /// Time for which the router is a default router, at most 65,535 s; `None`: three intervals.
    pub lifetime: Option<Time>,
    /// Preference of the router.
    pub preference: Preference,
    /// Hop limit for hosts; 0: not stated.
    pub hop_limit: u8,
    /// Whether addresses come by DHCPv6.
    pub managed: bool,
    /// Whether other parameters come by DHCPv6.
    pub other: bool,
    /// Time for which a neighbour that has answered is reachable, at most 1 h; zero: not stated.
    pub reachable: Time,
    /// Time between solicitations of neighbours; zero: not stated.
    pub retransmission: Time,
    /// Whether the MTU of the port is stated.
    pub mtu: bool,
    /// Prefixes; empty: those of the port's own addresses.
    pub prefixes: Vec<PrefixConfig>,
    /// Valid lifetime of prefixes.
    pub valid: Time,
    /// Preferred lifetime of prefixes, not above `valid`.
    pub preferred: Time,
    /// Routes.
    pub routes: Vec<RouteConfig>,
    /// Name servers.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub dns: Vec<Ipv6Addr>,
    /// Domains that are searched.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub search: Vec<String>,
    /// Prefix of a NAT64, of 32, 40, 48, 56, 64 or 96 bits.
    pub translator: Option<InterfaceAddress>,
    /// Prefix of which each host gets a /64.
    pub unique: Option<InterfaceAddress>,
    /// Maximum number of hosts with such a prefix, 1 to 65,536.
    pub max_hosts: usize,
    /// Time at which the router ceases to be one.
    pub stop: Option<Time>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ports: Vec::new(),
            interval: Time::from_secs(600),
            min_interval: None,
            lifetime: None,
            preference: Preference::Medium,
            hop_limit: 64,
            managed: false,
            other: false,
            reachable: Time::ZERO,
            retransmission: Time::ZERO,
            mtu: false,
            prefixes: Vec::new(),
            valid: DAY * 30,
            preferred: DAY * 7,
            routes: Vec::new(),
            dns: Vec::new(),
            search: Vec::new(),
            translator: None,
            unique: None,
            max_hosts: 1024,
            stop: None,
        }
    }
}

/// Configuration of a prefix.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct PrefixConfig {
    /// The prefix. Required.
    pub prefix: Option<InterfaceAddress>,
    /// Whether its addresses are on the link.
    pub on_link: bool,
    /// Whether hosts make addresses of it.
    pub autonomous: bool,
    /// Whether hosts rather ask for a delegated prefix (RFC 9762).
    pub delegated: bool,
}

impl Default for PrefixConfig {
    fn default() -> PrefixConfig {
        PrefixConfig {
            prefix: None,
            on_link: true,
            autonomous: true,
            delegated: false,
        }
    }
}

/// Configuration of a route.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct RouteConfig {
    /// Destinations.
    pub to: InterfaceAddress,
    /// Preference.
    #[cfg_attr(feature = "serde", serde(default))]
    pub preference: Preference,
    /// Lifetime; `None`: that of the router.
    #[cfg_attr(feature = "serde", serde(default))]
    pub lifetime: Option<Time>,
}

fn fault<T>(key: &'static str, reason: &str) -> Result<T, ConfigError> {
    Err(ConfigError::new(key, reason))
}

/// An IPv6 prefix with zeros after its length.
fn v6(network: InterfaceAddress) -> Option<(Ipv6Addr, u8)> {
    match network.address {
        IpAddr::V6(address) => Some((masked(address, network.prefix), network.prefix)),
        IpAddr::V4(_) => None,
    }
}

impl Config {
    fn intervals(&self) -> Result<Intervals, ConfigError> {
        let max = self.interval;
        if !(Time::from_secs(4)..=Time::from_secs(1800)).contains(&max) {
            return fault("interval", "4 s to 30 min");
        }
        let quarter = max.as_ps() / 4;
        let default = match max >= Time::from_secs(9) {
            true => Time::from_ps(max.as_ps() / 3),
            false => Time::from_secs(3),
        };
        let min = self.min_interval.unwrap_or(default);
        if !(Time::from_secs(3)..=Time::from_ps(quarter * 3)).contains(&min) {
            return fault("min_interval", "3 s to three quarters of `interval`");
        }
        Ok(Intervals { min, max })
    }

    fn advertisement(&self) -> Result<Advertisement, ConfigError> {
        let lifetime = self.lifetime.unwrap_or(self.interval * 3);
        if lifetime > MAX_LIFETIME || (lifetime > Time::ZERO && lifetime < self.interval) {
            return fault("lifetime", "0, or from `interval` to 65535 s");
        }
        if self.preferred > self.valid {
            return fault("preferred", "not above `valid`");
        }
        if self.reachable > Time::from_secs(3600) {
            return fault("reachable", "at most 1 h");
        }
        let mut prefixes = Vec::new();
        for one in &self.prefixes {
            let Some((address, length)) = one.prefix.and_then(v6) else {
                return fault(
                    "prefixes",
                    "`prefix` is an IPv6 prefix, such as \"2001:db8:1::/64\"",
                );
            };
            prefixes.push(Prefix {
                address,
                length,
                on_link: one.on_link,
                autonomous: one.autonomous,
                delegated: one.delegated,
                valid: self.valid,
                preferred: self.preferred,
            });
        }
        let mut routes = Vec::new();
        for one in &self.routes {
            let Some((address, length)) = v6(one.to) else {
                return fault("routes", "`to` is an IPv6 prefix");
            };
            routes.push(Route {
                address,
                length,
                preference: one.preference,
                lifetime: one.lifetime.unwrap_or(lifetime),
            });
        }
        for name in &self.search {
            domain::write(name, &mut Vec::new())
                .map_err(|fault| ConfigError::new("search", fault.to_string()))?;
        }
        let translator = match self.translator {
            None => None,
            Some(network) => match v6(network) {
                Some((address, length)) if matches!(length, 32 | 40 | 48 | 56 | 64 | 96) => {
                    Some((address, length, lifetime))
                }
                _ => {
                    return fault(
                        "translator",
                        "an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits",
                    );
                }
            },
        };
        let one = Advertisement {
            hop_limit: self.hop_limit,
            managed: self.managed,
            other: self.other,
            preference: self.preference,
            lifetime,
            reachable: self.reachable,
            retransmission: self.retransmission,
            mtu: None,
            prefixes,
            routes,
            name_servers: self.dns.clone(),
            domains: self.search.clone(),
            name_lifetime: self.interval * 3,
            translator,
        };
        // With the MTU and a prefix of a host.
        if one.size() + 8 + 32 > MAX_SIZE {
            return fault(
                "prefixes",
                "an advertisement has at most 1240 bytes: state less",
            );
        }
        Ok(one)
    }
}

/// The service.
///
/// # Errors
/// When a key is out of its range.
pub fn make(config: &Config, seed: u64) -> Result<Box<dyn Service>, ConfigError> {
    let unique = match config.unique.map(v6) {
        None => None,
        Some(Some((prefix, length @ 1..=64))) => {
            if !(1..=65_536).contains(&config.max_hosts) {
                return fault("max_hosts", "1 to 65536");
            }
            Some(Unique::new(prefix, length, config.max_hosts))
        }
        Some(_) => return fault("unique", "an IPv6 prefix of 1 to 64 bits"),
    };
    Ok(Box::new(Advertisements {
        ports: Ports::new(config.ports.clone())?,
        intervals: config.intervals()?,
        template: config.advertisement()?,
        states_mtu: config.mtu,
        automatic: config.prefixes.is_empty() && unique.is_none(),
        lifetimes: [config.preferred, config.valid],
        stop: config.stop,
        random: Random::new(seed),
        advertisers: BTreeMap::new(),
        unique,
        look: Time::ZERO,
        scratch: Vec::new(),
        changes: VecDeque::new(),
        sent: 0,
        asked: 0,
    }))
}
