//! Types without parameters, and what they consist of.

use super::Lowerer;
use super::index::Node;
use crate::ast::{Annotation, CompositeKind, DeclarationKind, NodeId};
use crate::ir::{EnumId, Enumeration, Ty};
use crate::types::{Constant, Type};
use crate::value::Bits;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What a type consists of.
pub(super) enum Shape {
    Scalar(Ty, Option<EnumId>),
    /// Structs, tuples.
    Struct,
    Header,
    Union,
    /// Of headers or unions.
    Stack(Type, u32),
    /// Of anything else: nothing but elements.
    Array(Type, u32),
    List(Type),
    Other,
}

/// A field of a composite type or tuple.
pub(super) struct FieldType<'a> {
    /// Empty in a tuple.
    pub name: Arc<str>,
    pub ty: Type,
    pub annotations: &'a [Annotation],
}

/// Puts types in the place of type parameters.
pub(super) fn substitute(ty: &Type, with: &BTreeMap<NodeId, Type>) -> Type {
    let all = |list: &[Type]| list.iter().map(|t| substitute(t, with)).collect::<Vec<_>>();
    match ty {
        Type::Parameter(id) => with.get(id).unwrap_or(ty).clone(),
        Type::Composite(id, arguments) if !arguments.is_empty() => {
            Type::Composite(*id, all(arguments))
        }
        Type::Object(id, arguments) if !arguments.is_empty() => Type::Object(*id, all(arguments)),
        Type::Stack(base, size) => Type::Stack(Box::new(substitute(base, with)), *size),
        Type::Tuple(list) => Type::Tuple(all(list)),
        Type::Fields(list) => Type::Fields(
            list.iter()
                .map(|(name, t)| (name.clone(), substitute(t, with)))
                .collect(),
        ),
        Type::List(base) => Type::List(Box::new(substitute(base, with))),
        Type::Set(base) => Type::Set(Box::new(substitute(base, with))),
        Type::Name(base) => Type::Name(Box::new(substitute(base, with))),
        _ => ty.clone(),
    }
}

impl<'a> Lowerer<'a> {
    /// The type of an expression or type expression where it stands now.
    pub fn type_of(&self, id: NodeId) -> Type {
        match self.checked.types.get(&id) {
            Some(Type::Name(inner)) => substitute(inner, &self.types),
            Some(ty) => substitute(ty, &self.types),
            None => Type::Unknown,
        }
    }

    /// Without the names that `type` gave.
    pub fn plain(&self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        // A type made from itself is refused by the checker; a bound keeps this safe all the same.
        for _ in 0..64 {
            match &ty {
                Type::New(id) => match self.index.get(*id) {
                    Some(Node::Declaration(declaration)) => match &declaration.kind {
                        DeclarationKind::NewType { ty: base, .. } => ty = self.type_of(base.id),
                        _ => break,
                    },
                    _ => break,
                },
                Type::Name(inner) | Type::Set(inner) => ty = (**inner).clone(),
                _ => break,
            }
        }
        ty
    }

    pub fn shape(&mut self, ty: &Type) -> Shape {
        match self.plain(ty) {
            Type::Bool => Shape::Scalar(Ty::Bool, None),
            Type::Bits(width) => Shape::Scalar(Ty::Bits(width), None),
            Type::Signed(width) => Shape::Scalar(Ty::Signed(width), None),
            Type::Varbit(width) => Shape::Scalar(Ty::Varbit(width), None),
            Type::Error => Shape::Scalar(Ty::Bits(32), Some(EnumId(0))),
            Type::MatchKind => Shape::Scalar(Ty::Bits(32), None),
            Type::Enum(id) => {
                let enumeration = self.enumeration(id);
                let ty = match self.underlying(id) {
                    Some(ty) => match self.plain(&ty) {
                        Type::Signed(width) => Ty::Signed(width),
                        Type::Bits(width) => Ty::Bits(width),
                        _ => Ty::Bits(32),
                    },
                    None => Ty::Bits(32),
                };
                Shape::Scalar(ty, Some(enumeration))
            }
            Type::Composite(id, _) => match self.composite_kind(id) {
                Some(CompositeKind::Header) => Shape::Header,
                Some(CompositeKind::Union) => Shape::Union,
                Some(CompositeKind::Struct) => Shape::Struct,
                None => Shape::Other,
            },
            Type::Tuple(_) | Type::Fields(_) => Shape::Struct,
            Type::Stack(base, size) => match self.shape(&base) {
                Shape::Header | Shape::Union => Shape::Stack(*base, size),
                _ => Shape::Array(*base, size),
            },
            Type::List(base) => Shape::List(*base),
            _ => Shape::Other,
        }
    }

    /// The scalar that a type is.
    pub fn scalar(&mut self, ty: &Type) -> Option<Ty> {
        match self.shape(ty) {
            Shape::Scalar(ty, _) => Some(ty),
            _ => None,
        }
    }

    pub fn composite_kind(&self, id: NodeId) -> Option<CompositeKind> {
        match self.index.get(id) {
            Some(Node::Declaration(declaration)) => match &declaration.kind {
                DeclarationKind::Composite { kind, .. } => Some(*kind),
                _ => None,
            },
            _ => None,
        }
    }

