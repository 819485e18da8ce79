//! Values known while compiling (specification 18.1).

use super::checker::{Checker, Entity};
use crate::ast::{
    BinaryOperator, Declaration, DeclarationKind, Direction, Expression, ExpressionKind,
    UnaryOperator,
};
use crate::types::{Constant, Type};
use crate::value::Bits;
use alloc::format;
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Maximum string length, bytes.
pub(super) const MAX_STRING_LEN: usize = 65_536;
/// Maximum number of parts of the known value of a list or struct.
const MAX_PARTS: usize = 65_536;

/// Number of parts of a value, counted up to a bound.
fn parts(value: &Constant, room: &mut usize) {
    *room = room.saturating_sub(1);
    if let Constant::List(list) = value {
        for part in list {
            if *room == 0 {
                return;
            }
            parts(part, room);
        }
    }
}

/// A number as a value of the type would hold it.
pub(super) fn wrap(value: &BigInt, ty: &Type) -> BigInt {
    match ty {
        Type::Bits(width) => BigInt::from(Bits::from_int(*width, value).unsigned().clone()),
        Type::Signed(width) => Bits::from_int(*width, value).signed(),
        _ => value.clone(),
    }
}

/// The smallest and largest value of a type.
pub(super) fn bounds(ty: &Type) -> Option<(BigInt, BigInt)> {
    match ty {
        Type::Bits(width) => Some((BigInt::zero(), (BigInt::one() << *width) - 1)),
        Type::Signed(width) if *width > 0 => {
            let half = BigInt::one() << (*width - 1);
            Some((-half.clone(), half - 1))
        }
        _ => None,
    }
}

/// What `a op b` gives when both have the type `ty` (for shifts: when `a` has it).
pub(super) fn binary(
    operator: BinaryOperator,
    a: &Constant,
    b: &Constant,
    ty: &Type,
) -> Option<Constant> {
    use BinaryOperator as Op;
    match operator {
        Op::Equal => return Some(Constant::Bool(a == b)),
        Op::NotEqual => return Some(Constant::Bool(a != b)),
        _ => {}
    }
    match (a, b) {
        (Constant::Bool(x), Constant::Bool(y)) => match operator {
            Op::And => Some(Constant::Bool(*x && *y)),
            Op::Or => Some(Constant::Bool(*x || *y)),
            _ => None,
        },
        (Constant::String(x), Constant::String(y))
            if operator == Op::Concat && x.len() + y.len() <= MAX_STRING_LEN =>
        {
            Some(Constant::String(format!("{x}{y}").into()))
        }
        (Constant::Integer(x), Constant::Integer(y)) => {
            let value = match operator {
                Op::Less => return Some(Constant::Bool(x < y)),
                Op::LessEqual => return Some(Constant::Bool(x <= y)),
                Op::Greater => return Some(Constant::Bool(x > y)),
                Op::GreaterEqual => return Some(Constant::Bool(x >= y)),
                Op::Add => x + y,
                Op::Subtract => x - y,
                Op::Multiply => x * y,
                Op::Divide if !y.is_zero() => x / y,
                Op::Modulo if !y.is_zero() => x % y,
                Op::BitAnd => x & y,
                Op::BitOr => x | y,
                Op::BitXor => x ^ y,
                Op::SaturatingAdd | Op::SaturatingSubtract => {
                    let exact = if operator == Op::SaturatingAdd {
                        x + y
                    } else {
                        x - y
                    };
                    let (least, most) = bounds(ty)?;
                    exact.clamp(least, most)
                }
                Op::ShiftLeft => {
                    // What is shifted out of a type with a width is lost; `int` has no width, and so a bound.
                    let by = y.to_u32().unwrap_or(u32::MAX);
                    match ty {
                        Type::Bits(width) | Type::Signed(width) if by >= *width => BigInt::zero(),
                        _ if x.is_zero() => BigInt::zero(),
                        _ if by <= super::checker::MAX_WIDTH => x << by,
                        _ => return None,
                    }
                }
                Op::ShiftRight => {
                    let by = y.to_u32().unwrap_or(u32::MAX);
                    if u64::from(by) > x.bits() {
                        if x.is_negative() {
                            BigInt::from(-1)
                        } else {
                            BigInt::zero()
                        }
                    } else {
                        x >> by
                    }
                }
                _ => return None,
            };
            // Nobody needs numbers of this size; without the bound a few lines of constants fill the memory.
            (value.bits() <= 2 * u64::from(super::checker::MAX_WIDTH))
                .then(|| Constant::Integer(wrap(&value, ty)))
        }
        _ => None,
    }
}

/// `a ++ b`, for operands of these widths.
pub(super) fn concatenate(a: &BigInt, b: &BigInt, low: u32, result: &Type) -> BigInt {
    let low_bits = BigInt::from(Bits::from_int(low, b).unsigned().clone());
    wrap(&((a << low) + low_bits), result)
}

/// What an operator with one operand gives.
pub(super) fn unary(operator: UnaryOperator, a: &Constant, ty: &Type) -> Option<Constant> {
    match (operator, a) {
        (UnaryOperator::Not, Constant::Bool(value)) => Some(Constant::Bool(!value)),
        (UnaryOperator::Negate, Constant::Integer(value)) => {
            Some(Constant::Integer(wrap(&-value, ty)))
        }
        (UnaryOperator::Plus, Constant::Integer(_)) => Some(a.clone()),
        (UnaryOperator::Complement, Constant::Integer(value)) => {
            Some(Constant::Integer(wrap(&(-value - 1i32), ty)))
        }
        _ => None,
    }
}

