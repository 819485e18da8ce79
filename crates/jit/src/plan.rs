//! What is decided about a program before any code is made: which slots live in registers, and which statements are left
//! to the interpreter.

use p4::ir::*;
use pipeline::engine::{Path, Source, Step};
use pipeline::layout::limbs;
use std::collections::BTreeSet;

/// Maximum number of limbs of a compiled value; the interpreter handles wider ones.
const MAX_LIMBS: usize = 8;
/// Maximum number of elements of a compiled list of slots; the interpreter handles longer ones.
const MAX_ELEMENTS: usize = 64;
/// Maximum header width, bits; the interpreter handles wider ones.
pub(crate) const MAX_HEADER_BITS: u32 = 8192;

/// Maximum number of slots times blocks of a path with all slots of up to 64 bits in registers.
const MAX_PLACES: usize = 200_000;

/// Readers and writers of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    Nobody,
    /// One section.
    One(u32),
    /// Several sections, the architecture, or the interpreter.
    Many,
}

/// Decisions about a program.
#[derive(Debug)]
pub(crate) struct Plan {
    users: Vec<Users>,
    /// Of a path: the slots that others may read behind it.
    visible: Vec<bool>,
    /// Of each section.
    packets: Vec<Appended>,
}

/// What a section does with the packet.
#[derive(Clone, Copy, Debug)]
struct Appended {
    /// It reads and appends whole bytes only.
    aligned: bool,
    /// It has no jumps backwards.
    bounded: bool,
    /// How many bytes it appends at most, if it has none.
    room: usize,
}

impl Plan {
    /// For sections one by one, between which others may read and write all that is not a section's own.
    pub(crate) fn new(program: &Program) -> Self {
        let mut plan = Self::begin(program);
        for (index, section) in program.sections.iter().enumerate() {
            for parameter in &section.parameters {
                for (_, slot) in &parameter.fields {
                    plan.share(*slot);
                }
            }
            if let Some(slot) = section.error {
                plan.share(slot);
            }
            plan.section(section, index as u32, program);
        }
        plan
    }

    /// For the sections of a path as one function, which alone sees its slots until the packet leaves the path.
    /// `apart` is the plan of the sections one by one.
    pub(crate) fn of_path(program: &Program, path: &Path, apart: &Plan) -> Self {
        let mut plan = Self::begin(program);
        for (slot, visible) in plan.visible.iter_mut().enumerate() {
            *visible =
                apart.users[slot] == Users::Many || !program.slots[slot].annotations.is_empty();
        }
        let sections = || {
            path.steps.iter().filter_map(|step| match step {
                Step::Run(id) => Some((id.0, &program.sections[id.index()])),
                _ => None,
            })
        };
        let blocks: usize = sections()
            .map(|(_, section)| blocks(section, program))
            .sum();
        // What one function keeps in registers costs compile time for each of its blocks.
        let all = blocks * program.slots.len() <= MAX_PLACES;
        for step in &path.steps {
            let mut user = |slot: &SlotId| {
                plan.use_in(*slot, if all { 0 } else { u32::MAX });
                plan.visible[slot.index()] = true;
            };
            match step {
                Step::Set(to, from) => {
                    user(to);
                    if let Source::Slot(from)
                    | Source::WaitingPackets(from)
                    | Source::WaitingTime(from) = from
                    {
                        user(from);
                    }
                }
                Step::LeaveIf(slot)
                | Step::LeaveIfIs(slot, _)
                | Step::DropIf(slot, _)
                | Step::Port(slot) => user(slot),
                Step::Move(to, from) => {
                    user(to);
                    user(from);
                }
                Step::Run(_) | Step::Renew | Step::LeaveIfAsked | Step::Turn | Step::Send => {}
            }
        }
        for (index, section) in sections() {
            if let Some(slot) = section.error {
                plan.use_in(slot, if all { 0 } else { index });
                let mut statements = section.body.blocks.iter().flat_map(|b| &b.statements);
                if !statements.all(|statement| native_statement(&statement.kind, program)) {
                    // The interpreter writes it too.
                    plan.share(slot);
                }
            }
            plan.section(section, if all { 0 } else { index }, program);
            for statement in section.body.blocks.iter().flat_map(|b| &b.statements) {
                if let StatementKind::ExtractNext { stack, .. } = &statement.kind {
                    // Any of them may be written: as registers, all of them would meet behind it.
                    for header in &program.stacks[stack.index()].headers {
                        header_slots(*header, program, &mut |slot| plan.share(slot));
                    }
                }
            }
        }
        plan
    }

