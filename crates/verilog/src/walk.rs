//! Follows a program's blocks with all packets at once: each place in the program has a condition under which a packet
//! comes there, and what each slot then holds; where ways meet there is a choice between values.
//!
//! Loops are unrolled, since a block is worked on again for each time that a packet may come back to it.

use crate::anew::entry;
use crate::detours::Off;
use crate::graph::{Id, Input};
use crate::hashes::sums_payload;
use crate::state::{Edge, Emitted, State, Verdict, Walk, reason};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use num_bigint::BigUint;
use p4::ir::{Body, ParserError, Pattern, Role, SectionKind, StatementKind, Terminator, Ty};
use pipeline::engine::{Asked, Path, Source, Step};
use pipeline::environment::Unsupported;

/// A loop is unrolled so often, at most.
const ROUNDS: u32 = 64;
/// A program with more operators than these is too large.
const NODES: usize = 1 << 20;

impl<'a> Walk<'a> {
    pub(crate) fn begin(&mut self) -> Result<State, Unsupported> {
        let mut values = Vec::with_capacity(self.extra.sums + self.environment.checksums);
        for slot in &self.program.slots {
            let width = slot.ty.width();
            if width == 0 && !matches!(slot.ty, Ty::Varbit(_)) {
                return self.cannot(format!(
                    "`{}` has no bits; hardware has no wires of none",
                    slot.name
                ));
            }
            values.push(self.graph.constant(width, 0u8));
        }
        let none = self.graph.constant(32, 0u8);
        values.extend(self.lengths.values().map(|_| none));
        values.push(self.graph.constant(16, 0u8));
        values.push(self.graph.bit(false));
        let most = self.graph.constant(32, u32::MAX);
        let (set, half) = (self.graph.constant(8, 0u8), self.graph.constant(16, 0u8));
        let green = self.graph.constant(2, 0u8);
        values.extend([most, half, most, set, set, set, half, green]);
        values.extend((0..self.environment.checksums).map(|_| half));
        Ok(State {
            values,
            least: 0,
            most: 0,
        })
    }

    /// A packet's way through the architecture.
    pub(crate) fn path(&mut self, path: &'a Path) -> Result<Verdict, Unsupported> {
        let mut state = self.begin()?;
        let mut off = Off::default();
        let mut alive = self.enter(path, &mut state, &mut off)?;
        let mut port = self.graph.constant(16, 0u8);
        for (number, step) in path.steps.iter().enumerate() {
            self.span = path.statement_of(step);
            let rest = &path.steps[number + 1..];
            match *step {
                Step::Run(section) => {
                    let section = &self.program.sections[section.index()];
                    self.error = section.error;
                    let runs = match section.role {
                        Role::IngressDeparser | Role::EgressDeparser => {
                            self.with_clones(alive, &off)
                        }
                        _ => alive,
                    };
                    let ends = self.body(&section.body, (runs, state), true)?;
                    let (ended, now) =
                        self.meet(ends.into_iter().map(|(edge, _)| edge).collect())?;
                    state = now;
                    alive = match runs == alive {
                        true => ended,
                        false => self.graph.and(alive, ended),
                    };
                    if section.kind == SectionKind::Parser && self.parser == 0 {
                        self.parser = self.graph.nodes.len();
                    }
                    if section.kind == SectionKind::Parser && sums_payload(self.program) {
                        state.values[self.extra.payload] = self.payload_sum(&state)?;
                    }
                }
                Step::Set(..) | Step::Move(..) => self.set(step, &mut state, &mut off)?,
                // Loops are counted where they are unrolled.
                Step::Renew => self.egress = true,
                Step::LeaveIfAsked => {
                    alive = self.asked(path, alive, &mut state, &mut off)?;
                    let grouped = rest.iter().any(|step| matches!(step, Step::LeaveIf(_)));
                    if !self.egress && !grouped {
                        alive = self.replicate(None, rest, alive, &mut state, &mut off)?;
                    }
                }
                Step::LeaveIf(slot) => {
                    alive = self.leaves(slot, rest, alive, &mut state, &mut off)?;
                }
                Step::LeaveIfIs(slot, value) => {
                    let held = state.values[slot.index()];
                    let same = self.graph.equal_to(held, value);
                    let when = self.graph.and(alive, same);
                    self.recirculates(when, &mut off);
                }
                Step::Turn => self.turn(&mut state)?,
                Step::DropIf(slot, value) => {
                    let held = state.values[slot.index()];
                    let same = self.graph.equal_to(held, value);
                    let dropped = self.graph.and(alive, same);
                    self.ends.push((dropped, number as u8 + 1));
                    let not = self.graph.not(same);
                    alive = self.graph.and(alive, not);
                }
                Step::Port(slot) => port = self.graph.resize(state.values[slot.index()], 16),
                Step::Send => {}
            }
        }
        let anew = self.anew(alive, &state, &off);
        let mut reason = self.graph.constant(8, 0u8);
        for (when, code) in core::mem::take(&mut self.ends).into_iter().rev() {
            let code = self.graph.constant(8, code);
            reason = self.graph.choose(when, code, reason);
        }
        let position = state.values[self.extra.position];
        self.ends_in_a_byte(position)?;
        let truncate = state.values[self.extra.limit];
        Ok(Verdict {
            port,
            reason,
            position,
            truncate,
            anew,
        })
    }

