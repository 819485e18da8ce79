//! When frames leave so that their gaps carry bits.

use super::code::{MAX_MESSAGE_LEN, Sender};
use super::{Config, Line, MIN_GAP};
use node::ConfigError;
use node::{Time, link};

/// Decides when each frame of a stream leaves.
///
/// A gap stands for a bit if it is within three times epsilon of `idles`. Any other gap is kept out of there: it is
/// natural, since a frame came too late, or least, since too many wait.
#[derive(Clone, Debug)]
pub struct Modulator {
    sender: Sender,
    line: Line,
    idles: u32,
    epsilon: u32,
    delay: Time,
    limit: Time,
    /// The last departure, and the length of that frame.
    last: Option<(Time, usize)>,
    /// Frames leave as fast as they can, since they have waited too long.
    hurrying: bool,
    bits: u64,
    uncoded: u64,
}

impl Modulator {
    /// With the message, the gaps and the times of `config`.
    ///
    /// # Errors
    /// For gaps below the standard's, or a message of no or too great length.
    pub fn new(config: &Config) -> Result<Modulator, ConfigError> {
        config.checked_gaps()?;
        let sender = Sender::new(config.message.as_bytes(), config.times).ok_or_else(|| {
            let reason = alloc::format!("a message has 1 to {MAX_MESSAGE_LEN} bytes");
            ConfigError::new("message", reason)
        })?;
        Ok(Modulator {
            sender,
            line: Line(config.line),
            idles: config.idles,
            epsilon: config.epsilon,
            delay: config.delay,
            limit: config.limit.max(config.delay),
            last: None,
            hurrying: false,
            bits: 0,
            uncoded: 0,
        })
    }

    /// When a frame of `len` bytes without FCS leaves that arrived at `arrived` and is here, whole, at `now`.
    pub fn departure(&mut self, now: Time, arrived: Time, len: usize) -> Time {
        let preamble = self.line.0.time_of(8 * link::PREAMBLE as u64, 0).0;
        let ready = (arrived + self.delay).max(now + preamble);
        let at = match self.last {
            None => ready,
            Some((last, before)) => self.behind(last, before, now + preamble, ready),
        };
        let held = at.max(arrived) - arrived;
        self.hurrying = held > self.limit
            || self.hurrying && held > Time::from_ps(self.limit.as_ps() / 2).max(self.delay);
        self.last = Some((at, len));
        at
    }

    /// The departure behind one at `last` of a frame of `before` bytes. It can be at `soonest`, and is meant to be
    /// at `ready`.
    fn behind(&mut self, last: Time, before: usize, soonest: Time, ready: Time) -> Time {
        let with = |idles| last + self.line.interval(idles, before);
        // Late by so much, a frame no longer leaves before the gap that would carry a bit is over.
        let silent = self.idles + 4 * self.epsilon;
        if self.hurrying {
            self.uncoded += 1;
            return with(MIN_GAP).max(soonest);
        }
        let Some(one) = self.sender.next() else {
            self.uncoded += 1;
            return with(MIN_GAP).max(ready);
        };
        let coded = with(match one {
            true => self.idles + self.epsilon,
            false => self.idles - self.epsilon,
        });
        if coded >= soonest {
            self.sender.sent();
            self.bits += 1;
            return coded;
        }
        self.uncoded += 1;
        with(silent).max(ready)
    }

    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Gaps without a bit.
    pub fn uncoded(&self) -> u64 {
        self.uncoded
    }
}
