//! Names of hosts in place of their addresses: `to = "h2:5001"`.

use crate::fault::{Fault, nearest};
use crate::plan::Lab;
use crate::tree::{Value, What};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Puts addresses in the place of names: in `gateway` of hosts, and in `to` of their programs.
pub(crate) fn resolve(lab: &mut Lab, index: &BTreeMap<String, usize>, faults: &mut Vec<Fault>) {
    let addresses: Vec<Option<IpAddr>> = lab
        .nodes
        .iter()
        .map(|plan| address_of(&plan.config))
        .collect();
    let mut put = |value: &mut Value| {
        let What::Text(text) = &mut value.what else {
            return;
        };
        if text.parse::<SocketAddr>().is_ok() || text.parse::<IpAddr>().is_ok() {
            return;
        }
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text.as_str(), None),
        };
        let fault = match index.get(name).map(|&node| addresses[node]) {
            Some(Some(address)) => {
                *text = match (address, port) {
                    (address, None) => address.to_string(),
                    (IpAddr::V4(address), Some(port)) => format!("{address}:{port}"),
                    (IpAddr::V6(address), Some(port)) => format!("[{address}]:{port}"),
                };
                return;
            }
            Some(None) => {
                let fault = Fault::new(value.span.clone(), format!("`{name}` has no address"));
                fault.help(format!(
                    "write `address = \"10.0.0.1/24\"` in [node.{name}]"
                ))
            }
            // Something like an address is for the host itself to refuse.
            None if !name.chars().any(char::is_alphabetic) || name.contains(':') => return,
            None => {
                let message = format!("there is no host called `{name}`");
                let fault = Fault::new(value.span.clone(), message);
                fault.help(match nearest(name, index.keys().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write an address, such as \"10.0.0.2:5001\"".into(),
                })
            }
        };
        faults.push(fault);
    };
    for plan in &mut lab.nodes {
        for path in plan.kind.hosts {
            let path: Vec<&str> = path.split('.').collect();
            each_text(&mut plan.config, &path, &mut put);
        }
    }
}

/// Shows every text at a path of keys; of a list, each one's.
fn each_text(value: &mut Value, path: &[&str], see: &mut dyn FnMut(&mut Value)) {
    match (&mut value.what, path) {
        (What::List(list), _) => {
            for value in list {
                each_text(value, path, see);
            }
        }
        (_, []) => see(value),
        (_, [key, rest @ ..]) => {
            if let Some(value) = value.get_mut(key) {
                each_text(value, rest, see);
            }
        }
    }
}

/// The first address of a node that has any.
fn address_of(config: &Value) -> Option<IpAddr> {
    addresses(config).next()
}

/// The addresses of a node.
pub(crate) fn addresses(config: &Value) -> impl Iterator<Item = IpAddr> + '_ {
    let keys = ["address", "ipv4", "ipv6"].into_iter();
    let values = keys.filter_map(|key| config.get(key));
    let values = values.flat_map(|value| match &value.what {
        What::List(list) => &list[..],
        _ => std::slice::from_ref(value),
    });
    values.filter_map(|value| match &value.what {
        What::Text(text) => text.split('/').next()?.trim().parse().ok(),
        _ => None,
    })
}

/// The addresses of a node, and those of its ports.
pub(crate) fn all_addresses(config: &Value) -> impl Iterator<Item = IpAddr> + '_ {
    let ports = match config.get("port").map(|ports| &ports.what) {
        Some(What::List(ports)) => &ports[..],
        _ => &[],
    };
    addresses(config).chain(ports.iter().flat_map(addresses))
}

impl Value {
    /// The value of a table's key, to be changed.
    fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let What::Table(entries) = &mut self.what else {
            return None;
        };
        let entry = entries.iter_mut().find(|entry| entry.key == key);
        entry.map(|entry| &mut entry.value)
    }
}
