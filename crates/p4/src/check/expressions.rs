//! Expressions (specification 8).

use super::checker::{Checker, Entity, Place};
use super::constants;
use crate::ast::{
    CompositeKind, DeclarationKind, Direction, Expression, ExpressionKind, Name, TypeExpression,
};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use num_traits::ToPrimitive;

impl<'a> Checker<'a> {
    /// The type of an expression that stands for a value.
    pub(super) fn value(&mut self, e: &'a Expression) -> Type {
        let ty = self.expression(e);
        let ty = self.known(&ty);
        let what = match &ty {
            Type::Name(of) => format!("the type `{}`", self.show(of)),
            Type::Callable(_) => "a function or action that is not called".into(),
            Type::Table(_) => "a table".into(),
            Type::State => "a parser state".into(),
            Type::Void => "a call that gives nothing".into(),
            _ => return ty,
        };
        self.error(
            "not-a-value",
            e.span,
            format!("a value is needed here, and this is {what}"),
        );
        self.record(e.id, Type::Unknown);
        Type::Unknown
    }

    /// The type of an expression of whatever kind.
    pub(super) fn expression(&mut self, e: &'a Expression) -> Type {
        let ty = self.deeper(e.span, Type::Unknown, |checker| checker.expression_kind(e));
        self.record(e.id, ty.clone());
        ty
    }

    fn constant_is(&mut self, e: &Expression, value: Constant) {
        self.out.constants.insert(e.id, value);
    }

    fn expression_kind(&mut self, e: &'a Expression) -> Type {
        match &e.kind {
            ExpressionKind::Integer { value, width } => {
                let ty = match width {
                    None => Type::Integer,
                    Some((width, true)) => Type::Signed(*width),
                    Some((width, false)) => Type::Bits(*width),
                };
                if let Some((width, signed)) = width
                    && let Some((least, most)) = constants::bounds(&ty)
                    && (*value < least || *value > most)
                {
                    let letter = if *signed { 's' } else { 'w' };
                    let fits = self.show(&ty);
                    self.warn(
                        "does-not-fit",
                        e.span,
                        format!("the literal {width}{letter}{value} does not fit in `{fits}`"),
                    );
                }
                if matches!(width, Some((0, true))) {
                    self.error(
                        "width",
                        e.span,
                        "the width of a signed number is at least 1",
                    );
                }
                self.constant_is(e, Constant::Integer(constants::wrap(value, &ty)));
                ty
            }
            ExpressionKind::Bool(value) => {
                self.constant_is(e, Constant::Bool(*value));
                Type::Bool
            }
            ExpressionKind::String(text) => {
                self.constant_is(e, Constant::String(text.clone()));
                Type::String
            }
            ExpressionKind::Path { name, absolute } => self.path(e, name, *absolute),
            ExpressionKind::This => match self.this.clone() {
                Some(ty) => ty,
                None => {
                    self.error(
                        "this",
                        e.span,
                        "`this` has a meaning only in the implementation of an abstract method",
                    );
                    Type::Unknown
                }
            },
            ExpressionKind::Type(ty) => Type::Name(Box::new(self.resolve_open(ty))),
            ExpressionKind::Member { base, member } => self.member(e, base, member),
            ExpressionKind::Index { base, index } => self.index(e, base, index),
            ExpressionKind::Slice { base, high, low } => self.slice(e, base, high, low),
            ExpressionKind::PlusSlice { base, low, width } => self.plus_slice(e, base, low, width),
            ExpressionKind::List { elements, .. } => {
                let parts: Vec<Type> = elements.iter().map(|element| self.value(element)).collect();
                let values: Vec<_> = elements
                    .iter()
                    .map(|element| self.constant(element).cloned())
                    .collect();
                self.constant_list(e, &values);
                Type::Tuple(parts)
            }
            ExpressionKind::Struct { fields, .. } => {
                let mut parts: Vec<(_, Type)> = Vec::new();
                for (name, value) in fields {
                    if parts.iter().any(|(other, _)| *other == name.text) {
                        self.error(
                            "duplicate-field",
                            name.span,
                            format!("field `{}` has a value twice", name.text),
                        );
                    }
                    let ty = self.value(value);
                    parts.push((name.text.clone(), ty));
                }
                let values: Vec<_> = fields
                    .iter()
                    .map(|(_, value)| self.constant(value).cloned())
                    .collect();
                self.constant_list(e, &values);
                Type::Fields(parts)
            }
            ExpressionKind::Invalid => Type::Invalid,
            ExpressionKind::Dots => Type::Default,
            ExpressionKind::Unary { operator, operand } => self.unary(e, *operator, operand),
            ExpressionKind::Binary {
                operator,
                left,
                right,
            } => self.binary(e, *operator, left, right),
            ExpressionKind::Conditional { condition, yes, no } => {
                self.conditional(e, condition, yes, no)
            }
            ExpressionKind::Cast { ty, operand } => self.explicit_cast(e, ty, operand),
            ExpressionKind::Call {
                callee,
                type_arguments,
                arguments,
            } => self.call(e, callee, type_arguments, arguments),
            ExpressionKind::Mask { value, mask } => self.mask(e, value, mask),
            ExpressionKind::Range { low, high } => self.range(e, low, high),
            ExpressionKind::Default | ExpressionKind::DontCare => {
                self.error(
                    "not-a-value",
                    e.span,
                    "a value is needed here; `_` and `default` stand only in sets of values and for `out` arguments",
                );
                Type::Unknown
            }
            ExpressionKind::Broken => Type::Unknown,
        }
    }

