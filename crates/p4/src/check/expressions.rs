//! Expressions (specification 8).

use super::checker::{Checker, Entity};
use super::constants;
use crate::ast::{
    CompositeKind, DeclarationKind, Expression, ExpressionKind, Name, TypeExpression,
};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use num_traits::ToPrimitive;

impl<'a> Checker<'a> {
    /// The type of an expression that stands for a value.
    pub(super) fn value(&mut self, e: &'a Expression) -> Type {
        let ty = self.expression(e);
        let ty = self.known(&ty);
        let what = match &ty {
            Type::Name(of) => format!("the type `{}`", self.show(of)),
            Type::Callable(_) => "a function or action that is not called".into(),
            Type::Table(_) => "a table".into(),
            Type::State => "a parser state".into(),
            Type::Void => "a call that gives nothing".into(),
            _ => return ty,
        };
        self.error(
            "not-a-value",
            e.span,
            format!("a value is needed here, and this is {what}"),
        );
        self.record(e.id, Type::Unknown);
        Type::Unknown
    }

    /// The type of an expression of whatever kind.
    pub(super) fn expression(&mut self, e: &'a Expression) -> Type {
        let ty = self.deeper(e.span, Type::Unknown, |checker| checker.expression_kind(e));
        self.record(e.id, ty.clone());
        ty
    }

    pub(super) fn constant_is(&mut self, e: &Expression, value: Constant) {
        self.out.constants.insert(e.id, value);
    }

    pub(super) fn expression_kind(&mut self, e: &'a Expression) -> Type {
        match &e.kind {
            ExpressionKind::Integer { value, width, .. } => {
                let ty = match width {
                    None => Type::Integer,
                    Some((width, true)) => Type::Signed(*width),
                    Some((width, false)) => Type::Bits(*width),
                };
                if let Some((width, signed)) = width
                    && let Some((least, most)) = constants::bounds(&ty)
                    && (*value < least || *value > most)
                {
                    let letter = if *signed { 's' } else { 'w' };
                    let fits = self.show(&ty);
                    self.warn(
                        "does-not-fit",
                        e.span,
                        format!("the literal {width}{letter}{value} does not fit in `{fits}`"),
                    );
                }
                if matches!(width, Some((0, true))) {
                    self.error(
                        "width",
                        e.span,
                        "the width of a signed number is at least 1",
                    );
                }
                self.constant_is(e, Constant::Integer(constants::wrap(value, &ty)));
                ty
            }
            ExpressionKind::Bool(value) => {
                self.constant_is(e, Constant::Bool(*value));
                Type::Bool
            }
            ExpressionKind::String(text) => {
                self.constant_is(e, Constant::String(text.clone()));
                Type::String
            }
            ExpressionKind::Path { name, absolute } => self.path(e, name, *absolute),
            ExpressionKind::This => match self.this.clone() {
                Some(ty) => ty,
                None => {
                    self.error(
                        "this",
                        e.span,
                        "`this` has a meaning only in the implementation of an abstract method",
                    );
                    Type::Unknown
                }
            },
            ExpressionKind::Type(ty) => Type::Name(Box::new(self.resolve_open(ty))),
            ExpressionKind::Member { base, member } => self.member(e, base, member),
            ExpressionKind::Index { base, index } => self.index(e, base, index),
            ExpressionKind::Slice { base, high, low } => self.slice(e, base, high, low),
            ExpressionKind::PlusSlice { base, low, width } => self.plus_slice(e, base, low, width),
            ExpressionKind::List { elements, .. } => {
                let parts: Vec<Type> = elements.iter().map(|element| self.value(element)).collect();
                let values: Vec<_> = elements
                    .iter()
                    .map(|element| self.constant(element).cloned())
                    .collect();
                self.constant_list(e, &values);
                Type::Tuple(parts)
            }
            ExpressionKind::Struct { fields, .. } => {
                let mut parts: Vec<(_, Type)> = Vec::new();
                for (name, value) in fields {
                    if parts.iter().any(|(other, _)| *other == name.text) {
                        self.error(
                            "duplicate-field",
                            name.span,
                            format!("field `{}` has a value twice", name.text),
                        );
                    }
                    let ty = self.value(value);
                    parts.push((name.text.clone(), ty));
                }
                let values: Vec<_> = fields
                    .iter()
                    .map(|(_, value)| self.constant(value).cloned())
                    .collect();
                self.constant_list(e, &values);
                Type::Fields(parts)
            }
            ExpressionKind::Invalid => Type::Invalid,
            ExpressionKind::Dots => Type::Default,
            ExpressionKind::Unary { operator, operand } => self.unary(e, *operator, operand),
            ExpressionKind::Binary {
                operator,
                left,
                right,
            } => self.binary(e, *operator, left, right),
            ExpressionKind::Conditional { condition, yes, no } => {
                self.conditional(e, condition, yes, no)
            }
            ExpressionKind::Cast { ty, operand } => self.explicit_cast(e, ty, operand),
            ExpressionKind::Call {
                callee,
                type_arguments,
                arguments,
            } => self.call(e, callee, type_arguments, arguments),
            ExpressionKind::Mask { value, mask } => self.mask(e, value, mask),
            ExpressionKind::Range { low, high } => self.range(e, low, high),
            ExpressionKind::Default | ExpressionKind::DontCare => {
                self.error(
                    "not-a-value",
                    e.span,
                    "a value is needed here; `_` and `default` stand only in sets of values and for `out` arguments",
                );
                Type::Unknown
            }
            ExpressionKind::Broken => Type::Unknown,
        }
    }

