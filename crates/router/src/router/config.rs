//! Configuration of a router.

use crate::conntrack;
use crate::label_route::LabelRoute;
use crate::nat::{self, config::AddressRange};
use crate::nat64::{self};
use crate::port_mapping::{self, Server};
use crate::prefix::Prefix;
use crate::route::{Action, Hop, Route};
use crate::rule::Rule;
use crate::siit::{self};
use crate::tables::Tables;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use ip::address::InterfaceAddress;
use node::ConfigError;
use packet::ethernet::Mac;

/// Maximum number of ports of a router.
pub const MAX_PORTS: usize = 1024;
/// Maximum number of addresses of a port.
pub const MAX_ADDRESSES: usize = 64;
/// Metric of the routes of a port's own networks: as in Linux.
const CONNECTED_METRIC_V6: u32 = 256;

/// Configuration of a router.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Its ports, at most [`MAX_PORTS`].
    pub port: Vec<PortConfig>,
    /// Routes besides those of the ports' networks.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub route: Vec<Route>,
    /// Rules that choose other tables than `main`.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub rule: Vec<Rule>,
    /// Translation of IPv4 addresses between ports that are [`outside`](PortConfig::outside) and the others.
    pub nat: Option<nat::Config>,
    /// Port mapping protocols for hosts inside of `nat`.
    pub port_mapping: Option<port_mapping::Config>,
    /// Stateless translation between IPv4 and IPv6, such as a CLAT's (RFC 6877), in the VRF of ports without a name.
    pub siit: Option<siit::Config>,
    /// Stateful translation between IPv6 and IPv4 in the VRF of ports without a name; not with `siit`. Its external addresses
    /// are those of the ports outside if it has none.
    pub nat64: Option<nat64::Config>,
    /// Routes of MPLS labels.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub mpls: Vec<LabelRoute>,
    /// Whether labels take the TTL of their packet, and give it back (Linux's `ip_ttl_propagate`): traceroute then shows the routers in
    /// between.
    pub ttl_propagate: bool,
    /// Rules of the firewall, in the language of [`crate::firewall`].
    pub firewall: Option<String>,
    /// Connection tracking. `None`: with the defaults if a rule needs it, and else none.
    pub conntrack: Option<conntrack::Config>,
    /// How one of several next hops is chosen.
    pub multipath: Multipath,
    /// Whether the rate of ICMP errors is [limited](ip::limit). As in Linux that of redirects, and of errors about packets without
    /// a route, is limited in any case.
    pub icmp_limit: bool,
    /// Seed of the choice among next hops.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            port: Vec::new(),
            route: Vec::new(),
            rule: Vec::new(),
            nat: None,
            port_mapping: None,
            siit: None,
            nat64: None,
            mpls: Vec::new(),
            ttl_propagate: true,
            firewall: None,
            conntrack: None,
            multipath: Multipath::L3,
            icmp_limit: true,
            seed: 0,
        }
    }
}

/// Choice of one of several next hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Multipath {
    /// By the addresses: all packets between two hosts go one way. Linux's `fib_multipath_hash_policy` 0.
    #[default]
    L3,
    /// By addresses, protocol and ports; fragments by addresses and protocol. Linux's policy 1.
    L4,
    /// As [`L4`](Multipath::L4), by rendezvous hashing: when a hop is added or removed, or the link to it fails, only flows that go to
    /// it or come from it move.
    Resilient,
    /// By turns, packet by packet; packets of one flow may overtake each other.
    PerPacket,
}

/// Configuration of a port.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct PortConfig {
    /// Its addresses, each with its network's prefix, at most [`MAX_ADDRESSES`].
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub address: Vec<InterfaceAddress>,
    /// Its MAC address; `None`: made from the first address.
    pub mac: Option<Mac>,
    /// Maximum length of an IP packet that leaves by it, 576 to 9000 bytes; at least 1280 with IPv6.
    pub mtu: usize,
    /// Whether it has a link-local IPv6 address although it has no other one, such as before a prefix is delegated.
    pub ipv6: bool,
    /// Whether frames with MPLS labels are taken.
    pub mpls: bool,
    /// Its VRF; `None`: the VRF of all ports without a name.
    pub vrf: Option<String>,
    /// Its name in rules of the firewall, next to its number.
    pub name: Option<String>,
    /// Whether it is on the outside of the router's NAT.
    pub outside: bool,
    /// Whether a redirect reports a better next hop on the same link to the sender (`send_redirects`).
    pub redirects: bool,
}

impl Default for PortConfig {
    fn default() -> PortConfig {
        PortConfig {
            address: Vec::new(),
            mac: None,
            mtu: 1500,
            ipv6: false,
            mpls: false,
            vrf: None,
            name: None,
            outside: false,
            redirects: true,
        }
    }
}

