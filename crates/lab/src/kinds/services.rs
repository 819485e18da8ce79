//! Services, and the lists `[[node.NAME.program]]` of hosts and routers in which they stand.

use crate::fault::{Fault, did_you_mean};
use crate::kind::at_key;
use crate::tree::{Entry, Value, What};
use dhcp::service as dhcp_service;
use dns::service as dns_service;
use ip::service::Service;
use node::ConfigError;
use serde::de::DeserializeOwned;

/// A service, or the fault of its section.
type Made = Result<Box<dyn Service>, Fault>;

/// A name of `run`, and the service of a section and a seed.
type Known = (&'static str, fn(&Value, u64) -> Made);

/// The services by the names of `run`.
const SERVICES: &[Known] = &[
    ("dhcp-client", |section, seed| {
        read(section, |config| {
            dhcp_service::v4_client::make(config, seed)
        })
    }),
    ("dhcp-relay", |section, _| {
        read(section, dhcp_service::v4_relay::make)
    }),
    ("dhcp-server", |section, _| {
        read(section, dhcp_service::v4_server::make)
    }),
    ("dhcpv6-client", |section, seed| {
        read(section, |config| {
            dhcp_service::v6_client::make(config, seed)
        })
    }),
    ("dhcpv6-relay", |section, _| {
        read(section, dhcp_service::v6_relay::make)
    }),
    ("dhcpv6-server", |section, _| {
        read(section, dhcp_service::v6_server::make)
    }),
    ("dns-forwarder", |section, seed| {
        read(section, |config| dns_service::forwarder::make(config, seed))
    }),
    ("dns-resolver", |section, seed| {
        read(section, |config| dns_service::resolver::make(config, seed))
    }),
    ("dns-zone", |section, seed| {
        read(section, |config| dns_service::zone::make(config, seed))
    }),
    ("igmp-member", |section, seed| {
        read(section, |config| multicast::member::make(config, seed))
    }),
    ("igmp-proxy", |section, seed| {
        read(section, |config| multicast::proxy::make(config, seed))
    }),
    ("mdns-relay", |section, _| {
        read(section, dns_service::mdns::make)
    }),
    ("router-advertisements", |section, seed| {
        read(section, |config| {
            dhcp_service::router_advertisements::make(config, seed)
        })
    }),
    ("router-discovery", |section, _| {
        read(section, |config| {
            Ok(dhcp_service::router_discovery::make(config))
        })
    }),
    ("ssdp-relay", |section, seed| {
        read(section, |config| dns_service::ssdp::make(config, seed))
    }),
];

/// The names of all services.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SERVICES.iter().map(|(name, _)| *name)
}

fn read<C: DeserializeOwned>(
    section: &Value,
    make: impl Fn(&C) -> Result<Box<dyn Service>, ConfigError>,
) -> Made {
    make(&section.read()?).map_err(|error| at_key(section, error))
}

/// The service of this name from a section without `run`; `None` when there is no such service.
pub(super) fn make(name: &str, section: &Value, seed: u64) -> Option<Made> {
    let (_, make) = SERVICES.iter().find(|(known, _)| *known == name)?;
    Some(make(section, seed))
}

/// Takes the list of programs from a node's section: the sections without `run`, and its entry. `runs` names the kind in messages.
pub(super) fn programs(config: &mut Value, runs: &str) -> Result<Vec<(Entry, Value)>, Fault> {
    let Some(entry) = config.take("program") else {
        return Ok(Vec::new());
    };
    match entry.value.what {
        What::List(list) => list.into_iter().map(program).collect(),
        What::Table(_) => {
            let fault = Fault::new(entry.key_span, format!("a {runs} runs a list of programs"));
            Err(fault.help("write [[node.NAME.program]] with double brackets"))
        }
        _ => {
            let fault = Fault::new(entry.value.span, "a program is a table");
            Err(fault.help("write [[node.NAME.program]] and `run = \"ping\"`"))
        }
    }
}

fn program(mut section: Value) -> Result<(Entry, Value), Fault> {
    match section.take("run") {
        Some(run) => Ok((run, section)),
        None => {
            let fault = Fault::new(section.span, "the program has no `run`");
            Err(fault.help("add `run` with the name of a program, such as \"dhcp-server\""))
        }
    }
}

/// The fault of a name that no program has.
pub(super) fn unknown(run: &Entry, name: &str, known: &[&str]) -> Fault {
    let message = format!("there is no program called `{name}`");
    Fault::new(run.value.span.clone(), message).help(did_you_mean(name, known))
}
