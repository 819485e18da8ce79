//! The self-synchronising scrambler 1 + x^39 + x^58 (49.2.6) and its inverse (49.2.10).
//!
//! Payloads are scrambled, headers are not: the scrambler's stream is that of the payloads alone.
//! The state is the last 64 bits that were on the line, the latest on top; only the upper 58 matter.
//! So the state is simply the last scrambled payload, and any block can be taken up from the one
//! before it.

/// The line's side of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scrambler {
    last: u64,
}

impl Default for Scrambler {
    /// All ones, as hardware commonly starts.
    fn default() -> Scrambler {
        Scrambler::new(u64::MAX)
    }
}

impl Scrambler {
    /// From a state: the last 64 bits on the line, the latest on top.
    pub const fn new(state: u64) -> Scrambler {
        Scrambler { last: state }
    }

    /// The last 64 bits on the line, the latest on top.
    pub const fn state(self) -> u64 {
        self.last
    }

    /// Scrambles one payload (paper 002, algorithm 2).
    #[inline]
    pub const fn word(&mut self, payload: u64) -> u64 {
        let s = self.last;
        let r = payload ^ s >> 6 ^ s >> 25;
        self.last = r ^ r << 39 ^ r << 58;
        self.last
    }

    /// Scrambles payloads in place.
    pub fn scramble(&mut self, payloads: &mut [u64]) {
        for payload in payloads {
            *payload = self.word(*payload);
        }
    }
}

/// The receiver's side. It needs no start: after 58 bits it agrees with any scrambler, and a wrong
/// bit on the line becomes three, within 58 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descrambler {
    last: u64,
}

impl Default for Descrambler {
    /// In step with [`Scrambler::default`].
    fn default() -> Descrambler {
        Descrambler::new(u64::MAX)
    }
}

impl Descrambler {
    /// From a state: the last 64 bits on the line, the latest on top.
    pub const fn new(state: u64) -> Descrambler {
        Descrambler { last: state }
    }

    /// The last 64 bits on the line, the latest on top.
    pub const fn state(self) -> u64 {
        self.last
    }

    /// Descrambles one payload.
    #[inline]
    pub const fn word(&mut self, line: u64) -> u64 {
        let s = self.last;
        self.last = line;
        line ^ (line << 39 | s >> 25) ^ (line << 58 | s >> 6)
    }

    /// Descrambles payloads in place.
    pub fn descramble(&mut self, payloads: &mut [u64]) {
        for payload in payloads {
            *payload = self.word(*payload);
        }
    }
}
