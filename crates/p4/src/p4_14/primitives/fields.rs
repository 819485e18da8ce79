//! Primitives that compute a field.

use super::super::scope::Context;
use super::super::scope::{Ty, constant};
use super::super::translate::Translator;
use super::super::tree::{Expr, ExprKind};
use super::one_run;
use crate::ast::{BinaryOperator, Expression, Statement, UnaryOperator};
use crate::source::Span;
use alloc::format;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::Signed;

impl Translator<'_, '_> {
    pub(super) fn assign(
        &mut self,
        target: &Expr,
        value: Expression,
        span: Span,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let ty = self.ty(target, context);
        if !matches!(target.kind, ExprKind::Name(_) | ExprKind::Member(..)) {
            return self.error(
                "target",
                target.span,
                "this is not a field that can be written",
            );
        }
        if matches!(ty, Ty::Header(_) | Ty::Metadata(_) | Ty::Stack(_)) {
            let message = format!("a field is needed here, not {}", self.describe(ty));
            return self.error("type", target.span, message);
        }
        let (target, _) = self.natural(target, ty, context);
        let assign = self.build.assign(target, value, span);
        out.push(assign);
    }

    pub(super) fn modify(
        &mut self,
        target: &Expr,
        value: &Expr,
        span: Span,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let ty = self.ty(target, context);
        if let Ty::Varbit(_) = ty {
            let from = self.ty(value, context);
            if from != ty {
                let message = format!(
                    "a field of variable width takes no other value than one like it, not {}",
                    self.describe(from)
                );
                return self.error("type", span, message);
            }
        }
        let value = self.value(value, ty, context);
        self.assign(target, value, span, context, out);
    }

    /// The type of the target, and the one in which two operands are worked on.
    pub(super) fn common(
        &self,
        target: &Expr,
        x: &Expr,
        y: &Expr,
        context: Context<'_>,
    ) -> (Ty, Ty) {
        let ty = self.ty(target, context);
        let common = match (self.ty(x, context), self.ty(y, context)) {
            (Ty::Int, Ty::Int) | (Ty::Unknown, _) => ty,
            (Ty::Int, y) => y,
            (x, _) => x,
        };
        // The narrower operand is widened, as in an expression.
        let common = match (common, self.ty(y, context)) {
            (Ty::Bits(a, signed), Ty::Bits(b, _)) if b > a => Ty::Bits(b, signed),
            (common, _) => common,
        };
        (ty, common)
    }

    pub(super) fn three(
        &mut self,
        a: &[Expr],
        span: Span,
        context: Context<'_>,
        out: &mut Vec<Statement>,
        make: impl FnOnce(&mut Self, Expression, Expression) -> Expression,
    ) {
        let (ty, common) = self.common(&a[0], &a[1], &a[2], context);
        for operand in a {
            let ty = self.ty(operand, context);
            if !matches!(ty, Ty::Bits(..) | Ty::Int | Ty::Unknown | Ty::Bool) {
                let message = format!("this works on fields, not on {}", self.describe(ty));
                return self.error("type", operand.span, message);
            }
        }
        let x = self.value(&a[1], common, context);
        let y = self.value(&a[2], common, context);
        let value = make(self, x, y);
        let value = self.convert(value, common, ty);
        self.assign(&a[0], value, span, context, out);
    }

    pub(super) fn add_to(
        &mut self,
        target: &Expr,
        value: &Expr,
        mut add: bool,
        span: Span,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        use BinaryOperator as B;
        let ty = self.ty(target, context);
        let saturating = self.is_saturating(target, context) || self.is_saturating(value, context);
        let wide = match self.ty(value, context) {
            from @ Ty::Bits(width, _) if matches!(ty, Ty::Bits(own, _) if own < width) => from,
            _ => ty,
        };
        // Adding -1 to an unsigned field is subtracting 1: only that can stop at 0.
        let negative =
            constant(value).filter(|v| v.is_negative() && !matches!(ty, Ty::Bits(_, true)));
        let operand = match negative {
            Some(number) => {
                add = !add;
                let kind = ExprKind::Integer(-number, None);
                let positive = Expr {
                    span: value.span,
                    kind,
                };
                self.value(&positive, wide, context)
            }
            None => self.value(value, wide, context),
        };
        let operator = match (add, saturating) {
            (true, false) => B::Add,
            (true, true) => B::SaturatingAdd,
            (false, false) => B::Subtract,
            (false, true) => B::SaturatingSubtract,
        };
        let field = self.value(target, wide, context);
        let sum = self.build.binary(operator, field, operand);
        let sum = self.convert(sum, wide, ty);
        self.assign(target, sum, span, context, out);
    }

    /// `target = target & ~mask | value & mask`, or a slice where the mask is one run of ones.
    pub(super) fn masked(
        &mut self,
        target: &Expr,
        value: Expression,
        with: &Expr,
        span: Span,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let ty = self.ty(target, context);
        let Ty::Bits(width, signed) = ty else {
            let message = format!("a mask works on a field, not on {}", self.describe(ty));
            return self.error("type", target.span, message);
        };
        if let Some(number) = constant(with) {
            if number.is_negative() && number != BigInt::from(-1) {
                return self.error("mask", with.span, "a mask is not negative");
            }
            let bits = crate::value::Bits::from_int(width, &number);
            if let Some((high, low)) = one_run(&BigInt::from(bits.unsigned().clone())) {
                let (field, _) = self.natural(target, ty, context);
                if high + 1 == u64::from(width) && low == 0 {
                    let assign = self.build.assign(field, value, span);
                    out.push(assign);
                    return;
                }
                let field = self.build.slice(field, high, low);
                let value = self.build.slice(value, high, low);
                let assign = self.build.assign(field, value, span);
                out.push(assign);
                return;
            }
        }
        let _ = signed;
        let keep = self.value(with, ty, context);
        let keep = self.build.unary(UnaryOperator::Complement, keep);
        let field = self.value(target, ty, context);
        let kept = self.build.binary(BinaryOperator::BitAnd, field, keep);
        let with = self.value(with, ty, context);
        let new = self.build.binary(BinaryOperator::BitAnd, value, with);
        let value = self.build.binary(BinaryOperator::BitOr, kept, new);
        self.assign(target, value, span, context, out);
    }

    /// A value with a width: that of its own, or that of the type for a number.
    pub(super) fn sized_value(
        &mut self,
        expr: &Expr,
        for_numbers: Ty,
        context: Context<'_>,
    ) -> (Expression, Ty) {
        match self.ty(expr, context) {
            Ty::Bits(width, _) => (
                self.value(expr, Ty::Bits(width, false), context),
                Ty::Bits(width, false),
            ),
            _ => (self.value(expr, for_numbers, context), for_numbers),
        }
    }
}
