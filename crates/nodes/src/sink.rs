//! Counts frames and takes them in.
//!
//! - **Ports:** `ports`, all alike.
//! - **Parameters:** `ports`, 1.
//! - **Counters:** `packets`; `bytes`, without FCS.

use alloc::vec::Vec;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};

/// What a sink is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// How many ports it has, at least 1.
    pub ports: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config { ports: 1 }
    }
}

#[derive(Debug)]
pub struct Sink {
    ports: u16,
    packets: u64,
    bytes: u64,
}

impl Sink {
    /// A sink that has seen nothing.
    ///
    /// # Errors
    /// When it has no port.
    pub fn new(config: Config) -> Result<Sink, ConfigError> {
        if config.ports == 0 {
            return Err(ConfigError::new("ports", "a sink has at least 1 port"));
        }
        Ok(Sink {
            ports: config.ports,
            packets: 0,
            bytes: 0,
        })
    }
}

impl Node for Sink {
    fn properties(&self) -> Properties {
        Properties::of(self.ports.into())
    }

    fn frames(&mut self, _now: Time, _port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.packets += 1;
            self.bytes += frame.len() as u64;
            out.done(frame);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([("packets", self.packets), ("bytes", self.bytes)])
    }
}
