//! Statements.

use super::Printer;
use crate::ast::{Block, DeclarationKind, ForVariable, Statement, StatementKind};

impl Printer {
    pub(super) fn block(&mut self, block: &Block) {
        self.annotations(&block.annotations);
        self.braces(&block.statements, Self::statement);
    }

    pub(super) fn statement(&mut self, statement: &Statement) {
        self.statement_without_line(statement);
        self.line();
    }

    fn statement_without_line(&mut self, statement: &Statement) {
        use StatementKind as S;
        match &statement.kind {
            S::Empty => self.text(";"),
            S::Block(block) => self.block(block),
            S::Declaration(declaration) => self.declaration_without_end(declaration),
            S::Assign { .. } | S::Call(_) => {
                self.simple(statement);
                self.text(";");
            }
            S::If {
                branches,
                otherwise,
            } => {
                for (at, branch) in branches.iter().enumerate() {
                    self.text(if at == 0 { "if (" } else { " else if (" });
                    self.expression(&branch.condition);
                    self.text(") ");
                    // An `else` must not go to an inner `if`.
                    let more = at + 1 < branches.len() || otherwise.is_some();
                    let open = more && ends_with_open_if(&branch.body);
                    if open {
                        self.text("{\n");
                    }
                    self.statement_without_line(&branch.body);
                    if open {
                        self.text("\n}");
                    }
                }
                if let Some(otherwise) = otherwise {
                    self.text(" else ");
                    self.statement_without_line(otherwise);
                }
            }
            S::Switch { value, cases } => {
                self.text("switch (");
                self.expression(value);
                self.text(") ");
                self.braces(cases, |p, case| {
                    p.expression(&case.label);
                    p.text(":");
                    if let Some(body) = &case.body {
                        p.text(" ");
                        p.block(body);
                    }
                    p.line();
                });
            }
            S::Return(value) => {
                self.text("return");
                if let Some(value) = value {
                    self.text(" ");
                    self.expression(value);
                }
                self.text(";");
            }
            S::Exit => self.text("exit;"),
            S::Break => self.text("break;"),
            S::Continue => self.text("continue;"),
            S::For {
                annotations,
                initial,
                condition,
                update,
                body,
            } => {
                self.annotations(annotations);
                self.text("for (");
                self.list(initial, ", ", Self::simple);
                self.text("; ");
                self.expression(condition);
                self.text("; ");
                self.list(update, ", ", Self::simple);
                self.text(") ");
                self.statement_without_line(body);
            }
            S::ForIn {
                annotations,
                variable,
                collection,
                body,
            } => {
                self.annotations(annotations);
                self.text("for (");
                match variable {
                    ForVariable::Declared(declaration) => {
                        self.annotations(&declaration.annotations);
                        self.head(declaration);
                    }
                    ForVariable::Existing(target) => self.expression(target),
                }
                self.text(" in ");
                self.expression(collection);
                self.text(") ");
                self.statement_without_line(body);
            }
        }
    }

    /// A declaration, assignment or call without its `;`.
    fn simple(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign {
                target,
                operator,
                value,
            } => {
                self.expression(target);
                let operator = operator.map_or("", crate::ast::BinaryOperator::text);
                self.text(format_args!(" {operator}= "));
                self.expression(value);
            }
            StatementKind::Call(call) => self.expression(call),
            StatementKind::Declaration(declaration) => {
                self.annotations(&declaration.annotations);
                self.head(declaration);
                if let DeclarationKind::Variable {
                    value: Some(value), ..
                } = &declaration.kind
                {
                    self.text(" = ");
                    self.expression(value);
                }
            }
            _ => {}
        }
    }
}

fn ends_with_open_if(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::If { otherwise, .. } => otherwise.as_deref().is_none_or(ends_with_open_if),
        StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
            ends_with_open_if(body)
        }
        _ => false,
    }
}
