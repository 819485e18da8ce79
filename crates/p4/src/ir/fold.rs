//! Expressions of the intermediate representation, made with what is known already worked out.

use super::{Binary, Expr, SlotId, Ty, Unary};
use crate::value::{Bits, mask};
use alloc::boxed::Box;
use alloc::vec::Vec;
use num_bigint::{BigInt, BigUint};
use num_traits::{One, ToPrimitive, Zero};

pub(crate) fn constant(ty: Ty, value: &BigInt) -> Expr {
    Expr::Constant(Bits::from_int(ty.width(), value), ty)
}

pub(crate) fn boolean(value: bool) -> Expr {
    Expr::Constant(Bits::from(value), Ty::Bool)
}

/// A 32-bit number, as indices, enums and errors are.
pub(crate) fn number(value: u32) -> Expr {
    Expr::Constant(Bits::new(32, value), Ty::Bits(32))
}

pub(crate) fn as_constant(expr: &Expr) -> Option<&Bits> {
    match expr {
        Expr::Constant(bits, _) => Some(bits),
        _ => None,
    }
}

/// What a condition always is.
pub(crate) fn truth(expr: &Expr) -> Option<bool> {
    as_constant(expr).map(Bits::is_true)
}

pub(crate) fn not(value: Expr) -> Expr {
    match value {
        Expr::Unary(Unary::Not, inner) => *inner,
        Expr::Constant(bits, _) => boolean(!bits.is_true()),
        Expr::Binary(Binary::Equal, a, b) => Expr::Binary(Binary::NotEqual, a, b),
        Expr::Binary(Binary::NotEqual, a, b) => Expr::Binary(Binary::Equal, a, b),
        other => Expr::Unary(Unary::Not, Box::new(other)),
    }
}

pub(crate) fn and(left: Expr, right: Expr) -> Expr {
    match (truth(&left), truth(&right)) {
        (Some(false), _) | (_, Some(false)) => boolean(false),
        (Some(true), _) => right,
        (_, Some(true)) => left,
        _ => Expr::Binary(Binary::And, Box::new(left), Box::new(right)),
    }
}

pub(crate) fn or(left: Expr, right: Expr) -> Expr {
    match (truth(&left), truth(&right)) {
        (Some(true), _) | (_, Some(true)) => boolean(true),
        (Some(false), _) => right,
        (_, Some(false)) => left,
        _ => Expr::Binary(Binary::Or, Box::new(left), Box::new(right)),
    }
}

pub(crate) fn unary(operator: Unary, value: Expr, ty: Ty) -> Expr {
    if operator == Unary::Not {
        return not(value);
    }
    if let Expr::Constant(bits, _) = &value {
        let ones = mask(ty.width());
        return match operator {
            Unary::Complement => Expr::Constant(Bits::new(ty.width(), ones ^ bits.unsigned()), ty),
            _ => constant(ty, &-BigInt::from(bits.unsigned().clone())),
        };
    }
    Expr::Unary(operator, Box::new(value))
}

/// To another type of a known width.
pub(crate) fn cast(value: Expr, from: Ty, to: Ty) -> Expr {
    if from == to {
        return value;
    }
    match value {
        Expr::Constant(bits, _) => {
            let bits = match from {
                Ty::Signed(_) => Bits::from_int(to.width(), &bits.signed()),
                _ => bits.resize(to.width()),
            };
            Expr::Constant(bits, to)
        }
        value => Expr::Cast {
            value: Box::new(value),
            ty: to,
        },
    }
}

/// Bits `high` to `low` of a value of `width` bits.
pub(crate) fn slice(value: Expr, width: u32, high: u32, low: u32) -> Expr {
    match value {
        Expr::Constant(bits, _) => {
            let width = high - low + 1;
            Expr::Constant(Bits::new(width, bits.unsigned() >> low), Ty::Bits(width))
        }
        Expr::Slice {
            value, low: base, ..
        } => Expr::Slice {
            value,
            high: base + high,
            low: base + low,
        },
        value if low == 0 && high + 1 == width => cast_unsigned(value, width),
        value => Expr::Slice {
            value: Box::new(value),
            high,
            low,
        },
    }
}

fn cast_unsigned(value: Expr, width: u32) -> Expr {
    // A whole value: only its signedness may be another, and the caller knows the result as unsigned.
    Expr::Slice {
        value: Box::new(value),
        high: width - 1,
        low: 0,
    }
}

pub(crate) fn conditional(condition: Expr, yes: Expr, no: Expr) -> Expr {
    match truth(&condition) {
        Some(true) => yes,
        Some(false) => no,
        None if yes == no => yes,
        None => Expr::Conditional {
            condition: Box::new(condition),
            yes: Box::new(yes),
            no: Box::new(no),
        },
    }
}

