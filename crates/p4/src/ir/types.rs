//! The types of expressions and places, and where blocks lead.

use super::{Binary, BlockId, Expr, LValue, Slot, Terminator, Ty, Unary};

impl Expr {
    /// The expression's type; of an `Element` without slots `bit<1>`.
    #[must_use]
    pub fn ty(&self, slots: &[Slot]) -> Ty {
        match self {
            Expr::Constant(_, ty) | Expr::Cast { ty, .. } => *ty,
            Expr::Slot(slot) => slots[slot.index()].ty,
            Expr::Element { slots: ids, .. } => ids
                .first()
                .map_or(Ty::Bits(1), |slot| slots[slot.index()].ty),
            Expr::Unary(Unary::Not, _) => Ty::Bool,
            Expr::Unary(Unary::Negate | Unary::Complement, operand) => operand.ty(slots),
            Expr::Binary(operator, left, right) => match operator {
                Binary::Equal
                | Binary::NotEqual
                | Binary::Less
                | Binary::LessEqual
                | Binary::Greater
                | Binary::GreaterEqual => Ty::Bool,
                Binary::Concat => {
                    let left = left.ty(slots);
                    let width = left.width() + right.ty(slots).width();
                    if let Ty::Signed(_) = left {
                        Ty::Signed(width)
                    } else {
                        Ty::Bits(width)
                    }
                }
                _ => left.ty(slots),
            },
            Expr::Slice { high, low, .. } => Ty::Bits(high - low + 1),
            Expr::Conditional { yes, .. } => yes.ty(slots),
            Expr::VarbitLength(_) => Ty::Bits(32),
        }
    }
}

impl Unary {
    /// As P4 writes it.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Unary::Negate => "-",
            Unary::Complement => "~",
            Unary::Not => "!",
        }
    }
}

impl Binary {
    /// As P4 writes it; of two bools, `And` and `Or` are written twice.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Modulo => "%",
            Binary::SaturatingAdd => "|+|",
            Binary::SaturatingSubtract => "|-|",
            Binary::ShiftLeft => "<<",
            Binary::ShiftRight => ">>",
            Binary::And => "&",
            Binary::Or => "|",
            Binary::Xor => "^",
            Binary::Concat => "++",
            Binary::Equal => "==",
            Binary::NotEqual => "!=",
            Binary::Less => "<",
            Binary::LessEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterEqual => ">=",
        }
    }
}

impl LValue {
    /// The type of what is put there; of an `Element` without slots `bit<1>`.
    #[must_use]
    pub fn ty(&self, slots: &[Slot]) -> Ty {
        match self {
            LValue::Slot(slot) => slots[slot.index()].ty,
            LValue::Slice { high, low, .. }
            | LValue::Element {
                slice: Some((high, low)),
                ..
            } => Ty::Bits(high - low + 1),
            LValue::Element {
                slots: ids,
                slice: None,
                ..
            } => ids
                .first()
                .map_or(Ty::Bits(1), |slot| slots[slot.index()].ty),
        }
    }
}

impl Terminator {
    /// Calls back for each block that it may go to, as often as it names it.
    pub fn successors(&self, mut each: impl FnMut(BlockId)) {
        match self {
            Terminator::Jump(to) => each(*to),
            Terminator::Branch { yes, no, .. } => {
                each(*yes);
                each(*no);
            }
            Terminator::Select { cases, default, .. } => {
                cases.iter().for_each(|case| each(case.next));
                each(*default);
            }
            Terminator::Apply { next, exit, .. } => {
                each(*next);
                each(*exit);
            }
            Terminator::Return | Terminator::Exit | Terminator::Reject => {}
        }
    }
}
