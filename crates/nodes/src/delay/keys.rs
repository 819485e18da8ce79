//! A delay box from a file: the words of a SPEC as keys.

use super::Config;
use super::spec::{Lag, Spec, clause};
use alloc::format;
use alloc::string::String;
use node::Time;
use serde::de::{Deserialize, Deserializer, Error};

/// As they stand in the file; each is checked where it stands.
#[derive(serde::Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Keys {
    #[serde(deserialize_with = "whole")]
    spec: Option<String>,
    #[serde(deserialize_with = "delay")]
    delay: Option<String>,
    #[serde(deserialize_with = "distribution")]
    distribution: Option<String>,
    #[serde(deserialize_with = "loss")]
    loss: Option<String>,
    ecn: bool,
    #[serde(deserialize_with = "duplicate")]
    duplicate: Option<String>,
    #[serde(deserialize_with = "corrupt")]
    corrupt: Option<String>,
    #[serde(deserialize_with = "reorder")]
    reorder: Option<String>,
    gap: Option<u32>,
    #[serde(deserialize_with = "rate")]
    rate: Option<String>,
    #[serde(deserialize_with = "slot")]
    slot: Option<String>,
    #[serde(deserialize_with = "queue")]
    queue: Option<String>,
    burst: Option<u32>,
    limit: Option<u32>,
    seed: Option<u64>,
    #[serde(deserialize_with = "back")]
    back: Option<Spec>,
}

/// Reads the words behind a keyword, and finds out whether they are right.
fn words<'de, D: Deserializer<'de>>(name: &str, input: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(input)?;
    clause(name, &text).map_err(D::Error::custom)?;
    Ok(Some(text))
}

macro_rules! keys {
    ($($name:ident)*) => {$(
        fn $name<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
            words(stringify!($name), input)
        }
    )*};
}
keys!(delay distribution loss duplicate corrupt reorder rate slot queue);

fn whole<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(input)?;
    text.parse::<Spec>().map_err(D::Error::custom)?;
    // Other keys stand before it; the front of a line of tc goes.
    let bare = text.split_once("netem").map(|(_, behind)| behind.into());
    let bare = bare.unwrap_or(text);
    Ok(Some(match bare.trim() {
        "none" => String::new(),
        _ => bare,
    }))
}

fn back<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Spec>, D::Error> {
    let text = String::deserialize(input)?;
    Spec::or_delay(&text).map(Some).map_err(D::Error::custom)
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Config, D::Error> {
        let keys = Keys::deserialize(input)?;
        let mut text = String::new();
        let clauses = [
            ("delay", &keys.delay),
            ("distribution", &keys.distribution),
            ("loss", &keys.loss),
            ("duplicate", &keys.duplicate),
            ("corrupt", &keys.corrupt),
            ("reorder", &keys.reorder),
            ("rate", &keys.rate),
            ("slot", &keys.slot),
        ];
        let plain = keys.spec.is_none()
            && keys.queue.is_none()
            && !keys.ecn
            && clauses.iter().all(|(_, value)| value.is_none());
        for (name, value) in clauses {
            if let Some(value) = value {
                text += &format!(" {name} {value}");
            }
        }
        if keys.ecn {
            text += " ecn";
        }
        let numbers = [
            ("burst", keys.burst.map(u64::from)),
            ("gap", keys.gap.map(u64::from)),
            ("limit", keys.limit.map(u64::from)),
            ("seed", keys.seed),
        ];
        for (name, value) in numbers {
            if let Some(value) = value {
                text += &format!(" {name} {value}");
            }
        }
        // Last, as a queue's parameters have no end of their own.
        if let Some(spec) = &keys.spec {
            text += &format!(" {spec}");
        }
        if let Some(queue) = &keys.queue {
            text += &format!(" queue {queue}");
        }
        let mut forth: Spec = text.parse().map_err(D::Error::custom)?;
        if plain {
            // The paper's box.
            forth.delay = Lag::Fixed(Time::from_secs(1));
        }
        Ok(Config {
            forth,
            back: keys.back,
        })
    }
}
