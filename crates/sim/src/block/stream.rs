//! Wrong bits on the line, and what the receiver makes of them.
//!
//! Where the wrong bits are is drawn along the whole stream of 66-bit blocks, those of idles and
//! headers included. Near them the stream is made as it is on the line - coded, scrambled, with the
//! bits that are wrong - and goes through the real receiver: lock, error rate monitor, descrambler,
//! state machine, FCS. So errors are multiplied, frames broken, and the lock lost as on hardware.
//! Where no wrong bit is in reach and the receiver is settled, nothing can happen, and nothing is
//! made: what must be known of the blocks between is their number. The scrambler's state behind them
//! is drawn then; nothing but the search for a lost lock sees it, and where locks are lost - one bit
//! wrong of some twenty - wrong bits are always in reach.
//!
//! A frame's verdict needs the block behind its terminate (R_TYPE_NEXT of 49.2.13.2.3), which comes
//! later than the frame is decided on: idles are taken for it, with the bits that are wrong there. The
//! receiver then goes on with what really comes.

use super::tape::{See, Tape};
use node::Frame;
use node::link::LineCounters;
use node::random::{Random, split_mix};
use phy::{
    Block, Blocks, Descrambler, Encoder, Event, Item, Receiver, Scrambler, Stamp, Start, Verdict,
};
use std::collections::VecDeque;

/// Bits of a block.
const BLOCK: u64 = Stamp::BLOCK;
/// Blocks without a wrong bit that are made all the same, rather than passed.
const NEAR: u64 = 64;
/// Maximum number of blocks of one idle stretch that pass through the receiver.
const MAX_IDLE_BLOCKS: u64 = 1 << 22;
/// Number of the last blocks of a longer stretch that pass through it all the same: some rounds of
/// the error rate monitor, so that its result stays the same.
const LAST: u64 = 4 * 19_531;
/// Idles before the run: the link is up when it begins.
const BEFORE: u64 = 128;

/// Fate of a frame on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives; if its wrong bits did not show, with them.
    Whole,
    /// It does not.
    Broken,
}

/// One direction's stream from the sender's coder to the receiver's decoder.
#[derive(Debug)]
pub struct Stream {
    line: Line,
    blocks: Blocks,
    /// Whether the receiver is settled and no wrong bit is still in its descrambler.
    quiet: bool,
    /// Makes every block.
    every: bool,
    counters: LineCounters,
    /// Who looks at the bits.
    tape: Option<Tape>,
}

/// What is on the line, and who takes it off.
#[derive(Clone, Debug)]
struct Line {
    bit_error: f64,
    random: Random,
    seed: u64,
    /// The next wrong bit, counted from the start of the run.
    wrong: u64,
    /// The block behind the last one with a wrong bit.
    good_from: u64,
    scrambler: Scrambler,
    receiver: Receiver,
    /// What undoes the scrambler for those who look, with the wrong bits in it.
    heard: Descrambler,
    /// The block that is received next.
    next: u64,
    /// The receiver's count of blocks is ahead of that by so many.
    ahead: i64,
    wrong_bits: u64,
    bad_headers: u64,
    /// Where the last wrong bits were, if messages are sent, which may be in blocks that were passed before.
    recent: Option<VecDeque<u64>>,
}

