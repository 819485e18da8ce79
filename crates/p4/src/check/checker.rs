//! What the checker knows while it walks the tree.

use super::Checked;
use super::substitution::{substitute, substitution};
use crate::ast::{
    ActionReference, CompositeKind, Declaration, DeclarationKind, Expression, Field, Member,
    Method, Name, NodeId, Parameter, Program, State, TypeParameter,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::types::{Constant, Type};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// What a number of a node may stand for.
#[derive(Clone, Copy)]
pub(super) enum Entity<'a> {
    Declaration(&'a Declaration),
    Parameter(&'a Parameter),
    TypeParameter(&'a TypeParameter),
    State(&'a State),
    Field(&'a Field),
    Member(&'a Member),
    Method(&'a Method),
}

impl Entity<'_> {
    pub(super) fn id(self) -> NodeId {
        match self {
            Entity::Declaration(d) => d.id,
            Entity::Parameter(p) => p.id,
            Entity::TypeParameter(p) => p.id,
            Entity::State(s) => s.id,
            Entity::Field(f) => f.id,
            Entity::Member(m) => m.id,
            Entity::Method(m) => m.id,
        }
    }
}

/// Where the statement or declaration stands that is being looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    Top,
    ParserLocals,
    ParserState,
    ControlLocals,
    ControlApply,
    Action,
    Function,
    AbstractMethod,
    Extern,
}

/// A type to be inferred.
pub(super) struct Variable {
    pub(super) binding: Option<Type>,
    /// What it stands for: `T` of `extract`.
    pub(super) name: Arc<str>,
    pub(super) span: Span,
    /// Whether it was already complained of.
    pub(super) reported: bool,
}

/// The names of one scope. Only functions can have several meanings.
#[derive(Default)]
pub(super) struct Frame<'a> {
    pub(super) names: BTreeMap<&'a str, Vec<Entity<'a>>>,
}

/// What the checker remembers of a table.
#[derive(Default)]
pub(super) struct TableFacts<'a> {
    /// The types of the keys.
    pub(super) keys: Vec<Type>,
    /// The actions in the list, with the arguments that stand there.
    pub(super) actions: Vec<(NodeId, &'a ActionReference)>,
}

pub(super) struct Checker<'a> {
    pub(super) program: &'a Program,
    pub(super) diagnostics: &'a mut Diagnostics,
    pub(super) out: Checked,
    /// By node.
    pub(super) entities: Vec<Option<Entity<'a>>>,
    /// The innermost scope last.
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) errors: BTreeMap<&'a str, &'a Member>,
    pub(super) match_kinds: BTreeMap<&'a str, &'a Member>,
    pub(super) variables: Vec<Variable>,
    /// The first variable that was not yet looked after.
    pub(super) settled: usize,
    pub(super) context: Context,
    /// What a `return` here must give.
    pub(super) returns: Option<Type>,
    /// What encloses: for `this`, for where things may be called.
    pub(super) this: Option<Type>,
    /// Loops around.
    pub(super) loops: u32,
    /// Constructor parameters, whose values are known when an instance is made.
    pub(super) constructor_parameters: BTreeSet<NodeId>,
    /// Parameters through which parsers and controls are given something with each packet.
    pub(super) inputs: BTreeSet<NodeId>,
    /// How deep the node being looked at stands.
    pub(super) depth: u32,
    /// Tables: their keys and actions.
    pub(super) tables: BTreeMap<NodeId, TableFacts<'a>>,
    /// Extern functions and functions being checked: not yet visible.
    pub(super) in_table_properties: bool,
    /// How deep the types of a header, struct, union or new type nest.
    pub(super) nesting: BTreeMap<NodeId, u32>,
    /// Number of scalars of a type.
    pub(super) scalars: BTreeMap<Type, u64>,
    /// Minimum and maximum width of a type, bits.
    pub(super) sizes: BTreeMap<Type, Option<(u64, u64)>>,
}

/// Maximum nesting depth of expressions and types.
pub(super) const MAX_DEPTH: u32 = 250;
/// Maximum width of a number, bits.
pub(super) const MAX_WIDTH: u32 = 65_536;
/// Maximum number of elements of a header stack.
pub(super) const MAX_STACK_LEN: u32 = 65_536;
/// Maximum nesting depth of the types of fields.
pub(super) const MAX_TYPE_DEPTH: u32 = 100;
/// Maximum number of scalars of a type.
pub(super) const MAX_SCALARS: u64 = 1 << 18;

impl<'a> Checker<'a> {
    pub(super) fn new(program: &'a Program, diagnostics: &'a mut Diagnostics) -> Self {
        Checker {
            program,
            diagnostics,
            out: Checked::default(),
            entities: vec![None; program.nodes as usize + 1],
            frames: vec![Frame::default()],
            errors: BTreeMap::new(),
            match_kinds: BTreeMap::new(),
            variables: Vec::new(),
            settled: 0,
            context: Context::Top,
            returns: None,
            this: None,
            loops: 0,
            constructor_parameters: BTreeSet::new(),
            inputs: BTreeSet::new(),
            depth: 0,
            tables: BTreeMap::new(),
            in_table_properties: false,
            nesting: BTreeMap::new(),
            scalars: BTreeMap::new(),
            sizes: BTreeMap::new(),
        }
    }

    pub(super) fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.diagnostics
            .push(Diagnostic::error(code, span, message));
    }

    pub(super) fn warn(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.diagnostics
            .push(Diagnostic::warning(code, span, message));
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    pub(super) fn entity(&self, id: NodeId) -> Option<Entity<'a>> {
        self.entities.get(id.0 as usize).copied().flatten()
    }

    pub(super) fn register(&mut self, entity: Entity<'a>) {
        let index = entity.id().0 as usize;
        if index >= self.entities.len() {
            self.entities.resize(index + 1, None);
        }
        self.entities[index] = Some(entity);
    }

    pub(super) fn declaration(&self, id: NodeId) -> Option<&'a Declaration> {
        match self.entity(id)? {
            Entity::Declaration(d) => Some(d),
            _ => None,
        }
    }

    /// The type of a declared thing.
    pub(super) fn type_of(&self, id: NodeId) -> Type {
        self.out.types.get(&id).cloned().unwrap_or(Type::Unknown)
    }

    pub(super) fn record(&mut self, id: NodeId, ty: Type) {
        self.out.types.insert(id, ty);
    }

    pub(super) fn refer(&mut self, from: NodeId, to: NodeId) {
        self.out.references.insert(from, to);
    }

    pub(super) fn constant(&self, e: &Expression) -> Option<&Constant> {
        self.out.constants.get(&e.id)
    }

    /// The kind and fields of a header, struct or union.
    pub(super) fn composite(
        &self,
        id: NodeId,
    ) -> Option<(CompositeKind, &'a Name, &'a [TypeParameter], &'a [Field])> {
        match &self.declaration(id)?.kind {
            DeclarationKind::Composite {
                kind,
                name,
                type_parameters,
                fields,
            } => Some((*kind, name, type_parameters, fields)),
            _ => None,
        }
    }

    /// The fields of a header, struct or union with their types.
    pub(super) fn fields(&self, id: NodeId, arguments: &[Type]) -> Vec<(&'a Field, Type)> {
        let Some((_, _, parameters, fields)) = self.composite(id) else {
            return Vec::new();
        };
        let substitution = substitution(parameters, arguments);
        fields
            .iter()
            .map(|f| (f, substitute(&self.type_of(f.id), &substitution)))
            .collect()
    }

    pub(super) fn is_kind(&self, ty: &Type, wanted: CompositeKind) -> bool {
        matches!(ty, Type::Composite(id, _) if self.composite(*id).is_some_and(|c| c.0 == wanted))
    }

    /// What a serialisable enum is made of.
    pub(super) fn underlying(&self, id: NodeId) -> Option<Type> {
        match &self.declaration(id)?.kind {
            DeclarationKind::Enum {
                underlying: Some(ty),
                ..
            } => Some(self.type_of(ty.id)),
            _ => None,
        }
    }

    /// Runs with a scope of its own.
    pub(super) fn scoped<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.frames.push(Frame::default());
        let result = work(self);
        self.frames.pop();
        result
    }

    /// Guards against nesting without bound.
    pub(super) fn deeper<R>(
        &mut self,
        span: Span,
        otherwise: R,
        work: impl FnOnce(&mut Self) -> R,
    ) -> R {
        if self.depth >= MAX_DEPTH {
            self.error("too-deep", span, "this is nested too deeply");
            return otherwise;
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }
}

/// The name that a declaration gives, if it gives one.
pub(super) fn name_of(declaration: &Declaration) -> Option<&Name> {
    Some(match &declaration.kind {
        DeclarationKind::Constant { name, .. }
        | DeclarationKind::Variable { name, .. }
        | DeclarationKind::Instance { name, .. }
        | DeclarationKind::Extern { name, .. }
        | DeclarationKind::Action { name, .. }
        | DeclarationKind::Composite { name, .. }
        | DeclarationKind::Enum { name, .. }
        | DeclarationKind::Typedef { name, .. }
        | DeclarationKind::NewType { name, .. }
        | DeclarationKind::ParserType { name, .. }
        | DeclarationKind::ControlType { name, .. }
        | DeclarationKind::PackageType { name, .. }
        | DeclarationKind::ValueSet { name, .. } => name,
        DeclarationKind::ExternFunction(prototype)
        | DeclarationKind::Function { prototype, .. } => &prototype.name,
        DeclarationKind::Parser(parser) => &parser.name,
        DeclarationKind::Control(control) => &control.name,
        DeclarationKind::Table(table) => &table.name,
        DeclarationKind::Error { .. } | DeclarationKind::MatchKind { .. } => return None,
    })
}