    /// The slots that live in cells, and are used.
    pub(crate) fn in_cells(&self) -> impl Iterator<Item = SlotId> {
        let users = self.users.iter().enumerate();
        let many = users.filter(|(_, users)| **users == Users::Many);
        many.map(|(slot, _)| SlotId(slot as u32))
    }

    /// Whether others look at a slot when a packet has left the path.
    pub(crate) fn visible(&self, slot: SlotId) -> bool {
        self.visible[slot.index()]
    }

    /// The slots that live in registers, whoever uses them.
    pub(crate) fn in_registers(&self) -> impl Iterator<Item = SlotId> {
        let users = self.users.iter().enumerate();
        let one = users.filter(|(_, users)| matches!(users, Users::One(_)));
        one.map(|(slot, _)| SlotId(slot as u32))
    }

    fn begin(program: &Program) -> Self {
        let mut plan = Plan {
            users: vec![Users::Nobody; program.slots.len()],
            visible: vec![false; program.slots.len()],
            packets: program
                .sections
                .iter()
                .map(|s| appended(s, program))
                .collect(),
        };
        for slot in program.slots.iter().enumerate() {
            // A register has no room for these.
            if limbs(slot.1.ty.width()) > 1 || matches!(slot.1.ty, Ty::Varbit(_)) {
                plan.users[slot.0] = Users::Many;
            }
        }
        for object in &program.objects {
            for method in &object.methods {
                for slot in method.parameters.iter().chain(&method.results) {
                    plan.share(*slot);
                }
                body_slots(&method.body, program, &mut |slot| plan.share(slot));
            }
        }
        plan
    }

    fn section(&mut self, section: &Section, index: u32, program: &Program) {
        self.body(&section.body, index, program);
        for table in tables_of(&section.body) {
            let table = &program.tables[table.index()];
            for key in &table.keys {
                self.expression(&key.value, index, program);
            }
            for slot in table.hit.iter().chain(&table.action_run) {
                self.use_in(*slot, index);
            }
            for choice in &table.actions {
                let action = &program.actions[choice.action.index()];
                for (_, slot, _) in &action.parameters {
                    // Those of action profiles are put into their cells.
                    match table.implementation {
                        Some(_) => self.share(*slot),
                        None => self.use_in(*slot, index),
                    }
                }
                self.body(&action.body, index, program);
            }
        }
    }

    /// The slots of a section that live in registers.
    pub(crate) fn registers(&self, section: u32) -> impl Iterator<Item = SlotId> {
        let users = self.users.iter().enumerate();
        users
            .filter(move |(_, users)| **users == Users::One(section))
            .map(|(slot, _)| SlotId(slot as u32))
    }

    pub(crate) fn aligned(&self, section: usize) -> bool {
        self.packets[section].aligned
    }

    pub(crate) fn bounded(&self, section: usize) -> bool {
        self.packets[section].bounded
    }

    pub(crate) fn room(&self, section: usize) -> usize {
        self.packets[section].room
    }

    fn share(&mut self, slot: SlotId) {
        self.users[slot.index()] = Users::Many;
    }

    fn use_in(&mut self, slot: SlotId, section: u32) {
        let users = &mut self.users[slot.index()];
        *users = match *users {
            Users::Nobody => Users::One(section),
            Users::One(other) if other == section => Users::One(section),
            _ => Users::Many,
        };
    }

    fn expression(&mut self, expression: &Expr, section: u32, program: &Program) {
        if native(expression, &program.slots).is_some() {
            expression_slots(expression, &mut |slot| self.use_in(slot, section));
        } else {
            expression_slots(expression, &mut |slot| self.share(slot));
        }
    }

