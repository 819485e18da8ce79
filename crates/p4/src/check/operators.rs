//! Operators (specification 8.5 to 8.10).

use super::checker::Checker;
use super::constants;
use crate::ast::{BinaryOperator, Expression, ExpressionKind, UnaryOperator};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::format;

/// An operator as it is written.
pub(super) fn symbol(operator: BinaryOperator) -> &'static str {
    use BinaryOperator as Op;
    match operator {
        Op::Add => "+",
        Op::Subtract => "-",
        Op::Multiply => "*",
        Op::Divide => "/",
        Op::Modulo => "%",
        Op::SaturatingAdd => "|+|",
        Op::SaturatingSubtract => "|-|",
        Op::ShiftLeft => "<<",
        Op::ShiftRight => ">>",
        Op::BitAnd => "&",
        Op::BitOr => "|",
        Op::BitXor => "^",
        Op::Concat => "++",
        Op::Equal => "==",
        Op::NotEqual => "!=",
        Op::Less => "<",
        Op::LessEqual => "<=",
        Op::Greater => ">",
        Op::GreaterEqual => ">=",
        Op::And => "&&",
        Op::Or => "||",
    }
}

impl<'a> Checker<'a> {
    pub(super) fn unary(
        &mut self,
        e: &'a Expression,
        operator: UnaryOperator,
        operand: &'a Expression,
    ) -> Type {
        let ty = self.value(operand);
        let number = self.numeric(&ty);
        let (fits, sign) = match operator {
            UnaryOperator::Not => (number == Type::Bool, "!"),
            UnaryOperator::Complement => (matches!(number, Type::Bits(_) | Type::Signed(_)), "~"),
            UnaryOperator::Negate => (
                matches!(number, Type::Bits(_) | Type::Signed(_) | Type::Integer),
                "-",
            ),
            UnaryOperator::Plus => (
                matches!(number, Type::Bits(_) | Type::Signed(_) | Type::Integer),
                "+",
            ),
        };
        if number == Type::Unknown {
            return Type::Unknown;
        }
        if !fits {
            let text = self.show(&ty);
            let mut diagnostic = Diagnostic::error(
                "operand",
                e.span,
                format!("`{sign}` cannot be applied to `{text}`"),
            );
            if operator == UnaryOperator::Complement && number == Type::Integer {
                diagnostic = diagnostic.help("give the number a width: `8w1`");
            }
            self.report(diagnostic);
            return Type::Unknown;
        }
        if number != ty {
            self.cast(operand, &number);
        }
        if let Some(value) = self.constant(operand)
            && let Some(value) = constants::unary(operator, value, &number)
        {
            self.out.constants.insert(e.id, value);
        }
        number
    }

    pub(super) fn binary(
        &mut self,
        e: &'a Expression,
        operator: BinaryOperator,
        left: &'a Expression,
        right: &'a Expression,
    ) -> Type {
        let (x, y) = (self.value(left), self.value(right));
        self.binary_types(e, operator, left, &x, right, &y)
    }

