//! What statements and terminators read and write.

use crate::ir::fold::reads;
use crate::ir::*;
use alloc::vec;
use alloc::vec::Vec;

/// A set of slots.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set(Vec<u64>);

impl Set {
    pub(super) fn new(slots: usize) -> Self {
        Set(vec![0; slots.div_ceil(64)])
    }

    pub(super) fn has(&self, slot: SlotId) -> bool {
        let index = slot.index();
        self.0
            .get(index / 64)
            .is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    pub(super) fn add(&mut self, slot: SlotId) {
        let index = slot.index();
        if let Some(word) = self.0.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    pub(super) fn remove(&mut self, slot: SlotId) {
        let index = slot.index();
        if let Some(word) = self.0.get_mut(index / 64) {
            *word &= !(1 << (index % 64));
        }
    }

    pub(super) fn add_all(&mut self, other: &Set) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    pub(super) fn meets(&self, other: &Set) -> bool {
        self.0.iter().zip(&other.0).any(|(one, two)| one & two != 0)
    }
}

/// Slots that something reads, surely writes as a whole, and may write.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    pub(super) reads: Vec<SlotId>,
    pub(super) sets: Vec<SlotId>,
    pub(super) touches: Vec<SlotId>,
}

impl Uses {
    pub(super) fn writes(&self) -> impl Iterator<Item = SlotId> {
        self.sets.iter().chain(&self.touches).copied()
    }

    fn lvalue(&mut self, lvalue: &LValue) {
        match lvalue {
            LValue::Slot(slot) => self.sets.push(*slot),
            LValue::Slice { slot, .. } => {
                self.reads.push(*slot);
                self.touches.push(*slot);
            }
            LValue::Element { slots, index, .. } => {
                reads(index, &mut self.reads);
                self.reads.extend(slots);
                self.touches.extend(slots);
            }
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        for argument in arguments {
            match argument {
                Argument::Value(value) => reads(value, &mut self.reads),
                Argument::List(items) => {
                    for item in items {
                        reads(&item.value, &mut self.reads);
                        self.reads.extend(item.valid);
                    }
                }
                Argument::Text(_) | Argument::Object(_) | Argument::Member(..) => {}
            }
        }
    }
}

/// Of a statement. What it does to slots that it does not name is told by [`hidden`].
pub(super) fn statement(kind: &StatementKind, program: &Shape) -> Uses {
    let mut uses = Uses::default();
    let size = |size: &Option<Expr>, uses: &mut Uses| {
        if let Some(size) = size {
            reads(size, &mut uses.reads);
        }
    };
    match kind {
        StatementKind::Assign { target, value } => {
            reads(value, &mut uses.reads);
            uses.lvalue(target);
        }
        // It may fail, and then writes nothing.
        StatementKind::Extract { header, size: bits } => {
            size(bits, &mut uses);
            uses.touches.extend(&program.headers[header.index()]);
        }
        StatementKind::ExtractNext { stack, size: bits } => {
            size(bits, &mut uses);
            let (next, headers) = &program.stacks[stack.index()];
            uses.reads.push(*next);
            uses.touches.push(*next);
            for header in headers {
                uses.touches.extend(&program.headers[header.index()]);
            }
        }
        StatementKind::Lookahead { into } => uses.touches.push(*into),
        StatementKind::Length { into } => uses.sets.push(*into),
        StatementKind::Advance { bits } => reads(bits, &mut uses.reads),
        StatementKind::Emit { header } => uses.reads.extend(&program.headers[header.index()]),
        StatementKind::EmitValue { value } => reads(value, &mut uses.reads),
        StatementKind::Call {
            arguments, results, ..
        } => {
            uses.arguments(arguments);
            for result in results {
                uses.lvalue(result);
            }
        }
    }
    uses
}

/// Whether a statement may end in an error of the parser.
pub(super) fn fails(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Extract { .. }
            | StatementKind::ExtractNext { .. }
            | StatementKind::Lookahead { .. }
            | StatementKind::Advance { .. }
    )
}

/// Whether a statement may read and write slots that it does not name: `mark_to_drop()`, methods of the program's own.
pub(super) fn hidden(kind: &StatementKind) -> bool {
    matches!(kind, StatementKind::Call { .. })
}

/// Where a block can go on.
pub(super) fn successors(terminator: &Terminator) -> Vec<BlockId> {
    match terminator {
        Terminator::Jump(to) => vec![*to],
        Terminator::Branch { yes, no, .. } => vec![*yes, *no],
        Terminator::Select { cases, default, .. } => cases
            .iter()
            .map(|case| case.next)
            .chain([*default])
            .collect(),
        Terminator::Apply { next, exit, .. } => vec![*next, *exit],
        Terminator::Return | Terminator::Exit | Terminator::Reject => Vec::new(),
    }
}

/// The expressions of a terminator itself, without a table's keys.
pub(super) fn expressions(terminator: &Terminator) -> Vec<&Expr> {
    match terminator {
        Terminator::Branch { condition, .. } => vec![condition],
        Terminator::Select { keys, cases, .. } => {
            let mut all: Vec<&Expr> = keys.iter().collect();
            for pattern in cases.iter().flat_map(|case| &case.patterns) {
                match pattern {
                    Pattern::Equal(value) => all.push(value),
                    Pattern::Mask(one, two) | Pattern::Range(one, two) => all.extend([one, two]),
                    Pattern::Any | Pattern::ValueSet(_) => {}
                }
            }
            all
        }
        _ => Vec::new(),
    }
}

/// The same to change them.
pub(super) fn expressions_mut(terminator: &mut Terminator) -> Vec<&mut Expr> {
    match terminator {
        Terminator::Branch { condition, .. } => vec![condition],
        Terminator::Select { keys, cases, .. } => {
            let mut all: Vec<&mut Expr> = keys.iter_mut().collect();
            for pattern in cases.iter_mut().flat_map(|case| &mut case.patterns) {
                match pattern {
                    Pattern::Equal(value) => all.push(value),
                    Pattern::Mask(one, two) | Pattern::Range(one, two) => all.extend([one, two]),
                    Pattern::Any | Pattern::ValueSet(_) => {}
                }
            }
            all
        }
        _ => Vec::new(),
    }
}

/// What the passes need of a program while they change its bodies.
pub(super) struct Shape {
    /// Of each header its validity and fields.
    pub(super) headers: Vec<Vec<SlotId>>,
    pub(super) stacks: Vec<(SlotId, Vec<HeaderId>)>,
    /// Of each table what its keys read, what its actions read, and what it and they may write.
    pub(super) tables: Vec<TableUses>,
    /// Slots that somebody beside the bodies reads or writes: the architecture, methods, what is copied along.
    pub(super) observed: Set,
    /// Slots that any body, key or call reads.
    pub(super) read: Set,
    pub(super) slots: Vec<Ty>,
}

#[derive(Clone, Debug)]
pub(super) struct TableUses {
    pub(super) keys: Set,
    pub(super) reads: Set,
    pub(super) writes: Set,
    /// An action calls an extern.
    pub(super) calls: bool,
}

/// Whether an architecture's own struct has this type's name. Of other types only the program knows what they mean.
pub(super) fn is_architectures(architecture: &Architecture, ty: &str) -> bool {
    match architecture {
        Architecture::V1Switch => ty == "standard_metadata_t",
        Architecture::PsaSwitch => ty.starts_with("psa_"),
        Architecture::PnaNic => ty.starts_with("pna_"),
        Architecture::Switch => ty == "switch_metadata_t",
        Architecture::Bump => ty == "bump_metadata_t",
        Architecture::Other(_) => true,
    }
}

impl Shape {
    pub(super) fn new(program: &Program) -> Self {
        let count = program.slots.len();
        let headers = program.headers.iter().map(|header| {
            let mut slots = header.fields.clone();
            slots.push(header.valid);
            slots
        });
        let stacks = program
            .stacks
            .iter()
            .map(|stack| (stack.next, stack.headers.clone()));
        let mut shape = Shape {
            headers: headers.collect(),
            stacks: stacks.collect(),
            tables: Vec::new(),
            observed: Set::new(count),
            read: Set::new(count),
            slots: program.slots.iter().map(|slot| slot.ty).collect(),
        };
        shape.observe(program);
        let all = program.sections.iter().map(|section| &section.body);
        let all = all.chain(program.actions.iter().map(|action| &action.body));
        for body in all {
            for slot in shape.body_reads(body) {
                shape.read.add(slot);
            }
        }
        for table in &program.tables {
            let mut uses = TableUses {
                keys: Set::new(count),
                reads: Set::new(count),
                writes: Set::new(count),
                calls: false,
            };
            let mut keys = Vec::new();
            table
                .keys
                .iter()
                .for_each(|key| reads(&key.value, &mut keys));
            for slot in keys {
                uses.keys.add(slot);
                shape.read.add(slot);
            }
            for slot in table.hit.iter().chain(&table.action_run) {
                uses.writes.add(*slot);
            }
            for choice in &table.actions {
                let action = &program.actions[choice.action.index()];
                for slot in shape.body_reads(&action.body) {
                    uses.reads.add(slot);
                }
                for (_, slot, _) in &action.parameters {
                    uses.writes.add(*slot);
                }
                for statement in action
                    .body
                    .blocks
                    .iter()
                    .flat_map(|block| &block.statements)
                {
                    uses.calls |= hidden(&statement.kind);
                    let of = self::statement(&statement.kind, &shape);
                    of.writes().for_each(|slot| uses.writes.add(slot));
                }
            }
            shape.tables.push(uses);
        }
        shape
    }

