//! A delay box, whose lists of delays are in files.

use crate::input;
use crate::kind::{Context, Kind, Made, at_key};
use crate::tree::Value;
use node::ConfigError;
use nodes::delay::{Config, Delay};

/// The kind.
pub(super) fn kinds() -> Vec<Kind> {
    vec![Kind::made("delay", make)]
}

fn make(config: &Value, context: Context<'_>) -> Made {
    let mut read: Config = config.read()?;
    let mut load = |name: &str| match context.folder {
        // What serves for any file.
        None => Ok("0".into()),
        Some(folder) => input::text(&folder.join(name)).map_err(|error| error.to_string()),
    };
    read.back.get_or_insert_with(|| read.forth.clone());
    for (key, spec) in [
        ("spec", Some(&mut read.forth)),
        ("back", read.back.as_mut()),
    ] {
        if let Some(spec) = spec {
            spec.seed.get_or_insert(context.seed);
            let loaded = spec.load(&mut load);
            loaded.map_err(|error| {
                let reason = error.to_string();
                at_key(config, ConfigError { key, reason })
            })?;
        }
    }
    match Delay::new(read) {
        Ok(node) => Ok(Box::new(node)),
        Err(refused) => Err(at_key(config, refused)),
    }
}
