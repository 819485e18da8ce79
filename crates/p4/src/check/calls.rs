//! Calls: of functions, actions, methods, constructors, and of what is applied (specification 8.17 to 8.20).

use super::checker::{Checker, Entity, Place, Substitution};
use super::inference::{substitute, substitution};
use super::type_expressions::{ApplicableKind, plural};
use super::{Bound, Builtin, Call, Target};
use crate::ast::{
    Argument, CompositeKind, Declaration, DeclarationKind, Direction, Expression, ExpressionKind,
    Method, Name, NodeId, Parameter, TypeExpression, TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::{Constant, Type};
use alloc::format;
use alloc::string::String;
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

fn can_be_left_out(parameter: &Parameter) -> bool {
    parameter.default.is_some() || is_optional(parameter)
}

/// Pairs parameters with arguments by position and name; `Err` says what does not fit.
pub(super) fn bind(parameters: &[Parameter], arguments: &[Argument]) -> Result<Vec<Bound>, String> {
    let mut bound = vec![Bound::Absent; parameters.len()];
    let mut given = vec![false; parameters.len()];
    let named = arguments.iter().filter(|a| a.name.is_some()).count();
    if named > 0 && named < arguments.len() {
        return Err("either all arguments have a name or none".into());
    }
    for (index, argument) in arguments.iter().enumerate() {
        let position = match &argument.name {
            None => {
                if index >= parameters.len() {
                    return Err(format!(
                        "there are {} arguments for {} parameter{}",
                        arguments.len(),
                        parameters.len(),
                        plural(parameters.len())
                    ));
                }
                index
            }
            Some(name) => parameters
                .iter()
                .position(|p| p.name.text == name.text)
                .ok_or_else(|| format!("there is no parameter `{}`", name.text))?,
        };
        if given[position] {
            return Err(format!(
                "the parameter `{}` gets two arguments",
                parameters[position].name.text
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
                return Err(format!(
                    "the parameter `{}` gets no argument",
                    parameter.name.text
                ));
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
                    self.tell(diagnostic);
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

    fn function_candidate(&self, entity: Entity<'a>) -> Option<Candidate<'a>> {
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

    fn method_candidate(&self, method: &'a Method, outer: Substitution) -> Candidate<'a> {
        Candidate {
            target: if method.is_constructor {
                Target::Constructor(method.id)
            } else {
                Target::Method(method.id)
            },
            id: method.id,
            what: if method.is_constructor {
                "constructor"
            } else {
                "method"
            },
            name: &method.prototype.name,
            type_parameters: &method.prototype.type_parameters,
            parameters: &method.prototype.parameters,
            result: self.type_of(method.prototype.result.id),
            outer,
        }
    }

    /// The methods of an extern, constructors apart.
    pub(super) fn methods(&self, id: NodeId) -> &'a [Method] {
        match self.declaration(id).map(|d| &d.kind) {
            Some(DeclarationKind::Extern { methods, .. }) => methods,
            _ => &[],
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn method_call(
        &mut self,
        e: &'a Expression,
        callee: &'a Expression,
        base: &'a Expression,
        ty: &Type,
        member: &'a Name,
        type_arguments: &'a [TypeExpression],
        arguments: &'a [Argument],
    ) -> Type {
        match ty {
            Type::Unknown => return self.give_up(callee, type_arguments, arguments),
            Type::Object(id, given) if self.is_extern(*id) => {
                let outer = substitution(self.type_parameters(*id), given);
                let candidates: Vec<Candidate<'a>> = self
                    .methods(*id)
                    .iter()
                    .filter(|m| !m.is_constructor && m.prototype.name.text == member.text)
                    .map(|m| self.method_candidate(m, outer.clone()))
                    .collect();
                if candidates.is_empty() {
                    let names: Vec<&str> = self
                        .methods(*id)
                        .iter()
                        .filter(|m| !m.is_constructor)
                        .map(|m| &*m.prototype.name.text)
                        .collect();
                    self.no_such_method(ty, member, &names);
                    return self.give_up(callee, type_arguments, arguments);
                }
                return self.call_one_of(
                    e,
                    callee,
                    &candidates,
                    type_arguments,
                    arguments,
                    &member.text,
                );
            }
            Type::Object(id, given) if &*member.text == "apply" => {
                return self.apply(e, callee, *id, given, type_arguments, arguments, false);
            }
            Type::Name(named) => {
                if let Type::Object(id, given) = &**named
                    && &*member.text == "apply"
                    && self
                        .applicable(*id)
                        .is_some_and(|a| !a.is_type && a.kind != ApplicableKind::Package)
                {
                    return self.apply(e, callee, *id, given, type_arguments, arguments, true);
                }
                if let Some(builtin) = size_method(&member.text) {
                    let named = (**named).clone();
                    return self.size_call(e, callee, &named, builtin, type_arguments, arguments);
                }
            }
            Type::Table(id) if &*member.text == "apply" => {
                return self.apply_table(e, callee, *id, type_arguments, arguments);
            }
            _ => {}
        }
        if let Some(result) =
            self.builtin_call(e, callee, base, ty, member, type_arguments, arguments)
        {
            return result;
        }
        let names: &[&str] = match ty {
            Type::Stack(..) => &["push_front", "pop_front"],
            Type::Composite(..) => &["isValid", "setValid", "setInvalid"],
            _ => &["apply"],
        };
        self.no_such_method(ty, member, names);
        self.give_up(callee, type_arguments, arguments)
    }

    fn no_such_method(&mut self, ty: &Type, member: &Name, names: &[&str]) {
        let text = self.show(ty);
        let mut diagnostic = Diagnostic::error(
            "no-such-method",
            member.span,
            format!("`{text}` has no method `{}`", member.text),
        );
        if let Some(close) = super::scopes::nearest(&member.text, names.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
        }
        self.tell(diagnostic);
    }

    fn note_call(
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

    fn builtin(&mut self, e: &Expression, builtin: Builtin, arguments: usize) {
        let call = Call {
            target: Target::Builtin(builtin),
            type_arguments: Vec::new(),
            arguments: (0..arguments).map(Bound::Argument).collect(),
        };
        self.out.calls.insert(e.id, call);
    }

    #[allow(clippy::too_many_arguments)]
    fn builtin_call(
        &mut self,
        e: &'a Expression,
        callee: &'a Expression,
        base: &'a Expression,
        ty: &Type,
        member: &'a Name,
        type_arguments: &'a [TypeExpression],
        arguments: &'a [Argument],
    ) -> Option<Type> {
        let is_header = self.is_kind(ty, CompositeKind::Header);
        let is_union = self.is_kind(ty, CompositeKind::Union);
        let (builtin, result) = match (&*member.text, ty) {
            ("isValid", _) if is_header || is_union => (Builtin::IsValid, Type::Bool),
            ("setValid", _) if is_header => (Builtin::SetValid, Type::Void),
            ("setInvalid", _) if is_header || is_union => (Builtin::SetInvalid, Type::Void),
            ("push_front", Type::Stack(..)) => (Builtin::PushFront, Type::Void),
            ("pop_front", Type::Stack(..)) => (Builtin::PopFront, Type::Void),
            (name, _) => {
                let builtin = size_method(name)?;
                return Some(self.size_call(e, callee, ty, builtin, type_arguments, arguments));
            }
        };
        self.record(callee.id, Type::Unknown);
        let needed = usize::from(matches!(builtin, Builtin::PushFront | Builtin::PopFront));
        if arguments.len() != needed || !type_arguments.is_empty() {
            self.error(
                "argument-count",
                e.span,
                format!(
                    "`{}` takes {needed} argument{}, not {}",
                    member.text,
                    plural(needed),
                    arguments.len()
                ),
            );
            self.give_up(callee, type_arguments, arguments);
            return Some(result);
        }
        if !matches!(builtin, Builtin::IsValid) {
            self.must_be_writable(base);
        }
        if let [argument] = arguments {
            let count = self.value(&argument.value);
            if count != Type::Unknown {
                match self.constant(&argument.value).cloned() {
                    Some(Constant::Integer(value))
                        if matches!(count, Type::Integer | Type::Bits(_) | Type::Signed(_)) =>
                    {
                        if value.sign() == num_bigint::Sign::Minus {
                            self.error(
                                "negative",
                                argument.span,
                                format!(
                                    "`{}` takes a positive number, and this is {value}",
                                    member.text
                                ),
                            );
                        }
                    }
                    _ if self.is_compile_time(&argument.value)
                        && matches!(count, Type::Integer | Type::Bits(_) | Type::Signed(_)) => {}
                    _ => self.error(
                        "not-constant",
                        argument.span,
                        format!(
                            "the argument of `{}` must be a number known while compiling",
                            member.text
                        ),
                    ),
                }
            }
        }
        self.builtin(e, builtin, arguments.len());
        Some(result)
    }

    /// `minSizeInBits` and its like, which are known while compiling (9.1).
    fn size_call(
        &mut self,
        e: &'a Expression,
        callee: &'a Expression,
        ty: &Type,
        builtin: Builtin,
        type_arguments: &'a [TypeExpression],
        arguments: &'a [Argument],
    ) -> Type {
        self.record(callee.id, Type::Unknown);
        if !arguments.is_empty() || !type_arguments.is_empty() {
            self.error("argument-count", e.span, "this takes no arguments");
            return self.give_up(callee, type_arguments, arguments);
        }
        let generic = super::inference::any(ty, &mut |part| matches!(part, Type::Parameter(_)));
        match self.sizes(ty) {
            Some((least, most)) => {
                let value = match builtin {
                    Builtin::MinSizeInBits => least,
                    Builtin::MinSizeInBytes => least.div_ceil(8),
                    Builtin::MaxSizeInBits => most,
                    _ => most.div_ceil(8),
                };
                self.out
                    .constants
                    .insert(e.id, Constant::Integer(value.into()));
            }
            None if generic => {}
            None => {
                let text = self.show(ty);
                self.error(
                    "no-size",
                    callee.span,
                    format!("`{text}` has no size on the wire"),
                );
                return Type::Unknown;
            }
        }
        self.builtin(e, builtin, 0);
        Type::Integer
    }

    #[allow(clippy::too_many_arguments)]
    fn apply(
        &mut self,
        e: &'a Expression,
        callee: &'a Expression,
        id: NodeId,
        given: &[Type],
        type_arguments: &'a [TypeExpression],
        arguments: &'a [Argument],
        direct: bool,
    ) -> Type {
        let Some(applicable) = self.applicable(id) else {
            return self.give_up(callee, type_arguments, arguments);
        };
        let name = self.entity(id).and_then(|entity| self.name_of(entity));
        let Some(name) = name else {
            return Type::Unknown;
        };
        if applicable.kind == ApplicableKind::Package {
            self.no_such_method(&Type::Object(id, given.to_vec()), name, &[]);
            return self.give_up(callee, type_arguments, arguments);
        }
        let (what, allowed) = match applicable.kind {
            ApplicableKind::Parser => ("parser", matches!(self.place, Place::ParserState)),
            _ => ("control", matches!(self.place, Place::ControlApply)),
        };
        if !allowed {
            let message = match applicable.kind {
                ApplicableKind::Parser => "a parser can be applied only in a parser's states",
                _ => "a control can be applied only in a control's `apply`",
            };
            self.error("apply-placement", e.span, message);
        }
        if direct
            && applicable
                .constructor_parameters
                .iter()
                .any(|p| !can_be_left_out(p))
        {
            self.error(
                "apply",
                e.span,
                format!("`{}` has constructor parameters, so that an instance of it must be declared first", name.text),
            );
        }
        // A generic one applied without type arguments: they follow from the arguments.
        let given = if given.is_empty() && !applicable.type_parameters.is_empty() {
            self.fresh_all(applicable.type_parameters, e.span)
        } else {
            given.to_vec()
        };
        let candidate = Candidate {
            target: Target::Apply(id),
            id,
            what,
            name,
            type_parameters: &[],
            parameters: applicable.parameters,
            result: Type::Void,
            outer: substitution(applicable.type_parameters, &given),
        };
        let result = self.call_one_of(
            e,
            callee,
            &[candidate],
            type_arguments,
            arguments,
            &name.text,
        );
        if let Some(call) = self.out.calls.get_mut(&e.id) {
            call.type_arguments = given;
        }
        result
    }

    fn apply_table(
        &mut self,
        e: &'a Expression,
        callee: &'a Expression,
        id: NodeId,
        type_arguments: &'a [TypeExpression],
        arguments: &'a [Argument],
    ) -> Type {
        if !arguments.is_empty() || !type_arguments.is_empty() {
            self.error(
                "argument-count",
                e.span,
                "`apply` of a table takes no arguments",
            );
            self.give_up(callee, type_arguments, arguments);
        }
        if self.place != Place::ControlApply {
            self.error(
                "apply-placement",
                e.span,
                "a table can be applied only in a control's `apply`",
            );
        }
        let call = Call {
            target: Target::Table(id),
            type_arguments: Vec::new(),
            arguments: Vec::new(),
        };
        self.note_call(e, callee, call, Some(id));
        Type::ApplyResult(id)
    }

    /// Chooses among functions of one name by the number and the names of the arguments (6.9.2), and checks the call.
    fn call_one_of(
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
    fn check_placement(&mut self, e: &Expression, candidate: &Candidate<'a>) {
        if let Target::Action(_) = candidate.target
            && !matches!(self.place, Place::Action | Place::ControlApply)
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
                self.tell(diagnostic);
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
                self.tell(diagnostic);
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
            self.tell(
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

    /// Checks arguments against parameters. Arguments that are only literals come last: the others tell their types.
    pub(super) fn check_arguments(
        &mut self,
        span: Span,
        candidate: &Candidate<'a>,
        bound: &[Bound],
        arguments: &'a [Argument],
        types: &Substitution,
    ) {
        let mut later = Vec::new();
        for (parameter, bound) in candidate.parameters.iter().zip(bound) {
            let want = substitute(&self.type_of(parameter.id), types);
            let argument = match bound {
                Bound::Argument(index) => &arguments[*index].value,
                Bound::Default => {
                    if let Some(default) = &parameter.default {
                        let have = substitute(&self.type_of(default.id), types);
                        if self.is_open(&want) {
                            self.unify(&have, &want);
                        }
                    }
                    continue;
                }
                Bound::Absent => {
                    // What only an argument left out would tell need not be known.
                    if is_optional(parameter) {
                        self.forgive(&want);
                    }
                    continue;
                }
            };
            if matches!(argument.kind, ExpressionKind::DontCare) {
                self.record(argument.id, want.clone());
                if parameter.direction != Direction::Out {
                    self.error(
                        "argument",
                        argument.span,
                        format!(
                            "`_` can be given only for an `out` parameter, which `{}` is not",
                            parameter.name.text
                        ),
                    );
                }
                continue;
            }
            let have = self.argument_value(argument);
            match parameter.direction {
                Direction::Out | Direction::InOut => {
                    if !self.unify(&have, &want) {
                        self.argument_mismatch(argument, &have, &want, parameter);
                    } else if have != Type::Unknown {
                        self.must_be_argument(argument, parameter);
                    }
                }
                Direction::In | Direction::None => {
                    if self.is_soft(&have) && self.is_open(&want) {
                        later.push((argument, have, want));
                    } else {
                        self.coerce(argument, &have, &want);
                    }
                }
            }
            if parameter.direction == Direction::None
                && matches!(
                    candidate.target,
                    Target::Function(_) | Target::Constructor(_) | Target::Apply(_)
                )
                && !matches!(
                    self.known(&self.type_of(argument.id)),
                    Type::Object(..) | Type::Unknown
                )
                && !self.made_by_extern(argument)
                && !self.is_compile_time(argument)
                && !self.is_directionless_parameter(argument)
            {
                self.error(
                    "not-constant",
                    argument.span,
                    format!(
                        "the parameter `{}` has no direction, so that its argument must be known while compiling",
                        parameter.name.text
                    ),
                );
            }
        }
        for (argument, have, want) in later {
            self.coerce(argument, &have, &want);
        }
        let _ = span;
    }

    /// What an extern function gives for known arguments counts as known where objects are made.
    fn made_by_extern(&self, e: &'a Expression) -> bool {
        let ExpressionKind::Call { arguments, .. } = &e.kind else {
            return false;
        };
        matches!(
            self.out.calls.get(&e.id).map(|call| call.target),
            Some(Target::ExternFunction(_))
        ) && arguments.iter().all(|a| self.is_compile_time(&a.value))
    }

    fn is_directionless_parameter(&self, e: &Expression) -> bool {
        matches!(e.kind, ExpressionKind::Path { .. })
            && matches!(
                self.out.references.get(&e.id).and_then(|id| self.entity(*id)),
                Some(Entity::Parameter(p)) if p.direction == Direction::None
            )
    }

    /// The type of an argument; objects are allowed.
    pub(super) fn argument_value(&mut self, e: &'a Expression) -> Type {
        self.value(e)
    }

    fn argument_mismatch(
        &mut self,
        e: &Expression,
        have: &Type,
        want: &Type,
        parameter: &Parameter,
    ) {
        let (have_text, want_text) = (self.show(have), self.show(want));
        let mut diagnostic = Diagnostic::error(
            "type-mismatch",
            e.span,
            format!(
                "this is `{have_text}` where the `{}` parameter `{}` is `{want_text}`",
                if parameter.direction == Direction::Out {
                    "out"
                } else {
                    "inout"
                },
                parameter.name.text
            ),
        )
        .note(parameter.name.span, "the parameter");
        if self.castable(have, want) {
            diagnostic = diagnostic.help(
                "nothing is cast when it is written to: use a variable of the parameter's type",
            );
        }
        self.tell(diagnostic);
    }

    fn must_be_argument(&mut self, e: &'a Expression, parameter: &Parameter) {
        if let Some(why) = self.why_not_writable(e) {
            let direction = if parameter.direction == Direction::Out {
                "out"
            } else {
                "inout"
            };
            self.tell(
                Diagnostic::error(
                    "not-an-l-value",
                    e.span,
                    format!("the argument for the `{direction}` parameter `{}` is written to, and cannot be: {why}", parameter.name.text),
                )
                .note(parameter.name.span, "the parameter"),
            );
        }
    }

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
                self.tell(
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
    fn other_constructors(
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

fn size_method(name: &str) -> Option<Builtin> {
    Some(match name {
        "minSizeInBits" => Builtin::MinSizeInBits,
        "minSizeInBytes" => Builtin::MinSizeInBytes,
        "maxSizeInBits" => Builtin::MaxSizeInBits,
        "maxSizeInBytes" => Builtin::MaxSizeInBytes,
        _ => return None,
    })
}
