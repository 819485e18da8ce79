//! Follows a program's blocks with all packets at once: each place in the program has a condition under which a packet
//! comes there, and what each slot then holds; where ways meet there is a choice between values.
//!
//! Loops are unrolled, since a block is worked on again for each time that a packet may come back to it.

use crate::copies::port_of;
use crate::graph::{Id, Input};
use crate::hashes::sums_payload;
use crate::state::{Edge, Emitted, State, Verdict, Walk, reason};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use num_bigint::BigUint;
use p4::ir::{Body, ParserError, Pattern, SectionKind, StatementKind, Terminator, Ty};
use pipeline::engine::{Path, Source, Step};
use pipeline::environment::Unsupported;

/// A loop is unrolled so often, at most.
const ROUNDS: u32 = 64;
/// A program with more operators than these is too large.
const NODES: usize = 1 << 20;

impl<'a> Walk<'a> {
    fn begin(&mut self) -> Result<State, Unsupported> {
        let mut values = Vec::with_capacity(self.extra.payload + 1);
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
        values.push(self.graph.constant(32, u32::MAX));
        values.push(self.graph.constant(16, 0u8));
        Ok(State {
            values,
            least: 0,
            most: 0,
        })
    }

    /// A packet's way through the architecture.
    pub(crate) fn path(&mut self, path: &Path) -> Result<Verdict, Unsupported> {
        let mut state = self.begin()?;
        let mut alive = self.graph.bit(true);
        let mut port = self.graph.constant(16, 0u8);
        for (number, step) in path.steps.iter().enumerate() {
            self.span = None;
            match *step {
                Step::Run(section) => {
                    let section = &self.program.sections[section.index()];
                    self.error = section.error;
                    let ends = self.body(&section.body, (alive, state), true)?;
                    (alive, state) = self.meet(ends.into_iter().map(|(edge, _)| edge).collect())?;
                    if section.kind == SectionKind::Parser && sums_payload(self.program) {
                        state.values[self.extra.payload] = self.payload_sum(&state)?;
                    }
                }
                Step::Set(slot, source) => {
                    let ty = self.slot(slot).ty;
                    let value = self.source(source, &state)?;
                    let value = self.graph.resize(value, ty.width());
                    state.values[slot.index()] = match source {
                        Source::Number(_) => self.of_copy(slot, value),
                        _ => value,
                    };
                }
                // Loops are counted where they are unrolled; what asks for copies is refused where it asks.
                Step::Renew | Step::LeaveIfAsked => {}
                Step::LeaveIf(slot) => {
                    let value = state.values[slot.index()];
                    if self.graph.number(value) != Some(0) {
                        let port = port_of(&path.steps[number..]);
                        alive = self.replicate(slot, port, alive, &mut state);
                    }
                }
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
        let mut reason = self.graph.constant(8, 0u8);
        for (when, code) in core::mem::take(&mut self.ends).into_iter().rev() {
            let code = self.graph.constant(8, code);
            reason = self.graph.choose(when, code, reason);
        }
        let position = state.values[self.extra.position];
        if !self.graph.whole_bytes(position) {
            return self.cannot(
                "the parser may end within a byte: hardware moves whole bytes; give the headers that it extracts lengths of whole bytes",
            );
        }
        let three = self.graph.constant(16, 3u8);
        let payload = self
            .graph
            .two(crate::graph::Two::ShiftRight, position, three);
        let truncate = state.values[self.extra.truncate];
        Ok(Verdict {
            port,
            reason,
            payload,
            truncate,
        })
    }

    fn source(&mut self, source: Source, state: &State) -> Result<Id, Unsupported> {
        Ok(match source {
            Source::Number(value) => self.graph.constant(64, value),
            Source::Slot(slot) => state.values[slot.index()],
            Source::Port => self.arrival(Input::Port),
            Source::Length => self.arrival(Input::Length),
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
            let Some((when, state)) = self.statements(block, (when, state), &mut fails)? else {
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
                                Pattern::ValueSet(set) => self.value_set(*set, &values[number..]),
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
                    state.values[into.index()] = self.arrival(Input::Length);
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
