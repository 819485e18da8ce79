//! The reference interpreter: runs the intermediate representation as it is written down, one statement after the other, on values of any
//! width. It is there to be right, and to say what happens ([`crate::trace`]); the fast engine must agree with it.

mod expressions;
mod step;

pub use step::{Stepped, evaluate, select, statement};

use crate::apply;
use crate::bits;
use crate::calls;
use crate::context::Context;
use crate::engine::{Ended, Engine, Packet};
use crate::environment::{Environment, Unsupported};
use crate::externs::{Call, Operation};
use crate::layout::limbs;
use crate::state::value_set;
use crate::table::Table;
use crate::trace::{Event, expression};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use expressions::Values;
use p4::ir::{
    Block, BlockId, Body, Expr, HeaderId, LValue, MatchKind, ParserError, Pattern, Program,
    SectionId, SlotId, StackId, Statement, StatementKind, TableId, Terminator, Ty,
};
use p4::source::Span;
use p4::value::Bits;

/// Calls by the statement that makes them: which body, which block, which statement.
type Calls = BTreeMap<(BodyId, usize, usize), Call>;

/// A body of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BodyId {
    Section(usize),
    Action(usize),
}

/// The reference engine.
pub struct Interpreter {
    environment: Arc<Environment>,
    calls: Calls,
}

impl Interpreter {
    /// An interpreter for an environment's program.
    ///
    /// # Errors
    /// When the program calls an extern that is not known here.
    pub fn new(environment: &Arc<Environment>) -> Result<Self, Unsupported> {
        let program = &environment.program;
        let sections = program.sections.iter().enumerate();
        let sections = sections.map(|(index, section)| (BodyId::Section(index), &section.body));
        let actions = program.actions.iter().enumerate();
        let actions = actions.map(|(index, action)| (BodyId::Action(index), &action.body));
        let mut calls = Calls::new();
        for (id, body) in sections.chain(actions) {
            for (block, Block { statements, .. }) in body.blocks.iter().enumerate() {
                for (index, statement) in statements.iter().enumerate() {
                    if let StatementKind::Call {
                        callee,
                        arguments,
                        results,
                    } = &statement.kind
                    {
                        let call = Call::resolve(environment, callee, arguments, results);
                        let call = call.map_err(|error| Unsupported {
                            span: Some(statement.span),
                            ..error
                        })?;
                        calls.insert((id, block, index), call);
                    }
                }
            }
        }
        Ok(Interpreter {
            environment: Arc::clone(environment),
            calls,
        })
    }
}

impl Engine for Interpreter {
    fn run(
        &mut self,
        section: SectionId,
        cells: &mut [u64],
        packet: &mut Packet,
        tables: &[Table],
        context: &mut Context,
    ) -> Ended {
        let environment = &*self.environment;
        let program = &*environment.program;
        let section_of = &program.sections[section.index()];
        let mut run = Run {
            environment,
            program,
            calls: &self.calls,
            cells,
            packet,
            tables,
            context,
            error: section_of.error,
        };
        run.note(|_| Event::Section(section));
        match run.body(BodyId::Section(section.index()), &section_of.body) {
            Flow::Return | Flow::Exit => Ended::Return,
            Flow::Reject => Ended::Reject,
            Flow::Stop => Ended::Stop,
        }
    }
}

/// How a body ended.
enum Flow {
    Return,
    Exit,
    Reject,
    Stop,
}

/// What a statement asks for.
enum Next {
    Statement,
    /// The parser fails; the error is written.
    Fail,
    Stop,
}

/// A section that runs.
struct Run<'a> {
    environment: &'a Environment,
    program: &'a Program,
    calls: &'a Calls,
    cells: &'a mut [u64],
    packet: &'a mut Packet,
    tables: &'a [Table],
    context: &'a mut Context,
    error: Option<SlotId>,
}

