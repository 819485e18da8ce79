//! Sends frames at exact times: made from a template, one given frame, or replayed.
//!
//! - **Ports:** 1. Frames that come in are counted and taken in.
//! - **When:** `start`, 1 us: the first departure. One of `gap` (from first bit to first bit), `rate`
//!   (bits a second on the wire: preamble, FCS and inter-frame gap counted), `packets_per_second` and
//!   `idles` (idle characters between frames, on a line of the rate `line`, 10 Gb/s);
//!   with none of them made frames leave every 1 ms. `pattern`, even: how departures are spread around
//!   that pace - [`Pattern`]. `count` and `duration`: when to stop; left out, never.
//! - **What:** `size`, 64: bytes with FCS - one number, a list, a range with a step, or IMIX, taken in
//!   turn, or drawn from a log-normal distribution. `seed`, 0: what is drawn comes from it. `source` and `destination`, 02:00:00:00:00:01 and :02; `ip_source` and `ip_destination`,
//!   198.18.0.1 and 198.18.0.2 (either version); `udp_source` and `udp_destination`, 49152 and 9;
//!   `flows`, 1: how many UDP source ports are used in turn; `ttl`, 64; `vlan` and `priority`, none;
//!   `stream`, 0, and `probe`, true: whether each frame carries a [`probe`](measure::probe); `payload`, zeros: what is behind
//!   that, [`Payload`]. Or `frame`: these bytes, unchanged.
//! - **Replay:** frames and times from a [`Source`]; `speed`, 1: how many times as fast as they were
//!   taken, unless one of `gap`, `rate`, `packets_per_second`, `idles` says otherwise; `loops`, 1, 0 forever;
//!   `pause`, 1 us: from the last departure to the first of the next loop.
//! - **How far ahead:** `ahead`, 100 us, and `ahead_frames`, 64: the world is given no departure that is
//!   farther off than both allow.
//! - **Counters:** `packets`; `bytes`, without FCS; `loops`, begun; `received`.
//! - **Drops:** `longer than a frame`, for what a source gives. Frames shorter than an Ethernet header are sent: captures have them.
//! - **Paper:** 000 sections 2.1 and 6.3.1; 002 sections 4.3.1 (idle characters) and 4.4 (trains, chains,
//!   log-normal sizes); the sizes are those of RFC 2544, which counts the FCS.
//!
//! The 12-byte gap and 8-byte preamble make 64-byte frames at 10 Gb/s leave every 67.2 ns exactly. What
//! a rate leaves of a picosecond is carried from frame to frame, so rounding never accumulates.

mod config;
mod pace;
mod pattern;
mod payload;
mod replay;
mod schedule;
mod size;
mod template;

pub use config::Config;
pub use pattern::{Pattern, PatternError, Pause};
pub use payload::Payload;
pub use replay::{Frames, Source};
pub use schedule::Schedule;
pub use size::{BadSizes, IMIX, LogNormal, Sizes, V_SIZE};

use alloc::boxed::Box;
use alloc::vec::Vec;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use pace::Pace;
use replay::Replay;
use size::Choice;
use template::Template;

enum Content {
    Made { template: Template, sizes: Choice },
    Given(Vec<u8>),
    Replay(Replay),
}

pub struct Generator {
    content: Content,
    pace: Option<Pace>,
    /// When the next frame leaves; of a replay's own timing, when the frame in hand does.
    next: Time,
    /// No departure is at or behind this.
    end: Time,
    left: u64,
    ahead: Time,
    batch: usize,
    wake_at: Option<Time>,
    packets: u64,
    bytes: u64,
    received: u64,
}

impl Generator {
    /// A generator of made frames, or of one given frame.
    ///
    /// # Errors
    /// For a value out of its range, two paces at once, or a size that the headers do not fit into.
    pub fn new(config: Config) -> Result<Generator, ConfigError> {
        let content = match &config.frame {
            Some(bytes)
                if !(packet::MIN_FRAME_LEN..=packet::MAX_FRAME_LEN).contains(&bytes.len()) =>
            {
                return Err(ConfigError::new("frame", "a frame has 14 to 262144 bytes"));
            }
            Some(bytes) => Content::Given(bytes.clone()),
            None => {
                let template = Template::new(&config)?;
                let sizes = config.size.checked(template.shortest(), config.seed)?;
                Content::Made { template, sizes }
            }
        };
        let mean = match &content {
            Content::Made { sizes, .. } => Some(sizes.mean()),
            Content::Given(bytes) => Some(bytes.len() as f64),
            Content::Replay(_) => None,
        };
        let pace = match Pace::new(&config, mean)? {
            Some(pace) => pace,
            None => Pace::gap(Time::from_ms(1), &config)?,
        };
        Generator::with(config, content, Some(pace))
    }

