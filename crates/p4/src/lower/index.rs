//! Where in the tree the declaration of a number stands.

use crate::ast::{
    Block, Declaration, DeclarationKind, ForVariable, Member, Method, NodeId, Parameter, Program,
    Statement, StatementKind, TypeParameter,
};
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

/// Something that a name can stand for.
#[derive(Clone, Copy)]
pub(super) enum Node<'a> {
    Declaration(&'a Declaration),
    Parameter,
    Field,
    /// A method, and the extern it belongs to.
    Method(&'a Method, &'a Declaration),
    /// A member of an enum, `error` or `match_kind`: the declaration, and the place in it.
    Member(&'a Member, &'a Declaration, usize),
    State,
    TypeParameter,
}

/// All declarations by their number.
pub(super) struct Index<'a> {
    nodes: Vec<Option<Node<'a>>>,
    /// What is declared at the top level.
    pub top: BTreeSet<NodeId>,
    /// Parameters and variables of functions and actions: nothing outside reaches them.
    pub inner: BTreeSet<NodeId>,
    inside: bool,
    /// The members of all `error` declarations, in order.
    pub errors: Vec<NodeId>,
    /// The members of all `match_kind` declarations, in order.
    pub match_kinds: Vec<NodeId>,
}

impl<'a> Index<'a> {
    pub fn new(program: &'a Program) -> Self {
        let mut index = Index {
            nodes: vec![None; program.nodes as usize],
            top: program.declarations.iter().map(|d| d.id).collect(),
            inner: BTreeSet::new(),
            inside: false,
            errors: Vec::new(),
            match_kinds: Vec::new(),
        };
        for declaration in &program.declarations {
            index.declaration(declaration);
        }
        index
    }

    pub fn get(&self, id: NodeId) -> Option<Node<'a>> {
        self.nodes.get(id.0 as usize).copied().flatten()
    }

    fn set(&mut self, id: NodeId, node: Node<'a>) {
        if let Some(place) = self.nodes.get_mut(id.0 as usize) {
            *place = Some(node);
            if self.inside {
                self.inner.insert(id);
            }
        }
    }

    fn parameters(&mut self, parameters: &'a [Parameter]) {
        for parameter in parameters {
            self.set(parameter.id, Node::Parameter);
        }
    }

    fn type_parameters(&mut self, parameters: &'a [TypeParameter]) {
        for parameter in parameters {
            self.set(parameter.id, Node::TypeParameter);
        }
    }

    fn members(&mut self, declaration: &'a Declaration, members: &'a [Member]) {
        for (place, member) in members.iter().enumerate() {
            self.set(member.id, Node::Member(member, declaration, place));
        }
    }

    fn declaration(&mut self, declaration: &'a Declaration) {
        self.set(declaration.id, Node::Declaration(declaration));
        match &declaration.kind {
            DeclarationKind::Constant { .. }
            | DeclarationKind::Variable { .. }
            | DeclarationKind::Typedef { .. }
            | DeclarationKind::NewType { .. }
            | DeclarationKind::ValueSet { .. }
            | DeclarationKind::Table(_) => {}
            DeclarationKind::Instance { initializer, .. } => {
                for inner in initializer.iter().flatten() {
                    self.declaration(inner);
                }
            }
            DeclarationKind::Extern {
                type_parameters,
                methods,
                ..
            } => {
                self.type_parameters(type_parameters);
                for method in methods {
                    self.set(method.id, Node::Method(method, declaration));
                    self.type_parameters(&method.prototype.type_parameters);
                    self.parameters(&method.prototype.parameters);
                }
            }
            DeclarationKind::ExternFunction(prototype) => {
                self.type_parameters(&prototype.type_parameters);
                self.parameters(&prototype.parameters);
            }
            DeclarationKind::Function { prototype, body } => {
                self.inside = true;
                self.type_parameters(&prototype.type_parameters);
                self.parameters(&prototype.parameters);
                self.block(body);
                self.inside = false;
            }
            DeclarationKind::Action {
                parameters, body, ..
            } => {
                self.inside = true;
                self.parameters(parameters);
                self.block(body);
                self.inside = false;
            }
            DeclarationKind::Composite {
                type_parameters,
                fields,
                ..
            } => {
                self.type_parameters(type_parameters);
                for field in fields {
                    self.set(field.id, Node::Field);
                }
            }
            DeclarationKind::Enum { members, .. } => self.members(declaration, members),
            DeclarationKind::Error { members } => {
                self.members(declaration, members);
                self.errors.extend(members.iter().map(|m| m.id));
            }
            DeclarationKind::MatchKind { members } => {
                self.members(declaration, members);
                self.match_kinds.extend(members.iter().map(|m| m.id));
            }
            DeclarationKind::ParserType {
                type_parameters,
                parameters,
                ..
            }
            | DeclarationKind::ControlType {
                type_parameters,
                parameters,
                ..
            }
            | DeclarationKind::PackageType {
                type_parameters,
                parameters,
                ..
            } => {
                self.type_parameters(type_parameters);
                self.parameters(parameters);
            }
            DeclarationKind::Parser(parser) => {
                self.type_parameters(&parser.type_parameters);
                self.parameters(&parser.parameters);
                self.parameters(&parser.constructor_parameters);
                for local in &parser.locals {
                    self.declaration(local);
                }
                for state in &parser.states {
                    self.set(state.id, Node::State);
                    self.statements(&state.statements);
                }
            }
            DeclarationKind::Control(control) => {
                self.type_parameters(&control.type_parameters);
                self.parameters(&control.parameters);
                self.parameters(&control.constructor_parameters);
                for local in &control.locals {
                    self.declaration(local);
                }
                self.block(&control.apply);
            }
        }
    }

    fn block(&mut self, block: &'a Block) {
        self.statements(&block.statements);
    }

    fn statements(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Declaration(declaration) => self.declaration(declaration),
            StatementKind::Block(block) => self.block(block),
            StatementKind::If {
                branches,
                otherwise,
            } => {
                for branch in branches {
                    self.statement(&branch.body);
                }
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise);
                }
            }
            StatementKind::Switch { cases, .. } => {
                for case in cases {
                    if let Some(body) = &case.body {
                        self.block(body);
                    }
                }
            }
            StatementKind::For {
                initial,
                update,
                body,
                ..
            } => {
                self.statements(initial);
                self.statements(update);
                self.statement(body);
            }
            StatementKind::ForIn { variable, body, .. } => {
                if let ForVariable::Declared(declaration) = variable {
                    self.declaration(declaration);
                }
                self.statement(body);
            }
            _ => {}
        }
    }
}
