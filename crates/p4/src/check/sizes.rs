//! How large types are.

use super::checker::{Checker, MAX_SCALARS, MAX_TYPE_DEPTH};
use super::substitution::{MAX_TYPE_SIZE, size};
use crate::ast::{CompositeKind, NodeId};
use crate::source::Span;
use crate::types::Type;
use alloc::vec::Vec;
use num_traits::Zero;

impl<'a> Checker<'a> {
    /// The type, unless it is too large to work with.
    pub(super) fn bounded(&mut self, ty: Type, span: Span) -> Type {
        let wrong = if size(&ty) > MAX_TYPE_SIZE || self.nesting(&ty) > MAX_TYPE_DEPTH {
            true
        } else {
            matches!(ty, Type::Composite(..) | Type::Tuple(_) | Type::Stack(..))
                && self.scalars(&ty) > MAX_SCALARS
        };
        if wrong {
            self.error(
                "type-too-large",
                span,
                "this type has too many parts, or nests too deeply",
            );
            return Type::Unknown;
        }
        ty
    }

    /// How deep a type nests, through fields too.
    pub(super) fn nesting(&self, ty: &Type) -> u32 {
        let most = |parts: &[Type]| {
            parts
                .iter()
                .map(|part| self.nesting(part))
                .max()
                .unwrap_or(0)
        };
        let own = |id: &NodeId| self.nesting.get(id).copied().unwrap_or(0);
        match ty {
            Type::Composite(id, arguments) | Type::Object(id, arguments) => {
                1 + own(id) + most(arguments)
            }
            Type::New(id) => 1 + own(id),
            Type::Tuple(parts) => 1 + most(parts),
            Type::Stack(part, _) | Type::List(part) | Type::Set(part) | Type::Name(part) => {
                1 + self.nesting(part)
            }
            Type::Fields(fields) => {
                1 + fields
                    .iter()
                    .map(|(_, part)| self.nesting(part))
                    .max()
                    .unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// How many scalars a type has.
    pub(super) fn scalars(&mut self, ty: &Type) -> u64 {
        let parts: Vec<Type> = match ty {
            Type::Composite(id, arguments) => {
                if let Some(count) = self.scalars.get(ty) {
                    return *count;
                }
                self.fields(*id, arguments)
                    .into_iter()
                    .map(|(_, ty)| ty)
                    .collect()
            }
            Type::Tuple(parts) => parts.clone(),
            Type::Stack(part, count) => {
                return self.scalars(part).saturating_mul(u64::from(*count));
            }
            _ => return 1,
        };
        let count = parts
            .iter()
            .fold(1u64, |sum, part| sum.saturating_add(self.scalars(part)));
        if matches!(ty, Type::Composite(..)) {
            self.scalars.insert(ty.clone(), count);
        }
        count
    }

    /// How many bits a type has at least and at most on the wire, if it has a size (9.1).
    pub(super) fn sizes(&mut self, ty: &Type) -> Option<(u64, u64)> {
        let ty = self.known(ty);
        if let Some(size) = self.sizes.get(&ty) {
            return *size;
        }
        let size = self.sizes_of(&ty);
        self.sizes.insert(ty, size);
        size
    }

    pub(super) fn sizes_of(&mut self, ty: &Type) -> Option<(u64, u64)> {
        let fixed = |width: u64| Some((width, width));
        match ty {
            Type::Bool => fixed(1),
            Type::Bits(width) | Type::Signed(width) => fixed(u64::from(*width)),
            Type::Varbit(width) => Some((0, u64::from(*width))),
            Type::Enum(id) => {
                let underlying = self.underlying(*id)?;
                self.sizes(&underlying)
            }
            Type::New(id) => {
                let under = self.type_of(*id);
                self.sizes(&under)
            }
            Type::Tuple(parts) => self.sum_of_sizes(parts),
            Type::Stack(base, count) => {
                let (least, most) = self.sizes(base)?;
                Some((
                    least.saturating_mul(u64::from(*count)),
                    most.saturating_mul(u64::from(*count)),
                ))
            }
            Type::Composite(id, arguments) => {
                let parts: Vec<Type> = self
                    .fields(*id, arguments)
                    .into_iter()
                    .map(|(_, ty)| ty)
                    .collect();
                if self.is_kind(ty, CompositeKind::Union) {
                    let mut least = u64::MAX;
                    let mut most = 0;
                    for part in &parts {
                        let (low, high) = self.sizes(part)?;
                        least = least.min(low);
                        most = most.max(high);
                    }
                    Some(if least.is_zero() || parts.is_empty() {
                        (0, most)
                    } else {
                        (least, most)
                    })
                } else {
                    self.sum_of_sizes(&parts)
                }
            }
            _ => None,
        }
    }

    pub(super) fn sum_of_sizes(&mut self, parts: &[Type]) -> Option<(u64, u64)> {
        let mut sum = (0u64, 0u64);
        for part in parts {
            let (least, most) = self.sizes(part)?;
            sum = (sum.0.saturating_add(least), sum.1.saturating_add(most));
        }
        Some(sum)
    }
}