    fn path(&mut self, e: &'a Expression, name: &'a Name, absolute: bool) -> Type {
        let found = self.find(&name.text, absolute);
        let Some(entity) = found.first().copied() else {
            if let Some(member) = self.match_kinds.get(&*name.text) {
                let id = member.id;
                self.refer(e.id, id);
                self.constant_is(e, Constant::Member(id));
                return Type::MatchKind;
            }
            self.not_found(name, "the name");
            return Type::Unknown;
        };
        self.refer(e.id, entity.id());
        if let Some(ty) = self.type_named(entity) {
            return Type::Name(Box::new(ty));
        }
        match entity {
            Entity::Declaration(declaration) => match &declaration.kind {
                DeclarationKind::Constant { .. } => {
                    if let Some(value) = self.out.constants.get(&declaration.id).cloned() {
                        self.constant_is(e, value);
                    }
                    self.type_of(declaration.id)
                }
                DeclarationKind::Variable { .. } | DeclarationKind::Instance { .. } => {
                    self.type_of(declaration.id)
                }
                DeclarationKind::ValueSet { .. } => self.type_of(declaration.id),
                DeclarationKind::Table(_) => Type::Table(declaration.id),
                _ => Type::Callable(declaration.id),
            },
            Entity::Parameter(parameter) => self.type_of(parameter.id),
            Entity::State(_) => Type::State,
            Entity::Member(member) => {
                if let Some(value) = self.out.constants.get(&member.id).cloned() {
                    self.constant_is(e, value);
                }
                self.type_of(member.id)
            }
            _ => Type::Unknown,
        }
    }

    fn conditional(
        &mut self,
        e: &'a Expression,
        condition: &'a Expression,
        yes: &'a Expression,
        no: &'a Expression,
    ) -> Type {
        self.condition(condition);
        let (left, right) = (self.value(yes), self.value(no));
        let chosen = match self.constant(condition) {
            Some(Constant::Bool(true)) => Some(yes),
            Some(Constant::Bool(false)) => Some(no),
            _ => None,
        };
        if left == Type::Integer && right == Type::Integer && chosen.is_none() {
            self.tell(
                Diagnostic::error(
                    "no-width",
                    e.span,
                    "at least one of the two alternatives must have a width, as the condition is not known while compiling",
                )
                .help("write a width: `8w1`"),
            );
            return Type::Unknown;
        }
        let Some(ty) = self.agree(e, yes, no) else {
            return Type::Unknown;
        };
        if let Some(chosen) = chosen
            && let Some(value) = self.cast_value(chosen)
        {
            self.constant_is(e, value);
        }
        ty
    }

