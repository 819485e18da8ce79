//! What a program declares and where its names are used.

use crate::ast::{
    Block, Declaration, DeclarationKind, Expression, ExpressionKind, ForVariable, Method, Name,
    NodeId, Parameter, Program, Prototype, State, Statement, StatementKind, TablePropertyKind,
    Transition, TypeExpression, TypeExpressionKind, TypeParameter,
};
use crate::print;
use crate::source::Span;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A header, struct, union, typedef, extern, parser, control or package type.
    Type,
    Enum,
    /// A member of an enum, `error` or `match_kind`.
    Member,
    /// A field of a header, struct or union.
    Field,
    Constant,
    /// A variable or parameter.
    Variable,
    /// A function, action or extern function.
    Function,
    /// A method of an extern.
    Method,
    /// A parser or control with a body.
    Block,
    Table,
    /// A parser's state.
    State,
    Instance,
    /// A word of the language.
    Keyword,
}

/// Something with a name.
#[derive(Clone, Debug)]
pub struct Definition {
    pub name: Arc<str>,
    /// Where the name stands.
    pub span: Span,
    /// The whole of it.
    pub full: Span,
    pub kind: Kind,
    /// Its head as P4 writes it.
    pub detail: String,
    /// Inside what it is declared.
    pub parent: Option<NodeId>,
    /// Where it can be used by its name alone; empty for fields, members and methods.
    pub visible: Span,
    /// The node whose type is its own.
    pub ty: Option<NodeId>,
}

/// All names of a program.
#[derive(Debug, Default)]
pub struct Index {
    /// By node.
    pub definitions: BTreeMap<NodeId, Definition>,
    /// Where names are used: the place and the node that has a reference.
    pub uses: Vec<(Span, NodeId)>,
    /// Expressions, for their types.
    pub expressions: Vec<(Span, NodeId)>,
    parents: Vec<NodeId>,
    /// Where the innermost scope ends.
    ends: Vec<u32>,
}

