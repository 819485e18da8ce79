//! Nodes that are programs in any language: `command`, a shell pipe, and `callback`, an answer for each packet.

use crate::fault::Fault;
use crate::kind::{Context, Kind, Made, Planned};
use crate::tree::Value;
use live::world::callback::pipe::{self, Pipe};
use live::world::callback::{self, Callback, Io, Metadata};
use live::world::hook::Fail;
use node::Time;
use packet::Tick;
use serde::{Deserialize, Deserializer, de};
use std::path::PathBuf;
use std::str::FromStr;

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    vec![running("command", pipe), running("callback", callback)]
}

fn running(name: &str, make: fn(&Value, Context<'_>) -> Made) -> Kind {
    Kind {
        runs_programs: true,
        ..Kind::new(name, move |config, folder| {
            let planned = Planned::by(config, folder, make)?;
            let command = config.get("command").map(Value::read);
            Ok(Planned {
                command: command.transpose()?,
                ..planned
            })
        })
    }
}

/// The keys of a kind: those of both, and its own. A struct for each, so that a message names the keys that the kind takes.
macro_rules! keys {
    ($name:ident { $($own:tt)* }) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $name {
            command: String,
            #[serde(default)]
            raw: bool,
            io: Option<Word<Io>>,
            #[serde(default)]
            metadata: Vec<Word<Metadata>>,
            age: Option<Word<Time>>,
            wake: Option<Word<Time>>,
            patience: Option<Word<Time>>,
            cost: Option<Word<Time>>,
            $($own)*
        }

        impl $name {
            fn read(config: &Value) -> Result<$name, Fault> {
                let keys: $name = config.read()?;
                if keys.command.trim().is_empty() {
                    return Err(at(config, "command", "expected a command line for the shell"));
                }
                if keys.raw && !keys.metadata.is_empty() {
                    return Err(at(config, "metadata", "records have no room for it: leave `raw` out"));
                }
                if value(&keys.wake) == Some(Time::ZERO) {
                    return Err(at(config, "wake", "a time above zero is wanted"));
                }
                Ok(keys)
            }

            fn metadata(&self) -> Vec<Metadata> {
                self.metadata.iter().map(|word| word.0).collect()
            }
        }
    };
}

keys!(PipeKeys {
    back: Option<String>,
    ports: Option<u16>,
    time: Option<bool>,
    tick: Option<Word<Time>>,
});

keys!(CallbackKeys {
    fail: Option<Word<Fail>>,
});

/// Something that is written as a word.
struct Word<T>(T);

impl<'de, T: FromStr<Err: std::fmt::Display>> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let wrong = |why| de::Error::custom(format_args!("`{text}`: {why}"));
        text.parse().map(Word).map_err(wrong)
    }
}

/// Default timeout of a program's answer to a packet in simulated time, measured on the machine's
/// clock.
const DEFAULT_ANSWER_TIMEOUT: Time = Time::from_secs(10);

/// The parsed value, if there was any.
fn value<T: Copy>(word: &Option<Word<T>>) -> Option<T> {
    word.as_ref().map(|word| word.0)
}

/// A fault at a key.
fn at(config: &Value, key: &str, message: &str) -> Fault {
    let span = config.get(key).unwrap_or(config).span.clone();
    Fault::new(span, format!("`{key}`: {message}"))
}

/// A pipe.
fn pipe(config: &Value, context: Context<'_>) -> Made {
    let keys = PipeKeys::read(config)?;
    let usual = pipe::Config::new(&keys.command);
    let ports = keys.ports.unwrap_or(usual.ports);
    if !(1..=2).contains(&ports) {
        return Err(at(config, "ports", "1 or 2"));
    }
    if ports == 1 && keys.back.is_some() {
        return Err(at(config, "back", "a node with one port has no way back"));
    }
    let tick = |tick: Time| u32::try_from(tick.as_ps()).ok().and_then(Tick::from_ps);
    let Some(tick) = value(&keys.tick).map_or(Some(usual.tick), tick) else {
        return Err(at(config, "tick", "1 ps to 4.29 ms"));
    };
    Ok(Box::new(Pipe::new(pipe::Config {
        metadata: keys.metadata(),
        ports,
        tick,
        back: keys.back,
        raw: keys.raw,
        time: keys.time.unwrap_or(usual.time),
        io: value(&keys.io),
        age: value(&keys.age).unwrap_or(usual.age),
        wake: value(&keys.wake),
        patience: value(&keys.patience).unwrap_or(DEFAULT_ANSWER_TIMEOUT),
        folder: folder(&context),
        simulated: !context.live,
        cost: value(&keys.cost).unwrap_or_default(),
        command: keys.command,
    })))
}

/// A callback.
fn callback(config: &Value, context: Context<'_>) -> Made {
    let keys = CallbackKeys::read(config)?;
    let usual = callback::Config::new(&keys.command);
    let patience = match context.live {
        true => usual.patience,
        false => DEFAULT_ANSWER_TIMEOUT,
    };
    Ok(Box::new(Callback::new(callback::Config {
        metadata: keys.metadata(),
        raw: keys.raw,
        open: value(&keys.fail).map_or(usual.open, |fail| fail == Fail::Open),
        patience: value(&keys.patience).unwrap_or(patience),
        io: value(&keys.io).unwrap_or(usual.io),
        age: value(&keys.age).unwrap_or(usual.age),
        wake: value(&keys.wake),
        folder: folder(&context),
        simulated: !context.live,
        cost: value(&keys.cost).unwrap_or_default(),
        command: keys.command,
    })))
}

/// Where the programs are: in the lab file's folder.
fn folder(context: &Context<'_>) -> Option<PathBuf> {
    let folder = context.folder?;
    (!folder.as_os_str().is_empty()).then(|| folder.into())
}
