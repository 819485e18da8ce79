//! Values that are known only as expressions of the intermediate representation, taken apart as their types are.

use super::Lowerer;
use super::fold;
use super::types::Shape;
use crate::ast::NodeId;
use crate::ir::{Binary, Expr, SlotId, Ty, ValueSetId};
use crate::types::{Constant, Type};
use crate::value::Bits;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use num_bigint::BigInt;

/// An [`Instance`](super::elaborate::Instance).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InstanceId(pub u32);

#[derive(Clone, Debug)]
pub(super) enum Value {
    Scalar(Expr, Ty),
    /// An `int`, or a value whose width is told where it is used.
    Integer(BigInt),
    Text(Arc<str>),
    /// A struct, tuple or list in the order of its type; with `...` at the end the rest has default values.
    List(Vec<Value>, bool),
    /// `{ a = 1 }` before its type is known.
    Fields(Vec<(Arc<str>, Value)>, bool),
    Header {
        valid: Expr,
        fields: Vec<Value>,
    },
    Union(Vec<Value>),
    Stack {
        elements: Vec<Value>,
        next: Expr,
    },
    Instance(InstanceId),
    Set(ValueSetId),
    /// `{#}`
    Invalid,
    /// `...`
    Default,
    /// Of `void`, and what stands where an error was told.
    Nothing,
}

impl Value {
    pub fn bool(expr: Expr) -> Self {
        Value::Scalar(expr, Ty::Bool)
    }

    pub fn number(value: u32) -> Self {
        Value::Scalar(fold::number(value), Ty::Bits(32))
    }

    /// All its expressions.
    pub fn leaves<'v>(&'v self, each: &mut dyn FnMut(&'v Expr)) {
        match self {
            Value::Scalar(expr, _) => each(expr),
            Value::List(list, _) | Value::Union(list) => {
                list.iter().for_each(|value| value.leaves(each));
            }
            Value::Fields(list, _) => list.iter().for_each(|(_, value)| value.leaves(each)),
            Value::Header { valid, fields } => {
                each(valid);
                fields.iter().for_each(|value| value.leaves(each));
            }
            Value::Stack { elements, next } => {
                elements.iter().for_each(|value| value.leaves(each));
                each(next);
            }
            _ => {}
        }
    }

    /// The same with other expressions.
    pub fn map(self, each: &mut dyn FnMut(Expr, Ty) -> Expr) -> Value {
        match self {
            Value::Scalar(expr, ty) => Value::Scalar(each(expr, ty), ty),
            Value::List(list, dots) => {
                Value::List(list.into_iter().map(|v| v.map(each)).collect(), dots)
            }
            Value::Union(list) => Value::Union(list.into_iter().map(|v| v.map(each)).collect()),
            Value::Fields(list, dots) => Value::Fields(
                list.into_iter().map(|(n, v)| (n, v.map(each))).collect(),
                dots,
            ),
            Value::Header { valid, fields } => Value::Header {
                valid: each(valid, Ty::Bool),
                fields: fields.into_iter().map(|v| v.map(each)).collect(),
            },
            Value::Stack { elements, next } => Value::Stack {
                elements: elements.into_iter().map(|v| v.map(each)).collect(),
                next: each(next, Ty::Bits(32)),
            },
            other => other,
        }
    }

    /// Whether nothing that runs can change it.
    pub fn is_constant(&self) -> bool {
        let mut constant = true;
        self.leaves(&mut |expr| {
            if constant {
                let mut slots = Vec::new();
                fold::reads(expr, &mut slots);
                constant = slots.is_empty();
            }
        });
        constant
    }

    /// Whether it costs nothing to have it several times.
    pub fn is_simple(&self) -> bool {
        let mut simple = true;
        self.leaves(&mut |expr| simple &= matches!(expr, Expr::Constant(..) | Expr::Slot(_)));
        simple
    }

