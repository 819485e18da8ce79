//! What is declared and never used.

use super::{Rules, is_silenced};
use crate::ast::{
    Declaration, DeclarationKind, Expression, ExpressionKind, Name, NodeId, Statement,
    StatementKind,
};
use crate::diagnostic::Diagnostic;
use alloc::collections::BTreeSet;
use alloc::format;

pub(super) fn run(rules: &mut Rules<'_>) {
    let used: BTreeSet<NodeId> = rules.checked.references.values().copied().collect();
    let mut written = BTreeSet::new();
    // A variable that stands only at the left of assignments is not used either.
    let mut read = BTreeSet::new();
    for declaration in &rules.declarations {
        super::walk::of_declaration(declaration, &mut |e| {
            super::walk::expressions(e, &mut |e| {
                if let Some(id) = rules.checked.references.get(&e.id) {
                    read.insert((e.id, *id));
                }
            });
        });
        each_statement(declaration, &mut |statement| {
            if let StatementKind::Assign {
                target,
                operator: None,
                ..
            } = &statement.kind
                && let ExpressionKind::Path { .. } = root(target).kind
                && let Some(id) = rules.checked.references.get(&root(target).id)
            {
                written.insert((root(target).id, *id));
            }
        });
    }
    let read: BTreeSet<NodeId> = read.difference(&written).map(|(_, id)| *id).collect();
    let top = rules.checked.program.declarations.iter();
    let top: BTreeSet<NodeId> = top.map(|declaration| declaration.id).collect();
    for declaration in rules.declarations.clone() {
        let Some((name, what)) = rules.named(declaration, !top.contains(&declaration.id)) else {
            continue;
        };
        if name.text.starts_with('_') || is_silenced(&declaration.annotations, "unused") {
            continue;
        }
        let is_used = used.contains(&declaration.id);
        let is_variable = matches!(declaration.kind, DeclarationKind::Variable { .. });
        if !is_used {
            rules.report(
                Diagnostic::warning(
                    "unused",
                    name.span,
                    format!("the {what} `{}` is never used", name.text),
                )
                .help("remove it, or write `@noWarn(\"unused\")` before it"),
            );
        } else if is_variable && !read.contains(&declaration.id) {
            rules.report(Diagnostic::warning(
                "unused",
                name.span,
                format!("the {what} `{}` is written and never read", name.text),
            ));
        }
    }
}

/// The variable of which a place is a part.
fn root(e: &Expression) -> &Expression {
    match &e.kind {
        ExpressionKind::Member { base, .. }
        | ExpressionKind::Slice { base, .. }
        | ExpressionKind::PlusSlice { base, .. } => root(base),
        _ => e,
    }
}

fn each_statement<'a>(declaration: &'a Declaration, visit: &mut impl FnMut(&'a Statement)) {
    let list: &[Statement] = match &declaration.kind {
        DeclarationKind::Function { body, .. } | DeclarationKind::Action { body, .. } => {
            &body.statements
        }
        DeclarationKind::Control(control) => &control.apply.statements,
        DeclarationKind::Parser(parser) => {
            for statement in parser.states.iter().flat_map(|state| &state.statements) {
                super::walk::statements(statement, visit);
            }
            &[]
        }
        _ => &[],
    };
    for statement in list {
        super::walk::statements(statement, visit);
    }
}

impl<'a> Rules<'a> {
    /// The name of a declaration that should be used, and what it is. Types, prototypes and what libraries declare need no use.
    fn named(&self, declaration: &'a Declaration, local: bool) -> Option<(&'a Name, &'static str)> {
        Some(match &declaration.kind {
            DeclarationKind::Variable { name, .. } => (name, "variable"),
            DeclarationKind::Constant { name, .. } if local => (name, "constant"),
            DeclarationKind::Instance { name, .. } if local => (name, "instance"),
            DeclarationKind::ValueSet { name, .. } => (name, "value set"),
            DeclarationKind::Action { name, .. } if &*name.text != "NoAction" => (name, "action"),
            DeclarationKind::Table(table) => (&table.name, "table"),
            DeclarationKind::Function { prototype, .. }
                if self.checked.main.is_some() && !self.implements(declaration.id) =>
            {
                (&prototype.name, "function")
            }
            DeclarationKind::Parser(parser) if self.checked.main.is_some() => {
                (&parser.name, "parser")
            }
            DeclarationKind::Control(control) if self.checked.main.is_some() => {
                (&control.name, "control")
            }
            _ => return None,
        })
    }

    /// Whether a function implements an abstract method, which the extern calls.
    fn implements(&self, id: NodeId) -> bool {
        self.declarations
            .iter()
            .any(|declaration| match &declaration.kind {
                DeclarationKind::Instance {
                    initializer: Some(list),
                    ..
                } => list.iter().any(|inner| inner.id == id),
                _ => false,
            })
    }
}