    /// As [`Checker::binary`] of operands whose types are known; `e` gets the constant.
    pub(super) fn binary_types(
        &mut self,
        e: &'a Expression,
        operator: BinaryOperator,
        left: &'a Expression,
        x: &Type,
        right: &'a Expression,
        y: &Type,
    ) -> Type {
        use BinaryOperator as Op;
        if *x == Type::Unknown || *y == Type::Unknown {
            return match operator {
                Op::And
                | Op::Or
                | Op::Equal
                | Op::NotEqual
                | Op::Less
                | Op::LessEqual
                | Op::Greater
                | Op::GreaterEqual => Type::Bool,
                _ => Type::Unknown,
            };
        }
        match operator {
            Op::And | Op::Or => {
                for (operand, ty) in [(left, x), (right, y)] {
                    if !self.unify(ty, &Type::Bool) {
                        let text = self.show(ty);
                        self.error(
                            "operand",
                            operand.span,
                            format!(
                                "the operands of `{}` are `bool`, and this is `{text}`",
                                symbol(operator)
                            ),
                        );
                        return Type::Bool;
                    }
                }
                self.fold(e, operator, left, right, &Type::Bool);
                Type::Bool
            }
            Op::Equal | Op::NotEqual => {
                let Some(ty) = self.agree_for(operator, e, left, x, right, y) else {
                    return Type::Bool;
                };
                if matches!(ty, Type::Fields(_)) {
                    self.report(
                        Diagnostic::error(
                            "cannot-infer",
                            e.span,
                            "cannot infer which struct is compared",
                        )
                        .help("name it: `(S) { ... }`"),
                    );
                    return Type::Bool;
                }
                if !self.comparable(&ty) {
                    let text = self.show(&ty);
                    self.error(
                        "operand",
                        e.span,
                        format!("values of `{text}` cannot be compared"),
                    );
                    return Type::Bool;
                }
                self.fold(e, operator, left, right, &ty);
                Type::Bool
            }
            Op::ShiftLeft | Op::ShiftRight => self.shift(e, operator, left, x, right, y),
            Op::Concat => self.concatenation(e, left, x, right, y),
            _ => self.arithmetic(e, operator, left, x, right, y),
        }
    }

    fn fold(
        &mut self,
        e: &Expression,
        operator: BinaryOperator,
        left: &Expression,
        right: &Expression,
        ty: &Type,
    ) {
        if let (Some(a), Some(b)) = (self.cast_value(left), self.cast_value(right))
            && let Some(value) = constants::binary(operator, &a, &b, ty)
        {
            self.out.constants.insert(e.id, value);
        }
    }

    fn arithmetic(
        &mut self,
        e: &'a Expression,
        operator: BinaryOperator,
        left: &'a Expression,
        x: &Type,
        right: &'a Expression,
        y: &Type,
    ) -> Type {
        use BinaryOperator as Op;
        let compares = matches!(
            operator,
            Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual
        );
        // Enums with an underlying type count as that.
        let (a, b) = (self.numeric(x), self.numeric(y));
        for (operand, ty, shown) in [(left, &a, x), (right, &b, y)] {
            let fits = match operator {
                Op::SaturatingAdd
                | Op::SaturatingSubtract
                | Op::BitAnd
                | Op::BitOr
                | Op::BitXor => {
                    matches!(ty, Type::Bits(_) | Type::Signed(_) | Type::Integer)
                }
                _ => matches!(ty, Type::Bits(_) | Type::Signed(_) | Type::Integer),
            };
            if !fits {
                let text = self.show(shown);
                self.error(
                    "operand",
                    operand.span,
                    format!(
                        "`{}` is for numbers, and this is `{text}`",
                        symbol(operator)
                    ),
                );
                return if compares { Type::Bool } else { Type::Unknown };
            }
        }
        if a != *x {
            self.cast(left, &a);
        }
        if b != *y {
            self.cast(right, &b);
        }
        let Some(ty) = self.agree_for(operator, e, left, &a, right, &b) else {
            return if compares { Type::Bool } else { Type::Unknown };
        };
        if ty == Type::Integer && matches!(operator, Op::SaturatingAdd | Op::SaturatingSubtract) {
            self.report(
                Diagnostic::error(
                    "no-width",
                    e.span,
                    format!(
                        "`{}` is for numbers with a width, and these are `int`",
                        symbol(operator)
                    ),
                )
                .help("give one of them a width: `8w1`"),
            );
            return Type::Unknown;
        }
        if matches!(operator, Op::Divide | Op::Modulo)
            && !self.may_divide(e, operator, left, right, &ty)
        {
            return Type::Unknown;
        }
        self.fold(e, operator, left, right, &ty);
        if compares { Type::Bool } else { ty }
    }

