//! Values: what type they have in P4_14, and how they are written in P4_16.
//!
//! P4_14 takes operands of any widths; the narrower one is widened, and a result is cut or widened to where it goes.
//! P4_16 wants each of these conversions written down.

use super::scope::{Context, Ty, compare, constant, intrinsic};
use super::translate::Translator;
use super::tree::{Expr, ExprKind};
use crate::ast::{BinaryOperator, Expression, ExpressionKind, TypeExpression, UnaryOperator};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use num_traits::ToPrimitive;

/// What a reference names.
enum Found {
    Parameter(Ty, Arc<str>),
    Standard,
    InstanceType(usize),
}

impl Translator<'_, '_> {
    fn find(&self, name: &str, context: Context<'_>) -> Option<Found> {
        if let Some((_, ty, output)) = context.parameters.iter().find(|(p, ..)| **p == *name) {
            return Some(Found::Parameter(*ty, output.clone()));
        }
        if name == "standard_metadata" {
            return Some(Found::Standard);
        }
        self.scope
            .instances
            .get(name)
            .map(|n| Found::InstanceType(*n))
    }

    /// The type of an expression, without a word about what is wrong in it.
    pub fn ty(&self, expr: &Expr, context: Context<'_>) -> Ty {
        match &expr.kind {
            ExprKind::Integer(_, None) => Ty::Int,
            ExprKind::Integer(_, Some((width, signed))) => Ty::Bits(*width, *signed),
            ExprKind::Bool(_) | ExprKind::Valid(_) => Ty::Bool,
            ExprKind::Name(name) => match self.find(name, context) {
                Some(Found::Parameter(ty, _)) => ty,
                Some(Found::Standard) => Ty::Metadata(self.scope.standard()),
                Some(Found::InstanceType(n)) => {
                    let thing = &self.scope.instance_types[n];
                    match (thing.metadata, thing.size) {
                        (true, _) => Ty::Metadata(thing.shape),
                        (false, Some(_)) => Ty::Stack(thing.shape),
                        (false, None) => Ty::Header(thing.shape),
                    }
                }
                None if &**name == "latest" => {
                    context.latest.map_or(Ty::Unknown, |l| self.ty(l, context))
                }
                None => Ty::Unknown,
            },
            ExprKind::Index(base, _) => match self.ty(base, context) {
                Ty::Stack(shape) => Ty::Header(shape),
                _ => Ty::Unknown,
            },
            ExprKind::Member(base, field) => {
                if let ExprKind::Name(name) = &base.kind
                    && let Some(width) = intrinsic(name, &field.text)
                    && matches!(self.find(name, context), Some(Found::InstanceType(_)))
                {
                    return Ty::Bits(width, false);
                }
                match self.ty(base, context) {
                    Ty::Header(shape) | Ty::Metadata(shape) => self.scope.shapes[shape]
                        .field(&field.text)
                        .map_or(Ty::Unknown, |f| f.ty),
                    _ => Ty::Unknown,
                }
            }
            ExprKind::Current(_, width) => match constant(width).and_then(|w| w.to_u32()) {
                Some(width) => Ty::Bits(width, false),
                None => Ty::Unknown,
            },
            ExprKind::Unary(UnaryOperator::Not, _) => Ty::Bool,
            ExprKind::Unary(_, operand) => self.ty(operand, context),
            ExprKind::Binary(operator, left, right) => match operator {
                _ if is_logical(*operator) || is_comparison(*operator) => Ty::Bool,
                BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => self.ty(left, context),
                _ => wider(self.ty(left, context), self.ty(right, context)),
            },
        }
    }

    /// Whether the expression is a field that is to stay at its highest or lowest value.
    pub fn is_saturating(&self, expr: &Expr, context: Context<'_>) -> bool {
        let ExprKind::Member(base, field) = &expr.kind else {
            return false;
        };
        match self.ty(base, context) {
            Ty::Header(shape) | Ty::Metadata(shape) => self.scope.shapes[shape]
                .field(&field.text)
                .is_some_and(|f| f.saturating),
            _ => false,
        }
    }

    fn broken(&mut self, code: &'static str, span: Span, message: String) -> (Expression, Ty) {
        self.diagnostics
            .push(Diagnostic::error(code, span, message));
        (
            self.build.expression(span, ExpressionKind::Broken),
            Ty::Unknown,
        )
    }

