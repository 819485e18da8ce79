//! Delay box: everything that a bad network does to frames, by exact departure times.
//!
//! - **Ports:** 2; what comes in by one goes out by the other.
//! - **Parameters:** a [`Spec`] for each direction, in the words of `tc netem`: see [`spec`]. In a file the
//!   same words are keys: `delay`, 1 s if no key is there; `distribution`, `loss`, `ecn`, `duplicate`,
//!   `corrupt`, `reorder`, `gap`, `rate`, `burst`, `slot`, `limit`, `seed`, `queue`; or all of them in one text, `spec`. `back`:
//!   a SPEC, or a delay alone, from port 1 to port 0; left out, the same with luck of its own.
//! - **Counters:** `packets`; `bytes`, without FCS; `most_held`, the most frames that were under way in one
//!   direction; then for each direction, as `forth_` and `back_`: `packets`, `bytes`, `lost`, `dropped`, `marked`,
//!   `duplicated`, `corrupted`, `reordered`; `held`, frames that are still here. In each direction `packets` and
//!   `duplicated` are what left, `lost`, `dropped` and `held`.
//! - **Drops:** `lost`, as asked; `delay line full`; `queue of the rate full`; `dropped by the queue discipline`.
//! - **Paper:** 000 section 6.3.2, figure 6.7: received stamp + delay = departure, so that what the
//!   box itself takes does not show.
//!
//! A frame is complete only when its last bit is in; a delay shorter than the frame's own duration
//! cannot be kept, and the port counts the frame as late. Frames whose delays differ overtake each other,
//! as in netem: a rate keeps them in order.
//!
//! Everything is decided when a frame arrives. It stays here only as long as another frame may still be
//! due before it; a world is given its departure ahead of time wherever that is certain.

mod lag;
mod line;
mod loss;
mod queued;
mod served;
pub mod spec;
pub mod trace;

#[cfg(feature = "serde")]
mod keys;

pub use spec::{Spec, SpecError};

use alloc::format;
use alloc::vec::Vec;
use line::Line;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use spec::Lag;

/// Frames that may be under way in each direction, where a SPEC does not say.
pub const LIMIT: usize = 1 << 20;
/// Frames that may wait for the rate, where a SPEC has a rate and no limit. netem's limit of 1000 counts
/// those that are being delayed too, and so loses frames where a long delay meets a high rate.
pub const QUEUE: usize = 1000;

/// What a delay box is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// From port 0 to port 1.
    pub forth: Spec,
    /// From port 1 to port 0; `None`: as `forth`, with luck of its own.
    pub back: Option<Spec>,
}

impl Default for Config {
    fn default() -> Config {
        let second = Time::from_secs(1);
        Config::fixed(second, second)
    }
}

impl Config {
    /// Nothing but a delay in each direction.
    pub fn fixed(forth: Time, back: Time) -> Config {
        let spec = |delay| Spec {
            delay: Lag::Fixed(delay),
            ..Spec::default()
        };
        Config {
            forth: spec(forth),
            back: Some(spec(back)),
        }
    }
}

#[derive(Debug)]
pub struct Delay {
    lines: [Line; 2],
}

impl Delay {
    /// An empty delay box.
    ///
    /// # Errors
    /// When a SPEC names a file that has not been [read](Spec::load).
    pub fn new(config: Config) -> Result<Delay, ConfigError> {
        let back = config.back.as_ref().unwrap_or(&config.forth);
        for (key, spec) in [("spec", &config.forth), ("back", back)] {
            if let Some(file) = spec.missing() {
                return Err(ConfigError::new(key, format!("{file} has not been read")));
            }
        }
        Ok(Delay {
            lines: [
                Line::new(&config.forth, Port(1), 0),
                Line::new(back, Port(0), 1),
            ],
        })
    }

    /// Frames that are under way now, in each direction.
    pub fn under_way(&self) -> [usize; 2] {
        [self.lines[0].under_way(), self.lines[1].under_way()]
    }

    /// What has come, in each direction.
    pub fn totals(&self) -> [Totals; 2] {
        let totals = |line: &Line| {
            let counts = line.counts();
            Totals {
                packets: counts.packets,
                bytes: counts.bytes,
                lost: counts.lost,
            }
        };
        [totals(&self.lines[0]), totals(&self.lines[1])]
    }
}

/// What has come in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    pub packets: u64,
    /// Bytes of those, without FCS.
    pub bytes: u64,
    pub lost: u64,
}

impl Node for Delay {
    fn properties(&self) -> Properties {
        Properties {
            forwards: true,
            ..Properties::of(2)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.lines[port.index()].frame(now, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        for line in &mut self.lines {
            line.wake(now, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let wakes = self.lines.iter().filter_map(Line::next_wake);
        wakes.min()
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        let [forth, back] = [self.lines[0].counts(), self.lines[1].counts()];
        statistics.counter("packets", forth.packets + back.packets);
        statistics.counter("bytes", forth.bytes + back.bytes);
        statistics.counter("most_held", forth.most_held.max(back.most_held) as u64);
        statistics.counter("forth_packets", forth.packets);
        statistics.counter("forth_bytes", forth.bytes);
        statistics.counter("forth_lost", forth.lost);
        statistics.counter("forth_dropped", forth.dropped);
        statistics.counter("forth_marked", forth.marked);
        statistics.counter("forth_duplicated", forth.duplicated);
        statistics.counter("forth_corrupted", forth.corrupted);
        statistics.counter("forth_reordered", forth.reordered);
        statistics.counter("forth_held", self.lines[0].held() as u64);
        statistics.counter("back_packets", back.packets);
        statistics.counter("back_bytes", back.bytes);
        statistics.counter("back_lost", back.lost);
        statistics.counter("back_dropped", back.dropped);
        statistics.counter("back_marked", back.marked);
        statistics.counter("back_duplicated", back.duplicated);
        statistics.counter("back_corrupted", back.corrupted);
        statistics.counter("back_reordered", back.reordered);
        statistics.counter("back_held", self.lines[1].held() as u64);
        statistics
    }
}

#[cfg(test)]
mod tests;
