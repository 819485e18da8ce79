//! Primitives on lists of fields: hashes and digests; and random numbers.

use super::super::scope::Context;
use super::super::scope::{Ty, constant};
use super::super::translate::{Translator, field_name, renamed};
use super::super::tree::{Expr, ExprKind, Primitive};
use crate::ast::{BinaryOperator, CompositeKind, Expression, Name, Statement, StatementKind};
use crate::source::Span;
use crate::value::mask;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};

impl Translator<'_, '_> {
    pub(super) fn random(
        &mut self,
        primitive: &Primitive,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let (a, span) = (&primitive.arguments, primitive.span);
        let ty = self.ty(&a[0], context);
        let Ty::Bits(width, signed) = ty else {
            let message = format!("a field is needed here, not {}", self.describe(ty));
            return self.error("type", a[0].span, message);
        };
        let uniform = &*primitive.name.text == "modify_field_rng_uniform";
        let (low, high) = match uniform {
            true => (
                self.value(&a[1], ty, context),
                self.value(&a[2], ty, context),
            ),
            false => {
                // So many random bits.
                let low = self.build.sized(&BigInt::zero(), width, signed, span);
                let high = match constant(&a[1]) {
                    Some(bits) => {
                        let bits = bits.to_u32().unwrap_or(width).min(width);
                        self.build
                            .sized(&BigInt::from(mask(bits)), width, signed, span)
                    }
                    None => {
                        let one = self.build.sized(&BigInt::one(), width, signed, span);
                        let bits = self.amount(&a[1], context);
                        let power = self.build.binary(BinaryOperator::ShiftLeft, one, bits);
                        let one = self.build.sized(&BigInt::one(), width, signed, span);
                        self.build.binary(BinaryOperator::Subtract, power, one)
                    }
                };
                (low, high)
            }
        };
        let with = if uniform { None } else { a.get(2) };
        let Some(with) = with else {
            let (target, _) = self.natural(&a[0], ty, context);
            return self.call("random", vec![target, low, high], span, out);
        };
        let mut statements = Vec::new();
        let variable = self.given.unique("tmp");
        let variable_ty = self.type_of(ty, span);
        let declaration = self.build.variable(variable_ty, variable.clone(), span);
        let declaration = self
            .build
            .statement(span, StatementKind::Declaration(Box::new(declaration)));
        statements.push(declaration);
        let target = self.build.path(variable.clone(), span);
        self.call("random", vec![target, low, high], span, &mut statements);
        let value = self.build.path(variable, span);
        self.masked(&a[0], value, with, span, context, &mut statements);
        let block = self.build.block_statement(statements, span);
        out.push(block);
    }

    pub(super) fn hash(
        &mut self,
        primitive: &Primitive,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let (a, span) = (&primitive.arguments, primitive.span);
        let ty = self.ty(&a[0], context);
        let Some((algorithm, width, data)) = self.calculation_of(&a[2], context) else {
            return;
        };
        let base = self.value(&a[1], Ty::Bits(width, false), context);
        // The number of values may be one more than the output can hold.
        let most = width
            .saturating_mul(2)
            .clamp(width, super::super::MAX_WIDTH);
        let size = self.value(&a[3], Ty::Bits(most, false), context);
        let (target, _) = self.natural(&a[0], ty, context);
        self.call("hash", vec![target, algorithm, base, data, size], span, out);
    }