    fn observe(&mut self, program: &Program) {
        for section in &program.sections {
            for parameter in &section.parameters {
                // Other architectures than v1model copy parameters from section to section themselves: what one leaves there
                // may be read by another under a slot of its own.
                let copied = program.architecture != Architecture::V1Switch;
                if copied || is_architectures(&program.architecture, &parameter.ty) {
                    parameter
                        .fields
                        .iter()
                        .for_each(|(_, slot)| self.observed.add(*slot));
                }
            }
            section
                .error
                .iter()
                .for_each(|slot| self.observed.add(*slot));
        }
        for (index, slot) in program.slots.iter().enumerate() {
            if slot.is_kept() {
                self.observed.add(SlotId(index as u32));
            }
        }
        for method in program.objects.iter().flat_map(|object| &object.methods) {
            let slots = method.parameters.iter().chain(&method.results);
            slots.for_each(|slot| self.observed.add(*slot));
            for slot in self.body_reads(&method.body) {
                self.observed.add(slot);
            }
            for statement in method
                .body
                .blocks
                .iter()
                .flat_map(|block| &block.statements)
            {
                let uses = self::statement(&statement.kind, self);
                uses.writes().for_each(|slot| self.observed.add(slot));
            }
        }
    }

    fn body_reads(&self, body: &Body) -> Vec<SlotId> {
        let mut all = Vec::new();
        for block in &body.blocks {
            for statement in &block.statements {
                all.extend(self::statement(&statement.kind, self).reads);
            }
            expressions(&block.terminator)
                .into_iter()
                .for_each(|value| reads(value, &mut all));
        }
        all
    }
}
