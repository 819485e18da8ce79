//! Expressions, and what stands on the left of assignments.

use super::index::Node;
use super::operators::{choose, unary};
use super::storage::{Location, Storage, Target};
use super::values::Value;
use super::{Binding, Lowerer, fold};
use crate::ast::{DeclarationKind, Expression, ExpressionKind, NodeId};
use crate::ir::{Binary, Expr, LValue, ParserError, Ty};
use crate::types::Type;
use crate::value::Bits;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// What an expression means: a variable that can be written, or a value.
pub(super) enum Operand {
    Location(Location),
    Value(Value),
}

impl<'a> Lowerer<'a> {
    /// An expression's value, implicitly cast as the checker says.
    pub fn eval(&mut self, expr: &'a Expression) -> Value {
        let value = match self.known(expr) {
            Some(value) => value,
            None => match self.operand(expr) {
                Operand::Location(location) => self.read(&location),
                Operand::Value(value) => value,
            },
        };
        self.implicit(expr.id, value)
    }

    /// The value that the checker worked out for an expression, before the implicit cast of a
    /// number. A list, a struct, `{#}` or `...` gets its fields, their order and their defaults
    /// from the type that it is cast to, and has been worked out in that type.
    fn known(&mut self, expr: &'a Expression) -> Option<Value> {
        let constant = self.checked.constants.get(&expr.id)?;
        let ty = match expr.kind {
            ExpressionKind::List { .. }
            | ExpressionKind::Struct { .. }
            | ExpressionKind::Invalid
            | ExpressionKind::Dots => self.cast_of(expr.id),
            _ => None,
        };
        let ty = ty.unwrap_or_else(|| self.type_of(expr.id));
        Some(self.constant(constant, &ty))
    }

    fn implicit(&mut self, id: NodeId, value: Value) -> Value {
        match self.cast_of(id) {
            Some(to) => self.convert(value, &to),
            None => value,
        }
    }

    pub(super) fn cast_of(&self, id: NodeId) -> Option<Type> {
        self.checked
            .casts
            .get(&id)
            .map(|ty| super::types::substitute(ty, &self.types))
    }

    /// An expression's value as one of the type.
    pub fn eval_as(&mut self, expr: &'a Expression, ty: &Type) -> Value {
        let value = self.eval(expr);
        self.convert(value, ty)
    }

