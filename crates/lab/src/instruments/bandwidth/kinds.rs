//! Who probes for available bandwidth, who reflects, and who makes probes of what applications send.

use super::Estimates;
use crate::fault::Fault;
use crate::kind::{Context, Kind, Made, Planned, at_key};
use crate::tree::Value;
use node::Rate;
use nodes::bandwidth::middlebox::{self, Middlebox};
use nodes::bandwidth::prober::{Config, Prober};
use nodes::bandwidth::reflector::Reflector;
use serde::de::DeserializeOwned;

/// The kinds.
pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        Kind::new("prober", |config, folder| {
            let (_, read): (Said, Config) = read(config)?;
            Ok(Planned {
                // Its last estimate ends the run, if all others have theirs.
                tests: read.method.0.len().saturating_mul(read.samples as usize),
                ..Planned::by(config, folder, make)?
            })
        }),
        Kind::of("reflector", |config, _| Ok(Reflector::new(&config))),
        Kind::made("middlebox", middlebox),
    ]
}

/// What the report says of the path, which is not for the node.
type Said = (Option<String>, Option<Rate>);

fn read<C: DeserializeOwned>(config: &Value) -> Result<(Said, C), Fault> {
    let mut config = config.clone();
    let path = config.take("path").map(|entry| entry.value.read());
    let published = config.take("published").map(|entry| entry.value.read());
    let said = (path.transpose()?, published.transpose()?);
    Ok((said, config.read()?))
}

fn make(config: &Value, context: Context<'_>) -> Made {
    let ((path, published), mut read): (Said, Config) = read(config)?;
    if config.get("seed").is_none() {
        read.seed = context.seed;
    }
    if config.get("session").is_none() {
        // Another one for each node, as seeds are.
        read.session = context.seed as u16;
    }
    let estimates = Estimates::of(&context);
    let made = Prober::new(read, estimates.tell(path, published));
    Ok(Box::new(made.map_err(|error| at_key(config, error))?))
}

fn middlebox(config: &Value, context: Context<'_>) -> Made {
    let ((path, published), mut read): (Said, middlebox::Config) = read(config)?;
    if config.get("seed").is_none() {
        read.seed = context.seed;
    }
    let estimates = Estimates::of(&context);
    let tell = estimates.tell(path, published);
    let made = Middlebox::new(read, tell, estimates.mark());
    Ok(Box::new(made.map_err(|error| at_key(config, error))?))
}