    /// The slots that it reads, in order.
    pub fn reads(&self) -> Vec<SlotId> {
        let mut slots = Vec::new();
        self.leaves(&mut |expr| fold::reads(expr, &mut slots));
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}

/// Whether two values of one type are equal (specification, 8.6 and following): headers if both are invalid, or both valid with
/// equal fields.
pub(super) fn equal(left: &Value, right: &Value) -> Expr {
    let all = |a: &[Value], b: &[Value]| {
        a.iter().zip(b).fold(fold::boolean(true), |so_far, (a, b)| {
            fold::and(so_far, equal(a, b))
        })
    };
    match (left, right) {
        (Value::Scalar(a, ty), Value::Scalar(b, _)) => {
            fold::binary(Binary::Equal, a.clone(), b.clone(), *ty, *ty)
        }
        (Value::Integer(a), Value::Integer(b)) => fold::boolean(a == b),
        (Value::Integer(a), Value::Scalar(b, ty)) | (Value::Scalar(b, ty), Value::Integer(a)) => {
            fold::binary(Binary::Equal, b.clone(), fold::constant(*ty, a), *ty, *ty)
        }
        (Value::Text(a), Value::Text(b)) => fold::boolean(a == b),
        (Value::List(a, _), Value::List(b, _)) | (Value::Union(a), Value::Union(b)) => all(a, b),
        (Value::Fields(a, _), Value::Fields(b, _)) => a
            .iter()
            .zip(b)
            .fold(fold::boolean(true), |so_far, ((_, a), (_, b))| {
                fold::and(so_far, equal(a, b))
            }),
        (
            Value::Header { valid, fields },
            Value::Header {
                valid: other_valid,
                fields: other_fields,
            },
        ) => fold::or(
            fold::and(fold::not(valid.clone()), fold::not(other_valid.clone())),
            fold::and(
                fold::and(valid.clone(), other_valid.clone()),
                all(fields, other_fields),
            ),
        ),
        (
            Value::Stack { elements, .. },
            Value::Stack {
                elements: other, ..
            },
        ) => all(elements, other),
        _ => fold::boolean(false),
    }
}

impl<'a> Lowerer<'a> {
    /// The default value of a type (specification, 7.3): zero, false, `NoError`, the first member, an invalid header.
    pub fn default_value(&mut self, ty: &Type) -> Value {
        match self.shape(ty) {
            Shape::Scalar(ty, enumeration) => {
                let value = match (enumeration, ty) {
                    // Of a serialisable enum zero, whether a member has it or not.
                    (Some(_), ty) => Bits::zero(ty.width()),
                    (None, Ty::Varbit(_)) => Bits::zero(0),
                    (None, ty) => Bits::zero(ty.width()),
                };
                Value::Scalar(Expr::Constant(value, ty), ty)
            }
            Shape::Struct => {
                let fields = self.fields(ty);
                Value::List(
                    fields.iter().map(|f| self.default_value(&f.ty)).collect(),
                    false,
                )
            }
            Shape::Header => {
                let fields = self.fields(ty);
                Value::Header {
                    valid: fold::boolean(false),
                    fields: fields.iter().map(|f| self.default_value(&f.ty)).collect(),
                }
            }
            Shape::Union => {
                let fields = self.fields(ty);
                Value::Union(fields.iter().map(|f| self.default_value(&f.ty)).collect())
            }
            Shape::Array(base, size) => {
                let element = self.default_value(&base);
                Value::List(vec![element; size as usize], false)
            }
            Shape::Stack(base, size) => {
                let element = self.default_value(&base);
                Value::Stack {
                    elements: vec![element; size as usize],
                    next: fold::number(0),
                }
            }
            Shape::List(_) => Value::List(Vec::new(), false),
            Shape::Other => match self.plain(ty) {
                Type::Integer => Value::Integer(BigInt::ZERO),
                Type::String => Value::Text("".into()),
                _ => Value::Nothing,
            },
        }
    }

    /// A value in the shape and with the widths of a type.
    pub fn convert(&mut self, value: Value, to: &Type) -> Value {
        match self.shape(to) {
            Shape::Scalar(ty, _) => match value {
                Value::Scalar(expr, from) => Value::Scalar(fold::cast(expr, from, ty), ty),
                Value::Integer(number) => Value::Scalar(fold::constant(ty, &number), ty),
                Value::List(mut list, _) if list.len() == 1 => {
                    let only = list.remove(0);
                    self.convert(only, to)
                }
                _ => self.default_value(to),
            },
            Shape::Struct => {
                let fields = match value {
                    Value::List(list, _)
                        if matches!(self.plain(to), Type::Tuple(ref types) if types.len() == list.len())
                            || list.len() == self.fields(to).len() =>
                    {
                        self.convert_fields(list, to)
                    }
                    other => self.convert_sparse(other, to),
                };
                Value::List(fields, false)
            }
            Shape::Header => match value {
                Value::Header { valid, fields } => Value::Header {
                    valid,
                    fields: self.convert_fields(fields, to),
                },
                value @ (Value::List(..) | Value::Fields(..)) => Value::Header {
                    valid: fold::boolean(true),
                    fields: self.convert_sparse(value, to),
                },
                _ => self.default_value(to),
            },
            Shape::Union => match value {
                Value::Union(members) => Value::Union(self.convert_fields(members, to)),
                Value::Fields(named, _) => {
                    // `{ h = ... }`: the named members, the others invalid.
                    Value::Union(self.convert_sparse(Value::Fields(named, true), to))
                }
                _ => self.default_value(to),
            },
            Shape::Array(base, size) => {
                let Value::List(list, _) = value else {
                    return self.default_value(to);
                };
                let mut elements: Vec<Value> = list
                    .into_iter()
                    .map(|element| self.convert(element, &base))
                    .collect();
                if elements.len() < size as usize {
                    let element = self.default_value(&base);
                    elements.resize(size as usize, element);
                }
                Value::List(elements, false)
            }
            Shape::Stack(base, size) => match value {
                Value::Stack { elements, next } => Value::Stack {
                    elements: elements
                        .into_iter()
                        .map(|element| self.convert(element, &base))
                        .collect(),
                    next,
                },
                Value::List(list, _) => {
                    let count = list.len();
                    let mut elements: Vec<Value> = list
                        .into_iter()
                        .map(|element| self.convert(element, &base))
                        .collect();
                    if count < size as usize {
                        let element = self.default_value(&base);
                        elements.resize(size as usize, element);
                    }
                    Value::Stack {
                        elements,
                        next: fold::number(0),
                    }
                }
                _ => self.default_value(to),
            },
            Shape::List(base) => match value {
                Value::List(list, dots) => Value::List(
                    list.into_iter()
                        .map(|value| self.convert(value, &base))
                        .collect(),
                    dots,
                ),
                other => other,
            },
            Shape::Other => match (self.plain(to), value) {
                (Type::Integer, Value::Scalar(Expr::Constant(bits, ty), _)) => {
                    Value::Integer(match ty {
                        Ty::Signed(_) => bits.signed(),
                        _ => bits.unsigned().clone().into(),
                    })
                }
                (_, value) => value,
            },
        }
    }

