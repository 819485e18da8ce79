//! Objects by their names for the control plane: found by walking the instances of the package as
//! lowering makes and names them.

use super::declarations::{Declarations, control_name, declared_name};
use crate::ast::{
    Block, Control, Declaration, DeclarationKind, Expression, ExpressionKind, NodeId, Parser,
    Statement, StatementKind, TableProperty, TablePropertyKind,
};
use crate::check::{Checked, Target};
use crate::ir::Program;
use crate::types::{Constant, Type};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Maximum nesting depth of instances that are followed.
const MAX_DEPTH: u32 = 64;

/// Declarations of a program, by name.
#[derive(Default)]
pub(super) struct Objects<'a> {
    /// Tables, actions, externs and value sets of each instance.
    named: BTreeMap<String, Vec<&'a Declaration>>,
    /// Properties of tables, by the names of the objects that are made in them.
    properties: BTreeMap<String, &'a TableProperty>,
    /// Actions that the `apply` of a control calls directly, with their names. A controller can do
    /// nothing with them, but p4c's P4Info has them, and so their ids and aliases are taken.
    /// Actions that only actions call are not among them: p4c inlines those.
    pub(super) called: Vec<(Arc<str>, &'a Declaration)>,
}

impl<'a> Objects<'a> {
    pub(super) fn new(
        checked: &'a Checked,
        program: &Program,
        declarations: &Declarations<'a>,
    ) -> Self {
        let mut walk = Walk {
            checked,
            declarations,
            objects: Objects::default(),
        };
        for declaration in &checked.program.declarations {
            walk.declare(declaration, "");
        }
        for section in &program.sections {
            let block = declarations.all().find(|d| match &d.kind {
                DeclarationKind::Control(control) => control.name.text == section.name,
                DeclarationKind::Parser(parser) => parser.name.text == section.name,
                _ => false,
            });
            if let Some(block) = block {
                walk.instance(block, &section.name, 0);
            }
        }
        walk.objects
    }

    /// The declaration of an object of those that `wanted` takes.
    pub(super) fn find(
        &self,
        name: &str,
        wanted: impl Fn(&Declaration) -> bool,
    ) -> Option<&'a Declaration> {
        let mut list = self.named.get(name)?.iter().copied();
        list.find(|declaration| wanted(declaration))
    }

    /// The property in which an object is made.
    pub(super) fn property(&self, name: &str) -> Option<&'a TableProperty> {
        self.properties.get(name).copied()
    }
}

struct Walk<'a, 'd> {
    checked: &'a Checked,
    declarations: &'d Declarations<'a>,
    objects: Objects<'a>,
}

/// `prefix.name`; a name with a dot in front is the whole one.
fn full(prefix: &str, own: &str) -> String {
    match own.strip_prefix('.') {
        Some(absolute) => absolute.to_string(),
        None if prefix.is_empty() => own.to_string(),
        None => format!("{prefix}.{own}"),
    }
}

