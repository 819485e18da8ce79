//! Calls of methods, and of what is applied (specification 8.18 and 8.19).

use super::calls::{Candidate, can_be_left_out, size_method};
use super::checker::{Checker, Context};
use super::substitution::{Substitution, substitution};
use super::type_expressions::{ApplicableKind, plural};
use super::{Bound, Builtin, Call, Target};
use crate::ast::{
    Argument, CompositeKind, DeclarationKind, Expression, Method, Name, NodeId, TypeExpression,
};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::format;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    /// The methods of an extern, constructors apart.
    pub(super) fn methods(&self, id: NodeId) -> &'a [Method] {
        match self.declaration(id).map(|d| &d.kind) {
            Some(DeclarationKind::Extern { methods, .. }) => methods,
            _ => &[],
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn method_call(
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

    pub(super) fn no_such_method(&mut self, ty: &Type, member: &Name, names: &[&str]) {
        let text = self.show(ty);
        let mut diagnostic = Diagnostic::error(
            "no-such-method",
            member.span,
            format!("`{text}` has no method `{}`", member.text),
        );
        if let Some(close) = super::scopes::nearest(&member.text, names.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
        }
        self.report(diagnostic);
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn builtin_call(
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

    pub(super) fn builtin(&mut self, e: &Expression, builtin: Builtin, arguments: usize) {
        let call = Call {
            target: Target::Builtin(builtin),
            type_arguments: Vec::new(),
            arguments: (0..arguments).map(Bound::Argument).collect(),
        };
        self.out.calls.insert(e.id, call);
    }

    /// `minSizeInBits` and its like, which are known while compiling (9.1).
    pub(super) fn size_call(
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
        let generic = super::substitution::any(ty, &mut |part| matches!(part, Type::Parameter(_)));
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
    pub(super) fn apply(
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
            ApplicableKind::Parser => ("parser", matches!(self.context, Context::ParserState)),
            _ => ("control", matches!(self.context, Context::ControlApply)),
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

    pub(super) fn apply_table(
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
        if self.context != Context::ControlApply {
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

    pub(super) fn method_candidate(
        &self,
        method: &'a Method,
        outer: Substitution,
    ) -> Candidate<'a> {
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
}
