//! The line to frames: block lock at any alignment, descrambler, decoder, one behind the other.

use crate::decode::{Counters, Decoder, State};
use crate::item::{Event, Item};
use crate::kernel::{self, BATCH, GROUP, Groups, WORDS};
use crate::lock::{Lock, Monitor};
use crate::simd::Path;
use crate::{Block, Descrambler, MAX_FRAME_LEN, Stamp};
use alloc::boxed::Box;

/// All of the receive side: takes the bits of the line, at any alignment and in pieces of any size,
/// and tells frames and events in the order of the line.
///
/// Stamps count the bits pushed. What was pushed is told at once, but for a frame whose terminate was
/// in the last whole block: whether it ended well depends on the next.
#[derive(Clone, Debug)]
pub struct Receiver {
    lock: Lock,
    monitor: Monitor,
    descrambler: Descrambler,
    decoder: Decoder,
    /// Bits that make no whole block yet, and how many: less than 66.
    held: u128,
    bits: u32,
    /// Where the first bit held stands.
    at: Stamp,
    /// Room for what is taken at once.
    groups: Box<Groups>,
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver::new(MAX_FRAME_LEN)
    }
}

impl Receiver {
    /// At the start of a stream, not locked; for frames of up to this many bytes without FCS.
    pub fn new(longest: usize) -> Receiver {
        Receiver {
            lock: Lock::new(),
            monitor: Monitor::new(),
            descrambler: Descrambler::default(),
            decoder: Decoder::new(longest),
            held: 0,
            bits: 0,
            at: Stamp(0),
            groups: Box::new(Groups::new()),
        }
    }

    /// Whether blocks are found.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Whether the error rate is high: hi_ber.
    pub fn is_error_rate_high(&self) -> bool {
        self.monitor.is_high()
    }

    /// Where the next block is looked for.
    pub fn stamp(&self) -> Stamp {
        self.at
    }

    /// Bits pushed so far.
    pub fn received(&self) -> u64 {
        self.at.0 + u64::from(self.bits)
    }

    /// What was found so far.
    pub fn counters(&self) -> Counters {
        self.decoder.counters()
    }

    /// The next bits of the line: bit `i` is bit `i % 64` of word `i / 64`.
    pub fn push(&mut self, words: &[u64], mut each: impl FnMut(Item<'_>)) {
        let mut rest = words;
        while !rest.is_empty() {
            let mut slowly = 1;
            let at_once = ((u64::from(self.bits) + 64 * rest.len() as u64) / 66)
                .min((BATCH * GROUP) as u64) as usize;
            if self.lock.is_locked() && !self.monitor.is_high() && self.bits < 64 && at_once > 0 {
                let taken = self.batch(rest, at_once, &mut each);
                rest = self.advance(rest, taken);
                if taken == at_once {
                    continue;
                }
                // A group with a bad header goes block by block.
                slowly = WORDS.min(rest.len());
            }
            for &word in &rest[..slowly] {
                self.take(word & 0xFFFF_FFFF, 32, &mut each);
                self.take(word >> 32, 32, &mut each);
            }
            rest = &rest[slowly..];
        }
    }

    /// Takes blocks at once, up to a batch, while there is lock and the error rate is not high. Tells
    /// how many it took: all, or those before a group that has a bad header.
    fn batch(&mut self, words: &[u64], blocks: usize, each: &mut impl FnMut(Item<'_>)) -> usize {
        let words = &words[..(66 * blocks - self.bits as usize).div_ceil(64)];
        let (state, held) = (self.descrambler.state(), self.held as u64);
        let groups = &mut *self.groups;
        Path::best().off_line(state, held, self.bits, words, groups);
        let (mut taken, mut control) = (0, [0; BATCH * GROUP / 64]);
        for (index, &headers) in groups.headers.iter().enumerate() {
            let count = GROUP.min(blocks - taken);
            if count == 0 || !kernel::all_good(headers, count) {
                break;
            }
            let bits = kernel::control(headers) & u32::MAX >> (32 - count);
            control[index / 2] |= u64::from(bits) << (32 * (index % 2));
            taken += count;
        }
        if taken > 0 {
            let payloads = &groups.payloads.as_flattened()[..taken];
            self.decoder.run(self.at, payloads, &control, each);
            self.at = self.at + taken as u64 * Stamp::BLOCK;
            self.lock.good(taken as u64);
            self.monitor.good(taken as u64);
            self.descrambler = Descrambler::new(groups.line.as_flattened()[taken - 1]);
        }
        taken
    }

    /// Leaves blocks behind: what is left of the word that the last one ends in is held.
    fn advance<'a>(&mut self, words: &'a [u64], blocks: usize) -> &'a [u64] {
        let Some(place) = (66 * blocks).checked_sub(self.bits as usize) else {
            return words;
        };
        let (rest, bit) = (&words[place / 64..], (place % 64) as u32);
        match rest.split_first() {
            Some((&word, behind)) if bit > 0 => {
                (self.held, self.bits) = ((word >> bit).into(), 64 - bit);
                behind
            }
            _ => {
                (self.held, self.bits) = (0, 0);
                rest
            }
        }
    }

