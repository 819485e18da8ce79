//! Bits out of the gaps between frames.

use super::code::{Found, Receiver};
use super::{Config, Line};
use node::ConfigError;
use node::Time;

/// What a demodulator has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reception {
    pub gaps: u64,
    /// Gaps that stand for a bit.
    pub bits: u64,
    /// Gaps that stand for none.
    pub uncoded: u64,
    /// What the bits were.
    pub found: Found,
}

/// Takes frames, and finds messages in their gaps.
#[derive(Clone, Debug)]
pub struct Demodulator {
    line: Line,
    idles: i64,
    epsilon: i64,
    last: Option<(Time, usize)>,
    reception: Reception,
    receiver: Receiver,
}

impl Demodulator {
    /// For the gaps of `config`.
    ///
    /// # Errors
    /// For gaps below the standard's.
    pub fn new(config: &Config) -> Result<Demodulator, ConfigError> {
        config.checked_gaps()?;
        Ok(Demodulator {
            line: Line(config.line),
            idles: config.idles.into(),
            epsilon: config.epsilon.into(),
            last: None,
            reception: Reception::default(),
            receiver: Receiver::default(),
        })
    }

    /// Takes a frame of `len` bytes without FCS whose first bit arrived at `arrived`; the message, if it makes
    /// one whole. A frame that arrived before the one before it, as bad stamps say, makes a gap without a bit.
    pub fn frame(&mut self, arrived: Time, len: usize) -> Option<&[u8]> {
        let (last, before) = self.last.replace((arrived, len))?;
        self.reception.gaps += 1;
        let off = match arrived >= last {
            true => self.line.idles(arrived - last, before) - self.idles,
            false => i64::MIN,
        };
        // Wider than what is sent: a gap that jitter has moved is a wrong bit at worst, which can be mended; one bit
        // too few moves all that follow.
        if off.unsigned_abs() > 3 * self.epsilon as u64 {
            self.reception.uncoded += 1;
            return None;
        }
        self.reception.bits += 1;
        self.receiver.take(off >= 0)
    }

    /// What has been received so far.
    pub fn reception(&self) -> Reception {
        Reception {
            found: self.receiver.found(),
            ..self.reception
        }
    }
}