    fn body(&mut self, body: &Body, section: u32, program: &Program) {
        for block in &body.blocks {
            for statement in &block.statements {
                if native_statement(&statement.kind, program) {
                    statement_slots(&statement.kind, program, &mut |slot| {
                        self.use_in(slot, section)
                    });
                } else {
                    statement_slots(&statement.kind, program, &mut |slot| self.share(slot));
                }
            }
            for expression in terminator_expressions(&block.terminator) {
                self.expression(expression, section, program);
            }
            if matches!(&block.terminator, Terminator::Select { keys, cases, .. }
                if !native_select(keys, cases, program))
            {
                for expression in terminator_expressions(&block.terminator) {
                    expression_slots(expression, &mut |slot| self.share(slot));
                }
            }
        }
    }
}

/// How many statements a section has, with those of its tables' actions.
pub(crate) fn statements(section: &Section, program: &Program) -> usize {
    let of = |body: &Body| -> usize { body.blocks.iter().map(|b| b.statements.len()).sum() };
    let tables = tables_of(&section.body).into_iter();
    let choices = tables.flat_map(|table| &program.tables[table.index()].actions);
    let actions = choices.map(|choice| of(&program.actions[choice.action.index()].body));
    of(&section.body) + actions.sum::<usize>()
}

/// How many blocks a section has, with those of its tables' actions.
fn blocks(section: &Section, program: &Program) -> usize {
    let applied = section
        .body
        .blocks
        .iter()
        .map(|block| match &block.terminator {
            Terminator::Apply { table, .. } => {
                let actions = program.tables[table.index()].actions.iter();
                actions
                    .map(|choice| program.actions[choice.action.index()].body.blocks.len())
                    .sum()
            }
            _ => 1,
        });
    applied.sum()
}

fn native_ty(ty: Ty) -> bool {
    !matches!(ty, Ty::Varbit(_)) && limbs(ty.width()) <= MAX_LIMBS
}

/// The type of an expression that is compiled; `None` of one that is left to the interpreter.
pub(crate) fn native(expression: &Expr, slots: &[Slot]) -> Option<Ty> {
    let ty = match expression {
        Expr::Constant(_, ty) => *ty,
        Expr::Slot(slot) => slots[slot.index()].ty,
        Expr::Element { slots: list, index } => {
            native(index, slots)?;
            let ty = slots[list.first()?.index()].ty;
            let same = list.iter().all(|slot| slots[slot.index()].ty == ty);
            (same && list.len() <= MAX_ELEMENTS).then_some(ty)?
        }
        Expr::Unary(operator, value) => {
            let ty = native(value, slots)?;
            if *operator == Unary::Not {
                Ty::Bool
            } else {
                ty
            }
        }
        Expr::Binary(operator, left, right) => {
            let (left, right) = (native(left, slots)?, native(right, slots)?);
            let width = left.width();
            match operator {
                Binary::ShiftLeft | Binary::ShiftRight => left,
                Binary::Concat => {
                    let width = width.checked_add(right.width())?;
                    if matches!(left, Ty::Signed(_)) {
                        Ty::Signed(width)
                    } else {
                        Ty::Bits(width)
                    }
                }
                _ if width != right.width() => return None,
                Binary::Multiply if width > 128 => return None,
                Binary::Divide | Binary::Modulo if width > 64 => return None,
                // Signed ones are not in the language.
                Binary::Divide | Binary::Modulo if matches!(left, Ty::Signed(_)) => return None,
                Binary::Equal
                | Binary::NotEqual
                | Binary::Less
                | Binary::LessEqual
                | Binary::Greater
                | Binary::GreaterEqual => Ty::Bool,
                _ => left,
            }
        }
        Expr::Slice { value, high, low } => {
            let ty = native(value, slots)?;
            (low <= high && *high < ty.width()).then_some(Ty::Bits(high - low + 1))?
        }
        Expr::Cast { value, ty } => {
            native(value, slots)?;
            *ty
        }
        Expr::Conditional { condition, yes, no } => {
            native(condition, slots)?;
            let (yes, no) = (native(yes, slots)?, native(no, slots)?);
            (yes.width() == no.width()).then_some(yes)?
        }
        Expr::VarbitLength(_) => return Some(Ty::Bits(32)),
    };
    native_ty(ty).then_some(ty)
}