    pub(super) fn path(&mut self, e: &'a Expression, name: &'a Name, absolute: bool) -> Type {
        let found = self.find(&name.text, absolute);
        let Some(entity) = found.first().copied() else {
            if let Some(member) = self.match_kinds.get(&*name.text) {
                let id = member.id;
                self.refer(e.id, id);
                self.constant_is(e, Constant::Member(id));
                return Type::MatchKind;
            }
            self.not_found(name, "the name");
            return Type::Unknown;
        };
        self.refer(e.id, entity.id());
        if let Some(ty) = self.type_named(entity) {
            return Type::Name(Box::new(ty));
        }
        match entity {
            Entity::Declaration(declaration) => match &declaration.kind {
                DeclarationKind::Constant { .. } => {
                    if let Some(value) = self.out.constants.get(&declaration.id).cloned() {
                        self.constant_is(e, value);
                    }
                    self.type_of(declaration.id)
                }
                DeclarationKind::Variable { .. } | DeclarationKind::Instance { .. } => {
                    self.type_of(declaration.id)
                }
                DeclarationKind::ValueSet { .. } => self.type_of(declaration.id),
                DeclarationKind::Table(_) => Type::Table(declaration.id),
                _ => Type::Callable(declaration.id),
            },
            Entity::Parameter(parameter) => self.type_of(parameter.id),
            Entity::State(_) => Type::State,
            Entity::Member(member) => {
                if let Some(value) = self.out.constants.get(&member.id).cloned() {
                    self.constant_is(e, value);
                }
                self.type_of(member.id)
            }
            _ => Type::Unknown,
        }
    }

    pub(super) fn conditional(
        &mut self,
        e: &'a Expression,
        condition: &'a Expression,
        yes: &'a Expression,
        no: &'a Expression,
    ) -> Type {
        self.condition(condition);
        let (left, right) = (self.value(yes), self.value(no));
        let chosen = match self.constant(condition) {
            Some(Constant::Bool(true)) => Some(yes),
            Some(Constant::Bool(false)) => Some(no),
            _ => None,
        };
        if left == Type::Integer && right == Type::Integer && chosen.is_none() {
            self.report(
                Diagnostic::error(
                    "no-width",
                    e.span,
                    "at least one of the two alternatives must have a width, as the condition is not known while compiling",
                )
                .help("write a width: `8w1`"),
            );
            return Type::Unknown;
        }
        let Some(ty) = self.agree(e, yes, no) else {
            return Type::Unknown;
        };
        if let Some(chosen) = chosen
            && let Some(value) = self.cast_value(chosen)
        {
            self.constant_is(e, value);
        }
        ty
    }

    /// A condition: a `bool`.
    pub(super) fn condition(&mut self, e: &'a Expression) {
        let ty = self.value(e);
        if !self.unify(&ty, &Type::Bool) {
            let text = self.show(&ty);
            let mut diagnostic = Diagnostic::error(
                "not-a-bool",
                e.span,
                format!("a condition is a `bool`, and this is `{text}`"),
            );
            if matches!(ty, Type::Bits(_) | Type::Signed(_) | Type::Integer) {
                diagnostic = diagnostic.help("compare it: `... != 0`");
            }
            self.report(diagnostic);
        }
    }