/// `slots[index]`.
pub(crate) fn element(slots: Vec<SlotId>, index: Expr, ty: Ty) -> Expr {
    match as_constant(&index) {
        Some(at) => match at
            .to_u64()
            .and_then(|at| slots.get(usize::try_from(at).ok()?))
        {
            Some(slot) => Expr::Slot(*slot),
            None => Expr::Constant(Bits::zero(ty.width()), ty),
        },
        None => Expr::Element {
            slots,
            index: Box::new(index),
        },
    }
}

/// The operator on two values of the type `ty` (the right of a shift has its own).
pub(crate) fn binary(operator: Binary, left: Expr, right: Expr, ty: Ty, right_ty: Ty) -> Expr {
    if ty == Ty::Bool {
        match operator {
            Binary::And => return and(left, right),
            Binary::Or => return or(left, right),
            _ => {}
        }
    }
    if let (Expr::Constant(a, _), Expr::Constant(b, _)) = (&left, &right)
        && let Some(value) = fold(operator, a, b, ty, right_ty)
    {
        return value;
    }
    Expr::Binary(operator, Box::new(left), Box::new(right))
}

fn number_of(bits: &Bits, ty: Ty) -> BigInt {
    match ty {
        Ty::Signed(_) => bits.signed(),
        _ => BigInt::from(bits.unsigned().clone()),
    }
}

fn fold(operator: Binary, a: &Bits, b: &Bits, ty: Ty, right_ty: Ty) -> Option<Expr> {
    let (x, y) = (number_of(a, ty), number_of(b, right_ty));
    let width = ty.width();
    let saturated = |value: BigInt| {
        let (least, most) = match ty {
            Ty::Signed(w) if w > 0 => {
                let half = BigInt::one() << (w - 1);
                (-half.clone(), half - 1)
            }
            _ => (BigInt::zero(), BigInt::from(mask(width))),
        };
        constant(ty, &value.clamp(least, most))
    };
    Some(match operator {
        Binary::Add => constant(ty, &(x + y)),
        Binary::Subtract => constant(ty, &(x - y)),
        Binary::Multiply => constant(ty, &(x * y)),
        Binary::Divide | Binary::Modulo if y.is_zero() => constant(ty, &BigInt::zero()),
        Binary::Divide => constant(ty, &(x / y)),
        Binary::Modulo => constant(ty, &(x % y)),
        Binary::SaturatingAdd => saturated(x + y),
        Binary::SaturatingSubtract => saturated(x - y),
        Binary::ShiftLeft => match y.to_u32() {
            Some(by) if by < width => constant(ty, &(x << by)),
            _ => constant(ty, &BigInt::zero()),
        },
        Binary::ShiftRight => match y.to_u32() {
            Some(by) if by < width => constant(ty, &(x >> by)),
            _ if x < BigInt::zero() => constant(ty, &-BigInt::one()),
            _ => constant(ty, &BigInt::zero()),
        },
        Binary::And => Expr::Constant(Bits::new(width, a.unsigned() & b.unsigned()), ty),
        Binary::Or => Expr::Constant(Bits::new(width, a.unsigned() | b.unsigned()), ty),
        Binary::Xor => Expr::Constant(Bits::new(width, a.unsigned() ^ b.unsigned()), ty),
        Binary::Concat => {
            let total = width + right_ty.width();
            let value: BigUint = (a.unsigned() << right_ty.width()) | b.unsigned();
            let ty = match ty {
                Ty::Signed(_) => Ty::Signed(total),
                _ => Ty::Bits(total),
            };
            Expr::Constant(Bits::new(total, value), ty)
        }
        Binary::Equal => boolean(x == y),
        Binary::NotEqual => boolean(x != y),
        Binary::Less => boolean(x < y),
        Binary::LessEqual => boolean(x <= y),
        Binary::Greater => boolean(x > y),
        Binary::GreaterEqual => boolean(x >= y),
    })
}

/// The slots that an expression reads.
pub(crate) fn reads(expr: &Expr, into: &mut Vec<SlotId>) {
    match expr {
        Expr::Constant(..) => {}
        Expr::Slot(slot) | Expr::VarbitLength(slot) => into.push(*slot),
        Expr::Element { slots, index } => {
            into.extend(slots);
            reads(index, into);
        }
        Expr::Unary(_, value) | Expr::Slice { value, .. } | Expr::Cast { value, .. } => {
            reads(value, into);
        }
        Expr::Binary(_, left, right) => {
            reads(left, into);
            reads(right, into);
        }
        Expr::Conditional { condition, yes, no } => {
            reads(condition, into);
            reads(yes, into);
            reads(no, into);
        }
    }
}
