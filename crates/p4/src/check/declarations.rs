//! Declarations (specification 7.2 and 11).

use super::calls::is_optional;
use super::checker::{Checker, Entity, Place};
use super::type_expressions::{ApplicableKind, kind_name};
use crate::ast::{
    Argument, Block, CompositeKind, Control, Declaration, DeclarationKind, Direction, Expression,
    Field, Member, Method, Name, NodeId, Parameter, Prototype, TypeExpression, TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::One;

/// What has parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameters {
    Function,
    Action,
    Method,
    Applied,
    Constructor,
    Package,
}

impl<'a> Checker<'a> {
    /// A declaration at the top of the program.
    pub(super) fn top_level(&mut self, declaration: &'a Declaration) {
        self.place = Place::Top;
        self.declaration_here(declaration);
        self.settle();
        if let DeclarationKind::Instance { name, .. } = &declaration.kind
            && &*name.text == "main"
        {
            self.out.main = Some(declaration.id);
        }
    }

    /// A declaration at any place: its name is known from its end on.
    pub(super) fn declaration_here(&mut self, declaration: &'a Declaration) {
        self.register(Entity::Declaration(declaration));
        self.annotations(&declaration.annotations);
        let entity = Entity::Declaration(declaration);
        match &declaration.kind {
            DeclarationKind::Constant { ty, name, value } => {
                self.constant_declaration(declaration, ty, value);
                self.declare(name, entity);
            }
            DeclarationKind::Variable { ty, name, value } => {
                self.variable(declaration, ty, name, value.as_ref());
                self.declare(name, entity);
            }
            DeclarationKind::Instance {
                ty,
                arguments,
                name,
                initializer,
            } => {
                self.instance(declaration, ty, arguments, initializer.as_deref(), name);
                self.declare(name, entity);
            }
            DeclarationKind::Extern {
                name,
                type_parameters,
                methods,
            } => {
                self.extern_object(name, type_parameters, methods);
                self.declare(name, entity);
            }
            DeclarationKind::ExternFunction(prototype) => {
                self.scoped(|checker| {
                    checker.prototype(prototype, Parameters::Method);
                });
                self.declare(&prototype.name, entity);
            }
            DeclarationKind::Function { prototype, body } => {
                self.function(prototype, body, Place::Function);
                self.declare(&prototype.name, entity);
            }
            DeclarationKind::Action {
                name,
                parameters,
                body,
            } => {
                self.action(parameters, body);
                self.declare(name, entity);
            }
            DeclarationKind::Composite {
                kind,
                name,
                type_parameters,
                fields,
            } => {
                self.composite_type(declaration.id, *kind, type_parameters, fields);
                self.declare(name, entity);
            }
            DeclarationKind::Enum {
                name,
                underlying,
                members,
            } => {
                self.enumeration(declaration, underlying.as_ref(), members);
                self.declare(name, entity);
            }
            DeclarationKind::Error { members } => self.union_of(members, true),
            DeclarationKind::MatchKind { members } => self.union_of(members, false),
            DeclarationKind::Typedef { ty, name } => {
                let resolved = self.resolve_open(ty);
                if matches!(resolved, Type::Composite(..)) {
                    self.resolve(ty);
                }
                if self.is_open(&resolved) {
                    self.error(
                        "dont-care-type",
                        ty.span,
                        "`_` cannot stand in a declared type",
                    );
                }
                if matches!(resolved, Type::Void) {
                    self.error("typedef", ty.span, "`void` cannot be given another name");
                }
                self.record(declaration.id, resolved);
                self.declare(name, entity);
            }
            DeclarationKind::NewType { ty, name } => {
                self.new_type(declaration, ty);
                self.declare(name, entity);
            }
            DeclarationKind::ParserType {
                name,
                type_parameters,
                parameters,
            }
            | DeclarationKind::ControlType {
                name,
                type_parameters,
                parameters,
            } => {
                self.scoped(|checker| {
                    checker.type_parameters_here(type_parameters);
                    checker.parameters(parameters, Parameters::Applied);
                });
                self.declare(name, entity);
            }
            DeclarationKind::PackageType {
                name,
                type_parameters,
                parameters,
            } => {
                self.scoped(|checker| {
                    checker.type_parameters_here(type_parameters);
                    checker.parameters(parameters, Parameters::Package);
                });
                self.declare(name, entity);
            }
            DeclarationKind::Parser(parser) => {
                self.parser(parser);
                self.declare(&parser.name, entity);
            }
            DeclarationKind::Control(control) => {
                self.control(control);
                self.declare(&control.name, entity);
            }
            DeclarationKind::ValueSet {
                element,
                size,
                name,
            } => {
                self.value_set(declaration, element, size);
                self.declare(name, entity);
            }
            DeclarationKind::Table(table) => {
                self.declare(&table.name, entity);
                self.table(declaration, table);
            }
        }
    }