    /// `/` and `%` are for unsigned numbers and for positive numbers known while compiling (8.8).
    fn may_divide(
        &mut self,
        e: &Expression,
        operator: BinaryOperator,
        left: &Expression,
        right: &Expression,
        ty: &Type,
    ) -> bool {
        let sign = symbol(operator);
        if matches!(ty, Type::Signed(_)) {
            let text = self.show(ty);
            self.error(
                "division",
                e.span,
                format!("`{sign}` is not defined for signed numbers such as `{text}`"),
            );
            return false;
        }
        for operand in [left, right] {
            // As it is written: a cast makes a negative number positive.
            if let Some(Constant::Integer(value)) = self.constant(operand).cloned() {
                if value.sign() == num_bigint::Sign::Minus {
                    self.error(
                        "division",
                        operand.span,
                        format!(
                            "`{sign}` is not defined for negative numbers, and this is {value}"
                        ),
                    );
                    return false;
                }
                if core::ptr::eq(operand, right) && value.sign() == num_bigint::Sign::NoSign {
                    self.error("division", operand.span, "division by zero");
                    return false;
                }
            } else if self.is_input(operand) && !self.is_power_of_two(right) {
                self.report(
                    Diagnostic::error(
                        "division",
                        operand.span,
                        format!("the operands of `{sign}` must be known while compiling, or the right one be a power of two"),
                    )
                );
                return false;
            }
        }
        true
    }

    /// `/` and `%` by such a number are a shift and a mask.
    fn is_power_of_two(&self, e: &Expression) -> bool {
        matches!(self.constant(e), Some(Constant::Integer(value)) if value.magnitude().count_ones() == 1)
    }

    /// Whether an expression is, or is part of, what a parser or control is given with a packet.
    fn is_input(&self, e: &Expression) -> bool {
        match &e.kind {
            ExpressionKind::Path { .. } => self
                .out
                .references
                .get(&e.id)
                .is_some_and(|id| self.inputs.contains(id)),
            ExpressionKind::Member { base, .. }
            | ExpressionKind::Index { base, .. }
            | ExpressionKind::Slice { base, .. } => self.is_input(base),
            ExpressionKind::Cast { operand, .. } | ExpressionKind::Unary { operand, .. } => {
                self.is_input(operand)
            }
            ExpressionKind::Binary { left, right, .. } => {
                self.is_input(left) || self.is_input(right)
            }
            _ => false,
        }
    }

    fn shift(
        &mut self,
        e: &'a Expression,
        operator: BinaryOperator,
        left: &'a Expression,
        x: &Type,
        right: &'a Expression,
        y: &Type,
    ) -> Type {
        let sign = symbol(operator);
        let (a, b) = (self.numeric(x), self.numeric(y));
        if !matches!(a, Type::Bits(_) | Type::Signed(_) | Type::Integer) {
            let text = self.show(x);
            self.error(
                "operand",
                left.span,
                format!("the left operand of `{sign}` is a number, and this is `{text}`"),
            );
            return Type::Unknown;
        }
        if a != *x {
            self.cast(left, &a);
        }
        if b != *y {
            self.cast(right, &b);
        }
        let by = self.cast_value(right);
        match (&b, &by) {
            (_, Some(Constant::Integer(value))) if value.sign() == num_bigint::Sign::Minus => {
                self.error(
                    "shift",
                    right.span,
                    format!("one cannot shift by a negative number, and this is {value}"),
                );
                return Type::Unknown;
            }
            (Type::Bits(_), _) | (Type::Integer, Some(_)) | (Type::Signed(_), Some(_)) => {}
            (Type::Integer, None) if self.is_compile_time(right) => {}
            _ => {
                let text = self.show(y);
                self.error(
                    "shift",
                    right.span,
                    format!("one shifts by an unsigned number, or by one known while compiling, and this is `{text}`"),
                );
                return Type::Unknown;
            }
        }
        if a == Type::Integer && by.is_none() {
            self.report(
                Diagnostic::error(
                    "no-width",
                    e.span,
                    "a number without a width can be shifted only by a number known while compiling",
                )
                .help("give the left operand a width: `8w1`"),
            );
            return Type::Unknown;
        }
        if let (Type::Bits(width) | Type::Signed(width), Some(Constant::Integer(value))) = (&a, &by)
            && *value >= (*width).into()
        {
            let text = self.show(&a);
            self.warn(
                "shift",
                e.span,
                format!("a shift of `{text}` by {value} leaves none of its bits"),
            );
        }
        self.fold(e, operator, left, right, &a);
        if a == Type::Integer
            && let (Some(Constant::Integer(_)), Some(Constant::Integer(value))) =
                (self.constant(left), &by)
            && self.constant(e).is_none()
        {
            let message =
                format!("a shift by {value} gives a number of more bits than this compiler has");
            self.error("too-large", e.span, message);
            return Type::Unknown;
        }
        a
    }