    /// The fields of a composite type or tuple, in order.
    pub fn fields(&self, ty: &Type) -> Vec<FieldType<'a>> {
        match self.plain(ty) {
            Type::Composite(id, arguments) => {
                let Some(Node::Declaration(declaration)) = self.index.get(id) else {
                    return Vec::new();
                };
                let DeclarationKind::Composite {
                    type_parameters,
                    fields,
                    ..
                } = &declaration.kind
                else {
                    return Vec::new();
                };
                let with: BTreeMap<NodeId, Type> = type_parameters
                    .iter()
                    .map(|p| p.id)
                    .zip(arguments)
                    .collect();
                fields
                    .iter()
                    .map(|field| {
                        let ty = self
                            .checked
                            .types
                            .get(&field.ty.id)
                            .map_or(Type::Unknown, |ty| substitute(ty, &with));
                        FieldType {
                            name: field.name.text.clone(),
                            ty: match ty {
                                Type::Name(inner) => *inner,
                                ty => ty,
                            },
                            annotations: &field.annotations,
                        }
                    })
                    .collect()
            }
            Type::Tuple(list) => list
                .into_iter()
                .map(|ty| FieldType {
                    name: "".into(),
                    ty,
                    annotations: &[],
                })
                .collect(),
            Type::Fields(list) => list
                .into_iter()
                .map(|(name, ty)| FieldType {
                    name,
                    ty,
                    annotations: &[],
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Where a field stands in its type, by its name.
    pub fn field_position(&self, ty: &Type, name: &str) -> Option<usize> {
        match self.plain(ty) {
            Type::Composite(id, _) => match self.index.get(id) {
                Some(Node::Declaration(declaration)) => match &declaration.kind {
                    DeclarationKind::Composite { fields, .. } => {
                        fields.iter().position(|f| &*f.name.text == name)
                    }
                    _ => None,
                },
                _ => None,
            },
            Type::Fields(list) => list.iter().position(|(n, _)| &**n == name),
            _ => None,
        }
    }

    /// The name of a type as `ir` shows it, without arguments.
    pub fn type_name(&self, ty: &Type) -> Arc<str> {
        let id = match self.plain(ty) {
            Type::Composite(id, _) | Type::Object(id, _) | Type::Enum(id) => id,
            Type::Bool => return "bool".into(),
            Type::Bits(width) => return alloc::format!("bit<{width}>").into(),
            Type::Signed(width) => return alloc::format!("int<{width}>").into(),
            Type::Varbit(width) => return alloc::format!("varbit<{width}>").into(),
            Type::Error => return "error".into(),
            Type::Tuple(_) => return "tuple".into(),
            _ => return "".into(),
        };
        match self.index.get(id) {
            Some(Node::Declaration(declaration)) => super::names::declared(declaration),
            _ => "".into(),
        }
    }

    /// The type that a serialisable enum has below it.
    pub fn underlying(&self, id: NodeId) -> Option<Type> {
        match self.index.get(id) {
            Some(Node::Declaration(declaration)) => match &declaration.kind {
                DeclarationKind::Enum { underlying, .. } => {
                    underlying.as_ref().map(|ty| self.type_of(ty.id))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The enumeration of an enum's declaration.
    pub fn enumeration(&mut self, id: NodeId) -> EnumId {
        if let Some(known) = self.enumerations.get(&id) {
            return *known;
        }
        let mut made = Enumeration {
            name: "".into(),
            width: 32,
            members: Vec::new(),
        };
        if let Some(Node::Declaration(declaration)) = self.index.get(id)
            && let DeclarationKind::Enum { name, members, .. } = &declaration.kind
        {
            made.name = name.text.clone();
            let underlying = self.underlying(id).map(|ty| self.plain(&ty));
            if let Some(Type::Bits(width) | Type::Signed(width)) = underlying {
                made.width = width;
            }
            for (place, member) in members.iter().enumerate() {
                let value = match (&underlying, &member.value) {
                    (Some(_), Some(value)) => match self.checked.constants.get(&value.id) {
                        Some(Constant::Integer(value)) => Bits::from_int(made.width, value),
                        _ => Bits::zero(made.width),
                    },
                    _ => Bits::new(made.width, place as u32),
                };
                made.members.push((member.name.text.clone(), value));
            }
        }
        let number = EnumId(self.program.enumerations.len() as u32);
        self.program.enumerations.push(made);
        self.enumerations.insert(id, number);
        number
    }

    /// How many bits all scalars of a type have, headers as if valid; of varbits the most.
    pub fn width_of(&mut self, ty: &Type, depth: u32) -> u64 {
        if depth > super::MAX_DEPTH {
            return 0;
        }
        match self.shape(ty) {
            Shape::Scalar(ty, _) => u64::from(ty.width()),
            Shape::Stack(base, size) | Shape::Array(base, size) => {
                u64::from(size).saturating_mul(self.width_of(&base, depth + 1))
            }
            Shape::Struct | Shape::Header | Shape::Union => {
                let fields = self.fields(ty);
                fields
                    .iter()
                    .map(|f| self.width_of(&f.ty, depth + 1))
                    .fold(0, u64::saturating_add)
            }
            Shape::List(_) | Shape::Other => 0,
        }
    }
}
