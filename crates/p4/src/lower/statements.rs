//! Statements.

use super::storage::{Location, Storage, Target};
use super::types::Shape;
use super::values::{InstanceId, Value};
use super::{Binding, Lowerer, fold};
use crate::ast::{
    BinaryOperator, Block, Branch, Declaration, DeclarationKind, Expression, ExpressionKind,
    ForVariable, NodeId, Statement, StatementKind, SwitchCase,
};
use crate::ir::{Binary, BlockId, Case, Expr, LValue, Pattern, SlotId, Terminator, Ty, Unary};
use crate::types::Type;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

impl<'a> Lowerer<'a> {
    pub fn bind_this(&mut self, this: InstanceId) {
        self.this = Some(this);
    }

    /// The statements of a function, action or control, to where `return` goes.
    pub fn body_block(&mut self, block: &'a Block) {
        self.block(block);
        let end = self.frames.last_mut().and_then(|f| f.return_to.take());
        self.end_of_frame(end);
    }

    pub fn block(&mut self, block: &'a Block) {
        for statement in &block.statements {
            self.statement(statement);
        }
    }

    pub fn statement(&mut self, statement: &'a Statement) {
        if !self.body.reachable() {
            return;
        }
        self.body.span = statement.span;
        if self.is_full() {
            return;
        }
        match &statement.kind {
            StatementKind::Empty => {}
            StatementKind::Block(block) => self.block(block),
            StatementKind::Declaration(declaration) => self.declare(declaration),
            StatementKind::Assign {
                target,
                operator,
                value,
            } => self.assign(target, *operator, value),
            StatementKind::Call(call) => {
                self.call(call);
            }
            StatementKind::If {
                branches,
                otherwise,
            } => self.if_else(branches, otherwise.as_deref()),
            StatementKind::Switch { value, cases } => self.switch(value, cases),
            StatementKind::Return(value) => self.return_value(value.as_ref()),
            StatementKind::Exit => {
                if let Some(at) = self.frames.len().checked_sub(1) {
                    let block = self.exit_block(at);
                    self.body.jump(block);
                }
            }
            StatementKind::For {
                initial,
                condition,
                update,
                body,
                ..
            } => self.for_loop(initial, condition, update, body),
            StatementKind::ForIn {
                variable,
                collection,
                body,
                ..
            } => self.for_in(variable, collection, body),
            StatementKind::Break | StatementKind::Continue => {
                let inner = self.frames.last().and_then(|f| f.loops.last()).copied();
                if let Some((end, next)) = inner {
                    let is_break = matches!(statement.kind, StatementKind::Break);
                    self.body.jump(if is_break { end } else { next });
                }
            }
        }
    }

    /// A constant, variable or instance.
    pub fn declare(&mut self, declaration: &'a Declaration) {
        match &declaration.kind {
            DeclarationKind::Variable { ty, name, value } => {
                let ty = self.type_of(ty.id);
                let value = value.as_ref().map(|value| self.eval_as(value, &ty));
                let storage = self.local(declaration.id, &name.text, &ty);
                match value {
                    Some(value) => self.store_new(&storage, &value),
                    None => self.begin(&storage),
                }
                self.bind(declaration.id, Binding::Storage(storage));
            }
            DeclarationKind::Constant { ty, value, .. } => {
                let ty = self.type_of(ty.id);
                let value = self.eval_as(value, &ty);
                self.bind(declaration.id, Binding::Value(value));
            }
            DeclarationKind::Instance { .. } => {
                let made = self.declared_instance(declaration);
                self.bind(declaration.id, Binding::Value(made));
            }
            _ => {}
        }
    }

    /// Stores; a call that just gave the value may put it there itself.
    fn store_new(&mut self, storage: &Storage, value: &Value) {
        let target = Target::Location(Location::fixed(storage.clone()));
        if !self.redirect(&target, value) {
            self.store_target(&target, value);
        }
    }

