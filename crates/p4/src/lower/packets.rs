//! `packet_in` and `packet_out`.

use super::expressions::Operand;
use super::storage::{Location, Storage, Target, lvalue};
use super::types::{Shape, substitute};
use super::values::Value;
use super::{Lowerer, fold};
use crate::ast::{Argument, Expression, ExpressionKind, Prototype};
use crate::check::Call;
use crate::ir::{Binary, Case, Expr, ParserError, Pattern, SlotId, StatementKind, Terminator, Ty};
use crate::types::Type;
use crate::value::Bits;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

impl<'a> Lowerer<'a> {
    /// A method of `packet_in`.
    pub fn packet_in(
        &mut self,
        expr: &'a Expression,
        prototype: &'a Prototype,
        call: &'a Call,
        arguments: &'a [Argument],
    ) -> Value {
        let method = &*prototype.name.text;
        let types: Vec<Type> = call
            .type_arguments
            .iter()
            .map(|ty| substitute(ty, &self.types))
            .collect();
        let first = types.first().cloned().unwrap_or(Type::Unknown);
        let u32_of =
            |lowerer: &mut Self, e: &'a Expression| match lowerer.eval_as(e, &Type::Bits(32)) {
                Value::Scalar(expr, _) => expr,
                _ => fold::number(0),
            };
        match method {
            "extract" => {
                let ordered = Self::in_call_order(call, arguments, &prototype.parameters);
                let argument = |at| ordered.iter().find(|(place, _)| *place == at);
                let Some((_, Some(header))) = argument(0) else {
                    return Value::Nothing;
                };
                if matches!(header.kind, ExpressionKind::DontCare) {
                    let width = self.width_of(&first, 0);
                    let bits = fold::number(u32::try_from(width).unwrap_or(u32::MAX));
                    self.body.push(StatementKind::Advance { bits });
                    return Value::Nothing;
                }
                let mut size = None;
                let mut target = Target::Discard;
                for (at, given) in &ordered {
                    let Some(given) = given else { continue };
                    if *at == 0 {
                        self.extracting = true;
                        target = self.target(given);
                        self.extracting = false;
                    } else {
                        size = Some(u32_of(self, given));
                    }
                }
                match target {
                    Target::Location(location) => self.extract(expr, &location, size),
                    _ => self.error("not-a-header", expr.span, "only a header can be extracted"),
                }
                Value::Nothing
            }
            "lookahead" => {
                let width = self.width_of(&first, 0);
                if width == 0 {
                    return self.default_value(&first);
                }
                let Ok(width) = u32::try_from(width) else {
                    return Value::Nothing;
                };
                let slot = self.temporary_slot("lookahead", Ty::Bits(width));
                self.body.push(StatementKind::Lookahead { into: slot });
                let mut left = width;
                self.unpack(&first, &Expr::Slot(slot), width, &mut left)
            }
            "advance" => {
                let Some(argument) = arguments.first() else {
                    return Value::Nothing;
                };
                let bits = u32_of(self, &argument.value);
                self.body.push(StatementKind::Advance { bits });
                Value::Nothing
            }
            "length" => {
                let slot = self.temporary_slot("length", Ty::Bits(32));
                self.body.push(StatementKind::Length { into: slot });
                Value::Scalar(Expr::Slot(slot), Ty::Bits(32))
            }
            _ => {
                self.error(
                    "unknown-method",
                    expr.span,
                    format!("packet_in has no method {method} that can be run"),
                );
                Value::Nothing
            }
        }
    }

    /// A value of a type from the bits it has in a packet, the first of them the highest.
    fn unpack(&mut self, ty: &Type, bits: &Expr, width: u32, left: &mut u32) -> Value {
        match self.shape(ty) {
            Shape::Scalar(scalar, _) => {
                let own = scalar.width();
                if own == 0 || own > *left {
                    return self.default_value(ty);
                }
                let low = *left - own;
                let value = if own == width {
                    bits.clone()
                } else {
                    fold::slice(bits.clone(), width, *left - 1, low)
                };
                *left = low;
                Value::Scalar(fold::cast(value, Ty::Bits(own), scalar), scalar)
            }
            Shape::Struct => {
                let fields = self.fields(ty);
                Value::List(
                    fields
                        .iter()
                        .map(|f| self.unpack(&f.ty, bits, width, left))
                        .collect(),
                    false,
                )
            }
            Shape::Header => {
                let fields = self.fields(ty);
                Value::Header {
                    valid: fold::boolean(true),
                    fields: fields
                        .iter()
                        .map(|f| self.unpack(&f.ty, bits, width, left))
                        .collect(),
                }
            }
            Shape::Array(base, size) => Value::List(
                (0..size)
                    .map(|_| self.unpack(&base, bits, width, left))
                    .collect(),
                false,
            ),
            Shape::Stack(base, size) => Value::Stack {
                elements: (0..size)
                    .map(|_| self.unpack(&base, bits, width, left))
                    .collect(),
                next: fold::number(0),
            },
            _ => self.default_value(ty),
        }
    }

    fn extract(&mut self, expr: &'a Expression, location: &Location, size: Option<Expr>) {
        if let Some((stack, member)) = &location.next {
            let Some(id) = stack.stacks.get(*member) else {
                return;
            };
            self.body
                .push(StatementKind::ExtractNext { stack: *id, size });
            // The other members of the element that was read into.
            let read = fold::binary(
                Binary::Subtract,
                Expr::Slot(stack.next),
                fold::number(1),
                Ty::Bits(32),
                Ty::Bits(32),
            );
            self.invalidate_siblings(location, Some(read));
            return;
        }
        match (location.only(), &location.index) {
            (Some(Storage::Header(header)), _) => {
                self.body.push(StatementKind::Extract {
                    header: header.id,
                    size,
                });
                self.invalidate_siblings(location, None);
            }
            (None, Some(index)) => {
                // One of several headers, told by an index: a way for each.
                let index = self.spill_expr(index.clone());
                let ty = index.ty(&self.program.slots);
                let join = self.body.block();
                let beyond = self.body.block();
                let blocks: Vec<_> = location.choices.iter().map(|_| self.body.block()).collect();
                let cases = blocks
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| ty.width() >= 32 || (*at as u64) < 1 << ty.width())
                    .map(|(at, block)| Case {
                        patterns: vec![Pattern::Equal(Expr::Constant(
                            Bits::new(ty.width(), at as u32),
                            ty,
                        ))],
                        next: *block,
                    })
                    .collect();
                self.body.terminate(Terminator::Select {
                    keys: vec![index],
                    cases,
                    default: beyond,
                });
                for (block, choice) in blocks.iter().zip(&location.choices) {
                    self.body.go(*block);
                    self.extract(expr, &Location::fixed(choice.clone()), size.clone());
                    self.body.jump(join);
                }
                self.body.go(beyond);
                self.fail_if(fold::boolean(true), ParserError::StackOutOfBounds);
                self.body.jump(join);
                self.body.go(join);
            }
            _ => self.error("not-a-header", expr.span, "only a header can be extracted"),
        }
    }

    fn invalidate_siblings(&mut self, location: &Location, index: Option<Expr>) {
        let Some(Storage::Header(first)) = location.choices.first() else {
            return;
        };
        for at in 0..first.siblings.len() {
            let slots: Vec<SlotId> = location
                .choices
                .iter()
                .filter_map(|s| match s {
                    Storage::Header(header) => header.siblings.get(at).copied(),
                    _ => None,
                })
                .collect();
            self.body
                .assign(lvalue(slots, index.as_ref(), None), fold::boolean(false));
        }
    }

    /// A method of `packet_out`.
    pub fn packet_out(
        &mut self,
        expr: &'a Expression,
        method: &str,
        call: &'a Call,
        arguments: &'a [Argument],
    ) {
        let Some(argument) = arguments.first() else {
            return;
        };
        if method != "emit" {
            self.error(
                "unknown-method",
                expr.span,
                format!("packet_out has no method {method} that can be run"),
            );
            return;
        }
        let ty = match call.type_arguments.first() {
            Some(ty) => substitute(ty, &self.types),
            None => self.type_of(argument.value.id),
        };
        match self.operand_cast(&argument.value) {
            Operand::Location(location) => match location.only() {
                Some(storage) => self.emit(&storage.clone()),
                None => {
                    let value = self.read(&location);
                    self.emit_value(&value, &ty);
                }
            },
            Operand::Value(value) => self.emit_value(&value, &ty),
        }
    }

    fn emit(&mut self, storage: &Storage) {
        match storage {
            Storage::Header(header) => self.body.push(StatementKind::Emit { header: header.id }),
            Storage::Struct(list) | Storage::Union(list) => {
                list.iter().for_each(|s| self.emit(s));
            }
            Storage::Stack(stack) => stack.elements.iter().for_each(|s| self.emit(s)),
            Storage::Scalar(slot) => self.body.push(StatementKind::EmitValue {
                value: Expr::Slot(*slot),
            }),
            Storage::Nothing => {}
        }
    }

    /// What is not a variable: put into one first.
    fn emit_value(&mut self, value: &Value, ty: &Type) {
        match value {
            Value::Scalar(expr, _) => self.body.push(StatementKind::EmitValue {
                value: expr.clone(),
            }),
            Value::List(list, _) if !matches!(self.shape(ty), Shape::Header) => {
                let types: Vec<Type> = self.fields(ty).into_iter().map(|f| f.ty).collect();
                for (at, value) in list.iter().enumerate() {
                    let ty = types.get(at).unwrap_or(&Type::Unknown);
                    self.emit_value(value, ty);
                }
            }
            Value::Nothing | Value::Default | Value::Invalid => {}
            other => {
                let storage = self.temporary("emitted", ty);
                let value = self.convert(other.clone(), ty);
                self.store(&Location::fixed(storage.clone()), &value);
                self.emit(&storage);
            }
        }
    }
}