    pub(super) fn type_parameters_here(&mut self, parameters: &'a [TypeParameter]) {
        for parameter in parameters {
            self.record(parameter.id, Type::Parameter(parameter.id));
            self.declare(&parameter.name, Entity::TypeParameter(parameter));
        }
    }

    /// The type parameters, result and parameters of a function.
    fn prototype(&mut self, prototype: &'a Prototype, kind: Parameters) {
        self.type_parameters_here(&prototype.type_parameters);
        let result = self.resolve(&prototype.result);
        let wrong = match &result {
            Type::Object(id, _) => !self.is_extern(*id),
            Type::String | Type::Integer => self.place == Place::Extern,
            Type::Set(_) => true,
            _ => self.is_open(&result),
        };
        if wrong {
            let text = self.show(&result);
            self.error(
                "result-type",
                prototype.result.span,
                format!("`{}` cannot return `{text}`", prototype.name.text),
            );
        }
        self.parameters(&prototype.parameters, kind);
    }

    /// Parameters: their types, directions and default values (6.8, 7.2.x).
    pub(super) fn parameters(&mut self, parameters: &'a [Parameter], kind: Parameters) {
        let mut default_before = None;
        for parameter in parameters {
            self.annotations(&parameter.annotations);
            let ty = self.resolve(&parameter.ty);
            self.record(parameter.id, ty.clone());
            self.parameter_type(parameter, &ty, kind);
            if let Some(default) = &parameter.default {
                default_before = Some(parameter);
                match parameter.direction {
                    Direction::Out | Direction::InOut => self.error(
                        "default-argument",
                        default.span,
                        "a parameter that is written to cannot have a default value",
                    ),
                    Direction::In | Direction::None => {}
                }
                if is_optional(parameter) {
                    self.error(
                        "default-argument",
                        parameter.name.span,
                        format!(
                            "`{}` is `@optional` and cannot have a default value too",
                            parameter.name.text
                        ),
                    );
                }
                // The default of a package's parameter may be what only some type arguments allow.
                let wanted = if kind == Parameters::Package {
                    self.opened(&ty)
                } else {
                    ty.clone()
                };
                self.value_of(default, &wanted);
                if !self.is_compile_time(default) {
                    self.error(
                        "not-constant",
                        default.span,
                        "a default value must be known while compiling",
                    );
                }
            }
            if is_optional(parameter)
                && !(self.place == Place::Extern && kind == Parameters::Constructor)
                && !matches!(
                    kind,
                    Parameters::Package | Parameters::Applied | Parameters::Method
                )
            {
                self.error(
                    "optional",
                    parameter.name.span,
                    "only parameters of packages, parsers, controls and externs can be `@optional`",
                );
            }
            if kind == Parameters::Applied
                && matches!(parameter.direction, Direction::In | Direction::InOut)
            {
                self.inputs.insert(parameter.id);
            }
            if kind == Parameters::Constructor {
                self.constructor_parameters.insert(parameter.id);
            }
            self.declare(&parameter.name, Entity::Parameter(parameter));
        }
        let _ = default_before;
        if kind == Parameters::Action {
            let mut last_plain: Option<&Parameter> = None;
            for parameter in parameters {
                if parameter.direction == Direction::None {
                    last_plain = Some(parameter);
                } else if let Some(plain) = last_plain {
                    self.tell(
                        Diagnostic::error(
                            "parameter-order",
                            plain.name.span,
                            "parameters without a direction come last: the control plane gives them",
                        )
                        .note(parameter.name.span, "this one has a direction"),
                    );
                    break;
                }
            }
        }
    }