    /// Algorithm, width and data of the calculation that an operand names.
    pub(super) fn calculation_of(
        &mut self,
        expr: &Expr,
        context: Context<'_>,
    ) -> Option<(Expression, u32, Expression)> {
        let found = match &expr.kind {
            ExprKind::Name(name) => self.scope.calculations.get(name).copied(),
            _ => None,
        };
        let Some(calculation) = found else {
            self.error(
                "unknown-name",
                expr.span,
                "a field list calculation is needed here",
            );
            return None;
        };
        let declaration = &self.scope.tree.calculations[calculation];
        let (fields, _) = self.calculation_fields(calculation)?;
        let algorithm = self.algorithm(calculation)?;
        let width = declaration
            .output_width
            .as_ref()
            .and_then(constant)
            .and_then(|w| w.to_u32());
        let Some(width) = width.filter(|w| (1..=super::super::MAX_WIDTH).contains(w)) else {
            let message = format!(
                "`{}` needs an `output_width` of 1 to {} bits",
                declaration.name.text,
                super::super::MAX_WIDTH
            );
            self.error("width", declaration.span, message);
            return None;
        };
        let data = self.data(&fields, context, expr.span);
        Some((algorithm, width, data))
    }

    /// `{ a, b, c }` of fields.
    pub fn data(&mut self, fields: &[Expr], context: Context<'_>, span: Span) -> Expression {
        let mut elements = Vec::new();
        for field in fields {
            let context = Context {
                parameters: &[],
                ..context
            };
            let ty = match self.ty(field, context) {
                // A number without a width is a byte, as P4_14 has it in the lists of its examples.
                Ty::Int => Ty::Bits(8, false),
                Ty::Bool => Ty::Bits(1, false),
                ty => ty,
            };
            elements.push(self.value(field, ty, context));
        }
        self.build.list(elements, span)
    }

    pub(super) fn field_list(&mut self, expr: &Expr) -> Option<usize> {
        let found = match &expr.kind {
            ExprKind::Name(name) => self.scope.field_lists.get(name).copied(),
            _ => None,
        };
        if found.is_none() {
            let message = format!("`{}` is not a field list", self.reference_text(expr));
            self.error("field-list", expr.span, message);
        }
        found
    }

    /// The number that says which fields a packet keeps.
    pub(super) fn list_number(&mut self, expr: &Expr) -> Option<Expression> {
        let list = self.field_list(expr)?;
        let number = self
            .kept
            .iter()
            .position(|k| *k == list)
            .map_or(0, |n| n + 1);
        Some(self.build.sized(&BigInt::from(number), 8, false, expr.span))
    }

    pub(super) fn digest(
        &mut self,
        primitive: &Primitive,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let (a, span) = (&primitive.arguments, primitive.span);
        let receiver = self.value(&a[0], Ty::Bits(32, false), context);
        let Some(list) = self.field_list(&a[1]) else {
            return;
        };
        let (fields, _) = self.list_fields(list);
        let data = self.data(&fields, context, a[1].span);
        let list_name = self.scope.tree.field_lists[list].name.clone();
        let output = self.given.unique(&list_name.text);
        let mut seen = BTreeSet::new();
        let mut members = Vec::new();
        for (n, field) in fields.iter().enumerate() {
            let text = match &field.kind {
                ExprKind::Member(_, Name { text, .. }) => field_name(text),
                _ => format!("field{n}").into(),
            };
            let mut unique = text.clone();
            let mut number = 0;
            while !seen.insert(unique.clone()) {
                unique = format!("{text}_{number}").into();
                number += 1;
            }
            let ty = match self.ty(field, Context::default()) {
                Ty::Int => Ty::Bits(8, false),
                Ty::Bool => Ty::Bits(1, false),
                ty => ty,
            };
            let ty = self.type_of(ty, field.span);
            members.push(self.build.field(
                super::super::build::name(unique, field.span),
                Vec::new(),
                ty,
            ));
        }
        let declaration = self.build.composite(
            CompositeKind::Struct,
            output.clone(),
            renamed(&output, &list_name),
            members,
            list_name.span,
        );
        self.out.push(declaration);
        let callee = self.build.path("digest", span);
        let ty = self.build.named(output, span);
        let call = self
            .build
            .call(callee, vec![ty], vec![receiver, data], span);
        let call = self.build.call_statement(call);
        out.push(call);
    }
}
