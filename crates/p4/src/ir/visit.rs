//! Calls back for every slot that a part of a program names.

use super::{Argument, Body, Expr, LValue, Pattern, Program, SlotId, StatementKind, Terminator};

type Visitor<'a> = &'a mut dyn FnMut(&mut SlotId);

impl Expr {
    /// Calls back for each slot of the expression.
    pub fn slots_mut(&mut self, each: Visitor<'_>) {
        match self {
            Expr::Constant(..) => {}
            Expr::Slot(slot) | Expr::VarbitLength(slot) => each(slot),
            Expr::Element { slots, index } => {
                slots.iter_mut().for_each(&mut *each);
                index.slots_mut(each);
            }
            Expr::Unary(_, value) | Expr::Slice { value, .. } | Expr::Cast { value, .. } => {
                value.slots_mut(each);
            }
            Expr::Binary(_, left, right) => {
                left.slots_mut(each);
                right.slots_mut(each);
            }
            Expr::Conditional { condition, yes, no } => {
                condition.slots_mut(each);
                yes.slots_mut(each);
                no.slots_mut(each);
            }
        }
    }
}

impl LValue {
    /// Calls back for each slot of the place.
    pub fn slots_mut(&mut self, each: Visitor<'_>) {
        match self {
            LValue::Slot(slot) | LValue::Slice { slot, .. } => each(slot),
            LValue::Element { slots, index, .. } => {
                slots.iter_mut().for_each(&mut *each);
                index.slots_mut(each);
            }
        }
    }
}

impl StatementKind {
    /// Calls back for each slot that the statement names itself, without those of the headers and stacks that it names.
    pub fn slots_mut(&mut self, each: Visitor<'_>) {
        match self {
            StatementKind::Assign { target, value } => {
                target.slots_mut(each);
                value.slots_mut(each);
            }
            StatementKind::Extract { size, .. } | StatementKind::ExtractNext { size, .. } => {
                if let Some(size) = size {
                    size.slots_mut(each);
                }
            }
            StatementKind::Lookahead { into } | StatementKind::Length { into } => each(into),
            StatementKind::Advance { bits: value } | StatementKind::EmitValue { value } => {
                value.slots_mut(each);
            }
            StatementKind::Emit { .. } => {}
            StatementKind::Call {
                arguments, results, ..
            } => {
                for argument in arguments {
                    match argument {
                        Argument::Value(value) => value.slots_mut(each),
                        Argument::List(items) => {
                            for item in items {
                                item.value.slots_mut(each);
                                item.valid.iter_mut().for_each(&mut *each);
                            }
                        }
                        Argument::Text(_) | Argument::Object(_) | Argument::Member(..) => {}
                    }
                }
                results.iter_mut().for_each(|lvalue| lvalue.slots_mut(each));
            }
        }
    }
}

impl Body {
    /// Calls back for each slot that a statement or the end of a block names, without those of headers, stacks and tables that it
    /// names.
    pub fn slots_mut(&mut self, each: Visitor<'_>) {
        for block in &mut self.blocks {
            for statement in &mut block.statements {
                statement.kind.slots_mut(each);
            }
            match &mut block.terminator {
                Terminator::Branch { condition, .. } => condition.slots_mut(each),
                Terminator::Select { keys, cases, .. } => {
                    keys.iter_mut().for_each(|key| key.slots_mut(each));
                    for pattern in cases.iter_mut().flat_map(|case| &mut case.patterns) {
                        match pattern {
                            Pattern::Equal(value) => value.slots_mut(each),
                            Pattern::Mask(one, two) | Pattern::Range(one, two) => {
                                one.slots_mut(each);
                                two.slots_mut(each);
                            }
                            Pattern::Any | Pattern::ValueSet(_) => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

impl Program {
    /// Calls back for each slot that something does more with than to have it in a list: all bodies, keys and results of tables, parameters of actions and
    /// methods, parsers' errors, stacks' `nextIndex`; but not the fields and validities of headers, and not those of sections' parameters.
    pub fn used_slots_mut(&mut self, each: Visitor<'_>) {
        for stack in &mut self.stacks {
            each(&mut stack.next);
        }
        for method in self
            .objects
            .iter_mut()
            .flat_map(|object| &mut object.methods)
        {
            let named = method.parameters.iter_mut().chain(&mut method.results);
            named.for_each(&mut *each);
            method.body.slots_mut(each);
        }
        for action in &mut self.actions {
            let parameters = action.parameters.iter_mut();
            parameters.for_each(|(_, slot, _)| each(slot));
            action.body.slots_mut(each);
        }
        for table in &mut self.tables {
            table
                .keys
                .iter_mut()
                .for_each(|key| key.value.slots_mut(each));
            let results = table.hit.iter_mut().chain(&mut table.action_run);
            results.for_each(&mut *each);
        }
        for section in &mut self.sections {
            section.error.iter_mut().for_each(&mut *each);
            section.body.slots_mut(each);
        }
    }
}
