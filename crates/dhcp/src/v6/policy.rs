//! Decision about a client: which addresses and prefixes it may have, for how long, with which parameters.

use super::message::{Message, masked, option};
use crate::domain;
use crate::leases::Range;
use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use ip::address::InterfaceAddress;
use node::{ConfigError, Time};

/// A client's message, as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The message.
    pub message: &'a Message<'a>,
    /// DUID of the client; empty if it has none, which only a request for information may lack.
    pub client: &'a [u8],
    /// An address of the client's link: that of the relay or of the server's port; unspecified when neither has one.
    pub link: Ipv6Addr,
    /// Address of the client on its link.
    pub peer: Ipv6Addr,
    /// The port by which the message came.
    pub port: u16,
    /// Interface of the relay, if there is one.
    pub circuit: Option<&'a [u8]>,
}

/// The decision.
#[derive(Clone, Debug)]
pub struct Grant<'a> {
    /// Addresses that the client may have.
    pub addresses: Cow<'a, [Range]>,
    /// Prefixes that the client may have, by their first addresses.
    pub prefixes: Cow<'a, [Range]>,
    /// Length of these prefixes, bits.
    pub length: u8,
    /// Length of the link's prefix, bits, which the addresses share.
    pub on_link: u8,
    /// Preferred lifetime.
    pub preferred: Time,
    /// Valid lifetime, not shorter.
    pub valid: Time,
    /// Time after which the client asks again (T1); `None`: half of the preferred lifetime.
    pub renewal: Option<Time>,
    /// Other options: number and value. Those that the client asks for are sent.
    pub options: Cow<'a, [(u16, Vec<u8>)]>,
}

/// Decides about clients.
pub trait Policy: core::fmt::Debug + Send {
    /// Decides about a client. Asked for each message.
    ///
    /// # Errors
    /// The reason for which the client gets no answer.
    fn decide(&mut self, now: Time, request: &Request<'_>) -> Result<Grant<'_>, &'static str>;
}

/// Configuration of a link.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct SubnetConfig {
    /// Prefix of the link, such as `2001:db8:1::/64`. Required.
    pub network: Option<InterfaceAddress>,
    /// Ranges of addresses, such as `2001:db8:1::100-2001:db8:1::1ff`. Default: clients get no addresses.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub pool: Vec<String>,
    /// Prefixes of which parts are delegated, such as `2001:db8:100::/40`. Default: none.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub prefixes: Vec<InterfaceAddress>,
    /// Length of a delegated prefix, bits. Default 56.
    pub delegated: u8,
    /// Preferred lifetime. Default 1 h.
    pub preferred: Time,
    /// Valid lifetime. Default 2 h.
    pub valid: Time,
    /// Clients with an address or a prefix of their own.
    pub hosts: Vec<HostConfig>,
    /// Name servers. Default: none.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub dns: Vec<Ipv6Addr>,
    /// Domains that are searched. Default: none.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub search: Vec<String>,
}

impl Default for SubnetConfig {
    fn default() -> SubnetConfig {
        SubnetConfig {
            network: None,
            pool: Vec::new(),
            prefixes: Vec::new(),
            delegated: 56,
            preferred: Time::from_secs(3600),
            valid: Time::from_secs(7200),
            hosts: Vec::new(),
            dns: Vec::new(),
            search: Vec::new(),
        }
    }
}

/// Configuration of a client with an address or a prefix of its own.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct HostConfig {
    /// Its DUID in hexadecimal.
    pub duid: String,
    /// Its address.
    #[cfg_attr(feature = "serde", serde(default))]
    pub address: Option<Ipv6Addr>,
    /// Its prefix, of the length `delegated`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub prefix: Option<Ipv6Addr>,
}

#[derive(Debug)]
struct Host {
    duid: Vec<u8>,
    address: Option<[Range; 1]>,
    prefix: Option<[Range; 1]>,
}

#[derive(Debug)]
struct Subnet {
    network: InterfaceAddress,
    addresses: Vec<Range>,
    prefixes: Vec<Range>,
    length: u8,
    lifetimes: [Time; 2],
    hosts: Vec<Host>,
    options: Vec<(u16, Vec<u8>)>,
}

/// The default policy: pools of links, and clients with addresses of their own.
#[derive(Debug)]
pub struct Subnets(Vec<Subnet>);

/// Minimum valid lifetime.
const MIN_VALID: Time = Time::from_secs(30);

impl Subnets {
    /// The policy.
    ///
    /// # Errors
    /// When a key is missing or out of its range.
    pub fn new(config: &[SubnetConfig]) -> Result<Subnets, ConfigError> {
        if config.is_empty() {
            return Err(ConfigError::new("subnets", "at least one link is needed"));
        }
        let subnets = config.iter().map(subnet);
        Ok(Subnets(subnets.collect::<Result<_, _>>()?))
    }
}

