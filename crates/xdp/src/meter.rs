//! Meters: two rates, three colours (RFC 2698), under a lock of the kernel's.
//!
//! Tokens are billionths of a packet or byte, so that a nanosecond at any rate is a whole number of them and nothing is rounded.

use crate::frame::{COLOUR, HIT, LENGTH, NANOSECONDS};
use crate::instruction::{Alu, Compare, R0, R1, R2, R3, R4, R7, R8, Size};
use crate::maps::Purpose;
use crate::unit::{Fault, Unit};
use p4::ir::{LValue, ObjectId};
use pipeline::externs::{Call, ColourCode};
use pipeline::state::counter;
use pipeline::state::meter::{Colour, Rates};
use std::io;

/// How many tokens a packet or a byte costs.
pub(crate) const TOKEN: u64 = 1_000_000_000;
/// What a meter has, in words: whether it has rates; of the committed and of the peak bucket rate, size and tokens; when they were filled.
pub(crate) const WORDS: usize = 8;
const CONFIGURED: i32 = 0;
const COMMITTED: i32 = 8;
const PEAK: i32 = 32;
const LAST: i32 = 56;
const LOCK: i32 = 8 * WORDS as i32;
// From a bucket's rate on.
const SIZE: i32 = 8;
const TOKENS: i32 = 16;

/// What a meter of the environment holds: rates, tokens in billionths, nanoseconds.
pub(crate) type Held = Option<(Rates, [u64; 2], u64)>;

/// A meter as the kernel has it.
pub(crate) fn words(held: &Held) -> io::Result<[u64; WORDS]> {
    let Some((rates, [committed, peak], last)) = held else {
        return Ok([0; WORDS]);
    };
    let size = |burst: u64| {
        burst.checked_mul(TOKEN).ok_or_else(|| {
            io::Error::other(format!(
                "a burst of {burst} is more than the {} of the kernel's meters: give it a smaller one",
                u64::MAX / TOKEN
            ))
        })
    };
    Ok([
        1,
        rates.committed,
        size(rates.committed_burst)?,
        *committed,
        rates.peak,
        size(rates.peak_burst)?,
        *peak,
        *last,
    ])
}

/// The tokens in words, and when they were filled.
pub(crate) fn state(words: &[u64]) -> ([u64; 2], u64) {
    ([words[3], words[6]], words[7])
}