    /// The values of several expressions, evaluated from left to right (specification, 8): what is written while a later one is
    /// evaluated does not change an earlier one.
    pub fn eval_all(&mut self, list: &[&'a Expression]) -> Vec<Value> {
        let effects: Vec<bool> = list.iter().map(|e| self.has_effects(e)).collect();
        list.iter()
            .enumerate()
            .map(|(at, expr)| {
                let value = self.eval(expr);
                if effects[at + 1..].contains(&true) {
                    self.spill(value)
                } else {
                    value
                }
            })
            .collect()
    }

    pub(super) fn eval_pair(
        &mut self,
        left: &'a Expression,
        right: &'a Expression,
    ) -> (Value, Value) {
        let a = self.eval(left);
        let a = if self.has_effects(right) {
            self.spill(a)
        } else {
            a
        };
        (a, self.eval(right))
    }

    pub fn condition(&mut self, expr: &'a Expression) -> Expr {
        match self.eval(expr) {
            Value::Scalar(expr, _) => expr,
            _ => fold::boolean(false),
        }
    }

    pub fn operand(&mut self, expr: &'a Expression) -> Operand {
        let value = match &expr.kind {
            ExpressionKind::Path { .. } => return self.path(expr),
            ExpressionKind::Member { base, member } => {
                return self.member_of(expr, base, &member.text);
            }
            ExpressionKind::Index { base, index } => return self.indexed(base, index),
            ExpressionKind::Integer { value, .. } => {
                let ty = self.type_of(expr.id);
                match self.scalar(&ty) {
                    Some(ty) => Value::Scalar(fold::constant(ty, value), ty),
                    None => Value::Integer(value.clone()),
                }
            }
            ExpressionKind::Bool(value) => Value::bool(fold::boolean(*value)),
            ExpressionKind::String(text) => Value::Text(text.clone()),
            ExpressionKind::This => self.this.map_or(Value::Nothing, Value::Instance),
            ExpressionKind::Slice { base, high, low } => {
                let value = self.eval(base);
                match (self.slice_bounds(high, low), value) {
                    (Some((high, low)), Value::Scalar(value, ty)) => Value::Scalar(
                        fold::slice(value, ty.width(), high, low),
                        Ty::Bits(high - low + 1),
                    ),
                    (Some((high, low)), Value::Integer(value)) => {
                        let ty = Ty::Bits(high - low + 1);
                        Value::Scalar(fold::constant(ty, &(value >> low)), ty)
                    }
                    _ => Value::Nothing,
                }
            }
            ExpressionKind::PlusSlice { base, low, width } => self.plus_slice(base, low, width),
            ExpressionKind::List { elements, dots } => {
                let list: Vec<&'a Expression> = elements.iter().collect();
                Value::List(self.eval_all(&list), *dots)
            }
            ExpressionKind::Struct { fields, dots } => {
                let list: Vec<&'a Expression> = fields.iter().map(|(_, e)| e).collect();
                let values = self.eval_all(&list);
                let names = fields.iter().map(|(name, _)| name.text.clone());
                Value::Fields(names.zip(values).collect(), *dots)
            }
            ExpressionKind::Invalid => Value::Invalid,
            ExpressionKind::Dots | ExpressionKind::Default | ExpressionKind::DontCare => {
                Value::Default
            }
            ExpressionKind::Unary { operator, operand } => {
                let value = self.eval(operand);
                unary(*operator, value)
            }
            ExpressionKind::Binary {
                operator,
                left,
                right,
            } => self.binary(*operator, left, right),
            ExpressionKind::Conditional { condition, yes, no } => {
                self.conditional(expr, condition, yes, no)
            }
            ExpressionKind::Cast { ty, operand } => {
                let ty = self.type_of(ty.id);
                self.eval_as(operand, &ty)
            }
            ExpressionKind::Call { .. } => self.call(expr),
            ExpressionKind::Mask { .. }
            | ExpressionKind::Range { .. }
            | ExpressionKind::Type(_)
            | ExpressionKind::Broken => Value::Nothing,
        };
        Operand::Value(value)
    }

    fn path(&mut self, expr: &'a Expression) -> Operand {
        let Some(to) = self.checked.references.get(&expr.id).copied() else {
            return Operand::Value(Value::Nothing);
        };
        match self.binding(to) {
            Some(Binding::Storage(storage)) => {
                return Operand::Location(Location::fixed(storage.clone()));
            }
            Some(Binding::Value(value)) => return Operand::Value(value.clone()),
            None => {}
        }
        let value = match self.index.get(to) {
            Some(Node::Declaration(declaration)) => match &declaration.kind {
                DeclarationKind::Constant { ty, value, .. } => {
                    let ty = self.type_of(ty.id);
                    match self.known(value) {
                        Some(value) => self.convert(value, &ty),
                        // A constant made from constants made from ...: as deep as calls may be.
                        None if self.deeper(expr.span) => {
                            let value = self.eval_as(value, &ty);
                            self.depth -= 1;
                            value
                        }
                        None => Value::Nothing,
                    }
                }
                DeclarationKind::Instance { .. } => self.declared_instance(declaration),
                DeclarationKind::Variable { ty, name, .. } => {
                    // Declared where nothing goes past; a room all the same.
                    let ty = self.type_of(ty.id);
                    let storage = self.local(declaration.id, &name.text, &ty);
                    self.bind(declaration.id, Binding::Storage(storage.clone()));
                    return Operand::Location(Location::fixed(storage));
                }
                _ => Value::Nothing,
            },
            Some(Node::Member(..)) => self.member(to),
            _ => Value::Nothing,
        };
        Operand::Value(value)
    }

    fn member_of(&mut self, expr: &'a Expression, base: &'a Expression, member: &str) -> Operand {
        if let Some(to) = self.checked.references.get(&expr.id).copied()
            && let Some(Node::Member(..)) = self.index.get(to)
        {
            return Operand::Value(self.member(to));
        }
        let ty = self.type_of(base.id);
        match self.plain(&ty) {
            Type::Stack(_, size) => return self.stack_member(base, member, size),
            Type::ApplyResult(table) => {
                let Some(made) = self.apply_table(base, table) else {
                    return Operand::Value(Value::Nothing);
                };
                return Operand::Value(match member {
                    "hit" => Value::bool(Expr::Slot(self.hit_slot(made))),
                    "miss" => Value::bool(fold::not(Expr::Slot(self.hit_slot(made)))),
                    _ => Value::Scalar(Expr::Slot(self.action_run_slot(made)), Ty::Bits(32)),
                });
            }
            Type::Enum(_) | Type::Error => {
                // A member of a type without a reference: by its name.
                return Operand::Value(self.member_named(&ty, member));
            }
            _ => {}
        }
        let at = self.field_position(&ty, member);
        match self.operand_cast(base) {
            Operand::Location(location) => match at {
                Some(at) => Operand::Location(location.field(at)),
                None => Operand::Value(Value::Nothing),
            },
            Operand::Value(value) => Operand::Value(match (value, at) {
                (Value::Fields(list, _), _) => list
                    .into_iter()
                    .find(|(name, _)| &**name == member)
                    .map_or(Value::Nothing, |(_, value)| value),
                (
                    Value::List(mut list, _)
                    | Value::Union(mut list)
                    | Value::Header {
                        fields: mut list, ..
                    },
                    Some(at),
                ) if at < list.len() => list.swap_remove(at),
                _ => Value::Nothing,
            }),
        }
    }

    /// As [`Self::operand`], with constants and the implicit cast of the expression.
    pub fn operand_cast(&mut self, expr: &'a Expression) -> Operand {
        if self.checked.constants.contains_key(&expr.id)
            || self.checked.casts.contains_key(&expr.id)
        {
            return Operand::Value(self.eval(expr));
        }
        self.operand(expr)
    }

    fn member_named(&mut self, ty: &Type, member: &str) -> Value {
        let id = match self.plain(ty) {
            Type::Enum(id) => self.enumeration(id),
            _ => crate::ir::EnumId(0),
        };
        let scalar = self.scalar(ty).unwrap_or(Ty::Bits(32));
        let found = self.program.enumerations[id.index()]
            .members
            .iter()
            .find(|(name, _)| &**name == member);
        match found {
            Some((_, value)) => Value::Scalar(Expr::Constant(value.clone(), scalar), scalar),
            None => Value::Nothing,
        }
    }

    pub fn error_number(&self, error: ParserError) -> Expr {
        let value = self.program.error(error).and_then(Bits::to_u64);
        fold::number(value.unwrap_or(0) as u32)
    }

    fn stack_member(&mut self, base: &'a Expression, member: &str, size: u32) -> Operand {
        if member == "size" {
            return Operand::Value(Value::number(size));
        }
        let storage = match self.operand(base) {
            Operand::Location(location) => location.only().cloned(),
            Operand::Value(_) => None,
        };
        let Some(Storage::Stack(stack)) = storage else {
            return Operand::Value(Value::Nothing);
        };
        let next = Expr::Slot(stack.next);
        let before = || {
            fold::binary(
                Binary::Subtract,
                next.clone(),
                fold::number(1),
                Ty::Bits(32),
                Ty::Bits(32),
            )
        };
        match member {
            "next" => {
                if !self.extracting {
                    let full = fold::binary(
                        Binary::GreaterEqual,
                        next.clone(),
                        fold::number(size),
                        Ty::Bits(32),
                        Ty::Bits(32),
                    );
                    self.fail_if(full, ParserError::StackOutOfBounds);
                }
                Operand::Location(Location {
                    choices: stack.elements.clone(),
                    index: Some(next),
                    next: Some((stack, 0)),
                })
            }
            "last" => {
                let empty = fold::binary(
                    Binary::Equal,
                    next.clone(),
                    fold::number(0),
                    Ty::Bits(32),
                    Ty::Bits(32),
                );
                self.fail_if(empty, ParserError::StackOutOfBounds);
                Operand::Location(Location {
                    choices: stack.elements.clone(),
                    index: Some(before()),
                    next: None,
                })
            }
            "lastIndex" => Operand::Value(Value::Scalar(before(), Ty::Bits(32))),
            "nextIndex" => Operand::Value(Value::Scalar(next, Ty::Bits(32))),
            _ => Operand::Value(Value::Nothing),
        }
    }

    /// Goes to `reject` with an error where a condition holds; outside parsers nothing.
    pub fn fail_if(&mut self, condition: Expr, error: ParserError) {
        let (Some(fail), Some(slot)) = (self.body.fail, self.error) else {
            return;
        };
        let value = self.error_number(error);
        let (bad, good) = (self.body.block(), self.body.block());
        self.body.branch(condition, bad, good);
        self.body.go(bad);
        self.body.assign(LValue::Slot(slot), value);
        self.body.jump(fail);
        self.body.go(good);
    }

    fn indexed(&mut self, base: &'a Expression, index: &'a Expression) -> Operand {
        let operand = self.operand_cast(base);
        let position = match self.eval(index) {
            Value::Scalar(expr, ty) => (expr, ty),
            Value::Integer(value) => match value.to_u32() {
                Some(value) => (fold::number(value), Ty::Bits(32)),
                None => return Operand::Value(Value::Nothing),
            },
            _ => return Operand::Value(Value::Nothing),
        };
        let at = fold::as_constant(&position.0)
            .and_then(Bits::to_u64)
            .and_then(|at| usize::try_from(at).ok());
        match (operand, at) {
            (Operand::Location(location), Some(at)) => Operand::Location(location.field(at)),
            (Operand::Location(location), None) => {
                let count = match location.choices.first() {
                    Some(Storage::Stack(stack)) => stack.elements.len(),
                    Some(Storage::Struct(list)) => list.len(),
                    _ => 0,
                };
                let choices: Vec<Storage> = location
                    .choices
                    .iter()
                    .flat_map(|storage| (0..count).map(|at| storage.field(at)).collect::<Vec<_>>())
                    .collect();
                let index = match location.index {
                    None => position.0,
                    Some(outer) => {
                        // Of each outer choice so many inner ones; an inner index beyond must not reach the next outer.
                        let ty = Ty::Bits(32);
                        let outer_ty = outer.ty(&self.program.slots);
                        let outer = fold::cast(outer, outer_ty, ty);
                        let inner = fold::cast(position.0, position.1, ty);
                        let count = fold::number(count as u32);
                        let beyond = fold::binary(
                            Binary::GreaterEqual,
                            inner.clone(),
                            count.clone(),
                            ty,
                            ty,
                        );
                        let product = fold::binary(Binary::Multiply, outer, count, ty, ty);
                        let sum = fold::binary(Binary::Add, product, inner, ty, ty);
                        fold::conditional(beyond, fold::number(u32::MAX), sum)
                    }
                };
                Operand::Location(Location {
                    choices,
                    index: Some(index),
                    next: None,
                })
            }
            (Operand::Value(value), Some(at)) => Operand::Value(match value {
                Value::List(mut list, _) if at < list.len() => list.swap_remove(at),
                Value::Stack { mut elements, .. } if at < elements.len() => {
                    elements.swap_remove(at)
                }
                _ => Value::Nothing,
            }),
            (Operand::Value(Value::Stack { elements, .. } | Value::List(elements, _)), None) => {
                // A stack that is only a value: compare the index with each place.
                let (index, ty) = position;
                let mut elements = elements.into_iter().enumerate();
                let Some((_, mut value)) = elements.next() else {
                    return Operand::Value(Value::Nothing);
                };
                for (at, element) in elements {
                    let here = fold::binary(
                        Binary::Equal,
                        index.clone(),
                        fold::constant(ty, &BigInt::from(at)),
                        ty,
                        ty,
                    );
                    value = choose(&here, element, value);
                }
                Operand::Value(value)
            }
            _ => Operand::Value(Value::Nothing),
        }
    }

    fn slice_bounds(&mut self, high: &'a Expression, low: &'a Expression) -> Option<(u32, u32)> {
        let high = self.eval(high);
        let low = self.eval(low);
        let (high, low) = (self.small(&high)?, self.small(&low)?);
        (high >= low).then_some((high, low))
    }

    fn plus_slice(
        &mut self,
        base: &'a Expression,
        low: &'a Expression,
        width: &'a Expression,
    ) -> Value {
        let (value, from) = self.eval_pair(base, low);
        let width = self.eval(width);
        let (Value::Scalar(value, ty), Some(width)) = (value, self.small(&width)) else {
            return Value::Nothing;
        };
        if width == 0 {
            return Value::Nothing;
        }
        if let Some(low) = self.small(&from) {
            return Value::Scalar(
                fold::slice(value, ty.width(), low + width - 1, low),
                Ty::Bits(width),
            );
        }
        let Value::Scalar(from, from_ty) = from else {
            return Value::Nothing;
        };
        let shifted = fold::binary(Binary::ShiftRight, value, from, ty, from_ty);
        Value::Scalar(
            fold::slice(shifted, ty.width(), width - 1, 0),
            Ty::Bits(width),
        )
    }

    /// What an expression on the left of an assignment, or given for an `out` or `inout` parameter, means.
    pub fn target(&mut self, expr: &'a Expression) -> Target {
        match &expr.kind {
            ExpressionKind::DontCare => Target::Discard,
            ExpressionKind::Slice { base, high, low } => {
                let bounds = self.slice_bounds(high, low);
                self.target_slice(base, bounds)
            }
            ExpressionKind::PlusSlice { base, low, width } => {
                let (low, width) = (self.eval(low), self.eval(width));
                let bounds = match (self.small(&low), self.small(&width)) {
                    (Some(low), Some(width)) if width > 0 => Some((low + width - 1, low)),
                    _ => None,
                };
                if bounds.is_none() {
                    self.error(
                        "not-constant",
                        expr.span,
                        "the bits that are assigned to must be known while compiling",
                    );
                }
                self.target_slice(base, bounds)
            }
            _ => match self.operand(expr) {
                Operand::Location(location) => Target::Location(location),
                Operand::Value(_) => Target::Discard,
            },
        }
    }

    fn target_slice(&mut self, base: &'a Expression, bounds: Option<(u32, u32)>) -> Target {
        let Some((high, low)) = bounds else {
            return Target::Discard;
        };
        match self.target(base) {
            Target::Location(location) => Target::Slice(location, high, low),
            Target::Slice(location, _, below) => Target::Slice(location, below + high, below + low),
            Target::Discard => Target::Discard,
        }
    }

    /// The same target whatever its index is computed from is changed to.
    pub fn freeze(&mut self, target: Target) -> Target {
        let mut freeze = |mut location: Location| {
            location.index = location.index.map(|index| self.spill_expr(index));
            location
        };
        match target {
            Target::Location(location) => Target::Location(freeze(location)),
            Target::Slice(location, high, low) => Target::Slice(freeze(location), high, low),
            Target::Discard => Target::Discard,
        }
    }
}