    fn parameter_type(&mut self, parameter: &'a Parameter, ty: &Type, kind: Parameters) {
        let has_direction = parameter.direction != Direction::None;
        let text = self.show(ty);
        let name = &parameter.name.text;
        let message = match ty {
            _ if has_direction && matches!(kind, Parameters::Constructor | Parameters::Package) => {
                Some("constructor parameters have no direction".into())
            }
            Type::Void => Some(format!("`{name}` cannot be `void`")),
            Type::Integer if has_direction => {
                Some(format!("`{name}` is `int`, and can have no direction"))
            }
            Type::String if has_direction => {
                Some(format!("`{name}` is `string`, and can have no direction"))
            }
            Type::Object(..) if has_direction => {
                Some(format!("`{name}` is `{text}`, and can have no direction"))
            }
            Type::Object(..) | Type::String | Type::Integer if kind == Parameters::Action => {
                Some(format!("`{name}` of an action cannot be `{text}`"))
            }
            Type::Object(id, _) => match self.applicable(*id) {
                Some(applicable)
                    if applicable.kind == ApplicableKind::Package
                        && kind != Parameters::Package =>
                {
                    Some(format!("`{name}` cannot be the package `{text}`"))
                }
                Some(applicable)
                    if self.place == Place::Extern
                        || !matches!(kind, Parameters::Constructor | Parameters::Package)
                        || (!applicable.is_type && applicable.kind != ApplicableKind::Package) =>
                {
                    Some(format!("`{name}` cannot be `{text}`"))
                }
                _ => None,
            },
            Type::Set(_) => Some(format!("`{name}` cannot be a value set")),
            _ if self.is_open(ty) => Some("`_` cannot be the type of a parameter".into()),
            _ => None,
        };
        if let Some(message) = message {
            self.error("parameter-type", parameter.ty.span, message);
        }
    }

    fn constant_declaration(
        &mut self,
        declaration: &'a Declaration,
        ty: &'a TypeExpression,
        value: &'a Expression,
    ) {
        let resolved = self.resolve(ty);
        if self.is_open(&resolved) {
            self.error(
                "dont-care-type",
                ty.span,
                "`_` cannot stand in the type of a constant",
            );
        }
        if matches!(resolved, Type::Object(..) | Type::Void | Type::Set(_)) {
            let text = self.show(&resolved);
            self.error(
                "constant-type",
                ty.span,
                format!("a constant cannot be `{text}`"),
            );
        }
        let good = self.value_of(value, &resolved);
        self.record(declaration.id, resolved.clone());
        if !good {
            return;
        }
        match self.cast_value(value) {
            Some(constant) => {
                let constant = self.cast_constant(&constant, &resolved).unwrap_or(constant);
                self.out.constants.insert(declaration.id, constant);
            }
            None if !matches!(resolved, Type::Unknown) && !self.is_compile_time(value) => {
                self.error(
                    "not-constant",
                    value.span,
                    "the value of a constant must be known while compiling",
                );
            }
            None => {}
        }
    }

