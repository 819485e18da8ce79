//! Calls: of functions, actions, methods, constructors, and of what is applied (specification 8.17 to 8.20).

use super::checker::{Checker, Context, Entity};
use super::substitution::{Substitution, substitute, substitution};
use super::type_expressions::plural;
use super::{Bound, Builtin, Call, Target};
use crate::ast::{
    Argument, Declaration, DeclarationKind, Expression, ExpressionKind, Name, NodeId, Parameter,
    TypeExpression, TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::Type;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// Something that can be called.
#[derive(Clone)]
pub(super) struct Candidate<'a> {
    pub(super) target: Target,
    pub(super) id: NodeId,
    pub(super) what: &'static str,
    pub(super) name: &'a Name,
    pub(super) type_parameters: &'a [TypeParameter],
    pub(super) parameters: &'a [Parameter],
    pub(super) result: Type,
    /// What the object's type arguments stand for.
    pub(super) outer: Substitution,
}

/// `@optional`
pub(super) fn is_optional(parameter: &Parameter) -> bool {
    parameter
        .annotations
        .iter()
        .any(|a| &*a.name.text == "optional")
}

pub(super) fn can_be_left_out(parameter: &Parameter) -> bool {
    parameter.default.is_some() || is_optional(parameter)
}

/// Why arguments do not fit parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ArgumentsError {
    #[error("either all arguments have a name or none")]
    PartlyNamed,
    #[error("there are {arguments} arguments for {parameters} parameter{}", plural(*parameters))]
    TooMany { arguments: usize, parameters: usize },
    #[error("there is no parameter `{0}`")]
    NoParameter(Arc<str>),
    #[error("the parameter `{0}` gets two arguments")]
    Twice(Arc<str>),
    #[error("the parameter `{0}` gets no argument")]
    Missing(Arc<str>),
}

/// Pairs parameters with arguments by position and name.
pub(super) fn bind(
    parameters: &[Parameter],
    arguments: &[Argument],
) -> Result<Vec<Bound>, ArgumentsError> {
    let mut bound = vec![Bound::Absent; parameters.len()];
    let mut given = vec![false; parameters.len()];
    let named = arguments.iter().filter(|a| a.name.is_some()).count();
    if named > 0 && named < arguments.len() {
        return Err(ArgumentsError::PartlyNamed);
    }
    for (index, argument) in arguments.iter().enumerate() {
        let position = match &argument.name {
            None => {
                if index >= parameters.len() {
                    return Err(ArgumentsError::TooMany {
                        arguments: arguments.len(),
                        parameters: parameters.len(),
                    });
                }
                index
            }
            Some(name) => parameters
                .iter()
                .position(|p| p.name.text == name.text)
                .ok_or_else(|| ArgumentsError::NoParameter(name.text.clone()))?,
        };
        if given[position] {
            return Err(ArgumentsError::Twice(
                parameters[position].name.text.clone(),
            ));
        }
        given[position] = true;
        bound[position] = Bound::Argument(index);
    }
    for (index, parameter) in parameters.iter().enumerate() {
        if !given[index] {
            if parameter.default.is_some() {
                bound[index] = Bound::Default;
            } else if !is_optional(parameter) {
                return Err(ArgumentsError::Missing(parameter.name.text.clone()));
            }
        }
    }
    Ok(bound)
}

impl<'a> Checker<'a> {
    /// A call in an expression's place.
    pub(super) fn call(
        &mut self,
        e: &'a Expression,
        callee: &'a Expression,
        type_arguments: &'a [TypeExpression],
        arguments: &'a [Argument],
    ) -> Type {
        match &callee.kind {
            ExpressionKind::Member { base, member } => {
                let ty = self.expression(base);
                let ty = self.known(&ty);
                self.method_call(e, callee, base, &ty, member, type_arguments, arguments)
            }
            ExpressionKind::Path { name, absolute } => {
                let found = self.find(&name.text, *absolute);
                let Some(first) = found.first().copied() else {
                    self.not_found(name, "the function");
                    return self.give_up(callee, type_arguments, arguments);
                };
                if let Some(ty) = self.type_named(first) {
                    self.refer(callee.id, first.id());
                    self.record(callee.id, Type::Name(alloc::boxed::Box::new(ty.clone())));
                    return self.construct(e, &ty, type_arguments, arguments, callee.span, false);
                }
                let candidates: Vec<Candidate<'a>> = found
                    .iter()
                    .filter_map(|entity| self.function_candidate(*entity))
                    .collect();
                if candidates.is_empty() {
                    let mut diagnostic = Diagnostic::error(
                        "not-callable",
                        callee.span,
                        format!("`{}` cannot be called", name.text),
                    );
                    if let Some(declared) = self.name_of(first) {
                        diagnostic = diagnostic.note(declared.span, "declared here");
                    }
                    if matches!(
                        first,
                        Entity::Declaration(Declaration {
                            kind: DeclarationKind::Table(_),
                            ..
                        })
                    ) {
                        diagnostic = diagnostic.help(format!("write `{}.apply()`", name.text));
                    }
                    self.report(diagnostic);
                    return self.give_up(callee, type_arguments, arguments);
                }
                self.call_one_of(
                    e,
                    callee,
                    &candidates,
                    type_arguments,
                    arguments,
                    &name.text,
                )
            }
            ExpressionKind::Type(ty) => {
                let resolved = self.resolve_open(ty);
                self.record(
                    callee.id,
                    Type::Name(alloc::boxed::Box::new(resolved.clone())),
                );
                self.construct(e, &resolved, type_arguments, arguments, callee.span, false)
            }
            _ => {
                self.expression(callee);
                self.error("not-callable", callee.span, "this cannot be called");
                self.give_up(callee, type_arguments, arguments)
            }
        }
    }

