//! A segment of the stream, and the runs of blocks in it.

use super::{BLOCK, CONTROL, IDLE, is_start, u64_at};

/// The bit of a run's first word that says that its blocks follow.
pub(super) const LITERAL: u64 = 1 << 63;
/// Maximum number of blocks of a run that follow their word.
pub(super) const MAX_LITERAL_BLOCKS: usize = 4_096;
/// Sync headers in a word.
pub(super) const HEADERS: usize = 32;

/// A part of the stream, borrowed from the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Whole blocks.
    Blocks {
        /// The stream's bit at which they begin.
        first: u64,
        /// Length in bits: 66 for each block.
        bits: u64,
        /// The scrambler's state before the first of them, as [`scramble`](super::scramble) has it.
        state: u64,
        /// How many frames begin in them.
        starts: u32,
        /// The runs.
        content: &'a [u8],
    },
    /// Bits of no block, as they are on the line.
    Bits {
        /// The stream's bit at which they begin.
        first: u64,
        /// How many they are.
        bits: u64,
        /// Bit i of them is bit i % 8 of byte i / 8.
        content: &'a [u8],
    },
}

impl<'a> Segment<'a> {
    /// The stream's bit at which it begins.
    pub fn first(&self) -> u64 {
        match *self {
            Segment::Blocks { first, .. } | Segment::Bits { first, .. } => first,
        }
    }

    /// How many bits of the stream it is.
    pub fn bits(&self) -> u64 {
        match *self {
            Segment::Blocks { bits, .. } | Segment::Bits { bits, .. } => bits,
        }
    }

    /// Its runs of blocks; none if it has bits of no block.
    pub fn runs(&self) -> Runs<'a> {
        match *self {
            Segment::Blocks { content, .. } => Runs { rest: content },
            Segment::Bits { .. } => Runs { rest: &[] },
        }
    }
}

/// Blocks that are kept alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run<'a> {
    /// So many sound idle blocks.
    Idles(u64),
    /// Others, each for itself.
    Blocks(Blocks<'a>),
}

impl Run<'_> {
    /// How many blocks they are.
    pub fn blocks(&self) -> u64 {
        match self {
            Run::Idles(count) => *count,
            Run::Blocks(blocks) => blocks.len() as u64,
        }
    }
}

/// Blocks as a segment has them: sync headers, and payloads before the scrambler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks<'a> {
    headers: &'a [u8],
    payloads: &'a [u8],
}

impl<'a> Blocks<'a> {
    #[expect(clippy::len_without_is_empty, reason = "a run has at least one block")]
    pub fn len(&self) -> usize {
        self.payloads.len() / 8
    }

    /// Each block's sync header (see [`CONTROL`](super::CONTROL)) and payload.
    pub fn iter(&self) -> impl Iterator<Item = (u8, u64)> + 'a {
        let Blocks { headers, payloads } = *self;
        let payloads = payloads.chunks_exact(8).enumerate();
        payloads.map(move |(at, payload)| {
            let header = headers[at / 4] >> (at % 4 * 2) & 3;
            (header, u64_at(payload, 0))
        })
    }
}

/// The runs of a segment, in order.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    rest: &'a [u8],
}

impl<'a> Runs<'a> {
    pub(super) fn new(content: &'a [u8]) -> Runs<'a> {
        Runs { rest: content }
    }

    /// The next run, or what is wrong with it.
    fn parse(&mut self) -> Result<Run<'a>, &'static str> {
        let (word, rest) = self.rest.split_first_chunk::<8>().ok_or(CUT)?;
        let word = u64::from_le_bytes(*word);
        if word & LITERAL == 0 {
            self.rest = rest;
            return match word {
                0 => Err("a run of no idle blocks"),
                count => Ok(Run::Idles(count)),
            };
        }
        let count = (word ^ LITERAL) as usize;
        if count == 0 || count > MAX_LITERAL_BLOCKS || word & !LITERAL > MAX_LITERAL_BLOCKS as u64 {
            return Err("a run of no blocks, or of more than 4096");
        }
        let (headers, rest) = rest
            .split_at_checked(8 * count.div_ceil(HEADERS))
            .ok_or(CUT)?;
        let (payloads, rest) = rest.split_at_checked(8 * count).ok_or(CUT)?;
        self.rest = rest;
        Ok(Run::Blocks(Blocks { headers, payloads }))
    }

    /// Checks all runs: the bits that they are of the stream, and how many frames begin in them.
    pub(super) fn check(mut self) -> Result<(u64, u32), &'static str> {
        let (mut blocks, mut starts) = (0u64, 0u32);
        while !self.rest.is_empty() {
            let run = self.parse()?;
            blocks = blocks
                .checked_add(run.blocks())
                .ok_or("more blocks than can be counted")?;
            if let Run::Blocks(run) = run {
                for (header, payload) in run.iter() {
                    starts += u32::from(is_start(header, payload));
                    // What is not folded would be written in another way than it was read.
                    if header == CONTROL && payload == IDLE {
                        return Err("an idle block that is not counted");
                    }
                }
            }
        }
        let bits = blocks.checked_mul(BLOCK);
        Ok((bits.ok_or("more bits than can be counted")?, starts))
    }
}

const CUT: &str = "a run that its segment cuts short";

impl<'a> Iterator for Runs<'a> {
    type Item = Run<'a>;

    fn next(&mut self) -> Option<Run<'a>> {
        // A reader has checked them.
        self.parse().ok()
    }
}