    pub(super) fn variable(
        &mut self,
        declaration: &'a Declaration,
        ty: &'a TypeExpression,
        name: &'a Name,
        value: Option<&'a Expression>,
    ) {
        let resolved = self.resolve(ty);
        if self.place == Place::Top {
            self.error(
                "variable-placement",
                name.span,
                "a variable cannot be declared at the top of a program",
            );
        }
        let wrong = match &resolved {
            Type::Object(..)
            | Type::Void
            | Type::Integer
            | Type::String
            | Type::Set(_)
            | Type::MatchKind
            | Type::List(_) => true,
            _ => self.is_open(&resolved),
        };
        if wrong {
            let text = self.show(&resolved);
            let mut diagnostic = Diagnostic::error(
                "variable-type",
                ty.span,
                format!("a variable cannot be `{text}`"),
            );
            match &resolved {
                Type::Object(..) => {
                    diagnostic = diagnostic.help("write an instance: `Type() name;`")
                }
                Type::Integer => {
                    diagnostic = diagnostic.help("give it a width, or make it a `const`")
                }
                _ => {}
            }
            self.tell(diagnostic);
        }
        if let Some(value) = value {
            self.value_of(value, &resolved);
        }
        self.record(declaration.id, resolved);
    }

    fn instance(
        &mut self,
        declaration: &'a Declaration,
        ty: &'a TypeExpression,
        arguments: &'a [Argument],
        initializer: Option<&'a [Declaration]>,
        name: &'a Name,
    ) {
        let resolved = self.resolve_open(ty);
        let made = self.construct_at(
            declaration.id,
            declaration.span,
            &resolved,
            &[],
            arguments,
            ty.span,
            true,
        );
        self.record(declaration.id, made.clone());
        self.record(ty.id, made.clone());
        let mut object_type = &made;
        if let Type::Stack(element, _) = object_type {
            object_type = element;
        }
        let Type::Object(object, given) = object_type else {
            return;
        };
        self.instance_placement(declaration, *object, name);
        for argument in arguments {
            if !self.is_compile_time(&argument.value) {
                self.error(
                    "not-constant",
                    argument.span,
                    "the arguments of a constructor must be known while compiling",
                );
            }
        }
        let methods = self.methods(*object);
        if initializer.is_some() && !self.is_extern(*object) {
            self.error(
                "initializer",
                declaration.span,
                "only instances of externs can implement abstract methods",
            );
            return;
        }
        if let Some(initializer) = initializer {
            if !methods.iter().any(|m| m.is_abstract) {
                let text = self.show(&made);
                self.error(
                    "initializer",
                    name.span,
                    format!("`{text}` has no abstract methods to implement"),
                );
            }
            self.implementations(&made, initializer, methods, given);
        }
        let required = |method: &&Method| {
            method.is_abstract
                && !method
                    .annotations
                    .iter()
                    .any(|a| &*a.name.text == "optional")
        };
        for method in methods.iter().filter(required) {
            let wanted = &method.prototype;
            let implemented = initializer.unwrap_or_default().iter().any(|d| {
                matches!(&d.kind, DeclarationKind::Function { prototype, .. } if prototype.name.text == wanted.name.text)
            });
            if !implemented {
                self.tell(
                    Diagnostic::error(
                        "abstract",
                        name.span,
                        format!(
                            "the abstract method `{}` is not implemented",
                            wanted.name.text
                        ),
                    )
                    .note(wanted.name.span, "declared here"),
                );
            }
        }
    }

    fn instance_placement(
        &mut self,
        declaration: &'a Declaration,
        object: crate::ast::NodeId,
        name: &Name,
    ) {
        let kind = self.applicable(object).map(|a| a.kind);
        let what = self.show(&Type::Object(object, Vec::new()));
        let message = match (self.place, kind) {
            (Place::Function | Place::AbstractMethod | Place::Extern, _) => {
                Some("an instance cannot be made in a function or method".into())
            }
            (Place::Action, _) => Some("an instance cannot be made in an action".into()),
            (Place::ControlApply, _) => {
                Some("an instance cannot be made in a control's `apply`".into())
            }
            (Place::ParserState, _) => {
                Some("an instance cannot be made in a parser's state".into())
            }
            (Place::Top, Some(ApplicableKind::Parser | ApplicableKind::Control)) => Some(format!(
                "`{what}` cannot be instantiated at the top of a program"
            )),
            (Place::ControlLocals, Some(ApplicableKind::Parser)) => Some(format!(
                "the parser `{what}` cannot be instantiated in a control"
            )),
            (Place::ParserLocals, Some(ApplicableKind::Control)) => Some(format!(
                "the control `{what}` cannot be instantiated in a parser"
            )),
            (Place::ParserLocals | Place::ControlLocals, Some(ApplicableKind::Package)) => Some(
                format!("the package `{what}` can be instantiated only at the top of a program"),
            ),
            _ => None,
        };
        let _ = declaration;
        if let Some(message) = message {
            self.error("instance-placement", name.span, message);
        }
    }