impl Run<'_> {
    fn values(&self) -> Values<'_> {
        Values {
            slots: &self.program.slots,
            layout: &self.environment.layout,
            cells: self.cells,
        }
    }

    /// Notes what happens, if somebody wants to know.
    fn note(&mut self, event: impl FnOnce(&Self) -> Event) {
        if self.context.trace.is_some() {
            let event = event(self);
            if let Some(trace) = &mut self.context.trace {
                trace.push(event);
            }
        }
    }

    fn value(&self, expression: &Expr) -> Bits {
        self.values().value(expression)
    }

    fn write(&mut self, slot: SlotId, value: &Bits) {
        self.environment.layout.write(self.cells, slot, value);
    }

    fn body(&mut self, id: BodyId, body: &Body) -> Flow {
        let mut at = BlockId(0);
        loop {
            let Some(block) = body.blocks.get(at.index()) else {
                return Flow::Return;
            };
            if let (BodyId::Section(_), Some(name)) = (id, &block.name) {
                self.note(|_| Event::State(Arc::clone(name)));
            }
            let next = match self.statements(id, at, block) {
                Next::Statement => match self.terminator(&block.terminator) {
                    Ok(next) => next,
                    Err(flow) => return flow,
                },
                Next::Fail => match body.fail {
                    Some(fail) => fail,
                    None => return Flow::Reject,
                },
                Next::Stop => return Flow::Stop,
            };
            if next <= at && !self.context.step() {
                return Flow::Stop;
            }
            at = next;
        }
    }

    fn statements(&mut self, id: BodyId, at: BlockId, block: &Block) -> Next {
        let calls = self.calls;
        for (index, statement) in block.statements.iter().enumerate() {
            let call = match &statement.kind {
                StatementKind::Call { .. } => calls.get(&(id, at.index(), index)),
                _ => None,
            };
            let next = self.statement(statement, call);
            if !matches!(next, Next::Statement) {
                return next;
            }
        }
        Next::Statement
    }

    /// `call` is what it calls, if it is a call.
    fn statement(&mut self, statement: &Statement, call: Option<&Call>) -> Next {
        match &statement.kind {
            StatementKind::Assign { target, value } => {
                let value = self.value(value);
                self.assign(target, &value, statement.span);
                Next::Statement
            }
            StatementKind::Extract { header, size } => {
                self.extract(*header, size.as_ref(), statement.span)
            }
            StatementKind::ExtractNext { stack: id, size } => {
                let stack = &self.program.stacks[id.index()];
                let next = self.values().slot(stack.next);
                let position = next.to_u64().and_then(|next| usize::try_from(next).ok());
                match position.and_then(|position| stack.headers.get(position)) {
                    None => self.fail(ParserError::StackOutOfBounds, Some(*id), statement.span),
                    Some(header) => {
                        let result = self.extract(*header, size.as_ref(), statement.span);
                        if let Next::Statement = result {
                            let next = Bits::new(32, next.unsigned() + 1u8);
                            self.write(stack.next, &next);
                        }
                        result
                    }
                }
            }
            StatementKind::Lookahead { into } => {
                let width = self.program.slots[into.index()].ty.width();
                match self.take(self.packet.position, width) {
                    Some(value) => {
                        self.write(*into, &value);
                        Next::Statement
                    }
                    None => self.fail(ParserError::PacketTooShort, None, statement.span),
                }
            }
            StatementKind::Advance { bits } => {
                let bits = self.value(bits).to_u64().unwrap_or(u64::MAX);
                let end = self.packet.position.saturating_add(bits);
                if end > self.packet.bytes.len() as u64 * 8 {
                    self.fail(ParserError::PacketTooShort, None, statement.span)
                } else {
                    self.packet.position = end;
                    Next::Statement
                }
            }
            StatementKind::Length { into } => {
                let length = Bits::new(32, self.packet.bytes.len());
                self.write(*into, &length);
                Next::Statement
            }
            StatementKind::Emit { header } => {
                self.emit(*header);
                Next::Statement
            }
            StatementKind::EmitValue { value } => {
                let value = self.value(value);
                self.append(&value);
                Next::Statement
            }
            StatementKind::Call { results, .. } => {
                if let Some(call) = call {
                    self.call(call, results, statement.span);
                }
                match self.context.stop {
                    None => Next::Statement,
                    Some(_) => Next::Stop,
                }
            }
        }
    }

    /// Where to go from the end of a block.
    fn terminator(&mut self, terminator: &Terminator) -> Result<BlockId, Flow> {
        match terminator {
            Terminator::Jump(next) => Ok(*next),
            Terminator::Branch { condition, yes, no } => {
                let taken = self.values().is_true(condition);
                self.note(|run| Event::Branch {
                    condition: expression(run.program, condition),
                    taken,
                });
                Ok(if taken { *yes } else { *no })
            }
            Terminator::Select {
                keys,
                cases,
                default,
            } => {
                let values: Vec<Bits> = keys.iter().map(|key| self.value(key)).collect();
                let mut cases = cases.iter().enumerate();
                let found = cases.find(|(_, case)| self.matches(keys, &values, &case.patterns));
                self.note(|_| Event::Select {
                    keys: values,
                    case: found.map(|(index, _)| index),
                });
                Ok(found.map_or(*default, |(_, case)| case.next))
            }
            Terminator::Apply { table, next, exit } => match self.apply(*table) {
                Flow::Return | Flow::Reject => Ok(*next),
                Flow::Exit => Ok(*exit),
                Flow::Stop => Err(Flow::Stop),
            },
            Terminator::Return => Err(Flow::Return),
            Terminator::Exit => Err(Flow::Exit),
            Terminator::Reject => Err(Flow::Reject),
        }
    }

    fn matches(&mut self, keys: &[Expr], values: &[Bits], patterns: &[Pattern]) -> bool {
        patterns.iter().enumerate().all(|(index, pattern)| {
            let (Some(key), Some(value)) = (keys.get(index), values.get(index)) else {
                return false;
            };
            let signed = matches!(key.ty(&self.program.slots), Ty::Signed(_));
            let at_most = |low: &Bits, high: &Bits| {
                if signed {
                    low.signed() <= high.signed()
                } else {
                    low.unsigned() <= high.unsigned()
                }
            };
            match pattern {
                Pattern::Any => true,
                Pattern::Equal(wanted) => self.value(wanted).unsigned() == value.unsigned(),
                Pattern::Mask(wanted, mask) => {
                    let (wanted, mask) = (self.value(wanted), self.value(mask));
                    wanted.unsigned() & mask.unsigned() == value.unsigned() & mask.unsigned()
                }
                Pattern::Range(from, to) => {
                    let (from, to) = (self.value(from), self.value(to));
                    at_most(&from, value) && at_most(value, &to)
                }
                Pattern::ValueSet(set) => {
                    let count = self.program.value_sets[set.index()].fields.len();
                    let values = values.get(index..index + count);
                    values.is_some_and(|values| {
                        value_set::contains(self.context.value_set(*set), values)
                    })
                }
            }
        })
    }

    fn apply(&mut self, id: TableId) -> Flow {
        let table = &self.program.tables[id.index()];
        let mut key = Vec::new();
        let mut selectors = Vec::new();
        let mut values = Vec::new();
        for part in &table.keys {
            let value = self.value(&part.value);
            let mut cells = vec![0; limbs(part.ty.width())];
            value.resize(part.ty.width()).to_limbs(&mut cells);
            if part.match_kind == MatchKind::Selector {
                selectors.extend(cells);
            } else {
                key.extend(cells);
            }
            values.push(value);
        }
        let chosen = apply::choose(
            id,
            &self.tables[id.index()],
            &key,
            &selectors,
            self.cells,
            self.context,
        );
        self.note(|run| Event::Table {
            table: id,
            keys: values,
            entry: chosen
                .entry
                .and_then(|entry| run.tables[id.index()].handle(entry)),
            member: chosen.member,
            action: chosen.action.map(|action| {
                let action = table.actions[action as usize].action;
                let parameters = &run.program.actions[action.index()].parameters;
                let arguments = parameters
                    .iter()
                    .map(|(_, slot, _)| run.values().slot(*slot));
                (action, arguments.collect())
            }),
        });
        if let Some(slot) = table.hit {
            self.write(slot, &Bits::from(chosen.entry.is_some()));
        }
        if let Some(slot) = table.action_run {
            self.write(slot, &Bits::new(32, chosen.action.unwrap_or(u32::MAX)));
        }
        let flow = match chosen.action {
            Some(action) => {
                let action = table.actions[action as usize].action;
                let body = &self.program.actions[action.index()].body;
                self.body(BodyId::Action(action.index()), body)
            }
            None => Flow::Return,
        };
        self.context.leave_action();
        flow
    }

    fn assign(&mut self, place: &LValue, value: &Bits, span: Span) {
        let slot = match place {
            LValue::Slot(slot) | LValue::Slice { slot, .. } => Some(*slot),
            LValue::Element { slots, index, .. } => {
                let position = self.values().position(index, slots.len());
                position.map(|position| slots[position])
            }
        };
        let Some(slot) = slot else {
            return;
        };
        let old = self
            .context
            .trace
            .is_some()
            .then(|| self.values().slot(slot));
        self.put(slot, place, value);
        if let Some(old) = old {
            let new = self.values().slot(slot);
            if old != new {
                self.note(|_| Event::Assign {
                    slot,
                    old,
                    new,
                    span,
                });
            }
        }
    }

    fn put(&mut self, slot: SlotId, place: &LValue, value: &Bits) {
        match place {
            LValue::Slot(_) | LValue::Element { slice: None, .. } => self.write(slot, value),
            LValue::Slice { high, low, .. }
            | LValue::Element {
                slice: Some((high, low)),
                ..
            } => self.splice(slot, *high, *low, value),
        }
    }

    /// Replaces bits of a slot.
    fn splice(&mut self, slot: SlotId, high: u32, low: u32, value: &Bits) {
        let old = self.values().slot(slot);
        let hole = p4::value::mask(high - low + 1) << low;
        let kept = old.unsigned() - (old.unsigned() & &hole);
        let new = kept | (value.resize(high - low + 1).unsigned() << low);
        self.write(slot, &Bits::new(old.width(), new));
    }

    /// The packet's bits from there on, if there are so many.
    fn take(&self, at: u64, width: u32) -> Option<Bits> {
        if at + u64::from(width) > self.packet.bytes.len() as u64 * 8 {
            return None;
        }
        let mut cells = vec![0; limbs(width)];
        bits::read(&self.packet.bytes, at, width, &mut cells);
        Some(Bits::from_limbs(width, &cells))
    }

    /// Writes the error, and says where to go.
    fn fail(&mut self, error: ParserError, stack: Option<StackId>, span: Span) -> Next {
        self.note(|_| Event::Error { error, stack, span });
        if let (Some(slot), Some(value)) = (self.error, self.program.error(error)) {
            self.write(slot, value);
        }
        Next::Fail
    }

    /// Section 12.8.2 of the specification.
    fn extract(&mut self, id: HeaderId, size: Option<&Expr>, span: Span) -> Next {
        let header = &self.program.headers[id.index()];
        let slots = &self.program.slots;
        let variable = size.map_or(0, |size| self.value(size).to_u64().unwrap_or(u64::MAX));
        let fixed = header
            .fields
            .iter()
            .map(|field| match slots[field.index()].ty {
                Ty::Varbit(_) => 0,
                ty => u64::from(ty.width()),
            });
        let total = fixed.sum::<u64>().saturating_add(variable);
        let most = header
            .fields
            .iter()
            .find_map(|field| match slots[field.index()].ty {
                Ty::Varbit(most) => Some(u64::from(most)),
                _ => None,
            });
        if !variable.is_multiple_of(8) {
            return self.fail(ParserError::ParserInvalidArgument, None, span);
        }
        let left = self.packet.bytes.len() as u64 * 8 - self.packet.position;
        if left < total {
            return self.fail(ParserError::PacketTooShort, None, span);
        }
        if variable > most.unwrap_or(0) {
            return self.fail(ParserError::HeaderTooShort, None, span);
        }
        let mut at = self.packet.position;
        for field in &header.fields {
            let width = match slots[field.index()].ty {
                Ty::Varbit(_) => variable as u32,
                ty => ty.width(),
            };
            // There are enough bits, as was just found out.
            let value = self.take(at, width).unwrap_or_else(|| Bits::zero(width));
            self.write(*field, &value);
            at += u64::from(width);
        }
        self.packet.position = at;
        self.write(header.valid, &Bits::from(true));
        self.note(|run| Event::Extract {
            header: id,
            values: header
                .fields
                .iter()
                .map(|field| run.values().slot(*field))
                .collect(),
            span,
        });
        Next::Statement
    }

    fn emit(&mut self, id: HeaderId) {
        let header = &self.program.headers[id.index()];
        let valid = self.values().slot(header.valid).is_true();
        self.note(|_| Event::Emit { header: id, valid });
        if valid {
            for field in &header.fields {
                let value = self.values().slot(*field);
                self.append(&value);
            }
        }
    }

    fn append(&mut self, value: &Bits) {
        let mut cells = vec![0; limbs(value.width())];
        value.to_limbs(&mut cells);
        let Packet {
            emitted,
            emitted_bits,
            ..
        } = &mut *self.packet;
        bits::append(emitted, emitted_bits, &cells, value.width());
    }

    fn call(&mut self, call: &Call, results: &[LValue], span: Span) {
        let mut input = vec![0; call.input_cells];
        for part in &call.inputs {
            calls::put(part.ty, &self.value(&part.value), &mut input[part.at..]);
        }
        self.note(|run| Event::Call {
            name: Arc::clone(&call.name),
            inputs: call
                .inputs
                .iter()
                .map(|part| run.value(&part.value))
                .collect(),
            text: match &call.operation {
                Operation::Log { text } => Some(call.message(text, &input)),
                _ => None,
            },
            span,
        });
        let mut output = vec![0; call.output_cells];
        call.invoke(&input, &mut output, self.cells, self.packet, self.context);
        for (place, part) in results.iter().zip(&call.outputs) {
            let count = limbs(part.ty.width());
            let value = Bits::from_limbs(part.ty.width(), &output[part.at..part.at + count]);
            self.assign(place, &value, span);
        }
    }
}
