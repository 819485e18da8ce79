//! Whether a program keeps the rules of the representation.

use super::{
    Action, Argument, Binary, Block, BlockId, Body, Callee, Constant, Expr, HeaderId, KeyMatch,
    LValue, Pattern, Program, SectionKind, SlotId, Statement, StatementKind, Terminator, Ty, Unary,
};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// Which rule a program breaks, and where: a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

impl From<String> for Invalid {
    fn from(message: String) -> Self {
        Invalid(message)
    }
}

type Result<T = ()> = core::result::Result<T, Invalid>;

fn invalid<T>(fault: impl Into<String>) -> Result<T> {
    Err(Invalid(fault.into()))
}

/// Checks that every number is in range, that types agree, that names which must be unique are, and that each block of a body
/// can be reached.
///
/// # Errors
/// The first rule that it breaks.
pub fn validate(program: &Program) -> Result {
    let check = Check { program };
    check.names()?;
    for header in &program.headers {
        check.is_slot(header.valid, Ty::Bool, &header.name)?;
        let mut varbits = 0;
        for field in &header.fields {
            varbits += u32::from(matches!(check.slot(*field)?, Ty::Varbit(_)));
        }
        if varbits > 1 {
            return invalid(format!("header {} has more than one varbit", header.name));
        }
    }
    for stack in &program.stacks {
        check.is_slot(stack.next, Ty::Bits(32), &stack.name)?;
        for header in &stack.headers {
            check.header(*header)?;
        }
    }
    for object in &program.objects {
        for (name, constant) in &object.arguments {
            check
                .constant(constant)
                .map_err(|e| format!("object {}, argument {name}: {e}", object.name))?;
        }
        for method in &object.methods {
            for slot in method.parameters.iter().chain(&method.results) {
                check.slot(*slot)?;
            }
            check
                .body(&method.body, Ends::Section)
                .map_err(|e| format!("method {}.{}: {e}", object.name, method.name))?;
        }
    }
    for action in &program.actions {
        check
            .action(action)
            .map_err(|e| format!("action {}: {e}", action.name))?;
    }
    for (at, table) in program.tables.iter().enumerate() {
        check
            .table(at)
            .map_err(|e| format!("table {}: {e}", table.name))?;
    }
    for section in &program.sections {
        for parameter in &section.parameters {
            for (_, slot) in &parameter.fields {
                check.slot(*slot)?;
            }
        }
        let ends = match section.kind {
            SectionKind::Parser => Ends::Parser,
            SectionKind::Control => Ends::Section,
        };
        check
            .body(&section.body, ends)
            .map_err(|e| format!("section {}: {e}", section.name))?;
        match (section.kind, section.error, section.body.fail) {
            (SectionKind::Parser, Some(error), Some(_)) => {
                check.is_slot(error, Ty::Bits(32), &section.name)?;
            }
            (SectionKind::Parser, ..) => {
                return invalid(format!(
                    "section {}: a parser needs a place for its error and a block for failing",
                    section.name
                ));
            }
            (SectionKind::Control, ..) => {}
        }
    }
    Ok(())
}

/// How a body may end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Section,
    Parser,
    Action,
}

struct Check<'a> {
    program: &'a Program,
}

fn in_range<T>(list: &[T], at: usize, what: &str) -> Result {
    if at < list.len() {
        Ok(())
    } else {
        invalid(format!("there is no {what} {at}"))
    }
}