    /// The implementations of abstract methods.
    fn implementations(
        &mut self,
        made: &Type,
        initializer: &'a [Declaration],
        methods: &'a [Method],
        given: &[Type],
    ) {
        let Type::Object(object, _) = made else {
            return;
        };
        let outer = super::inference::substitution(self.type_parameters(*object), given);
        let (this, place) = (self.this.replace(made.clone()), self.place);
        self.scoped(|checker| {
            for inner in initializer {
                match &inner.kind {
                    DeclarationKind::Function { prototype, body } => {
                        checker.register(Entity::Declaration(inner));
                        let wanted = methods.iter().find(|m| {
                            m.prototype.name.text == prototype.name.text
                                && !m.is_constructor
                                && m.prototype.parameters.len() == prototype.parameters.len()
                        });
                        let wanted = wanted.or_else(|| {
                            methods.iter().find(|m| {
                                m.prototype.name.text == prototype.name.text && !m.is_constructor
                            })
                        });
                        checker.function(prototype, body, Place::AbstractMethod);
                        match wanted {
                            Some(method) if method.is_abstract => {
                                checker.same_method(prototype, method, &outer)
                            }
                            Some(method) => checker.tell(
                                Diagnostic::error(
                                    "abstract",
                                    prototype.name.span,
                                    format!(
                                        "the method `{}` is not abstract and cannot be implemented",
                                        prototype.name.text
                                    ),
                                )
                                .note(method.prototype.name.span, "declared here"),
                            ),
                            None => checker.error(
                                "abstract",
                                prototype.name.span,
                                format!(
                                    "there is no abstract method `{}` to implement",
                                    prototype.name.text
                                ),
                            ),
                        }
                        checker.declare(&prototype.name, Entity::Declaration(inner));
                    }
                    _ => {
                        checker.place = place;
                        checker.declaration_here(inner);
                    }
                }
            }
        });
        self.this = this;
        self.place = place;
    }

    /// Whether an implementation has the type of its abstract method.
    fn same_method(
        &mut self,
        mine: &'a Prototype,
        method: &'a Method,
        outer: &super::checker::Substitution,
    ) {
        let theirs = &method.prototype;
        let mut types = outer.clone();
        for (a, b) in theirs.type_parameters.iter().zip(&mine.type_parameters) {
            types.push((a.id, Type::Parameter(b.id)));
        }
        let (have, want) = (
            self.type_of(mine.result.id),
            super::inference::substitute(&self.type_of(theirs.result.id), &types),
        );
        let mut good = mine.parameters.len() <= theirs.parameters.len()
            && theirs.parameters[mine.parameters.len()..]
                .iter()
                .all(is_optional)
            && mine.type_parameters.len() == theirs.type_parameters.len()
            && self.unify(&have, &want);
        for (a, b) in mine.parameters.iter().zip(&theirs.parameters) {
            let (have, want) = (
                self.type_of(a.id),
                super::inference::substitute(&self.type_of(b.id), &types),
            );
            good &= a.direction == b.direction && self.unify(&have, &want);
        }
        if !good {
            self.tell(
                Diagnostic::error(
                    "abstract",
                    mine.name.span,
                    format!(
                        "`{}` has not the type of the abstract method that it implements",
                        mine.name.text
                    ),
                )
                .note(theirs.name.span, "the abstract method"),
            );
        }
    }

