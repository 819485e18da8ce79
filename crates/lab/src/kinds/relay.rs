//! Relay nodes (paper 004).

use crate::input;
use crate::kind::{Context, Kind, Made, at_key};
use crate::tree::Value;
use node::ConfigError;
use relay::{codec, compress, duplicate, early_discard, paths, split, through, xor};

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::of("through", |config, _| Ok(through::Through::new(config))),
        Kind::made("compress", compress),
        Kind::seeded(
            "duplicate",
            |config: &mut duplicate::Config| &mut config.seed,
            duplicate::Duplicate::new,
        ),
        Kind::seeded(
            "early-discard",
            |config: &mut early_discard::Config| &mut config.seed,
            early_discard::EarlyDiscard::new,
        ),
        Kind::seeded(
            "split",
            |config: &mut split::Config| &mut config.seed,
            split::Split::new,
        ),
        Kind::of("xor", |config, _| xor::Xor::new(config)),
        Kind::of("paths", |config, _| paths::Paths::new(config)),
    ]
}

/// A compressing node, whose dictionary is in a file.
fn compress(config: &Value, context: Context<'_>) -> Made {
    let read: compress::Config = config.read()?;
    let dictionary = match (&read.dictionary, context.folder) {
        (None, _) => Vec::new(),
        // What serves for any file.
        (Some(_), None) => b"dictionary".to_vec(),
        (Some(name), Some(folder)) => {
            let longest = codec::MAX_DICTIONARY_LEN as u64;
            let (key, name) = ("dictionary", folder.join(name));
            let bytes = input::bytes(&name, longest);
            bytes.map_err(|error| {
                let reason = error.to_string();
                at_key(config, ConfigError { key, reason })
            })?
        }
    };
    match compress::Compress::new(read, &dictionary) {
        Ok(node) => Ok(Box::new(node)),
        Err(refused) => Err(at_key(config, refused)),
    }
}
