//! Expressions and types.

use super::Printer;
use crate::ast::{
    Argument, BinaryOperator, Expression, ExpressionKind, TypeExpression, TypeExpressionKind,
    UnaryOperator,
};
use num_bigint::Sign;

/// How tightly an expression binds: conditional 0, binary 1 to 10, unary and casts 11, all else 12.
fn binding(expression: &Expression) -> u8 {
    use ExpressionKind as E;
    match &expression.kind {
        E::Conditional { .. } => 0,
        E::Binary { operator, .. } => operator_binding(*operator),
        E::Unary { .. } | E::Cast { .. } => 11,
        E::Integer { value, .. } if value.sign() == Sign::Minus => 11,
        _ => 12,
    }
}

fn operator_binding(operator: BinaryOperator) -> u8 {
    use BinaryOperator::*;
    match operator {
        Or => 1,
        And => 2,
        Equal | NotEqual => 3,
        Less | LessEqual | Greater | GreaterEqual => 4,
        BitOr => 5,
        BitXor => 6,
        BitAnd => 7,
        ShiftLeft | ShiftRight => 8,
        Add | Subtract | SaturatingAdd | SaturatingSubtract | Concat => 9,
        Multiply | Divide | Modulo => 10,
    }
}

impl BinaryOperator {
    /// As it is written.
    #[must_use]
    pub fn text(self) -> &'static str {
        use BinaryOperator::*;
        match self {
            Add => "+",
            Subtract => "-",
            Multiply => "*",
            Divide => "/",
            Modulo => "%",
            SaturatingAdd => "|+|",
            SaturatingSubtract => "|-|",
            ShiftLeft => "<<",
            ShiftRight => ">>",
            BitAnd => "&",
            BitOr => "|",
            BitXor => "^",
            Concat => "++",
            Equal => "==",
            NotEqual => "!=",
            Less => "<",
            LessEqual => "<=",
            Greater => ">",
            GreaterEqual => ">=",
            And => "&&",
            Or => "||",
        }
    }
}

impl UnaryOperator {
    /// As it is written.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            UnaryOperator::Negate => "-",
            UnaryOperator::Not => "!",
            UnaryOperator::Complement => "~",
            UnaryOperator::Plus => "+",
        }
    }
}

impl Printer {
    /// In brackets when it binds less than `least`.
    fn operand(&mut self, expression: &Expression, least: u8) {
        let brackets = binding(expression) < least;
        if brackets {
            self.text("(");
        }
        self.expression(expression);
        if brackets {
            self.text(")");
        }
    }

    pub(super) fn in_brackets_unless_integer(&mut self, expression: &Expression) {
        let integer = matches!(expression.kind, ExpressionKind::Integer { .. });
        self.operand(expression, if integer { 0 } else { 13 });
    }

    pub(super) fn arguments(&mut self, list: &[Argument]) {
        self.text("(");
        self.list(list, ", ", |p, argument| {
            if let Some(name) = &argument.name {
                p.text(&name.text);
                p.text(" = ");
            }
            p.expression(&argument.value);
        });
        self.text(")");
    }

