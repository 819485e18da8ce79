//! What parsers read from the packet, and what deparsers emit.
//!
//! The parser looks at a window: the packet's first bytes. Where it stands is a choice between constants as long as headers
//! are of fixed length, and then a field is a choice between wires; behind a header of variable length it is a shift.

use crate::graph::{Graph, Id, Input, Two};
use crate::state::{Emitted, Middle, State, Walk, reason};
use alloc::format;
use alloc::vec::Vec;
use p4::ir::{Expr, HeaderId, ParserError, StatementKind, Ty};
use pipeline::environment::Unsupported;

/// Where a parser's bits come from.
#[derive(Clone, Copy)]
struct Origin {
    middle: Option<Middle>,
    /// Behind the replication engine.
    second: bool,
    /// So many bits of the packet that came may be looked at.
    limit: u64,
}

impl Origin {
    /// Bits from a known place on.
    fn at(self, graph: &mut Graph, from: u64, width: u32) -> Option<Id> {
        let Some(middle) = self.middle else {
            return Some(self.of_packet(graph, from, width));
        };
        let whole = graph.width(middle.front);
        let mut known = true;
        let found = graph.leaf_by_leaf(middle.bits, &mut |graph, front| {
            let inside = front.saturating_sub(from).min(u64::from(width)) as u32;
            let mut parts = Vec::new();
            if inside > 0 {
                let top = whole - 1 - from as u32;
                parts.push(graph.slice(middle.front, top, top + 1 - inside));
            }
            if inside < width {
                let skip = from + u64::from(inside) - front;
                let rest = graph.leaf_by_leaf(middle.start, &mut |graph, start| {
                    self.of_packet(graph, start + skip, width - inside)
                });
                known &= rest.is_some();
                let zeros = graph.constant(width - inside, 0u8);
                parts.push(rest.unwrap_or(zeros));
            }
            graph.concat(&parts)
        });
        found.filter(|_| known)
    }

    fn of_packet(self, graph: &mut Graph, from: u64, width: u32) -> Id {
        if from + u64::from(width) > self.limit {
            return graph.constant(width, 0u8);
        }
        let bits = graph.packet(from as u32, width);
        match self.second {
            true => graph.crossed(bits),
            false => bits,
        }
    }
}

/// A failure: its condition, and what the packet was before.
pub(crate) type Failure = ((Id, State), ParserError);

