//! Elements of stacks and tuples, and slices of numbers (specification 8.6 and 8.13).

use super::checker::{Checker, Entity};
use super::constants;
use crate::ast::{DeclarationKind, Direction, Expression, ExpressionKind};
use crate::types::{Constant, Type};
use alloc::format;
use num_traits::ToPrimitive;

impl<'a> Checker<'a> {
    pub(super) fn index(
        &mut self,
        e: &'a Expression,
        base: &'a Expression,
        index: &'a Expression,
    ) -> Type {
        let ty = self.value(base);
        let index_type = self.value(index);
        let number = self.numeric(&index_type);
        if !matches!(
            number,
            Type::Bits(_) | Type::Signed(_) | Type::Integer | Type::Unknown
        ) {
            let text = self.show(&index_type);
            self.error(
                "index",
                index.span,
                format!("an index is a number, and this is `{text}`"),
            );
            return Type::Unknown;
        }
        let at = match self.constant(index) {
            Some(Constant::Integer(value)) => Some(value.clone()),
            _ => None,
        };
        let length = match &ty {
            Type::Stack(_, length) => *length as usize,
            Type::Tuple(parts) => parts.len(),
            Type::Unknown => return Type::Unknown,
            other => {
                let text = self.show(other);
                self.error(
                    "index",
                    e.span,
                    format!("`{text}` has no elements to take by index"),
                );
                return Type::Unknown;
            }
        };
        if let Some(at) = &at {
            if at.sign() == num_bigint::Sign::Minus {
                self.error(
                    "index",
                    index.span,
                    format!("an index cannot be negative, and this is {at}"),
                );
                return Type::Unknown;
            }
            if at.to_usize().is_none_or(|at| at >= length.max(1)) {
                self.error(
                    "index",
                    index.span,
                    format!(
                        "index {at} is outside: the elements are 0 to {}",
                        length.saturating_sub(1)
                    ),
                );
                return Type::Unknown;
            }
        }
        let at = at.and_then(|at| at.to_usize());
        match (ty, at) {
            (Type::Stack(element, _), _) => *element,
            (Type::Tuple(parts), Some(at)) => {
                if let Some(Constant::List(values)) = self.constant(base)
                    && let Some(value) = values.get(at).cloned()
                {
                    self.constant_is(e, value);
                }
                parts[at].clone()
            }
            (Type::Tuple(_), None) => {
                self.error(
                    "index",
                    index.span,
                    "the index into a tuple must be known while compiling",
                );
                Type::Unknown
            }
            _ => Type::Unknown,
        }
    }

    pub(super) fn slice_bound(&mut self, e: &'a Expression) -> Option<u32> {
        let ty = self.value(e);
        let number = self.numeric(&ty);
        match number {
            Type::Integer | Type::Bits(_) | Type::Signed(_) => {}
            Type::Unknown => return None,
            other => {
                let text = self.show(&other);
                self.error(
                    "slice",
                    e.span,
                    format!("a bound of a slice is a number, and this is `{text}`"),
                );
                return None;
            }
        }
        match self.constant(e).cloned() {
            Some(Constant::Integer(value)) => {
                if value.sign() == num_bigint::Sign::Minus {
                    self.error(
                        "slice",
                        e.span,
                        format!("a bound of a slice cannot be negative, and this is {value}"),
                    );
                    return None;
                }
                Some(value.to_u32().unwrap_or(u32::MAX))
            }
            _ => {
                self.error(
                    "slice",
                    e.span,
                    "the bounds of a slice must be known while compiling",
                );
                None
            }
        }
    }

    pub(super) fn sliced(&mut self, base: &'a Expression) -> Option<Type> {
        let ty = self.value(base);
        let number = self.numeric(&ty);
        match number {
            Type::Bits(_) | Type::Signed(_) | Type::Integer => Some(number),
            Type::Unknown => None,
            _ => {
                let text = self.show(&ty);
                self.error(
                    "slice",
                    base.span,
                    format!("only numbers have slices, and this is `{text}`"),
                );
                None
            }
        }
    }

    pub(super) fn slice(
        &mut self,
        e: &'a Expression,
        base: &'a Expression,
        high: &'a Expression,
        low: &'a Expression,
    ) -> Type {
        let number = self.sliced(base);
        let (top, bottom) = (self.slice_bound(high), self.slice_bound(low));
        let (Some(number), Some(top), Some(bottom)) = (number, top, bottom) else {
            return Type::Unknown;
        };
        self.slice_of(e, base, &number, top, bottom, high)
    }