    /// Lets an extern that was just called write the target instead of the variable made for its result.
    fn redirect(&mut self, target: &Target, value: &Value) -> bool {
        let (Value::Scalar(Expr::Slot(slot), ty), Some(lvalue)) =
            (value, self.target_lvalue(target))
        else {
            return false;
        };
        // A variable of the program that the call wrote is read again.
        let is_last = self.returned == Some(*slot) && slot.index() + 1 == self.program.slots.len();
        if !is_last || lvalue.ty(&self.program.slots) != *ty || !self.body.redirect(*slot, &lvalue)
        {
            return false;
        }
        if let Some(slot) = self.program.slots.pop() {
            self.names.remove(&slot.name);
        }
        true
    }

    fn assign(
        &mut self,
        target: &'a Expression,
        operator: Option<BinaryOperator>,
        value: &'a Expression,
    ) {
        if let ExpressionKind::PlusSlice { base, low, width } = &target.kind
            && !self.checked.constants.contains_key(&low.id)
        {
            self.assign_moving_slice(base, low, width, operator, value);
            return;
        }
        let ty = self.type_of(target.id);
        let mut lvalue = self.target(target);
        if self.has_effects(value) {
            lvalue = self.freeze(lvalue);
        }
        match operator {
            None => {
                let value = self.eval_as(value, &ty);
                if !self.redirect(&lvalue, &value) {
                    self.store_target(&lvalue, &value);
                }
            }
            Some(operator) => {
                let before = self.read_target(&lvalue);
                let before = if self.has_effects(value) {
                    self.spill(before)
                } else {
                    before
                };
                let by = self.eval(value);
                let result = self.operate_any(operator, before, by);
                let result = self.convert(result, &ty);
                self.store_target(&lvalue, &result);
            }
        }
    }

    fn operate_any(&mut self, operator: BinaryOperator, a: Value, b: Value) -> Value {
        match (operator, &a, &b) {
            (BinaryOperator::And, Value::Scalar(a, _), Value::Scalar(b, _)) => {
                Value::bool(fold::and(a.clone(), b.clone()))
            }
            (BinaryOperator::Or, Value::Scalar(a, _), Value::Scalar(b, _)) => {
                Value::bool(fold::or(a.clone(), b.clone()))
            }
            _ => self.operate(operator, a, b),
        }
    }

    /// `a[low+:width] = value` with a `low` that only running tells: the other bits are put back.
    fn assign_moving_slice(
        &mut self,
        base: &'a Expression,
        low: &'a Expression,
        width: &'a Expression,
        operator: Option<BinaryOperator>,
        value: &'a Expression,
    ) {
        let target = self.target(base);
        let target = self.freeze(target);
        let low = self.eval(low);
        let low = self.spill(low);
        let width = self.eval(width);
        let Some(width) = self.small(&width).filter(|width| *width > 0) else {
            return;
        };
        let Value::Scalar(low, low_ty) = low else {
            return;
        };
        let (Value::Scalar(before, ty), narrow) = (self.read_target(&target), Ty::Bits(width))
        else {
            return;
        };
        let old = |before: Expr| {
            let shifted = fold::binary(Binary::ShiftRight, before, low.clone(), ty, low_ty);
            Value::Scalar(fold::slice(shifted, ty.width(), width - 1, 0), narrow)
        };
        let new = match operator {
            None => self.eval_as(value, &Type::Bits(width)),
            Some(operator) => {
                let old = old(before);
                let by = self.eval(value);
                let result = self.operate_any(operator, old, by);
                self.convert(result, &Type::Bits(width))
            }
        };
        let (Value::Scalar(new, _), Value::Scalar(before, _)) = (new, self.read_target(&target))
        else {
            return;
        };
        let ones = Expr::Constant(super::operators::full_mask(width).resize(ty.width()), ty);
        let hole = fold::binary(Binary::ShiftLeft, ones, low.clone(), ty, low_ty);
        let keep = Expr::Unary(Unary::Complement, Box::new(hole));
        let rest = fold::binary(Binary::And, before, keep, ty, ty);
        let moved = fold::binary(
            Binary::ShiftLeft,
            fold::cast(new, narrow, ty),
            low.clone(),
            ty,
            low_ty,
        );
        let result = fold::binary(Binary::Or, rest, moved, ty, ty);
        self.store_target(&target, &Value::Scalar(result, ty));
    }