impl Walk<'_> {
    /// A statement of the parser, and how it may fail, in the order in which that is looked at.
    pub(crate) fn parse(
        &mut self,
        statement: &StatementKind,
        when: Id,
        state: &mut State,
    ) -> Result<Vec<Failure>, Unsupported> {
        match statement {
            StatementKind::Extract { header, size } => {
                self.extract(*header, size.as_ref(), when, state)
            }
            StatementKind::ExtractNext { stack, size } => {
                let stack = &self.program.stacks[stack.index()];
                let next = state.values[stack.next.index()];
                let before = state.clone();
                let mut inside = self.graph.bit(false);
                let mut failures = Vec::new();
                let mut edges = Vec::new();
                for (number, header) in stack.headers.iter().enumerate() {
                    let here = self.graph.equal_to(next, number as u64);
                    let there = self.graph.and(when, here);
                    if self.graph.is_false(there) {
                        continue;
                    }
                    inside = self.graph.or(inside, here);
                    let mut after = before.clone();
                    let mut left = here;
                    for ((condition, state), error) in
                        self.extract(*header, size.as_ref(), there, &mut after)?
                    {
                        let failed = self.graph.and(left, condition);
                        let not = self.graph.not(condition);
                        left = self.graph.and(left, not);
                        failures.push(((failed, state), error));
                    }
                    let next = self.graph.constant(32, number as u64 + 1);
                    after.values[stack.next.index()] = next;
                    edges.push((left, after));
                }
                let outside = self.graph.not(inside);
                failures.insert(
                    0,
                    ((outside, before.clone()), ParserError::StackOutOfBounds),
                );
                if !edges.is_empty() {
                    *state = self.meet(edges)?.1;
                }
                Ok(failures)
            }
            StatementKind::Lookahead { into } => {
                let width = self.slot(*into).ty.width();
                let short = self.too_short(u64::from(width), None, when, state);
                let before = state.clone();
                let value = self.bits(width, state)?;
                self.put(*into, value, None, None, state);
                Ok(alloc::vec![((short, before), ParserError::PacketTooShort)])
            }
            StatementKind::Advance { bits } => {
                let bits = self.value(bits, state)?;
                let before = state.clone();
                let short = if let Some(by) = self.graph.number(bits) {
                    let short = self.too_short(by, None, when, state);
                    self.move_on(by, None, 0, state);
                    short
                } else {
                    let most = self.graph.most(bits).min(self.options.window * 8);
                    let short = self.too_short(0, Some(bits), when, state);
                    self.move_on(0, Some(bits), most, state);
                    short
                };
                Ok(alloc::vec![((short, before), ParserError::PacketTooShort)])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Section 12.8.2 of the specification of P4.
    fn extract(
        &mut self,
        id: HeaderId,
        size: Option<&Expr>,
        when: Id,
        state: &mut State,
    ) -> Result<Vec<Failure>, Unsupported> {
        let header = &self.program.headers[id.index()];
        let types = header.fields.iter().map(|field| self.slot(*field).ty);
        let fixed: u64 = types
            .clone()
            .filter(|ty| !matches!(ty, Ty::Varbit(_)))
            .map(|ty| u64::from(ty.width()))
            .sum();
        let most = types.clone().find_map(|ty| match ty {
            Ty::Varbit(most) => Some(most),
            _ => None,
        });
        let before = state.clone();
        let mut failures = Vec::new();
        let variable = match size {
            Some(size) => {
                let size = self.value(size, state)?;
                let low = self.graph.slice(size, 2, 0);
                let whole = self.graph.equal_to(low, 0u8);
                let odd = self.graph.not(whole);
                failures.push(((odd, before.clone()), ParserError::ParserInvalidArgument));
                // What is left are whole bytes.
                let high = self.graph.slice(size, 31, 3);
                let zeros = self.graph.constant(3, 0u8);
                Some(self.graph.concat(&[high, zeros]))
            }
            None => None,
        };
        let most = most.unwrap_or(0);
        let short = self.too_short(fixed, variable, when, state);
        failures.push(((short, before.clone()), ParserError::PacketTooShort));
        if let Some(size) = variable {
            let limit = self.graph.constant(32, most);
            let long = self.graph.two(Two::Less, limit, size);
            failures.push(((long, before), ParserError::HeaderTooShort));
        }
        let (mut done, mut behind) = (0u32, false);
        let start = (state.values[self.extra.position], state.most);
        for field in &header.fields {
            let ty = self.slot(*field).ty;
            match (ty, variable) {
                (Ty::Varbit(most), variable) => {
                    let length = variable.unwrap_or_else(|| self.graph.constant(32, 0u8));
                    let value = if most == 0 {
                        state.values[field.index()]
                    } else {
                        let bits = self.bits_from(start, done, most)?;
                        // Those behind its end are zero.
                        let ones = self.graph.constant(most, p4::value::mask(most));
                        let kept = self.graph.two(Two::ShiftRight, ones, length);
                        let kept = self.graph.not(kept);
                        self.graph.two(Two::And, bits, kept)
                    };
                    self.put(*field, value, Some(length), None, state);
                    behind = true;
                }
                (ty, Some(size)) if behind => {
                    let (position, furthest) = start;
                    let size = self.graph.slice(size, 15, 0);
                    let position = self.graph.two(Two::Add, position, size);
                    let value =
                        self.bits_from((position, furthest + u64::from(most)), done, ty.width())?;
                    self.put(*field, value, None, None, state);
                    done += ty.width();
                }
                (ty, _) => {
                    let value = self.bits_from(start, done, ty.width())?;
                    self.put(*field, value, None, None, state);
                    done += ty.width();
                }
            }
        }
        let valid = self.graph.bit(true);
        self.put(header.valid, valid, None, None, state);
        self.move_on(fixed, variable, u64::from(most), state);
        Ok(failures)
    }

    /// The parser is so many bits further.
    fn move_on(&mut self, fixed: u64, variable: Option<Id>, most: u64, state: &mut State) {
        let by = self.graph.constant(16, fixed);
        let mut position = self
            .graph
            .two(Two::Add, state.values[self.extra.position], by);
        if let Some(size) = variable {
            let size = self.graph.resize(size, 16);
            position = self.graph.two(Two::Add, position, size);
        }
        state.values[self.extra.position] = position;
        state.least += fixed;
        state.most = (state.most + fixed + most).min(self.options.window * 8);
    }

    /// Whether the packet has fewer bits than these from where the parser is.
    fn too_short(&mut self, fixed: u64, variable: Option<Id>, when: Id, state: &State) -> Id {
        let before = self.middle.map_or(0, |middle| middle.most);
        let limit = (self.options.window * 8).saturating_sub(before);
        let position = state.values[self.extra.position];
        let arrived = self.arrival(Input::Available);
        let available = self.of_middle(arrived);
        let mut beyond = self.graph.bit(false);
        let short = if let Some(size) = variable {
            // In 33 bits nothing wraps around.
            let by = self.graph.constant(33, fixed);
            let (position, size) = (self.graph.resize(position, 33), self.graph.resize(size, 33));
            let end = self.graph.two(Two::Add, position, size);
            let end = self.graph.two(Two::Add, end, by);
            let most = state
                .most
                .saturating_add(fixed)
                .saturating_add(self.graph.most(size));
            self.look_at(most.min(limit));
            let zeros = self.graph.constant(3, 0u8);
            let have = self.graph.concat(&[available, zeros]);
            let have = self.graph.resize(have, 33);
            if most > limit {
                let limit = self.graph.constant(33, limit);
                beyond = self.graph.two(Two::Less, limit, end);
            }
            self.graph.two(Two::Less, have, end)
        } else {
            let needs = state.least + fixed;
            self.look_at((state.most + fixed).min(limit));
            let found = self.graph.leaf_by_leaf(position, &mut |graph, at| {
                let bytes = (at + fixed).div_ceil(8);
                let bytes = graph.constant(16, bytes.min(0xFFFF));
                graph.two(Two::Less, available, bytes)
            });
            match found {
                Some(short) => {
                    if let Some(deep) = self
                        .graph
                        .leaf_by_leaf(position, &mut |graph, at| graph.bit(at + fixed > limit))
                    {
                        beyond = deep;
                    }
                    short
                }
                None => {
                    let by = self.graph.constant(17, fixed + 7);
                    let position = self.graph.resize(position, 17);
                    let end = self.graph.two(Two::Add, position, by);
                    let bytes = self.graph.slice(end, 16, 3);
                    let bytes = self.graph.resize(bytes, 16);
                    if state.most + fixed > limit || needs > limit {
                        let limit = self.graph.constant(16, limit / 8);
                        beyond = self.graph.two(Two::Less, limit, bytes);
                    }
                    self.graph.two(Two::Less, available, bytes)
                }
            }
        };
        if !self.graph.is_false(beyond) {
            // The window is full, and there may be more behind it.
            let last = self.graph.constant(16, self.options.window - 1);
            let full = self.graph.two(Two::Less, last, arrived);
            let deep = self.graph.and(beyond, full);
            let deep = self.graph.and(deep, when);
            self.ends.push((deep, reason::STEPS));
            self.window = self.options.window * 8;
        }
        self.graph.or(short, beyond)
    }

    /// The parser may look at so many bits of what it is given.
    fn look_at(&mut self, bits: u64) {
        let before = self.middle.map_or(0, |middle| middle.most);
        self.window = self
            .window
            .max((before + bits).min(self.options.window * 8));
    }

    /// A number of bytes of the packet that came, or behind a turn of what became of it.
    fn of_middle(&mut self, bytes: Id) -> Id {
        let Some(middle) = self.middle else {
            return bytes;
        };
        let width = self.graph.width(bytes);
        let three = self.graph.constant(16, 3u8);
        let mut bytes = bytes;
        for (bits, op) in [(middle.start, Two::Subtract), (middle.bits, Two::Add)] {
            let by = self.graph.two(Two::ShiftRight, bits, three);
            let by = self.graph.resize(by, width);
            bytes = self.graph.two(op, bytes, by);
        }
        bytes
    }

    /// How many bytes the packet has here.
    pub(crate) fn length(&mut self) -> Id {
        let length = self.arrival(Input::Length);
        self.of_middle(length)
    }

    /// Makes what is emitted, and what the parser has left, the packet of the next parser.
    pub(crate) fn turn(&mut self, state: &mut State) -> Result<(), Unsupported> {
        let start = state.values[self.extra.position];
        self.ends_in_a_byte(start)?;
        let (front, bytes) = self.header()?;
        let three = self.graph.constant(16, 3u8);
        let bits = self.graph.two(Two::ShiftLeft, bytes, three);
        self.middle = Some(Middle {
            front,
            bits,
            start,
            most: state.most,
        });
        state.values[self.extra.position] = self.graph.constant(16, 0u8);
        (state.least, state.most) = (0, 0);
        Ok(())
    }

    /// What leaves before the payload, how many bytes of it count, and where in the packet that came the payload begins, in bytes.
    pub(crate) fn whole_header(&mut self, position: Id) -> Result<(Id, Id, Id), Unsupported> {
        let (last, bytes) = self.header()?;
        let three = self.graph.constant(16, 3u8);
        let Some(middle) = self.middle else {
            let payload = self.graph.two(Two::ShiftRight, position, three);
            return Ok((last, bytes, payload));
        };
        // What the second parser left of what the first deparser emitted, and how far it came beyond that.
        let difference = |walk: &mut Self, of: Id, less: Id| {
            let known = walk.graph.leaf_by_leaf(of, &mut |graph, of| {
                let inner = graph.leaf_by_leaf(less, &mut |graph, less| {
                    graph.constant(16, of.saturating_sub(less))
                });
                inner.unwrap_or_else(|| {
                    let of = graph.constant(16, of);
                    positive(graph, of, less)
                })
            });
            known.unwrap_or_else(|| positive(&mut walk.graph, of, less))
        };
        let left = difference(self, middle.bits, position);
        let beyond = difference(self, position, middle.bits);
        let payload = self.graph.two(Two::Add, middle.start, beyond);
        let payload = self.graph.two(Two::ShiftRight, payload, three);
        if self.graph.most(left) == 0 {
            return Ok((last, bytes, payload));
        }
        let (ends, fronts) = (self.graph.width(last), self.graph.width(middle.front));
        let tail = shifted(&mut self.graph, Two::ShiftLeft, middle.front, position);
        let zeros = self.graph.constant(ends, 0u8);
        let tail = self.graph.concat(&[tail, zeros]);
        let bits = self.graph.two(Two::ShiftLeft, bytes, three);
        let tail = shifted(&mut self.graph, Two::ShiftRight, tail, bits);
        let zeros = self.graph.constant(fronts, 0u8);
        let last = self.graph.concat(&[last, zeros]);
        let all = self.graph.two(Two::Or, last, tail);
        let left = self.graph.two(Two::ShiftRight, left, three);
        let bytes = self.graph.two(Two::Add, bytes, left);
        Ok((all, bytes, payload))
    }

    /// So many bits from where the parser is.
    fn bits(&mut self, width: u32, state: &State) -> Result<Id, Unsupported> {
        self.bits_from((state.values[self.extra.position], state.most), 0, width)
    }

    /// Bits of the packet from a place that is at most `most`, and `skip` further.
    fn bits_from(
        &mut self,
        (position, most): (Id, u64),
        skip: u32,
        width: u32,
    ) -> Result<Id, Unsupported> {
        self.look_at(most + u64::from(skip) + u64::from(width));
        let origin = Origin {
            middle: self.middle,
            second: self.split.is_some(),
            limit: self.options.window * 8,
        };
        let mut known = true;
        let found = self.graph.leaf_by_leaf(position, &mut |graph, at| {
            let bits = origin.at(graph, at + u64::from(skip), width);
            known &= bits.is_some();
            bits.unwrap_or_else(|| graph.constant(width, 0u8))
        });
        match found.filter(|_| known) {
            Some(bits) => Ok(bits),
            None if self.middle.is_some() || self.split.is_some() => self.cannot(
                "the egress parser reads behind a header of variable length: this hardware reads there behind headers of fixed length alone",
            ),
            None => {
                let skip = self.graph.constant(16, skip);
                let from = self.graph.two(Two::Add, position, skip);
                Ok(self.graph.packet_at(from, width))
            }
        }
    }

    /// `packet.emit(header)`
    pub(crate) fn emit(
        &mut self,
        id: HeaderId,
        when: Id,
        state: &State,
    ) -> Result<(), Unsupported> {
        let header = &self.program.headers[id.index()];
        let when = self.graph.and(when, state.values[header.valid.index()]);
        if self.graph.is_false(when) {
            return Ok(());
        }
        let Some(span) = self.span else {
            return Ok(());
        };
        // Fields of fixed width in front of a varbit are one piece, the varbit is the next.
        let mut parts = Vec::new();
        let mut whole = 0;
        for field in &header.fields {
            let value = state.values[field.index()];
            match self.lengths.get(field) {
                None => {
                    whole += self.graph.width(value);
                    parts.push(value);
                }
                Some(length) => {
                    if !parts.is_empty() {
                        let bits = self.graph.concat(&core::mem::take(&mut parts));
                        self.emitted.push(Emitted {
                            when,
                            bits,
                            length: None,
                            span,
                        });
                    }
                    let length = Some(state.values[*length]);
                    if self.graph.width(value) > 0 {
                        self.emitted.push(Emitted {
                            when,
                            bits: value,
                            length,
                            span,
                        });
                    }
                }
            }
        }
        if whole % 8 != 0 {
            return self.cannot(format!(
                "header `{}` has {whole} bits: hardware moves whole bytes; fill the header up with a field of {} bits",
                header.name,
                8 - whole % 8
            ));
        }
        if !parts.is_empty() {
            let bits = self.graph.concat(&parts);
            self.emitted.push(Emitted {
                when,
                bits,
                length: None,
                span,
            });
        }
        Ok(())
    }

    /// What is emitted as one number with the first byte at the left, and how many bytes of it count, 16 bits.
    pub(crate) fn header(&mut self) -> Result<(Id, Id), Unsupported> {
        let mut all = self.graph.constant(0, 0u8);
        let mut length = self.graph.constant(16, 0u8);
        let emitted = core::mem::take(&mut self.emitted);
        let mut odd = 0;
        for Emitted {
            when,
            bits,
            length: variable,
            span,
        } in emitted.iter().rev()
        {
            self.span = Some(*span);
            let width = self.graph.width(*bits);
            let by = match variable {
                None => {
                    odd = (odd + width) % 8;
                    if !width.is_multiple_of(8) && !self.graph.is_true(*when) {
                        return self.cannot(format!("{width} bits are emitted under a condition: hardware moves whole bytes; emit whole bytes"));
                    }
                    self.graph.constant(16, width)
                }
                Some(length) => {
                    if !self.graph.whole_bytes(*length) {
                        return self.cannot("a varbit that no `extract` gave its length is emitted: its bytes may not be whole; emit one that is extracted, or a header of fixed length");
                    }
                    self.graph.resize(*length, 16)
                }
            };
            let rest = self.graph.width(all);
            let zeros = self.graph.constant(width, 0u8);
            let behind = match variable {
                None => self.graph.concat(&[*bits, all]),
                Some(_) => {
                    let front = self.graph.constant(rest, 0u8);
                    let front = self.graph.concat(&[*bits, front]);
                    let back = self.graph.concat(&[all, zeros]);
                    let back = self.graph.two(Two::ShiftRight, back, by);
                    self.graph.two(Two::Or, front, back)
                }
            };
            let without = self.graph.concat(&[all, zeros]);
            all = self.graph.choose(*when, behind, without);
            let longer = self.graph.two(Two::Add, length, by);
            length = self.graph.choose(*when, longer, length);
        }
        if odd != 0 {
            return self
                .cannot("what is emitted is no number of whole bytes; hardware moves whole bytes");
        }
        let three = self.graph.constant(16, 3u8);
        let bytes = self.graph.two(Two::ShiftRight, length, three);
        Ok((all, bytes))
    }
}

/// A difference, or zero where it would be negative.
fn positive(graph: &mut Graph, of: Id, less: Id) -> Id {
    let below = graph.two(Two::Less, of, less);
    let rest = graph.two(Two::Subtract, of, less);
    let zero = graph.constant(graph.width(rest), 0u8);
    graph.choose(below, zero, rest)
}

/// A shift; by a choice between constants it is a choice between wires.
fn shifted(graph: &mut Graph, op: Two, of: Id, by: Id) -> Id {
    let known = graph.leaf_by_leaf(by, &mut |graph, by| {
        let by = graph.constant(16, by);
        graph.two(op, of, by)
    });
    known.unwrap_or_else(|| graph.two(op, of, by))
}