    fn convert_fields(&mut self, list: Vec<Value>, to: &Type) -> Vec<Value> {
        let fields = self.fields(to);
        list.into_iter()
            .zip(fields)
            .map(|(value, field)| self.convert(value, &field.ty))
            .collect()
    }

    /// From named fields, or from fewer than all.
    fn convert_sparse(&mut self, value: Value, to: &Type) -> Vec<Value> {
        let fields = self.fields(to);
        let (mut list, mut named) = match value {
            Value::List(list, _) => (list.into_iter(), Vec::new()),
            Value::Fields(named, _) => (Vec::new().into_iter(), named),
            _ => (Vec::new().into_iter(), Vec::new()),
        };
        fields
            .into_iter()
            .map(|field| {
                let given = match named.iter().position(|(name, _)| *name == field.name) {
                    Some(at) => Some(named.remove(at).1),
                    None => list.next(),
                };
                match given {
                    Some(value) => self.convert(value, &field.ty),
                    None => self.default_value(&field.ty),
                }
            })
            .collect()
    }

    /// What the checker worked out.
    pub fn constant(&mut self, constant: &Constant, ty: &Type) -> Value {
        match constant {
            Constant::Bool(value) => Value::bool(fold::boolean(*value)),
            Constant::Integer(value) => match self.scalar(ty) {
                Some(ty) => Value::Scalar(fold::constant(ty, value), ty),
                None => Value::Integer(value.clone()),
            },
            Constant::String(text) => Value::Text(text.clone()),
            Constant::Member(id) => self.member(*id),
            Constant::Invalid => self.convert(Value::Invalid, ty),
            Constant::List(list) => {
                let fields = match self.shape(ty) {
                    Shape::Stack(base, _) | Shape::Array(base, _) | Shape::List(base) => {
                        vec![base; list.len()]
                    }
                    _ => self.fields(ty).into_iter().map(|f| f.ty).collect(),
                };
                let values = list
                    .iter()
                    .enumerate()
                    .map(|(at, constant)| {
                        self.constant(constant, fields.get(at).unwrap_or(&Type::Unknown))
                    })
                    .collect();
                self.convert(Value::List(values, false), ty)
            }
        }
    }

    /// A member of an enum, `error` or `match_kind`.
    pub fn member(&mut self, id: NodeId) -> Value {
        if let Some(place) = self.index.errors.iter().position(|m| *m == id) {
            return Value::number(place as u32);
        }
        if let Some(place) = self.index.match_kinds.iter().position(|m| *m == id) {
            return Value::number(place as u32);
        }
        let Some(super::index::Node::Member(_, declaration, place)) = self.index.get(id) else {
            return Value::Nothing;
        };
        let ty = self
            .scalar(&Type::Enum(declaration.id))
            .unwrap_or(Ty::Bits(32));
        let enumeration = self.enumeration(declaration.id);
        let value = self.program.enumerations[enumeration.index()]
            .members
            .get(place)
            .map_or(Bits::zero(ty.width()), |(_, value)| value.clone());
        Value::Scalar(Expr::Constant(value, ty), ty)
    }
}

/// Whether a header is valid, or a union has a valid member.
pub(super) fn validity(value: &Value) -> Expr {
    match value {
        Value::Header { valid, .. } => valid.clone(),
        Value::Union(members) => members.iter().fold(fold::boolean(false), |so_far, member| {
            fold::or(so_far, validity(member))
        }),
        _ => fold::boolean(false),
    }
}
