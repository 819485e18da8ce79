//! Decision about a client: which addresses it may have, for how long, with which options.

use super::message::{Message, option};
use super::options::{Named, Options};
use crate::leases::Range;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use ip::address::InterfaceAddress;
use node::{ConfigError, Time};
use packet::ethernet::Mac;

/// A client's message, as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The message.
    pub message: &'a Message<'a>,
    /// The client: its identifier, or type and address of its hardware.
    pub client: &'a [u8],
    /// An address of the client's subnet: that of the relay, of the server's port, or of the lease that it renews.
    pub subnet: Ipv4Addr,
    /// The port by which the message came, if no relay is between.
    pub port: u16,
    /// Circuit of the relay (RFC 3046), if there is one.
    pub circuit: Option<&'a [u8]>,
}

/// The decision.
#[derive(Clone, Debug)]
pub struct Grant<'a> {
    /// Addresses that the client may have: a [single](Range::one) one, or ranges in the order of preference. Empty for a
    /// client that gets options alone.
    pub ranges: Cow<'a, [Range]>,
    /// Length of the prefix that the client sees, 0 to 32 bits.
    pub prefix: u8,
    /// Lease time; [`Time::MAX`] for a lease without end.
    pub lease: Time,
    /// The server's address that the client sees; `None`: the one of the port.
    pub server: Option<Ipv4Addr>,
    /// Other options. Those that the client asks for are sent, all if it asks for none in particular.
    pub options: Cow<'a, Options>,
}

/// Decides about clients.
pub trait Policy: core::fmt::Debug + Send {
    /// Decides about a client. Asked for each message, so that the decision holds from the client's next renewal on.
    ///
    /// # Errors
    /// The reason for which the client gets no answer.
    fn decide(&mut self, now: Time, request: &Request<'_>) -> Result<Grant<'_>, &'static str>;
}

/// Configuration of a subnet.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct SubnetConfig {
    /// The network, such as `10.0.0.0/24`. Required.
    pub network: Option<InterfaceAddress>,
    /// Ranges of addresses, such as `10.0.0.100-10.0.0.199`. Default: clients of `hosts` alone get addresses.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ip::address::several"))]
    pub pool: Vec<String>,
    /// Lease time; a client that asks for a shorter one gets it. Default 1 h.
    pub lease: Time,
    /// Clients with an address of their own.
    pub hosts: Vec<HostConfig>,
    /// Options by name.
    #[cfg_attr(feature = "serde", serde(rename = "options"))]
    pub named: Named,
}

impl Default for SubnetConfig {
    fn default() -> SubnetConfig {
        SubnetConfig {
            network: None,
            pool: Vec::new(),
            lease: Time::from_secs(3600),
            hosts: Vec::new(),
            named: Named::default(),
        }
    }
}

/// Configuration of a client with an address of its own.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct HostConfig {
    /// Its MAC address.
    pub mac: Mac,
    /// Its address.
    pub address: Ipv4Addr,
}

#[derive(Debug)]
struct Subnet {
    network: InterfaceAddress,
    ranges: Vec<Range>,
    lease: Time,
    hosts: Vec<(Mac, [Range; 1])>,
    options: Options,
}

/// The default policy: pools of subnets, and clients with addresses of their own.
#[derive(Debug)]
pub struct Subnets(Vec<Subnet>);

/// Minimum lease time that a client can ask for.
const MIN_LEASE: Time = Time::from_secs(30);

impl Subnets {
    /// The policy.
    ///
    /// # Errors
    /// When a key is missing or out of its range.
    pub fn new(config: &[SubnetConfig]) -> Result<Subnets, ConfigError> {
        if config.is_empty() {
            return Err(ConfigError::new("subnets", "at least one subnet is needed"));
        }
        let subnets = config.iter().map(subnet);
        Ok(Subnets(subnets.collect::<Result<_, _>>()?))
    }
}