impl Line {
    /// Sends a block and receives it; returns its header as it was on the line, and its payload
    /// descrambled.
    fn send(&mut self, block: Block, each: impl FnMut(Item<'_>)) -> (u8, u64) {
        let (mut header, mut word) = (
            u64::from(block.header()),
            self.scrambler.word(block.payload),
        );
        let start = self.next * BLOCK;
        while self.wrong < start + BLOCK {
            match self.wrong - start {
                bit @ 0..2 => header ^= 1 << bit,
                bit => word ^= 1 << (bit - 2),
            }
            self.wrong_bits += 1;
            if let Some(recent) = &mut self.recent {
                recent.push_back(self.wrong);
            }
            self.good_from = self.next + 1;
            self.draw(self.wrong + 1);
        }
        self.bad_headers += u64::from(header == 0 || header == 3);
        self.next += 1;
        let mut each = each;
        self.receiver.push_bits(header | word << 2, 64, &mut each);
        self.receiver.push_bits(word >> 62, 2, &mut each);
        (header as u8, self.heard.word(word))
    }

    /// The next wrong bit is at this place or behind it.
    fn draw(&mut self, from: u64) {
        self.wrong = from.saturating_add(self.random.good_bits(self.bit_error));
    }

    /// Good blocks up to this one.
    fn pass(&mut self, to: u64, each: impl FnMut(Item<'_>)) {
        let state = split_mix(self.seed, 2 * to + 1);
        let passed = self
            .receiver
            .idles(to - self.next, self.scrambler.state(), state, each);
        debug_assert!(passed, "only a receiver that is settled passes blocks");
        self.scrambler = Scrambler::new(state);
        self.heard = Descrambler::new(state);
        self.next = to;
    }

    /// The stamp that the receiver gives to a column.
    fn stamp(&self, column: u64) -> Stamp {
        Stamp((column * Stamp::COLUMN).wrapping_add_signed(self.ahead * BLOCK as i64))
    }
}

impl Stream {
    /// The link is up, and idle. `every`: makes every block, whether or not something is wrong near
    /// it.
    pub fn new(bit_error: f64, seed: u64, every: bool) -> Stream {
        let mut line = Line {
            bit_error,
            random: Random::new(seed),
            seed,
            wrong: u64::MAX,
            good_from: 0,
            scrambler: Scrambler::default(),
            receiver: Receiver::default(),
            heard: Descrambler::default(),
            next: 0,
            ahead: BEFORE as i64,
            wrong_bits: 0,
            bad_headers: 0,
            recent: None,
        };
        for _ in 0..BEFORE {
            line.send(Block::IDLE, |_| {});
        }
        line.next = 0;
        line.draw(0);
        Stream {
            line,
            blocks: Blocks::new(),
            quiet: !every,
            every,
            counters: LineCounters::default(),
            tape: None,
        }
    }

    /// Somebody looks at every block from now on.
    pub fn show(&mut self, see: Box<See>) {
        self.tape = Some(Tape::new(see, self.line.recent.is_some()));
    }

    /// There will be messages in idle blocks.
    pub fn expect_messages(&mut self) {
        self.line.recent = Some(VecDeque::new());
    }

    /// A message in an idle block behind all that were there before; what arrives of it, if anything does. The receive state machine
    /// sees an idle block in any case: the sublayer is before it.
    pub fn message(&mut self, block: u64, bits: u64) -> Option<u64> {
        if self.line.next <= block {
            self.idles(block + 1);
        }
        let (mut wrong_header, mut error) = (false, 0u64);
        let recent = self.line.recent.get_or_insert_default();
        while recent.front().is_some_and(|&at| at / BLOCK + 1 < block) {
            recent.pop_front();
        }
        for at in recent.iter().take_while(|&&at| at / BLOCK <= block) {
            // Payloads are one stream for the descrambler, in which a wrong bit shows three times.
            let own = at / BLOCK == block;
            match at % BLOCK {
                0 | 1 => wrong_header |= own,
                bit => {
                    let from = if own { 64 } else { 0 } + bit - 2;
                    let shown = [from, from + 39, from + 58].into_iter();
                    let here = shown.filter_map(|place| place.checked_sub(64));
                    here.filter(|place| *place < 64)
                        .for_each(|place| error ^= 1 << place);
                }
            }
        }
        if let Some(tape) = &mut self.tape {
            tape.message(block, bits);
        }
        let receiver = &self.line.receiver;
        let deaf = !receiver.is_locked() || receiver.is_error_rate_high();
        (!deaf && !wrong_header && error & 0xFF == 0).then_some(bits ^ error >> 8)
    }

    /// A frame whose start character is in column `start`, and its terminate in column `end`.
    #[inline]
    pub fn frame(&mut self, frame: &mut Frame, start: u64, end: u64) -> Fate {
        if self.quiet && self.line.wrong >= BLOCK * (end / 2 + 2) {
            if self.tape.is_some() {
                self.show_frame(frame, start);
            }
            return Fate::Whole;
        }
        self.judge(frame, start, end)
    }

    #[cold]
    fn judge(&mut self, frame: &mut Frame, start: u64, end: u64) -> Fate {
        let (first, last) = (start / 2, end / 2);
        self.idles(first);
        if self.quiet && self.line.wrong >= BLOCK * (last + 2) {
            self.show_frame(frame, start);
            return Fate::Whole;
        }
        if self.line.next < first {
            let counters = &mut self.counters;
            self.line.pass(first, |item| count(counters, item));
        }
        if !self.code(frame, start) {
            return Fate::Broken;
        }
        debug_assert_eq!(self.blocks.len() as u64, last - first + 2);
        for index in 1..self.blocks.len() {
            self.send(self.blocks.at(index));
        }
        self.look();
        let wanted = self.line.stamp(start + 2);
        let mut fate = Fate::Broken;
        let mut undetected = false;
        let see = |item: Item<'_>| {
            if let Item::Frame(received) = item
                && received.verdict == Verdict::Good
                && received.stamp == wanted
            {
                fate = Fate::Whole;
                if *received.bytes != **frame {
                    undetected = true;
                    frame.resize(0);
                    frame.extend(received.bytes);
                }
            }
        };
        self.line.clone().send(Block::IDLE, see);
        self.counters.undetected += u64::from(undetected);
        fate
    }

    /// Idles up to a block.
    fn idles(&mut self, to: u64) {
        let mut made = 0;
        while self.line.next < to {
            if made >= MAX_IDLE_BLOCKS && to - self.line.next > LAST {
                let over = to - LAST - self.line.next;
                self.counters.passed_over += over;
                self.line.ahead -= over as i64;
                self.line.next += over;
                self.line.draw(self.line.next * BLOCK);
            }
            if self.quiet {
                let counters = &mut self.counters;
                let wrong = self.line.wrong / BLOCK;
                if wrong >= to {
                    return;
                }
                if wrong - self.line.next >= NEAR {
                    self.line.pass(wrong, |item| count(counters, item));
                }
            }
            self.send(Block::IDLE);
            made += 1;
            self.look();
        }
    }

    /// Idles up to a block, the last that there are: whatever has not been counted yet is.
    pub fn finish(&mut self, to: u64) {
        self.idles(to);
        if self.line.next < to {
            let counters = &mut self.counters;
            self.line.pass(to, |item| count(counters, item));
        }
        if let Some(tape) = &mut self.tape {
            tape.idles(to);
        }
    }

    /// Codes a frame behind one block of idles.
    fn code(&mut self, frame: &Frame, start: u64) -> bool {
        self.blocks.clear();
        let mut encoder = Encoder::new().minimum(1);
        let place = Stamp(2 * BLOCK + start % 2 * Stamp::COLUMN);
        let coded = encoder.frame(frame, Start::At(place), &mut self.blocks);
        coded.is_ok()
    }

    fn send(&mut self, block: Block) {
        let (place, counters) = (self.line.next, &mut self.counters);
        let (header, payload) = self.line.send(block, |item| count(counters, item));
        if let Some(tape) = &mut self.tape {
            tape.block(place, header, payload);
        }
    }

    /// Shows a frame that does not go through the receiver.
    #[cold]
    fn show_frame(&mut self, frame: &Frame, start: u64) {
        if self.tape.is_none() || !self.code(frame, start) {
            return;
        }
        if let Some(tape) = &mut self.tape {
            for (place, block) in (start / 2..).zip(self.blocks.iter().skip(1)) {
                tape.block(place, block.header(), block.payload);
            }
        }
    }

    fn look(&mut self) {
        let line = &self.line;
        // A wrong bit is in the descrambler for 58 bits: the block behind it.
        self.quiet = !self.every && line.next > line.good_from && line.receiver.is_settled();
    }

    /// What happened so far.
    pub fn counters(&self) -> LineCounters {
        LineCounters {
            wrong_bits: self.line.wrong_bits,
            bad_headers: self.line.bad_headers,
            bad_blocks: self.line.receiver.counters().errors,
            ..self.counters
        }
    }
}

fn count(counters: &mut LineCounters, item: Item<'_>) {
    match item {
        Item::Event(_, Event::Loss) => counters.lock_losses += 1,
        Item::Event(_, Event::HighErrorRate(true)) => counters.high_error_rates += 1,
        Item::Frame(frame) if frame.verdict == Verdict::BadFcs => counters.bad_fcs += 1,
        _ => {}
    }
}

#[cfg(test)]
mod tests;
