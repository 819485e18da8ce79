//! The primitive actions (specification 9.1), one statement or a few each. As other compilers do, those of an action are carried out one
//! after the other.

mod fields;
mod headers;
mod lists;
mod state;

use super::infer::signature;
use super::scope::{Context, Ty};
use super::translate::Translator;
use super::tree::{ExprKind, Primitive};
use crate::ast::{BinaryOperator, Expression, Name, Statement, StatementKind, UnaryOperator};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::{Signed, Zero};

impl Translator<'_, '_> {
    /// The statements that a primitive becomes.
    pub fn primitive(
        &mut self,
        primitive: &Primitive,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let text = &*primitive.name.text;
        let span = primitive.span;
        let a = &primitive.arguments;
        if let Some(object) = &primitive.object {
            return self.extern_call(object, primitive, context, out);
        }
        let Some(signature) = signature(text) else {
            return self.action_call(primitive, context, out);
        };
        if a.len() < signature.least || a.len() > signature.most {
            let many = match signature.least == signature.most {
                true => format!("{}", signature.least),
                false => format!("{} to {}", signature.least, signature.most),
            };
            let message = format!("`{text}` takes {many} operands, not {}", a.len());
            return self.error("operands", span, message);
        }
        use BinaryOperator as B;
        match text {
            "no_op" => {}
            "modify_field" if a.len() == 3 => {
                let ty = self.ty(&a[0], context);
                let value = self.value(&a[1], ty, context);
                self.masked(&a[0], value, &a[2], span, context, out);
            }
            "modify_field" => self.modify(&a[0], &a[1], span, context, out),
            "add" | "subtract" => {
                let saturating = a.iter().any(|e| self.is_saturating(e, context));
                let operator = match (text, saturating) {
                    ("add", false) => B::Add,
                    ("add", true) => B::SaturatingAdd,
                    (_, false) => B::Subtract,
                    (_, true) => B::SaturatingSubtract,
                };
                self.three(a, span, context, out, |t, x, y| {
                    t.build.binary(operator, x, y)
                });
            }
            "bit_and" => self.three(a, span, context, out, |t, x, y| {
                t.build.binary(B::BitAnd, x, y)
            }),
            "bit_or" => self.three(a, span, context, out, |t, x, y| {
                t.build.binary(B::BitOr, x, y)
            }),
            "bit_xor" => self.three(a, span, context, out, |t, x, y| {
                t.build.binary(B::BitXor, x, y)
            }),
            "bit_nand" => self.three(a, span, context, out, |t, x, y| {
                let value = t.build.binary(B::BitAnd, x, y);
                t.build.unary(UnaryOperator::Complement, value)
            }),
            "bit_nor" => self.three(a, span, context, out, |t, x, y| {
                let value = t.build.binary(B::BitOr, x, y);
                t.build.unary(UnaryOperator::Complement, value)
            }),
            "bit_xnor" => self.three(a, span, context, out, |t, x, y| {
                let value = t.build.binary(B::BitXor, x, y);
                t.build.unary(UnaryOperator::Complement, value)
            }),
            "bit_andca" => self.three(a, span, context, out, |t, x, y| {
                let x = t.build.unary(UnaryOperator::Complement, x);
                t.build.binary(B::BitAnd, x, y)
            }),
            "bit_andcb" => self.three(a, span, context, out, |t, x, y| {
                let y = t.build.unary(UnaryOperator::Complement, y);
                t.build.binary(B::BitAnd, x, y)
            }),
            "bit_orca" => self.three(a, span, context, out, |t, x, y| {
                let x = t.build.unary(UnaryOperator::Complement, x);
                t.build.binary(B::BitOr, x, y)
            }),
            "bit_orcb" => self.three(a, span, context, out, |t, x, y| {
                let y = t.build.unary(UnaryOperator::Complement, y);
                t.build.binary(B::BitOr, x, y)
            }),
            "min" | "max" => {
                let operator = if text == "min" {
                    B::LessEqual
                } else {
                    B::GreaterEqual
                };
                let (ty, common) = self.common(&a[0], &a[1], &a[2], context);
                let x = self.value(&a[1], common, context);
                let y = self.value(&a[2], common, context);
                let condition = self.build.binary(operator, x, y);
                let x = self.value(&a[1], common, context);
                let y = self.value(&a[2], common, context);
                let value = self.build.conditional(condition, x, y, span);
                let value = self.convert(value, common, ty);
                self.assign(&a[0], value, span, context, out);
            }
            "bit_not" => {
                let ty = self.ty(&a[0], context);
                let (value, from) = self.natural(&a[1], ty, context);
                let value = self.build.unary(UnaryOperator::Complement, value);
                let value = self.convert(value, from, ty);
                self.assign(&a[0], value, span, context, out);
            }
            "shift_left" | "shift_right" => {
                let ty = self.ty(&a[0], context);
                let from = match (self.ty(&a[1], context), ty) {
                    (Ty::Bits(narrow, signed), Ty::Bits(wide, _)) if narrow < wide => {
                        Ty::Bits(wide, signed)
                    }
                    (Ty::Int, _) => ty,
                    (from, _) => from,
                };
                let value = self.value(&a[1], from, context);
                let amount = self.amount(&a[2], context);
                let operator = if text == "shift_left" {
                    B::ShiftLeft
                } else {
                    B::ShiftRight
                };
                let value = self.build.binary(operator, value, amount);
                let value = self.convert(value, from, ty);
                self.assign(&a[0], value, span, context, out);
            }
            "funnel_shift_right" => {
                let ty = self.ty(&a[0], context);
                let half = match ty {
                    Ty::Bits(width, _) => Ty::Bits(width, false),
                    other => other,
                };
                let high = self.sized_value(&a[1], half, context);
                let low = self.sized_value(&a[2], half, context);
                let (Ty::Bits(high_width, _), Ty::Bits(low_width, _)) = (high.1, low.1) else {
                    return self.error("type", span, "`funnel_shift_right` shifts two fields");
                };
                let value = self.build.binary(B::Concat, high.0, low.0);
                let amount = self.amount(&a[3], context);
                let value = self.build.binary(B::ShiftRight, value, amount);
                let value = self.convert(value, Ty::Bits(high_width + low_width, false), ty);
                self.assign(&a[0], value, span, context, out);
            }
            "add_to_field" | "subtract_from_field" => {
                self.add_to(&a[0], &a[1], text == "add_to_field", span, context, out)
            }
            "modify_field_conditionally" => {
                let ty = self.ty(&a[0], context);
                let condition = self.condition(&a[1], context);
                let yes = self.value(&a[2], ty, context);
                let no = self.value(&a[0], ty, context);
                let value = self.build.conditional(condition, yes, no, span);
                self.assign(&a[0], value, span, context, out);
            }
            "modify_field_with_shift" => {
                let ty = self.ty(&a[0], context);
                let from = match self.ty(&a[1], context) {
                    Ty::Int => ty,
                    from => from,
                };
                let value = self.value(&a[1], from, context);
                let amount = self.amount(&a[2], context);
                let value = self.build.binary(B::ShiftRight, value, amount);
                let value = self.convert(value, from, ty);
                self.masked(&a[0], value, &a[3], span, context, out);
            }
            "modify_field_from_rng" | "modify_field_rng_uniform" => {
                self.random(primitive, context, out)
            }
            "modify_field_with_hash_based_offset" => self.hash(primitive, context, out),
            "add_header" => self.add_header(&a[0], span, context, out),
            "remove_header" => {
                if let Some(header) = self.header(&a[0], span, context) {
                    let call = self.build.method(header, "setInvalid", Vec::new(), span);
                    let call = self.build.call_statement(call);
                    out.push(call);
                }
            }
            "copy_header" => {
                let (Some(target), Some(value)) = (
                    self.header(&a[0], span, context),
                    self.header(&a[1], span, context),
                ) else {
                    return;
                };
                if self.ty(&a[0], context) != self.ty(&a[1], context) {
                    return self.error(
                        "type",
                        span,
                        "`copy_header` copies between headers of the same type",
                    );
                }
                let assign = self.build.assign(target, value, span);
                out.push(assign);
            }
            "push" | "pop" => self.push_pop(primitive, context, out),
            "drop" | "mark_for_drop" => {
                let standard = self.build.path("standard_metadata", span);
                self.call("mark_to_drop", vec![standard], span, out);
            }
            "truncate" => {
                let length = self.value(&a[0], Ty::Bits(32, false), context);
                self.call("truncate", vec![length], span, out);
            }
            "exit" => {
                let exit = self.build.statement(span, StatementKind::Exit);
                out.push(exit);
            }
            "count" | "execute_meter" | "register_read" | "register_write" => {
                self.stateful_call(primitive, context, out)
            }
            "generate_digest" => self.digest(primitive, context, out),
            "resubmit" | "recirculate" => {
                let list = match a.first() {
                    Some(list) => self.list_number(list),
                    None => Some(self.build.sized(&BigInt::zero(), 8, false, span)),
                };
                if let Some(list) = list {
                    self.call(
                        &format!("{text}_preserving_field_list"),
                        vec![list],
                        span,
                        out,
                    );
                }
            }
            _ => {
                let kind = self.build.path("CloneType", span);
                let egress = matches!(text, "clone_egress_pkt_to_egress" | "clone_e2e");
                let kind = self
                    .build
                    .member(kind, if egress { "E2E" } else { "I2E" }, span);
                let session = self.value(&a[0], Ty::Bits(32, false), context);
                match a.get(1) {
                    None => self.call("clone", vec![kind, session], span, out),
                    Some(list) => {
                        if let Some(list) = self.list_number(list) {
                            self.call(
                                "clone_preserving_field_list",
                                vec![kind, session, list],
                                span,
                                out,
                            );
                        }
                    }
                }
            }
        }
    }

