//! Sends every frame back where it came from, with its addresses swapped.
//!
//! - **Ports:** `ports`, each answering for itself.
//! - **Parameters:** `ports`, 1. `swap`, `ethernet`: `nothing`, `ethernet` (MAC addresses), `ip`
//!   (IP addresses too) or `transport` (UDP and TCP ports too).
//! - **Counters:** `packets`; `bytes`, without FCS.
//! - **Drops:** `shorter than an Ethernet header`.
//!
//! Checksums stay right, since a sum does not change when its terms change places. A frame to a
//! group address goes back with that address as its source, which a switch does not learn. What is
//! not IP, or is cut short, has only its MAC addresses swapped.

use crate::wire;
use alloc::vec::Vec;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::ethertype;
use packet::ip::upper_layer;
use packet::ipv4::protocol;
use packet::vlan::untagged;

/// Which addresses change places; each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Swap {
    /// None: the frame goes back as it came.
    Nothing,
    #[default]
    Ethernet,
    Ip,
    Transport,
}

/// What an echo is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// How many ports it has, at least 1.
    pub ports: u16,
    pub swap: Swap,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ports: 1,
            swap: Swap::default(),
        }
    }
}

#[derive(Debug)]
pub struct Echo {
    config: Config,
    packets: u64,
    bytes: u64,
}

impl Echo {
    /// An echo.
    ///
    /// # Errors
    /// When it has no port.
    pub fn new(config: Config) -> Result<Echo, ConfigError> {
        if config.ports == 0 {
            return Err(ConfigError::new("ports", "an echo has at least 1 port"));
        }
        Ok(Echo {
            config,
            packets: 0,
            bytes: 0,
        })
    }

    fn frame(&mut self, _now: Time, port: Port, mut frame: Frame, out: &mut Out) {
        if frame.len() < wire::ETHERNET {
            out.drop(frame, "shorter than an Ethernet header");
            return;
        }
        swap(&mut frame, self.config.swap);
        self.packets += 1;
        self.bytes += frame.len() as u64;
        out.send(port, frame);
    }
}

impl Node for Echo {
    fn properties(&self) -> Properties {
        Properties::of(self.config.ports.into())
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([("packets", self.packets), ("bytes", self.bytes)])
    }
}

/// Swaps the addresses of a frame that has an Ethernet header, as far as they are there.
fn swap(frame: &mut [u8], what: Swap) {
    if what >= Swap::Ethernet {
        swap_neighbours(frame, 0, 6);
    }
    if what >= Swap::Ip
        && let Some((kind, packet)) = untagged(frame)
    {
        let at = frame.len() - packet.len();
        match kind {
            ethertype::IPV4 => swap_neighbours(frame, at + 12, 4),
            ethertype::IPV6 => swap_neighbours(frame, at + 8, 16),
            _ => {}
        }
    }
    if what >= Swap::Transport
        && let Some((protocol::UDP | protocol::TCP, at)) = upper_layer(frame)
    {
        swap_neighbours(frame, at, 2);
    }
}

/// Swaps the `len` bytes at `at` with the `len` bytes behind them, if all are there.
fn swap_neighbours(frame: &mut [u8], at: usize, len: usize) {
    if let Some(both) = frame.get_mut(at..at + 2 * len) {
        let (first, second) = both.split_at_mut(len);
        first.swap_with_slice(second);
    }
}
