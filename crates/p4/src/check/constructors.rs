//! Constructor calls (specification 8.20).

use super::calls::Candidate;
use super::checker::Checker;
use super::substitution::substitution;
use super::type_expressions::plural;
use super::{Call, Target};
use crate::ast::{Argument, Expression, ExpressionKind, Name, NodeId, TypeExpression};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::Type;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    /// A constructor call (8.20). `ty` is the type that is made; `declared` is true for instance declarations.
    pub(super) fn construct(
        &mut self,
        e: &'a Expression,
        ty: &Type,
        type_arguments: &'a [TypeExpression],
        arguments: &'a [Argument],
        span: Span,
        declared: bool,
    ) -> Type {
        self.construct_at(e.id, e.span, ty, type_arguments, arguments, span, declared)
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn construct_at(
        &mut self,
        id: NodeId,
        whole: Span,
        ty: &Type,
        type_arguments: &'a [TypeExpression],
        arguments: &'a [Argument],
        span: Span,
        declared: bool,
    ) -> Type {
        let give_up = |checker: &mut Self| {
            for ty in type_arguments {
                checker.resolve(ty);
            }
            for argument in arguments {
                if !matches!(argument.value.kind, ExpressionKind::DontCare) {
                    checker.expression(&argument.value);
                }
            }
            Type::Unknown
        };
        let (object, given) = match ty {
            Type::Object(object, given) => (*object, given.clone()),
            Type::Unknown => return give_up(self),
            Type::Stack(element, length) if declared => {
                let made = self.construct_at(
                    id,
                    whole,
                    element,
                    type_arguments,
                    arguments,
                    span,
                    declared,
                );
                return Type::Stack(alloc::boxed::Box::new(made), *length);
            }
            other => {
                let text = self.show(other);
                self.error(
                    "not-constructible",
                    span,
                    format!("`{text}` has no constructor"),
                );
                return give_up(self);
            }
        };
        let parameters = self.type_parameters(object);
        let given: Vec<Type> = if !given.is_empty() {
            given
        } else if type_arguments.is_empty() {
            self.fresh_all(parameters, whole)
        } else if type_arguments.len() == parameters.len() {
            type_arguments
                .iter()
                .map(|ty| self.type_argument(ty))
                .collect()
        } else {
            let text = self.show(ty);
            self.error(
                "type-argument-count",
                span,
                format!(
                    "`{text}` takes {} type argument{}, not {}",
                    parameters.len(),
                    plural(parameters.len()),
                    type_arguments.len()
                ),
            );
            return give_up(self);
        };
        let outer = substitution(parameters, &given);
        let Some(name) = self.entity(object).and_then(|entity| self.name_of(entity)) else {
            return give_up(self);
        };
        let candidates: Vec<Candidate<'a>> = if self.is_extern(object) {
            if !declared && self.methods(object).iter().any(|m| m.is_abstract) {
                self.report(
                    Diagnostic::error(
                        "abstract",
                        whole,
                        format!(
                            "`{}` has abstract methods, so that a constructor call cannot make one",
                            name.text
                        ),
                    )
                    .help("declare an instance: `Type(arguments) name = { methods };`"),
                );
            }
            self.methods(object)
                .iter()
                .filter(|m| m.is_constructor)
                .map(|m| self.method_candidate(m, outer.clone()))
                .collect()
        } else {
            let Some(applicable) = self.applicable(object) else {
                return give_up(self);
            };
            if applicable.is_type {
                let text = self.show(ty);
                self.error(
                    "not-constructible",
                    span,
                    format!(
                        "`{text}` is only a type of parsers or controls, and has no constructor"
                    ),
                );
                return give_up(self);
            }
            let mut candidates = vec![Candidate {
                target: Target::Constructor(object),
                id: object,
                what: "constructor of",
                name,
                type_parameters: &[],
                parameters: applicable.constructor_parameters,
                result: Type::Object(object, given.clone()),
                outer: outer.clone(),
            }];
            candidates.extend(self.other_constructors(object, name, &given, whole));
            candidates
        };
        if candidates.is_empty() {
            for ty in &given {
                self.forgive(ty);
            }
            let text = self.show(ty);
            self.error(
                "not-constructible",
                span,
                format!("`{text}` has no constructor"),
            );
            return give_up(self);
        }
        let Some((candidate, bound)) = self.choose(whole, &candidates, arguments, 0, &name.text)
        else {
            for ty in &given {
                self.forgive(ty);
            }
            return give_up(self);
        };
        if candidate.id != object && !self.is_extern(object) {
            for ty in &given {
                self.forgive(ty);
            }
        }
        let before = self.diagnostics.errors();
        self.check_arguments(whole, &candidate, &bound, arguments, &candidate.outer);
        if self.diagnostics.errors() > before {
            for (_, ty) in &candidate.outer {
                self.forgive(ty);
            }
        }
        let result = match candidate.result.clone() {
            Type::Object(id, given) => Type::Object(id, given),
            _ => Type::Object(object, given),
        };
        if let Type::Object(_, given) = &result {
            self.out.calls.insert(
                id,
                Call {
                    target: candidate.target,
                    type_arguments: given.clone(),
                    arguments: bound,
                },
            );
        }
        self.known(&result)
    }

    /// The constructors of other parsers, controls or packages of the same name.
    pub(super) fn other_constructors(
        &mut self,
        object: NodeId,
        name: &Name,
        given: &[Type],
        span: Span,
    ) -> Vec<Candidate<'a>> {
        let mut candidates = Vec::new();
        for entity in self.find(&name.text, false) {
            let (Some(applicable), Some(name)) =
                (self.applicable(entity.id()), self.name_of(entity))
            else {
                continue;
            };
            if entity.id() == object || applicable.is_type {
                continue;
            }
            let given = if given.len() == applicable.type_parameters.len()
                && !given.iter().any(|ty| self.is_open(ty))
            {
                given.to_vec()
            } else {
                let open = self.fresh_all(applicable.type_parameters, span);
                for ty in &open {
                    self.forgive(ty);
                }
                open
            };
            candidates.push(Candidate {
                target: Target::Constructor(entity.id()),
                id: entity.id(),
                what: "constructor of",
                name,
                type_parameters: &[],
                parameters: applicable.constructor_parameters,
                result: Type::Object(entity.id(), given.clone()),
                outer: substitution(applicable.type_parameters, &given),
            });
        }
        candidates
    }
}
