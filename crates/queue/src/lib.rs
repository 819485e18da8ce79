//! Queue disciplines as pure state machines over exact time.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod codel;
pub mod decision;
pub mod discipline;
pub mod fifo;
mod ledger;
mod mark;
pub mod packet;

pub use decision::{Backlog, Decision, Decisions, Reason, State, Verdict};
pub use discipline::Discipline;
pub use ledger::Counters;
pub use mark::mark;
pub use packet::{Ecn, Facts, Packet};

use alloc::boxed::Box;
use node::ConfigError;

/// A discipline with its parameters, as data. In a file `kind` has tc's name, and the other keys are the parameters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "snake_case"))]
pub enum Config {
    /// First in, first out.
    Fifo(fifo::Config),
    /// Controlled delay.
    Codel(codel::Config),
}

impl Default for Config {
    /// A FIFO of 1000 packets.
    fn default() -> Config {
        Config::Fifo(fifo::Config::default())
    }
}

impl Config {
    /// Makes an empty queue. The same seed gives the same decisions.
    ///
    /// # Errors
    /// For a parameter that makes no sense.
    pub fn build(&self, seed: u64) -> Result<Box<dyn Discipline>, ConfigError> {
        let _ = seed;
        Ok(match self {
            Config::Fifo(config) => Box::new(fifo::Fifo::new(config.clone())),
            Config::Codel(config) => Box::new(codel::Codel::new(config)?),
        })
    }
}
