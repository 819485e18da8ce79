//! What expressions and statements contain, without lowering them.

use super::Lowerer;
use super::index::Node;
use crate::ast::{
    Block, DeclarationKind, Expression, ExpressionKind, ForVariable, NodeId, Statement,
    StatementKind,
};
use crate::check::{Builtin, Target};
use crate::types::Type;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::rc::Rc;

/// Calls back for an expression and all expressions in it.
pub(super) fn expressions<'a>(expr: &'a Expression, each: &mut dyn FnMut(&'a Expression)) {
    each(expr);
    match &expr.kind {
        ExpressionKind::Member { base, .. } => expressions(base, each),
        ExpressionKind::Index { base, index } => {
            expressions(base, each);
            expressions(index, each);
        }
        ExpressionKind::Slice { base, high, low } => {
            for part in [base, high, low] {
                expressions(part, each);
            }
        }
        ExpressionKind::PlusSlice { base, low, width } => {
            for part in [base, low, width] {
                expressions(part, each);
            }
        }
        ExpressionKind::List { elements, .. } => {
            elements.iter().for_each(|e| expressions(e, each));
        }
        ExpressionKind::Struct { fields, .. } => {
            fields.iter().for_each(|(_, e)| expressions(e, each));
        }
        ExpressionKind::Unary { operand, .. } | ExpressionKind::Cast { operand, .. } => {
            expressions(operand, each);
        }
        ExpressionKind::Binary { left, right, .. } => {
            expressions(left, each);
            expressions(right, each);
        }
        ExpressionKind::Conditional { condition, yes, no } => {
            for part in [condition, yes, no] {
                expressions(part, each);
            }
        }
        ExpressionKind::Call {
            callee, arguments, ..
        } => {
            expressions(callee, each);
            arguments.iter().for_each(|a| expressions(&a.value, each));
        }
        ExpressionKind::Mask { value, mask } => {
            expressions(value, each);
            expressions(mask, each);
        }
        ExpressionKind::Range { low, high } => {
            expressions(low, each);
            expressions(high, each);
        }
        _ => {}
    }
}

/// Calls back for all expressions in statements.
pub(super) fn block<'a>(block: &'a Block, each: &mut dyn FnMut(&'a Expression)) {
    block.statements.iter().for_each(|s| statement(s, each));
}

/// Calls back for all expressions in a statement.
pub(super) fn statement<'a>(it: &'a Statement, each: &mut dyn FnMut(&'a Expression)) {
    match &it.kind {
        StatementKind::Block(inner) => block(inner, each),
        StatementKind::Declaration(declaration) => match &declaration.kind {
            DeclarationKind::Constant { value, .. }
            | DeclarationKind::Variable {
                value: Some(value), ..
            } => expressions(value, each),
            _ => {}
        },
        StatementKind::Assign { target, value, .. } => {
            expressions(target, each);
            expressions(value, each);
        }
        StatementKind::Call(call) => expressions(call, each),
        StatementKind::If {
            branches,
            otherwise,
        } => {
            for branch in branches {
                expressions(&branch.condition, each);
                statement(&branch.body, each);
            }
            if let Some(otherwise) = otherwise {
                statement(otherwise, each);
            }
        }
        StatementKind::Switch { value, cases } => {
            expressions(value, each);
            for case in cases {
                expressions(&case.label, each);
                if let Some(body) = &case.body {
                    block(body, each);
                }
            }
        }
        StatementKind::Return(Some(value)) => expressions(value, each),
        StatementKind::For {
            initial,
            condition,
            update,
            body,
            ..
        } => {
            initial.iter().for_each(|s| statement(s, each));
            expressions(condition, each);
            update.iter().for_each(|s| statement(s, each));
            statement(body, each);
        }
        StatementKind::ForIn {
            variable,
            collection,
            body,
            ..
        } => {
            if let ForVariable::Existing(target) = variable {
                expressions(target, each);
            }
            expressions(collection, each);
            statement(body, each);
        }
        StatementKind::Empty
        | StatementKind::Return(None)
        | StatementKind::Exit
        | StatementKind::Break
        | StatementKind::Continue => {}
    }
}

