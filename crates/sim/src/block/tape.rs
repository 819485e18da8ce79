//! Looking at the stream of blocks itself.

use node::Direction;
use phy::Block;
use std::collections::VecDeque;
use std::fmt;

/// What somebody who looks at the blocks of a line sees, in the order of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// So many blocks of idles.
    Idles(u64),
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
    written: u64,
    /// Blocks of frames before which there may still be messages.
    held: Option<VecDeque<(u64, u8, u64)>>,
}

impl Tape {
    /// With `messages` blocks are kept until no message can come before them.
    pub fn new(see: Box<See>, messages: bool) -> Tape {
        Tape {
            see,
            written: 0,
            held: messages.then(VecDeque::new),
        }
    }

    /// Whatever was not told up to a block is idles.
    pub fn idles(&mut self, to: u64) {
        self.pass(to);
        self.skip(to);
    }

    fn skip(&mut self, to: u64) {
        if to > self.written {
            (self.see)(Bits::Idles(to - self.written));
            self.written = to;
        }
    }

    /// A block at its place. What was told before and is only made again for the receiver's sake is
    /// not told twice.
    pub fn block(&mut self, place: u64, header: u8, payload: u64) {
        match &mut self.held {
            Some(held) if held.back().is_none_or(|last| last.0 < place) => {
                held.push_back((place, header, payload));
            }
            Some(_) => {}
            None => self.tell(place, header, payload),
        }
    }

    /// A message in an idle block, before which nothing can change any more.
    pub fn message(&mut self, place: u64, bits: u64) {
        if let Some(held) = &mut self.held {
            let index = held.partition_point(|block| block.0 < place);
            match held.get_mut(index) {
                // One that was made for its wrong bits.
                Some(block) if block.0 == place => block.2 ^= bits << 8,
                _ => {
                    let Block { payload, .. } = Block::IDLE;
                    held.insert(index, (place, Block::IDLE.header(), payload | bits << 8));
                }
            }
        }
        self.pass(place + 1);
    }

    /// Tells what is held before a block.
    fn pass(&mut self, to: u64) {
        let first = |held: &mut VecDeque<(u64, u8, u64)>| {
            let due = held.front().is_some_and(|block| block.0 < to);
            due.then(|| held.pop_front()).flatten()
        };
        while let Some((place, header, payload)) = self.held.as_mut().and_then(first) {
            self.tell(place, header, payload);
        }
    }

    fn tell(&mut self, place: u64, header: u8, payload: u64) {
        if place < self.written {
            return;
        }
        self.skip(place);
        (self.see)(Bits::Block { header, payload });
        self.written = place + 1;
    }
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape")
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}
