//! Type variables: unification by substitution (decision 0017).

use super::checker::{Checker, Variable};
use super::substitution::{MAX_TYPE_SIZE, Substitution, any, map, substitute, substitution};
use crate::ast::{NodeId, TypeParameter};
use crate::source::Span;
use crate::types::Type;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    /// A new type to be inferred.
    pub(super) fn fresh(&mut self, name: &Arc<str>, span: Span) -> Type {
        self.variables.push(Variable {
            binding: None,
            name: name.clone(),
            span,
            reported: false,
        });
        Type::Variable(self.variables.len() as u32 - 1)
    }

    /// A new type for each type parameter.
    pub(super) fn fresh_all(&mut self, parameters: &[TypeParameter], span: Span) -> Vec<Type> {
        parameters
            .iter()
            .map(|p| self.fresh(&p.name.text, span))
            .collect()
    }

    /// What a type is known to be, at its outside.
    pub(super) fn shallow(&self, ty: &Type) -> Type {
        let mut ty = ty;
        while let Type::Variable(index) = ty {
            match &self.variables[*index as usize].binding {
                Some(bound) => ty = bound,
                None => break,
            }
        }
        ty.clone()
    }

    /// What a type is known to be, in all its parts.
    pub(super) fn known(&self, ty: &Type) -> Type {
        if !any(ty, &mut |part| matches!(part, Type::Variable(_))) {
            return ty.clone();
        }
        let mut room = MAX_TYPE_SIZE;
        self.known_within(ty, &mut room)
    }

    fn known_within(&self, ty: &Type, room: &mut usize) -> Type {
        if *room == 0 {
            return Type::Unknown;
        }
        *room -= 1;
        let ty = self.shallow(ty);
        map(&ty, &mut |part| self.known_within(part, room))
    }

    /// Whether something in the type is still to be inferred.
    pub(super) fn is_open(&self, ty: &Type) -> bool {
        any(&self.known(ty), &mut |part| {
            matches!(part, Type::Variable(_))
        })
    }

    fn bind(&mut self, index: u32, ty: &Type) -> bool {
        let ty = self.known(ty);
        if ty == Type::Variable(index) {
            return true;
        }
        if any(&ty, &mut |part| *part == Type::Variable(index)) {
            return false;
        }
        if matches!(
            ty,
            Type::Name(_)
                | Type::Callable(_)
                | Type::Table(_)
                | Type::State
                | Type::Void
                | Type::Default
        ) {
            return false;
        }
        self.variables[index as usize].binding = Some(ty);
        true
    }

    /// Makes two types the same, if they can be.
    pub(super) fn unify(&mut self, a: &Type, b: &Type) -> bool {
        self.deeper(Span::default(), true, |checker| checker.unify_parts(a, b))
    }

    fn unify_parts(&mut self, a: &Type, b: &Type) -> bool {
        let (a, b) = (self.shallow(a), self.shallow(b));
        match (&a, &b) {
            (Type::Unknown, _) | (_, Type::Unknown) => true,
            (Type::Variable(index), other) | (other, Type::Variable(index)) => {
                self.bind(*index, other)
            }
            (Type::Composite(x, left), Type::Composite(y, right)) => {
                x == y && self.unify_all(left, right)
            }
            (Type::Object(x, left), Type::Object(y, right)) if x == y => {
                self.unify_all(left, right)
            }
            (Type::Object(x, left), Type::Object(y, right)) => self.implements(*x, left, *y, right),
            (Type::Tuple(left), Type::Tuple(right)) => self.unify_all(left, right),
            (Type::Stack(left, x), Type::Stack(right, y)) => x == y && self.unify(left, right),
            (Type::List(left), Type::List(right)) | (Type::Set(left), Type::Set(right)) => {
                self.unify(left, right)
            }
            (Type::Fields(left), Type::Fields(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right)
                        .all(|((n, x), (m, y))| n == m && self.unify(x, y))
            }
            _ => a == b,
        }
    }

    pub(super) fn unify_all(&mut self, left: &[Type], right: &[Type]) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(x, y)| self.unify(x, y))
    }

    /// Whether a parser or control has the parameters of a parser or control type (7.2.11).
    fn implements(
        &mut self,
        object: NodeId,
        arguments: &[Type],
        kind: NodeId,
        kind_arguments: &[Type],
    ) -> bool {
        let (Some(have), Some(want)) = (self.applicable(object), self.applicable(kind)) else {
            return false;
        };
        if have.kind != want.kind || !want.is_type {
            return false;
        }
        let from = substitution(have.type_parameters, arguments);
        let to = substitution(want.type_parameters, kind_arguments);
        let optional =
            |p: &crate::ast::Parameter| super::calls::is_optional(p) || p.default.is_some();
        if have.parameters.len() > want.parameters.len()
            || want.parameters[have.parameters.len()..]
                .iter()
                .any(|p| !optional(p))
        {
            return false;
        }
        have.parameters
            .iter()
            .zip(want.parameters)
            .all(|(mine, theirs)| {
                let (x, y) = (
                    substitute(&self.type_of(mine.id), &from),
                    substitute(&self.type_of(theirs.id), &to),
                );
                mine.direction == theirs.direction && self.unify(&x, &y)
            })
    }

    /// The type with its type parameters open, and nobody minds if they stay so.
    pub(super) fn opened(&mut self, ty: &Type) -> Type {
        let mut parameters = Vec::new();
        any(ty, &mut |part| {
            if let Type::Parameter(id) = part {
                parameters.push(*id);
            }
            false
        });
        parameters.sort_unstable();
        parameters.dedup();
        let mut types = Substitution::new();
        for id in parameters {
            let open = self.fresh(&"_".into(), Span::default());
            types.push((id, open));
        }
        substitute(ty, &types)
    }

    /// A parameter's type for one call: each `_` in it stands for a type of its own, which nobody minds if it stays open.
    pub(super) fn renewed(&mut self, declared: &Type) -> Type {
        match declared {
            Type::Variable(index) if self.variables[*index as usize].binding.is_none() => {
                let (name, span) = {
                    let variable = &self.variables[*index as usize];
                    (variable.name.clone(), variable.span)
                };
                let open = self.fresh(&name, span);
                self.forgive(&open);
                open
            }
            _ => map(declared, &mut |part| self.renewed(part)),
        }
    }

    /// Lets the types that are open in `ty` stay so.
    pub(super) fn forgive(&mut self, ty: &Type) {
        let mut open = Vec::new();
        any(&self.known(ty), &mut |part| {
            if let Type::Variable(index) = part {
                open.push(*index);
            }
            false
        });
        for index in open {
            self.variables[index as usize].reported = true;
        }
    }

    /// In what the parameters of a parser or control differ from those of the type that it should have.
    pub(super) fn why_not_implemented(
        &mut self,
        have: &Type,
        want: &Type,
    ) -> Option<(Span, String)> {
        let (Type::Object(object, arguments), Type::Object(kind, kind_arguments)) =
            (self.known(have), self.known(want))
        else {
            return None;
        };
        let (have, want) = (self.applicable(object)?, self.applicable(kind)?);
        let name = self
            .entity(object)
            .and_then(|entity| self.name_of(entity))?;
        if have.kind != want.kind {
            return None;
        }
        let from = substitution(have.type_parameters, &arguments);
        let to = substitution(want.type_parameters, &kind_arguments);
        for (mine, theirs) in have.parameters.iter().zip(want.parameters) {
            if mine.direction != theirs.direction {
                let message = format!(
                    "the directions of `{}` and of `{}` of the type differ",
                    mine.name.text, theirs.name.text
                );
                return Some((mine.name.span, message));
            }
            let (x, y) = (
                substitute(&self.type_of(mine.id), &from),
                substitute(&self.type_of(theirs.id), &to),
            );
            if !self.unify(&x, &y) {
                let (x, y) = (self.show(&x), self.show(&y));
                return Some((
                    mine.name.span,
                    format!("`{}` is `{x}`, and must be `{y}`", mine.name.text),
                ));
            }
        }
        (have.parameters.len() != want.parameters.len()).then(|| {
            let (x, y) = (have.parameters.len(), want.parameters.len());
            (
                name.span,
                format!("`{}` has {x} parameters, and must have {y}", name.text),
            )
        })
    }

    /// Complains of each type that was to be inferred since the last call and was not.
    pub(super) fn settle(&mut self) {
        for index in self.settled..self.variables.len() {
            let variable = &self.variables[index];
            if variable.binding.is_some() || variable.reported || &*variable.name == "_" {
                continue;
            }
            let (name, span) = (variable.name.clone(), variable.span);
            self.variables[index].reported = true;
            self.report(
                crate::diagnostic::Diagnostic::error(
                    "cannot-infer",
                    span,
                    format!("cannot infer the type parameter `{name}`"),
                )
                .help("write the type arguments: `name<type>(...)`"),
            );
        }
        self.settled = self.variables.len();
    }

    /// Puts what was inferred into the tables.
    pub(super) fn finish_types(&mut self) {
        let open = |ty: &Type| any(ty, &mut |part| matches!(part, Type::Variable(_)));
        let mut out = core::mem::take(&mut self.out);
        for ty in out.types.values_mut().chain(out.casts.values_mut()) {
            if open(ty) {
                *ty = self.finished(ty);
            }
        }
        for call in out.calls.values_mut() {
            for ty in &mut call.type_arguments {
                if open(ty) {
                    *ty = self.finished(ty);
                }
            }
        }
        self.out = out;
    }

    fn finished(&self, ty: &Type) -> Type {
        fn close(ty: &Type) -> Type {
            match ty {
                Type::Variable(_) => Type::Unknown,
                other => map(other, &mut |part| close(part)),
            }
        }
        close(&self.known(ty))
    }
}
