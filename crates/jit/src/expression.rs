//! Expressions and assignments.

use crate::arithmetic::{Wide, constant, truth};
use crate::unit::Unit;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types::I64};
use p4::ir::*;

impl Unit<'_, '_> {
    /// The value of an expression of which [`crate::plan::native`] gave a type.
    pub(crate) fn expression(&mut self, expression: &Expr) -> Wide {
        match expression {
            Expr::Constant(value, ty) => Wide::constant(&mut self.b, value, *ty),
            Expr::Slot(slot) => self.read(*slot),
            Expr::Element { slots, index } => {
                let index = self.expression(index);
                let ty = self.program.slots[slots[0].index()].ty;
                let mut value = Wide::constant(&mut self.b, &p4::value::Bits::zero(1), ty);
                for (number, slot) in slots.iter().enumerate() {
                    let here = self.is_number(&index, number);
                    let element = self.read(*slot);
                    value = Wide::select(here, &element, &value, &mut self.b);
                }
                value
            }
            Expr::Unary(operator, value) => {
                let value = self.expression(value);
                match operator {
                    Unary::Negate => value.negate(&mut self.b),
                    Unary::Complement => value.complement(&mut self.b),
                    Unary::Not => {
                        let one = constant(&mut self.b, 1);
                        let limb = self.b.ins().bxor(value.limbs[0], one);
                        Wide {
                            limbs: vec![limb],
                            ty: Ty::Bool,
                        }
                    }
                }
            }
            Expr::Binary(operator, left, right) => self.binary(*operator, left, right),
            Expr::Slice { value, high, low } => {
                let value = self.expression(value);
                value.slice(*high, *low, &mut self.b)
            }
            Expr::Cast { value, ty } => {
                let value = self.expression(value);
                value.cast(*ty, &mut self.b)
            }
            Expr::Conditional { condition, yes, no } => {
                let condition = self.expression(condition).limbs[0];
                let yes = self.expression(yes);
                let no = self.expression(no);
                Wide::select(condition, &yes, &no, &mut self.b)
            }
            Expr::VarbitLength(slot) => {
                let cell = self.layout.range(*slot).end - 1;
                let flags = MemFlagsData::trusted();
                let limb = self.b.ins().load(I64, flags, self.cells, cell as i32 * 8);
                Wide {
                    limbs: vec![limb],
                    ty: Ty::Bits(32),
                }
            }
        }
    }

    fn binary(&mut self, operator: Binary, left: &Expr, right: &Expr) -> Wide {
        if let Some(value) = self.comparison(operator, left, right) {
            return Wide::bool(&mut self.b, value);
        }
        let left = self.expression(left);
        let right = self.expression(right);
        let b = &mut self.b;
        match operator {
            Binary::Add => left.add(&right, b),
            Binary::Subtract => left.subtract(&right, b),
            Binary::Multiply => left.multiply(&right, b),
            Binary::Divide => left.divide(&right, b, false),
            Binary::Modulo => left.divide(&right, b, true),
            Binary::SaturatingAdd => left.saturate(&right, b, true),
            Binary::SaturatingSubtract => left.saturate(&right, b, false),
            Binary::ShiftLeft => left.shift(&right, true, b),
            Binary::ShiftRight => left.shift(&right, false, b),
            Binary::And => left.and(&right, b),
            Binary::Or => left.or(&right, b),
            Binary::Concat => left.concat(&right, b),
            // Comparisons are done.
            _ => left.xor(&right, b),
        }
    }

    /// The one bit of a comparison; `None` of other operators.
    pub(crate) fn comparison(
        &mut self,
        operator: Binary,
        left: &Expr,
        right: &Expr,
    ) -> Option<Value> {
        let (turned, negated) = match operator {
            Binary::Equal | Binary::Less => (false, false),
            Binary::NotEqual | Binary::GreaterEqual => (false, true),
            Binary::Greater => (true, false),
            Binary::LessEqual => (true, true),
            _ => return None,
        };
        let left = self.expression(left);
        let right = self.expression(right);
        // The left operand says whether it is a comparison of signed values.
        let right = right.of_type(left.ty);
        let value = match operator {
            Binary::Equal | Binary::NotEqual => left.equal(&right, &mut self.b),
            _ if turned => right.less(&left, &mut self.b),
            _ => left.less(&right, &mut self.b),
        };
        Some(if negated {
            let zero = self.b.ins().iconst(cranelift_codegen::ir::types::I8, 0);
            self.b.ins().icmp(IntCC::Equal, value, zero)
        } else {
            value
        })
    }

    /// Whether a value is a number, as a limb.
    fn is_number(&mut self, value: &Wide, number: usize) -> Value {
        // An index beyond what its type can hold is never met.
        let bits = p4::value::Bits::new(64, number as u64);
        if bits.resize(value.ty.width()).unsigned() != bits.unsigned() {
            return constant(&mut self.b, 0);
        }
        let number = Wide::constant(&mut self.b, &bits, value.ty);
        let same = value.equal(&number, &mut self.b);
        truth(&mut self.b, same)
    }

    pub(crate) fn assign(&mut self, target: &LValue, value: &Expr) {
        let value = self.expression(value);
        self.put(target, value);
    }

    /// Puts a value where [`crate::plan`] found that it fits.
    pub(crate) fn put(&mut self, target: &LValue, value: Wide) {
        match target {
            LValue::Slot(slot) => {
                let ty = self.program.slots[slot.index()].ty;
                self.write(*slot, &value.of_type(ty));
            }
            LValue::Slice { slot, high, low } => {
                let before = self.read(*slot);
                let after = before.insert(*high, *low, &value, &mut self.b);
                self.write(*slot, &after);
            }
            LValue::Element {
                slots,
                index,
                slice,
            } => {
                let index = self.expression(index);
                for (number, slot) in slots.iter().enumerate() {
                    let here = self.is_number(&index, number);
                    let before = self.read(*slot);
                    let after = match slice {
                        Some((high, low)) => before.insert(*high, *low, &value, &mut self.b),
                        None => value.clone().of_type(before.ty),
                    };
                    let after = Wide::select(here, &after, &before, &mut self.b);
                    self.write(*slot, &after);
                }
            }
        }
    }
}
