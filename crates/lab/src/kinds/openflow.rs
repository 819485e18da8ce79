//! Switches and controllers that speak OpenFlow.

use crate::fault::Fault;
use crate::kind::{Kind, at_key};
use crate::live_nodes::keys;
use crate::tree::Value;
use openflow::controller::Controller;
use openflow::switch::Switch;

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    let switch = Kind::made("openflow-switch", |config, context| {
        let rest = &keys::without(config)?;
        let mut read: openflow::switch::Config = rest.read()?;
        if config.get("seed").is_none() {
            read.seed = context.seed;
        }
        let made = Switch::new(read).map_err(|error| at_key(rest, error))?;
        Ok(Box::new(made))
    });
    let controller = Kind::made("controller", |config, _| {
        Ok(Box::new(Controller::of(&read(config)?)))
    });
    let speaks_tls = true;
    vec![
        Kind {
            speaks_tls,
            ..switch
        },
        Kind {
            speaks_tls,
            ..controller
        },
    ]
}

fn read(config: &Value) -> Result<openflow::controller::config::Config, Fault> {
    keys::without(config)?.read()
}

/// What a controller would be made from.
///
/// # Errors
/// What is wrong with its keys.
pub(crate) fn controller(config: &Value) -> Result<openflow::controller::config::Config, Fault> {
    config.read()
}
