//! Operators: of numbers that are known and of those that are not, comparisons, and what is evaluated only if it has to be.

use super::storage::Location;
use super::values::{Value, equal, validity};
use super::{Lowerer, fold};
use crate::ast::{BinaryOperator, Expression, UnaryOperator};
use crate::ir::{Binary, Expr, LValue, Ty, Unary};
use crate::value::{Bits, mask};
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};

impl<'a> Lowerer<'a> {
    pub(super) fn binary(
        &mut self,
        operator: BinaryOperator,
        left: &'a Expression,
        right: &'a Expression,
    ) -> Value {
        if matches!(operator, BinaryOperator::And | BinaryOperator::Or) {
            return self.short_circuit(operator == BinaryOperator::And, left, right);
        }
        let (a, b) = self.eval_pair(left, right);
        self.operate(operator, a, b)
    }

    /// An operator on two values.
    pub fn operate(&mut self, operator: BinaryOperator, a: Value, b: Value) -> Value {
        match operator {
            BinaryOperator::Equal => return Value::bool(self.equal_values(a, b)),
            BinaryOperator::NotEqual => {
                return Value::bool(fold::not(self.equal_values(a, b)));
            }
            _ => {}
        }
        let is_shift = matches!(
            operator,
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight
        );
        let (a, ty, b, right_ty) = match (a, b) {
            (Value::Scalar(a, ty), Value::Scalar(b, right_ty)) => (a, ty, b, right_ty),
            (Value::Scalar(a, ty), Value::Integer(b)) if is_shift => {
                let width = (b.bits() as u32).clamp(1, 64);
                // So far a shift leaves nothing, however far it is meant to be.
                let by = b.min(BigInt::from(u64::MAX));
                let right_ty = Ty::Bits(width);
                (a, ty, fold::constant(right_ty, &by), right_ty)
            }
            (Value::Scalar(a, ty), Value::Integer(b)) => (a, ty, fold::constant(ty, &b), ty),
            (Value::Integer(a), Value::Scalar(b, ty)) if !is_shift => {
                (fold::constant(ty, &a), ty, b, ty)
            }
            (Value::Integer(a), Value::Integer(b)) => return integers(operator, &a, &b),
            _ => return Value::Nothing,
        };
        let Some(operator) = plain_operator(operator) else {
            return Value::Nothing;
        };
        let value = fold::binary(operator, a, b, ty, right_ty);
        let ty = match operator {
            Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual => Ty::Bool,
            Binary::Concat => {
                let width = ty.width() + right_ty.width();
                match ty {
                    Ty::Signed(_) => Ty::Signed(width),
                    _ => Ty::Bits(width),
                }
            }
            _ => ty,
        };
        Value::Scalar(value, ty)
    }

    pub(super) fn equal_values(&mut self, a: Value, b: Value) -> Expr {
        // A list, `{#}` or the like takes the shape of the other side.
        let (a, b) = match (a, b) {
            (a @ (Value::Header { .. } | Value::Union(_)), Value::Invalid | Value::Default) => {
                let valid = validity(&a);
                return fold::not(valid);
            }
            (Value::Invalid | Value::Default, b @ (Value::Header { .. } | Value::Union(_))) => {
                let valid = validity(&b);
                return fold::not(valid);
            }
            (a @ Value::Header { .. }, Value::List(fields, _)) => (
                a,
                Value::Header {
                    valid: fold::boolean(true),
                    fields,
                },
            ),
            (Value::List(fields, _), b @ Value::Header { .. }) => (
                Value::Header {
                    valid: fold::boolean(true),
                    fields,
                },
                b,
            ),
            other => other,
        };
        equal(&a, &b)
    }

    pub(super) fn short_circuit(
        &mut self,
        is_and: bool,
        left: &'a Expression,
        right: &'a Expression,
    ) -> Value {
        let a = self.condition(left);
        // What decides alone leaves the right side out.
        if fold::truth(&a) == Some(!is_and) {
            return Value::bool(fold::boolean(!is_and));
        }
        if !self.has_effects(right) {
            let b = self.condition(right);
            return Value::bool(if is_and {
                fold::and(a, b)
            } else {
                fold::or(a, b)
            });
        }
        if fold::truth(&a).is_some() {
            return Value::bool(self.condition(right));
        }
        let slot = self.temporary_slot("tmp", Ty::Bool);
        let (go_on, decided, join) = (self.body.block(), self.body.block(), self.body.block());
        if is_and {
            self.body.branch(a, go_on, decided);
        } else {
            self.body.branch(a, decided, go_on);
        }
        self.body.go(decided);
        self.body.assign(LValue::Slot(slot), fold::boolean(!is_and));
        self.body.jump(join);
        self.body.go(go_on);
        let b = self.condition(right);
        self.body.assign(LValue::Slot(slot), b);
        self.body.jump(join);
        self.body.go(join);
        Value::bool(Expr::Slot(slot))
    }