impl PortConfig {
    /// Its MAC address.
    pub(super) fn mac(&self, number: usize) -> [u8; 6] {
        let first = self.address.first().map(|network| network.mac());
        let made = first.unwrap_or([2, 0, 0, 1, (number >> 8) as u8, number as u8]);
        self.mac.map_or(made, |mac| mac.0)
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.address.len() > MAX_ADDRESSES {
            let reason = format!("a port has at most {MAX_ADDRESSES} addresses");
            return Err(ConfigError::new("port", reason));
        }
        for own in &self.address {
            if own.prefix == 0 {
                let reason = format!(
                    "write {} with its prefix, such as {}/24",
                    own.address, own.address
                );
                return Err(ConfigError::new("port", reason));
            }
        }
        let least = if self.has_v6() { 1280 } else { 576 };
        if !(least..=9000).contains(&self.mtu) {
            let reason = format!("the MTU of a port is from {least} to 9000 bytes");
            return Err(ConfigError::new("port", reason));
        }
        if self.mac.is_some_and(|mac| mac.0[0] & 1 == 1) {
            let reason = "the MAC address of a group cannot be a port's";
            return Err(ConfigError::new("port", reason));
        }
        Ok(())
    }

    pub(super) fn has_v6(&self) -> bool {
        self.ipv6 || self.address.iter().any(|own| own.address.is_ipv6())
    }
}

/// The NAT's configuration, and whether its external addresses are those of the ports outside, as it has none.
pub(super) fn nat(config: &mut Config) -> Result<Option<(nat::Config, bool)>, ConfigError> {
    let outside = || config.port.iter().filter(|port| port.outside);
    let Some(mut nat) = config.nat.clone() else {
        return match outside().next() {
            Some(_) if config.nat64.is_none() && !has_pinholes(config) => {
                let reason = "a port is `outside`, and there is no `nat`: add [node.NAME.nat]";
                Err(ConfigError::new("port", reason))
            }
            _ => Ok(None),
        };
    };
    let Some(first) = outside().next() else {
        let reason = "no port is on the outside: add `outside = true` to one";
        return Err(ConfigError::new("nat", reason));
    };
    if outside().any(|port| port.vrf != first.vrf) {
        return Err(ConfigError::new(
            "nat",
            "its ports outside are in several VRFs",
        ));
    }
    let is_automatic = nat.external.is_empty();
    if is_automatic {
        nat.external = outside_addresses(config);
    }
    config.nat = Some(nat.clone());
    Ok(Some((nat, is_automatic)))
}

/// Whether hosts may ask for pinholes in the firewall: those of the VRF without a name.
pub(super) fn has_pinholes(config: &Config) -> bool {
    let has_hosts = config.port.iter().any(|port| port.vrf.is_none());
    config.port_mapping.is_some() && config.firewall.is_some() && has_hosts
}

/// IPv4 addresses of the ports outside.
pub(super) fn outside_addresses(config: &Config) -> Vec<AddressRange> {
    let outside = config.port.iter().filter(|port| port.outside);
    let v4 = |own: &InterfaceAddress| match own.address {
        IpAddr::V4(address) => Some(address.into()),
        IpAddr::V6(_) => None,
    };
    outside
        .flat_map(|port| &port.address)
        .filter_map(v4)
        .collect()
}

/// The servers for port mappings: of `nat`, and of `nat64`.
pub(super) fn servers(config: &Config) -> Result<[Option<Server>; 2], ConfigError> {
    let Some(server) = &config.port_mapping else {
        return Ok([None, None]);
    };
    if config.nat.is_none() && config.nat64.is_none() && config.firewall.is_none() {
        let reason =
            "there is no `nat`: add [node.NAME.nat], [node.NAME.nat64], or `firewall` for pinholes";
        return Err(ConfigError::new("port_mapping", reason));
    }
    let make = |config: port_mapping::Config, seed| Server::new(config, seed);
    let v4 = config.nat.as_ref();
    let v4 = v4.map(|_| make(server.clone(), config.seed)).transpose()?;
    // The others have no IPv6.
    let pcp = port_mapping::Config {
        nat_pmp: false,
        upnp: false,
        ..server.clone()
    };
    let v6 = config.nat64.as_ref();
    let v6 = v6.map(|_| make(pcp, config.seed)).transpose()?;
    Ok([v4, v6])
}

/// External addresses of a VRF that no port has.
pub(super) fn external(config: &Config, vrf: &Option<String>) -> Vec<InterfaceAddress> {
    let outside = config.port.iter().find(|port| port.outside);
    let nat = config.nat.as_ref();
    let nat = nat.filter(|_| outside.is_some_and(|port| port.vrf == *vrf));
    let nat64 = config.nat64.as_ref().filter(|_| vrf.is_none());
    let nats = nat.into_iter().chain(nat64.map(|nat64| &nat64.nat));
    let all = nats.flat_map(|nat| &nat.external).flat_map(|range| {
        let numbers = range.first.to_bits()..=range.last.to_bits();
        numbers.map(Ipv4Addr::from_bits)
    });
    let own = |address: &IpAddr| {
        let mut all = config.port.iter().flat_map(|port| &port.address);
        all.any(|own| own.address == *address)
    };
    let others = all.map(IpAddr::V4).filter(|address| !own(address));
    others
        .map(|address| InterfaceAddress {
            address,
            prefix: 32,
        })
        .collect()
}

