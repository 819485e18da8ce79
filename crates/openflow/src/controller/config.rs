//! A controller from its configuration, as a lab file has it.

use super::firewall::Prefix;
use super::{App, Controller, Options, collector, firewall, learning, router, topology};
use crate::version::Version;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;
use core::str::FromStr;

/// What a controller is made from: its ports, and the programs that are there, which run in this order: topology,
/// collector, firewall, router, learning.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Control ports; 0 counts as 1.
    pub ports: u16,
    /// `1.0` and `1.3`; empty for both.
    pub versions: Vec<Version>,
    /// Whether it opens the connections itself, one a port, for switches that listen.
    pub dial: bool,
    /// Topology discovery.
    pub topology: Option<topology::Config>,
    /// Statistics.
    pub collector: Option<collector::Config>,
    pub firewall: Option<firewall::Config>,
    /// Static router.
    pub router: Option<router::Config>,
    /// Learning switch; the only one of the programs when none is named.
    pub learning: Option<learning::Config>,
}

impl Config {
    /// The programs that it names.
    pub fn apps(&self) -> Vec<Box<dyn App>> {
        let mut apps: Vec<Box<dyn App>> = Vec::new();
        if let Some(config) = &self.topology {
            apps.push(Box::new(topology::Topology::new(config.clone())));
        }
        if let Some(config) = &self.collector {
            apps.push(Box::new(collector::Collector::new(config.clone())));
        }
        if let Some(config) = &self.firewall {
            apps.push(Box::new(firewall::Firewall::new(config.clone())));
        }
        if let Some(config) = &self.router {
            apps.push(Box::new(router::Router::new(config.clone())));
        }
        if let Some(config) = self.learning.clone().or_else(|| self.unnamed()) {
            let exact = config.exact || self.firewall.is_some();
            let config = learning::Config { exact, ..config };
            apps.push(Box::new(learning::Learning::new(config)));
        }
        apps
    }

    fn unnamed(&self) -> Option<learning::Config> {
        // Somebody must forward.
        self.router.is_none().then(learning::Config::default)
    }

    /// How the controller speaks.
    pub fn options(&self) -> Options {
        Options {
            ports: self.ports,
            versions: self.versions.clone(),
            settings: None,
            dial: self.dial,
        }
    }
}

impl Controller {
    /// The controller of a configuration.
    pub fn of(config: &Config) -> Controller {
        Controller::new(config.options(), config.apps())
    }
}

/// A text that is no prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an IPv4 prefix is an address and a length, such as 10.0.0.0/8")]
pub struct BadPrefix;

impl FromStr for Prefix {
    type Err = BadPrefix;

    fn from_str(text: &str) -> Result<Prefix, BadPrefix> {
        let (address, length) = text.split_once('/').unwrap_or((text, "32"));
        let address: Ipv4Addr = address.parse().map_err(|_| BadPrefix)?;
        let length = length.parse().ok().filter(|length| *length <= 32);
        Ok(Prefix {
            address: address.octets(),
            length: length.ok_or(BadPrefix)?,
        })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.address), self.length)
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(Prefix: "a prefix, such as \"10.0.0.0/8\"");

/// A protocol by number or name.
#[cfg(feature = "serde")]
pub(super) fn protocol<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u8>, D::Error> {
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Number(u8),
        Name(alloc::string::String),
    }
    match Form::deserialize(from)? {
        Form::Number(number) => Ok(Some(number)),
        Form::Name(name) => match name.as_str() {
            "icmp" => Ok(Some(1)),
            "tcp" => Ok(Some(6)),
            "udp" => Ok(Some(17)),
            _ => Err(<D::Error as serde::de::Error>::custom(alloc::format!(
                "`{name}` is not a protocol: icmp, tcp, udp or a number"
            ))),
        },
    }
}