    /// The next bits of the line, up to 64: the low ones of a word. More are taken as 64.
    pub fn push_bits(&mut self, word: u64, count: u32, mut each: impl FnMut(Item<'_>)) {
        let count = count.min(64);
        let low = count.min(32);
        self.take(word & 0xFFFF_FFFF & !(u64::MAX << low), low, &mut each);
        if count > 32 {
            let high = count - 32;
            self.take(word >> 32 & !(u64::MAX << high), high, &mut each);
        }
    }

    /// Whether nothing is under way: blocks found where they were pushed whole, the error rate not
    /// high, and the last one between frames, or the end of one.
    pub fn is_settled(&self) -> bool {
        let between = matches!(self.decoder.state(), State::Control | State::Terminate);
        self.bits == 0 && self.lock.is_locked() && !self.monitor.is_high() && between
    }

    /// A run of sound idle blocks that need not be made: `before` and `behind` are the last 64 bits on
    /// the line before and behind it, the latest on top, of which 58 matter.
    ///
    /// Returns false, and does nothing, where their bits have to be pushed instead: without lock, with
    /// another alignment or another descrambler than theirs, and while the error rate is high.
    pub fn idles(
        &mut self,
        blocks: u64,
        before: u64,
        behind: u64,
        mut each: impl FnMut(Item<'_>),
    ) -> bool {
        let same = (self.descrambler.state() ^ before) >> 6 == 0;
        if !self.lock.is_locked() || self.bits != 0 || self.monitor.is_high() || !same {
            return false;
        }
        if blocks == 0 {
            return true;
        }
        // The first of them ends what was before it, the last one what lasts so many columns.
        self.decoder.block(self.at, Some(Block::IDLE), &mut each);
        let last = self.at + (blocks - 1) * Stamp::BLOCK;
        if blocks > 1 {
            self.decoder.block(last, Some(Block::IDLE), &mut each);
        }
        self.lock.good(blocks);
        self.monitor.good(blocks);
        self.descrambler = Descrambler::new(behind);
        self.at = last + Stamp::BLOCK;
        true
    }

    /// The stream ends here: a frame whose terminate was the last block is told, and one that is not
    /// whole is told as broken. The receiver is then as at the start of a stream, but counts on.
    pub fn finish(&mut self, mut each: impl FnMut(Item<'_>)) {
        self.decoder.finish(&mut each);
        (self.lock, self.monitor) = (Lock::new(), Monitor::new());
        self.at = self.at + u64::from(self.bits);
        (self.held, self.bits) = (0, 0);
    }

    fn take(&mut self, bits: u64, count: u32, each: &mut impl FnMut(Item<'_>)) {
        self.held |= u128::from(bits) << self.bits;
        self.bits += count;
        while self.bits >= 66 {
            let at = self.at;
            let (header, line) = ((self.held & 3) as u8, (self.held >> 2) as u64);
            let used = if !self.header(at, header, line, each) {
                66
            } else {
                // Each bit like the one before it is a slip more, as long as there is a whole block.
                let same = (self.held ^ self.held >> 1).trailing_zeros();
                same.clamp(1, self.bits - 65)
            };
            self.held >>= used;
            self.bits -= used;
            self.at = at + u64::from(used);
        }
    }

    /// One block; `true`: slip.
    fn header(
        &mut self,
        at: Stamp,
        header: u8,
        line: u64,
        each: &mut impl FnMut(Item<'_>),
    ) -> bool {
        let good = header == 1 || header == 2;
        let before = self.lock.is_locked();
        let slip = self.lock.header(good);
        if slip && !before {
            return true;
        }
        let payload = self.descrambler.word(line);
        if !before {
            if self.lock.is_locked() {
                self.monitor = Monitor::new();
                each(Item::Event(at, Event::Lock));
            }
            return false;
        }
        if slip {
            self.decoder.reset(each);
            each(Item::Event(at, Event::Loss));
            return true;
        }
        let high = self.monitor.is_high();
        self.monitor.header(good);
        match (high, self.monitor.is_high()) {
            (false, true) => {
                self.decoder.reset(each);
                each(Item::Event(at, Event::HighErrorRate(true)));
            }
            (true, true) => {}
            (true, false) => each(Item::Event(at, Event::HighErrorRate(false))),
            (false, false) => self.decoder.block(at, Block::new(header, payload), each),
        }
        false
    }
}