    fn if_else(&mut self, branches: &'a [Branch], otherwise: Option<&'a Statement>) {
        let mut join = None;
        let mut last = otherwise;
        for branch in branches {
            self.body.span = branch.span;
            if self.is_full() {
                break;
            }
            let condition = self.condition(&branch.condition);
            match fold::truth(&condition) {
                Some(true) => {
                    last = Some(&branch.body);
                    break;
                }
                Some(false) => continue,
                None => {}
            }
            let (then, next) = (self.body.block(), self.body.block());
            let join = *join.get_or_insert_with(|| self.body.block());
            self.body.branch(condition, then, next);
            self.body.go(then);
            self.statement(&branch.body);
            self.body.jump(join);
            self.body.go(next);
        }
        if let Some(last) = last {
            self.statement(last);
        }
        if let Some(join) = join {
            self.body.jump(join);
            self.body.go(join);
        }
    }

    fn switch(&mut self, value: &'a Expression, cases: &'a [SwitchCase]) {
        let ty = self.type_of(value.id);
        let table = match self.plain(&ty) {
            Type::ActionRun(table) => Some(table),
            _ => None,
        };
        let (key, key_ty) = match self.eval(value) {
            Value::Scalar(expr, scalar) => (expr, scalar),
            _ => return,
        };
        let join = self.body.block();
        // A label without a body goes to the next that has one.
        let blocks: Vec<Option<BlockId>> = cases
            .iter()
            .map(|case| case.body.as_ref().map(|_| self.body.block()))
            .collect();
        let mut default = join;
        let mut list = Vec::new();
        for (at, case) in cases.iter().enumerate() {
            let next = blocks[at..]
                .iter()
                .flatten()
                .next()
                .copied()
                .unwrap_or(join);
            if matches!(
                case.label.kind,
                ExpressionKind::Default | ExpressionKind::DontCare
            ) {
                default = next;
                continue;
            }
            let values = match table {
                Some(table) => self
                    .action_places(table, &case.label)
                    .into_iter()
                    .map(fold::number)
                    .collect(),
                None => match self.eval_as(&case.label, &ty) {
                    Value::Scalar(expr, _) => vec![expr],
                    _ => Vec::new(),
                },
            };
            list.extend(values.into_iter().map(|value| Case {
                patterns: vec![Pattern::Equal(value)],
                next,
            }));
        }
        match fold::as_constant(&key) {
            Some(known) => {
                let found = list.iter().find(|case| match case.patterns.as_slice() {
                    [Pattern::Equal(value)] => fold::as_constant(value) == Some(known),
                    _ => false,
                });
                let next = found.map_or(default, |case| case.next);
                self.body.jump(next);
            }
            None if list.is_empty() => self.body.jump(default),
            None => {
                let _ = key_ty;
                self.body.terminate(Terminator::Select {
                    keys: vec![key],
                    cases: list,
                    default,
                });
            }
        }
        for (case, block) in cases.iter().zip(blocks) {
            if let (Some(body), Some(block)) = (&case.body, block) {
                self.body.go(block);
                self.block(body);
                self.body.jump(join);
            }
        }
        self.body.go(join);
    }

    fn return_value(&mut self, value: Option<&'a Expression>) {
        let result = self.frames.last().and_then(|f| f.result.clone());
        if let Some(value) = value {
            match result {
                Some((storage, ty)) => {
                    let value = self.eval_as(value, &ty);
                    self.store(&Location::fixed(storage), &value);
                }
                None => {
                    self.eval(value);
                }
            }
        }
        let block = match self.frames.last().and_then(|f| f.return_to) {
            Some(block) => block,
            None => {
                let block = self.body.block();
                if let Some(frame) = self.frames.last_mut() {
                    frame.return_to = Some(block);
                }
                block
            }
        };
        self.body.jump(block);
    }

    fn push_loop(&mut self, end: BlockId, next: BlockId) {
        if let Some(frame) = self.frames.last_mut() {
            frame.loops.push((end, next));
        }
    }