    fn extern_object(
        &mut self,
        name: &'a Name,
        type_parameters: &'a [TypeParameter],
        methods: &'a [Method],
    ) {
        let place = core::mem::replace(&mut self.place, Place::Extern);
        self.scoped(|checker| {
            checker.type_parameters_here(type_parameters);
            for method in methods {
                checker.register(Entity::Method(method));
                let kind = if method.is_constructor {
                    Parameters::Constructor
                } else {
                    Parameters::Method
                };
                if !method.is_constructor && method.prototype.name.text == name.text {
                    checker.error(
                        "constructor",
                        method.prototype.name.span,
                        "a constructor has no result and cannot be abstract",
                    );
                }
                checker.scoped(|checker| checker.prototype(&method.prototype, kind));
            }
            for (index, method) in methods.iter().enumerate() {
                let same = |other: &&Method| {
                    other.is_constructor == method.is_constructor
                        && other.prototype.name.text == method.prototype.name.text
                        && other.prototype.parameters.len() == method.prototype.parameters.len()
                        && other
                            .prototype
                            .parameters
                            .iter()
                            .zip(&method.prototype.parameters)
                            .all(|(a, b)| a.name.text == b.name.text)
                };
                if let Some(first) = methods[..index].iter().find(same) {
                    checker.tell(
                        Diagnostic::error(
                            "duplicate-declaration",
                            method.prototype.name.span,
                            format!(
                                "the method `{}` with these parameters is already declared",
                                method.prototype.name.text
                            ),
                        )
                        .note(first.prototype.name.span, "first declared here"),
                    );
                }
            }
        });
        self.place = place;
    }

    /// A function's or method's head and body.
    fn function(&mut self, prototype: &'a Prototype, body: &'a Block, place: Place) {
        let before = core::mem::replace(&mut self.place, place);
        let loops = core::mem::take(&mut self.loops);
        self.scoped(|checker| {
            checker.prototype(prototype, Parameters::Function);
            let result = checker.type_of(prototype.result.id);
            let returns = checker.returns.replace(result);
            checker.scoped(|checker| checker.statements(&body.statements));
            checker.returns = returns;
        });
        self.loops = loops;
        self.place = before;
    }

    fn action(&mut self, parameters: &'a [Parameter], body: &'a Block) {
        let before = core::mem::replace(&mut self.place, Place::Action);
        let loops = core::mem::take(&mut self.loops);
        self.scoped(|checker| {
            checker.parameters(parameters, Parameters::Action);
            let returns = checker.returns.replace(Type::Void);
            checker.scoped(|checker| checker.statements(&body.statements));
            checker.returns = returns;
        });
        self.loops = loops;
        self.place = before;
    }

    fn composite_type(
        &mut self,
        id: NodeId,
        kind: CompositeKind,
        type_parameters: &'a [TypeParameter],
        fields: &'a [Field],
    ) {
        self.scoped(|checker| {
            checker.type_parameters_here(type_parameters);
            let mut seen: BTreeMap<&str, &Name> = BTreeMap::new();
            let mut deepest = 0;
            for field in fields {
                checker.register(Entity::Field(field));
                checker.annotations(&field.annotations);
                checker.length_annotation(&field.annotations, &seen);
                let ty = checker.resolve(&field.ty);
                if let Some(first) = seen.insert(&field.name.text, &field.name) {
                    checker.tell(
                        Diagnostic::error(
                            "duplicate-field",
                            field.name.span,
                            format!("there are two fields `{}`", field.name.text),
                        )
                        .note(first.span, "the first one"),
                    );
                }
                if checker.is_open(&ty) {
                    checker.error(
                        "dont-care-type",
                        field.ty.span,
                        "`_` cannot stand in the type of a field",
                    );
                } else if !checker.may_be_field(kind, &ty) {
                    let text = checker.show(&ty);
                    checker.error(
                        "type-nesting",
                        field.ty.span,
                        format!("a field of a {} cannot be `{text}`", kind_name(kind)),
                    );
                }
                deepest = deepest.max(checker.nesting(&ty));
                checker.record(field.id, ty);
            }
            checker.nesting.insert(id, deepest);
        });
    }

