//! Blocks onto the line: scrambled, and packed into words (the gearbox of 49.2.7).
//!
//! Bit `i` of the stream is bit `i % 64` of word `i / 64`. 32 blocks are 33 words.

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
        for block in blocks.iter() {
            let payload = self.scrambler.word(block.payload);
            self.pack(block.header(), payload, out);
        }
    }

    fn pack(&mut self, header: u8, payload: u64, out: &mut Vec<u64>) {
        let held = (self.bits() % 64) as u32;
        self.blocks += 1;
        let header = u64::from(header);
        if held == 62 {
            out.extend([self.held | header << 62, payload]);
            self.held = 0;
        } else {
            out.push(self.held | header << held | payload << (held + 2));
            self.held = payload >> (62 - held);
        }
    }

    /// The bits that do not fill a word yet, and how many: an even number under 64.
    pub fn rest(&self) -> (u64, u32) {
        (self.held, (self.bits() % 64) as u32)
    }
}