impl Index {
    /// The index of a program.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let mut index = Index::default();
        for declaration in &program.declarations {
            index.declaration(declaration);
        }
        index
    }

    fn define(
        &mut self,
        id: NodeId,
        name: &Name,
        full: Span,
        kind: Kind,
        detail: String,
        ty: Option<NodeId>,
    ) {
        let end = self.ends.last().copied().unwrap_or(u32::MAX);
        let by_name = !matches!(kind, Kind::Field | Kind::Member | Kind::Method);
        let start = if kind == Kind::State {
            // States are known in all of their parser.
            self.parents
                .last()
                .and_then(|p| self.definitions.get(p))
                .map_or(full.start, |p| p.full.start)
        } else {
            full.start
        };
        let visible = if by_name {
            Span { start, end }
        } else {
            Span::default()
        };
        let definition = Definition {
            name: name.text.clone(),
            span: name.span,
            full,
            kind,
            detail,
            parent: self.parents.last().copied(),
            visible,
            ty,
        };
        self.definitions.insert(id, definition);
    }

    fn within(&mut self, id: NodeId, full: Span, read: impl FnOnce(&mut Self)) {
        self.parents.push(id);
        self.ends.push(full.end);
        read(self);
        self.ends.pop();
        self.parents.pop();
    }

    fn declaration(&mut self, declaration: &Declaration) {
        use DeclarationKind as D;
        let (id, full) = (declaration.id, declaration.span);
        let head = || print::head(declaration);
        match &declaration.kind {
            D::Constant { ty, name, value } => {
                self.define(id, name, full, Kind::Constant, head(), Some(ty.id));
                self.ty(ty);
                self.expression(value);
            }
            D::Variable { ty, name, value } => {
                self.define(id, name, full, Kind::Variable, head(), Some(ty.id));
                self.ty(ty);
                value.iter().for_each(|v| self.expression(v));
            }
            D::Instance {
                ty,
                arguments,
                name,
                initializer,
            } => {
                self.define(id, name, full, Kind::Instance, head(), Some(ty.id));
                self.ty(ty);
                arguments.iter().for_each(|a| self.expression(&a.value));
                self.within(id, full, |index| {
                    initializer
                        .iter()
                        .flatten()
                        .for_each(|d| index.declaration(d));
                });
            }
            D::Extern {
                name,
                type_parameters,
                methods,
            } => {
                self.define(id, name, full, Kind::Type, head(), None);
                self.within(id, full, |index| {
                    index.type_parameters(type_parameters);
                    methods.iter().for_each(|m| index.method(m));
                });
            }
            D::ExternFunction(prototype) => {
                self.define(id, &prototype.name, full, Kind::Function, head(), None);
                self.within(id, full, |index| index.prototype(prototype));
            }
            D::Function { prototype, body } => {
                self.define(id, &prototype.name, full, Kind::Function, head(), None);
                self.within(id, full, |index| {
                    index.prototype(prototype);
                    index.block(id, body);
                });
            }
            D::Action {
                name,
                parameters,
                body,
            } => {
                self.define(id, name, full, Kind::Function, head(), None);
                self.within(id, full, |index| {
                    index.parameters(parameters);
                    index.block(id, body);
                });
            }
            D::Composite {
                name,
                type_parameters,
                fields,
                ..
            } => {
                self.define(id, name, full, Kind::Type, head(), None);
                self.within(id, full, |index| {
                    index.type_parameters(type_parameters);
                    for field in fields {
                        let detail =
                            format!("{} {}", print::type_expression(&field.ty), field.name.text);
                        let whole = field.ty.span.to(field.name.span);
                        index.define(
                            field.id,
                            &field.name,
                            whole,
                            Kind::Field,
                            detail,
                            Some(field.ty.id),
                        );
                        index.ty(&field.ty);
                    }
                });
            }
            D::Enum {
                name,
                underlying,
                members,
            } => {
                self.define(id, name, full, Kind::Enum, head(), None);
                underlying.iter().for_each(|t| self.ty(t));
                let of = name.text.to_string();
                self.members(id, full, members, &of);
            }
            D::Error { members } => self.members(id, full, members, "error"),
            D::MatchKind { members } => self.members(id, full, members, "match_kind"),
            D::Typedef { ty, name } | D::NewType { ty, name } => {
                self.define(id, name, full, Kind::Type, head(), Some(ty.id));
                self.ty(ty);
            }
            D::ParserType {
                name,
                type_parameters,
                parameters,
            }
            | D::ControlType {
                name,
                type_parameters,
                parameters,
            }
            | D::PackageType {
                name,
                type_parameters,
                parameters,
            } => {
                self.define(id, name, full, Kind::Type, head(), None);
                self.within(id, full, |index| {
                    index.type_parameters(type_parameters);
                    index.parameters(parameters);
                });
            }
            D::Parser(parser) => {
                self.define(id, &parser.name, full, Kind::Block, head(), None);
                self.within(id, full, |index| {
                    index.type_parameters(&parser.type_parameters);
                    index.parameters(&parser.parameters);
                    index.parameters(&parser.constructor_parameters);
                    parser.locals.iter().for_each(|d| index.declaration(d));
                    parser.states.iter().for_each(|s| index.state(s));
                });
            }
            D::Control(control) => {
                self.define(id, &control.name, full, Kind::Block, head(), None);
                self.within(id, full, |index| {
                    index.type_parameters(&control.type_parameters);
                    index.parameters(&control.parameters);
                    index.parameters(&control.constructor_parameters);
                    control.locals.iter().for_each(|d| index.declaration(d));
                    index.block(id, &control.apply);
                });
            }
            D::ValueSet {
                element,
                size,
                name,
            } => {
                self.define(id, name, full, Kind::Instance, head(), None);
                self.ty(element);
                self.expression(size);
            }
            D::Table(table) => {
                self.define(id, &table.name, full, Kind::Table, head(), None);
                for property in &table.properties {
                    match &property.kind {
                        TablePropertyKind::Key(list) => list.iter().for_each(|k| {
                            self.expression(&k.expression);
                            self.uses.push((k.match_kind.span, k.id));
                        }),
                        TablePropertyKind::Actions(list) => {
                            list.iter().for_each(|a| self.expression(&a.action));
                        }
                        TablePropertyKind::Entries(list) => list.iter().for_each(|e| {
                            self.expression(&e.keyset);
                            self.expression(&e.action);
                        }),
                        TablePropertyKind::Other { value, .. } => self.expression(value),
                    }
                }
            }
        }
    }

    fn members(&mut self, id: NodeId, full: Span, members: &[crate::ast::Member], of: &str) {
        self.within(id, full, |index| {
            for member in members {
                let value = member.value.as_ref().map(print::expression);
                let value = value.map_or(String::new(), |v| format!(" = {v}"));
                let detail = format!("{of}.{}{value}", member.name.text);
                index.define(
                    member.id,
                    &member.name,
                    member.name.span,
                    Kind::Member,
                    detail,
                    None,
                );
                member.value.iter().for_each(|v| index.expression(v));
            }
        });
    }

    fn method(&mut self, method: &Method) {
        let prototype = &method.prototype;
        let detail = print::prototype(prototype, method.is_constructor);
        self.define(
            method.id,
            &prototype.name,
            method.span,
            Kind::Method,
            detail,
            None,
        );
        self.within(method.id, method.span, |index| index.prototype(prototype));
    }

    fn prototype(&mut self, prototype: &Prototype) {
        self.type_parameters(&prototype.type_parameters);
        self.ty(&prototype.result);
        self.parameters(&prototype.parameters);
    }

    fn type_parameters(&mut self, list: &[TypeParameter]) {
        for parameter in list {
            let detail = format!("type parameter {}", parameter.name.text);
            self.define(
                parameter.id,
                &parameter.name,
                parameter.name.span,
                Kind::Type,
                detail,
                None,
            );
        }
    }

    fn parameters(&mut self, list: &[Parameter]) {
        for parameter in list {
            let full = parameter.ty.span.to(parameter.name.span);
            let detail = print::parameter(parameter);
            self.define(
                parameter.id,
                &parameter.name,
                full,
                Kind::Variable,
                detail,
                Some(parameter.ty.id),
            );
            self.ty(&parameter.ty);
            parameter.default.iter().for_each(|d| self.expression(d));
        }
    }

    fn state(&mut self, state: &State) {
        let detail = format!("state {}", state.name.text);
        self.define(state.id, &state.name, state.span, Kind::State, detail, None);
        self.within(state.id, state.span, |index| {
            state.statements.iter().for_each(|s| index.statement(s));
            match &state.transition {
                Some(Transition::Direct(next)) => index.uses.push((next.name.span, next.id)),
                Some(Transition::Select {
                    selectors, cases, ..
                }) => {
                    selectors.iter().for_each(|e| index.expression(e));
                    for case in cases {
                        index.expression(&case.keyset);
                        index.uses.push((case.next.name.span, case.next.id));
                    }
                }
                None => {}
            }
        });
    }

    fn block(&mut self, of: NodeId, block: &Block) {
        self.ends.push(block.span.end);
        self.parents.push(of);
        block.statements.iter().for_each(|s| self.statement(s));
        self.parents.pop();
        self.ends.pop();
    }

    fn statement(&mut self, statement: &Statement) {
        use StatementKind as S;
        let of = self.parents.last().copied().unwrap_or_default();
        match &statement.kind {
            S::Block(block) => self.block(of, block),
            S::Declaration(declaration) => self.declaration(declaration),
            S::Assign { target, value, .. } => {
                self.expression(target);
                self.expression(value);
            }
            S::Call(call) => self.expression(call),
            S::If {
                branches,
                otherwise,
            } => {
                for branch in branches {
                    self.expression(&branch.condition);
                    self.statement(&branch.body);
                }
                otherwise.iter().for_each(|last| self.statement(last));
            }
            S::Switch { value, cases } => {
                self.expression(value);
                for case in cases {
                    self.expression(&case.label);
                    case.body.iter().for_each(|b| self.block(of, b));
                }
            }
            S::Return(Some(value)) => self.expression(value),
            S::For {
                initial,
                condition,
                update,
                body,
                ..
            } => {
                self.ends.push(statement.span.end);
                initial.iter().for_each(|s| self.statement(s));
                self.expression(condition);
                update.iter().for_each(|s| self.statement(s));
                self.statement(body);
                self.ends.pop();
            }
            S::ForIn {
                variable,
                collection,
                body,
                ..
            } => {
                self.ends.push(statement.span.end);
                match variable {
                    ForVariable::Declared(declaration) => self.declaration(declaration),
                    ForVariable::Existing(target) => self.expression(target),
                }
                self.expression(collection);
                self.statement(body);
                self.ends.pop();
            }
            S::Empty | S::Return(None) | S::Exit | S::Break | S::Continue => {}
        }
    }

    fn expression(&mut self, expression: &Expression) {
        use ExpressionKind as E;
        self.expressions.push((expression.span, expression.id));
        match &expression.kind {
            E::Path { name, .. } => self.uses.push((name.span, expression.id)),
            E::Type(ty) => self.ty(ty),
            E::Member { base, member } => {
                self.expression(base);
                self.uses.push((member.span, expression.id));
            }
            E::Index { base, index } => {
                self.expression(base);
                self.expression(index);
            }
            E::Slice { base, high, low } => {
                [base, high, low]
                    .into_iter()
                    .for_each(|e| self.expression(e));
            }
            E::PlusSlice { base, low, width } => {
                [base, low, width]
                    .into_iter()
                    .for_each(|e| self.expression(e));
            }
            E::List { elements, .. } => elements.iter().for_each(|e| self.expression(e)),
            E::Struct { fields, .. } => fields.iter().for_each(|f| self.expression(&f.1)),
            E::Unary { operand, .. } => self.expression(operand),
            E::Binary { left, right, .. } => {
                self.expression(left);
                self.expression(right);
            }
            E::Conditional { condition, yes, no } => {
                [condition, yes, no]
                    .into_iter()
                    .for_each(|e| self.expression(e));
            }
            E::Cast { ty, operand } => {
                self.ty(ty);
                self.expression(operand);
            }
            E::Call {
                callee,
                type_arguments,
                arguments,
            } => {
                self.expression(callee);
                type_arguments.iter().for_each(|t| self.ty(t));
                arguments.iter().for_each(|a| self.expression(&a.value));
            }
            E::Mask { value, mask } => {
                self.expression(value);
                self.expression(mask);
            }
            E::Range { low, high } => {
                self.expression(low);
                self.expression(high);
            }
            _ => {}
        }
    }

    fn ty(&mut self, ty: &TypeExpression) {
        use TypeExpressionKind as T;
        match &ty.kind {
            T::Bit(Some(width)) | T::Signed(width) | T::Varbit(width) => self.expression(width),
            T::Named { name, .. } => self.uses.push((name.span, ty.id)),
            T::Specialized { base, arguments } => {
                self.ty(base);
                arguments.iter().for_each(|a| self.ty(a));
            }
            T::Stack { base, size } => {
                self.ty(base);
                self.expression(size);
            }
            T::Tuple(elements) => elements.iter().for_each(|e| self.ty(e)),
            T::List(element) => self.ty(element),
            _ => {}
        }
    }
}
