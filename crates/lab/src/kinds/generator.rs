//! A generator of made frames, or with `replay` of those in a file.

use crate::fault::Fault;
use crate::kind::{Context, Kind, Made, Planned, at_key};
use crate::replay::Replayed;
use crate::tree::{Value, What};
use nodes::generator::{Config, Frames, Generator, Source};
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The kind.
pub(super) fn kinds() -> Vec<Kind> {
    let kind = Kind::new("generator", |config, folder| {
        let replay = config.get("replay").map(Value::read::<PathBuf>);
        Ok(Planned {
            endless: endless(config),
            inputs: replay.transpose()?.into_iter().collect(),
            ..Planned::by(config, folder, make)?
        })
    });
    vec![Kind {
        sends_probes: true,
        ..kind
    }]
}

fn endless(config: &Value) -> Vec<String> {
    let has = |key| config.get(key).is_some();
    let loops = config.get("loops").map(|loops| &loops.what);
    let ends = has("count")
        || has("duration")
        || has("replay") && !matches!(loops, Some(What::Integer(0)));
    match ends {
        true => Vec::new(),
        false => vec!["generates without `count` or `duration`".into()],
    }
}

fn make(config: &Value, context: Context<'_>) -> Made {
    let mut config = config.clone();
    let replay = config.take("replay");
    let mut read: Config = config.read()?;
    if config.get("seed").is_none() {
        read.seed = context.seed;
    }
    let made = match (replay, context.folder) {
        (None, _) => Generator::new(read),
        (Some(replay), folder) => {
            let source: Box<dyn Source> = match folder {
                None => Box::new(Frames::default()),
                Some(folder) => {
                    let path = folder.join(replay.value.read::<String>()?);
                    let fault = |error: &dyn Display| {
                        Fault::new(replay.value.span.clone(), error.to_string())
                    };
                    // A FIFO would keep everything waiting.
                    if let Err(error) = ::capture::file::open_named(&path)
                        && error.kind() == ErrorKind::InvalidInput
                    {
                        return Err(fault(&format_args!("{}: {error}", path.display())));
                    }
                    let replayed = Replayed::open(path, context.notes);
                    Box::new(replayed.map_err(|error| fault(&error))?)
                }
            };
            Generator::replay(read, source)
        }
    };
    Ok(Box::new(made.map_err(|error| at_key(&config, error))?))
}
