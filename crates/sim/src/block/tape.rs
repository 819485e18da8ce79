//! Looking at the stream of blocks itself.

use node::Direction;
use std::fmt;

/// What somebody who looks at the blocks of a line sees, in the order of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// So many blocks of idles.
    Idles(u64),
    /// A block.
    Block {
        /// The two bits before the payload, as they were on the line; bit 0 was first.
        header: u8,
        /// The payload behind the descrambler, which has made three of a wrong bit.
        payload: u64,
    },
}

/// Looks at blocks.
pub type See = dyn FnMut(Bits) + Send;

/// Somebody who looks at the blocks of one direction of a link at the level of blocks, from the first
/// block of the run on, which arrives when the link's delay is over. Blocks are told when the frame in
/// them, or behind them, is sent.
pub struct BitTap {
    /// The link's index in its graph.
    pub link: usize,
    /// Which way.
    pub direction: Direction,
    /// Called for each run of idles, and each other block.
    pub see: Box<See>,
}

/// The blocks that were told so far.
pub struct Tape {
    see: Box<See>,
    told: u64,
}

impl Tape {
    pub fn new(see: Box<See>) -> Tape {
        Tape { see, told: 0 }
    }

    /// Whatever was not told up to a block is idles.
    pub fn idles(&mut self, to: u64) {
        if to > self.told {
            (self.see)(Bits::Idles(to - self.told));
            self.told = to;
        }
    }

    /// A block at its place. What was told before and is only made again for the receiver's sake is
    /// not told twice.
    pub fn block(&mut self, place: u64, header: u8, payload: u64) {
        if place < self.told {
            return;
        }
        self.idles(place);
        (self.see)(Bits::Block { header, payload });
        self.told = place + 1;
    }
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape")
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}