    fn concatenation(
        &mut self,
        e: &'a Expression,
        left: &'a Expression,
        x: &Type,
        right: &'a Expression,
        y: &Type,
    ) -> Type {
        if *x == Type::String && *y == Type::String {
            self.fold(e, BinaryOperator::Concat, left, right, &Type::String);
            if self.constant(left).is_some()
                && self.constant(right).is_some()
                && self.constant(e).is_none()
            {
                self.error("too-large", e.span, "this string is too long");
                return Type::Unknown;
            }
            return Type::String;
        }
        let (a, b) = (self.numeric(x), self.numeric(y));
        for (operand, ty, shown) in [(left, &a, x), (right, &b, y)] {
            if !matches!(ty, Type::Bits(_) | Type::Signed(_)) {
                let text = self.show(shown);
                let mut diagnostic = Diagnostic::error(
                    "operand",
                    operand.span,
                    format!(
                        "`++` joins two numbers with a width, or two strings, and this is `{text}`"
                    ),
                );
                if *ty == Type::Integer {
                    diagnostic = diagnostic.help("give the number a width: `8w1`");
                }
                self.report(diagnostic);
                return Type::Unknown;
            }
            if ty != shown {
                self.cast(operand, ty);
            }
        }
        let (Type::Bits(high) | Type::Signed(high), Type::Bits(low) | Type::Signed(low)) = (&a, &b)
        else {
            return Type::Unknown;
        };
        let width = high.saturating_add(*low);
        if width > super::checker::MAX_WIDTH {
            self.error(
                "too-large",
                e.span,
                format!("the result would have {width} bits"),
            );
            return Type::Unknown;
        }
        // The sign of the result is that of the left operand (8.6).
        let ty = if matches!(a, Type::Signed(_)) {
            Type::Signed(width)
        } else {
            Type::Bits(width)
        };
        if let (Some(Constant::Integer(p)), Some(Constant::Integer(q))) =
            (self.cast_value(left), self.cast_value(right))
        {
            let value = constants::concatenate(&p, &q, *low, &ty);
            self.out.constants.insert(e.id, Constant::Integer(value));
        }
        ty
    }

    fn agree_for(
        &mut self,
        operator: BinaryOperator,
        e: &'a Expression,
        left: &'a Expression,
        x: &Type,
        right: &'a Expression,
        y: &Type,
    ) -> Option<Type> {
        let agreed = self.agreement(left, x, right, y);
        if agreed.is_none() {
            let (a, b) = (self.show(x), self.show(y));
            let mut diagnostic = Diagnostic::error(
                "operand",
                e.span,
                format!("`{}` is not defined for `{a}` and `{b}`", symbol(operator)),
            );
            if self.castable(y, x) {
                diagnostic = diagnostic.help(format!("cast one of them: `({a})...`"));
            }
            self.report(diagnostic);
        }
        agreed
    }

    /// Gives two alternatives one type.
    pub(super) fn agree(
        &mut self,
        e: &'a Expression,
        left: &'a Expression,
        right: &'a Expression,
    ) -> Option<Type> {
        let (x, y) = (self.type_of(left.id), self.type_of(right.id));
        let agreed = self.agreement(left, &x, right, &y);
        if agreed.is_none() {
            let (a, b) = (self.show(&x), self.show(&y));
            self.error(
                "type-mismatch",
                e.span,
                format!("the alternatives have different types: `{a}` and `{b}`"),
            );
        }
        agreed
    }