    fn pop_loop(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.loops.pop();
        }
    }

    fn for_loop(
        &mut self,
        initial: &'a [Statement],
        condition: &'a Expression,
        update: &'a [Statement],
        body: &'a Statement,
    ) {
        for statement in initial {
            self.statement(statement);
        }
        let (head, inside) = (self.body.block(), self.body.block());
        let (next, end) = (self.body.block(), self.body.block());
        self.body.jump(head);
        self.body.go(head);
        let test = self.condition(condition);
        self.body.branch(test, inside, end);
        self.push_loop(end, next);
        self.body.go(inside);
        self.statement(body);
        self.pop_loop();
        self.body.jump(next);
        self.body.go(next);
        for statement in update {
            self.statement(statement);
        }
        self.body.jump(head);
        self.body.go(end);
    }

    fn for_in(
        &mut self,
        variable: &'a ForVariable,
        collection: &'a Expression,
        body: &'a Statement,
    ) {
        let (target, ty) = match variable {
            ForVariable::Declared(declaration) => {
                let DeclarationKind::Variable { ty, name, .. } = &declaration.kind else {
                    return;
                };
                let ty = self.type_of(ty.id);
                let storage = self.local(declaration.id, &name.text, &ty);
                self.bind(declaration.id, Binding::Storage(storage.clone()));
                (Target::Location(Location::fixed(storage)), ty)
            }
            ForVariable::Existing(expr) => {
                let target = self.target(expr);
                (self.freeze(target), self.type_of(expr.id))
            }
        };
        if let ExpressionKind::Range { low, high } = &collection.kind {
            self.for_range(&target, &ty, low, high, body);
            return;
        }
        // The collection is evaluated once, before the first turn.
        let value = self.eval(collection);
        let value = self.spill(value);
        let (Value::Stack { elements, .. } | Value::List(elements, _)) = value else {
            return;
        };
        let end = self.body.block();
        for element in elements {
            if !self.body.reachable() || !self.deeper(collection.span) {
                break;
            }
            let element = self.convert(element, &ty);
            self.store_target(&target, &element);
            let next = self.body.block();
            self.push_loop(end, next);
            self.statement(body);
            self.pop_loop();
            self.body.jump(next);
            self.body.go(next);
            self.depth -= 1;
        }
        self.body.jump(end);
        self.body.go(end);
    }

    /// `for (x in low .. high)`: both ends included, and each evaluated once; what the body does to `x` changes no turn.
    fn for_range(
        &mut self,
        target: &Target,
        ty: &Type,
        low: &'a Expression,
        high: &'a Expression,
        body: &'a Statement,
    ) {
        let first = self.eval_as(low, ty);
        let first = if self.has_effects(high) {
            self.spill(first)
        } else {
            first
        };
        let last = self.eval_as(high, ty);
        let last = self.spill(last);
        let Shape::Scalar(scalar, _) = self.shape(ty) else {
            return;
        };
        let (Value::Scalar(first, _), Value::Scalar(last, _)) = (first, last) else {
            return;
        };
        let counter: SlotId = self.temporary_slot("counter", scalar);
        self.body.assign(LValue::Slot(counter), first);
        let (inside, next) = (self.body.block(), self.body.block());
        let (more, end) = (self.body.block(), self.body.block());
        let count = Expr::Slot(counter);
        let any = fold::binary(
            Binary::LessEqual,
            count.clone(),
            last.clone(),
            scalar,
            scalar,
        );
        self.body.branch(any, inside, end);
        self.push_loop(end, next);
        self.body.go(inside);
        self.store_target(target, &Value::Scalar(count.clone(), scalar));
        self.statement(body);
        self.pop_loop();
        self.body.jump(next);
        self.body.go(next);
        // The last turn is told by equality: beyond the largest number there is none.
        let done = fold::binary(Binary::Equal, count.clone(), last, scalar, scalar);
        self.body.branch(done, end, more);
        self.body.go(more);
        let one = fold::constant(scalar, &1.into());
        let value = fold::binary(Binary::Add, count, one, scalar, scalar);
        self.body.assign(LValue::Slot(counter), value);
        self.body.jump(inside);
        self.body.go(end);
    }

    /// The places in a table's list at which the action of a label stands.
    fn action_places(&mut self, table: NodeId, label: &'a Expression) -> Vec<u32> {
        let Some(action) = self.action_of(label) else {
            return Vec::new();
        };
        let Some(made) = self.tables.get(&(self.instance, table)) else {
            return Vec::new();
        };
        self.table_actions
            .get(made)
            .into_iter()
            .flatten()
            .enumerate()
            .filter(|(_, id)| **id == action)
            .map(|(at, _)| at as u32)
            .collect()
    }
}
