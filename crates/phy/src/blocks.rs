//! Blocks in bulk: headers apart from payloads, so that loops over payloads are loops over words.

use crate::Block;
use alloc::vec::Vec;

/// Where an encoder puts blocks.
///
/// Only [`block`](Sink::block) must be there; the others say the same in bulk.
pub trait Sink {
    fn block(&mut self, block: Block);

    /// A run of blocks of idles. It may be of any length: a sink that stores blocks is for streams
    /// whose gaps the caller knows; one that counts runs takes any.
    fn idle(&mut self, blocks: u64) {
        for _ in 0..blocks {
            self.block(Block::IDLE);
        }
    }

    /// Data blocks. `bytes` is a whole number of them, eight bytes each.
    fn data(&mut self, bytes: &[u8]) {
        for bytes in bytes.as_chunks::<8>().0 {
            self.block(Block::data(*bytes));
        }
    }
}

/// A run of blocks in memory: a word of payload for each, and a bit for its header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    payloads: Vec<u64>,
    /// Bit `n % 64` of word `n / 64`: block `n` is a control block. Bits beyond the last are 0.
    control: Vec<u64>,
}

impl Blocks {
    /// None.
    pub fn new() -> Blocks {
        Blocks::default()
    }

    pub fn len(&self) -> usize {
        self.payloads.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.payloads.is_empty()
    }

    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.payloads.clear();
        self.control.clear();
    }

    /// The block at a place.
    ///
    /// # Panics
    /// When there is none there.
    pub fn at(&self, index: usize) -> Block {
        Block {
            control: self.control[index / 64] >> (index % 64) & 1 == 1,
            payload: self.payloads[index],
        }
    }

    /// All in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Block> + '_ {
        (0..self.len()).map(|index| self.at(index))
    }

    pub fn payloads(&self) -> &[u64] {
        &self.payloads
    }

    /// The payloads, to be changed: a [`Scrambler`](crate::Scrambler) does it in place.
    pub fn payloads_mut(&mut self) -> &mut [u64] {
        &mut self.payloads
    }

    /// Bit `n % 64` of word `n / 64` tells whether block `n` is a control block.
    pub fn control(&self) -> &[u64] {
        &self.control
    }

    /// The bits of [`control`](Blocks::control) for 32 blocks from a place on; those behind the last
    /// are 0.
    pub(crate) fn control_of_group(&self, index: usize) -> u32 {
        let (word, bit) = (index / 64, index % 64);
        let part = |word: usize| self.control.get(word).map_or(0, |&bits| bits);
        // A group that crosses a word begins behind the middle of it.
        let high = if bit > 32 {
            part(word + 1) << (64 - bit)
        } else {
            0
        };
        (part(word) >> bit | high) as u32
    }

    fn widen(&mut self) {
        while 64 * self.control.len() < self.payloads.len() {
            self.control.push(0);
        }
    }
}

impl Sink for Blocks {
    #[inline]
    fn block(&mut self, block: Block) {
        let index = self.payloads.len();
        self.payloads.push(block.payload);
        if index.is_multiple_of(64) {
            self.control.push(0);
        }
        self.control[index / 64] |= u64::from(block.control) << (index % 64);
    }

    fn idle(&mut self, blocks: u64) {
        if blocks == 1 {
            // Between frames that follow each other there are no more.
            return self.block(Block::IDLE);
        }
        let mut index = self.payloads.len();
        let end = index + usize::try_from(blocks).expect("blocks that fit in memory");
        self.payloads.resize(end, Block::IDLE.payload);
        self.widen();
        while index < end {
            let bits = (end - index).min(64 - index % 64);
            self.control[index / 64] |= (u64::MAX >> (64 - bits)) << (index % 64);
            index += bits;
        }
    }

    fn data(&mut self, bytes: &[u8]) {
        let words = bytes.as_chunks::<8>().0.iter();
        self.payloads
            .extend(words.map(|&word| u64::from_le_bytes(word)));
        self.widen();
    }
}