fn subnet(config: &SubnetConfig) -> Result<Subnet, ConfigError> {
    let network = config.network.filter(|network| network.address.is_ipv6());
    let network = network.ok_or_else(|| {
        ConfigError::new(
            "network",
            "an IPv6 prefix is needed, such as \"2001:db8:1::/64\"",
        )
    })?;
    if config.valid < MIN_VALID || config.preferred > config.valid {
        let reason = "at least 30 s, and not below `preferred`";
        return Err(ConfigError::new("valid", reason));
    }
    let inside = |address: Ipv6Addr| network.contains(address.into());
    let mut hosts: Vec<Host> = Vec::new();
    for host in &config.hosts {
        let duid = crate::v4::options::hex(&host.duid).filter(|duid| duid.len() >= 3);
        let good = host.address.is_none_or(inside)
            && host
                .prefix
                .is_none_or(|one| masked(one, config.delegated) == one);
        let (Some(duid), true) = (duid, good) else {
            let reason = "each host has a DUID in hexadecimal, an address of the network or a prefix of the length `delegated`";
            return Err(ConfigError::new("hosts", reason));
        };
        hosts.push(Host {
            duid,
            address: host.address.map(|one| [Range::one(one.into())]),
            prefix: host.prefix.map(|one| [Range::one(one.into())]),
        });
    }
    let own = |of: fn(&Host) -> Option<[Range; 1]>| -> Vec<u128> {
        let ranges = hosts.iter().filter_map(of);
        ranges.map(|[range]| range.first).collect()
    };
    let mut addresses = Vec::new();
    for text in &config.pool {
        let bounds = text.split_once('-').unwrap_or((text, text));
        let bounds = [bounds.0, bounds.1].map(|word| word.trim().parse::<Ipv6Addr>());
        let [Ok(first), Ok(last)] = bounds else {
            return Err(pool());
        };
        if first > last || !inside(first) || !inside(last) {
            return Err(pool());
        }
        let range = Range {
            first: first.into(),
            last: last.into(),
            step: 1,
        };
        addresses.extend(range.without(own(|host| host.address)));
    }
    let mut prefixes = Vec::new();
    for prefix in &config.prefixes {
        let length = config.delegated;
        let (IpAddr::V6(address), true) = (
            prefix.address,
            (prefix.prefix.max(1)..=128).contains(&length),
        ) else {
            let reason = "IPv6 prefixes are needed that are not longer than `delegated`";
            return Err(ConfigError::new("prefixes", reason));
        };
        let step = 1 << (128 - u32::from(length));
        let first = u128::from(masked(address, prefix.prefix));
        let host_bits = u128::MAX.checked_shr(prefix.prefix.into()).unwrap_or(0);
        let range = Range {
            first,
            last: (first | host_bits) & !(step - 1),
            step,
        };
        prefixes.extend(range.without(own(|host| host.prefix)));
    }
    let mut options = Vec::new();
    if !config.dns.is_empty() {
        let octets = config.dns.iter().flat_map(|address| address.octets());
        options.push((option::DNS, octets.collect()));
    }
    if !config.search.is_empty() {
        let mut value = Vec::new();
        for name in &config.search {
            domain::write(name, &mut value)
                .map_err(|fault| ConfigError::new("search", fault.to_string()))?;
        }
        options.push((option::DOMAINS, value));
    }
    if options.iter().any(|(_, value)| value.len() > 512) {
        return Err(ConfigError::new(
            "dns",
            "at most 512 bytes of names and of addresses",
        ));
    }
    Ok(Subnet {
        network,
        addresses,
        prefixes,
        length: config.delegated,
        lifetimes: [config.preferred, config.valid],
        hosts,
        options,
    })
}

fn pool() -> ConfigError {
    let reason = "addresses of the network are needed, such as \"2001:db8:1::100-2001:db8:1::1ff\"";
    ConfigError::new("pool", reason)
}

impl Policy for Subnets {
    fn decide(&mut self, _now: Time, request: &Request<'_>) -> Result<Grant<'_>, &'static str> {
        let link = request.link.into();
        let mut subnets = self.0.iter();
        let subnet = subnets.find(|one| one.network.contains(link));
        let subnet = subnet.ok_or("no link for the client")?;
        let mut hosts = subnet.hosts.iter();
        let own = hosts.find(|host| host.duid == request.client);
        let address = own.and_then(|host| host.address.as_ref());
        let prefix = own.and_then(|host| host.prefix.as_ref());
        Ok(Grant {
            addresses: address.map_or(&*subnet.addresses, |one| one).into(),
            prefixes: prefix.map_or(&*subnet.prefixes, |one| one).into(),
            length: subnet.length,
            on_link: subnet.network.prefix,
            preferred: subnet.lifetimes[0],
            valid: subnet.lifetimes[1],
            renewal: None,
            options: Cow::Borrowed(&subnet.options),
        })
    }
}