    /// A generator that sends what `source` gives.
    ///
    /// # Errors
    /// For a value out of its range, or two paces at once.
    pub fn replay(config: Config, source: Box<dyn Source>) -> Result<Generator, ConfigError> {
        let pace = match config.gap.is_some()
            || config.rate.is_some()
            || config.packets_per_second.is_some()
            || config.idles.is_some()
        {
            true => Pace::new(&config, None)?,
            false if config.pattern == Pattern::Even => None,
            false => {
                let reason = "a capture's own timing has no pattern; give a pace with it";
                return Err(ConfigError::new("pattern", reason));
            }
        };
        let content = Content::Replay(Replay::new(&config, source)?);
        Generator::with(config, content, pace)
    }

    fn with(
        config: Config,
        content: Content,
        pace: Option<Pace>,
    ) -> Result<Generator, ConfigError> {
        if config.ahead_frames < 2 {
            let reason = "at least 2 frames are given to the world ahead of time";
            return Err(ConfigError::new("ahead_frames", reason));
        }
        Ok(Generator {
            content,
            pace,
            next: config.start,
            end: config
                .duration
                .map_or(Time::MAX, |duration| config.start + duration),
            left: config.count.unwrap_or(u64::MAX),
            ahead: config.ahead,
            batch: config.ahead_frames / 2,
            wake_at: Some(config.start - config.ahead),
            packets: 0,
            bytes: 0,
            received: 0,
        })
    }

    /// Whether frames are left that would leave behind the end of time, which comes 213 days after
    /// the start of a run.
    pub fn is_out_of_time(&self) -> bool {
        self.left > 0 && self.next == Time::MAX && self.end == Time::MAX
    }

    /// Sees to it that the next frame is known, and tells when it leaves; `None` when all is sent.
    fn upcoming(&mut self, out: &mut Out) -> Option<Time> {
        if let Content::Replay(replay) = &mut self.content {
            let own = replay.fill(self.next, out)?;
            if self.pace.is_none() {
                let at = u64::try_from(own).map_or(Time::MAX, Time::from_ps);
                // A frame that would leave behind the end is not wanted, whenever that is.
                if at == Time::MAX && self.end == Time::MAX && self.left > 0 {
                    replay.end_before(own, out);
                    return None;
                }
                // Stamps in a capture may go back; departures do not.
                self.next = at.max(self.next);
            }
        }
        (self.left > 0 && self.next < self.end).then_some(self.next)
    }

    /// Sends the next frame, which leaves at `self.next`.
    fn send(&mut self, out: &mut Out) {
        let frame = match &mut self.content {
            Content::Made { template, sizes } => {
                let mut frame = out.frame();
                template.fill(&mut frame, sizes.nth(self.packets), self.packets, self.next);
                frame
            }
            Content::Given(bytes) => {
                let mut frame = out.frame();
                frame.extend(bytes);
                frame
            }
            Content::Replay(replay) => match replay.take() {
                Some(frame) => frame,
                None => return,
            },
        };
        let (at, len) = (self.next, frame.len());
        if let Some(pace) = &mut self.pace {
            self.next = pace.next(at, len);
        }
        if len > packet::MAX_FRAME_LEN {
            out.drop(frame, "longer than a frame");
            return;
        }
        self.packets += 1;
        self.bytes += len as u64;
        self.left -= 1;
        out.send_at(Port(0), at, frame);
    }
}

impl Node for Generator {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _now: Time, _port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.received += 1;
            out.done(frame);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if self.wake_at.is_none_or(|at| now < at) {
            return;
        }
        self.wake_at = None;
        let mut first = None;
        for _ in 0..self.batch {
            let Some(at) = self.upcoming(out) else { return };
            if at > now + self.ahead {
                break;
            }
            first.get_or_insert(at);
            self.send(out);
        }
        // One batch is on its way while the next one is made: it is made when the first frame of
        // the one before leaves, or when it comes within sight, whichever is later.
        let Some(next) = self.upcoming(out) else {
            return;
        };
        let in_sight = next - self.ahead;
        self.wake_at = Some(first.map_or(in_sight, |first| in_sight.max(first)));
    }

    fn next_wake(&self) -> Option<Time> {
        self.wake_at
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        statistics.counter("packets", self.packets);
        statistics.counter("bytes", self.bytes);
        if let Content::Replay(replay) = &self.content {
            statistics.counter("loops", replay.begun());
        }
        statistics.counter("received", self.received);
        statistics
    }
}

#[cfg(test)]
mod tests;