fn subnet(config: &SubnetConfig) -> Result<Subnet, ConfigError> {
    let network = config.network;
    let network = network.filter(|network| network.address.is_ipv4() && network.prefix <= 31);
    let network = network.ok_or_else(|| {
        ConfigError::new(
            "network",
            "an IPv4 network is needed, such as \"10.0.0.0/24\"",
        )
    })?;
    let inside = |address: Ipv4Addr| network.contains(address.into());
    let mut hosts: Vec<(Mac, [Range; 1])> = Vec::new();
    for host in &config.hosts {
        let address = u128::from(u32::from(host.address));
        let taken = hosts
            .iter()
            .any(|(mac, [range])| *mac == host.mac || range.first == address);
        if !inside(host.address) || taken {
            let reason = "each host has a MAC address and an address of the network of its own";
            return Err(ConfigError::new("hosts", reason));
        }
        hosts.push((host.mac, [Range::one(address)]));
    }
    let mut ranges = Vec::new();
    for text in &config.pool {
        let [first, last] = bounds(text)
            .filter(|bounds| bounds.iter().all(|b| inside(*b)))
            .ok_or_else(|| {
                let reason =
                    "addresses of the network are needed, such as \"10.0.0.100-10.0.0.199\"";
                ConfigError::new("pool", reason)
            })?;
        ranges.extend(without(first.into(), last.into(), network, &hosts));
    }
    if config.lease < MIN_LEASE {
        return Err(ConfigError::new("lease", "at least 30 s"));
    }
    Ok(Subnet {
        network,
        ranges,
        lease: config.lease,
        hosts,
        options: config.named.options()?,
    })
}

fn bounds(text: &str) -> Option<[Ipv4Addr; 2]> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first: Ipv4Addr = first.trim().parse().ok()?;
    let last: Ipv4Addr = last.trim().parse().ok()?;
    (first <= last).then_some([first, last])
}

/// A range without the addresses of hosts, and without those of the network and of all its hosts.
fn without(
    first: u32,
    last: u32,
    network: InterfaceAddress,
    hosts: &[(Mac, [Range; 1])],
) -> Vec<Range> {
    let mut holes: Vec<u128> = hosts.iter().map(|(_, [range])| range.first).collect();
    if let (IpAddr::V4(address), 0..=30) = (network.address, network.prefix) {
        let host_bits = u32::MAX.checked_shr(network.prefix.into()).unwrap_or(0);
        let zero = u32::from(address) & !host_bits;
        holes.extend([zero.into(), u128::from(zero | host_bits)]);
    }
    let range = Range {
        first: first.into(),
        last: last.into(),
        step: 1,
    };
    range.without(holes)
}

impl Policy for Subnets {
    fn decide(&mut self, _now: Time, request: &Request<'_>) -> Result<Grant<'_>, &'static str> {
        let subnet = request.subnet.into();
        let mut subnets = self.0.iter();
        let subnet = subnets.find(|one| one.network.contains(subnet));
        let subnet = subnet.ok_or("no subnet for the client")?;
        let mac = request.message.chaddr();
        let own = subnet.hosts.iter().find(|(one, _)| *one == mac);
        let ranges = own.map_or(&*subnet.ranges, |(_, range)| range);
        let wanted = request.message.number(option::LEASE_TIME);
        let wanted = wanted.map_or(Time::MAX, |secs| Time::from_secs(secs.into()));
        Ok(Grant {
            ranges: ranges.into(),
            prefix: subnet.network.prefix,
            lease: subnet.lease.min(wanted.max(MIN_LEASE)),
            server: None,
            options: Cow::Borrowed(&subnet.options),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_pool_leaves_out_hosts_and_the_ends_of_the_network() {
        let hosts = [(Mac([2; 6]), [Range::one(0x0A00_0005)])];
        let network = "10.0.0.1/28".parse().unwrap();
        let ranges = without(0x0A00_0000, 0x0A00_000F, network, &hosts);
        let bounds: Vec<_> = ranges
            .iter()
            .map(|r| (r.first & 255, r.last & 255))
            .collect();
        assert_eq!(bounds, vec![(1, 4), (6, 14)]);
    }

    #[test]
    fn a_subnet_out_of_range_is_refused() {
        let good = SubnetConfig {
            network: "10.0.0.1/24".parse().ok(),
            pool: vec!["10.0.0.10-10.0.0.20".into()],
            ..SubnetConfig::default()
        };
        assert!(Subnets::new(core::slice::from_ref(&good)).is_ok());
        let bad = |change: fn(&mut SubnetConfig)| {
            let mut config = good.clone();
            change(&mut config);
            Subnets::new(&[config]).unwrap_err().key
        };
        assert_eq!(bad(|one| one.network = None), "network");
        assert_eq!(
            bad(|one| one.pool = vec!["10.0.0.20-10.0.0.10".into()]),
            "pool"
        );
        assert_eq!(
            bad(|one| one.pool = vec!["10.0.1.10-10.0.1.20".into()]),
            "pool"
        );
        assert_eq!(bad(|one| one.lease = Time::from_secs(29)), "lease");
        assert_eq!(Subnets::new(&[]).unwrap_err().key, "subnets");
    }
}
