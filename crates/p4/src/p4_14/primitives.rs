//! The primitive actions (specification 9.1), one statement or a few each. As other compilers do, those of an action are carried out one
//! after the other.

use super::expressions::Around;
use super::infer::signature;
use super::scope::{Ty, constant};
use super::translate::{Translator, field_name, renamed};
use super::tree::{Expr, ExprKind, Primitive};
use crate::ast::{
    BinaryOperator, CompositeKind, Expression, ExpressionKind, Name, Statement, StatementKind,
    UnaryOperator,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::value::mask;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

impl Translator<'_, '_> {
    /// The statements that a primitive becomes.
    pub fn primitive(
        &mut self,
        primitive: &Primitive,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        let text = &*primitive.name.text;
        let span = primitive.span;
        let a = &primitive.arguments;
        if let Some(object) = &primitive.object {
            return self.extern_call(object, primitive, around, out);
        }
        let Some(signature) = signature(text) else {
            return self.action_call(primitive, around, out);
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
                let ty = self.ty(&a[0], around);
                let value = self.value(&a[1], ty, around);
                self.masked(&a[0], value, &a[2], span, around, out);
            }
            "modify_field" => self.modify(&a[0], &a[1], span, around, out),
            "add" | "subtract" => {
                let saturating = a.iter().any(|e| self.is_saturating(e, around));
                let operator = match (text, saturating) {
                    ("add", false) => B::Add,
                    ("add", true) => B::SaturatingAdd,
                    (_, false) => B::Subtract,
                    (_, true) => B::SaturatingSubtract,
                };
                self.three(a, span, around, out, |t, x, y| {
                    t.build.binary(operator, x, y)
                });
            }
            "bit_and" => self.three(a, span, around, out, |t, x, y| {
                t.build.binary(B::BitAnd, x, y)
            }),
            "bit_or" => self.three(a, span, around, out, |t, x, y| {
                t.build.binary(B::BitOr, x, y)
            }),
            "bit_xor" => self.three(a, span, around, out, |t, x, y| {
                t.build.binary(B::BitXor, x, y)
            }),
            "bit_nand" => self.three(a, span, around, out, |t, x, y| {
                let value = t.build.binary(B::BitAnd, x, y);
                t.build.unary(UnaryOperator::Complement, value)
            }),
            "bit_nor" => self.three(a, span, around, out, |t, x, y| {
                let value = t.build.binary(B::BitOr, x, y);
                t.build.unary(UnaryOperator::Complement, value)
            }),
            "bit_xnor" => self.three(a, span, around, out, |t, x, y| {
                let value = t.build.binary(B::BitXor, x, y);
                t.build.unary(UnaryOperator::Complement, value)
            }),
            "bit_andca" => self.three(a, span, around, out, |t, x, y| {
                let x = t.build.unary(UnaryOperator::Complement, x);
                t.build.binary(B::BitAnd, x, y)
            }),
            "bit_andcb" => self.three(a, span, around, out, |t, x, y| {
                let y = t.build.unary(UnaryOperator::Complement, y);
                t.build.binary(B::BitAnd, x, y)
            }),
            "bit_orca" => self.three(a, span, around, out, |t, x, y| {
                let x = t.build.unary(UnaryOperator::Complement, x);
                t.build.binary(B::BitOr, x, y)
            }),
            "bit_orcb" => self.three(a, span, around, out, |t, x, y| {
                let y = t.build.unary(UnaryOperator::Complement, y);
                t.build.binary(B::BitOr, x, y)
            }),
            "min" | "max" => {
                let operator = if text == "min" {
                    B::LessEqual
                } else {
                    B::GreaterEqual
                };
                let (ty, common) = self.common(&a[0], &a[1], &a[2], around);
                let x = self.value(&a[1], common, around);
                let y = self.value(&a[2], common, around);
                let condition = self.build.binary(operator, x, y);
                let x = self.value(&a[1], common, around);
                let y = self.value(&a[2], common, around);
                let value = self.build.conditional(condition, x, y, span);
                let value = self.convert(value, common, ty);
                self.assign(&a[0], value, span, around, out);
            }
            "bit_not" => {
                let ty = self.ty(&a[0], around);
                let (value, from) = self.natural(&a[1], ty, around);
                let value = self.build.unary(UnaryOperator::Complement, value);
                let value = self.convert(value, from, ty);
                self.assign(&a[0], value, span, around, out);
            }
            "shift_left" | "shift_right" => {
                let ty = self.ty(&a[0], around);
                let from = match (self.ty(&a[1], around), ty) {
                    (Ty::Bits(narrow, signed), Ty::Bits(wide, _)) if narrow < wide => {
                        Ty::Bits(wide, signed)
                    }
                    (Ty::Int, _) => ty,
                    (from, _) => from,
                };
                let value = self.value(&a[1], from, around);
                let amount = self.amount(&a[2], around);
                let operator = if text == "shift_left" {
                    B::ShiftLeft
                } else {
                    B::ShiftRight
                };
                let value = self.build.binary(operator, value, amount);
                let value = self.convert(value, from, ty);
                self.assign(&a[0], value, span, around, out);
            }
            "funnel_shift_right" => {
                let ty = self.ty(&a[0], around);
                let half = match ty {
                    Ty::Bits(width, _) => Ty::Bits(width, false),
                    other => other,
                };
                let high = self.sized_value(&a[1], half, around);
                let low = self.sized_value(&a[2], half, around);
                let (Ty::Bits(high_width, _), Ty::Bits(low_width, _)) = (high.1, low.1) else {
                    return self.error("type", span, "`funnel_shift_right` shifts two fields");
                };
                let value = self.build.binary(B::Concat, high.0, low.0);
                let amount = self.amount(&a[3], around);
                let value = self.build.binary(B::ShiftRight, value, amount);
                let value = self.convert(value, Ty::Bits(high_width + low_width, false), ty);
                self.assign(&a[0], value, span, around, out);
            }
            "add_to_field" | "subtract_from_field" => {
                self.add_to(&a[0], &a[1], text == "add_to_field", span, around, out)
            }
            "modify_field_conditionally" => {
                let ty = self.ty(&a[0], around);
                let condition = self.condition(&a[1], around);
                let yes = self.value(&a[2], ty, around);
                let no = self.value(&a[0], ty, around);
                let value = self.build.conditional(condition, yes, no, span);
                self.assign(&a[0], value, span, around, out);
            }
            "modify_field_with_shift" => {
                let ty = self.ty(&a[0], around);
                let from = match self.ty(&a[1], around) {
                    Ty::Int => ty,
                    from => from,
                };
                let value = self.value(&a[1], from, around);
                let amount = self.amount(&a[2], around);
                let value = self.build.binary(B::ShiftRight, value, amount);
                let value = self.convert(value, from, ty);
                self.masked(&a[0], value, &a[3], span, around, out);
            }
            "modify_field_from_rng" | "modify_field_rng_uniform" => {
                self.random(primitive, around, out)
            }
            "modify_field_with_hash_based_offset" => self.hash(primitive, around, out),
            "add_header" => self.add_header(&a[0], span, around, out),
            "remove_header" => {
                if let Some(header) = self.header(&a[0], span, around) {
                    let call = self.build.method(header, "setInvalid", Vec::new(), span);
                    let call = self.build.call_statement(call);
                    out.push(call);
                }
            }
            "copy_header" => {
                let (Some(target), Some(value)) = (
                    self.header(&a[0], span, around),
                    self.header(&a[1], span, around),
                ) else {
                    return;
                };
                if self.ty(&a[0], around) != self.ty(&a[1], around) {
                    return self.error(
                        "type",
                        span,
                        "`copy_header` copies between headers of the same type",
                    );
                }
                let assign = self.build.assign(target, value, span);
                out.push(assign);
            }
            "push" | "pop" => self.push_pop(primitive, around, out),
            "drop" | "mark_for_drop" => {
                let standard = self.build.path("standard_metadata", span);
                self.call("mark_to_drop", vec![standard], span, out);
            }
            "truncate" => {
                let length = self.value(&a[0], Ty::Bits(32, false), around);
                self.call("truncate", vec![length], span, out);
            }
            "exit" => {
                let exit = self.build.statement(span, StatementKind::Exit);
                out.push(exit);
            }
            "count" | "execute_meter" | "register_read" | "register_write" => {
                self.stateful_call(primitive, around, out)
            }
            "generate_digest" => self.digest(primitive, around, out),
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
                let session = self.value(&a[0], Ty::Bits(32, false), around);
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

    fn assign(
        &mut self,
        target: &Expr,
        value: Expression,
        span: Span,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        let ty = self.ty(target, around);
        if !matches!(target.kind, ExprKind::Name(_) | ExprKind::Member(..)) {
            return self.error(
                "target",
                target.span,
                "this is no field that could be written",
            );
        }
        if matches!(ty, Ty::Header(_) | Ty::Metadata(_) | Ty::Stack(_)) {
            let message = format!("a field is needed here, not {}", self.describe(ty));
            return self.error("type", target.span, message);
        }
        let (target, _) = self.natural(target, ty, around);
        let assign = self.build.assign(target, value, span);
        out.push(assign);
    }

    fn modify(
        &mut self,
        target: &Expr,
        value: &Expr,
        span: Span,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        let ty = self.ty(target, around);
        if let Ty::Varbit(_) = ty {
            let from = self.ty(value, around);
            if from != ty {
                let message = format!(
                    "a field of variable width takes no other value than one like it, not {}",
                    self.describe(from)
                );
                return self.error("type", span, message);
            }
        }
        let value = self.value(value, ty, around);
        self.assign(target, value, span, around, out);
    }

    /// The type of the target, and the one in which two operands are worked on.
    fn common(&self, target: &Expr, x: &Expr, y: &Expr, around: Around<'_>) -> (Ty, Ty) {
        let ty = self.ty(target, around);
        let common = match (self.ty(x, around), self.ty(y, around)) {
            (Ty::Int, Ty::Int) | (Ty::Unknown, _) => ty,
            (Ty::Int, y) => y,
            (x, _) => x,
        };
        // The narrower operand is widened, as in an expression.
        let common = match (common, self.ty(y, around)) {
            (Ty::Bits(a, signed), Ty::Bits(b, _)) if b > a => Ty::Bits(b, signed),
            (common, _) => common,
        };
        (ty, common)
    }

    fn three(
        &mut self,
        a: &[Expr],
        span: Span,
        around: Around<'_>,
        out: &mut Vec<Statement>,
        make: impl FnOnce(&mut Self, Expression, Expression) -> Expression,
    ) {
        let (ty, common) = self.common(&a[0], &a[1], &a[2], around);
        for operand in a {
            let ty = self.ty(operand, around);
            if !matches!(ty, Ty::Bits(..) | Ty::Int | Ty::Unknown | Ty::Bool) {
                let message = format!("this works on fields, not on {}", self.describe(ty));
                return self.error("type", operand.span, message);
            }
        }
        let x = self.value(&a[1], common, around);
        let y = self.value(&a[2], common, around);
        let value = make(self, x, y);
        let value = self.convert(value, common, ty);
        self.assign(&a[0], value, span, around, out);
    }

    fn add_to(
        &mut self,
        target: &Expr,
        value: &Expr,
        mut add: bool,
        span: Span,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        use BinaryOperator as B;
        let ty = self.ty(target, around);
        let saturating = self.is_saturating(target, around) || self.is_saturating(value, around);
        let wide = match self.ty(value, around) {
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
                self.value(&positive, wide, around)
            }
            None => self.value(value, wide, around),
        };
        let operator = match (add, saturating) {
            (true, false) => B::Add,
            (true, true) => B::SaturatingAdd,
            (false, false) => B::Subtract,
            (false, true) => B::SaturatingSubtract,
        };
        let field = self.value(target, wide, around);
        let sum = self.build.binary(operator, field, operand);
        let sum = self.convert(sum, wide, ty);
        self.assign(target, sum, span, around, out);
    }

    /// `target = target & ~mask | value & mask`, or a slice where the mask is one run of ones.
    fn masked(
        &mut self,
        target: &Expr,
        value: Expression,
        with: &Expr,
        span: Span,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        let ty = self.ty(target, around);
        let Ty::Bits(width, signed) = ty else {
            let message = format!("a mask works on a field, not on {}", self.describe(ty));
            return self.error("type", target.span, message);
        };
        if let Some(number) = constant(with) {
            if number.is_negative() && number != BigInt::from(-1) {
                return self.error("mask", with.span, "a mask is no negative number");
            }
            let bits = crate::value::Bits::from_int(width, &number);
            if let Some((high, low)) = one_run(&BigInt::from(bits.unsigned().clone())) {
                let (field, _) = self.natural(target, ty, around);
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
        let keep = self.value(with, ty, around);
        let keep = self.build.unary(UnaryOperator::Complement, keep);
        let field = self.value(target, ty, around);
        let kept = self.build.binary(BinaryOperator::BitAnd, field, keep);
        let with = self.value(with, ty, around);
        let new = self.build.binary(BinaryOperator::BitAnd, value, with);
        let value = self.build.binary(BinaryOperator::BitOr, kept, new);
        self.assign(target, value, span, around, out);
    }

    /// A value with a width: that of its own, or that of the type for a number.
    fn sized_value(
        &mut self,
        expr: &Expr,
        for_numbers: Ty,
        around: Around<'_>,
    ) -> (Expression, Ty) {
        match self.ty(expr, around) {
            Ty::Bits(width, _) => (
                self.value(expr, Ty::Bits(width, false), around),
                Ty::Bits(width, false),
            ),
            _ => (self.value(expr, for_numbers, around), for_numbers),
        }
    }

    fn random(&mut self, primitive: &Primitive, around: Around<'_>, out: &mut Vec<Statement>) {
        let (a, span) = (&primitive.arguments, primitive.span);
        let ty = self.ty(&a[0], around);
        let Ty::Bits(width, signed) = ty else {
            let message = format!("a field is needed here, not {}", self.describe(ty));
            return self.error("type", a[0].span, message);
        };
        let uniform = &*primitive.name.text == "modify_field_rng_uniform";
        let (low, high) = match uniform {
            true => (self.value(&a[1], ty, around), self.value(&a[2], ty, around)),
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
                        let bits = self.amount(&a[1], around);
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
            let (target, _) = self.natural(&a[0], ty, around);
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
        self.masked(&a[0], value, with, span, around, &mut statements);
        let block = self.build.block_statement(statements, span);
        out.push(block);
    }

    fn hash(&mut self, primitive: &Primitive, around: Around<'_>, out: &mut Vec<Statement>) {
        let (a, span) = (&primitive.arguments, primitive.span);
        let ty = self.ty(&a[0], around);
        let Some((algorithm, width, data)) = self.calculation_of(&a[2], around) else {
            return;
        };
        let base = self.value(&a[1], Ty::Bits(width, false), around);
        // The number of values may be one more than the output can hold.
        let most = width.saturating_mul(2).clamp(width, super::MOST_WIDTH);
        let size = self.value(&a[3], Ty::Bits(most, false), around);
        let (target, _) = self.natural(&a[0], ty, around);
        self.call("hash", vec![target, algorithm, base, data, size], span, out);
    }

    /// Algorithm, width and data of the calculation that an operand names.
    fn calculation_of(
        &mut self,
        expr: &Expr,
        around: Around<'_>,
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
        let Some(width) = width.filter(|w| (1..=super::MOST_WIDTH).contains(w)) else {
            let message = format!(
                "`{}` needs an `output_width` of 1 to {} bits",
                declaration.name.text,
                super::MOST_WIDTH
            );
            self.error("width", declaration.span, message);
            return None;
        };
        let data = self.data(&fields, around, expr.span);
        Some((algorithm, width, data))
    }

    /// `{ a, b, c }` of fields.
    pub fn data(&mut self, fields: &[Expr], around: Around<'_>, span: Span) -> Expression {
        let mut elements = Vec::new();
        for field in fields {
            let around = Around {
                parameters: &[],
                ..around
            };
            let ty = match self.ty(field, around) {
                // A number without a width is a byte, as P4_14 has it in the lists of its examples.
                Ty::Int => Ty::Bits(8, false),
                Ty::Bool => Ty::Bits(1, false),
                ty => ty,
            };
            elements.push(self.value(field, ty, around));
        }
        self.build.list(elements, span)
    }

    /// A whole header that an operand names.
    fn header(&mut self, expr: &Expr, span: Span, around: Around<'_>) -> Option<Expression> {
        let ty = self.ty(expr, around);
        let (value, _) = self.reference(expr, around);
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
    fn add_header(
        &mut self,
        expr: &Expr,
        span: Span,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        let Ty::Header(shape) = self.ty(expr, around) else {
            self.header(expr, span, around);
            return;
        };
        let Some(header) = self.header(expr, span, around) else {
            return;
        };
        let valid = self.build.method(header, "isValid", Vec::new(), span);
        let condition = self.build.unary(UnaryOperator::Not, valid);
        let mut statements = Vec::new();
        self.zeroed(expr, shape, span, around, &mut statements);
        let yes = self.build.block_statement(statements, span);
        let kind = StatementKind::If {
            condition,
            yes: Box::new(yes),
            no: None,
        };
        let statement = self.build.statement(span, kind);
        out.push(statement);
    }

    /// Makes a header valid, with zeros in all fields.
    fn zeroed(
        &mut self,
        expr: &Expr,
        shape: usize,
        span: Span,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        let (header, _) = self.reference(expr, around);
        let call = self.build.method(header, "setValid", Vec::new(), span);
        let call = self.build.call_statement(call);
        out.push(call);
        for n in 0..self.scope.shapes[shape].fields.len() {
            let field = &self.scope.shapes[shape].fields[n];
            let Ty::Bits(width, signed) = field.ty else {
                continue;
            };
            let text = field_name(&field.name.text);
            let (header, _) = self.reference(expr, around);
            let target = self.build.member(header, text, span);
            let zero = self.build.sized(&BigInt::zero(), width, signed, span);
            let assign = self.build.assign(target, zero, span);
            out.push(assign);
        }
    }

    fn push_pop(&mut self, primitive: &Primitive, around: Around<'_>, out: &mut Vec<Statement>) {
        let (a, span) = (&primitive.arguments, primitive.span);
        let push = &*primitive.name.text == "push";
        let Ty::Stack(shape) = self.ty(&a[0], around) else {
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
        let (stack, _) = self.reference(&a[0], around);
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
            .and_then(|n| self.scope.things[*n].size)
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
            self.zeroed(&element, shape, span, around, out);
        }
    }

    fn stateful_call(
        &mut self,
        primitive: &Primitive,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        let (a, span) = (&primitive.arguments, primitive.span);
        let text = &*primitive.name.text;
        let position = usize::from(text == "register_read");
        let object = &a[position];
        let ExprKind::Name(object_name) = &object.kind else {
            return self.error(
                "unknown-name",
                object.span,
                "the name of a counter, meter or register is needed here",
            );
        };
        let tree = self.scope.tree;
        let found = match text {
            "count" => self
                .scope
                .counters
                .get(object_name)
                .map(|n| (&tree.counters[*n], self.names.counters[*n].clone(), *n)),
            "execute_meter" => self
                .scope
                .meters
                .get(object_name)
                .map(|n| (&tree.meters[*n], self.names.meters[*n].clone(), *n)),
            _ => self
                .scope
                .registers
                .get(object_name)
                .map(|n| (&tree.registers[*n], self.names.registers[*n].clone(), *n)),
        };
        let Some((declaration, output, n)) = found else {
            let kind = match text {
                "count" => "counter",
                "execute_meter" => "meter",
                _ => "register",
            };
            let at = super::build::name(object_name.clone(), object.span);
            return self.unknown(kind, &at);
        };
        if declaration.direct.is_some() {
            let message = format!(
                "`{object_name}` belongs to a table's entries: no action can name one of its cells"
            );
            return self.error("direct", object.span, message);
        }
        let index = match text {
            "register_read" => &a[2],
            _ => &a[1],
        };
        let index = self.value(index, Ty::Bits(32, false), around);
        let object = self.build.path(output, object.span);
        match text {
            "count" => {
                let call = self.build.method(object, "count", vec![index], span);
                let call = self.build.call_statement(call);
                out.push(call);
            }
            "execute_meter" => {
                let ty = self.ty(&a[2], around);
                let (target, _) = self.natural(&a[2], ty, around);
                let call = self
                    .build
                    .method(object, "execute_meter", vec![index, target], span);
                let call = self.build.call_statement(call);
                out.push(call);
            }
            "register_read" => self.register_read(object, n, index, &a[0], span, around, out),
            _ => {
                let ty = self.register_ty(n);
                match ty {
                    Ty::Metadata(shape) => {
                        self.register_write(object, shape, index, &a[2], span, around, out)
                    }
                    _ => {
                        let value = self.value(&a[2], ty, around);
                        let call = self.build.method(object, "write", vec![index, value], span);
                        let call = self.build.call_statement(call);
                        out.push(call);
                    }
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn register_read(
        &mut self,
        object: Expression,
        register: usize,
        index: Expression,
        target: &Expr,
        span: Span,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        let cell = self.register_ty(register);
        let ty = self.ty(target, around);
        if ty == cell && matches!(ty, Ty::Bits(..)) {
            let (target, _) = self.natural(target, ty, around);
            let call = self.build.method(object, "read", vec![target, index], span);
            let call = self.build.call_statement(call);
            out.push(call);
            return;
        }
        // Another width, or a structure: through a variable of the cell's type.
        let variable = self.given.unique("tmp");
        let variable_ty = match cell {
            Ty::Metadata(shape) => {
                let name = self
                    .layouts
                    .get(&shape)
                    .cloned()
                    .unwrap_or_else(|| "metadata".into());
                self.build.named(name, span)
            }
            cell => self.type_of(cell, span),
        };
        let mut statements = Vec::new();
        let declaration = self.build.variable(variable_ty, variable.clone(), span);
        let declaration = self
            .build
            .statement(span, StatementKind::Declaration(Box::new(declaration)));
        statements.push(declaration);
        let into = self.build.path(variable.clone(), span);
        let call = self.build.method(object, "read", vec![into, index], span);
        let call = self.build.call_statement(call);
        statements.push(call);
        match (cell, ty) {
            (Ty::Metadata(shape), Ty::Metadata(to) | Ty::Header(to)) if shape == to => {
                for n in 0..self.scope.shapes[shape].fields.len() {
                    let text = field_name(&self.scope.shapes[shape].fields[n].name.text);
                    let base = self.build.path(variable.clone(), span);
                    let value = self.build.member(base, text.clone(), span);
                    let (base, _) = self.reference(target, around);
                    let field = self.build.member(base, text, span);
                    let assign = self.build.assign(field, value, span);
                    statements.push(assign);
                }
            }
            (Ty::Bits(..), Ty::Bits(..)) => {
                let value = self.build.path(variable, span);
                let value = self.convert(value, cell, ty);
                self.assign(target, value, span, around, &mut statements);
            }
            _ => {
                let message = format!("the register's cells do not fit into {}", self.describe(ty));
                return self.error("type", target.span, message);
            }
        }
        let block = self.build.block_statement(statements, span);
        out.push(block);
    }

    #[allow(clippy::too_many_arguments)]
    fn register_write(
        &mut self,
        object: Expression,
        shape: usize,
        index: Expression,
        value: &Expr,
        span: Span,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        let ty = self.ty(value, around);
        if ty != Ty::Metadata(shape) && ty != Ty::Header(shape) {
            let message = format!(
                "the register's cells are structures; {} does not fit",
                self.describe(ty)
            );
            return self.error("type", value.span, message);
        }
        let mut fields = Vec::new();
        for n in 0..self.scope.shapes[shape].fields.len() {
            let text = field_name(&self.scope.shapes[shape].fields[n].name.text);
            let (base, _) = self.reference(value, around);
            let field = self.build.member(base, text.clone(), span);
            fields.push((super::build::name(text, span), field));
        }
        let kind = ExpressionKind::Struct {
            fields,
            dots: false,
        };
        let value = self.build.expression(span, kind);
        let call = self.build.method(object, "write", vec![index, value], span);
        let call = self.build.call_statement(call);
        out.push(call);
    }

    fn field_list(&mut self, expr: &Expr) -> Option<usize> {
        let found = match &expr.kind {
            ExprKind::Name(name) => self.scope.field_lists.get(name).copied(),
            _ => None,
        };
        if found.is_none() {
            let message = format!("`{}` is no field list", self.reference_text(expr));
            self.error("field-list", expr.span, message);
        }
        found
    }

    /// The number that says which fields a packet keeps.
    fn list_number(&mut self, expr: &Expr) -> Option<Expression> {
        let list = self.field_list(expr)?;
        let number = self
            .kept
            .iter()
            .position(|k| *k == list)
            .map_or(0, |n| n + 1);
        Some(self.build.sized(&BigInt::from(number), 8, false, expr.span))
    }

    fn digest(&mut self, primitive: &Primitive, around: Around<'_>, out: &mut Vec<Statement>) {
        let (a, span) = (&primitive.arguments, primitive.span);
        let receiver = self.value(&a[0], Ty::Bits(32, false), around);
        let Some(list) = self.field_list(&a[1]) else {
            return;
        };
        let (fields, _) = self.list_fields(list);
        let data = self.data(&fields, around, a[1].span);
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
            let ty = match self.ty(field, Around::default()) {
                Ty::Int => Ty::Bits(8, false),
                Ty::Bool => Ty::Bits(1, false),
                ty => ty,
            };
            let ty = self.type_of(ty, field.span);
            members.push(
                self.build
                    .field(super::build::name(unique, field.span), Vec::new(), ty),
            );
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

    /// An action carried out by another.
    fn action_call(&mut self, primitive: &Primitive, around: Around<'_>, out: &mut Vec<Statement>) {
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
            let ty = self.ty(argument, around);
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
                    self.reference(argument, around).0
                }
                ty => self.value(argument, ty, around),
            });
        }
        let output = self.names.actions[callee].clone();
        self.call(&output, arguments, span, out);
    }

    fn extern_call(
        &mut self,
        object: &Name,
        primitive: &Primitive,
        around: Around<'_>,
        out: &mut Vec<Statement>,
    ) {
        let span = primitive.span;
        let Some(n) = self.scope.externs.get(&object.text).copied() else {
            return self.unknown("extern", object);
        };
        let mut arguments = Vec::new();
        for argument in &primitive.arguments {
            let ty = self.ty(argument, around);
            arguments.push(match &argument.kind {
                ExprKind::Name(name) if self.scope.calculations.contains_key(name) => {
                    match self.calculation_of(argument, around) {
                        Some((_, _, data)) => data,
                        None => continue,
                    }
                }
                _ => self.natural(argument, ty, around).0,
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