fn native_lvalue(lvalue: &LValue, program: &Program) -> Option<Ty> {
    let slots = &program.slots;
    let (ty, slice) = match lvalue {
        LValue::Slot(slot) => (slots[slot.index()].ty, None),
        LValue::Slice { slot, high, low } => (slots[slot.index()].ty, Some((high, low))),
        LValue::Element {
            slots: list,
            index,
            slice,
        } => {
            native(index, slots)?;
            let ty = slots[list.first()?.index()].ty;
            let same = list.iter().all(|slot| slots[slot.index()].ty == ty);
            let ty = (same && list.len() <= MAX_ELEMENTS).then_some(ty)?;
            (ty, slice.as_ref().map(|(high, low)| (high, low)))
        }
    };
    native_ty(ty).then_some(())?;
    match slice {
        None => Some(ty),
        Some((high, low)) => {
            (low <= high && *high < ty.width()).then_some(Ty::Bits(high - low + 1))
        }
    }
}

/// A header's width in bits, if it is compiled.
pub(crate) fn native_header(header: HeaderId, program: &Program) -> Option<u32> {
    let mut width = 0u32;
    for slot in &program.headers[header.index()].fields {
        let ty = program.slots[slot.index()].ty;
        native_ty(ty).then_some(())?;
        width = width.checked_add(ty.width())?;
    }
    (width <= MAX_HEADER_BITS).then_some(width)
}

/// Whether a statement is compiled.
pub(crate) fn native_statement(statement: &StatementKind, program: &Program) -> bool {
    match statement {
        StatementKind::Assign { target, value } => {
            let value = native(value, &program.slots);
            native_lvalue(target, program)
                .zip(value)
                .is_some_and(|(lvalue, value)| lvalue.width() == value.width())
        }
        StatementKind::Extract { header, size } => {
            size.is_none() && native_header(*header, program).is_some()
        }
        StatementKind::ExtractNext { stack, size } => {
            let stack = &program.stacks[stack.index()];
            let mut headers = stack.headers.iter();
            size.is_none()
                && stack.headers.len() <= MAX_ELEMENTS
                && program.slots[stack.next.index()].ty == Ty::Bits(32)
                && headers.all(|header| native_header(*header, program).is_some())
        }
        StatementKind::Lookahead { into } => native_ty(program.slots[into.index()].ty),
        StatementKind::Advance { bits } => {
            native(bits, &program.slots).is_some_and(|ty| ty.width() <= 32)
        }
        StatementKind::Length { into } => program.slots[into.index()].ty == Ty::Bits(32),
        StatementKind::Emit { header } => native_header(*header, program).is_some(),
        StatementKind::EmitValue { value } => native(value, &program.slots).is_some(),
        StatementKind::Call {
            arguments, results, ..
        } => {
            results
                .iter()
                .all(|lvalue| native_lvalue(lvalue, program).is_some())
                && argument_expressions(arguments)
                    .all(|expression| native(expression, &program.slots).is_some())
        }
    }
}

fn argument_expressions(arguments: &[Argument]) -> impl Iterator<Item = &Expr> {
    arguments.iter().flat_map(|argument| match argument {
        Argument::Value(value) => vec![value],
        Argument::List(items) => items.iter().map(|item| &item.value).collect(),
        Argument::Text(_) | Argument::Object(_) | Argument::Member(..) => Vec::new(),
    })
}

/// Whether a select is compiled.
pub(crate) fn native_select(keys: &[Expr], cases: &[Case], program: &Program) -> bool {
    let is = |expression: &Expr| native(expression, &program.slots);
    let keys: Vec<_> = keys.iter().map(is).collect();
    keys.iter().all(Option::is_some)
        && cases.iter().all(|case| {
            case.patterns.iter().zip(&keys).all(|(pattern, key)| {
                let fits = |expression| is(expression).map(Ty::width) == key.map(Ty::width);
                match pattern {
                    Pattern::Any => true,
                    Pattern::Equal(value) => fits(value),
                    Pattern::Mask(one, two) | Pattern::Range(one, two) => fits(one) && fits(two),
                    Pattern::ValueSet(_) => false,
                }
            })
        })
}

