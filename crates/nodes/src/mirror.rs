//! Passes frames between two ports and sends copies of them to others.
//!
//! - **Ports:** 0 and 1, in line; 2 and up, `copies` of them, for those who watch.
//! - **Parameters:** `copies`, 1. `watch`, `both`: frames of which direction are copied - `both`,
//!   `forth` (those that came by port 0) or `back` (by port 1).
//! - **Counters:** `packets`; `bytes`, without FCS; `copied`: copies sent.
//! - **Drops:** `came by a copy port`: whoever watches takes no part.
//!
//! In line, a frame leaves when its last bit is in. Copies leave at the same time, each by its own port;
//! a port that is too slow for both directions loses copies in its link's queue, not the traffic.

use alloc::vec::Vec;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Watch {
    #[default]
    Both,
    /// Those that came by port 0.
    Forth,
    /// Those that came by port 1.
    Back,
}

/// What a mirror is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// How many ports get copies, 1 to 1024.
    pub copies: u16,
    pub watch: Watch,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            copies: 1,
            watch: Watch::default(),
        }
    }
}

#[derive(Debug)]
pub struct Mirror {
    config: Config,
    packets: u64,
    bytes: u64,
    copied: u64,
}

impl Mirror {
    /// A mirror.
    ///
    /// # Errors
    /// When `copies` is out of its range.
    pub fn new(config: Config) -> Result<Mirror, ConfigError> {
        if !(1..=1024).contains(&config.copies) {
            let reason = "a mirror has 1 to 1024 ports for copies";
            return Err(ConfigError::new("copies", reason));
        }
        Ok(Mirror {
            config,
            packets: 0,
            bytes: 0,
            copied: 0,
        })
    }

    fn frame(&mut self, _now: Time, port: Port, frame: Frame, out: &mut Out) {
        if port.0 > 1 {
            out.drop(frame, "came by a copy port");
            return;
        }
        self.packets += 1;
        self.bytes += frame.len() as u64;
        let watched = match self.config.watch {
            Watch::Both => true,
            Watch::Forth => port.0 == 0,
            Watch::Back => port.0 == 1,
        };
        if watched {
            for copy in 0..self.config.copies {
                let frame = out.copy(&frame);
                out.send(Port(2 + copy), frame);
            }
            self.copied += u64::from(self.config.copies);
        }
        out.send(Port(port.0 ^ 1), frame);
    }
}

impl Node for Mirror {
    fn properties(&self) -> Properties {
        Properties::of(2 + usize::from(self.config.copies))
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("copied", self.copied),
        ])
    }
}
