//! What a compressing node is made from.

use super::flows::MAX_FLOWS;
use crate::codec::Algorithm;
use crate::encapsulation::PROTOCOL;
use alloc::format;
use alloc::string::String;
use core::str::FromStr;
use node::ConfigError;
use node::{Rate, Time};

/// When packets are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Mode {
    /// If the time that a packet waits anyway is worth it: 004 section 5.2.
    #[default]
    Adaptive,
    /// Whenever it makes them shorter.
    Always,
    /// Not at all; what was compressed elsewhere is restored.
    Never,
}

/// By what packets are compressed. As a text: `auto`, `lz4`, `zstd`, `zstd-dictionary`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// For each flow what saves most time, with the dictionary if there is one.
    #[default]
    Auto,
    One(Algorithm),
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(Choice: "an algorithm, such as \"lz4\", or \"auto\"");

impl FromStr for Choice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Choice, &'static str> {
        if text == "auto" {
            return Ok(Choice::Auto);
        }
        let known = Algorithm::ALL.into_iter();
        known
            .into_iter()
            .find(|algorithm| algorithm.name() == text)
            .map(Choice::One)
            .ok_or("an algorithm is auto, lz4, zstd or zstd-dictionary")
    }
}

/// What it is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// When packets are compressed.
    pub mode: Mode,
    pub algorithm: Choice,
    /// The level of zstd, -7 (fastest) to 19.
    pub level: i32,
    /// The file with the dictionary; both nodes need the same. `None`: there is none.
    pub dictionary: Option<String>,
    /// The protocol number of encapsulated packets, 0 to 255: both nodes need the same.
    pub protocol: u8,
    /// Whether IPv4 packets that routers may cut into fragments are compressed too: cut, they cannot be restored. `false` where the way to
    /// the far node has links with a smaller MTU than those before the near one.
    pub cuttable: bool,
    /// B, the output's rate, if it is not to be what is told of its queue.
    pub rate: Option<Rate>,
    /// R, compressed by original size, above 0 to 1; `None`: what each flow's packets showed.
    pub ratio: Option<f64>,
    /// C, what compressing a packet takes whatever its size; `None`: what each flow's packets showed.
    pub cost: Option<Time>,
    /// What it takes besides for each byte; only with `cost`.
    pub cost_per_byte: Time,
    /// Of how many flows it is known what their packets showed, 1 to 1,048,576; 64 bytes or so for each.
    pub flows: usize,
    /// How often the far node is asked whether it is there, while packets are compressed; with three questions unanswered none is. 0: never.
    pub keepalive: Time,
    /// The class of the queueing discipline at port 1, see [`node::event::Queue::class`].
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::backlog::read_class")
    )]
    pub class: u32,
    /// How old facts may be.
    pub age: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mode: Mode::Adaptive,
            algorithm: Choice::Auto,
            level: 1,
            dictionary: None,
            protocol: PROTOCOL,
            cuttable: true,
            rate: None,
            ratio: None,
            cost: None,
            cost_per_byte: Time::ZERO,
            flows: 4096,
            keepalive: Time::from_ms(250),
            class: 0,
            age: Time::from_ms(1),
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let fault = |key, reason: &str| {
            let reason = reason.into();
            Err(ConfigError { key, reason })
        };
        let with = Choice::One(Algorithm::ZstdDictionary);
        if self.algorithm == with && self.dictionary.is_none() {
            return fault("dictionary", "the algorithm zstd-dictionary needs a file");
        }
        // Extension headers and transports that routers look for would be taken for ours.
        if !is_free(self.protocol) {
            let reason = format!(
                "{} has a meaning of its own; 253 and 254 are free for experiments",
                self.protocol
            );
            return fault("protocol", &reason);
        }
        if self
            .ratio
            .is_some_and(|ratio| !(ratio > 0.0 && ratio <= 1.0))
        {
            return fault(
                "ratio",
                "compressed by original size is above 0 and at most 1",
            );
        }
        if self.cost.is_none() && self.cost_per_byte != Time::ZERO {
            return fault("cost_per_byte", "needs `cost`, which may be 0");
        }
        if !(1..=MAX_FLOWS).contains(&self.flows) {
            return fault("flows", "1 to 1048576 flows are known");
        }
        Ok(())
    }
}

/// Whether IANA's list has no meaning for a protocol number: unassigned or for experiments.
fn is_free(protocol: u8) -> bool {
    (147..=254).contains(&protocol)
}
