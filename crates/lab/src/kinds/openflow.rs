//! Switches and controllers that speak OpenFlow.

use crate::fault::Fault;
use crate::input;
use crate::kind::{Context, Kind, Made, Planned, at_key};
use crate::live_nodes::keys;
use crate::tree::Value;
use openflow::controller::Controller;
use openflow::switch::Switch;
use std::path::PathBuf;

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    let switch = Kind::new("openflow-switch", |config, folder| {
        let file = config.get(ENTRIES_FILE).map(Value::read::<PathBuf>);
        Ok(Planned {
            inputs: file.transpose()?.into_iter().collect(),
            ..Planned::by(config, folder, switch)?
        })
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

/// Key of a file with entries, one per line, in the syntax of `ovs-ofctl add-flows`.
const ENTRIES_FILE: &str = "entries_file";

/// Makes a switch with the entries of its section, followed by those of its file.
fn switch(config: &Value, context: Context<'_>) -> Made {
    let mut rest = keys::without(config)?;
    let file = rest.take(ENTRIES_FILE);
    let mut read: openflow::switch::Config = rest.read()?;
    if config.get("seed").is_none() {
        read.seed = context.seed;
    }
    let has_own = !read.entries.is_empty();
    // Without a folder, only the section is checked, not its files.
    if let (Some(entry), Some(folder)) = (&file, context.folder) {
        let name = entry.value.read::<String>()?;
        let text = input::text(&folder.join(&name)).map_err(|error| {
            let message = format!("{name}: {error}");
            Fault::new(entry.value.span.clone(), message)
        })?;
        let lines = text.lines().map(str::trim);
        let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        read.entries.extend(entries.map(str::to_owned));
    }
    let made = Switch::new(read).map_err(|error| match &file {
        Some(entry) if error.key == "entries" && !has_own => {
            Fault::new(entry.value.span.clone(), error.to_string())
        }
        _ => at_key(&rest, error),
    });
    Ok(Box::new(made?))
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