/// The tables that a body applies, each once.
pub(crate) fn tables_of(body: &Body) -> BTreeSet<TableId> {
    let terminators = body.blocks.iter().map(|block| &block.terminator);
    let tables = terminators.filter_map(|terminator| match terminator {
        Terminator::Apply { table, .. } => Some(*table),
        _ => None,
    });
    tables.collect()
}

fn terminator_expressions(terminator: &Terminator) -> Vec<&Expr> {
    match terminator {
        Terminator::Branch { condition, .. } => vec![condition],
        Terminator::Select { keys, cases, .. } => {
            let patterns = cases.iter().flat_map(|case| &case.patterns);
            let patterns = patterns.flat_map(|pattern| match pattern {
                Pattern::Equal(value) => vec![value],
                Pattern::Mask(one, two) | Pattern::Range(one, two) => vec![one, two],
                Pattern::Any | Pattern::ValueSet(_) => Vec::new(),
            });
            keys.iter().chain(patterns).collect()
        }
        _ => Vec::new(),
    }
}

fn expression_slots(expression: &Expr, f: &mut impl FnMut(SlotId)) {
    match expression {
        Expr::Constant(..) => {}
        Expr::Slot(slot) | Expr::VarbitLength(slot) => f(*slot),
        Expr::Element { slots, index } => {
            slots.iter().for_each(|slot| f(*slot));
            expression_slots(index, f);
        }
        Expr::Unary(_, value) | Expr::Slice { value, .. } | Expr::Cast { value, .. } => {
            expression_slots(value, f);
        }
        Expr::Binary(_, left, right) => {
            expression_slots(left, f);
            expression_slots(right, f);
        }
        Expr::Conditional { condition, yes, no } => {
            expression_slots(condition, f);
            expression_slots(yes, f);
            expression_slots(no, f);
        }
    }
}

/// All slots of a place, and of its index.
pub(crate) fn lvalue_slots(lvalue: &LValue, f: &mut impl FnMut(SlotId)) {
    match lvalue {
        LValue::Slot(slot) | LValue::Slice { slot, .. } => f(*slot),
        LValue::Element { slots, index, .. } => {
            slots.iter().for_each(|slot| f(*slot));
            expression_slots(index, f);
        }
    }
}

fn header_slots(header: HeaderId, program: &Program, f: &mut impl FnMut(SlotId)) {
    let header = &program.headers[header.index()];
    f(header.valid);
    header.fields.iter().for_each(|slot| f(*slot));
}

/// All slots that a statement reads or writes.
pub(crate) fn statement_slots(
    statement: &StatementKind,
    program: &Program,
    f: &mut impl FnMut(SlotId),
) {
    match statement {
        StatementKind::Assign { target, value } => {
            lvalue_slots(target, f);
            expression_slots(value, f);
        }
        StatementKind::Extract { header, size } => {
            header_slots(*header, program, f);
            if let Some(size) = size {
                expression_slots(size, f);
            }
        }
        StatementKind::ExtractNext { stack, size } => {
            let stack = &program.stacks[stack.index()];
            f(stack.next);
            for header in &stack.headers {
                header_slots(*header, program, f);
            }
            if let Some(size) = size {
                expression_slots(size, f);
            }
        }
        StatementKind::Lookahead { into } | StatementKind::Length { into } => f(*into),
        StatementKind::Advance { bits } => expression_slots(bits, f),
        StatementKind::Emit { header } => header_slots(*header, program, f),
        StatementKind::EmitValue { value } => expression_slots(value, f),
        StatementKind::Call {
            arguments, results, ..
        } => {
            for argument in arguments {
                match argument {
                    Argument::Value(value) => expression_slots(value, f),
                    Argument::List(items) => {
                        for item in items {
                            expression_slots(&item.value, f);
                            item.valid.iter().for_each(|slot| f(*slot));
                        }
                    }
                    Argument::Text(_) | Argument::Object(_) | Argument::Member(..) => {}
                }
            }
            results.iter().for_each(|lvalue| lvalue_slots(lvalue, f));
        }
    }
}

fn body_slots(body: &Body, program: &Program, f: &mut impl FnMut(SlotId)) {
    for block in &body.blocks {
        for statement in &block.statements {
            statement_slots(&statement.kind, program, f);
        }
        for expression in terminator_expressions(&block.terminator) {
            expression_slots(expression, f);
        }
    }
}

