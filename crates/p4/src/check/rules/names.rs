//! Names for the control plane (specification 18): each thing has one of its own.

use super::Rules;
use crate::ast::{Annotation, AnnotationBody, Declaration, DeclarationKind, NodeId, StatementKind};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};

/// Maximum nesting depth of instances that are followed.
const MAX_DEPTH: u32 = 32;
/// Maximum number of names that are compared.
const MAX_NAMES: usize = 100_000;

/// Kinds of objects with names of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Table,
    Action,
    Instance,
}

type Taken = BTreeMap<(Kind, String), (NodeId, Span)>;

pub(super) fn run(rules: &mut Rules<'_>) {
    let mut taken = Taken::new();
    for declaration in &rules.checked.program.declarations {
        match &declaration.kind {
            DeclarationKind::Action { name, .. } => {
                let full = full_name("", &name.text, &declaration.annotations);
                rules.take(
                    &mut taken,
                    Kind::Action,
                    full,
                    declaration,
                    name.span,
                    false,
                );
            }
            DeclarationKind::Control(control) => {
                // Names within a control that nobody instantiates are compared too.
                let mut own = Taken::new();
                let full = full_name("", &control.name.text, &declaration.annotations);
                for local in &control.locals {
                    rules.local(&mut own, &full, local, false);
                }
            }
            _ => {}
        }
    }
    let Some(main) = rules.checked.main.and_then(|main| rules.by_id.get(&main)) else {
        return;
    };
    if let DeclarationKind::Instance { arguments, .. } = &main.kind {
        for argument in arguments {
            rules.instance(&mut taken, argument.value.id, "", 0);
        }
    }
}

/// `@name`'s text if there is one, with a leading dot for a name that stands alone.
fn full_name(prefix: &str, name: &str, annotations: &[Annotation]) -> String {
    let given = annotations
        .iter()
        .find(|a| &*a.name.text == "name")
        .and_then(|a| match &a.body {
            AnnotationBody::Tokens(tokens) => match tokens.as_slice() {
                [one] => one
                    .strip_prefix('"')?
                    .strip_suffix('"')
                    .map(ToString::to_string),
                _ => None,
            },
            _ => None,
        });
    let name = given.as_deref().unwrap_or(name);
    match name.strip_prefix('.') {
        Some(absolute) => absolute.to_string(),
        None if prefix.is_empty() => name.to_string(),
        None => format!("{prefix}.{name}"),
    }
}

/// Whether an action has no parameters and does nothing.
fn is_empty(declaration: &Declaration) -> bool {
    matches!(&declaration.kind, DeclarationKind::Action { parameters, body, .. }
        if parameters.is_empty() && body.statements.is_empty())
}

impl<'a> Rules<'a> {
    fn take(
        &mut self,
        taken: &mut Taken,
        kind: Kind,
        name: String,
        declaration: &Declaration,
        span: Span,
        instantiated: bool,
    ) {
        if taken.len() > MAX_NAMES {
            return;
        }
        let Some((first, place)) = taken.get(&(kind, name.clone())).copied() else {
            taken.insert((kind, name), (declaration.id, span));
            return;
        };
        // The same action in two instances of a control is two actions; with one absolute name they are one for the control plane, which
        // harms nobody as long as they are the same. Two tables are never the same.
        if first == declaration.id && !(instantiated && kind == Kind::Table) {
            return;
        }
        // An action of P4_14 that both controls use has a copy in each.
        if place == span && kind == Kind::Action {
            return;
        }
        // Several `@name(".NoAction")` that do nothing, as p4c's output has them, are one action for whoever calls it.
        let other = self.by_id.get(&first);
        if kind == Kind::Action && is_empty(declaration) && other.is_some_and(|d| is_empty(d)) {
            return;
        }
        let what = match kind {
            Kind::Table => "table",
            Kind::Action => "action",
            Kind::Instance => "instance",
        };
        self.report(
            Diagnostic::error(
                "duplicate-name",
                span,
                format!("the control plane would know two {what}s by the name `{name}`"),
            )
            .note(place, "the first one")
            .help("give one of them another `@name`"),
        );
    }

    fn local(&mut self, taken: &mut Taken, prefix: &str, local: &'a Declaration, again: bool) {
        let (kind, name) = match &local.kind {
            DeclarationKind::Table(table) => (Kind::Table, &table.name),
            DeclarationKind::Action { name, .. } => (Kind::Action, name),
            DeclarationKind::Instance { name, .. } => (Kind::Instance, name),
            _ => return,
        };
        if local.annotations.iter().any(|a| &*a.name.text == "hidden") {
            return;
        }
        let full = full_name(prefix, &name.text, &local.annotations);
        self.take(taken, kind, full, local, name.span, again);
    }

    /// The control that an expression, instance or type names, with all within it.
    fn instance(&mut self, taken: &mut Taken, id: NodeId, prefix: &str, depth: u32) {
        let Some(Type::Object(declaration, _)) = self.checked.types.get(&id) else {
            return;
        };
        let Some(declaration) = self.by_id.get(declaration).copied() else {
            return;
        };
        let DeclarationKind::Control(control) = &declaration.kind else {
            return;
        };
        if depth > MAX_DEPTH || taken.len() > MAX_NAMES {
            return;
        }
        let prefix = if depth == 0 {
            full_name("", &control.name.text, &declaration.annotations)
        } else {
            prefix.to_string()
        };
        for local in &control.locals {
            self.local(taken, &prefix, local, true);
            if let DeclarationKind::Instance { name, .. } = &local.kind {
                let inner = full_name(&prefix, &name.text, &local.annotations);
                self.instance(taken, local.id, &inner, depth + 1);
            }
        }
        let mut declared = alloc::vec::Vec::new();
        for statement in &control.apply.statements {
            super::walk::statements(statement, &mut |statement| {
                if let StatementKind::Declaration(local) = &statement.kind {
                    declared.push(&**local);
                }
            });
        }
        for local in declared {
            self.local(taken, &prefix, local, true);
        }
    }
}