    fn call(
        &mut self,
        function: &str,
        arguments: Vec<Expression>,
        span: Span,
        out: &mut Vec<Statement>,
    ) {
        let call = self.build.function(function, arguments, span);
        let call = self.build.call_statement(call);
        out.push(call);
    }

    /// An action carried out by another.
    fn action_call(
        &mut self,
        primitive: &Primitive,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let span = primitive.span;
        let Some(callee) = self.scope.actions.get(&primitive.name.text).copied() else {
            return self.unknown("primitive action or action", &primitive.name);
        };
        let expected = self.parameters[callee].clone();
        if expected.len() != primitive.arguments.len() {
            let message = format!(
                "action `{}` takes {} arguments, not {}",
                primitive.name.text,
                expected.len(),
                primitive.arguments.len()
            );
            return self.error("operands", span, message);
        }
        let mut arguments = Vec::new();
        for (argument, parameter) in primitive.arguments.iter().zip(&expected) {
            let ty = self.ty(argument, context);
            if parameter.written && ty != parameter.ty && matches!(ty, Ty::Bits(..)) {
                let message = format!(
                    "`{}` writes to this argument and takes it to be {}",
                    primitive.name.text,
                    self.describe(parameter.ty)
                );
                self.diagnostics.push(
                    Diagnostic::error("type", argument.span, message)
                        .help("give it fields of one width in all calls"),
                );
            }
            arguments.push(match parameter.ty {
                Ty::Header(_) | Ty::Metadata(_) | Ty::Stack(_) => {
                    self.reference(argument, context).0
                }
                ty => self.value(argument, ty, context),
            });
        }
        let output = self.names.actions[callee].clone();
        self.call(&output, arguments, span, out);
    }

