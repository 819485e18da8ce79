//! Expressions and places of the program as nodes.

use crate::graph::{Id, Two};
use crate::state::{State, Walk};
use p4::ir::{Binary, Expr, LValue, SlotId, Ty, Unary};
use p4::value::mask;
use pipeline::environment::Unsupported;

impl Walk<'_> {
    /// An expression's value; a varbit's bits stand at the left.
    pub(crate) fn value(&mut self, expr: &Expr, state: &State) -> Result<Id, Unsupported> {
        Ok(match expr {
            Expr::Constant(bits, Ty::Varbit(most)) => {
                let value = bits.unsigned() << (most - bits.width());
                self.graph.constant(*most, value)
            }
            Expr::Constant(bits, ty) => {
                if ty.width() == 0 {
                    return self.cannot("a value has no bits; hardware has no wires of none");
                }
                self.graph.constant(ty.width(), bits.unsigned().clone())
            }
            Expr::Slot(slot) => state.values[slot.index()],
            Expr::Element { slots, index } => {
                let index = self.value(index, state)?;
                self.element(slots, index, state)
            }
            Expr::Unary(operator, operand) => {
                let operand = self.value(operand, state)?;
                match operator {
                    Unary::Negate => self.graph.negate(operand),
                    Unary::Complement | Unary::Not => self.graph.not(operand),
                }
            }
            Expr::Binary(operator, left, right) => {
                let ty = left.ty(&self.program.slots);
                let (a, b) = (self.value(left, state)?, self.value(right, state)?);
                self.binary(*operator, a, b, matches!(ty, Ty::Signed(_)))
            }
            Expr::Slice { value, high, low } => {
                let value = self.value(value, state)?;
                self.graph.slice(value, *high, *low)
            }
            Expr::Cast { value, ty } => {
                let from = value.ty(&self.program.slots);
                let value = self.value(value, state)?;
                match from {
                    _ if ty.width() == 0 => {
                        return self.cannot("a value has no bits; hardware has no wires of none");
                    }
                    Ty::Signed(_) => self.graph.resize_signed(value, ty.width()),
                    _ => self.graph.resize(value, ty.width()),
                }
            }
            Expr::Conditional { condition, yes, no } => {
                let condition = self.value(condition, state)?;
                let (yes, no) = (self.value(yes, state)?, self.value(no, state)?);
                self.graph.choose(condition, yes, no)
            }
            Expr::VarbitLength(slot) => state.values[self.lengths[slot]],
        })
    }

    /// A value, and how long it is if it is a varbit.
    pub(crate) fn whole_value(
        &mut self,
        expr: &Expr,
        state: &State,
    ) -> Result<(Id, Option<Id>), Unsupported> {
        let value = self.value(expr, state)?;
        let length = match (expr.ty(&self.program.slots), expr) {
            (Ty::Varbit(_), Expr::Slot(slot)) => Some(state.values[self.lengths[slot]]),
            (Ty::Varbit(_), Expr::Element { slots, index }) => {
                let index = self.value(index, state)?;
                let mut length = self.graph.constant(32, 0u8);
                for (number, slot) in slots.iter().enumerate() {
                    let here = self.at(index, number);
                    length = self
                        .graph
                        .choose(here, state.values[self.lengths[slot]], length);
                }
                Some(length)
            }
            (Ty::Varbit(_), Expr::Constant(bits, _)) => Some(self.graph.constant(32, bits.width())),
            (Ty::Varbit(_), _) => {
                return self.cannot("a varbit is computed; assign one whole varbit to another");
            }
            _ => None,
        };
        Ok((value, length))
    }

    /// Whether an index is this number.
    fn at(&mut self, index: Id, number: usize) -> Id {
        let width = self.graph.width(index);
        if width < 64 && number as u64 >> width != 0 {
            return self.graph.bit(false);
        }
        self.graph.equal_to(index, number as u64)
    }

    fn element(&mut self, slots: &[SlotId], index: Id, state: &State) -> Id {
        let width = slots.first().map_or(1, |slot| self.slot(*slot).ty.width());
        let mut value = self.graph.constant(width, 0u8);
        for (number, slot) in slots.iter().enumerate() {
            let here = self.at(index, number);
            value = self.graph.choose(here, state.values[slot.index()], value);
        }
        value
    }

    fn binary(&mut self, operator: Binary, a: Id, b: Id, signed: bool) -> Id {
        let less = if signed { Two::LessSigned } else { Two::Less };
        let two = |walk: &mut Self, op| walk.graph.two(op, a, b);
        match operator {
            Binary::Add => two(self, Two::Add),
            Binary::Subtract => two(self, Two::Subtract),
            Binary::Multiply => two(self, Two::Multiply),
            Binary::Divide | Binary::Modulo => {
                let op = if operator == Binary::Divide {
                    Two::Divide
                } else {
                    Two::Modulo
                };
                let by_zero = self.graph.equal_to(b, 0u8);
                let one = self.graph.constant(self.graph.width(b), 1u8);
                // What is divided by is never zero, so that no simulator makes an unknown of it.
                let safe = self.graph.choose(by_zero, one, b);
                let result = self.graph.two(op, a, safe);
                let zero = self.graph.constant(self.graph.width(a), 0u8);
                self.graph.choose(by_zero, zero, result)
            }
            Binary::SaturatingAdd | Binary::SaturatingSubtract => {
                self.saturating(operator, a, b, signed)
            }
            Binary::ShiftLeft => two(self, Two::ShiftLeft),
            Binary::ShiftRight if signed => two(self, Two::ShiftArithmetic),
            Binary::ShiftRight => two(self, Two::ShiftRight),
            Binary::And => two(self, Two::And),
            Binary::Or => two(self, Two::Or),
            Binary::Xor => two(self, Two::Xor),
            Binary::Concat => self.graph.concat(&[a, b]),
            Binary::Equal => two(self, Two::Equal),
            Binary::NotEqual => {
                let same = two(self, Two::Equal);
                self.graph.not(same)
            }
            Binary::Less => two(self, less),
            Binary::Greater => self.graph.two(less, b, a),
            Binary::LessEqual => {
                let greater = self.graph.two(less, b, a);
                self.graph.not(greater)
            }
            Binary::GreaterEqual => {
                let less = two(self, less);
                self.graph.not(less)
            }
        }
    }

    /// With one bit more, and then cut at the ends.
    fn saturating(&mut self, operator: Binary, a: Id, b: Id, signed: bool) -> Id {
        let width = self.graph.width(a);
        let wide = |walk: &mut Self, id| match signed {
            true => walk.graph.resize_signed(id, width + 1),
            false => walk.graph.resize(id, width + 1),
        };
        let (x, y) = (wide(self, a), wide(self, b));
        let op = if operator == Binary::SaturatingAdd {
            Two::Add
        } else {
            Two::Subtract
        };
        let exact = self.graph.two(op, x, y);
        let low = self.graph.slice(exact, width - 1, 0);
        let top = self.graph.slice(exact, width, width);
        if !signed {
            let end = match operator {
                Binary::SaturatingAdd => self.graph.constant(width, mask(width)),
                _ => self.graph.constant(width, 0u8),
            };
            return self.graph.choose(top, end, low);
        }
        let sign = self.graph.slice(exact, width - 1, width - 1);
        let over = self.graph.two(Two::Xor, top, sign);
        let (most, least) = (
            self.graph.constant(width, mask(width - 1)),
            self.graph.constant(width, mask(width) ^ mask(width - 1)),
        );
        let end = self.graph.choose(top, least, most);
        self.graph.choose(over, end, low)
    }

    /// Puts a value in its place.
    pub(crate) fn assign(
        &mut self,
        target: &LValue,
        value: Id,
        length: Option<Id>,
        state: &mut State,
    ) -> Result<(), Unsupported> {
        match target {
            LValue::Slot(slot) => self.put(*slot, value, length, None, state),
            LValue::Slice { slot, high, low } => {
                let value = self.spliced(state.values[slot.index()], *high, *low, value);
                self.put(*slot, value, None, None, state);
            }
            LValue::Element {
                slots,
                index,
                slice,
            } => {
                let index = self.value(index, state)?;
                for (number, slot) in slots.iter().enumerate() {
                    let here = self.at(index, number);
                    let value = match slice {
                        Some((high, low)) => {
                            self.spliced(state.values[slot.index()], *high, *low, value)
                        }
                        None => value,
                    };
                    self.put(*slot, value, length, Some(here), state);
                }
            }
        }
        Ok(())
    }

    fn spliced(&mut self, old: Id, high: u32, low: u32, value: Id) -> Id {
        let width = self.graph.width(old);
        let mut parts = alloc::vec::Vec::new();
        if high + 1 < width {
            parts.push(self.graph.slice(old, width - 1, high + 1));
        }
        parts.push(value);
        if low > 0 {
            parts.push(self.graph.slice(old, low - 1, 0));
        }
        self.graph.concat(&parts)
    }

    /// Gives a slot a value, where a condition holds.
    pub(crate) fn put(
        &mut self,
        slot: SlotId,
        value: Id,
        length: Option<Id>,
        when: Option<Id>,
        state: &mut State,
    ) {
        let mut give = |walk: &mut Self, at: usize, value: Id| {
            let value = match when {
                Some(when) => walk.graph.choose(when, value, state.values[at]),
                None => value,
            };
            let name = &walk.program.slots[slot.index()].name;
            walk.graph.name(value, || name.as_ref().into());
            state.values[at] = value;
        };
        give(self, slot.index(), value);
        if let (Some(length), Some(at)) = (length, self.lengths.get(&slot).copied()) {
            give(self, at, length);
        }
    }
}