    /// The expression as a value of a type.
    pub fn value(&mut self, expr: &Expr, want: Ty, context: Context<'_>) -> Expression {
        let (value, ty) = self.natural(expr, want, context);
        self.convert(value, ty, want)
    }

    /// The expression as a condition.
    pub fn condition(&mut self, expr: &Expr, context: Context<'_>) -> Expression {
        self.value(expr, Ty::Bool, context)
    }

    /// The expression with the type that it has; numbers take the type that is wanted.
    pub fn natural(&mut self, expr: &Expr, want: Ty, context: Context<'_>) -> (Expression, Ty) {
        let span = expr.span;
        if !matches!(expr.kind, ExprKind::Integer(_, Some(_)))
            && let Some(value) = constant(expr)
        {
            return match want {
                Ty::Bits(width, signed) => (self.build.sized(&value, width, signed, span), want),
                Ty::Bool => {
                    let yes = value != num_bigint::BigInt::from(0);
                    (self.build.boolean(yes, span), Ty::Bool)
                }
                _ => (self.build.integer(value, span), Ty::Int),
            };
        }
        match &expr.kind {
            ExprKind::Integer(value, width) => {
                let (width, signed) = width.unwrap_or((32, false));
                let value = self.build.sized(value, width, signed, span);
                (value, Ty::Bits(width, signed))
            }
            ExprKind::Bool(value) => (self.build.boolean(*value, span), Ty::Bool),
            ExprKind::Name(_) | ExprKind::Index(..) => self.reference(expr, context),
            ExprKind::Member(base, field) => self.field(base, field, context),
            ExprKind::Valid(header) => {
                let ty = self.ty(header, context);
                let (header, _) = self.reference(header, context);
                if !matches!(ty, Ty::Header(_) | Ty::Unknown) {
                    return self.broken("type", span, "only a header can be valid".into());
                }
                (
                    self.build.method(header, "isValid", Vec::new(), span),
                    Ty::Bool,
                )
            }
            ExprKind::Current(offset, width) => self.current(offset, width, span, context),
            ExprKind::Unary(UnaryOperator::Not, operand) => {
                let operand = self.condition(operand, context);
                (self.build.unary(UnaryOperator::Not, operand), Ty::Bool)
            }
            ExprKind::Unary(operator, operand) => {
                let (operand, ty) = self.natural(operand, want, context);
                if !self.is_number(ty, span) {
                    return (operand, Ty::Unknown);
                }
                (self.build.unary(*operator, operand), ty)
            }
            ExprKind::Binary(operator, left, right) => {
                self.binary(*operator, left, right, want, span, context)
            }
        }
    }

    fn is_number(&mut self, ty: Ty, span: Span) -> bool {
        let yes = matches!(ty, Ty::Bits(..) | Ty::Int | Ty::Unknown);
        if !yes {
            let message = format!("there is no such operation on {}", self.describe(ty));
            self.diagnostics
                .push(Diagnostic::error("type", span, message));
        }
        yes
    }

