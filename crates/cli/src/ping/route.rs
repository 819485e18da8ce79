//! Source of probes, and the router to their target.

use crate::time::tick;
use anyhow::{Context, bail};
use live::interface;
use live::port::{PortInfo, PortSpec};
use packet::ethernet::Mac;
use packet::word::Tick;
use std::net::IpAddr;

/// Source of probes, and their next hop.
pub struct Route {
    pub source: IpAddr,
    pub mac: Mac,
    pub gateway: Option<IpAddr>,
    /// Whether the kernel answers for the source.
    pub system_answers: bool,
}

/// Options of commands that send probes: their source, and the router to the target.
#[derive(clap::Args)]
pub struct Origin {
    /// The source address, instead of the interface's own
    #[arg(long, value_name = "IP")]
    pub source: Option<IpAddr>,
    /// Its MAC address, instead of the port's
    #[arg(long, value_name = "MAC")]
    pub mac: Option<Mac>,
    /// The router to the target, instead of the system's
    #[arg(long, value_name = "IP")]
    pub via: Option<IpAddr>,
    /// The unit of the port's timer and stamps, such as 8ns (the default) or 1ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    pub tick: Tick,
}

/// Finds the options that were not given.
pub fn find(
    port: &PortSpec,
    target: IpAddr,
    origin: &Origin,
    info: &PortInfo,
) -> anyhow::Result<Route> {
    let (name, has_stack) = match port {
        PortSpec::Interface(name) => (Some(name), true),
        PortSpec::Xdp(name, _) => (Some(name), false),
        _ => (None, false),
    };
    let own = match name {
        Some(name) => interface::addresses(name).context("cannot list the addresses")?,
        None => Vec::new(),
    };
    let source = match origin.source {
        Some(source) => source,
        None => source_for(target, &own).with_context(|| {
            let version = if target.is_ipv4() { 4 } else { 6 };
            format!(
                "{} has no IPv{version} address of its own; give one with --source",
                info.name
            )
        })?,
    };
    if source.is_ipv4() != target.is_ipv4() {
        bail!("--source {source} and {target} are of two IP versions");
    }
    let on_link = is_on_link(target, &own);
    let gateway = match (origin.via, name) {
        (Some(via), _) => Some(via),
        (None, Some(name)) if !on_link => interface::gateway(name, target.is_ipv6()),
        _ => None,
    };
    // A port without an address of its own gets one that nobody else has, by the process.
    let [.., a, b, c, d] = std::process::id().to_be_bytes();
    let mac = origin
        .mac
        .or(info.mac.map(Mac))
        .unwrap_or(Mac([2, 0x57, a, b, c, d]));
    Ok(Route {
        source,
        mac,
        gateway,
        system_answers: has_stack && own.iter().any(|&(address, _)| address == source),
    })
}

/// The address that a machine would ask from.
pub fn source_for(target: IpAddr, own: &[(IpAddr, u8)]) -> Option<IpAddr> {
    let fits = |&&(address, length): &&(IpAddr, u8)| same_net(address, target, length);
    let local = |address: IpAddr| match address {
        IpAddr::V6(address) => address.is_unicast_link_local(),
        IpAddr::V4(_) => false,
    };
    let same =
        |&&(address, _): &&(IpAddr, u8)| address.is_ipv4() == target.is_ipv4() && !local(address);
    let found = own.iter().find(fits).or_else(|| own.iter().find(same));
    found.map(|&(address, _)| address)
}

/// Whether an address is of a network that the machine is in.
pub fn is_on_link(target: IpAddr, own: &[(IpAddr, u8)]) -> bool {
    own.iter()
        .any(|&(address, length)| same_net(address, target, length))
}

/// Whether two addresses are of one network, whose prefix has this length.
fn same_net(a: IpAddr, b: IpAddr, length: u8) -> bool {
    let keep = |bits: u32, width: u32| width.saturating_sub(bits);
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let off = keep(length.into(), 32);
            (a.to_bits() ^ b.to_bits()).checked_shr(off).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            let off = keep(length.into(), 128);
            (a.to_bits() ^ b.to_bits()).checked_shr(off).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_targets_network_asks() {
        let own: Vec<(IpAddr, u8)> = [
            ("10.0.0.1", 24),
            ("192.168.1.5", 16),
            ("fe80::5", 64),
            ("fd00::1", 64),
        ]
        .map(|(address, length)| (address.parse().unwrap(), length))
        .into();
        for (target, source) in [
            ("10.0.0.77", Some("10.0.0.1")),
            ("192.168.200.1", Some("192.168.1.5")),
            ("8.8.8.8", Some("10.0.0.1")),
            ("fe80::9", Some("fe80::5")),
            ("2001:db8::1", Some("fd00::1")),
        ] {
            let found = source_for(target.parse().unwrap(), &own);
            assert_eq!(found, source.map(|text| text.parse().unwrap()), "{target}");
        }
        assert_eq!(source_for("8.8.8.8".parse().unwrap(), &own[2..]), None);
    }
}