/// Metric of the route of a port's own network.
pub(super) fn connected_metric(own: InterfaceAddress) -> u32 {
    match own.address {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) => CONNECTED_METRIC_V6,
    }
}

/// The VRFs of a configuration, by name, with their tables.
pub(super) fn vrfs(config: &Config) -> Result<BTreeMap<Option<String>, Tables>, ConfigError> {
    if config.port.is_empty() || config.port.len() > MAX_PORTS {
        let reason = format!("a router has 1 to {MAX_PORTS} ports");
        return Err(ConfigError::new("port", reason));
    }
    let mut vrfs = BTreeMap::new();
    for port in &config.port {
        port.check()?;
        vrfs.entry(port.vrf.clone()).or_insert_with(|| {
            let own = config.rule.iter().filter(|rule| rule.vrf == port.vrf);
            Tables::new(&own.cloned().collect::<Vec<_>>())
        });
    }
    for (number, port) in config.port.iter().enumerate() {
        let tables = vrfs.entry(port.vrf.clone()).or_default();
        for own in &port.address {
            if tables.is_own(own.address) {
                let reason = format!("two ports have the address {}", own.address);
                return Err(ConfigError::new("port", reason));
            }
            tables.add_address(*own);
            let hop = Hop {
                port: Some(number as u16),
                ..Hop::default()
            };
            let connected = Route {
                to: Prefix::new(own.address, own.prefix),
                action: Action::Forward([hop].into()),
                metric: connected_metric(*own),
                table: crate::route::MAIN,
                vrf: port.vrf.clone(),
            };
            // Of several addresses in one network the first makes the route, as in Linux.
            let _ = tables.add(connected);
        }
    }
    for (vrf, tables) in &mut vrfs {
        for address in external(config, vrf) {
            tables.add_address(address);
        }
    }
    for rule in &config.rule {
        let vrf = rule.vrf.clone();
        if !vrfs.contains_key(&vrf) {
            let reason = format!("`{rule}`: no port is in this VRF");
            return Err(ConfigError::new("rule", reason));
        }
        let port = rule.selector.iif.map(usize::from);
        if port.is_some_and(|port| port >= config.port.len()) {
            let reason = format!("`{rule}`: the router has no such port");
            return Err(ConfigError::new("rule", reason));
        }
    }
    let mut by_vrf = BTreeMap::<_, Vec<Route>>::new();
    for route in &config.route {
        if !vrfs.contains_key(&route.vrf) {
            let reason = format!("`{route}`: no port is in this VRF");
            return Err(ConfigError::new("route", reason));
        }
        let routes = by_vrf.entry(&route.vrf).or_default();
        routes.push(resolve(config, route)?);
    }
    for (vrf, routes) in by_vrf {
        let tables = vrfs.entry(vrf.clone()).or_default();
        tables.add_all(routes).map_err(|route| {
            let reason = "there is a route of this prefix and metric; give one a `metric`";
            ConfigError::new("route", format!("`{route}`: {reason}"))
        })?;
    }
    Ok(vrfs)
}

/// A route whose hops all name their ports.
pub(super) fn resolve(config: &Config, route: &Route) -> Result<Route, ConfigError> {
    let mut resolved = route.clone();
    if let Action::Forward(hops) = &mut resolved.action {
        let error = |reason| ConfigError::new("route", format!("`{route}`: {reason}"));
        resolve_hops(config, &route.vrf, hops).map_err(error)?;
    }
    Ok(resolved)
}

/// Sets the ports of hops that do not name theirs, in a VRF.
pub(super) fn resolve_hops(
    config: &Config,
    vrf: &Option<String>,
    hops: &mut [Hop],
) -> Result<(), String> {
    for hop in hops {
        if let Some(number) = hop.port {
            let port = config.port.get(usize::from(number));
            if port.is_none_or(|port| port.vrf != *vrf) {
                return Err(format!("the router has no port {number} in this VRF"));
            }
        }
        let Some(via) = hop.via.filter(|_| !hop.onlink) else {
            if hop.port.is_none() {
                return Err("`onlink` needs the port: add `dev PORT`".into());
            }
            continue;
        };
        let reaches = |port: &PortConfig| {
            let link_local = matches!(via, IpAddr::V6(via) if via.is_unicast_link_local());
            let on_link = port.address.iter().any(|own| own.contains(via));
            let own = port.address.iter().any(|own| own.address == via);
            (on_link && !own) || (link_local && hop.port.is_some() && port.has_v6())
        };
        let mut ports = config.port.iter().enumerate();
        let found = ports.find(|(number, port)| {
            let wanted = hop.port.is_none_or(|port| usize::from(port) == *number);
            port.vrf == *vrf && wanted && reaches(port)
        });
        let Some((number, _)) = found else {
            return Err(format!(
                "{via} is in no network of its port; add an address, or `onlink`"
            ));
        };
        hop.port = Some(number as u16);
    }
    Ok(())
}
