//! Values of expressions, as the specification's section 8 says.

use crate::layout::Layout;
use num_bigint::{BigInt, BigUint};
use num_traits::{CheckedDiv, One, Zero};
use p4::ir::{Binary, Expr, Slot, SlotId, Ty, Unary};
use p4::value::{Bits, mask};

/// A packet's slots, for reading.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) slots: &'a [Slot],
    pub(super) layout: &'a Layout,
    pub(super) cells: &'a [u64],
}

impl Values<'_> {
    pub(super) fn slot(&self, slot: SlotId) -> Bits {
        self.layout.read(self.cells, slot)
    }

    /// An index as a position in a list, if there is one.
    pub(super) fn position(&self, index: &Expr, count: usize) -> Option<usize> {
        let index = usize::try_from(self.value(index).to_u64()?).ok()?;
        (index < count).then_some(index)
    }

    pub(super) fn is_true(&self, condition: &Expr) -> bool {
        self.value(condition).is_true()
    }

    pub(super) fn value(&self, expression: &Expr) -> Bits {
        match expression {
            Expr::Constant(value, ty) => match ty {
                Ty::Varbit(_) => value.clone(),
                _ => value.resize(ty.width()),
            },
            Expr::Slot(slot) => self.slot(*slot),
            Expr::Element { slots, index } => match self.position(index, slots.len()) {
                Some(position) => self.slot(slots[position]),
                None => Bits::zero(expression.ty(self.slots).width()),
            },
            Expr::Unary(operator, operand) => self.unary(*operator, &self.value(operand)),
            Expr::Binary(operator, left, right) => {
                let signed = matches!(left.ty(self.slots), Ty::Signed(_));
                binary(*operator, signed, &self.value(left), &self.value(right))
            }
            Expr::Slice { value, high, low } => {
                Bits::new(high - low + 1, self.value(value).unsigned() >> *low)
            }
            Expr::Cast { value, ty } => {
                let from = value.ty(self.slots);
                let value = self.value(value);
                match from {
                    Ty::Signed(_) => Bits::from_int(ty.width(), &value.signed()),
                    _ => value.resize(ty.width()),
                }
            }
            Expr::Conditional { condition, yes, no } => {
                self.value(if self.is_true(condition) { yes } else { no })
            }
            Expr::VarbitLength(slot) => Bits::new(32, self.slot(*slot).width()),
        }
    }

    fn unary(&self, operator: Unary, operand: &Bits) -> Bits {
        match operator {
            Unary::Negate => {
                Bits::from_int(operand.width(), &-BigInt::from(operand.unsigned().clone()))
            }
            Unary::Complement => {
                Bits::new(operand.width(), operand.unsigned() ^ mask(operand.width()))
            }
            Unary::Not => Bits::from(!operand.is_true()),
        }
    }
}

/// The value of an operator; `signed` is the left operand's signedness.
pub(super) fn binary(operator: Binary, signed: bool, left: &Bits, right: &Bits) -> Bits {
    let width = left.width();
    let number = |bits: &Bits| -> BigInt {
        if signed {
            bits.signed()
        } else {
            BigInt::from(bits.unsigned().clone())
        }
    };
    let saturated = |value: BigInt| {
        let (low, high) = if signed {
            let half = BigInt::one() << width.saturating_sub(1);
            (-half.clone(), half - 1)
        } else {
            (BigInt::zero(), BigInt::from(mask(width)))
        };
        Bits::from_int(width, &value.clamp(low, high))
    };
    match operator {
        Binary::Add => Bits::new(width, left.unsigned() + right.unsigned()),
        Binary::Subtract => Bits::from_int(width, &(number(left) - number(right))),
        Binary::Multiply => Bits::new(width, left.unsigned() * right.unsigned()),
        Binary::Divide => {
            let quotient = left.unsigned().checked_div(right.unsigned());
            Bits::new(width, quotient.unwrap_or_default())
        }
        Binary::Modulo => match right.is_true() {
            true => Bits::new(width, left.unsigned() % right.unsigned()),
            false => Bits::zero(width),
        },
        Binary::SaturatingAdd => saturated(number(left) + number(right)),
        Binary::SaturatingSubtract => saturated(number(left) - number(right)),
        Binary::ShiftLeft => match amount(right, width) {
            Some(by) => Bits::new(width, left.unsigned() << by),
            None => Bits::zero(width),
        },
        // Rounds towards minus infinity, as an arithmetic shift does.
        Binary::ShiftRight => Bits::from_int(
            width,
            &(number(left) >> amount(right, width).unwrap_or(width)),
        ),
        Binary::And => Bits::new(width, left.unsigned() & right.unsigned()),
        Binary::Or => Bits::new(width, left.unsigned() | right.unsigned()),
        Binary::Xor => Bits::new(width, left.unsigned() ^ right.unsigned()),
        Binary::Concat => {
            let value: BigUint = (left.unsigned() << right.width()) | right.unsigned();
            Bits::new(width + right.width(), value)
        }
        Binary::Equal => Bits::from(left == right),
        Binary::NotEqual => Bits::from(left != right),
        Binary::Less => Bits::from(number(left) < number(right)),
        Binary::LessEqual => Bits::from(number(left) <= number(right)),
        Binary::Greater => Bits::from(number(left) > number(right)),
        Binary::GreaterEqual => Bits::from(number(left) >= number(right)),
    }
}

/// By how many bits to shift, if by fewer than there are.
fn amount(right: &Bits, width: u32) -> Option<u32> {
    let by = u32::try_from(right.to_u64()?).ok()?;
    (by < width).then_some(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(width: u32, value: i64) -> Bits {
        Bits::from_int(width, &BigInt::from(value))
    }

    #[test]
    fn arithmetic_wraps_saturates_and_shifts_by_signedness() {
        let op =
            |operator, signed, left, right| binary(operator, signed, &int(8, left), &int(8, right));
        assert_eq!(op(Binary::Add, false, 250, 10), int(8, 4));
        assert_eq!(op(Binary::Subtract, false, 3, 5), int(8, -2));
        assert_eq!(op(Binary::Multiply, true, -3, 5), int(8, -15));
        assert_eq!(op(Binary::SaturatingAdd, false, 250, 10), int(8, 255));
        assert_eq!(op(Binary::SaturatingAdd, true, 100, 100), int(8, 127));
        assert_eq!(
            op(Binary::SaturatingSubtract, true, -100, 100),
            int(8, -128)
        );
        assert_eq!(op(Binary::SaturatingSubtract, false, 3, 5), int(8, 0));
        assert_eq!(op(Binary::ShiftRight, true, -5, 1), int(8, -3));
        assert_eq!(op(Binary::ShiftRight, true, -5, 100), int(8, -1));
        assert_eq!(op(Binary::ShiftRight, false, 0xF0, 4), int(8, 0x0F));
        assert_eq!(op(Binary::ShiftLeft, false, 1, 8), int(8, 0));
        assert_eq!(op(Binary::Divide, false, 7, 0), int(8, 0));
        assert_eq!(op(Binary::Modulo, false, 7, 0), int(8, 0));
        assert_eq!(op(Binary::Less, true, -1, 1), Bits::from(true));
        assert_eq!(op(Binary::Less, false, -1, 1), Bits::from(false));
        assert_eq!(op(Binary::Concat, false, 0x12, 0x34), int(16, 0x1234));
    }
}
