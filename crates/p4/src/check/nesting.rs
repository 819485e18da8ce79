//! Which types may stand in which (specification 7.2.8).

use super::checker::Checker;
use super::type_expressions::kind_name;
use crate::ast::{CompositeKind, TypeExpression};
use crate::diagnostic::Diagnostic;
use crate::types::Type;
use alloc::format;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    /// Whether a field of a header, struct or union can have the type (7.2.8).
    pub(super) fn may_be_field(&self, kind: CompositeKind, ty: &Type) -> bool {
        let ty = &self.known(ty);
        match kind {
            CompositeKind::Header => match ty {
                Type::Unknown
                | Type::Bits(_)
                | Type::Signed(_)
                | Type::Varbit(_)
                | Type::Bool
                | Type::Parameter(_) => true,
                Type::Variable(_) => true,
                Type::Enum(id) => self.underlying(*id).is_some(),
                Type::New(id) => self.may_be_field(kind, &self.type_of(*id)),
                Type::Stack(part, _) => self.may_be_field(kind, part),
                Type::Composite(id, arguments) => {
                    self.is_kind(ty, CompositeKind::Struct)
                        && self
                            .fields(*id, arguments)
                            .iter()
                            .all(|(_, field)| self.may_be_field(kind, field))
                }
                _ => false,
            },
            CompositeKind::Union => match ty {
                Type::Unknown | Type::Parameter(_) | Type::Variable(_) => true,
                _ => self.is_kind(ty, CompositeKind::Header),
            },
            CompositeKind::Struct => !matches!(
                ty,
                Type::Void
                    | Type::Integer
                    | Type::String
                    | Type::Object(..)
                    | Type::Set(_)
                    | Type::MatchKind
                    | Type::List(_)
            ),
        }
    }

    /// Whether there can be a stack of the type (7.2.3): headers and unions are the ones with `next` and `last`; other values, and externs,
    /// make plain arrays.
    pub(super) fn may_be_stacked(&self, ty: &Type) -> bool {
        match self.known(ty) {
            Type::Object(id, _) => self.is_extern(id),
            Type::Void
            | Type::Integer
            | Type::String
            | Type::MatchKind
            | Type::List(_)
            | Type::Set(_) => false,
            _ => true,
        }
    }

    /// Whether a generic type makes sense with the arguments that it was given.
    pub(super) fn well_formed(&mut self, ty: &Type, at: &'a TypeExpression) {
        let Type::Composite(id, arguments) = ty else {
            return;
        };
        let Some((kind, _, parameters, _)) = self.composite(*id) else {
            return;
        };
        let generic: Vec<Type> = parameters.iter().map(|p| Type::Parameter(p.id)).collect();
        let before = self.fields(*id, &generic);
        for ((field, ty), (_, unspecialized)) in self.fields(*id, arguments).into_iter().zip(before)
        {
            if ty != unspecialized && !self.may_be_field(kind, &ty) {
                let text = self.show(&ty);
                let diagnostic = Diagnostic::error(
                    "type-nesting",
                    at.span,
                    format!(
                        "field `{}` of this {} would have the type `{text}`, which it cannot have",
                        field.name.text,
                        kind_name(kind)
                    ),
                )
                .note(field.name.span, "the field");
                self.report(diagnostic);
            }
            if let Type::Stack(base, _) = &ty
                && ty != unspecialized
                && !self.may_be_stacked(base)
            {
                let text = self.show(&ty);
                self.error(
                    "type-nesting",
                    at.span,
                    format!(
                        "field `{}` would have the type `{text}`, which cannot be",
                        field.name.text
                    ),
                );
            }
        }
    }

    /// What stands in a tuple or list.
    pub(super) fn part(&mut self, part: &'a TypeExpression, of: &str) -> Type {
        let ty = self.resolve(part);
        let wrong = match &ty {
            Type::Object(id, _) => !self.is_extern(*id) || of == "a tuple",
            Type::Void => true,
            Type::String => false,
            Type::Set(_) => true,
            _ => false,
        };
        if wrong {
            let text = self.show(&ty);
            self.error(
                "type-nesting",
                part.span,
                format!("`{text}` cannot be the type of an element of {of}"),
            );
            return Type::Unknown;
        }
        ty
    }

    /// A type argument: not `void`, nor a parser, control or package.
    pub(super) fn type_argument(&mut self, argument: &'a TypeExpression) -> Type {
        let ty = self.resolve(argument);
        if let Type::Object(id, _) = &ty
            && let Some(applicable) = self.applicable(*id)
            && !applicable.is_type
        {
            let text = self.show(&ty);
            self.error(
                "type-argument",
                argument.span,
                format!("`{text}` cannot be a type argument"),
            );
            return Type::Unknown;
        }
        ty
    }
}
