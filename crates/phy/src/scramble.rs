//! The self-synchronising scrambler 1 + x^39 + x^58 (49.2.6) and its inverse (49.2.10).
//!
//! Payloads are scrambled, headers are not: the scrambler's stream is that of the payloads alone.
//! The state is the last 64 bits that were on the line, the latest on top; only the upper 58 matter.
//! So the state is simply the last scrambled payload, and any block can be taken up from the one
//! before it.

use crate::kernel;
pub use crate::simd::Path;

/// The forms of the scrambler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A bit at a time: the shift register of figure 49-8 (paper 002, algorithm 1).
    Bits,
    /// A word at a time: four shifts and four sums, each of which waits for the one before it
    /// (paper 002, algorithm 2).
    Words,
    /// As many words at a time as the registers have room for: the polynomial is squared until it
    /// reaches back so far.
    LookAhead(Path),
}

impl Form {
    /// All that this machine has.
    pub fn all() -> impl Iterator<Item = Form> {
        [Form::Bits, Form::Words]
            .into_iter()
            .chain(Path::all().map(Form::LookAhead))
    }
}

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

    /// Scrambles payloads in place, in the fastest form that this machine has.
    pub fn scramble(&mut self, payloads: &mut [u64]) {
        self.last = Path::best().scramble(self.last, payloads);
    }

    /// Scrambles payloads in place, in a given form. All forms give the same, and each can go on
    /// where another left off.
    pub fn scramble_by(&mut self, form: Form, payloads: &mut [u64]) {
        self.last = match form {
            Form::Bits => kernel::bits(self.last, payloads),
            Form::Words => kernel::words(self.last, payloads),
            Form::LookAhead(path) => path.scramble(self.last, payloads),
        };
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
        let mut line = [0; 128];
        for payloads in payloads.chunks_mut(line.len()) {
            let line = &mut line[..payloads.len()];
            line.copy_from_slice(payloads);
            self.last = Path::best().descramble(self.last, line, payloads);
        }
    }

    /// Descrambles from the line into as many payloads.
    ///
    /// # Panics
    /// When there is not as much room.
    pub fn descramble_into(&mut self, line: &[u64], payloads: &mut [u64]) {
        let payloads = &mut payloads[..line.len()];
        self.last = Path::best().descramble(self.last, line, payloads);
    }
}