/// Bits `high` to `low`.
pub(super) fn slice(value: &BigInt, high: u32, low: u32) -> Constant {
    Constant::Integer(wrap(&(value >> low), &Type::Bits(high - low + 1)))
}

impl<'a> Checker<'a> {
    /// What a value is after a cast, explicit or implicit, if that is known.
    pub(super) fn cast_constant(&self, value: &Constant, to: &Type) -> Option<Constant> {
        let to = match self.shallow(to) {
            Type::Enum(id) => self.underlying(id).unwrap_or(Type::Enum(id)),
            Type::New(id) => {
                let under = self.type_of(id);
                return self.cast_constant(value, &under);
            }
            other => other,
        };
        Some(match (value, &to) {
            (Constant::Integer(number), Type::Bits(_) | Type::Signed(_)) => {
                Constant::Integer(wrap(number, &to))
            }
            (Constant::Integer(number), Type::Bool) => Constant::Bool(!number.is_zero()),
            (Constant::Bool(value), Type::Bits(_) | Type::Signed(_) | Type::Integer) => {
                Constant::Integer(BigInt::from(u8::from(*value)))
            }
            _ => value.clone(),
        })
    }

    /// The value of an expression after its implicit cast.
    pub(super) fn cast_value(&self, e: &Expression) -> Option<Constant> {
        let value = self.constant(e)?;
        match self.out.casts.get(&e.id) {
            Some(to) => self.cast_constant(value, to),
            None => Some(value.clone()),
        }
    }

    /// Notes the value of a list or struct expression that becomes the type `to`, when all its parts are known.
    pub(super) fn constant_list(&mut self, e: &Expression, values: &[Option<Constant>]) {
        let mut room = MAX_PARTS;
        for part in values.iter().flatten() {
            parts(part, &mut room);
        }
        if room > 0
            && let Some(values) = values.iter().cloned().collect()
        {
            self.out.constants.insert(e.id, Constant::List(values));
        }
    }

    /// Whether a value is known when instances are made: constants, constructor parameters, and what is computed
    /// from them.
    pub(super) fn is_compile_time(&self, e: &'a Expression) -> bool {
        self.is_known(e, false)
    }

    /// As [`Checker::is_compile_time`], with parameters without a direction: what is given for those is not written while a packet is worked on.
    pub(super) fn is_fixed(&self, e: &'a Expression) -> bool {
        self.is_known(e, true)
    }

    fn is_known(&self, e: &'a Expression, fixed: bool) -> bool {
        if self.constant(e).is_some() {
            return true;
        }
        match &e.kind {
            ExpressionKind::Path { .. } => match self
                .out
                .references
                .get(&e.id)
                .and_then(|id| self.entity(*id))
            {
                Some(Entity::Parameter(parameter)) => {
                    self.constructor_parameters.contains(&parameter.id)
                        || fixed && parameter.direction == Direction::None
                }
                Some(Entity::Declaration(Declaration { kind, .. })) => {
                    matches!(
                        kind,
                        DeclarationKind::Constant { .. } | DeclarationKind::Instance { .. }
                    )
                }
                Some(Entity::Member(_)) => true,
                _ => false,
            },
            ExpressionKind::Integer { .. }
            | ExpressionKind::Bool(_)
            | ExpressionKind::String(_)
            | ExpressionKind::Invalid
            | ExpressionKind::Dots
            | ExpressionKind::Default
            | ExpressionKind::DontCare
            | ExpressionKind::This
            | ExpressionKind::Broken
            | ExpressionKind::Type(_) => true,
            ExpressionKind::Member { base, .. } => {
                matches!(self.out.types.get(&e.id), Some(Type::Unknown))
                    || self.is_known(base, fixed)
            }
            ExpressionKind::Index { base, index } => {
                self.is_known(base, fixed) && self.is_known(index, fixed)
            }
            ExpressionKind::Slice { base, high, low }
            | ExpressionKind::PlusSlice {
                base,
                low,
                width: high,
            } => {
                self.is_known(base, fixed)
                    && self.is_known(high, fixed)
                    && self.is_known(low, fixed)
            }
            ExpressionKind::List { elements, .. } => {
                elements.iter().all(|e| self.is_known(e, fixed))
            }
            ExpressionKind::Struct { fields, .. } => {
                fields.iter().all(|(_, e)| self.is_known(e, fixed))
            }
            ExpressionKind::Unary { operand, .. } | ExpressionKind::Cast { operand, .. } => {
                self.is_known(operand, fixed)
            }
            ExpressionKind::Binary { left, right, .. }
            | ExpressionKind::Mask {
                value: left,
                mask: right,
            }
            | ExpressionKind::Range {
                low: left,
                high: right,
            } => self.is_known(left, fixed) && self.is_known(right, fixed),
            ExpressionKind::Conditional { condition, yes, no } => {
                self.is_known(condition, fixed)
                    && self.is_known(yes, fixed)
                    && self.is_known(no, fixed)
            }
            ExpressionKind::Call { arguments, .. } => {
                match self.out.calls.get(&e.id).map(|call| call.target) {
                    Some(super::Target::Constructor(_)) => {
                        arguments.iter().all(|a| self.is_known(&a.value, fixed))
                    }
                    // An extern function that makes an object of what is known.
                    Some(super::Target::ExternFunction(_) | super::Target::Function(_))
                        if matches!(self.out.types.get(&e.id), Some(Type::Object(..))) =>
                    {
                        arguments.iter().all(|a| self.is_known(&a.value, fixed))
                    }
                    Some(_) => false,
                    None => true,
                }
            }
        }
    }
}