    fn enumeration(
        &mut self,
        declaration: &'a Declaration,
        underlying: Option<&'a TypeExpression>,
        members: &'a [Member],
    ) {
        let ty = underlying.map(|underlying| {
            let ty = self.resolve(underlying);
            match &ty {
                Type::Bits(_) | Type::Signed(_) | Type::Unknown => ty,
                other => {
                    let text = self.show(other);
                    self.error(
                        "enum-type",
                        underlying.span,
                        format!("an enum is made of `bit<>` or `int<>`, not of `{text}`"),
                    );
                    Type::Unknown
                }
            }
        });
        if let (Some(underlying), Some(ty)) = (underlying, &ty) {
            self.record(underlying.id, ty.clone());
        }
        let mut seen: BTreeMap<&str, &Name> = BTreeMap::new();
        self.frames.push(super::scopes::Frame::default());
        for member in members {
            self.register(Entity::Member(member));
            self.record(member.id, Type::Enum(declaration.id));
            if let Some(first) = seen.insert(&member.name.text, &member.name) {
                self.tell(
                    Diagnostic::error(
                        "duplicate-member",
                        member.name.span,
                        format!("there are two members `{}`", member.name.text),
                    )
                    .note(first.span, "the first one"),
                );
            }
            match (&ty, &member.value) {
                (Some(ty), Some(value)) => {
                    let good = self.value_of(value, ty);
                    match self.cast_value(value) {
                        Some(constant) => {
                            if let Constant::Integer(number) = &constant
                                && let Some(Constant::Integer(written)) = self.constant(value)
                                && number != written
                            {
                                let text = self.show(ty);
                                let written = written.clone();
                                self.error(
                                    "enum-value",
                                    value.span,
                                    format!("{written} does not fit in `{text}`"),
                                );
                            }
                            self.out.constants.insert(member.id, constant);
                            // Later members can be computed from it.
                            if self.find(&member.name.text, false).is_empty() {
                                self.declare(&member.name, Entity::Member(member));
                            }
                        }
                        None if good && *ty != Type::Unknown => {
                            self.error("not-constant", value.span, "the value of a member must be known while compiling");
                        }
                        None => {}
                    }
                }
                (Some(_), None) => self.error(
                    "enum-value",
                    member.name.span,
                    format!("`{}` needs a value, as the enum has an underlying type", member.name.text),
                ),
                (None, Some(value)) => self.error(
                    "enum-value",
                    value.span,
                    "members have values only in an enum with an underlying type: `enum bit<8> E { ... }`",
                ),
                (None, None) => {}
            }
        }
        self.frames.pop();
    }

    /// `error` and `match_kind`: all their declarations together are one.
    fn union_of(&mut self, members: &'a [Member], errors: bool) {
        for member in members {
            self.register(Entity::Member(member));
            self.record(
                member.id,
                if errors { Type::Error } else { Type::MatchKind },
            );
            let all = if errors {
                &mut self.errors
            } else {
                &mut self.match_kinds
            };
            let first = all.insert(&member.name.text, member);
            if let Some(first) = first {
                let what = if errors { "error" } else { "match_kind" };
                self.tell(
                    Diagnostic::error(
                        "duplicate-member",
                        member.name.span,
                        format!("`{what}` already has a member `{}`", member.name.text),
                    )
                    .note(first.name.span, "the first one"),
                );
            }
        }
    }

