//! Headers, structs, unions, enums, `error`, `match_kind`, and new types (specification 7.2).

use super::checker::{Checker, Entity};
use super::type_expressions::kind_name;
use crate::ast::{
    CompositeKind, Declaration, Expression, Field, Member, Name, NodeId, TypeExpression,
    TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::collections::BTreeMap;
use alloc::format;
use num_bigint::BigInt;
use num_traits::One;

impl<'a> Checker<'a> {
    pub(super) fn composite_type(
        &mut self,
        id: NodeId,
        kind: CompositeKind,
        type_parameters: &'a [TypeParameter],
        fields: &'a [Field],
    ) {
        self.scoped(|checker| {
            checker.type_parameters_here(type_parameters);
            let mut seen: BTreeMap<&str, &Name> = BTreeMap::new();
            let mut deepest = 0;
            for field in fields {
                checker.register(Entity::Field(field));
                checker.annotations(&field.annotations);
                checker.length_annotation(&field.annotations, &seen);
                let ty = checker.resolve(&field.ty);
                if let Some(first) = seen.insert(&field.name.text, &field.name) {
                    checker.report(
                        Diagnostic::error(
                            "duplicate-field",
                            field.name.span,
                            format!("there are two fields `{}`", field.name.text),
                        )
                        .note(first.span, "the first one"),
                    );
                }
                if checker.is_open(&ty) {
                    checker.error(
                        "dont-care-type",
                        field.ty.span,
                        "`_` cannot stand in the type of a field",
                    );
                } else if !checker.may_be_field(kind, &ty) {
                    let text = checker.show(&ty);
                    checker.error(
                        "type-nesting",
                        field.ty.span,
                        format!("a field of a {} cannot be `{text}`", kind_name(kind)),
                    );
                }
                deepest = deepest.max(checker.nesting(&ty));
                checker.record(field.id, ty);
            }
            checker.nesting.insert(id, deepest);
        });
    }

    pub(super) fn enumeration(
        &mut self,
        declaration: &'a Declaration,
        underlying: Option<&'a TypeExpression>,
        members: &'a [Member],
    ) {
        let ty = underlying.map(|underlying| {
            let ty = self.resolve(underlying);
            match &ty {
                Type::Bits(_) | Type::Signed(_) | Type::Unknown => ty,
                other => {
                    let text = self.show(other);
                    self.error(
                        "enum-type",
                        underlying.span,
                        format!("an enum is made of `bit<>` or `int<>`, not of `{text}`"),
                    );
                    Type::Unknown
                }
            }
        });
        if let (Some(underlying), Some(ty)) = (underlying, &ty) {
            self.record(underlying.id, ty.clone());
        }
        let mut seen: BTreeMap<&str, &Name> = BTreeMap::new();
        self.frames.push(super::checker::Frame::default());
        for member in members {
            self.register(Entity::Member(member));
            self.annotations(&member.annotations);
            self.record(member.id, Type::Enum(declaration.id));
            if let Some(first) = seen.insert(&member.name.text, &member.name) {
                self.report(
                    Diagnostic::error(
                        "duplicate-member",
                        member.name.span,
                        format!("there are two members `{}`", member.name.text),
                    )
                    .note(first.span, "the first one"),
                );
            }
            match (&ty, &member.value) {
                (Some(ty), Some(value)) => {
                    let good = self.value_of(value, ty);
                    match self.cast_value(value) {
                        Some(constant) => {
                            if let Constant::Integer(number) = &constant
                                && let Some(Constant::Integer(written)) = self.constant(value)
                                && number != written
                            {
                                let text = self.show(ty);
                                let written = written.clone();
                                self.error(
                                    "enum-value",
                                    value.span,
                                    format!("{written} does not fit in `{text}`"),
                                );
                            }
                            self.out.constants.insert(member.id, constant);
                            // Later members can be computed from it.
                            if self.find(&member.name.text, false).is_empty() {
                                self.declare(&member.name, Entity::Member(member));
                            }
                        }
                        None if good && *ty != Type::Unknown => {
                            self.error("not-constant", value.span, "the value of a member must be known while compiling");
                        }
                        None => {}
                    }
                }
                (Some(_), None) => self.error(
                    "enum-value",
                    member.name.span,
                    format!("`{}` needs a value, as the enum has an underlying type", member.name.text),
                ),
                (None, Some(value)) => self.error(
                    "enum-value",
                    value.span,
                    "members have values only in an enum with an underlying type: `enum bit<8> E { ... }`",
                ),
                (None, None) => {}
            }
        }
        self.frames.pop();
    }

    /// `error` and `match_kind`: all their declarations together are one.
    pub(super) fn union_of(&mut self, members: &'a [Member], errors: bool) {
        for member in members {
            self.register(Entity::Member(member));
            self.record(
                member.id,
                if errors { Type::Error } else { Type::MatchKind },
            );
            let all = if errors {
                &mut self.errors
            } else {
                &mut self.match_kinds
            };
            let first = all.insert(&member.name.text, member);
            if let Some(first) = first {
                let what = if errors { "error" } else { "match_kind" };
                self.report(
                    Diagnostic::error(
                        "duplicate-member",
                        member.name.span,
                        format!("`{what}` already has a member `{}`", member.name.text),
                    )
                    .note(first.name.span, "the first one"),
                );
            }
        }
    }

    pub(super) fn new_type(&mut self, declaration: &'a Declaration, ty: &'a TypeExpression) {
        let resolved = self.resolve(ty);
        let fits = matches!(
            resolved,
            Type::Bool
                | Type::Bits(_)
                | Type::Signed(_)
                | Type::Varbit(_)
                | Type::New(_)
                | Type::Unknown
        ) || matches!(&resolved, Type::Enum(id) if self.underlying(*id).is_some());
        if !fits {
            let text = self.show(&resolved);
            self.error(
                "new-type",
                ty.span,
                format!("`type` makes new types of `bool`, `bit<>`, `int<>`, and enums with an underlying type, not of `{text}`"),
            );
        }
        let resolved = if fits { resolved } else { Type::Unknown };
        self.nesting.insert(declaration.id, self.nesting(&resolved));
        self.record(declaration.id, resolved);
    }

    pub(super) fn value_set(
        &mut self,
        declaration: &'a Declaration,
        element: &'a TypeExpression,
        size: &'a Expression,
    ) {
        let ty = self.resolve(element);
        let fits = match &ty {
            Type::Composite(id, arguments) => {
                self.is_kind(&ty, CompositeKind::Struct)
                    && self.fields(*id, arguments).iter().all(|(_, field)| {
                        self.may_be_matched(field) || self.is_kind(field, CompositeKind::Struct)
                    })
            }
            Type::Tuple(parts) => parts.iter().all(|part| self.may_be_matched(part)),
            other => self.may_be_matched(other),
        };
        if !fits {
            let text = self.show(&ty);
            self.error(
                "value-set",
                element.span,
                format!("a value set cannot be of `{text}`"),
            );
        }
        let number = self.value(size);
        match (self.numeric(&number), self.constant(size)) {
            (Type::Unknown, _) => {}
            (Type::Integer | Type::Bits(_) | Type::Signed(_), Some(Constant::Integer(value))) => {
                if *value < BigInt::one() {
                    self.error(
                        "value-set",
                        size.span,
                        "the size of a value set is at least 1",
                    );
                }
            }
            (Type::Integer | Type::Bits(_) | Type::Signed(_), _) if self.is_compile_time(size) => {}
            _ => self.error(
                "not-constant",
                size.span,
                "the size of a value set must be a number known while compiling",
            ),
        }
        self.record(declaration.id, Self::set(ty));
    }

    pub(super) fn may_be_matched(&self, ty: &Type) -> bool {
        match ty {
            Type::Unknown
            | Type::Bool
            | Type::Bits(_)
            | Type::Signed(_)
            | Type::Error
            | Type::Enum(_)
            | Type::Parameter(_) => true,
            Type::New(id) => self.may_be_matched(&self.type_of(*id)),
            _ => false,
        }
    }
}
