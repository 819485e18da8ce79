//! Where control flow goes: functions that end without a value, and statements that nothing reaches.

use super::Rules;
use crate::ast::{
    Block, DeclarationKind, Expression, ExpressionKind, Statement, StatementKind,
    TypeExpressionKind,
};
use crate::diagnostic::Diagnostic;
use crate::types::Constant;
use alloc::format;

pub(super) fn run(rules: &mut Rules<'_>) {
    for declaration in rules.declarations.clone() {
        match &declaration.kind {
            DeclarationKind::Function { prototype, body } => {
                let falls = rules.block(body);
                // Specification 10.2: every path of a function with a result ends in a return.
                if falls && !matches!(prototype.result.kind, TypeExpressionKind::Void) {
                    let name = &prototype.name;
                    rules.report(
                        Diagnostic::error(
                            "missing-return",
                            name.span,
                            format!("`{}` does not return a value on every path", name.text),
                        )
                        .help("end it with a `return` of a value"),
                    );
                }
            }
            DeclarationKind::Action { body, .. } => {
                rules.block(body);
            }
            DeclarationKind::Control(control) => {
                rules.block(&control.apply);
            }
            DeclarationKind::Parser(parser) => {
                for state in &parser.states {
                    rules.sequence(&state.statements);
                }
            }
            _ => {}
        }
    }
}

impl Rules<'_> {
    /// Whether the end of a block can be reached.
    fn block(&mut self, block: &Block) -> bool {
        self.sequence(&block.statements)
    }

    fn sequence(&mut self, statements: &[Statement]) -> bool {
        let mut reached = true;
        let mut reported = false;
        for statement in statements {
            if !reached && !reported && !matches!(statement.kind, StatementKind::Empty) {
                reported = true;
                self.report(
                    Diagnostic::warning(
                        "unreachable",
                        statement.span,
                        "nothing leads to this statement",
                    )
                    .help("remove it, or what leaves before it"),
                );
            }
            let falls = self.falls(statement);
            reached &= falls;
        }
        reached
    }

    /// Whether the statement behind this one can be reached, as far as one sees without values.
    fn falls(&mut self, statement: &Statement) -> bool {
        match &statement.kind {
            StatementKind::Return(_)
            | StatementKind::Exit
            | StatementKind::Break
            | StatementKind::Continue => false,
            StatementKind::Block(block) => self.block(block),
            StatementKind::If {
                branches,
                otherwise,
            } => {
                // Whether one that may run falls, and whether one before surely runs; what cannot run is looked at, too.
                let (mut falls, mut decided) = (false, false);
                for branch in branches {
                    let known = self.known(&branch.condition);
                    falls |= self.falls(&branch.body) && !decided && known != Some(false);
                    decided |= known == Some(true);
                }
                let last = otherwise.as_ref().is_none_or(|last| self.falls(last));
                falls || (last && !decided)
            }
            StatementKind::Switch { cases, .. } => {
                let mut all = !cases.is_empty();
                let mut default = false;
                for case in cases {
                    default |= matches!(
                        case.label.kind,
                        ExpressionKind::Default | ExpressionKind::DontCare
                    );
                    if let Some(body) = &case.body
                        && self.block(body)
                    {
                        all = false;
                    }
                }
                let last_falls = cases.last().is_some_and(|case| case.body.is_none());
                !(all && default) || last_falls
            }
            StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
                self.falls(body);
                true
            }
            _ => true,
        }
    }

    fn known(&self, condition: &Expression) -> Option<bool> {
        match self.checked.constants.get(&condition.id) {
            Some(Constant::Bool(value)) => Some(*value),
            _ => None,
        }
    }
}