    pub(super) fn conditional(
        &mut self,
        expr: &'a Expression,
        condition: &'a Expression,
        yes: &'a Expression,
        no: &'a Expression,
    ) -> Value {
        let test = self.condition(condition);
        match fold::truth(&test) {
            Some(true) => return self.eval(yes),
            Some(false) => return self.eval(no),
            None => {}
        }
        // Numbers and lists take the type that the whole has.
        let ty = match self.cast_of(expr.id) {
            Some(ty) => ty,
            None => self.type_of(expr.id),
        };
        if !self.has_effects(yes) && !self.has_effects(no) {
            let yes = self.eval_as(yes, &ty);
            let no = self.eval_as(no, &ty);
            return choose(&test, yes, no);
        }
        let storage = self.temporary("tmp", &ty);
        let location = Location::fixed(storage.clone());
        let (first, second, join) = (self.body.block(), self.body.block(), self.body.block());
        self.body.branch(test, first, second);
        for (block, expr) in [(first, yes), (second, no)] {
            self.body.go(block);
            let value = self.eval_as(expr, &ty);
            self.store(&location, &value);
            self.body.jump(join);
        }
        self.body.go(join);
        self.read(&location)
    }
}

/// One of two values of the same shape.
pub(super) fn choose(condition: &Expr, yes: Value, no: Value) -> Value {
    let all = |a: Vec<Value>, b: Vec<Value>| {
        a.into_iter()
            .zip(b)
            .map(|(a, b)| choose(condition, a, b))
            .collect::<Vec<_>>()
    };
    match (yes, no) {
        (Value::Scalar(a, ty), Value::Scalar(b, _)) => {
            Value::Scalar(fold::conditional(condition.clone(), a, b), ty)
        }
        (Value::List(a, dots), Value::List(b, _)) => Value::List(all(a, b), dots),
        (Value::Union(a), Value::Union(b)) => Value::Union(all(a, b)),
        (
            Value::Header { valid, fields },
            Value::Header {
                valid: other,
                fields: others,
            },
        ) => Value::Header {
            valid: fold::conditional(condition.clone(), valid, other),
            fields: all(fields, others),
        },
        (
            Value::Stack { elements, next },
            Value::Stack {
                elements: others,
                next: other,
            },
        ) => Value::Stack {
            elements: all(elements, others),
            next: fold::conditional(condition.clone(), next, other),
        },
        (yes, _) => yes,
    }
}

pub(super) fn unary(operator: UnaryOperator, value: Value) -> Value {
    match (operator, value) {
        (UnaryOperator::Plus, value) => value,
        (UnaryOperator::Negate, Value::Integer(value)) => Value::Integer(-value),
        (_, Value::Scalar(value, ty)) => {
            let operator = match operator {
                UnaryOperator::Negate => Unary::Negate,
                UnaryOperator::Complement => Unary::Complement,
                _ => Unary::Not,
            };
            Value::Scalar(fold::unary(operator, value, ty), ty)
        }
        _ => Value::Nothing,
    }
}

fn plain_operator(operator: BinaryOperator) -> Option<Binary> {
    Some(match operator {
        BinaryOperator::Add => Binary::Add,
        BinaryOperator::Subtract => Binary::Subtract,
        BinaryOperator::Multiply => Binary::Multiply,
        BinaryOperator::Divide => Binary::Divide,
        BinaryOperator::Modulo => Binary::Modulo,
        BinaryOperator::SaturatingAdd => Binary::SaturatingAdd,
        BinaryOperator::SaturatingSubtract => Binary::SaturatingSubtract,
        BinaryOperator::ShiftLeft => Binary::ShiftLeft,
        BinaryOperator::ShiftRight => Binary::ShiftRight,
        BinaryOperator::BitAnd => Binary::And,
        BinaryOperator::BitOr => Binary::Or,
        BinaryOperator::BitXor => Binary::Xor,
        BinaryOperator::Concat => Binary::Concat,
        BinaryOperator::Less => Binary::Less,
        BinaryOperator::LessEqual => Binary::LessEqual,
        BinaryOperator::Greater => Binary::Greater,
        BinaryOperator::GreaterEqual => Binary::GreaterEqual,
        BinaryOperator::Equal
        | BinaryOperator::NotEqual
        | BinaryOperator::And
        | BinaryOperator::Or => return None,
    })
}

/// Numbers of any size, from constructor parameters.
fn integers(operator: BinaryOperator, a: &BigInt, b: &BigInt) -> Value {
    Value::Integer(match operator {
        BinaryOperator::Add => a + b,
        BinaryOperator::Subtract => a - b,
        BinaryOperator::Multiply => a * b,
        BinaryOperator::Divide if !b.is_zero() => a / b,
        BinaryOperator::Modulo if !b.is_zero() => a % b,
        BinaryOperator::ShiftLeft => match b.to_u32() {
            Some(by) if by <= 65_536 => a << by,
            _ => return Value::Nothing,
        },
        BinaryOperator::ShiftRight => match b.to_u32() {
            Some(by) => a >> by,
            _ => return Value::Nothing,
        },
        BinaryOperator::BitAnd => a & b,
        BinaryOperator::BitOr => a | b,
        BinaryOperator::BitXor => a ^ b,
        BinaryOperator::Less => return Value::bool(fold::boolean(a < b)),
        BinaryOperator::LessEqual => return Value::bool(fold::boolean(a <= b)),
        BinaryOperator::Greater => return Value::bool(fold::boolean(a > b)),
        BinaryOperator::GreaterEqual => return Value::bool(fold::boolean(a >= b)),
        _ => return Value::Nothing,
    })
}

/// A keyset that is one value: the value itself, or a mask of one.
pub(super) fn full_mask(width: u32) -> Bits {
    Bits::new(width, mask(width))
}