    pub fn describe(&self, ty: Ty) -> String {
        match ty {
            Ty::Unknown => "what could not be read".into(),
            Ty::Int => "a number".into(),
            Ty::Bool => "a condition".into(),
            Ty::Bits(width, signed) => format!(
                "{} of {width} bits",
                if signed { "a signed field" } else { "a field" }
            ),
            Ty::Varbit(_) => "a field of variable width".into(),
            Ty::Header(_) => "a whole header".into(),
            Ty::Stack(_) => "a whole header stack".into(),
            Ty::Metadata(_) => "whole metadata".into(),
        }
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: &Expr,
        right: &Expr,
        want: Ty,
        span: Span,
        context: Context<'_>,
    ) -> (Expression, Ty) {
        use BinaryOperator as B;
        if is_logical(operator) {
            let left = self.condition(left, context);
            let right = self.condition(right, context);
            return (self.build.binary(operator, left, right), Ty::Bool);
        }
        let (left_ty, right_ty) = (self.ty(left, context), self.ty(right, context));
        if is_comparison(operator) {
            if let (Some(a), Some(b)) = (constant(left), constant(right))
                && let Some(result) = compare(operator, &a, &b)
            {
                return (self.build.boolean(result, span), Ty::Bool);
            }
            // `valid(h) == 1`
            let common = match (left_ty, right_ty) {
                (Ty::Bool, _) | (_, Ty::Bool) if matches!(operator, B::Equal | B::NotEqual) => {
                    Ty::Bool
                }
                (Ty::Header(_), Ty::Header(_)) => left_ty,
                _ => wider(left_ty, right_ty),
            };
            let left = self.value(left, common, context);
            let right = self.value(right, common, context);
            if common != Ty::Bool && !matches!(common, Ty::Header(_)) {
                self.is_number(common, span);
            }
            return (self.build.binary(operator, left, right), Ty::Bool);
        }
        if matches!(operator, B::ShiftLeft | B::ShiftRight) {
            let (value, ty) = match left_ty {
                Ty::Int => self.natural(left, want, context),
                _ => self.natural(left, left_ty, context),
            };
            self.is_number(ty, left.span);
            let amount = self.amount(right, context);
            return (self.build.binary(operator, value, amount), ty);
        }
        let common = match wider(left_ty, right_ty) {
            Ty::Int => want,
            common => common,
        };
        if !self.is_number(left_ty, left.span) || !self.is_number(right_ty, right.span) {
            return (
                self.build.expression(span, ExpressionKind::Broken),
                Ty::Unknown,
            );
        }
        let left = self.value(left, common, context);
        let right = self.value(right, common, context);
        (self.build.binary(operator, left, right), common)
    }

    /// By how many bits a value is shifted: never a signed value.
    pub fn amount(&mut self, expr: &Expr, context: Context<'_>) -> Expression {
        let ty = match self.ty(expr, context) {
            Ty::Bits(width, _) => Ty::Bits(width, false),
            other => other,
        };
        let amount = self.value(expr, ty, context);
        self.is_number(ty, expr.span);
        amount
    }

    /// A value of one type as one of another.
    pub fn convert(&mut self, value: Expression, from: Ty, to: Ty) -> Expression {
        let span = value.span;
        match (from, to) {
            (Ty::Bits(a, s), Ty::Bits(b, t)) if a != b && s != t => {
                // P4_16 changes width and sign only one after the other.
                let first = self.build.bits(b, s, span);
                let value = self.build.cast(first, value);
                let ty = self.build.bits(b, t, span);
                self.build.cast(ty, value)
            }
            (Ty::Bits(..), Ty::Bits(width, signed)) if from != to => {
                let ty = self.build.bits(width, signed, span);
                self.build.cast(ty, value)
            }
            (Ty::Bool, Ty::Bits(width, signed)) => {
                let bit = self.build.bits(1, false, span);
                let value = self.build.cast(bit, value);
                self.convert(value, Ty::Bits(1, false), Ty::Bits(width, signed))
            }
            (Ty::Bits(width, signed), Ty::Bool) => {
                let zero = self.build.sized(&0.into(), width, signed, span);
                self.build.binary(BinaryOperator::NotEqual, value, zero)
            }
            (
                Ty::Header(_) | Ty::Stack(_) | Ty::Metadata(_) | Ty::Varbit(_),
                Ty::Bits(..) | Ty::Bool,
            ) => {
                let message = format!("a value is needed here, not {}", self.describe(from));
                self.diagnostics
                    .push(Diagnostic::error("type", span, message));
                value
            }
            _ => value,
        }
    }

    /// The type as P4_16 writes it.
    pub fn type_of(&mut self, ty: Ty, span: Span) -> TypeExpression {
        match ty {
            Ty::Bits(width, signed) => self.build.bits(width, signed, span),
            Ty::Varbit(width) => self.build.varbit(width, span),
            Ty::Bool => self.build.ty(span, crate::ast::TypeExpressionKind::Bool),
            Ty::Header(shape) => {
                let name = self.header_names[shape].clone();
                self.build
                    .named(name.unwrap_or_else(|| "headers".into()), span)
            }
            _ => self.build.bits(32, false, span),
        }
    }