    /// A condition: a `bool`.
    pub(super) fn condition(&mut self, e: &'a Expression) {
        let ty = self.value(e);
        if !self.unify(&ty, &Type::Bool) {
            let text = self.show(&ty);
            let mut diagnostic = Diagnostic::error(
                "not-a-bool",
                e.span,
                format!("a condition is a `bool`, and this is `{text}`"),
            );
            if matches!(ty, Type::Bits(_) | Type::Signed(_) | Type::Integer) {
                diagnostic = diagnostic.help("compare it: `... != 0`");
            }
            self.tell(diagnostic);
        }
    }

    fn explicit_cast(
        &mut self,
        e: &'a Expression,
        ty: &'a TypeExpression,
        operand: &'a Expression,
    ) -> Type {
        let to = self.resolve(ty);
        let from = self.value(operand);
        if matches!(from, Type::Unknown) || matches!(to, Type::Unknown) {
            return to;
        }
        if matches!(to, Type::Void | Type::Object(..) | Type::Variable(_)) || self.is_open(&to) {
            let text = self.show(&to);
            self.error("cast", e.span, format!("nothing can be cast to `{text}`"));
            return Type::Unknown;
        }
        if to == Type::Bool && from == Type::Integer {
            let good = matches!(self.constant(operand), Some(Constant::Integer(v)) if v.to_u8().is_some_and(|v| v < 2));
            if !good {
                self.error("cast", e.span, "only 0 and 1 can be cast to `bool`");
                return Type::Unknown;
            }
        }
        if self.castable(&from, &to) {
            if from == Type::Integer {
                let number = self.numeric(&to);
                self.check_fits(operand, &number);
            }
            if let Some(value) = self.constant(operand).cloned()
                && let Some(value) = self.cast_constant(&value, &to)
            {
                self.constant_is(e, value);
            }
            return to;
        }
        let literal = matches!(
            from,
            Type::Tuple(_) | Type::Fields(_) | Type::Invalid | Type::Default
        ) || matches!(
            operand.kind,
            ExpressionKind::List { .. } | ExpressionKind::Struct { .. }
        );
        if literal {
            if !self.coerce(operand, &from, &to) {
                return Type::Unknown;
            }
            if let Some(value) = self.cast_value(operand) {
                self.constant_is(e, value);
            }
            return to;
        }
        let (from_text, to_text) = (self.show(&from), self.show(&to));
        let mut diagnostic = Diagnostic::error(
            "cast",
            e.span,
            format!("`{from_text}` cannot be cast to `{to_text}`"),
        );
        if let (Type::Bits(a) | Type::Signed(a), Type::Signed(b) | Type::Bits(b)) = (&from, &to)
            && a != b
        {
            let between = match from {
                Type::Bits(_) => format!("bit<{b}>"),
                _ => format!("int<{b}>"),
            };
            diagnostic = diagnostic.help(format!(
                "change the width first and the sign then: `({to_text})({between})...`"
            ));
        }
        self.tell(diagnostic);
        Type::Unknown
    }

