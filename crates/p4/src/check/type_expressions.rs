//! Uses of types: what they mean, and whether they are well formed (specification 7).

use super::checker::{
    Checker, DEEPEST_TYPE, Entity, LARGEST_TYPE, LONGEST_STACK, MOST_SCALARS, WIDEST,
};
use super::inference::size;
use crate::ast::{
    CompositeKind, DeclarationKind, Expression, Name, NodeId, Parameter, TypeExpression,
    TypeExpressionKind, TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::{Constant, Type};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use num_traits::{Signed, ToPrimitive, Zero};

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
            self.tell(
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

    fn missing_arguments(&self, ty: &TypeExpression, resolved: &Type) -> Option<usize> {
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

    /// The type, unless it is too large to work with.
    pub(super) fn bounded(&mut self, ty: Type, span: Span) -> Type {
        let wrong = if size(&ty) > LARGEST_TYPE || self.nesting(&ty) > DEEPEST_TYPE {
            true
        } else {
            matches!(ty, Type::Composite(..) | Type::Tuple(_) | Type::Stack(..))
                && self.scalars(&ty) > MOST_SCALARS
        };
        if wrong {
            self.error(
                "type-too-large",
                span,
                "this type has too many parts, or nests too deeply",
            );
            return Type::Unknown;
        }
        ty
    }

    /// How deep a type nests, through fields too.
    pub(super) fn nesting(&self, ty: &Type) -> u32 {
        let most = |parts: &[Type]| {
            parts
                .iter()
                .map(|part| self.nesting(part))
                .max()
                .unwrap_or(0)
        };
        let own = |id: &NodeId| self.nesting.get(id).copied().unwrap_or(0);
        match ty {
            Type::Composite(id, arguments) | Type::Object(id, arguments) => {
                1 + own(id) + most(arguments)
            }
            Type::New(id) => 1 + own(id),
            Type::Tuple(parts) => 1 + most(parts),
            Type::Stack(part, _) | Type::List(part) | Type::Set(part) | Type::Name(part) => {
                1 + self.nesting(part)
            }
            Type::Fields(fields) => {
                1 + fields
                    .iter()
                    .map(|(_, part)| self.nesting(part))
                    .max()
                    .unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// How many scalars a type has.
    pub(super) fn scalars(&mut self, ty: &Type) -> u64 {
        let parts: Vec<Type> = match ty {
            Type::Composite(id, arguments) => {
                if let Some(count) = self.scalars.get(ty) {
                    return *count;
                }
                self.fields(*id, arguments)
                    .into_iter()
                    .map(|(_, ty)| ty)
                    .collect()
            }
            Type::Tuple(parts) => parts.clone(),
            Type::Stack(part, count) => {
                return self.scalars(part).saturating_mul(u64::from(*count));
            }
            _ => return 1,
        };
        let count = parts
            .iter()
            .fold(1u64, |sum, part| sum.saturating_add(self.scalars(part)));
        if matches!(ty, Type::Composite(..)) {
            self.scalars.insert(ty.clone(), count);
        }
        count
    }

    fn resolve_kind(&mut self, ty: &'a TypeExpression) -> Type {
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

    /// What stands in a tuple or list.
    fn part(&mut self, part: &'a TypeExpression, of: &str) -> Type {
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

    pub(super) fn is_extern(&self, id: NodeId) -> bool {
        matches!(
            self.declaration(id).map(|d| &d.kind),
            Some(DeclarationKind::Extern { .. })
        )
    }

    fn named(&mut self, id: NodeId, name: &'a Name, absolute: bool) -> Type {
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
                self.tell(diagnostic);
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

    fn specialized(
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
            super::inference::any(argument, &mut |part| {
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

    /// Whether a generic type makes sense with the arguments that it was given.
    fn well_formed(&mut self, ty: &Type, at: &'a TypeExpression) {
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
                self.tell(diagnostic);
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

    fn stack(
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
        let Some(length) = self.natural(size, "the size of a stack", LONGEST_STACK) else {
            return Type::Unknown;
        };
        Type::Stack(Box::new(element), length)
    }

    fn width(&mut self, e: &'a Expression, least: u32) -> Option<u32> {
        let width = self.natural(e, "a width", WIDEST)?;
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

    /// How many bits a type has at least and at most on the wire, if it has a size (9.1).
    pub(super) fn sizes(&mut self, ty: &Type) -> Option<(u64, u64)> {
        let ty = self.known(ty);
        if let Some(size) = self.sizes.get(&ty) {
            return *size;
        }
        let size = self.sizes_of(&ty);
        self.sizes.insert(ty, size);
        size
    }

    fn sizes_of(&mut self, ty: &Type) -> Option<(u64, u64)> {
        let fixed = |width: u64| Some((width, width));
        match ty {
            Type::Bool => fixed(1),
            Type::Bits(width) | Type::Signed(width) => fixed(u64::from(*width)),
            Type::Varbit(width) => Some((0, u64::from(*width))),
            Type::Enum(id) => {
                let underlying = self.underlying(*id)?;
                self.sizes(&underlying)
            }
            Type::New(id) => {
                let under = self.type_of(*id);
                self.sizes(&under)
            }
            Type::Tuple(parts) => self.sum_of_sizes(parts),
            Type::Stack(base, count) => {
                let (least, most) = self.sizes(base)?;
                Some((
                    least.saturating_mul(u64::from(*count)),
                    most.saturating_mul(u64::from(*count)),
                ))
            }
            Type::Composite(id, arguments) => {
                let parts: Vec<Type> = self
                    .fields(*id, arguments)
                    .into_iter()
                    .map(|(_, ty)| ty)
                    .collect();
                if self.is_kind(ty, CompositeKind::Union) {
                    let mut least = u64::MAX;
                    let mut most = 0;
                    for part in &parts {
                        let (low, high) = self.sizes(part)?;
                        least = least.min(low);
                        most = most.max(high);
                    }
                    Some(if least.is_zero() || parts.is_empty() {
                        (0, most)
                    } else {
                        (least, most)
                    })
                } else {
                    self.sum_of_sizes(&parts)
                }
            }
            _ => None,
        }
    }

    fn sum_of_sizes(&mut self, parts: &[Type]) -> Option<(u64, u64)> {
        let mut sum = (0u64, 0u64);
        for part in parts {
            let (least, most) = self.sizes(part)?;
            sum = (sum.0.saturating_add(least), sum.1.saturating_add(most));
        }
        Some(sum)
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