    /// A keyset: a list stands in round brackets there.
    pub(super) fn keyset(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::List {
                elements,
                dots: false,
            } if elements.len() > 1 => {
                self.text("(");
                self.list(elements, ", ", Self::expression);
                self.text(")");
            }
            _ => self.expression(expression),
        }
    }

    pub(super) fn expression(&mut self, expression: &Expression) {
        use ExpressionKind as E;
        match &expression.kind {
            E::Integer { value, width, .. } => match width {
                None => self.text(value),
                Some((width, signed)) => {
                    // Of a negative literal the bits, as they were written.
                    let bits = crate::value::Bits::from_int(*width, value);
                    self.text(format_args!("{width}{}", if *signed { 's' } else { 'w' }));
                    self.text(bits.unsigned());
                }
            },
            E::Bool(value) => self.text(value),
            E::String(text) => self.quoted(text),
            E::Path { name, absolute } => {
                if *absolute {
                    self.text(".");
                }
                self.text(&name.text);
            }
            E::This => self.text("this"),
            E::Type(ty) => self.ty(ty),
            E::Member { base, member } => {
                self.operand(base, 12);
                self.text(".");
                self.text(&member.text);
            }
            E::Index { base, index } => {
                self.operand(base, 12);
                self.text("[");
                self.expression(index);
                self.text("]");
            }
            E::Slice { base, high, low } => {
                self.operand(base, 12);
                self.text("[");
                self.operand(high, 1);
                self.text(":");
                self.operand(low, 1);
                self.text("]");
            }
            E::PlusSlice { base, low, width } => {
                self.operand(base, 12);
                self.text("[");
                self.operand(low, 1);
                self.text("+:");
                self.operand(width, 1);
                self.text("]");
            }
            E::List { elements, dots } => {
                self.text("{");
                self.list(elements, ", ", Self::expression);
                if *dots {
                    self.text(if elements.is_empty() { "..." } else { ", ..." });
                }
                self.text("}");
            }
            E::Struct { fields, dots } => {
                self.text("{");
                self.list(fields, ", ", |p, (name, value)| {
                    p.text(&name.text);
                    p.text(" = ");
                    p.expression(value);
                });
                if *dots {
                    self.text(", ...");
                }
                self.text("}");
            }
            E::Invalid => self.text("{#}"),
            E::Unary { operator, operand } => {
                self.text(operator.text());
                // Not `--a`.
                let sign = matches!(operand.kind, E::Unary { .. });
                self.operand(operand, if sign { 12 } else { 11 });
            }
            E::Binary {
                operator,
                left,
                right,
            } => {
                let binds = operator_binding(*operator);
                self.operand(left, binds);
                self.text(format_args!(" {} ", operator.text()));
                self.operand(right, binds + 1);
            }
            E::Conditional { condition, yes, no } => {
                self.operand(condition, 1);
                self.text(" ? ");
                self.operand(yes, 1);
                self.text(" : ");
                self.expression(no);
            }
            E::Cast { ty, operand } => {
                self.text("(");
                self.ty(ty);
                self.text(") ");
                self.operand(operand, 11);
            }
            E::Call {
                callee,
                type_arguments,
                arguments,
            } => {
                self.operand(callee, 12);
                if !type_arguments.is_empty() {
                    self.text("<");
                    self.list(type_arguments, ", ", Self::ty);
                    self.text(">");
                }
                self.arguments(arguments);
            }
            E::Mask { value, mask } => {
                self.expression(value);
                self.text(" &&& ");
                self.expression(mask);
            }
            E::Range { low, high } => {
                self.expression(low);
                self.text(" .. ");
                self.expression(high);
            }
            E::Default => self.text("default"),
            E::DontCare => self.text("_"),
            E::Dots => self.text("..."),
            E::Broken => self.text("/* not read */"),
        }
    }

    /// A width: one that is no plain value stands in brackets, so that no `>` ends it.
    fn width(&mut self, word: &str, width: &Expression) {
        self.text(word);
        self.text("<");
        self.operand(width, 12);
        self.text(">");
    }

    pub(super) fn ty(&mut self, ty: &TypeExpression) {
        use TypeExpressionKind as T;
        match &ty.kind {
            T::Bool => self.text("bool"),
            T::Error => self.text("error"),
            T::MatchKind => self.text("match_kind"),
            T::Int => self.text("int"),
            T::String => self.text("string"),
            T::Void => self.text("void"),
            T::DontCare => self.text("_"),
            T::Bit(None) => self.text("bit"),
            T::Bit(Some(width)) => self.width("bit", width),
            T::Signed(width) => self.width("int", width),
            T::Varbit(width) => self.width("varbit", width),
            T::Named { name, absolute } => {
                if *absolute {
                    self.text(".");
                }
                self.text(&name.text);
            }
            T::Specialized { base, arguments } => {
                self.ty(base);
                self.text("<");
                self.list(arguments, ", ", Self::ty);
                self.text(">");
            }
            T::Stack { base, size } => {
                self.ty(base);
                self.text("[");
                self.expression(size);
                self.text("]");
            }
            T::Tuple(elements) => {
                self.text("tuple<");
                self.list(elements, ", ", Self::ty);
                self.text(">");
            }
            T::List(element) => {
                self.text("list<");
                self.ty(element);
                self.text(">");
            }
        }
    }
}
