//! Meters: token buckets of two rates and three colours (RFC 2698), in the arithmetic of the engines in software.
//!
//! Tokens are counted in billionths, so that a rate times nanoseconds is a whole number of them and nothing is rounded. All that a packet does with
//! a bucket happens in one cycle, as with registers.

use crate::graph::{Id, Input, Two};
use crate::map::meter;
use crate::state::{State, Walk};
use p4::ir::{ObjectId, Unit};
use pipeline::environment::{Object, Unsupported};
use pipeline::externs::ColourCode;
use pipeline::state::meter::Colour;

impl Walk<'_> {
    /// The colour of a packet that had another before, 2 bits: green 0, yellow 1, red 2.
    pub(crate) fn meter(
        &mut self,
        object: ObjectId,
        index: Id,
        before: Id,
        when: Id,
    ) -> Result<Id, Unsupported> {
        let Object::Meter(of) = &self.environment.objects[object.index()] else {
            return self.cannot("this object does not meter");
        };
        let bytes = !matches!(of.unit, Unit::Packets);
        if of.size() == 0 {
            return Ok(before);
        }
        let cell = self.load(object, index, when)?;
        let part = |walk: &mut Self, (low, width): (u32, u32)| {
            walk.graph.slice(cell, low + width - 1, low)
        };
        let configured = part(self, meter::CONFIGURED);
        let last = part(self, meter::LAST);
        let now = self.arrival(Input::Nanoseconds);
        let earlier = self.graph.two(Two::Less, now, last);
        let gone = self.graph.two(Two::Subtract, now, last);
        let nothing = self.graph.constant(64, 0u8);
        let gone = self.graph.choose(earlier, nothing, gone);
        let latest = self.graph.choose(earlier, last, now);
        // One more bit than the sum of a bucket and a rate times all of time.
        let wide = meter::RATE + 64 + 1;
        let billion = self.graph.constant(wide, 1_000_000_000u32);
        let fill = |walk: &mut Self, tokens, rate, burst| {
            let (tokens, rate) = (part(walk, tokens), part(walk, rate));
            let burst = part(walk, burst);
            let [tokens, rate, burst, gone] =
                [tokens, rate, burst, gone].map(|value| walk.graph.resize(value, wide));
            let more = walk.graph.two(Two::Multiply, gone, rate);
            let full = walk.graph.two(Two::Multiply, burst, billion);
            let tokens = walk.graph.two(Two::Add, tokens, more);
            let over = walk.graph.two(Two::Less, full, tokens);
            walk.graph.choose(over, full, tokens)
        };
        let committed = fill(
            self,
            meter::COMMITTED_TOKENS,
            meter::COMMITTED,
            meter::COMMITTED_BURST,
        );
        let peak = fill(self, meter::PEAK_TOKENS, meter::PEAK, meter::PEAK_BURST);
        let cost = match bytes {
            true => {
                let length = self.length();
                let length = self.graph.resize(length, wide);
                self.graph.two(Two::Multiply, length, billion)
            }
            false => billion,
        };
        let red = self.graph.equal_to(before, 2u8);
        let none = self.graph.two(Two::Less, peak, cost);
        let red = self.graph.or(red, none);
        let yellow = self.graph.equal_to(before, 1u8);
        let none = self.graph.two(Two::Less, committed, cost);
        let yellow = self.graph.or(yellow, none);
        let less = self.graph.two(Two::Subtract, peak, cost);
        let left_peak = self.graph.choose(red, peak, less);
        let less = self.graph.two(Two::Subtract, committed, cost);
        let keeps = self.graph.or(red, yellow);
        let left_committed = self.graph.choose(keeps, committed, less);
        let (two, one, zero) = (
            self.graph.constant(2, 2u8),
            self.graph.constant(2, 1u8),
            self.graph.constant(2, 0u8),
        );
        let colour = self.graph.choose(yellow, one, zero);
        let colour = self.graph.choose(red, two, colour);
        let (low, width) = meter::PEAK_TOKENS;
        let left_peak = self.graph.slice(left_peak, width - 1, 0);
        let left_committed = self.graph.slice(left_committed, width - 1, 0);
        let rates = self.graph.slice(cell, meter::WIDTH - 1, low + width);
        let data = self
            .graph
            .concat(&[rates, left_peak, left_committed, latest]);
        let when = self.graph.and(when, configured);
        self.store(object, index, data, when)?;
        Ok(self.graph.choose(configured, colour, before))
    }

    /// A colour as the architecture writes it.
    pub(crate) fn colour_code(&mut self, colour: Id, code: ColourCode, width: u32) -> Id {
        let mut value = self.graph.constant(width, code.encode(Colour::Green));
        for (number, other) in [(1u8, Colour::Yellow), (2, Colour::Red)] {
            let is = self.graph.equal_to(colour, number);
            let other = self.graph.constant(width, code.encode(other));
            value = self.graph.choose(is, other, value);
        }
        value
    }

    /// What the architecture writes as a colour; none is green.
    pub(crate) fn colour_of(&mut self, value: Option<Id>, code: ColourCode) -> Id {
        let mut colour = self.graph.constant(2, 0u8);
        let Some(value) = value else { return colour };
        for (number, other) in [(1u8, Colour::Yellow), (2, Colour::Red)] {
            let is = self.graph.equal_to(value, code.encode(other));
            let other = self.graph.constant(2, number);
            colour = self.graph.choose(is, other, colour);
        }
        colour
    }

    /// What the direct meter of the entry's table said.
    pub(crate) fn direct_colour(&mut self, state: &State) -> Id {
        let colour = state.values[self.extra.colour];
        let green = self.graph.constant(2, 0u8);
        match self.hit {
            Some(hit) => self.graph.choose(hit.found, colour, green),
            None => green,
        }
    }
}