    /// `packet.lookahead<bit<a + b>>()[b - 1 : 0]`
    fn current(
        &mut self,
        offset: &Expr,
        width: &Expr,
        span: Span,
        context: Context<'_>,
    ) -> (Expression, Ty) {
        if !context.parser {
            return self.broken("current", span, "only a parser can look ahead".into());
        }
        let numbers = constant(offset)
            .and_then(|o| o.to_u32())
            .zip(constant(width).and_then(|w| w.to_u32()))
            .filter(|(offset, width)| {
                *width > 0 && offset.saturating_add(*width) <= super::MAX_WIDTH
            });
        let Some((offset, width)) = numbers else {
            let message = format!(
                "`current` takes two numbers, an offset from 0 and a width from 1, together at most {}",
                super::MAX_WIDTH
            );
            return self.broken("current", span, message);
        };
        let packet = self.build.path("packet", span);
        let callee = self.build.member(packet, "lookahead", span);
        let ty = self.build.bits(offset + width, false, span);
        let ahead = self.build.call(callee, alloc::vec![ty], Vec::new(), span);
        let value = match offset {
            0 => ahead,
            _ => self.build.slice(ahead, u64::from(width) - 1, 0),
        };
        (value, Ty::Bits(width, false))
    }

    /// A header, stack, element of a stack, metadata, or parameter.
    pub fn reference(&mut self, expr: &Expr, context: Context<'_>) -> (Expression, Ty) {
        let span = expr.span;
        let ty = self.ty(expr, context);
        match &expr.kind {
            ExprKind::Name(name) => match self.find(name, context) {
                Some(Found::Parameter(ty, output)) => (self.build.path(output, span), ty),
                Some(Found::Standard) if context.checksum => self.broken(
                    "checksum",
                    span,
                    "checksums cannot depend on `standard_metadata`".into(),
                ),
                Some(Found::Standard) => (self.build.path("standard_metadata", span), ty),
                Some(Found::InstanceType(n)) => {
                    let base = match self.scope.instance_types[n].metadata {
                        true => "meta",
                        false => "hdr",
                    };
                    let base = self.build.path(base, span);
                    let field = self.thing_names[n].clone();
                    (self.build.member(base, field, span), ty)
                }
                None if &**name == "latest" => match context.latest {
                    Some(latest) => {
                        let latest = Expr {
                            span,
                            kind: latest.kind.clone(),
                        };
                        self.reference(&latest, context)
                    }
                    None => self.broken(
                        "latest",
                        span,
                        "`latest` stands for the header extracted last in this parser, and none was".into(),
                    ),
                },
                None => {
                    let message = format!("there is no header, metadata or parameter `{name}`");
                    self.broken("unknown-name", span, message)
                }
            },
            ExprKind::Index(base, index) => {
                let base_ty = self.ty(base, context);
                let (value, _) = self.reference(base, context);
                if !matches!(base_ty, Ty::Stack(_)) {
                    if base_ty == Ty::Unknown {
                        return (value, Ty::Unknown);
                    }
                    return self.broken("stack", base.span, "this is not a header stack".into());
                }
                if let ExprKind::Name(word) = &index.kind
                    && matches!(&**word, "next" | "last")
                {
                    if !context.parser {
                        let message = format!("`{word}` of a header stack is only known in a parser");
                        return self.broken("stack-index", span, message);
                    }
                    return (self.build.member(value, word.clone(), index.span), ty);
                }
                let Some(index_value) = constant(index) else {
                    return self.broken(
                        "stack-index",
                        index.span,
                        "the index of a header stack is a number, `next` or `last`".into(),
                    );
                };
                let index = self.build.integer(index_value, index.span);
                let kind = ExpressionKind::Index {
                    base: alloc::boxed::Box::new(value),
                    index: alloc::boxed::Box::new(index),
                };
                (self.build.expression(span, kind), ty)
            }
            _ => self.broken("type", span, "a header or metadata is needed here".into()),
        }
    }

