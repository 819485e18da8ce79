//! Actions that are called without a table. No controller can do anything with them, but p4c tells them, and so their ids and aliases
//! are taken.

use super::declarations::{Declarations, declared_name};
use crate::ast::{Block, Control, Declaration, DeclarationKind, NodeId, Statement, StatementKind};
use crate::check::{Checked, Target};
use crate::ir::{Program, SectionKind};
use crate::types::Type;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Instances within instances are followed so deep.
const DEEPEST: u32 = 64;

/// Each action that is called directly, with its name in each instance of its control.
pub(super) fn actions<'a>(
    checked: &'a Checked,
    program: &Program,
    declarations: &Declarations<'a>,
) -> Vec<(Arc<str>, &'a Declaration)> {
    let mut walk = Walk {
        checked,
        declarations,
        found: Vec::new(),
    };
    for section in &program.sections {
        if section.kind != SectionKind::Control {
            continue;
        }
        let control = declarations
            .all()
            .find_map(|declaration| match &declaration.kind {
                DeclarationKind::Control(control) if control.name.text == section.name => {
                    Some(control)
                }
                _ => None,
            });
        if let Some(control) = control {
            walk.control(control, &section.name, 0);
        }
    }
    walk.found
}

struct Walk<'a, 'd> {
    checked: &'a Checked,
    declarations: &'d Declarations<'a>,
    found: Vec<(Arc<str>, &'a Declaration)>,
}

impl<'a> Walk<'a, '_> {
    fn control(&mut self, control: &'a Control, prefix: &str, depth: u32) {
        let mut called = BTreeSet::new();
        self.block(&control.apply, &mut called, 0);
        for local in &control.locals {
            if let DeclarationKind::Action { body, .. } = &local.kind {
                self.block(body, &mut called, 0);
            }
        }
        for local in &control.locals {
            match &local.kind {
                DeclarationKind::Action { .. } if called.remove(&local.id) => {
                    let own = declared_name(local);
                    self.add(format!("{prefix}.{own}"), local);
                }
                DeclarationKind::Instance { name, .. } if depth < DEEPEST => {
                    let Some(Type::Object(ty, _)) = self.checked.types.get(&local.id) else {
                        continue;
                    };
                    let kind = self
                        .declarations
                        .by_id(*ty)
                        .map(|declaration| &declaration.kind);
                    if let Some(DeclarationKind::Control(inner)) = kind {
                        let own = super::declarations::control_name(&name.text, &local.annotations);
                        self.control(inner, &format!("{prefix}.{own}"), depth + 1);
                    }
                }
                _ => {}
            }
        }
        for id in called {
            if let Some(action) = self.declarations.by_id(id)
                && !control.locals.iter().any(|local| local.id == id)
            {
                self.add(declared_name(action).to_string(), action);
            }
        }
    }

    fn add(&mut self, name: String, action: &'a Declaration) {
        if !self.found.iter().any(|(other, _)| **other == *name) {
            self.found.push((name.into(), action));
        }
    }

    fn block(&self, block: &Block, called: &mut BTreeSet<NodeId>, depth: u32) {
        for statement in &block.statements {
            self.statement(statement, called, depth);
        }
    }

    fn statement(&self, statement: &Statement, called: &mut BTreeSet<NodeId>, depth: u32) {
        if depth > 256 {
            return;
        }
        match &statement.kind {
            StatementKind::Call(call) => {
                let target = self.checked.calls.get(&call.id).map(|call| call.target);
                if let Some(Target::Action(id)) = target {
                    called.insert(id);
                }
            }
            StatementKind::Block(block) => self.block(block, called, depth + 1),
            StatementKind::If {
                branches,
                otherwise,
            } => {
                for branch in branches {
                    self.statement(&branch.body, called, depth + 1);
                }
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise, called, depth + 1);
                }
            }
            StatementKind::Switch { cases, .. } => {
                for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                    self.block(body, called, depth + 1);
                }
            }
            StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
                self.statement(body, called, depth + 1);
            }
            _ => {}
        }
    }
}
