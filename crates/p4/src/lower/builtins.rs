//! The methods that the language itself gives headers and stacks.

use super::expressions::Operand;
use super::storage::{HeaderStorage, Location, StackStorage, Storage, Target, lvalue};
use super::types::Shape;
use super::values::{Value, validity};
use super::{Lowerer, fold};
use crate::ast::{Argument, Expression, ExpressionKind};
use crate::check::Builtin;
use crate::ir::{Binary, Expr, LValue, SlotId, Ty};
use crate::types::Type;
use alloc::vec::Vec;
use num_bigint::BigInt;

impl<'a> Lowerer<'a> {
    pub fn call_builtin(
        &mut self,
        callee: &'a Expression,
        builtin: Builtin,
        arguments: &'a [Argument],
    ) -> Value {
        let ExpressionKind::Member { base, .. } = &callee.kind else {
            return Value::Nothing;
        };
        match builtin {
            Builtin::IsValid => Value::bool(validity(&self.eval(base))),
            Builtin::SetValid | Builtin::SetInvalid => {
                if let Target::Location(location) = self.target(base) {
                    self.set_validity(&location, builtin == Builtin::SetValid);
                }
                Value::Nothing
            }
            Builtin::PushFront | Builtin::PopFront => {
                let count = arguments.first().map(|a| self.eval(&a.value));
                let count = count.and_then(|value| self.small(&value)).unwrap_or(0);
                if let Operand::Location(location) = self.operand(base)
                    && let Some(Storage::Stack(stack)) = location.only()
                {
                    let stack = stack.clone();
                    self.shift(&stack, count as usize, builtin == Builtin::PushFront);
                }
                Value::Nothing
            }
            Builtin::MinSizeInBits
            | Builtin::MinSizeInBytes
            | Builtin::MaxSizeInBits
            | Builtin::MaxSizeInBytes => {
                let ty = self.type_of(base.id);
                let is_most = matches!(builtin, Builtin::MaxSizeInBits | Builtin::MaxSizeInBytes);
                let bits = self.size_of(&ty, is_most, 0);
                let size = match builtin {
                    Builtin::MinSizeInBytes | Builtin::MaxSizeInBytes => bits.div_ceil(8),
                    _ => bits,
                };
                Value::Integer(BigInt::from(size))
            }
        }
    }

    /// How many bits a value of the type takes in a packet (specification, 9.1).
    fn size_of(&mut self, ty: &Type, is_most: bool, depth: u32) -> u64 {
        if depth > super::MAX_DEPTH {
            return 0;
        }
        match self.shape(ty) {
            Shape::Scalar(Ty::Varbit(width), _) => {
                if is_most {
                    u64::from(width)
                } else {
                    0
                }
            }
            Shape::Scalar(ty, _) => u64::from(ty.width()),
            Shape::Struct | Shape::Header => self
                .fields(ty)
                .iter()
                .map(|f| self.size_of(&f.ty, is_most, depth + 1))
                .fold(0, u64::saturating_add),
            Shape::Union => {
                let sizes: Vec<u64> = self
                    .fields(ty)
                    .iter()
                    .map(|f| self.size_of(&f.ty, is_most, depth + 1))
                    .collect();
                let size = if is_most {
                    sizes.into_iter().max()
                } else {
                    sizes.into_iter().min()
                };
                size.unwrap_or(0)
            }
            Shape::Stack(base, size) | Shape::Array(base, size) => {
                u64::from(size).saturating_mul(self.size_of(&base, is_most, depth + 1))
            }
            Shape::List(_) | Shape::Other => 0,
        }
    }

    /// `setValid` and `setInvalid`: of a union's member it makes the others invalid either way (specification, 8.20).
    pub fn set_validity(&mut self, location: &Location, valid: bool) {
        let Some(Storage::Header(first)) = location.choices.first() else {
            return;
        };
        let slots = |pick: &dyn Fn(&HeaderStorage) -> Option<SlotId>| {
            location
                .choices
                .iter()
                .filter_map(|s| match s {
                    Storage::Header(header) => pick(header),
                    _ => None,
                })
                .collect::<Vec<SlotId>>()
        };
        let mut targets = Vec::new();
        for at in 0..first.siblings.len() {
            targets.push((slots(&|h| h.siblings.get(at).copied()), false));
        }
        targets.push((slots(&|h| Some(h.valid)), valid));
        for (slots, value) in targets {
            let lvalue = lvalue(slots, location.index.as_ref(), None);
            self.body.assign(lvalue, fold::boolean(value));
        }
    }

    /// `push_front` and `pop_front` (specification, 8.18).
    fn shift(&mut self, stack: &StackStorage, count: usize, is_push: bool) {
        let size = stack.elements.len();
        let count = count.min(size);
        if count == 0 {
            return;
        }
        let moves: Vec<(usize, usize)> = if is_push {
            (count..size).rev().map(|to| (to, to - count)).collect()
        } else {
            (0..size - count).map(|to| (to, to + count)).collect()
        };
        for (to, from) in moves {
            let value = self.read_storage(&stack.elements[from]);
            self.store_element(&stack.elements[to], &value);
        }
        let emptied = if is_push {
            0..count
        } else {
            size - count..size
        };
        for at in emptied {
            let mut headers = Vec::new();
            stack.elements[at].headers(&mut headers);
            for header in headers {
                self.body
                    .assign(LValue::Slot(header.valid), fold::boolean(false));
            }
        }
        let ty = Ty::Bits(32);
        let next = Expr::Slot(stack.next);
        let by = fold::number(count as u32);
        let value = if is_push {
            // At most the size.
            let room = fold::number((size - count) as u32);
            fold::conditional(
                fold::binary(Binary::Greater, next.clone(), room, ty, ty),
                fold::number(size as u32),
                fold::binary(Binary::Add, next, by, ty, ty),
            )
        } else {
            // At least zero.
            fold::binary(Binary::SaturatingSubtract, next, by, ty, ty)
        };
        self.body.assign(LValue::Slot(stack.next), value);
    }

    /// A whole element; unions member by member, without what an assignment to one does to the others.
    fn store_element(&mut self, storage: &Storage, value: &Value) {
        let mut pairs = Vec::new();
        self.storage_pairs(storage, value, &mut pairs);
        self.store_pairs(pairs);
    }
}