impl<'a> Walk<'a, '_> {
    fn declare(&mut self, declaration: &'a Declaration, prefix: &str) {
        let name = match &declaration.kind {
            DeclarationKind::Instance { name, .. }
            | DeclarationKind::Action { name, .. }
            | DeclarationKind::ValueSet { name, .. } => name,
            DeclarationKind::Table(table) => &table.name,
            _ => return,
        };
        let name = full(prefix, &control_name(&name.text, &declaration.annotations));
        if let DeclarationKind::Table(table) = &declaration.kind {
            for property in &table.properties {
                if let TablePropertyKind::Other { name: own, .. } = &property.kind {
                    let object = full("", &control_name(&own.text, &property.annotations));
                    let longer = format!("{name}.{}", own.text);
                    for object in [object, longer] {
                        self.objects.properties.entry(object).or_insert(property);
                    }
                }
            }
        }
        let list = self.objects.named.entry(name).or_default();
        if !list.iter().any(|other| other.id == declaration.id) {
            list.push(declaration);
        }
    }

    /// A parser or control as an instance with this name.
    fn instance(&mut self, block: &'a Declaration, prefix: &str, depth: u32) {
        if depth > MAX_DEPTH {
            return;
        }
        match &block.kind {
            DeclarationKind::Control(control) => self.control(control, prefix, depth),
            DeclarationKind::Parser(parser) => self.parser(parser, prefix, depth),
            _ => {}
        }
    }

    fn control(&mut self, control: &'a Control, prefix: &str, depth: u32) {
        self.locals(&control.locals, prefix, depth);
        let mut calls = Calls::default();
        self.block(&control.apply, &mut calls);
        for id in calls.actions {
            let Some(action) = self.declarations.by_id(id) else {
                continue;
            };
            let own = declared_name(action);
            let is_local = control.locals.iter().any(|local| local.id == id);
            let name = match is_local {
                true => full(prefix, &control_name(&own, &action.annotations)),
                false => own.to_string(),
            };
            if !self
                .objects
                .called
                .iter()
                .any(|(other, _)| **other == *name)
            {
                self.objects.called.push((name.into(), action));
            }
        }
        self.applied(calls.types, prefix, depth);
    }

    fn parser(&mut self, parser: &'a Parser, prefix: &str, depth: u32) {
        self.locals(&parser.locals, prefix, depth);
        let mut calls = Calls::default();
        for statement in parser.states.iter().flat_map(|state| &state.statements) {
            self.statement(statement, &mut calls);
        }
        self.applied(calls.types, prefix, depth);
    }

    fn locals(&mut self, locals: &'a [Declaration], prefix: &str, depth: u32) {
        for local in locals {
            self.declare(local, prefix);
            if let DeclarationKind::Instance { name, .. } = &local.kind
                && let Some(Type::Object(ty, _)) = self.checked.types.get(&local.id)
                && let Some(inner) = self.declarations.by_id(*ty)
            {
                let own = control_name(&name.text, &local.annotations);
                self.instance(inner, &full(prefix, &own), depth + 1);
            }
        }
    }

    /// Parsers and controls that are applied by their types: the instance has the type's name.
    fn applied(&mut self, types: BTreeSet<NodeId>, prefix: &str, depth: u32) {
        for id in types {
            let Some(block) = self.declarations.by_id(id) else {
                continue;
            };
            let name = match &block.kind {
                DeclarationKind::Control(control) => &control.name,
                DeclarationKind::Parser(parser) => &parser.name,
                _ => continue,
            };
            self.instance(block, &full(prefix, &name.text), depth + 1);
        }
    }

    fn block(&self, block: &'a Block, calls: &mut Calls) {
        for statement in &block.statements {
            self.statement(statement, calls);
        }
    }

    /// The calls of a statement that can run. The parser bounds how deep statements nest.
    fn statement(&self, statement: &'a Statement, calls: &mut Calls) {
        match &statement.kind {
            StatementKind::Call(call) => self.call(call, calls),
            StatementKind::Block(block) => self.block(block, calls),
            StatementKind::If {
                branches,
                otherwise,
            } => {
                for branch in branches {
                    let known = self.checked.constants.get(&branch.condition.id);
                    if known != Some(&Constant::Bool(false)) {
                        self.statement(&branch.body, calls);
                    }
                    if known == Some(&Constant::Bool(true)) {
                        return;
                    }
                }
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise, calls);
                }
            }
            StatementKind::Switch { cases, .. } => {
                for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                    self.block(body, calls);
                }
            }
            StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
                self.statement(body, calls);
            }
            _ => {}
        }
    }

    fn call(&self, call: &'a Expression, calls: &mut Calls) {
        let ExpressionKind::Call { callee, .. } = &call.kind else {
            return;
        };
        match self.checked.calls.get(&call.id).map(|call| call.target) {
            Some(Target::Action(id)) => {
                calls.actions.insert(id);
            }
            Some(Target::Apply(id)) => {
                if let ExpressionKind::Member { base, .. } = &callee.kind
                    && let Some(Type::Name(_)) = self.checked.types.get(&base.id)
                {
                    calls.types.insert(id);
                }
            }
            _ => {}
        }
    }
}

/// Callees of statements.
#[derive(Default)]
struct Calls {
    actions: BTreeSet<NodeId>,
    /// Parsers and controls applied by their types.
    types: BTreeSet<NodeId>,
}