    /// Gives two operands one type, with a complaint where that cannot be.
    pub(super) fn agree_types(
        &mut self,
        left: &'a Expression,
        x: &Type,
        right: &'a Expression,
        y: &Type,
    ) -> Option<Type> {
        let agreed = self.agreement(left, x, right, y);
        if agreed.is_none() {
            let (a, b) = (self.show(x), self.show(y));
            self.error(
                "operand",
                left.span.to(right.span),
                format!("the two have different types: `{a}` and `{b}`"),
            );
        }
        agreed
    }

    /// The type to which both operands come by implicit casts, which are noted; `None` when there is none.
    fn agreement(
        &mut self,
        left: &'a Expression,
        x: &Type,
        right: &'a Expression,
        y: &Type,
    ) -> Option<Type> {
        let (x, y) = (self.known(x), self.known(y));
        match (&x, &y) {
            (Type::Unknown, other) | (other, Type::Unknown) => return Some(other.clone()),
            (Type::Integer, Type::Bits(_) | Type::Signed(_)) => {
                self.cast(left, &y);
                self.check_fits(left, &y);
                return Some(y);
            }
            (Type::Bits(_) | Type::Signed(_), Type::Integer) => {
                self.cast(right, &x);
                self.check_fits(right, &x);
                return Some(x);
            }
            (Type::Integer, Type::New(id)) if self.number_below(*id).is_some() => {
                self.cast(left, &y);
                return Some(y);
            }
            (Type::New(id), Type::Integer) if self.number_below(*id).is_some() => {
                self.cast(right, &x);
                return Some(x);
            }
            (Type::Enum(a), Type::Enum(b)) if a == b => return Some(x),
            (Type::Enum(_), Type::Enum(_)) => {
                let (a, b) = (self.numeric(&x), self.numeric(&y));
                if a == x || b == y || a != b {
                    return None;
                }
                self.cast(left, &a);
                self.cast(right, &a);
                return Some(a);
            }
            (Type::Enum(_), Type::Bits(_) | Type::Signed(_) | Type::Integer) => {
                let under = self.numeric(&x);
                if under == x {
                    return None;
                }
                self.cast(left, &under);
                return self.agreement(left, &under, right, &y);
            }
            (Type::Bits(_) | Type::Signed(_) | Type::Integer, Type::Enum(_)) => {
                let under = self.numeric(&y);
                if under == y {
                    return None;
                }
                self.cast(right, &under);
                return self.agreement(left, &x, right, &under);
            }
            _ => {}
        }
        let literal = |e: &Expression, ty: &Type| {
            matches!(
                e.kind,
                ExpressionKind::List { .. }
                    | ExpressionKind::Struct { .. }
                    | ExpressionKind::Invalid
                    | ExpressionKind::Dots
            ) || matches!(ty, Type::Fields(_) | Type::Invalid | Type::Default)
        };
        match (literal(left, &x), literal(right, &y)) {
            (false, true) => self.coerce_silently(right, &y, &x).then_some(x),
            (true, false) => self.coerce_silently(left, &x, &y).then_some(y),
            _ => self.unify(&x, &y).then(|| self.known(&x)),
        }
    }

    /// As [`Checker::coerce`], but what it has to complain of is left to the caller when nothing fits at the outside.
    fn coerce_silently(&mut self, e: &'a Expression, have: &Type, want: &Type) -> bool {
        let fits = match want {
            Type::Tuple(_) | Type::List(_) => matches!(have, Type::Tuple(_)),
            Type::Composite(..) => matches!(
                have,
                Type::Tuple(_) | Type::Fields(_) | Type::Invalid | Type::Default
            ),
            Type::Stack(..) => matches!(have, Type::Tuple(_) | Type::Default),
            _ => matches!(have, Type::Default),
        };
        fits && {
            self.coerce(e, have, want);
            true
        }
    }
}
