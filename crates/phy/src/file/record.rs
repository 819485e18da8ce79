//! The bits of a line, at any alignment, into a file.

use super::{BLOCK, Writer};
use crate::Descrambler;
use crate::lock::Lock;
use alloc::vec::Vec;

/// Finds blocks in a line and writes them, descrambled, with idles counted. What is in no block - all
/// that is before lock, and what a slip leaves over - is written as it is.
///
/// The file gives the same bits back. It is lossless also where the line never locks.
pub struct Recorder {
    writer: Writer,
    lock: Lock,
    /// Bits that make no whole block yet, and how many.
    held: u128,
    bits: u32,
    /// Blocks with good headers that have not made a lock yet: header and line.
    candidates: Vec<(u8, u64)>,
}

impl Recorder {
    /// Into a file that has been begun.
    pub fn new(writer: Writer) -> Recorder {
        Recorder {
            writer,
            lock: Lock::new(),
            held: 0,
            bits: 0,
            candidates: Vec::with_capacity(Lock::HEADERS.into()),
        }
    }

    /// Whether blocks are found.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// The next bits of the line, up to 64: the low ones of a word.
    pub fn push(&mut self, word: u64, count: u32, out: &mut Vec<u8>) {
        // At most 65 bits are held, so that 62 fit.
        let low = count.min(32);
        self.take(word & !(u64::MAX << low), low, out);
        if count > 32 {
            let high = count.min(64) - 32;
            self.take(word >> 32 & !(u64::MAX << high), high, out);
        }
    }

    /// Appends all that is there to `out`.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.writer.flush(out);
    }

    /// Ends the file. Returns its length in bytes.
    pub fn finish(mut self, out: &mut Vec<u8>) -> u64 {
        self.give_up(out);
        let (held, bits) = (self.held, self.bits);
        self.writer.bits(held as u64, bits.min(64), out);
        self.writer
            .bits((held >> 64) as u64, bits.saturating_sub(64), out);
        self.writer.finish(out)
    }

    fn take(&mut self, bits: u64, count: u32, out: &mut Vec<u8>) {
        self.held |= u128::from(bits) << self.bits;
        self.bits += count;
        while self.bits >= BLOCK as u32 {
            let (header, line) = ((self.held & 3) as u8, (self.held >> 2) as u64);
            let used = self.block(header, line, out);
            self.held >>= used;
            self.bits -= used;
        }
    }

    /// Looks at a block; how many bits it was.
    fn block(&mut self, header: u8, line: u64, out: &mut Vec<u8>) -> u32 {
        let before = self.lock.is_locked();
        if self.lock.header(header == 1 || header == 2) {
            self.give_up(out);
            self.writer.bits(header.into(), 1, out);
            return 1;
        }
        if before {
            self.write(header, line, out);
        } else {
            self.candidates.push((header, line));
            if self.lock.is_locked() {
                self.begin(out);
            }
        }
        BLOCK as u32
    }

    /// Blocks are found. What descrambles the first of them is not known, since headers do not go
    /// through the scrambler: it is written as bits, and descrambles the second.
    fn begin(&mut self, out: &mut Vec<u8>) {
        let mut candidates = core::mem::take(&mut self.candidates);
        let mut blocks = candidates.drain(..);
        if let Some((header, line)) = blocks.next() {
            self.loose(header, line, out);
            self.writer.set_state(line >> 6, out);
        }
        blocks.for_each(|(header, line)| self.write(header, line, out));
        self.candidates = candidates;
    }

    /// What seemed to be blocks are none.
    fn give_up(&mut self, out: &mut Vec<u8>) {
        let mut candidates = core::mem::take(&mut self.candidates);
        let blocks = candidates.drain(..);
        blocks.for_each(|(header, line)| self.loose(header, line, out));
        self.candidates = candidates;
    }

    fn loose(&mut self, header: u8, line: u64, out: &mut Vec<u8>) {
        self.writer.bits(header.into(), 2, out);
        self.writer.bits(line, 64, out);
    }

    fn write(&mut self, header: u8, line: u64, out: &mut Vec<u8>) {
        // Scrambled with the same state it gives the line again.
        let payload = Descrambler::new(self.writer.state() << 6).word(line);
        self.writer.block(header, payload, out);
    }
}
