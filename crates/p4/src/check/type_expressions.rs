//! Uses of types: what they mean, and whether they are well formed (specification 7).

use super::checker::{Checker, Entity, MAX_STACK_LEN, MAX_WIDTH};
use crate::ast::{
    CompositeKind, DeclarationKind, Expression, Name, NodeId, Parameter, TypeExpression,
    TypeExpressionKind, TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use num_traits::{Signed, ToPrimitive};

/// What can be applied or instantiated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ApplicableKind {
    Parser,
    Control,
    Package,
}

/// A parser, control or package, or the type of one.
pub(super) struct Applicable<'a> {
    pub(super) kind: ApplicableKind,
    /// Declared without a body.
    pub(super) is_type: bool,
    pub(super) type_parameters: &'a [TypeParameter],
    pub(super) parameters: &'a [Parameter],
    pub(super) constructor_parameters: &'a [Parameter],
}

impl<'a> Checker<'a> {
    pub(super) fn applicable(&self, id: NodeId) -> Option<Applicable<'a>> {
        let (kind, is_type, type_parameters, parameters, constructor_parameters): (
            _,
            _,
            &'a [_],
            &'a [_],
            &'a [_],
        ) = match &self.declaration(id)?.kind {
            DeclarationKind::Parser(p) => (
                ApplicableKind::Parser,
                false,
                &p.type_parameters,
                &p.parameters,
                &p.constructor_parameters,
            ),
            DeclarationKind::Control(c) => (
                ApplicableKind::Control,
                false,
                &c.type_parameters,
                &c.parameters,
                &c.constructor_parameters,
            ),
            DeclarationKind::ParserType {
                type_parameters,
                parameters,
                ..
            } => (
                ApplicableKind::Parser,
                true,
                type_parameters,
                parameters,
                &[],
            ),
            DeclarationKind::ControlType {
                type_parameters,
                parameters,
                ..
            } => (
                ApplicableKind::Control,
                true,
                type_parameters,
                parameters,
                &[],
            ),
            DeclarationKind::PackageType {
                type_parameters,
                parameters,
                ..
            } => (
                ApplicableKind::Package,
                false,
                type_parameters,
                &[],
                parameters,
            ),
            _ => return None,
        };
        Some(Applicable {
            kind,
            is_type,
            type_parameters,
            parameters,
            constructor_parameters,
        })
    }

    /// The type that a type expression means. All type arguments must be there.
    pub(super) fn resolve(&mut self, ty: &'a TypeExpression) -> Type {
        let resolved = self.resolve_open(ty);
        if let Some(parameters) = self.missing_arguments(ty, &resolved) {
            let text = self.show(&resolved);
            self.report(
                Diagnostic::error(
                    "type-arguments-missing",
                    ty.span,
                    format!(
                        "`{text}` is generic and needs {parameters} type argument{}",
                        plural(parameters)
                    ),
                )
                .help(format!("write `{text}<...>`")),
            );
            return Type::Unknown;
        }
        resolved
    }

    pub(super) fn missing_arguments(&self, ty: &TypeExpression, resolved: &Type) -> Option<usize> {
        if !matches!(ty.kind, TypeExpressionKind::Named { .. }) {
            return None;
        }
        match resolved {
            Type::Composite(id, arguments) | Type::Object(id, arguments) => {
                let wanted = self.type_parameters(*id).len();
                (arguments.is_empty() && wanted > 0).then_some(wanted)
            }
            _ => None,
        }
    }

    /// The type parameters of a declaration.
    pub(super) fn type_parameters(&self, id: NodeId) -> &'a [TypeParameter] {
        match self.declaration(id).map(|d| &d.kind) {
            Some(
                DeclarationKind::Composite {
                    type_parameters, ..
                }
                | DeclarationKind::Extern {
                    type_parameters, ..
                },
            ) => type_parameters,
            Some(
                DeclarationKind::Function { prototype, .. }
                | DeclarationKind::ExternFunction(prototype),
            ) => &prototype.type_parameters,
            Some(_) => self.applicable(id).map_or(&[], |a| a.type_parameters),
            None => &[],
        }
    }

    /// The type that a type expression means; of a generic name alone the type without arguments.
    pub(super) fn resolve_open(&mut self, ty: &'a TypeExpression) -> Type {
        let resolved = self.deeper(ty.span, Type::Unknown, |checker| checker.resolve_kind(ty));
        let resolved = self.bounded(resolved, ty.span);
        self.record(ty.id, resolved.clone());
        resolved
    }

    pub(super) fn resolve_kind(&mut self, ty: &'a TypeExpression) -> Type {
        match &ty.kind {
            TypeExpressionKind::Bool => Type::Bool,
            TypeExpressionKind::Error => Type::Error,
            TypeExpressionKind::MatchKind => Type::MatchKind,
            TypeExpressionKind::Int => Type::Integer,
            TypeExpressionKind::String => Type::String,
            TypeExpressionKind::Void => Type::Void,
            TypeExpressionKind::DontCare => self.fresh(&"_".into(), ty.span),
            TypeExpressionKind::Bit(None) => Type::Bits(1),
            TypeExpressionKind::Bit(Some(width)) => {
                self.width(width, 0).map_or(Type::Unknown, Type::Bits)
            }
            TypeExpressionKind::Signed(width) => {
                self.width(width, 1).map_or(Type::Unknown, Type::Signed)
            }
            TypeExpressionKind::Varbit(width) => {
                self.width(width, 0).map_or(Type::Unknown, Type::Varbit)
            }
            TypeExpressionKind::Named { name, absolute } => self.named(ty.id, name, *absolute),
            TypeExpressionKind::Specialized { base, arguments } => {
                self.specialized(ty, base, arguments)
            }
            TypeExpressionKind::Stack { base, size } => self.stack(ty, base, size),
            TypeExpressionKind::Tuple(parts) => {
                let parts: Vec<Type> = parts
                    .iter()
                    .map(|part| self.part(part, "a tuple"))
                    .collect();
                Type::Tuple(parts)
            }
            TypeExpressionKind::List(part) => {
                let element = self.part(part, "a list");
                Type::List(Box::new(element))
            }
        }
    }

    pub(super) fn is_extern(&self, id: NodeId) -> bool {
        matches!(
            self.declaration(id).map(|d| &d.kind),
            Some(DeclarationKind::Extern { .. })
        )
    }

    pub(super) fn named(&mut self, id: NodeId, name: &'a Name, absolute: bool) -> Type {
        let Some(entity) = self.find(&name.text, absolute).first().copied() else {
            self.not_found(name, "the type");
            return Type::Unknown;
        };
        self.refer(id, entity.id());
        match self.type_named(entity) {
            Some(ty) => ty,
            None => {
                let mut diagnostic = Diagnostic::error(
                    "not-a-type",
                    name.span,
                    format!("`{}` is not a type", name.text),
                );
                if let Some(declared) = self.name_of(entity) {
                    diagnostic = diagnostic.note(declared.span, "declared here");
                }
                self.report(diagnostic);
                Type::Unknown
            }
        }
    }

    /// The type that an entity is, without type arguments.
    pub(super) fn type_named(&self, entity: Entity<'a>) -> Option<Type> {
        match entity {
            Entity::TypeParameter(parameter) => Some(Type::Parameter(parameter.id)),
            Entity::Declaration(declaration) => match &declaration.kind {
                DeclarationKind::Composite { .. } => {
                    Some(Type::Composite(declaration.id, Vec::new()))
                }
                DeclarationKind::Enum { .. } => Some(Type::Enum(declaration.id)),
                DeclarationKind::NewType { .. } => Some(Type::New(declaration.id)),
                DeclarationKind::Typedef { .. } => Some(self.type_of(declaration.id)),
                DeclarationKind::Extern { .. }
                | DeclarationKind::ParserType { .. }
                | DeclarationKind::ControlType { .. }
                | DeclarationKind::PackageType { .. }
                | DeclarationKind::Parser(_)
                | DeclarationKind::Control(_) => Some(Type::Object(declaration.id, Vec::new())),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn specialized(
        &mut self,
        ty: &'a TypeExpression,
        base: &'a TypeExpression,
        arguments: &'a [TypeExpression],
    ) -> Type {
        let resolved = self.resolve_open(base);
        let resolved_arguments: Vec<Type> =
            arguments.iter().map(|a| self.type_argument(a)).collect();
        let (id, given) = match &resolved {
            Type::Composite(id, given) | Type::Object(id, given) => (*id, given),
            Type::Unknown => return Type::Unknown,
            other => {
                let text = self.show(other);
                self.error(
                    "not-generic",
                    ty.span,
                    format!("`{text}` is not generic and takes no type arguments"),
                );
                return Type::Unknown;
            }
        };
        let parameters = self.type_parameters(id);
        if !given.is_empty() || parameters.is_empty() {
            let text = self.show(&resolved);
            self.error(
                "not-generic",
                ty.span,
                format!("`{text}` is not generic and takes no type arguments"),
            );
            return Type::Unknown;
        }
        if parameters.len() != resolved_arguments.len() {
            let text = self.show(&resolved);
            self.error(
                "type-argument-count",
                ty.span,
                format!(
                    "`{text}` takes {} type argument{}, not {}",
                    parameters.len(),
                    plural(parameters.len()),
                    resolved_arguments.len()
                ),
            );
            return Type::Unknown;
        }
        let specialized = match resolved {
            Type::Composite(id, _) => Type::Composite(id, resolved_arguments),
            _ => Type::Object(id, resolved_arguments),
        };
        let (Type::Composite(id, arguments) | Type::Object(id, arguments)) = &specialized else {
            return Type::Unknown;
        };
        let itself = arguments.iter().any(|argument| {
            super::substitution::any(argument, &mut |part| {
                matches!(part, Type::Composite(other, _) | Type::Object(other, _) if other == id)
            })
        });
        if itself {
            let text = self.show(&resolved);
            self.error(
                "type-argument",
                ty.span,
                format!("`{text}` cannot be a type argument of itself"),
            );
            return Type::Unknown;
        }
        self.well_formed(&specialized, ty);
        specialized
    }

    pub(super) fn stack(
        &mut self,
        ty: &'a TypeExpression,
        base: &'a TypeExpression,
        size: &'a Expression,
    ) -> Type {
        // Of generic externs the constructor's arguments may tell the type arguments.
        let element = self.resolve_open(base);
        let element = match &element {
            Type::Object(id, given) if given.is_empty() && self.is_extern(*id) => {
                let open = self.fresh_all(self.type_parameters(*id), base.span);
                Type::Object(*id, open)
            }
            _ => self.resolve(base),
        };
        if !self.may_be_stacked(&element) {
            let text = self.show(&element);
            self.error(
                "type-nesting",
                ty.span,
                format!("there cannot be a stack of `{text}`"),
            );
            return Type::Unknown;
        }
        let Some(length) = self.natural(size, "the size of a stack", MAX_STACK_LEN) else {
            return Type::Unknown;
        };
        Type::Stack(Box::new(element), length)
    }

    pub(super) fn width(&mut self, e: &'a Expression, least: u32) -> Option<u32> {
        let width = self.natural(e, "a width", MAX_WIDTH)?;
        if width < least {
            self.error(
                "width",
                e.span,
                format!("the width of this type is at least {least}"),
            );
            return None;
        }
        Some(width)
    }

    /// A number from 0 known while compiling.
    pub(super) fn natural(&mut self, e: &'a Expression, what: &str, most: u32) -> Option<u32> {
        let ty = self.value(e);
        let ty = self.numeric(&ty);
        match ty {
            Type::Unknown => return None,
            Type::Integer | Type::Bits(_) | Type::Signed(_) => {}
            other => {
                let text = self.show(&other);
                self.error(
                    "not-a-number",
                    e.span,
                    format!("{what} is a number known while compiling, not a `{text}`"),
                );
                return None;
            }
        }
        let Some(Constant::Integer(value)) = self.constant(e).cloned() else {
            self.error(
                "not-constant",
                e.span,
                format!("{what} must be known while compiling"),
            );
            return None;
        };
        if value.is_negative() {
            self.error(
                "negative",
                e.span,
                format!("{what} cannot be negative, and this is {value}"),
            );
            return None;
        }
        match value.to_u32().filter(|value| *value <= most) {
            Some(value) => Some(value),
            None => {
                self.error(
                    "too-large",
                    e.span,
                    format!("{what} is at most {most} here, and this is {value}"),
                );
                None
            }
        }
    }

    /// The bits in which a type can be cast from and to numbers: of a serialisable enum its underlying type.
    pub(super) fn numeric(&self, ty: &Type) -> Type {
        match self.shallow(ty) {
            Type::Enum(id) => self.underlying(id).unwrap_or(Type::Enum(id)),
            other => other,
        }
    }
}

pub(super) fn kind_name(kind: CompositeKind) -> &'static str {
    match kind {
        CompositeKind::Header => "header",
        CompositeKind::Struct => "struct",
        CompositeKind::Union => "header union",
    }
}

pub(super) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