    /// Refuses a parser that may end within a byte.
    pub(crate) fn ends_in_a_byte(&self, position: Id) -> Result<(), Unsupported> {
        match self.graph.whole_bytes(position) {
            true => Ok(()),
            false => self.cannot(
                "the parser may end within a byte: hardware moves whole bytes; give the headers that it extracts lengths of whole bytes",
            ),
        }
    }

    /// A step that gives a slot a value.
    pub(crate) fn set(
        &mut self,
        step: &Step,
        state: &mut State,
        off: &mut Off,
    ) -> Result<(), Unsupported> {
        match *step {
            Step::Set(slot, source) => {
                let width = self.slot(slot).ty.width();
                let value = self.source(source, state)?;
                let value = self.graph.resize(value, width);
                let value = match source {
                    Source::Number(_) => self.of_copy(slot, value, off),
                    Source::Slot(_) => self.class_of(slot, value),
                    _ => value,
                };
                state.values[slot.index()] = value;
            }
            Step::Move(to, from) => {
                state.values[to.index()] = state.values[from.index()];
                if let (Some(to), Some(from)) = (self.lengths.get(&to), self.lengths.get(&from)) {
                    state.values[*to] = state.values[*from];
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// By which port the packet came.
    fn port(&mut self) -> Id {
        let port = self.arrival(Input::Port);
        match self.detours.asked {
            Asked::BySlots { recirculate, .. } => {
                let port = self.graph.resize(port, 64);
                let own = self.graph.constant(64, recirculate);
                let came = self.came(entry::RECIRCULATED);
                self.graph.choose(came, own, port)
            }
            _ => port,
        }
    }

    fn source(&mut self, source: Source, state: &State) -> Result<Id, Unsupported> {
        Ok(match source {
            Source::Number(value) => self.graph.constant(64, value),
            Source::Slot(slot) => state.values[slot.index()],
            Source::Port => self.port(),
            Source::Length => self.length(),
            Source::Now => self.arrival(Input::Microseconds),
            Source::Nanoseconds => self.arrival(Input::Nanoseconds),
            Source::ChecksumError => state.values[self.extra.checksum_error],
            Source::WaitingPackets(_) | Source::WaitingTime(_) => {
                return self.cannot(
                    "the program reads the depth of queues, which this hardware has not; leave out `enq_qdepth`, `deq_qdepth` and `deq_timedelta`",
                );
            }
        })
    }

    /// One place for packets that come by several ways.
    pub(crate) fn meet(&mut self, edges: Vec<Edge>) -> Result<Edge, Unsupported> {
        let mut edges: Vec<Edge> = edges
            .into_iter()
            .filter(|(when, _)| !self.graph.is_false(*when))
            .collect();
        if edges.len() < 2 {
            return match edges.pop() {
                Some(edge) => Ok(edge),
                None => Ok((self.graph.bit(false), self.begin()?)),
            };
        }
        let conditions: Vec<Id> = edges.iter().map(|(when, _)| *when).collect();
        let when = self.graph.any(&conditions);
        let apart = self.graph.apart(&conditions);
        let mut merged = edges[0].1.clone();
        let mut groups: BTreeMap<Vec<usize>, Id> = BTreeMap::new();
        for at in 0..merged.values.len() {
            let first = merged.values[at];
            if edges.iter().all(|(_, state)| state.values[at] == first) {
                continue;
            }
            let mut by_value: BTreeMap<Id, Vec<usize>> = BTreeMap::new();
            for (number, (_, state)) in edges.iter().enumerate() {
                by_value.entry(state.values[at]).or_default().push(number);
            }
            let mut by_value: Vec<(Id, Vec<usize>)> = by_value.into_iter().collect();
            by_value.sort_by_key(|(_, edges)| edges.len());
            let Some((mut value, _)) = by_value.pop() else {
                continue;
            };
            for (other, numbers) in by_value {
                let condition = match groups.get(&numbers) {
                    Some(condition) => *condition,
                    None => {
                        let of: Vec<Id> = numbers.iter().map(|number| apart[*number]).collect();
                        let condition = self.graph.any(&of);
                        groups.insert(numbers, condition);
                        condition
                    }
                };
                value = self.graph.choose(condition, other, value);
            }
            if let Some(slot) = self.program.slots.get(at) {
                self.graph.name(value, || slot.name.as_ref().into());
            }
            merged.values[at] = value;
        }
        merged.least = edges
            .iter()
            .map(|(_, state)| state.least)
            .min()
            .unwrap_or(0);
        merged.most = edges.iter().map(|(_, state)| state.most).max().unwrap_or(0);
        Ok((when, merged))
    }

    /// A body's ways out; the flag says that one is an `exit`.
    pub(crate) fn body(
        &mut self,
        body: &'a Body,
        from: Edge,
        section: bool,
    ) -> Result<Vec<(Edge, bool)>, Unsupported> {
        let mut waiting: BTreeMap<(u32, u32), Vec<Edge>> = BTreeMap::new();
        waiting.insert((0, 0), alloc::vec![from]);
        let mut out = Vec::new();
        let mut told = false;
        while let Some(((round, at), edges)) = waiting.pop_first() {
            let (when, state) = self.meet(edges)?;
            if self.graph.is_false(when) {
                continue;
            }
            let Some(block) = body.blocks.get(at as usize) else {
                out.push(((when, state), false));
                continue;
            };
            if self.graph.nodes.len() > NODES {
                return self.cannot("the program is too large: more than a million operators; shorten its loops or its parser");
            }
            if round > ROUNDS {
                self.ends.push((when, reason::STEPS));
                if !core::mem::replace(&mut told, true) {
                    self.warnings.push(format!(
                        "a loop is unrolled {ROUNDS} times: packets that need more rounds are dropped"
                    ));
                }
                continue;
            }
            let mut fails = Vec::new();
            let left = self.statements(block, (when, state), &mut fails)?;
            self.graph.place = None;
            let Some((when, state)) = left else {
                continue;
            };
            let mut to = |next: p4::ir::BlockId, edge: Edge| {
                let round = if next.0 > at { round } else { round + 1 };
                waiting.entry((round, next.0)).or_default().push(edge);
            };
            for edge in fails {
                match body.fail {
                    Some(fail) => to(fail, edge),
                    None => out.push((edge, false)),
                }
            }
            if self.graph.is_false(when) {
                continue;
            }
            match &block.terminator {
                Terminator::Jump(next) => to(*next, (when, state)),
                Terminator::Branch { condition, yes, no } => {
                    let condition = self.value(condition, &state)?;
                    let opposite = self.graph.not(condition);
                    to(*yes, (self.graph.and(when, condition), state.clone()));
                    to(*no, (self.graph.and(when, opposite), state));
                }
                Terminator::Select {
                    keys,
                    cases,
                    default,
                } => {
                    let types: Vec<Ty> =
                        keys.iter().map(|key| key.ty(&self.program.slots)).collect();
                    let mut values = Vec::new();
                    for key in keys {
                        values.push(self.value(key, &state)?);
                    }
                    let mut left = when;
                    for case in cases {
                        let mut matches = self.graph.bit(true);
                        for (number, pattern) in case.patterns.iter().enumerate() {
                            let one = match pattern {
                                Pattern::ValueSet(set) => {
                                    self.value_set(*set, &values[number..])?
                                }
                                other => {
                                    self.pattern(other, values[number], types[number], &state)?
                                }
                            };
                            matches = self.graph.and(matches, one);
                        }
                        to(case.next, (self.graph.and(left, matches), state.clone()));
                        let not = self.graph.not(matches);
                        left = self.graph.and(left, not);
                    }
                    to(*default, (left, state));
                }
                Terminator::Apply { table, next, exit } => {
                    for (edge, exits) in self.apply(*table, (when, state))? {
                        to(if exits { *exit } else { *next }, edge);
                    }
                }
                Terminator::Return | Terminator::Reject => out.push(((when, state), false)),
                Terminator::Exit => out.push(((when, state), !section)),
            }
        }
        Ok(out)
    }

    fn pattern(
        &mut self,
        pattern: &Pattern,
        value: Id,
        ty: Ty,
        state: &State,
    ) -> Result<Id, Unsupported> {
        use crate::graph::Two;
        Ok(match pattern {
            Pattern::Any | Pattern::ValueSet(_) => self.graph.bit(true),
            Pattern::Equal(wanted) => {
                let wanted = self.value(wanted, state)?;
                self.graph.two(Two::Equal, value, wanted)
            }
            Pattern::Mask(wanted, mask) => {
                let (wanted, mask) = (self.value(wanted, state)?, self.value(mask, state)?);
                let wanted = self.graph.two(Two::And, wanted, mask);
                let value = self.graph.two(Two::And, value, mask);
                self.graph.two(Two::Equal, value, wanted)
            }
            Pattern::Range(from, to) => {
                let (from, to) = (self.value(from, state)?, self.value(to, state)?);
                let less = match ty {
                    Ty::Signed(_) => Two::LessSigned,
                    _ => Two::Less,
                };
                let (below, above) = (
                    self.graph.two(less, value, from),
                    self.graph.two(less, to, value),
                );
                let outside = self.graph.or(below, above);
                self.graph.not(outside)
            }
        })
    }

    /// Statements one behind the other; nothing when no packet is left.
    fn statements(
        &mut self,
        block: &'a p4::ir::Block,
        from: Edge,
        fails: &mut Vec<Edge>,
    ) -> Result<Option<Edge>, Unsupported> {
        let (mut when, mut state) = from;
        for statement in &block.statements {
            self.span = Some(statement.span);
            self.graph.place = self.span;
            match &statement.kind {
                StatementKind::Assign { target, value } => {
                    let (value, length) = self.whole_value(value, &state)?;
                    self.assign(target, value, length, &mut state)?;
                }
                StatementKind::Call {
                    callee,
                    arguments,
                    results,
                } => {
                    when = self.call(callee, arguments, results, when, &mut state)?;
                }
                StatementKind::Emit { header } => self.emit(*header, when, &state)?,
                StatementKind::EmitValue { value } => {
                    let bits = self.value(value, &state)?;
                    self.emitted.push(Emitted {
                        when,
                        bits,
                        length: None,
                        span: statement.span,
                    });
                }
                StatementKind::Length { into } => {
                    state.values[into.index()] = self.length();
                }
                StatementKind::Extract { .. }
                | StatementKind::ExtractNext { .. }
                | StatementKind::Lookahead { .. }
                | StatementKind::Advance { .. } => {
                    for (condition, error) in self.parse(&statement.kind, when, &mut state)? {
                        let failed = self.graph.and(when, condition.0);
                        if !self.graph.is_false(failed) {
                            fails.push(self.failed(failed, error, condition.1));
                        }
                        let not = self.graph.not(condition.0);
                        when = self.graph.and(when, not);
                    }
                }
            }
            if self.graph.is_false(when) {
                return Ok(if fails.is_empty() {
                    None
                } else {
                    Some((when, state))
                });
            }
        }
        Ok(Some((when, state)))
    }

    /// A packet with which a statement of the parser failed, as it was before.
    fn failed(&mut self, when: Id, error: ParserError, mut state: State) -> Edge {
        if let (Some(slot), Some(value)) = (self.error, self.program.error(error)) {
            let value: BigUint = value.unsigned().clone();
            state.values[slot.index()] = self.graph.constant(self.slot(slot).ty.width(), value);
        }
        (when, state)
    }
}