/// How many `return` statements there are.
pub(super) fn returns(it: &Statement) -> usize {
    let inside = |block: &Block| block.statements.iter().map(returns).sum::<usize>();
    match &it.kind {
        StatementKind::Return(_) => 1,
        StatementKind::Block(block) => inside(block),
        StatementKind::If {
            branches,
            otherwise,
        } => {
            let inside: usize = branches.iter().map(|branch| returns(&branch.body)).sum();
            inside + otherwise.as_deref().map_or(0, returns)
        }
        StatementKind::Switch { cases, .. } => cases
            .iter()
            .filter_map(|case| case.body.as_ref())
            .map(inside)
            .sum(),
        StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => returns(body),
        _ => 0,
    }
}

impl<'a> Lowerer<'a> {
    /// Whether evaluating an expression takes statements: calls, and what can fail.
    pub fn has_effects(&self, expr: &Expression) -> bool {
        if self.checked.constants.contains_key(&expr.id) {
            return false;
        }
        let mut found = false;
        expressions(expr, &mut |e| {
            found = found
                || match &e.kind {
                    ExpressionKind::Call { .. } => !matches!(
                        self.checked.calls.get(&e.id).map(|call| &call.target),
                        Some(Target::Builtin(
                            Builtin::IsValid
                                | Builtin::MinSizeInBits
                                | Builtin::MinSizeInBytes
                                | Builtin::MaxSizeInBits
                                | Builtin::MaxSizeInBytes
                        ))
                    ),
                    ExpressionKind::Member { base, member } => {
                        matches!(&*member.text, "next" | "last")
                            && matches!(self.checked.types.get(&base.id), Some(Type::Stack(..)))
                    }
                    _ => false,
                };
        });
        found
    }

    /// The declarations that a function's or action's body names, those that it calls too.
    pub fn touched(&mut self, id: NodeId) -> Rc<BTreeSet<NodeId>> {
        if let Some(known) = self.touched.get(&id) {
            return known.clone();
        }
        let mut set = BTreeSet::new();
        let mut open = alloc::vec![id];
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(Node::Declaration(declaration)) = self.index.get(id) else {
                continue;
            };
            let (DeclarationKind::Function { body, .. } | DeclarationKind::Action { body, .. }) =
                &declaration.kind
            else {
                continue;
            };
            block(body, &mut |expr| {
                if let ExpressionKind::Path { .. } = expr.kind
                    && let Some(to) = self.checked.references.get(&expr.id)
                    && !self.index.inner.contains(to)
                {
                    set.insert(*to);
                }
                if let Some(call) = self.checked.calls.get(&expr.id)
                    && let Target::Function(to) | Target::Action(to) = call.target
                {
                    open.push(to);
                }
            });
        }
        let set = Rc::new(set);
        self.touched.insert(id, set.clone());
        set
    }
}

/// In how many places of the text each instance is applied.
pub(super) fn applications(lowerer: &Lowerer<'_>) -> BTreeMap<NodeId, u32> {
    let mut counts = BTreeMap::new();
    let mut count = |expr: &Expression| {
        if let ExpressionKind::Call { callee, .. } = &expr.kind
            && let Some(call) = lowerer.checked.calls.get(&expr.id)
            && let Target::Apply(_) = call.target
            && let ExpressionKind::Member { base, .. } = &callee.kind
            && let Some(to) = lowerer.checked.references.get(&base.id)
        {
            *counts.entry(*to).or_insert(0) += 1;
        }
    };
    for declaration in &lowerer.checked.program.declarations {
        match &declaration.kind {
            DeclarationKind::Control(control) => block(&control.apply, &mut count),
            DeclarationKind::Parser(parser) => {
                for state in &parser.states {
                    state
                        .statements
                        .iter()
                        .for_each(|s| statement(s, &mut count));
                }
            }
            _ => {}
        }
    }
    counts
}
