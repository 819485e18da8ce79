//! Instances, and the abstract methods that they implement (specification 11.3).

use super::calls::is_optional;
use super::checker::{Checker, Context, Entity};
use super::type_expressions::ApplicableKind;
use crate::ast::{Argument, Declaration, DeclarationKind, Method, Name, Prototype, TypeExpression};
use crate::diagnostic::Diagnostic;
use crate::types::Type;
use alloc::format;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    pub(super) fn instance(
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
                return;
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
                self.report(
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

    pub(super) fn instance_placement(
        &mut self,
        declaration: &'a Declaration,
        object: crate::ast::NodeId,
        name: &Name,
    ) {
        let kind = self.applicable(object).map(|a| a.kind);
        let what = self.show(&Type::Object(object, Vec::new()));
        let message = match (self.context, kind) {
            (Context::Function | Context::AbstractMethod | Context::Extern, _) => {
                Some("an instance cannot be made in a function or method".into())
            }
            (Context::Action, _) => Some("an instance cannot be made in an action".into()),
            (Context::ControlApply, _) => {
                Some("an instance cannot be made in a control's `apply`".into())
            }
            (Context::ParserState, _) => {
                Some("an instance cannot be made in a parser's state".into())
            }
            (Context::Top, Some(ApplicableKind::Parser | ApplicableKind::Control)) => Some(
                format!("`{what}` cannot be instantiated at the top of a program"),
            ),
            (Context::ControlLocals, Some(ApplicableKind::Parser)) => Some(format!(
                "the parser `{what}` cannot be instantiated in a control"
            )),
            (Context::ParserLocals, Some(ApplicableKind::Control)) => Some(format!(
                "the control `{what}` cannot be instantiated in a parser"
            )),
            (Context::ParserLocals | Context::ControlLocals, Some(ApplicableKind::Package)) => {
                Some(format!(
                    "the package `{what}` can be instantiated only at the top of a program"
                ))
            }
            _ => None,
        };
        let _ = declaration;
        if let Some(message) = message {
            self.error("instance-placement", name.span, message);
        }
    }

    /// The implementations of abstract methods.
    pub(super) fn implementations(
        &mut self,
        made: &Type,
        initializer: &'a [Declaration],
        methods: &'a [Method],
        given: &[Type],
    ) {
        let Type::Object(object, _) = made else {
            return;
        };
        let outer = super::substitution::substitution(self.type_parameters(*object), given);
        let (this, context) = (self.this.replace(made.clone()), self.context);
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
                        checker.function(prototype, body, Context::AbstractMethod);
                        match wanted {
                            Some(method) if method.is_abstract => {
                                checker.same_method(prototype, method, &outer)
                            }
                            Some(method) => checker.report(
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
                        checker.context = context;
                        checker.declaration_here(inner);
                    }
                }
            }
        });
        self.this = this;
        self.context = context;
    }

    /// Whether an implementation has the type of its abstract method.
    pub(super) fn same_method(
        &mut self,
        mine: &'a Prototype,
        method: &'a Method,
        outer: &super::substitution::Substitution,
    ) {
        let theirs = &method.prototype;
        let mut types = outer.clone();
        for (a, b) in theirs.type_parameters.iter().zip(&mine.type_parameters) {
            types.push((a.id, Type::Parameter(b.id)));
        }
        let (have, want) = (
            self.type_of(mine.result.id),
            super::substitution::substitute(&self.type_of(theirs.result.id), &types),
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
                super::substitution::substitute(&self.type_of(b.id), &types),
            );
            good &= a.direction == b.direction && self.unify(&have, &want);
        }
        if !good {
            self.report(
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
