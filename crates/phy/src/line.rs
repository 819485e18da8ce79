//! Blocks onto the line: scrambled, and packed into words (the gearbox of 49.2.7).
//!
//! Bit `i` of the stream is bit `i % 64` of word `i / 64`. 32 blocks are 33 words.

use crate::kernel::GROUP;
use crate::simd::Path;
use crate::{Blocks, Scrambler};
use alloc::vec::Vec;

/// Scrambles blocks and packs them.
#[derive(Clone, Debug, Default)]
pub struct Line {
    scrambler: Scrambler,
    blocks: u64,
    /// The bits that do not fill a word yet.
    held: u64,
}

impl Line {
    /// A stream that starts with a scrambler in this state.
    pub fn new(scrambler: Scrambler) -> Line {
        Line {
            scrambler,
            ..Line::default()
        }
    }

    /// The scrambler, as it is behind the last block.
    pub fn scrambler(&self) -> Scrambler {
        self.scrambler
    }

    /// Bits so far, those in whole words and those held.
    pub fn bits(&self) -> u64 {
        66 * self.blocks
    }

    /// Appends the words that these blocks fill.
    pub fn push(&mut self, blocks: &Blocks, out: &mut Vec<u64>) {
        let phase = (self.blocks % GROUP as u64) as usize;
        let before = self.bits() / 64;
        self.blocks += blocks.len() as u64;
        let filled = out.len();
        out.resize(filled + (self.bits() / 64 - before) as usize, 0);
        let (state, held) = Path::best().onto_line(
            self.scrambler.state(),
            self.held,
            phase,
            blocks.payloads(),
            |place| blocks.control_of_group(place),
            &mut out[filled..],
        );
        (self.scrambler, self.held) = (Scrambler::new(state), held);
    }

    /// The bits that do not fill a word yet, and how many: an even number under 64.
    pub fn rest(&self) -> (u64, u32) {
        (self.held, (self.bits() % 64) as u32)
    }
}