impl Unit<'_> {
    /// Runs the meter with the index in `R1`, and leaves the colour in `R1` of a packet that had the one at `before` in the frame
    /// and counts with the length at `bytes`.
    fn meter(&mut self, object: ObjectId, before: i32, bytes: i32) -> Result<(), Fault> {
        const SPIN_LOCK: i32 = 93;
        const SPIN_UNLOCK: i32 = 94;
        let (colour, cost) = (self.take(1)?, self.take(1)?);
        let [unlock, end, on, red, yellow] = [(); 5].map(|()| self.a.label());
        self.a.load(Size::B8, R2, R7, before);
        self.a.store(Size::B8, R7, colour, R2);
        self.element(Purpose::Meter(object), end);
        // No calls while it is locked.
        self.tell_time();
        let unit = self.environment.meter(object).map(|meter| meter.unit);
        self.a.number(R1, TOKEN);
        if unit != Some(counter::Unit::Packets) {
            self.a.load(Size::B8, R2, R7, bytes);
            self.a.alu(Alu::Multiply, R1, R2);
        }
        self.a.store(Size::B8, R7, cost, R1);
        self.lock(SPIN_LOCK);
        self.a.load(Size::B8, R1, R8, CONFIGURED);
        self.a.jump_if(Compare::Equal, R1, 0, unlock);
        // How long it was not filled, in R4.
        self.a.load(Size::B8, R1, R7, NANOSECONDS);
        self.a.load(Size::B8, R2, R8, LAST);
        self.a.alu(Alu::Move, R4, 0);
        self.a.jump_if(Compare::LessEqual, R1, R2, on);
        self.a.alu(Alu::Move, R4, R1);
        self.a.alu(Alu::Subtract, R4, R2);
        self.a.store(Size::B8, R8, LAST, R1);
        self.a.bind(on);
        self.fill(COMMITTED);
        self.fill(PEAK);
        self.a.load(Size::B8, R2, R7, before);
        self.a.load(Size::B8, R3, R7, cost);
        self.a.jump_if(Compare::Equal, R2, Colour::Red as i32, red);
        self.take_tokens(PEAK, red);
        self.a
            .jump_if(Compare::Equal, R2, Colour::Yellow as i32, yellow);
        self.take_tokens(COMMITTED, yellow);
        self.a.jump(unlock);
        for (label, is) in [(red, Colour::Red), (yellow, Colour::Yellow)] {
            self.a.bind(label);
            self.a.store_number(Size::B8, R7, colour, is as i32);
            if is == Colour::Red {
                self.a.jump(unlock);
            }
        }
        self.a.bind(unlock);
        self.lock(SPIN_UNLOCK);
        self.a.bind(end);
        self.a.load(Size::B8, R1, R7, colour);
        Ok(())
    }

    fn lock(&mut self, helper: i32) {
        self.a.alu(Alu::Move, R1, R8);
        self.a.alu(Alu::Add, R1, LOCK);
        self.a.call(helper);
    }

    /// Fills a bucket with what the nanoseconds in `R4` bring, no further than it goes.
    fn fill(&mut self, bucket: i32) {
        let [done, full, below] = [(); 3].map(|()| self.a.label());
        self.a.load(Size::B8, R1, R8, bucket + TOKENS);
        self.a.load(Size::B8, R2, R8, bucket + SIZE);
        self.a.load(Size::B8, R3, R8, bucket);
        self.a.jump_if(Compare::GreaterEqual, R1, R2, full);
        self.a.jump_if(Compare::Equal, R3, 0, done);
        // The room by the rate is how long it takes: the product fits if it is no longer.
        self.a.alu(Alu::Move, R0, R2);
        self.a.alu(Alu::Subtract, R0, R1);
        self.a.alu(Alu::Divide, R0, R3);
        self.a.jump_if(Compare::LessEqual, R4, R0, below);
        self.a.bind(full);
        self.a.alu(Alu::Move, R1, R2);
        self.a.jump(done);
        self.a.bind(below);
        self.a.alu(Alu::Multiply, R3, R4);
        self.a.alu(Alu::Add, R1, R3);
        self.a.bind(done);
        self.a.store(Size::B8, R8, bucket + TOKENS, R1);
    }

    /// Takes what the packet costs, in `R3`, out of a bucket, or goes where there is less.
    fn take_tokens(&mut self, bucket: i32, less: crate::instruction::Label) {
        self.a.load(Size::B8, R1, R8, bucket + TOKENS);
        self.a.jump_if(Compare::Less, R1, R3, less);
        self.a.alu(Alu::Subtract, R1, R3);
        self.a.store(Size::B8, R8, bucket + TOKENS, R1);
    }

    /// The colour that a packet has before, in the frame.
    fn before(
        &mut self,
        call: Option<&Call>,
        before: Option<usize>,
        code: ColourCode,
    ) -> Result<i32, Fault> {
        let place = self.take(1)?;
        self.a
            .store_number(Size::B8, R7, place, Colour::Green as i32);
        if let (Some(call), Some(index)) = (call, before) {
            let end = self.a.label();
            self.scalar(&call.inputs[index].value, 0)?;
            for colour in [Colour::Yellow, Colour::Red] {
                let other = self.a.label();
                let written = code.encode(colour) as i32;
                self.a.jump_if(Compare::NotEqual, R1, written, other);
                self.a.store_number(Size::B8, R7, place, colour as i32);
                self.a.jump(end);
                self.a.bind(other);
            }
            self.a.bind(end);
        }
        Ok(place)
    }

    /// The colour in `R1` as the architecture writes it.
    fn written(&mut self, code: ColourCode) {
        if code == ColourCode::Psa {
            let fits = self.a.label();
            self.a.alu(Alu::Add, R1, 1);
            self.a.jump_if(Compare::LessEqual, R1, 2, fits);
            self.a.alu(Alu::Move, R1, 0);
            self.a.bind(fits);
        }
    }

    pub(crate) fn execute_meter(
        &mut self,
        call: &Call,
        results: &[LValue],
        (object, index): (ObjectId, usize),
        (before, code): (Option<usize>, ColourCode),
        bytes: i32,
    ) -> Result<(), Fault> {
        let before = self.before(Some(call), before, code)?;
        self.scalar(&call.inputs[index].value, 0)?;
        self.meter(object, before, bytes)?;
        self.written(code);
        self.give(call, results)
    }

    pub(crate) fn execute_direct_meter(
        &mut self,
        call: &Call,
        results: &[LValue],
        object: ObjectId,
        (before, code): (Option<usize>, ColourCode),
        bytes: i32,
    ) -> Result<(), Fault> {
        let before = self.before(Some(call), before, code)?;
        let (miss, end) = (self.a.label(), self.a.label());
        self.a.load(Size::B8, R1, R7, HIT);
        self.a.jump_if(Compare::Equal, R1, 0, miss);
        self.a.alu(Alu::Subtract, R1, 1);
        self.meter(object, before, bytes)?;
        self.a.jump(end);
        self.a.bind(miss);
        self.a.load(Size::B8, R1, R7, before);
        self.a.bind(end);
        self.written(code);
        self.give(call, results)
    }

    /// v1model meters at every hit, without being asked.
    pub(crate) fn meter_hit(&mut self, object: ObjectId) -> Result<(), Fault> {
        let before = self.before(None, None, ColourCode::V1Model)?;
        let end = self.a.label();
        self.a
            .store_number(Size::B8, R7, COLOUR, Colour::Green as i32);
        self.a.load(Size::B8, R1, R7, HIT);
        self.a.jump_if(Compare::Equal, R1, 0, end);
        self.a.alu(Alu::Subtract, R1, 1);
        self.meter(object, before, LENGTH)?;
        self.a.store(Size::B8, R7, COLOUR, R1);
        self.a.bind(end);
        Ok(())
    }
}
