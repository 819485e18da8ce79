//! Configuration of snooping.

use core::net::Ipv4Addr;
use multicast::querier;

/// Configuration of snooping.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Whether the switch sends queries itself, as long as it hears of no other querier.
    pub querier: bool,
    /// Source address of its IGMP queries; 0.0.0.0 never becomes another switch's querier.
    pub address: Ipv4Addr,
    /// Timers and version of the queries.
    pub queries: querier::Config,
    /// Whether packets to groups without members are flooded; else they go to router ports.
    pub flood_unknown: bool,
    /// Maximum number of pairs of a group and a port, 1 to 65,536.
    pub memberships: usize,
    /// Maximum number of groups of a port.
    pub memberships_per_port: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            querier: false,
            address: Ipv4Addr::UNSPECIFIED,
            queries: querier::Config::default(),
            flood_unknown: false,
            memberships: 4096,
            memberships_per_port: 1024,
        }
    }
}

/// Configuration of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortConfig {
    /// Whether it is a router port always.
    pub router: bool,
    /// Whether a leave ends a membership at once: of ports with a single host.
    pub fast_leave: bool,
}