fn appended(section: &Section, program: &Program) -> Appended {
    let mut result = Appended {
        aligned: true,
        bounded: bounded(&section.body),
        room: 0,
    };
    let mut bits = 0u64;
    let mut bodies = vec![&section.body];
    for table in tables_of(&section.body) {
        for choice in &program.tables[table.index()].actions {
            bodies.push(&program.actions[choice.action.index()].body);
        }
    }
    let width = |header: &HeaderId| {
        let fields = program.headers[header.index()].fields.iter();
        fields
            .map(|slot| u64::from(program.slots[slot.index()].ty.width()))
            .sum::<u64>()
    };
    // The varbit of a header is a multiple of 8 bits long, or extracting it fails; set otherwise it need not be.
    let fixed = |header: &HeaderId| {
        let fields = program.headers[header.index()].fields.iter();
        let widths = fields.map(|slot| match program.slots[slot.index()].ty {
            Ty::Varbit(_) => 0,
            ty => u64::from(ty.width()),
        });
        widths.sum::<u64>()
    };
    for (number, body) in bodies.into_iter().enumerate() {
        if number > 0 && !bounded(body) {
            result.bounded = false;
        }
        for statement in body.blocks.iter().flat_map(|block| &block.statements) {
            match &statement.kind {
                StatementKind::Extract { header, .. } => {
                    result.aligned &= fixed(header).is_multiple_of(8);
                }
                StatementKind::ExtractNext { stack, .. } => {
                    let mut headers = program.stacks[stack.index()].headers.iter();
                    result.aligned &= headers.all(|header| fixed(header).is_multiple_of(8));
                }
                StatementKind::Advance { bits } => result.aligned &= whole_bytes(bits),
                StatementKind::Emit { header } => {
                    bits = bits.saturating_add(width(header));
                    let fields = &program.headers[header.index()].fields;
                    let varbit =
                        |slot: &SlotId| matches!(program.slots[slot.index()].ty, Ty::Varbit(_));
                    result.aligned &= width(header).is_multiple_of(8) && !fields.iter().any(varbit);
                }
                StatementKind::EmitValue { value } => {
                    let width = value.ty(&program.slots).width();
                    bits = bits.saturating_add(u64::from(width));
                    result.aligned &= width.is_multiple_of(8);
                }
                _ => {}
            }
        }
    }
    result.room = bits.div_ceil(8) as usize + 16;
    result
}

/// Whether a body has no jumps backwards.
fn bounded(body: &Body) -> bool {
    body.blocks.iter().enumerate().all(|(from, block)| {
        let forward = |to: &BlockId| to.index() > from;
        match &block.terminator {
            Terminator::Jump(to) => forward(to),
            Terminator::Branch { yes, no, .. } => forward(yes) && forward(no),
            Terminator::Select { cases, default, .. } => {
                cases.iter().all(|case| forward(&case.next)) && forward(default)
            }
            Terminator::Apply { next, exit, .. } => forward(next) && forward(exit),
            Terminator::Return | Terminator::Exit | Terminator::Reject => true,
        }
    })
}

/// Whether a number is surely a multiple of eight.
fn whole_bytes(expression: &Expr) -> bool {
    let eight = |value: &p4::value::Bits| value.to_u64().is_some_and(|value| value % 8 == 0);
    match expression {
        Expr::Constant(value, _) => eight(value),
        Expr::Binary(operator, left, right) => match operator {
            Binary::Add | Binary::Subtract | Binary::Or => whole_bytes(left) && whole_bytes(right),
            Binary::Multiply | Binary::And => whole_bytes(left) || whole_bytes(right),
            Binary::ShiftLeft => matches!(&**right, Expr::Constant(value, _)
                if value.to_u64().is_some_and(|by| by >= 3)),
            Binary::Concat => matches!(&**right, Expr::Constant(value, _)
                if value.width() >= 3 && eight(value)),
            _ => false,
        },
        Expr::Cast { value, .. } => whole_bytes(value),
        Expr::Conditional { yes, no, .. } => whole_bytes(yes) && whole_bytes(no),
        _ => false,
    }
}
