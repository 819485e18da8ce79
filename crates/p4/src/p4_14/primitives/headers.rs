//! Primitives on whole headers and stacks.

use super::super::scope::Context;
use super::super::scope::{Ty, constant};
use super::super::translate::{Translator, field_name};
use super::super::tree::{Expr, ExprKind, Primitive};
use crate::ast::{Expression, Statement, UnaryOperator};
use crate::source::Span;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};

impl Translator<'_, '_> {
    /// A whole header that an operand names.
    pub(super) fn header(
        &mut self,
        expr: &Expr,
        span: Span,
        context: Context<'_>,
    ) -> Option<Expression> {
        let ty = self.ty(expr, context);
        let (value, _) = self.reference(expr, context);
        match ty {
            Ty::Header(_) => Some(value),
            Ty::Unknown => None,
            other => {
                let message = format!("a header is needed here, not {}", self.describe(other));
                self.error("type", span, message);
                None
            }
        }
    }

    /// A header that was not there begins with zeros (specification 9.1).
    pub(super) fn add_header(
        &mut self,
        expr: &Expr,
        span: Span,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let Ty::Header(shape) = self.ty(expr, context) else {
            self.header(expr, span, context);
            return;
        };
        let Some(header) = self.header(expr, span, context) else {
            return;
        };
        let valid = self.build.method(header, "isValid", Vec::new(), span);
        let condition = self.build.unary(UnaryOperator::Not, valid);
        let mut statements = Vec::new();
        self.zeroed(expr, shape, span, context, &mut statements);
        let yes = self.build.block_statement(statements, span);
        let statement = self.build.if_else(condition, yes, None, span);
        out.push(statement);
    }

    /// Makes a header valid, with zeros in all fields.
    pub(super) fn zeroed(
        &mut self,
        expr: &Expr,
        shape: usize,
        span: Span,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let (header, _) = self.reference(expr, context);
        let call = self.build.method(header, "setValid", Vec::new(), span);
        let call = self.build.call_statement(call);
        out.push(call);
        for n in 0..self.scope.shapes[shape].fields.len() {
            let field = &self.scope.shapes[shape].fields[n];
            let Ty::Bits(width, signed) = field.ty else {
                continue;
            };
            let text = field_name(&field.name.text);
            let (header, _) = self.reference(expr, context);
            let target = self.build.member(header, text, span);
            let zero = self.build.sized(&BigInt::zero(), width, signed, span);
            let assign = self.build.assign(target, zero, span);
            out.push(assign);
        }
    }

    pub(super) fn push_pop(
        &mut self,
        primitive: &Primitive,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let (a, span) = (&primitive.arguments, primitive.span);
        let push = &*primitive.name.text == "push";
        let Ty::Stack(shape) = self.ty(&a[0], context) else {
            let message = format!("`{}` works on a header stack", primitive.name.text);
            return self.error("type", a[0].span, message);
        };
        let count = match a.get(1) {
            None => 1,
            Some(count) => match constant(count)
                .and_then(|c| c.to_u32())
                .filter(|c| *c <= 0xffff)
            {
                Some(count) => count,
                None => {
                    let message =
                        format!("`{}` takes a number from 0 to 65535", primitive.name.text);
                    return self.error("operands", count.span, message);
                }
            },
        };
        let (stack, _) = self.reference(&a[0], context);
        let amount = self.build.integer(count, span);
        let call = self.build.method(
            stack,
            if push { "push_front" } else { "pop_front" },
            vec![amount],
            span,
        );
        let call = self.build.call_statement(call);
        out.push(call);
        if !push {
            return;
        }
        let ExprKind::Name(name) = &a[0].kind else {
            return;
        };
        let size = self
            .scope
            .instances
            .get(name)
            .and_then(|n| self.scope.instance_types[*n].size)
            .unwrap_or(0);
        for n in 0..count.min(size) {
            let element = Expr {
                span,
                kind: ExprKind::Index(
                    Box::new(a[0].clone()),
                    Box::new(Expr {
                        span,
                        kind: ExprKind::Integer(BigInt::from(n), None),
                    }),
                ),
            };
            self.zeroed(&element, shape, span, context, out);
        }
    }
}
