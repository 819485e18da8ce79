//! `kind = "tap"`: an interface of the machine, made for the run, by which real programs reach the lab.

use super::process::prefix;
use crate::fault::Fault;
use crate::fields::OneOrMore;
use crate::plan::NodePlan;
use crate::tree::Value;
use live::port::PortSpec;
use live::world::Outside;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    /// The interface's name, in place of the node's.
    name: Option<String>,
    address: Option<OneOrMore<String>>,
    /// One that is there already.
    namespace: Option<String>,
}

/// Whether the keys are right.
pub(crate) fn check(config: &Value) -> Result<(), Fault> {
    read(config, "tap").map(|_| ())
}

/// The interface of a node.
pub(super) fn outside(node: &NodePlan) -> Result<Outside, Fault> {
    read(&node.config, &node.name)
}

fn read(config: &Value, node: &str) -> Result<Outside, Fault> {
    let keys: Keys = config.read()?;
    let at = |key: &str, message: String| {
        let span = config.get(key).unwrap_or(config).span.clone();
        Fault::new(span, message)
    };
    let name = keys.name.as_deref().unwrap_or(node);
    let port: Result<PortSpec, _> = format!("tap:{name}").parse();
    let port = port.map_err(|error| {
        at("name", error.to_string()).help("name the interface: `name = \"wire0\"`")
    })?;
    let plain = |name: &String| !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    if let Some(name) = keys.namespace.as_ref().filter(|name| !plain(name)) {
        let message =
            format!("`{name}` is not the name of a namespace; `ip netns add NAME` makes one");
        return Err(at("namespace", message));
    }
    let addresses = keys.address.map_or(Vec::new(), OneOrMore::into_vec);
    let addresses: Result<Vec<_>, _> = addresses.iter().map(|text| prefix(text)).collect();
    Ok(Outside {
        namespace: keys.namespace,
        addresses: addresses.map_err(|error| at("address", error.to_string()))?,
        ..Outside::of(port)
    })
}