    /// Looks at the parts of a call that has no meaning.
    pub(super) fn give_up(
        &mut self,
        callee: &Expression,
        type_arguments: &'a [TypeExpression],
        arguments: &'a [Argument],
    ) -> Type {
        self.record(callee.id, Type::Unknown);
        for ty in type_arguments {
            self.resolve(ty);
        }
        for argument in arguments {
            if !matches!(argument.value.kind, ExpressionKind::DontCare) {
                self.expression(&argument.value);
            }
        }
        Type::Unknown
    }

    pub(super) fn function_candidate(&self, entity: Entity<'a>) -> Option<Candidate<'a>> {
        let Entity::Declaration(declaration) = entity else {
            return None;
        };
        let (target, what, name, type_parameters, parameters, result): (
            _,
            _,
            _,
            &'a [_],
            &'a [_],
            _,
        ) = match &declaration.kind {
            DeclarationKind::Function { prototype, .. } => (
                Target::Function(declaration.id),
                "function",
                &prototype.name,
                &prototype.type_parameters,
                &prototype.parameters,
                self.type_of(prototype.result.id),
            ),
            DeclarationKind::ExternFunction(prototype) => (
                Target::ExternFunction(declaration.id),
                "extern function",
                &prototype.name,
                &prototype.type_parameters,
                &prototype.parameters,
                self.type_of(prototype.result.id),
            ),
            DeclarationKind::Action {
                name, parameters, ..
            } => (
                Target::Action(declaration.id),
                "action",
                name,
                &[],
                parameters,
                Type::Void,
            ),
            _ => return None,
        };
        Some(Candidate {
            target,
            id: declaration.id,
            what,
            name,
            type_parameters,
            parameters,
            result,
            outer: Vec::new(),
        })
    }

    pub(super) fn note_call(
        &mut self,
        e: &Expression,
        callee: &Expression,
        call: Call,
        declared: Option<NodeId>,
    ) {
        if let Some(id) = declared {
            self.refer(callee.id, id);
            self.record(callee.id, Type::Callable(id));
        }
        self.out.calls.insert(e.id, call);
    }

    /// Chooses among functions of one name by the number and the names of the arguments (6.9.2), and checks the call.
    pub(super) fn call_one_of(
        &mut self,
        e: &'a Expression,
        callee: &'a Expression,
        candidates: &[Candidate<'a>],
        type_arguments: &'a [TypeExpression],
        arguments: &'a [Argument],
        name: &str,
    ) -> Type {
        let Some((candidate, bound)) =
            self.choose(e.span, candidates, arguments, type_arguments.len(), name)
        else {
            return self.give_up(callee, type_arguments, arguments);
        };
        self.check_placement(e, &candidate);
        let Some(inner) = self.type_arguments_for(&candidate, type_arguments, e.span) else {
            return self.give_up(callee, type_arguments, arguments);
        };
        let mut all = candidate.outer.clone();
        all.extend(substitution(candidate.type_parameters, &inner));
        let before = self.diagnostics.errors();
        self.check_arguments(e.span, &candidate, &bound, arguments, &all);
        if self.diagnostics.errors() > before {
            // What follows from a wrong argument need not be told too.
            for (_, ty) in &all {
                self.forgive(ty);
            }
        }
        let result = substitute(&candidate.result, &all);
        let call = Call {
            target: candidate.target,
            type_arguments: inner,
            arguments: bound,
        };
        let object = match &callee.kind {
            ExpressionKind::Member { base, .. } => Some(self.known(&self.type_of(base.id))),
            _ => None,
        };
        if self.diagnostics.errors() == before {
            if !matches!(candidate.target, Target::Apply(_)) {
                self.inferred_arguments(candidate.parameters, &call.arguments, arguments);
            }
            if self.diagnostics.errors() == before {
                self.core_call(e, &call, object.as_ref(), &candidate.name.text, arguments);
            }
        }
        self.note_call(e, callee, call, Some(candidate.id));
        let result = self.known(&result);
        self.bounded(result, e.span)
    }

    /// Actions cannot be called from parsers or functions, nor with tables' results; functions from anywhere.
    pub(super) fn check_placement(&mut self, e: &Expression, candidate: &Candidate<'a>) {
        if let Target::Action(_) = candidate.target
            && !matches!(self.context, Context::Action | Context::ControlApply)
        {
            self.error(
                "action-placement",
                e.span,
                format!(
                    "the action `{}` can be called only from actions and from a control's `apply`",
                    candidate.name.text
                ),
            );
        }
    }

    /// The candidate that fits the arguments.
    pub(super) fn choose(
        &mut self,
        span: Span,
        candidates: &[Candidate<'a>],
        arguments: &'a [Argument],
        type_arguments: usize,
        name: &str,
    ) -> Option<(Candidate<'a>, Vec<Bound>)> {
        let mut fitting = Vec::new();
        let mut reason = None;
        for candidate in candidates {
            match bind(candidate.parameters, arguments) {
                Ok(bound) => fitting.push((candidate.clone(), bound)),
                Err(why) => reason = Some((candidate, why)),
            }
        }
        if fitting.len() > 1 && type_arguments > 0 {
            fitting.retain(|(candidate, _)| candidate.type_parameters.len() == type_arguments);
        }
        // Default values let a call fit several; the one that takes all the arguments as they stand is meant.
        if fitting.len() > 1
            && fitting
                .iter()
                .any(|(c, _)| c.parameters.len() == arguments.len())
        {
            fitting.retain(|(candidate, _)| candidate.parameters.len() == arguments.len());
        }
        match (fitting.len(), reason) {
            (1, _) => fitting.pop(),
            (0, Some((candidate, why))) => {
                let mut diagnostic = if candidates.len() == 1 {
                    Diagnostic::error(
                        "arguments",
                        span,
                        format!(
                            "this call does not fit the {} `{name}`: {why}",
                            candidate.what
                        ),
                    )
                } else {
                    Diagnostic::error(
                        "arguments",
                        span,
                        format!("no {} `{name}` fits this call", candidate.what),
                    )
                };
                for candidate in candidates.iter().take(8) {
                    diagnostic = diagnostic.note(candidate.name.span, "declared here");
                }
                self.report(diagnostic);
                None
            }
            (0, None) => {
                self.error(
                    "arguments",
                    span,
                    format!("nothing of the name `{name}` fits this call"),
                );
                None
            }
            _ => {
                let mut diagnostic = Diagnostic::error(
                    "ambiguous",
                    span,
                    format!("several of the name `{name}` fit this call"),
                );
                for (candidate, _) in fitting.iter().take(8) {
                    diagnostic = diagnostic.note(candidate.name.span, "this one");
                }
                self.report(diagnostic);
                None
            }
        }
    }

    /// Type arguments as written, or to be inferred.
    pub(super) fn type_arguments_for(
        &mut self,
        candidate: &Candidate<'a>,
        type_arguments: &'a [TypeExpression],
        span: Span,
    ) -> Option<Vec<Type>> {
        if type_arguments.is_empty() {
            return Some(self.fresh_all(candidate.type_parameters, span));
        }
        if type_arguments.len() != candidate.type_parameters.len() {
            self.report(
                Diagnostic::error(
                    "type-argument-count",
                    span,
                    format!(
                        "the {} `{}` takes {} type argument{}, not {}",
                        candidate.what,
                        candidate.name.text,
                        candidate.type_parameters.len(),
                        plural(candidate.type_parameters.len()),
                        type_arguments.len()
                    ),
                )
                .note(candidate.name.span, "declared here"),
            );
            return None;
        }
        Some(
            type_arguments
                .iter()
                .map(|ty| self.type_argument(ty))
                .collect(),
        )
    }
}

pub(super) fn size_method(name: &str) -> Option<Builtin> {
    Some(match name {
        "minSizeInBits" => Builtin::MinSizeInBits,
        "minSizeInBytes" => Builtin::MinSizeInBytes,
        "maxSizeInBits" => Builtin::MaxSizeInBits,
        "maxSizeInBytes" => Builtin::MaxSizeInBytes,
        _ => return None,
    })
}