    pub(super) fn explicit_cast(
        &mut self,
        e: &'a Expression,
        ty: &'a TypeExpression,
        operand: &'a Expression,
    ) -> Type {
        let to = self.resolve(ty);
        let from = self.value(operand);
        if matches!(from, Type::Unknown) || matches!(to, Type::Unknown) {
            return to;
        }
        if matches!(to, Type::Void | Type::Object(..) | Type::Variable(_)) || self.is_open(&to) {
            let text = self.show(&to);
            self.error("cast", e.span, format!("nothing can be cast to `{text}`"));
            return Type::Unknown;
        }
        if to == Type::Bool && from == Type::Integer {
            let good = matches!(self.constant(operand), Some(Constant::Integer(v)) if v.to_u8().is_some_and(|v| v < 2));
            if !good {
                self.error("cast", e.span, "only 0 and 1 can be cast to `bool`");
                return Type::Unknown;
            }
        }
        if self.castable(&from, &to) {
            if from == Type::Integer {
                let number = self.numeric(&to);
                self.check_fits(operand, &number);
            }
            if let Some(value) = self.constant(operand).cloned()
                && let Some(value) = self.cast_constant(&value, &to)
            {
                self.constant_is(e, value);
            }
            return to;
        }
        let literal = matches!(
            from,
            Type::Tuple(_) | Type::Fields(_) | Type::Invalid | Type::Default
        ) || matches!(
            operand.kind,
            ExpressionKind::List { .. } | ExpressionKind::Struct { .. }
        );
        if literal {
            if !self.coerce(operand, &from, &to) {
                return Type::Unknown;
            }
            if let Some(value) = self.cast_value(operand) {
                self.constant_is(e, value);
            }
            return to;
        }
        let (from_text, to_text) = (self.show(&from), self.show(&to));
        let mut diagnostic = Diagnostic::error(
            "cast",
            e.span,
            format!("`{from_text}` cannot be cast to `{to_text}`"),
        );
        if let (Type::Bits(a) | Type::Signed(a), Type::Signed(b) | Type::Bits(b)) = (&from, &to)
            && a != b
        {
            let between = match from {
                Type::Bits(_) => format!("bit<{b}>"),
                _ => format!("int<{b}>"),
            };
            diagnostic = diagnostic.help(format!(
                "change the width first and the sign then: `({to_text})({between})...`"
            ));
        }
        self.report(diagnostic);
        Type::Unknown
    }

    pub(super) fn mask(
        &mut self,
        _e: &'a Expression,
        value: &'a Expression,
        mask: &'a Expression,
    ) -> Type {
        let (left, right) = (self.value(value), self.value(mask));
        match self.set_operands(value, &left, mask, &right, "&&&") {
            Some(ty) => Self::set(ty),
            None => Type::Unknown,
        }
    }

    pub(super) fn range(
        &mut self,
        _e: &'a Expression,
        low: &'a Expression,
        high: &'a Expression,
    ) -> Type {
        let (left, right) = (self.value(low), self.value(high));
        match self.set_operands(low, &left, high, &right, "..") {
            Some(ty) => Self::set(ty),
            None => Type::Unknown,
        }
    }

    /// The operands of `&&&` and `..`: numbers of one type.
    pub(super) fn set_operands(
        &mut self,
        left: &'a Expression,
        left_type: &Type,
        right: &'a Expression,
        right_type: &Type,
        operator: &str,
    ) -> Option<Type> {
        let (x, y) = (self.shallow(left_type), self.shallow(right_type));
        let number = |ty: &Type| {
            matches!(
                ty,
                Type::Bits(_)
                    | Type::Signed(_)
                    | Type::Integer
                    | Type::Unknown
                    | Type::Enum(_)
                    | Type::New(_)
            )
        };
        for (e, ty) in [(left, &x), (right, &y)] {
            let plain = match ty {
                Type::Enum(id) => self.underlying(*id).is_some(),
                Type::Signed(_) if operator == "&&&" => true,
                other => number(other),
            };
            if !plain {
                let text = self.show(ty);
                self.error(
                    "operand",
                    e.span,
                    format!("`{operator}` is for numbers, and this is `{text}`"),
                );
                return None;
            }
        }
        // Enums with an underlying type count as that, as in arithmetic.
        let (a, b) = (self.numeric(&x), self.numeric(&y));
        if a != x {
            self.cast(left, &a);
        }
        if b != y {
            self.cast(right, &b);
        }
        self.agree_types(left, &a, right, &b)
    }

    /// Whether a value of the type can be compared with `==` (8.x of each type).
    pub(super) fn comparable(&self, ty: &Type) -> bool {
        match self.known(ty) {
            Type::Unknown
            | Type::Bool
            | Type::Integer
            | Type::Bits(_)
            | Type::Signed(_)
            | Type::Varbit(_)
            | Type::String
            | Type::Error
            | Type::MatchKind
            | Type::Enum(_)
            | Type::Invalid => true,
            Type::New(id) => self.comparable(&self.type_of(id)),
            Type::Stack(base, _) | Type::List(base) => self.comparable(&base),
            Type::Tuple(parts) => parts.iter().all(|part| self.comparable(part)),
            Type::Fields(fields) => fields.iter().all(|(_, part)| self.comparable(part)),
            Type::Composite(id, arguments) => {
                self.composite(id).is_some_and(|c| {
                    matches!(
                        c.0,
                        CompositeKind::Header | CompositeKind::Struct | CompositeKind::Union
                    )
                }) && self
                    .fields(id, &arguments)
                    .iter()
                    .all(|(_, ty)| self.comparable(ty))
            }
            _ => false,
        }
    }
}