    pub(super) fn slice_of(
        &mut self,
        e: &'a Expression,
        base: &'a Expression,
        number: &Type,
        top: u32,
        bottom: u32,
        high: &'a Expression,
    ) -> Type {
        let width = match number {
            Type::Bits(width) | Type::Signed(width) => *width,
            _ => super::checker::MAX_WIDTH,
        };
        if top >= width {
            let text = self.show(number);
            self.error(
                "slice",
                high.span,
                format!(
                    "bit {top} is outside of `{text}`, whose bits are 0 to {}",
                    width.saturating_sub(1)
                ),
            );
            return Type::Unknown;
        }
        if bottom > top {
            self.error(
                "slice",
                e.span,
                format!("the upper bound of a slice comes first, and {top} is less than {bottom}"),
            );
            return Type::Unknown;
        }
        if let Some(Constant::Integer(value)) = self.constant(base) {
            let value = constants::slice(value, top, bottom);
            self.constant_is(e, value);
        }
        Type::Bits(top - bottom + 1)
    }

    /// `base[low +: width]`
    pub(super) fn plus_slice(
        &mut self,
        e: &'a Expression,
        base: &'a Expression,
        low: &'a Expression,
        width: &'a Expression,
    ) -> Type {
        let number = self.sliced(base);
        let low_type = self.value(low);
        let low_number = self.numeric(&low_type);
        let width_value = self.slice_bound(width);
        if !matches!(low_number, Type::Integer | Type::Bits(_) | Type::Unknown) {
            let text = self.show(&low_type);
            self.error(
                "slice",
                low.span,
                format!("the lowest bit of a slice is an unsigned number, and this is `{text}`"),
            );
            return Type::Unknown;
        }
        let (Some(number), Some(width_value)) = (number, width_value) else {
            return Type::Unknown;
        };
        if width_value == 0 {
            self.error("slice", width.span, "a slice has at least one bit");
            return Type::Unknown;
        }
        if let Some(Constant::Integer(bottom)) = self.constant(low).cloned() {
            if bottom.sign() == num_bigint::Sign::Minus {
                self.error("slice", low.span, format!("negative bit index {bottom}"));
                return Type::Unknown;
            }
            let bottom = bottom.to_u32().unwrap_or(u32::MAX / 2);
            return self.slice_of(
                e,
                base,
                &number,
                bottom.saturating_add(width_value - 1),
                bottom,
                width,
            );
        }
        if let Type::Bits(all) | Type::Signed(all) = number
            && width_value > all
        {
            self.error(
                "slice",
                width.span,
                format!("a slice of {width_value} bits is wider than its number of {all} bits"),
            );
            return Type::Unknown;
        }
        Type::Bits(width_value)
    }

    /// Says why an expression cannot be written to; `None` when it can (6.7).
    pub(super) fn why_not_writable(&self, e: &'a Expression) -> Option<&'static str> {
        match &e.kind {
            ExpressionKind::Broken => None,
            ExpressionKind::Path { .. } => {
                let entity = self
                    .out
                    .references
                    .get(&e.id)
                    .and_then(|id| self.entity(*id))?;
                match entity {
                    Entity::Parameter(parameter) => match parameter.direction {
                        _ if self.constructor_parameters.contains(&parameter.id) => {
                            Some("it is a constructor parameter")
                        }
                        Direction::Out | Direction::InOut => None,
                        Direction::In => Some("it is an `in` parameter"),
                        Direction::None => Some("it is a parameter without a direction"),
                    },
                    Entity::Declaration(declaration) => match &declaration.kind {
                        DeclarationKind::Variable { .. } => None,
                        DeclarationKind::Constant { .. } => Some("it is a constant"),
                        DeclarationKind::Instance { .. } => Some("it is an instance"),
                        _ => Some("it is not a variable"),
                    },
                    _ => Some("it is not a variable"),
                }
            }
            ExpressionKind::Member { base, member } => {
                match self.out.types.get(&base.id).map(|ty| self.shallow(ty)) {
                    Some(Type::Stack(..)) => match &*member.text {
                        "next" | "last" => self.why_not_writable(base),
                        _ => Some("the size and indices of a stack are read-only"),
                    },
                    Some(Type::Unknown) => None,
                    Some(Type::Composite(..)) => self.why_not_writable(base),
                    _ => Some("it is not a field"),
                }
            }
            ExpressionKind::Index { base, .. }
            | ExpressionKind::Slice { base, .. }
            | ExpressionKind::PlusSlice { base, .. } => self.why_not_writable(base),
            _ => Some("it is not a variable, nor a part of one"),
        }
    }

    /// Complains when an expression cannot be written to.
    pub(super) fn must_be_writable(&mut self, e: &'a Expression) -> bool {
        match self.why_not_writable(e) {
            None => true,
            Some(why) => {
                self.error(
                    "not-an-l-value",
                    e.span,
                    format!("this cannot be written to: {why}"),
                );
                false
            }
        }
    }
}
