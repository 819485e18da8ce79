//! Calls that a body makes, by itself and by the actions, functions and controls that it calls.

use super::{Rules, walk};
use crate::ast::{
    Declaration, DeclarationKind, Expression, ExpressionKind, NodeId, Statement, StatementKind,
    Table, TablePropertyKind,
};
use crate::check::Target;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// A table and the calls that its actions make.
pub(super) struct TableCalls<'a> {
    /// The declaration of the table.
    pub(super) declaration: &'a Declaration,
    pub(super) table: &'a Table,
    /// Each action of its list, with the calls.
    pub(super) actions: Vec<(&'a Declaration, Vec<&'a Expression>)>,
}

impl<'a> Rules<'a> {
    /// Every table with the calls of its actions.
    pub(super) fn table_calls(&self) -> Vec<TableCalls<'a>> {
        let tables = self
            .declarations
            .iter()
            .filter_map(|declaration| match &declaration.kind {
                DeclarationKind::Table(table) => Some((*declaration, table)),
                _ => None,
            });
        tables
            .map(|(declaration, table)| {
                let listed = table.properties.iter().filter_map(|p| match &p.kind {
                    TablePropertyKind::Actions(list) => Some(list),
                    _ => None,
                });
                let actions = listed
                    .flatten()
                    .filter_map(|reference| self.action(&reference.action))
                    .map(|action| (action, self.calls(action)))
                    .collect();
                TableCalls {
                    declaration,
                    table,
                    actions,
                }
            })
            .collect()
    }

    /// The calls of a control's `apply`, an action, a function or a parser, in this order: its own,
    /// then those of what it calls. The actions of tables that it applies are left out.
    pub(super) fn calls(&self, declaration: &'a Declaration) -> Vec<&'a Expression> {
        let mut calls = Vec::new();
        let mut seen = BTreeSet::from([declaration.id]);
        let mut open = alloc::vec![declaration];
        while let Some(declaration) = open.pop() {
            let first = calls.len();
            own_calls(declaration, &mut calls);
            let called: Vec<NodeId> = calls[first..]
                .iter()
                .filter_map(|call| self.checked.calls.get(&call.id))
                .filter_map(|call| match call.target {
                    Target::Function(id) | Target::Action(id) | Target::Apply(id) => Some(id),
                    _ => None,
                })
                .collect();
            for id in called {
                if seen.insert(id)
                    && let Some(next) = self.by_id.get(&id)
                {
                    open.push(next);
                }
            }
        }
        calls
    }
}

fn own_calls<'a>(declaration: &'a Declaration, calls: &mut Vec<&'a Expression>) {
    let mut of = |statements: &'a [Statement]| {
        for statement in statements {
            walk::statements(statement, &mut |statement| {
                let mut each = |e: &'a Expression| {
                    walk::expressions(e, &mut |e| {
                        if matches!(e.kind, ExpressionKind::Call { .. }) {
                            calls.push(e);
                        }
                    });
                };
                walk::own_expressions(statement)
                    .into_iter()
                    .for_each(&mut each);
                if let StatementKind::Switch { cases, .. } = &statement.kind {
                    cases.iter().for_each(|case| each(&case.label));
                }
            });
        }
    };
    match &declaration.kind {
        DeclarationKind::Action { body, .. } | DeclarationKind::Function { body, .. } => {
            of(&body.statements);
        }
        DeclarationKind::Control(control) => of(&control.apply.statements),
        DeclarationKind::Parser(parser) => {
            parser.states.iter().for_each(|state| of(&state.statements));
        }
        _ => {}
    }
}
