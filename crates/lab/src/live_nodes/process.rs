//! `kind = "process"`: a host whose stack is the kernel's, for real programs.

use super::jobs::{self, CommandPlan};
use super::{MTU, interface_name};
use crate::fault::Fault;
use crate::fields::{Fields, OneOrMore};
use crate::tree::Value;
use live::netns::Route;
use live::world::{Interface, Stack};
use packet::ethernet::Mac;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Maximum number of interfaces.
const MAX_INTERFACES: usize = 4096;
/// Minimum and maximum packet length after the Ethernet header, bytes.
const MTUS: std::ops::RangeInclusive<u32> = 68..=15_900;

/// Section of a process.
#[derive(Debug)]
pub(crate) struct Process {
    pub interfaces: Vec<Interface>,
    pub routes: Vec<Route>,
    pub forward: bool,
    pub jobs: Vec<CommandPlan>,
}

impl Process {
    /// Reads the section.
    pub fn read(config: &Value) -> Result<Process, Fault> {
        let mut faults = Vec::new();
        let mut fields = Fields::of(config, "a table", &mut faults);
        let name = "eth";
        let ports = fields.optional::<u16>("ports", &mut faults);
        let addresses = read_each(&mut fields, "address", &mut faults, |text| {
            text.split_ascii_whitespace()
                .map(prefix)
                .collect::<Result<Vec<_>, StackError>>()
        });
        let macs = read_each(&mut fields, "mac", &mut faults, mac);
        let routes = read_each(&mut fields, "routes", &mut faults, route);
        let gateway = fields.optional::<IpAddr>("gateway", &mut faults);
        let mtu = fields.optional::<u32>("mtu", &mut faults).unwrap_or(MTU);
        let forward = fields.optional("forward", &mut faults).unwrap_or(false);
        let jobs = jobs::read(fields.value("run"), &mut faults);
        fields.finish(&mut faults);
        let named = addresses.len().max(macs.len());
        // Without ports it is still of use: a controller is reached by lines of its own.
        let count = ports.map_or(named.max(1), usize::from);
        let refuse = |message: String| Fault::new(config.span.clone(), message);
        if !(named..=MAX_INTERFACES).contains(&count) {
            faults.push(refuse(format!(
                "{count} ports; a process has at least as many as it has addresses, and at most {MAX_INTERFACES}"
            )));
        }
        if !MTUS.contains(&mtu) {
            let (least, most) = (MTUS.start(), MTUS.end());
            faults.push(refuse(format!(
                "an mtu is from {least} to {most}, not {mtu}"
            )));
        }
        if let Some(fault) = faults.into_iter().next() {
            return Err(fault);
        }
        let interface = |index: usize| Interface {
            name: format!("{name}{index}"),
            mac: macs.get(index).copied(),
            mtu,
            addresses: addresses.get(index).cloned().unwrap_or_default(),
        };
        let default = gateway.map(|via| Route {
            to: match via {
                IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), 0),
                IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), 0),
            },
            via: Some(via),
            on: None,
        });
        Ok(Process {
            interfaces: (0..count).map(interface).collect(),
            routes: routes.into_iter().chain(default).collect(),
            forward,
            jobs,
        })
    }

    /// The stack that it describes.
    pub fn stack(&self) -> Stack {
        Stack {
            interfaces: self.interfaces.clone(),
            routes: self.routes.clone(),
            forward: self.forward,
            ..Stack::default()
        }
    }
}

/// The texts of a key, each read by `parse`.
fn read_each<T>(
    fields: &mut Fields<'_>,
    key: &'static str,
    faults: &mut Vec<Fault>,
    parse: impl Fn(&str) -> Result<T, StackError>,
) -> Vec<T> {
    let Some(value) = fields.value(key) else {
        return Vec::new();
    };
    let texts = match value.read::<OneOrMore<String>>() {
        Ok(texts) => texts.into_vec(),
        Err(fault) => {
            faults.push(fault);
            return Vec::new();
        }
    };
    let mut all = Vec::new();
    for text in texts {
        match parse(&text) {
            Ok(one) => all.push(one),
            Err(error) => faults.push(Fault::new(value.span.clone(), error.to_string())),
        }
    }
    all
}

/// Why a text says nothing of a stack.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum StackError {
    #[error("`{0}` is not an address; write one such as `10.0.0.1/24`")]
    Address(String),
    #[error("`{0}` is not a unicast MAC address, such as `02:00:00:00:00:01`")]
    Mac(String),
    #[error(
        "`{0}` is not a route; write one such as `10.1.0.0/16 via 10.0.0.254` or `10.2.0.0/16 dev eth1`"
    )]
    Route(String),
}

/// `10.0.0.1/24`; without a number of bits all of them count.
pub(super) fn prefix(text: &str) -> Result<(IpAddr, u8), StackError> {
    let wrong = || StackError::Address(text.into());
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
    match bits <= most {
        true => Ok((address, bits)),
        false => Err(wrong()),
    }
}

/// `02:00:00:00:00:01`: unicast.
fn mac(text: &str) -> Result<[u8; 6], StackError> {
    let mac = text.parse::<Mac>().ok();
    let mac = mac.filter(|mac| !mac.is_group() && *mac != Mac::default());
    mac.map(|mac| mac.0)
        .ok_or_else(|| StackError::Mac(text.into()))
}

/// `10.1.0.0/16 via 10.0.0.254`, `default via 10.0.0.254`, `10.2.0.0/16 dev eth1`.
fn route(text: &str) -> Result<Route, StackError> {
    let wrong = || StackError::Route(text.into());
    let mut words = text.split_ascii_whitespace();
    let to = words.next().ok_or_else(wrong)?;
    let (mut via, mut on) = (None, None);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(wrong)?;
        match word {
            "via" => via = Some(value.parse::<IpAddr>().map_err(|_| wrong())?),
            "dev" => on = Some(value.to_string()),
            _ => return Err(wrong()),
        }
    }
    let to = match (to, via) {
        ("default", Some(IpAddr::V6(_))) => (Ipv6Addr::UNSPECIFIED.into(), 0),
        ("default", _) => (Ipv4Addr::UNSPECIFIED.into(), 0),
        (to, _) => prefix(to).map_err(|_| wrong())?,
    };
    match via.is_some() || on.is_some() {
        true => Ok(Route { to, via, on }),
        false => Err(wrong()),
    }
}

/// The name of a switch's interface.
pub(crate) fn switch_port(node: &str, number: usize) -> String {
    interface_name(node, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_macs_and_routes_are_read() {
        assert_eq!(prefix("10.0.0.1/24").unwrap().1, 24);
        assert_eq!(prefix("fd00::1").unwrap().1, 128);
        assert!(prefix("10.0.0.1/33").is_err());
        assert_eq!(mac("02:00:00:00:00:0a").unwrap()[5], 10);
        assert!(mac("03:00:00:00:00:0a").is_err());
        let default = route("default via 10.0.0.9").unwrap();
        assert_eq!((default.to.1, default.on), (0, None));
        assert!(route("10.0.0.0/8").is_err());
        assert!(route("10.0.0.0/8 by 1.2.3.4").is_err());
    }
}