    fn extern_call(
        &mut self,
        object: &Name,
        primitive: &Primitive,
        context: Context<'_>,
        out: &mut Vec<Statement>,
    ) {
        let span = primitive.span;
        let Some(n) = self.scope.externs.get(&object.text).copied() else {
            return self.unknown("extern", object);
        };
        let mut arguments = Vec::new();
        for argument in &primitive.arguments {
            let ty = self.ty(argument, context);
            arguments.push(match &argument.kind {
                ExprKind::Name(name) if self.scope.calculations.contains_key(name) => {
                    match self.calculation_of(argument, context) {
                        Some((_, _, data)) => data,
                        None => continue,
                    }
                }
                _ => self.natural(argument, ty, context).0,
            });
        }
        let object = self.build.path(self.names.externs[n].clone(), object.span);
        let call = self
            .build
            .method(object, &primitive.name.text, arguments, span);
        let call = self.build.call_statement(call);
        out.push(call);
    }
}

/// The highest and lowest bit, when the ones of a number stand in one row.
pub(super) fn one_run(number: &BigInt) -> Option<(u64, u64)> {
    let magnitude = number.magnitude();
    let low = magnitude.trailing_zeros()?;
    let high = magnitude.bits() - 1;
    (number.is_positive() && magnitude.count_ones() == high - low + 1).then_some((high, low))
}
