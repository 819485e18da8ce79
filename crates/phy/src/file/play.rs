//! A file's segments as the bits of the line.

use super::{BLOCK, CONTROL, IDLE, Leap, Run, Segment, scramble, u64_at};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Words that are given at a time.
const WORDS: usize = 4_096;
/// Runs of fewer idle blocks are made rather than told of.
const SHORT: u64 = 64;

/// Bits of the line, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bit i is bit i % 64 of word i / 64.
    Words(&'a [u64]),
    /// The low bits of a word, and how many: 1 to 64.
    Bits(u64, u32),
    /// Sound idle blocks that have not been made; [`Player::idles`] makes them where they are wanted.
    Idles {
        blocks: u64,
        /// The scrambler's state before them, as [`scramble`] has it.
        before: u64,
        /// And behind them.
        behind: u64,
    },
}

/// Turns segments into bits.
#[derive(Default)]
pub struct Player {
    leap: Box<Leap>,
    words: Vec<u64>,
    held: u64,
    bits: u32,
}

impl Player {
    /// Gives all bits of a segment.
    pub fn play(&mut self, segment: &Segment<'_>, each: &mut impl FnMut(Piece<'_>)) {
        match *segment {
            Segment::Bits { bits, content, .. } => {
                let whole = content.chunks_exact(8).map(|word| u64_at(word, 0));
                let mut left = bits;
                for word in whole {
                    each(Piece::Bits(word, left.min(64) as u32));
                    left = left.saturating_sub(64);
                }
            }
            Segment::Blocks { mut state, .. } => {
                for run in segment.runs() {
                    state = self.run(run, state, each);
                }
            }
        }
        self.flush(each);
    }

    /// Makes idle blocks that were only told of.
    pub fn idles(&mut self, blocks: u64, before: u64, each: &mut impl FnMut(Piece<'_>)) {
        let mut state = before;
        for _ in 0..blocks {
            state = self.block(CONTROL, IDLE, state, each);
        }
        self.flush(each);
    }

    /// The scrambler's state behind so many idle blocks.
    pub(super) fn leap(&self, before: u64, blocks: u64) -> u64 {
        self.leap.state(before, blocks)
    }

    fn run(&mut self, run: Run<'_>, before: u64, each: &mut impl FnMut(Piece<'_>)) -> u64 {
        let mut state = before;
        match run {
            Run::Idles(blocks @ SHORT..) => {
                self.flush(each);
                let behind = self.leap.state(before, blocks);
                each(Piece::Idles {
                    blocks,
                    before,
                    behind,
                });
                return behind;
            }
            Run::Idles(blocks) => {
                for _ in 0..blocks {
                    state = self.block(CONTROL, IDLE, state, each);
                }
            }
            Run::Blocks(blocks) => {
                for (header, payload) in blocks.iter() {
                    state = self.block(header, payload, state, each);
                }
            }
        }
        state
    }

    #[inline]
    fn block(
        &mut self,
        header: u8,
        payload: u64,
        state: u64,
        each: &mut impl FnMut(Piece<'_>),
    ) -> u64 {
        let (line, state) = scramble(payload, state);
        let block = u128::from(header) | u128::from(line) << 2;
        let (low, high) = (block << self.bits, self.bits + BLOCK as u32);
        self.words.push(self.held | low as u64);
        self.held = (low >> 64) as u64;
        self.bits = high - 64;
        if self.bits == 64 {
            // The block's last two bits are beyond 128.
            self.words.push(self.held);
            (self.held, self.bits) = (0, 0);
        }
        if self.words.len() >= WORDS {
            each(Piece::Words(&self.words));
            self.words.clear();
        }
        state
    }

    fn flush(&mut self, each: &mut impl FnMut(Piece<'_>)) {
        if !self.words.is_empty() {
            each(Piece::Words(&self.words));
            self.words.clear();
        }
        if self.bits > 0 {
            each(Piece::Bits(self.held, self.bits));
            (self.held, self.bits) = (0, 0);
        }
    }
}
