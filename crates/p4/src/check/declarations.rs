//! Declarations (specification 7.2 and 11).

use super::checker::{Checker, Context, Entity};
use super::parameters::Parameters;
use crate::ast::{
    Block, Control, Declaration, DeclarationKind, Expression, Method, Name, Parameter, Prototype,
    TypeExpression, TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::types::Type;
use alloc::format;

impl<'a> Checker<'a> {
    /// A declaration at the top of the program.
    pub(super) fn top_level(&mut self, declaration: &'a Declaration) {
        self.context = Context::Top;
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
                self.function(prototype, body, Context::Function);
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
            // Known from the beginning.
            DeclarationKind::Error { .. } => {}
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
    pub(super) fn prototype(&mut self, prototype: &'a Prototype, kind: Parameters) {
        self.type_parameters_here(&prototype.type_parameters);
        let result = self.resolve(&prototype.result);
        let wrong = match &result {
            Type::Object(id, _) => !self.is_extern(*id),
            Type::String | Type::Integer => self.context == Context::Extern,
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

    pub(super) fn constant_declaration(
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
        let wrong = matches!(resolved, Type::Object(..) | Type::Void | Type::Set(_));
        let resolved = if wrong { Type::Unknown } else { resolved };
        let good = self.value_of(value, &resolved);
        self.record(declaration.id, resolved.clone());
        if !good || self.type_of(value.id) == Type::Unknown {
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
        if self.context == Context::Top {
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
            self.report(diagnostic);
        }
        if let Some(value) = value {
            self.value_of(value, &resolved);
        }
        self.record(declaration.id, resolved);
    }

    pub(super) fn extern_object(
        &mut self,
        name: &'a Name,
        type_parameters: &'a [TypeParameter],
        methods: &'a [Method],
    ) {
        let context = core::mem::replace(&mut self.context, Context::Extern);
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
                    checker.report(
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
        self.context = context;
    }

    /// A function's or method's head and body.
    pub(super) fn function(&mut self, prototype: &'a Prototype, body: &'a Block, context: Context) {
        let before = core::mem::replace(&mut self.context, context);
        let loops = core::mem::take(&mut self.loops);
        self.scoped(|checker| {
            checker.prototype(prototype, Parameters::Function);
            let result = checker.type_of(prototype.result.id);
            let returns = checker.returns.replace(result);
            checker.scoped(|checker| checker.statements(&body.statements));
            checker.returns = returns;
        });
        self.loops = loops;
        self.context = before;
    }

    pub(super) fn action(&mut self, parameters: &'a [Parameter], body: &'a Block) {
        let before = core::mem::replace(&mut self.context, Context::Action);
        let loops = core::mem::take(&mut self.loops);
        self.scoped(|checker| {
            checker.parameters(parameters, Parameters::Action);
            let returns = checker.returns.replace(Type::Void);
            checker.scoped(|checker| checker.statements(&body.statements));
            checker.returns = returns;
        });
        self.loops = loops;
        self.context = before;
    }

    pub(super) fn control(&mut self, control: &'a Control) {
        self.scoped(|checker| {
            checker.type_parameters_here(&control.type_parameters);
            checker.parameters(&control.parameters, Parameters::Applied);
            checker.parameters(&control.constructor_parameters, Parameters::Constructor);
            checker.scoped(|checker| {
                for local in &control.locals {
                    checker.context = Context::ControlLocals;
                    checker.declaration_here(local);
                    checker.settle();
                }
                checker.context = Context::ControlApply;
                let returns = checker.returns.replace(Type::Void);
                checker.scoped(|checker| checker.statements(&control.apply.statements));
                checker.returns = returns;
            });
        });
        self.context = Context::Top;
    }
}