impl Check<'_> {
    fn names(&self) -> Result {
        let mut slots = BTreeSet::new();
        for slot in &self.program.slots {
            if !slots.insert(&slot.name) {
                return invalid(format!("two slots are named {}", slot.name));
            }
            if let Some(enumeration) = slot.enumeration {
                in_range(
                    &self.program.enumerations,
                    enumeration.index(),
                    "enumeration",
                )?;
            }
        }
        let mut headers = BTreeSet::new();
        match self
            .program
            .headers
            .iter()
            .find(|header| !headers.insert(&header.name))
        {
            Some(header) => invalid(format!("two headers are named {}", header.name)),
            None => Ok(()),
        }
    }

    fn slot(&self, slot: SlotId) -> Result<Ty> {
        match self.program.slots.get(slot.index()) {
            Some(slot) => Ok(slot.ty),
            None => invalid(format!("there is no slot {}", slot.index())),
        }
    }

    fn is_slot(&self, slot: SlotId, ty: Ty, of: &str) -> Result {
        let own = self.slot(slot)?;
        if own == ty {
            Ok(())
        } else {
            invalid(format!("a slot of {of} is {own:?}, not {ty:?}"))
        }
    }

    fn header(&self, header: HeaderId) -> Result {
        in_range(&self.program.headers, header.index(), "header")
    }

    fn constant(&self, constant: &Constant) -> Result {
        match constant {
            Constant::Bits(_) | Constant::Text(_) => Ok(()),
            Constant::Member(enumeration, member) => {
                in_range(
                    &self.program.enumerations,
                    enumeration.index(),
                    "enumeration",
                )?;
                in_range(
                    &self.program.enumerations[enumeration.index()].members,
                    *member as usize,
                    "member",
                )
            }
            Constant::Object(object) => in_range(&self.program.objects, object.index(), "object"),
            Constant::List(list) => list.iter().try_for_each(|c| self.constant(c)),
        }
    }

    fn action(&self, action: &Action) -> Result {
        for (_, slot, _) in &action.parameters {
            self.slot(*slot)?;
        }
        self.body(&action.body, Ends::Action)
    }

    fn table(&self, at: usize) -> Result {
        let table = &self.program.tables[at];
        for key in &table.keys {
            let ty = self.expr(&key.value)?;
            if ty != key.ty {
                return invalid(format!("key {} is {ty:?}, not {:?}", key.name, key.ty));
            }
        }
        for action in &table.actions {
            in_range(&self.program.actions, action.action.index(), "action")?;
        }
        for call in core::iter::once(&table.default).chain(&table.empty_group) {
            self.action_call(at, call)?;
        }
        for entry in &table.entries {
            if entry.keys.len() != table.keys.len() {
                return invalid(format!(
                    "an entry has {} keys for {}",
                    entry.keys.len(),
                    table.keys.len()
                ));
            }
            for (key, of) in entry.keys.iter().zip(&table.keys) {
                let width = of.ty.width();
                let right = match key {
                    KeyMatch::Any => true,
                    KeyMatch::Exact(value) => value.width() == width,
                    KeyMatch::Prefix(value, length) => value.width() == width && *length <= width,
                    KeyMatch::Mask(a, b) | KeyMatch::Range(a, b) => {
                        a.width() == width && b.width() == width
                    }
                };
                if !right {
                    return invalid(format!("an entry's key {} has a wrong width", of.name));
                }
            }
            self.action_call(at, &entry.call)?;
        }
        for object in table.direct.iter().chain(&table.implementation) {
            in_range(&self.program.objects, object.index(), "object")?;
        }
        for (_, constant) in &table.properties {
            self.constant(constant)?;
        }
        if let Some(hit) = table.hit {
            self.is_slot(hit, Ty::Bool, "hit")?;
        }
        if let Some(run) = table.action_run {
            self.is_slot(run, Ty::Bits(32), "action_run")?;
        }
        Ok(())
    }

    fn action_call(&self, table: usize, call: &super::ActionCall) -> Result {
        let table = &self.program.tables[table];
        in_range(&table.actions, call.action as usize, "action of the table")?;
        let action = &self.program.actions[table.actions[call.action as usize].action.index()];
        if action.parameters.len() != call.arguments.len() {
            return invalid(format!(
                "action {} gets {} arguments for {} parameters",
                action.name,
                call.arguments.len(),
                action.parameters.len()
            ));
        }
        for ((name, slot, _), value) in action.parameters.iter().zip(&call.arguments) {
            if self.slot(*slot)?.width() != value.width() {
                return invalid(format!(
                    "the argument {name} of action {} has a wrong width",
                    action.name
                ));
            }
        }
        Ok(())
    }

    fn body(&self, body: &Body, ends: Ends) -> Result {
        if body.blocks.is_empty() {
            return invalid("there are no blocks");
        }
        let block = |id: BlockId| in_range(&body.blocks, id.index(), "block");
        if let Some(fail) = body.fail {
            block(fail)?;
        }
        for (at, one) in body.blocks.iter().enumerate() {
            self.block(one, &block, ends)
                .map_err(|e| format!("block {at}: {e}"))?;
        }
        let mut seen = vec![false; body.blocks.len()];
        let mut open = vec![0];
        open.extend(body.fail.map(BlockId::index));
        while let Some(at) = open.pop() {
            if core::mem::replace(&mut seen[at], true) {
                continue;
            }
            body.blocks[at]
                .terminator
                .successors(|next| open.push(next.index()));
        }
        match seen.iter().position(|seen| !seen) {
            Some(at) => invalid(format!("block {at} cannot be reached")),
            None => Ok(()),
        }
    }

    fn block(&self, block: &Block, exists: &dyn Fn(BlockId) -> Result, ends: Ends) -> Result {
        for statement in &block.statements {
            self.statement(statement, ends)?;
        }
        let mut result = Ok(());
        block.terminator.successors(|next| {
            if result.is_ok() {
                result = exists(next);
            }
        });
        result?;
        match &block.terminator {
            Terminator::Jump(_) => Ok(()),
            Terminator::Branch { condition, .. } => self.is(condition, Ty::Bool),
            Terminator::Select { keys, cases, .. } => {
                let types = keys
                    .iter()
                    .map(|key| self.expr(key))
                    .collect::<Result<Vec<Ty>>>()?;
                for case in cases {
                    if case.patterns.len() != types.len() {
                        return invalid("a case has another number of patterns than keys");
                    }
                    for (at, (pattern, ty)) in case.patterns.iter().zip(&types).enumerate() {
                        match pattern {
                            Pattern::Any => {}
                            Pattern::Equal(value) => self.is(value, *ty)?,
                            Pattern::Mask(a, b) | Pattern::Range(a, b) => {
                                self.is(a, *ty)?;
                                self.is(b, *ty)?;
                            }
                            Pattern::ValueSet(set) => {
                                in_range(&self.program.value_sets, set.index(), "value set")?;
                                let fields = &self.program.value_sets[set.index()].fields;
                                if fields.len() > types.len() - at {
                                    return invalid("a value set has more fields than keys");
                                }
                                for ((name, of, _), ty) in fields.iter().zip(&types[at..]) {
                                    if of != ty {
                                        return invalid(format!(
                                            "field {name} of a value set is {of:?}, not {ty:?}"
                                        ));
                                    }
                                }
                            }
                        }
                    }
                }
                Ok(())
            }
            Terminator::Apply { table, .. } => {
                if ends == Ends::Action {
                    return invalid("an action applies a table");
                }
                in_range(&self.program.tables, table.index(), "table")
            }
            Terminator::Return => Ok(()),
            Terminator::Exit if ends == Ends::Action => Ok(()),
            Terminator::Reject if ends == Ends::Parser => Ok(()),
            Terminator::Exit | Terminator::Reject => {
                invalid(format!("it ends in {:?}, here", block.terminator))
            }
        }
    }

    fn statement(&self, statement: &Statement, ends: Ends) -> Result {
        let parser = |what: &str| {
            if ends == Ends::Parser {
                Ok(())
            } else {
                invalid(format!("{what} outside a parser"))
            }
        };
        let size = |size: &Option<Expr>| match size {
            Some(size) => self.is(size, Ty::Bits(32)),
            None => Ok(()),
        };
        match &statement.kind {
            StatementKind::Assign { target, value } => {
                let ty = self.lvalue(target)?;
                self.is(value, ty)
            }
            StatementKind::Extract { header, size: of } => {
                parser("extract")?;
                self.header(*header)?;
                size(of)
            }
            StatementKind::ExtractNext { stack, size: of } => {
                parser("extract")?;
                in_range(&self.program.stacks, stack.index(), "stack")?;
                size(of)
            }
            StatementKind::Lookahead { into } => {
                parser("lookahead")?;
                self.slot(*into).map(|_| ())
            }
            StatementKind::Advance { bits } => {
                parser("advance")?;
                self.is(bits, Ty::Bits(32))
            }
            StatementKind::Length { into } => self.is_slot(*into, Ty::Bits(32), "length"),
            StatementKind::Emit { header } => self.header(*header),
            StatementKind::EmitValue { value } => self.expr(value).map(|_| ()),
            StatementKind::Call {
                callee,
                arguments,
                results,
            } => {
                if let Callee::Method(object, _) = callee {
                    in_range(&self.program.objects, object.index(), "object")?;
                }
                for argument in arguments {
                    self.argument(argument)
                        .map_err(|e| format!("call of {}: {e}", callee.name()))?;
                }
                results
                    .iter()
                    .try_for_each(|lvalue| self.lvalue(lvalue).map(|_| ()))
            }
        }
    }

    fn argument(&self, argument: &Argument) -> Result {
        match argument {
            Argument::Value(value) => self.expr(value).map(|_| ()),
            Argument::List(list) => {
                for item in list {
                    self.expr(&item.value)?;
                    if let Some(valid) = item.valid {
                        self.is_slot(valid, Ty::Bool, "a header in a list")?;
                    }
                }
                Ok(())
            }
            Argument::Text(_) => Ok(()),
            Argument::Object(object) => in_range(&self.program.objects, object.index(), "object"),
            Argument::Member(enumeration, member) => {
                self.constant(&Constant::Member(*enumeration, *member))
            }
        }
    }

    fn lvalue(&self, lvalue: &LValue) -> Result<Ty> {
        let cut = |ty: Ty, high: u32, low: u32| {
            if low <= high && high < ty.width() {
                Ok(Ty::Bits(high - low + 1))
            } else {
                invalid(format!("bits {high} to {low} of {ty:?}"))
            }
        };
        match lvalue {
            LValue::Slot(slot) => self.slot(*slot),
            LValue::Slice { slot, high, low } => cut(self.slot(*slot)?, *high, *low),
            LValue::Element {
                slots,
                index,
                slice,
            } => {
                self.expr(index)?;
                let ty = self.elements(slots)?;
                match slice {
                    Some((high, low)) => cut(ty, *high, *low),
                    None => Ok(ty),
                }
            }
        }
    }

    fn elements(&self, slots: &[SlotId]) -> Result<Ty> {
        let mut types = BTreeSet::new();
        for slot in slots {
            types.insert(self.slot(*slot)?);
        }
        match (types.pop_first(), types.is_empty()) {
            (Some(ty), true) => Ok(ty),
            (Some(_), false) => invalid("elements of different types"),
            (None, _) => invalid("an element of nothing"),
        }
    }

    fn is(&self, expr: &Expr, ty: Ty) -> Result {
        let own = self.expr(expr)?;
        if own == ty {
            Ok(())
        } else {
            invalid(format!("{own:?} in the place of {ty:?}: {expr:?}"))
        }
    }

    fn expr(&self, expr: &Expr) -> Result<Ty> {
        match expr {
            Expr::Constant(bits, ty) => {
                let right = match ty {
                    Ty::Varbit(most) => bits.width() <= *most,
                    _ => bits.width() == ty.width(),
                };
                if right {
                    Ok(*ty)
                } else {
                    invalid(format!("{bits} as {ty:?}"))
                }
            }
            Expr::Slot(slot) => self.slot(*slot),
            Expr::Element { slots, index } => {
                self.expr(index)?;
                self.elements(slots)
            }
            Expr::Unary(operator, value) => {
                let ty = self.expr(value)?;
                match (operator, ty) {
                    (Unary::Not, Ty::Bool) => Ok(ty),
                    (Unary::Negate | Unary::Complement, Ty::Bits(_) | Ty::Signed(_)) => Ok(ty),
                    _ => invalid(format!("{operator:?} of {ty:?}")),
                }
            }
            Expr::Binary(operator, left, right) => self.binary(*operator, left, right),
            Expr::Slice { value, high, low } => {
                let ty = self.expr(value)?;
                if low <= high && *high < ty.width() && !matches!(ty, Ty::Varbit(_)) {
                    Ok(Ty::Bits(high - low + 1))
                } else {
                    invalid(format!("bits {high} to {low} of {ty:?}"))
                }
            }
            Expr::Cast { value, ty } => {
                self.expr(value)?;
                Ok(*ty)
            }
            Expr::Conditional { condition, yes, no } => {
                self.is(condition, Ty::Bool)?;
                let ty = self.expr(yes)?;
                self.is(no, ty)?;
                Ok(ty)
            }
            Expr::VarbitLength(slot) => match self.slot(*slot)? {
                Ty::Varbit(_) => Ok(Ty::Bits(32)),
                other => invalid(format!("the length of {other:?}")),
            },
        }
    }

    fn binary(&self, operator: Binary, left: &Expr, right: &Expr) -> Result<Ty> {
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        match operator {
            Binary::ShiftLeft | Binary::ShiftRight => return Ok(a),
            Binary::Concat => {
                let width = a.width() + b.width();
                return Ok(match a {
                    Ty::Signed(_) => Ty::Signed(width),
                    _ => Ty::Bits(width),
                });
            }
            _ => {}
        }
        if a != b {
            return invalid(format!(
                "{operator:?} of {a:?} and {b:?}: {left:?}, {right:?}"
            ));
        }
        match operator {
            Binary::Equal
            | Binary::NotEqual
            | Binary::Less
            | Binary::LessEqual
            | Binary::Greater
            | Binary::GreaterEqual => Ok(Ty::Bool),
            _ => Ok(a),
        }
    }
}
