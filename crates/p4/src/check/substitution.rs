//! Types in the place of type parameters.

use crate::ast::{NodeId, TypeParameter};
use crate::types::Type;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Type for each type parameter.
pub(super) type Substitution = Vec<(NodeId, Type)>;

/// Maximum size of a type, counted in its parts.
pub(super) const MAX_TYPE_SIZE: usize = 10_000;

/// Pairs parameters with arguments.
pub(super) fn substitution(parameters: &[TypeParameter], arguments: &[Type]) -> Substitution {
    parameters
        .iter()
        .map(|p| p.id)
        .zip(arguments.iter().cloned())
        .collect()
}

/// Rebuilds a type with its parts changed.
pub(super) fn map(ty: &Type, change: &mut dyn FnMut(&Type) -> Type) -> Type {
    let mut all = |types: &[Type]| -> Vec<Type> { types.iter().map(&mut *change).collect() };
    match ty {
        Type::Composite(id, arguments) => Type::Composite(*id, all(arguments)),
        Type::Object(id, arguments) => Type::Object(*id, all(arguments)),
        Type::Tuple(parts) => Type::Tuple(all(parts)),
        Type::Fields(fields) => Type::Fields(
            fields
                .iter()
                .map(|(name, ty)| (name.clone(), change(ty)))
                .collect(),
        ),
        Type::Stack(base, size) => Type::Stack(Box::new(change(base)), *size),
        Type::List(part) => Type::List(Box::new(change(part))),
        Type::Set(part) => Type::Set(Box::new(change(part))),
        Type::Name(part) => Type::Name(Box::new(change(part))),
        other => other.clone(),
    }
}

/// Visits a type and its parts until told to stop.
pub(super) fn any(ty: &Type, test: &mut dyn FnMut(&Type) -> bool) -> bool {
    if test(ty) {
        return true;
    }
    match ty {
        Type::Composite(_, parts) | Type::Object(_, parts) | Type::Tuple(parts) => {
            parts.iter().any(|part| any(part, test))
        }
        Type::Fields(fields) => fields.iter().any(|(_, part)| any(part, test)),
        Type::Stack(part, _) | Type::List(part) | Type::Set(part) | Type::Name(part) => {
            any(part, test)
        }
        _ => false,
    }
}

/// How many parts a type has.
pub(super) fn size(ty: &Type) -> usize {
    let mut count = 0;
    any(ty, &mut |_| {
        count += 1;
        count > MAX_TYPE_SIZE
    });
    count
}

/// Puts types in the place of type parameters.
pub(super) fn substitute(ty: &Type, substitution: &Substitution) -> Type {
    if substitution.is_empty() {
        return ty.clone();
    }
    match ty {
        Type::Parameter(id) => substitution
            .iter()
            .find(|(from, _)| from == id)
            .map_or_else(|| ty.clone(), |(_, to)| to.clone()),
        _ => map(ty, &mut |part| substitute(part, substitution)),
    }
}