    fn field(
        &mut self,
        base: &Expr,
        field: &crate::ast::Name,
        context: Context<'_>,
    ) -> (Expression, Ty) {
        let span = base.span.to(field.span);
        if let ExprKind::Name(name) = &base.kind {
            let found = self.find(name, context);
            if matches!(found, Some(Found::Standard)) {
                return self.standard_field(base, field, context);
            }
            if matches!(found, Some(Found::InstanceType(_)))
                && let Some(width) = intrinsic(name, &field.text)
            {
                if context.checksum {
                    return self.broken(
                        "checksum",
                        span,
                        format!("checksums cannot depend on `{name}`"),
                    );
                }
                let base = self.build.path("standard_metadata", base.span);
                let value = self.build.member(base, field.text.clone(), field.span);
                return (value, Ty::Bits(width, false));
            }
        }
        let base_ty = self.ty(base, context);
        let (value, _) = self.reference(base, context);
        match base_ty {
            Ty::Header(shape) | Ty::Metadata(shape) => {
                let Some(found) = self.scope.shapes[shape].field(&field.text) else {
                    let type_name = self
                        .scope
                        .tree
                        .header_types
                        .get(shape)
                        .map_or("", |t| &*t.name.text);
                    let message =
                        format!("header type `{type_name}` has no field `{}`", field.text);
                    return self.broken("unknown-name", field.span, message);
                };
                let ty = found.ty;
                let output = super::translate::field_name(&field.text);
                (self.build.member(value, output, field.span), ty)
            }
            Ty::Unknown => (value, Ty::Unknown),
            other => {
                let message = format!("{} has no fields", self.describe(other));
                self.broken("type", base.span, message)
            }
        }
    }

    /// A field of `standard_metadata`; some have another name or another form in v1model.
    fn standard_field(
        &mut self,
        base: &Expr,
        field: &crate::ast::Name,
        context: Context<'_>,
    ) -> (Expression, Ty) {
        let span = base.span.to(field.span);
        let Some(found) = self.scope.shapes[self.scope.standard()].field(&field.text) else {
            let message = format!("`standard_metadata` has no field `{}`", field.text);
            return self.broken("unknown-name", field.span, message);
        };
        let ty = found.ty;
        let (value, _) = self.reference(base, context);
        match &*field.text {
            "egress_instance" => (self.build.member(value, "egress_rid", field.span), ty),
            "parser_status" => {
                // A number here, a value of type `error` there: 0 is that all went well.
                let error = self.build.member(value, "parser_error", field.span);
                let errors = self.build.ty(span, crate::ast::TypeExpressionKind::Error);
                let errors = self.build.expression(span, ExpressionKind::Type(errors));
                let none = self.build.member(errors, "NoError", span);
                let good = self.build.binary(BinaryOperator::Equal, error, none);
                let zero = self.build.sized(&0.into(), 8, false, span);
                let one = self.build.sized(&1.into(), 8, false, span);
                (self.build.conditional(good, zero, one, span), ty)
            }
            "parser_error_location" => {
                let message =
                    "the switch does not tell where a parser's error was: this is always 0";
                self.diagnostics
                    .push(Diagnostic::warning("parser-error-location", span, message));
                (self.build.sized(&0.into(), 8, false, span), ty)
            }
            _ => (self.build.member(value, field.text.clone(), field.span), ty),
        }
    }

    /// How the program writes a reference, for the control plane.
    pub fn reference_text(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Name(name) => String::from(&**name),
            ExprKind::Member(base, field) => {
                format!("{}.{}", self.reference_text(base), field.text)
            }
            ExprKind::Valid(base) => format!("{}.$valid$", self.reference_text(base)),
            ExprKind::Index(base, index) => match (&index.kind, constant(index)) {
                (_, Some(value)) => format!("{}[{value}]", self.reference_text(base)),
                (ExprKind::Name(word), _) => format!("{}[{word}]", self.reference_text(base)),
                _ => self.reference_text(base),
            },
            _ => String::new(),
        }
    }
}

/// The type that values of two types are both brought to.
pub(super) fn wider(a: Ty, b: Ty) -> Ty {
    match (a, b) {
        (Ty::Unknown | Ty::Int, _) if b != Ty::Unknown => b,
        (_, Ty::Unknown | Ty::Int) => a,
        (Ty::Bits(width_a, _), Ty::Bits(width_b, _)) => match width_a < width_b {
            true => b,
            false => a,
        },
        (Ty::Bool, Ty::Bits(..)) => b,
        _ => a,
    }
}

pub(super) fn is_logical(operator: BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::And | BinaryOperator::Or)
}

pub(super) fn is_comparison(operator: BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(
        operator,
        B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual
    )
}