    fn new_type(&mut self, declaration: &'a Declaration, ty: &'a TypeExpression) {
        let resolved = self.resolve(ty);
        let fits = matches!(
            resolved,
            Type::Bool
                | Type::Bits(_)
                | Type::Signed(_)
                | Type::Varbit(_)
                | Type::New(_)
                | Type::Unknown
        ) || matches!(&resolved, Type::Enum(id) if self.underlying(*id).is_some());
        if !fits {
            let text = self.show(&resolved);
            self.error(
                "new-type",
                ty.span,
                format!("`type` makes new types of `bool`, `bit<>`, `int<>`, and enums with an underlying type, not of `{text}`"),
            );
        }
        let resolved = if fits { resolved } else { Type::Unknown };
        self.nesting.insert(declaration.id, self.nesting(&resolved));
        self.record(declaration.id, resolved);
    }

    fn value_set(
        &mut self,
        declaration: &'a Declaration,
        element: &'a TypeExpression,
        size: &'a Expression,
    ) {
        let ty = self.resolve(element);
        let fits = match &ty {
            Type::Composite(id, arguments) => {
                self.is_kind(&ty, CompositeKind::Struct)
                    && self.fields(*id, arguments).iter().all(|(_, field)| {
                        self.may_be_matched(field) || self.is_kind(field, CompositeKind::Struct)
                    })
            }
            Type::Tuple(parts) => parts.iter().all(|part| self.may_be_matched(part)),
            other => self.may_be_matched(other),
        };
        if !fits {
            let text = self.show(&ty);
            self.error(
                "value-set",
                element.span,
                format!("a value set cannot be of `{text}`"),
            );
        }
        let number = self.value(size);
        match (self.numeric(&number), self.constant(size)) {
            (Type::Unknown, _) => {}
            (Type::Integer | Type::Bits(_) | Type::Signed(_), Some(Constant::Integer(value))) => {
                if *value < BigInt::one() {
                    self.error(
                        "value-set",
                        size.span,
                        "the size of a value set is at least 1",
                    );
                }
            }
            (Type::Integer | Type::Bits(_) | Type::Signed(_), _) if self.is_compile_time(size) => {}
            _ => self.error(
                "not-constant",
                size.span,
                "the size of a value set must be a number known while compiling",
            ),
        }
        self.record(declaration.id, Self::set(ty));
    }

    fn may_be_matched(&self, ty: &Type) -> bool {
        match ty {
            Type::Unknown
            | Type::Bool
            | Type::Bits(_)
            | Type::Signed(_)
            | Type::Error
            | Type::Enum(_)
            | Type::Parameter(_) => true,
            Type::New(id) => self.may_be_matched(&self.type_of(*id)),
            _ => false,
        }
    }

    fn control(&mut self, control: &'a Control) {
        self.scoped(|checker| {
            checker.type_parameters_here(&control.type_parameters);
            checker.parameters(&control.parameters, Parameters::Applied);
            checker.parameters(&control.constructor_parameters, Parameters::Constructor);
            checker.scoped(|checker| {
                for local in &control.locals {
                    checker.place = Place::ControlLocals;
                    checker.declaration_here(local);
                    checker.settle();
                }
                checker.place = Place::ControlApply;
                let returns = checker.returns.replace(Type::Void);
                checker.scoped(|checker| checker.statements(&control.apply.statements));
                checker.returns = returns;
            });
        });
        self.place = Place::Top;
    }

    /// What `main` must be.
    pub(super) fn check_main(&mut self) {
        let found = self.find("main", true);
        let Some(first) = found.first().copied() else {
            return;
        };
        let good = match first {
            Entity::Declaration(d) => match (&d.kind, self.type_of(d.id)) {
                (DeclarationKind::Instance { .. }, Type::Object(id, _)) => self
                    .applicable(id)
                    .is_some_and(|a| a.kind == ApplicableKind::Package),
                (DeclarationKind::Instance { .. }, Type::Unknown) => true,
                // Programs for other targets may have a function of that name.
                (DeclarationKind::Function { .. } | DeclarationKind::ExternFunction(_), _) => true,
                _ => false,
            },
            _ => false,
        };
        if !good {
            if let Some(name) = self.name_of(first) {
                self.error("main", name.span, "`main` must be an instance of a package");
            }
            self.out.main = None;
        }
    }
}