    fn index(&mut self, e: &'a Expression, base: &'a Expression, index: &'a Expression) -> Type {
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

    fn slice_bound(&mut self, e: &'a Expression) -> Option<u32> {
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

    fn sliced(&mut self, base: &'a Expression) -> Option<Type> {
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

    fn slice(
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

    fn slice_of(
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
            _ => super::checker::WIDEST,
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
    fn plus_slice(
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

    fn mask(&mut self, _e: &'a Expression, value: &'a Expression, mask: &'a Expression) -> Type {
        let (left, right) = (self.value(value), self.value(mask));
        match self.set_operands(value, &left, mask, &right, "&&&") {
            Some(ty) => Self::set(ty),
            None => Type::Unknown,
        }
    }

    fn range(&mut self, _e: &'a Expression, low: &'a Expression, high: &'a Expression) -> Type {
        let (left, right) = (self.value(low), self.value(high));
        match self.set_operands(low, &left, high, &right, "..") {
            Some(ty) => Self::set(ty),
            None => Type::Unknown,
        }
    }

    /// The operands of `&&&` and `..`: numbers of one type.
    fn set_operands(
        &mut self,
        left: &'a Expression,
        left_type: &Type,
        right: &'a Expression,
        right_type: &Type,
        operator: &str,
    ) -> Option<Type> {
        let (x, y) = (self.shallow(left_type), self.shallow(right_type));
        let number = |ty: &Type| {
            matches!(
                ty,
                Type::Bits(_)
                    | Type::Signed(_)
                    | Type::Integer
                    | Type::Unknown
                    | Type::Enum(_)
                    | Type::New(_)
            )
        };
        for (e, ty) in [(left, &x), (right, &y)] {
            let plain = match ty {
                Type::Enum(id) => self.underlying(*id).is_some(),
                Type::Signed(_) if operator == "&&&" => true,
                other => number(other),
            };
            if !plain {
                let text = self.show(ty);
                self.error(
                    "operand",
                    e.span,
                    format!("`{operator}` is for numbers, and this is `{text}`"),
                );
                return None;
            }
        }
        // Enums with an underlying type count as that, as in arithmetic.
        let (a, b) = (self.numeric(&x), self.numeric(&y));
        if a != x {
            self.cast(left, &a);
        }
        if b != y {
            self.cast(right, &b);
        }
        self.agree_types(left, &a, right, &b)
    }

    /// Fields and whatever else stands behind a dot.
    fn member(&mut self, e: &'a Expression, base: &'a Expression, member: &'a Name) -> Type {
        let ty = self.expression(base);
        let ty = self.known(&ty);
        match &ty {
            Type::Unknown => Type::Unknown,
            Type::Name(named) => self.member_of_type(e, named, member),
            Type::Composite(id, arguments) => {
                if let Some((field, ty)) = self
                    .fields(*id, arguments)
                    .into_iter()
                    .find(|(f, _)| f.name.text == member.text)
                {
                    self.refer(e.id, field.id);
                    if let Some(Constant::List(values)) = self.constant(base)
                        && let Some(index) = self
                            .composite(*id)
                            .and_then(|c| c.3.iter().position(|f| f.id == field.id))
                        && let Some(value) = values.get(index).cloned()
                    {
                        self.constant_is(e, value);
                    }
                    return ty;
                }
                self.no_such_member(&ty, member)
            }
            Type::Fields(fields) => {
                if let Some(index) = fields.iter().position(|(name, _)| *name == member.text) {
                    if let Some(Constant::List(values)) = self.constant(base)
                        && let Some(value) = values.get(index).cloned()
                    {
                        self.constant_is(e, value);
                    }
                    return fields[index].1.clone();
                }
                self.no_such_member(&ty, member)
            }
            Type::Stack(element, length) => {
                let headers = matches!(&**element, Type::Composite(id, _) if self.composite(*id).is_some_and(|c| c.0 != CompositeKind::Struct))
                    || matches!(&**element, Type::Unknown | Type::Parameter(_));
                let in_parser = matches!(
                    self.place,
                    Place::ParserState | Place::ParserLocals | Place::Top
                );
                match &*member.text {
                    "size" => {
                        self.constant_is(e, Constant::Integer((*length).into()));
                        Type::Bits(32)
                    }
                    "lastIndex" | "next" | "last" if headers => {
                        if !in_parser {
                            self.error(
                                "stack",
                                e.span,
                                format!(
                                    "`{}` of a stack can be used only in a parser",
                                    member.text
                                ),
                            );
                        }
                        if &*member.text == "lastIndex" {
                            Type::Bits(32)
                        } else {
                            (**element).clone()
                        }
                    }
                    _ => self.no_such_member(&ty, member),
                }
            }
            Type::ApplyResult(table) => match &*member.text {
                "hit" | "miss" => Type::Bool,
                "action_run" => Type::ActionRun(*table),
                _ => self.no_such_member(&ty, member),
            },
            _ => self.no_such_member(&ty, member),
        }
    }

    fn member_of_type(&mut self, e: &'a Expression, named: &Type, member: &'a Name) -> Type {
        match named {
            Type::Unknown => Type::Unknown,
            Type::Error => match self.errors.get(&*member.text) {
                Some(found) => {
                    let id = found.id;
                    self.refer(e.id, id);
                    self.constant_is(e, Constant::Member(id));
                    Type::Error
                }
                None => {
                    let names: Vec<&str> = self.errors.keys().copied().collect();
                    self.no_member_among(member, "error", &names)
                }
            },
            Type::MatchKind => match self.match_kinds.get(&*member.text) {
                Some(found) => {
                    let id = found.id;
                    self.refer(e.id, id);
                    self.constant_is(e, Constant::Member(id));
                    Type::MatchKind
                }
                None => {
                    let names: Vec<&str> = self.match_kinds.keys().copied().collect();
                    self.no_member_among(member, "match_kind", &names)
                }
            },
            Type::Enum(id) => {
                let Some(DeclarationKind::Enum {
                    members,
                    underlying,
                    ..
                }) = self.declaration(*id).map(|d| &d.kind)
                else {
                    return Type::Unknown;
                };
                match members.iter().find(|m| m.name.text == member.text) {
                    Some(found) => {
                        self.refer(e.id, found.id);
                        let value = if underlying.is_some() {
                            self.out.constants.get(&found.id).cloned()
                        } else {
                            Some(Constant::Member(found.id))
                        };
                        if let Some(value) = value {
                            self.constant_is(e, value);
                        }
                        Type::Enum(*id)
                    }
                    None => {
                        let names: Vec<&str> = members.iter().map(|m| &*m.name.text).collect();
                        let text = self.show(named);
                        self.no_member_among(member, &text, &names)
                    }
                }
            }
            _ => {
                let text = self.show(named);
                self.error(
                    "no-such-member",
                    member.span,
                    format!("the type `{text}` has no member `{}`", member.text),
                );
                Type::Unknown
            }
        }
    }

    fn no_member_among(&mut self, member: &Name, of: &str, names: &[&str]) -> Type {
        let mut diagnostic = Diagnostic::error(
            "no-such-member",
            member.span,
            format!("`{of}` has no member `{}`", member.text),
        );
        if let Some(close) = super::scopes::nearest(&member.text, names.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
        }
        self.tell(diagnostic);
        Type::Unknown
    }

    fn no_such_member(&mut self, ty: &Type, member: &Name) -> Type {
        let text = self.show(ty);
        let code = if matches!(ty, Type::Composite(..)) {
            "no-such-field"
        } else {
            "no-such-member"
        };
        let what = if matches!(ty, Type::Composite(..)) {
            "field"
        } else {
            "member"
        };
        let mut diagnostic = Diagnostic::error(
            code,
            member.span,
            format!("`{text}` has no {what} `{}`", member.text),
        );
        let names: Vec<&str> = match ty {
            Type::Composite(id, _) => self
                .composite(*id)
                .map(|c| c.3.iter().map(|f| &*f.name.text).collect())
                .unwrap_or_default(),
            Type::Stack(..) => ["size", "next", "last", "lastIndex"].into(),
            Type::ApplyResult(_) => ["hit", "miss", "action_run"].into(),
            _ => Vec::new(),
        };
        if let Some(close) = super::scopes::nearest(&member.text, names.into_iter()) {
            diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
        }
        self.tell(diagnostic);
        Type::Unknown
    }

    /// Whether a value of the type can be compared with `==` (8.x of each type).
    pub(super) fn comparable(&self, ty: &Type) -> bool {
        match self.known(ty) {
            Type::Unknown
            | Type::Bool
            | Type::Integer
            | Type::Bits(_)
            | Type::Signed(_)
            | Type::Varbit(_)
            | Type::String
            | Type::Error
            | Type::MatchKind
            | Type::Enum(_)
            | Type::Invalid => true,
            Type::New(id) => self.comparable(&self.type_of(id)),
            Type::Stack(base, _) | Type::List(base) => self.comparable(&base),
            Type::Tuple(parts) => parts.iter().all(|part| self.comparable(part)),
            Type::Fields(fields) => fields.iter().all(|(_, part)| self.comparable(part)),
            Type::Composite(id, arguments) => {
                self.composite(id).is_some_and(|c| {
                    matches!(
                        c.0,
                        CompositeKind::Header | CompositeKind::Struct | CompositeKind::Union
                    )
                }) && self
                    .fields(id, &arguments)
                    .iter()
                    .all(|(_, ty)| self.comparable(ty))
            }
            _ => false,
        }
    }
}
