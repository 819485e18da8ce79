//! Expressions.

use super::{MAX_DEPTH, MAX_LITERAL_BITS, Parsed, Reader};
use crate::ast::{Argument, BinaryOperator, Expression, ExpressionKind, UnaryOperator};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Keyword, Symbol, TokenKind, unescape};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use num_bigint::{BigInt, BigUint};
use num_traits::One;

impl Reader<'_, '_> {
    /// A node for what ends before this token.
    pub(super) fn node(&mut self, start: Span, kind: ExpressionKind) -> Parsed<Expression> {
        use ExpressionKind as E;
        let height = |e: &Expression| self.height(e.id);
        let most = match &kind {
            E::Type(ty) => self.height(ty.id),
            E::Member { base, .. } => height(base),
            E::Index { base, index } => height(base).max(height(index)),
            E::Slice { base, high, low } => height(base).max(height(high)).max(height(low)),
            E::PlusSlice { base, low, width } => height(base).max(height(low)).max(height(width)),
            E::List { elements, .. } => elements.iter().map(height).max().unwrap_or(0),
            E::Struct { fields, .. } => fields.iter().map(|f| height(&f.1)).max().unwrap_or(0),
            E::Unary { operand, .. } => height(operand),
            E::Binary { left, right, .. } => height(left).max(height(right)),
            E::Conditional { condition, yes, no } => {
                height(condition).max(height(yes)).max(height(no))
            }
            E::Cast { ty, operand } => self.height(ty.id).max(height(operand)),
            E::Call {
                callee,
                type_arguments,
                arguments,
            } => {
                let types = type_arguments.iter().map(|t| self.height(t.id));
                let values = arguments.iter().map(|a| height(&a.value));
                types.chain(values).fold(height(callee), u16::max)
            }
            E::Mask { value, mask } => height(value).max(height(mask)),
            E::Range { low, high } => height(low).max(height(high)),
            _ => 0,
        };
        let span = start.to(self.before());
        if most >= MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        let id = self.id();
        self.heights[id.0 as usize] = most + 1;
        Ok(Expression { id, span, kind })
    }

    /// An expression inside brackets, where `>` is an operator again.
    pub(super) fn bracketed_expression(&mut self) -> Parsed<Expression> {
        let before = core::mem::replace(&mut self.greater_closes, false);
        let result = self.expression();
        self.greater_closes = before;
        result
    }

    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.deeper(|reader| {
            let start = reader.here();
            let condition = reader.binary(0)?;
            if !reader.take(Symbol::Question) {
                return Ok(condition);
            }
            let yes = Box::new(reader.expression()?);
            reader.expect(Symbol::Colon, "between the two values of `?`")?;
            let no = Box::new(reader.expression()?);
            let condition = Box::new(condition);
            reader.node(start, ExpressionKind::Conditional { condition, yes, no })
        })
    }

    /// The operator here, how tightly it binds (specification 8: `|`, `^` and `&` bind tighter than comparisons), and its
    /// number of tokens.
    fn operator(&self) -> Option<(BinaryOperator, u8, usize)> {
        use BinaryOperator as B;
        use Symbol as S;
        let TokenKind::Symbol(symbol) = self.peek()?.kind else {
            return None;
        };
        Some(match symbol {
            S::Or => (B::Or, 1, 1),
            S::And => (B::And, 2, 1),
            S::Equal => (B::Equal, 3, 1),
            S::NotEqual => (B::NotEqual, 3, 1),
            S::Less => (B::Less, 4, 1),
            S::LessEqual => (B::LessEqual, 4, 1),
            S::GreaterEqual => (B::GreaterEqual, 4, 1),
            S::Greater if self.greater_closes => return None,
            S::Greater if self.look(1).is_some_and(|t| t.is(S::Greater) && !t.space) => {
                (B::ShiftRight, 8, 2)
            }
            S::Greater => (B::Greater, 4, 1),
            S::BitOr => (B::BitOr, 5, 1),
            S::BitXor => (B::BitXor, 6, 1),
            S::BitAnd => (B::BitAnd, 7, 1),
            S::ShiftLeft => (B::ShiftLeft, 8, 1),
            S::Concat => (B::Concat, 9, 1),
            S::Plus => (B::Add, 9, 1),
            S::Minus => (B::Subtract, 9, 1),
            S::PlusSat => (B::SaturatingAdd, 9, 1),
            S::MinusSat => (B::SaturatingSubtract, 9, 1),
            S::Star => (B::Multiply, 10, 1),
            S::Slash => (B::Divide, 10, 1),
            S::Percent => (B::Modulo, 10, 1),
            _ => return None,
        })
    }

    fn binary(&mut self, least: u8) -> Parsed<Expression> {
        let start = self.here();
        let mut left = self.unary()?;
        while let Some((operator, binds, length)) = self.operator() {
            if binds <= least {
                break;
            }
            self.at += length;
            let right = Box::new(self.binary(binds)?);
            let kind = ExpressionKind::Binary {
                operator,
                left: Box::new(left),
                right,
            };
            left = self.node(start, kind)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expression> {
        let start = self.here();
        let operator = match self.peek().map(|t| &t.kind) {
            Some(TokenKind::Symbol(Symbol::Minus)) => UnaryOperator::Negate,
            Some(TokenKind::Symbol(Symbol::Bang)) => UnaryOperator::Not,
            Some(TokenKind::Symbol(Symbol::Tilde)) => UnaryOperator::Complement,
            Some(TokenKind::Symbol(Symbol::Plus)) => UnaryOperator::Plus,
            Some(TokenKind::Symbol(Symbol::OpenParen)) if self.is_cast() => {
                return self.deeper(|reader| {
                    reader.at += 1;
                    let before = core::mem::replace(&mut reader.greater_closes, false);
                    let ty = reader.value_type();
                    reader.greater_closes = before;
                    let ty = Box::new(ty?);
                    reader.expect(Symbol::CloseParen, "after the type of the cast")?;
                    let operand = Box::new(reader.unary()?);
                    reader.node(start, ExpressionKind::Cast { ty, operand })
                });
            }
            _ => return self.postfix(),
        };
        self.deeper(|reader| {
            reader.at += 1;
            let operand = Box::new(reader.unary()?);
            reader.node(start, ExpressionKind::Unary { operator, operand })
        })
    }

    /// Whether the `(` here begins `(T) operand`.
    fn is_cast(&self) -> bool {
        if !self.is_name(1) && !self.look_is(1, Symbol::Dot) && self.is_type(1) {
            // `(bit<8> ...`: no expression begins so, but for `(error.A ...`.
            return !self.look_is(2, Symbol::Dot);
        }
        let Some(length) = self.type_length(1) else {
            return false;
        };
        if !self.look_is(length + 1, Symbol::CloseParen) {
            return false;
        }
        // A name that is no type may still have been meant as one.
        self.is_type(1)
            || self.look(length + 2).is_some_and(|t| match &t.kind {
                TokenKind::Name(_, keyword) => keyword.is_none_or(|k| {
                    k.is_name() || matches!(k, Keyword::True | Keyword::False | Keyword::This)
                }),
                TokenKind::Integer(_) => true,
                _ => false,
            })
    }

    /// A primary expression with all that stands behind it: members, indices, slices, calls.
    pub(super) fn postfix(&mut self) -> Parsed<Expression> {
        let start = self.here();
        let mut base = self.primary()?;
        loop {
            let kind = match self.peek().map(|t| &t.kind) {
                Some(TokenKind::Symbol(Symbol::Dot)) => {
                    self.at += 1;
                    let member = self.name("a member")?;
                    let base = Box::new(base);
                    ExpressionKind::Member { base, member }
                }
                Some(TokenKind::Symbol(Symbol::OpenBracket)) => {
                    self.at += 1;
                    self.indexed(base)?
                }
                Some(TokenKind::Symbol(Symbol::OpenParen)) if is_call(&base) => {
                    let diagnostic = Diagnostic::error(
                        "syntax",
                        self.here(),
                        "the result of a call cannot be called",
                    );
                    return Err(self.fail(diagnostic));
                }
                Some(TokenKind::Symbol(Symbol::OpenParen)) => ExpressionKind::Call {
                    callee: Box::new(base),
                    type_arguments: Vec::new(),
                    arguments: self.arguments()?,
                },
                Some(TokenKind::Symbol(Symbol::Less)) if self.are_type_arguments() => {
                    ExpressionKind::Call {
                        callee: Box::new(base),
                        type_arguments: self.type_arguments("the function")?,
                        arguments: self.arguments()?,
                    }
                }
                _ => return Ok(base),
            };
            base = self.node(start, kind)?;
        }
    }

    /// Whether `<` here begins `<T>(`, and not a comparison: the first argument must be known to be a type.
    fn are_type_arguments(&self) -> bool {
        let first = self.look(1);
        let is_type = self.is_type(1)
            || first
                .is_some_and(|t| t.keyword() == Some(Keyword::Underscore) || t.is(Symbol::Greater));
        is_type
            && self
                .type_arguments_length(0)
                .is_some_and(|length| self.look_is(length, Symbol::OpenParen))
    }

    /// What stands in brackets behind `base`; the `[` is taken.
    fn indexed(&mut self, base: Expression) -> Parsed<ExpressionKind> {
        let base = Box::new(base);
        let first = Box::new(self.bracketed_expression()?);
        let kind = if self.take(Symbol::Colon) {
            let low = Box::new(self.bracketed_expression()?);
            ExpressionKind::Slice {
                base,
                high: first,
                low,
            }
        } else if self.take(Symbol::PlusColon) {
            let width = Box::new(self.bracketed_expression()?);
            ExpressionKind::PlusSlice {
                base,
                low: first,
                width,
            }
        } else {
            ExpressionKind::Index { base, index: first }
        };
        self.expect(Symbol::CloseBracket, "after the index")?;
        Ok(kind)
    }

    /// `(a, name = b, _)`
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Argument>> {
        self.expect(Symbol::OpenParen, "before the arguments")?;
        let mut list = Vec::new();
        if self.take(Symbol::CloseParen) {
            return Ok(list);
        }
        loop {
            let start = self.here();
            let name = if self.is_name(0) && self.look_is(1, Symbol::Assign) {
                let name = self.name("an argument")?;
                self.at += 1;
                Some(name)
            } else {
                None
            };
            let value = if self.is_keyword(Keyword::Underscore) {
                let start = self.here();
                self.at += 1;
                self.node(start, ExpressionKind::DontCare)?
            } else {
                self.bracketed_expression()?
            };
            list.push(Argument {
                name,
                value,
                span: start.to(self.before()),
            });
            if !self.take(Symbol::Comma) {
                self.expect(Symbol::CloseParen, "or `,` after the argument")?;
                return Ok(list);
            }
        }
    }

    fn primary(&mut self) -> Parsed<Expression> {
        let start = self.here();
        let Some(token) = self.peek() else {
            return Err(self.expected("an expression"));
        };
        let kind = match &token.kind {
            TokenKind::Integer(text) => self.integer(text, token.span)?,
            TokenKind::String(text) => ExpressionKind::String(unescape(text).into()),
            TokenKind::Symbol(Symbol::OpenParen) => {
                self.at += 1;
                let mut inner = self.bracketed_expression()?;
                self.expect(Symbol::CloseParen, "to close the expression")?;
                inner.span = start.to(self.before());
                return Ok(inner);
            }
            TokenKind::Symbol(Symbol::OpenBrace) => return self.braces(),
            TokenKind::Symbol(Symbol::Invalid) => ExpressionKind::Invalid,
            TokenKind::Symbol(Symbol::Dots) => ExpressionKind::Dots,
            TokenKind::Symbol(Symbol::Dot) if self.is_name(1) => return self.path(),
            TokenKind::Name(_, None) => return self.path(),
            TokenKind::Name(_, Some(keyword)) => match keyword {
                Keyword::True => ExpressionKind::Bool(true),
                Keyword::False => ExpressionKind::Bool(false),
                Keyword::This => ExpressionKind::This,
                Keyword::Error => {
                    let ty = self.type_expression()?;
                    return self.node(start, ExpressionKind::Type(ty));
                }
                keyword if keyword.is_name() && !self.is_type(0) => return self.path(),
                Keyword::Underscore => {
                    let diagnostic = Diagnostic::error(
                        "syntax",
                        start,
                        "`_` is not a value",
                    )
                    .help("it stands only for a whole argument, a type argument, or in a set of values");
                    return Err(self.fail(diagnostic));
                }
                _ if self.is_type(0) => {
                    let text = token.text();
                    let diagnostic = Diagnostic::error(
                        "syntax",
                        start,
                        format!("expected an expression, found the type `{text}`"),
                    )
                    .help("a cast has the type in brackets: `(bit<8>) x`");
                    return Err(self.fail(diagnostic));
                }
                _ => return Err(self.expected("an expression")),
            },
            TokenKind::Unknown(c) => {
                let diagnostic = Diagnostic::error(
                    "syntax",
                    start,
                    format!("the character `{c}` means nothing in a program"),
                );
                return Err(self.fail(diagnostic));
            }
            TokenKind::Symbol(_) => return Err(self.expected("an expression")),
        };
        self.at += 1;
        self.node(start, kind)
    }

    /// A name; that of a type with its arguments, when it has some.
    pub(super) fn path(&mut self) -> Parsed<Expression> {
        let start = self.here();
        if self.is_type(0) {
            let name_length = 1 + usize::from(self.is(Symbol::Dot));
            if self.look_is(name_length, Symbol::Less) {
                let ty = self.named_type()?;
                if !self.is(Symbol::OpenParen) && !self.is(Symbol::Dot) {
                    return Err(self.expected("`(` or `.` after a type in an expression"));
                }
                return self.node(start, ExpressionKind::Type(ty));
            }
            if !self.look_is(name_length, Symbol::OpenParen)
                && !self.look_is(name_length, Symbol::Dot)
            {
                self.at += name_length - 1;
                let found = self.found();
                let diagnostic = Diagnostic::error(
                    "syntax",
                    self.here(),
                    format!("{found} is a type and cannot be used as a value"),
                );
                return Err(self.fail(diagnostic));
            }
        }
        let absolute = self.take(Symbol::Dot);
        let name = self.name("a value")?;
        self.node(start, ExpressionKind::Path { name, absolute })
    }

    /// `{ a, b }` or `{ f = a, g = b }`
    fn braces(&mut self) -> Parsed<Expression> {
        let start = self.here();
        self.at += 1;
        let mut dots = false;
        let what = if self.is_name(0) && self.look_is(1, Symbol::Assign) {
            let mut fields = Vec::new();
            while !self.is(Symbol::CloseBrace) {
                if self.take(Symbol::Dots) {
                    dots = true;
                    self.last_in_braces()?;
                    break;
                }
                let name = self.name("a field")?;
                self.expect(Symbol::Assign, "after the field's name")?;
                fields.push((name, self.bracketed_expression()?));
                if !self.take(Symbol::Comma) {
                    break;
                }
            }
            self.expect(Symbol::CloseBrace, "or `,` after the field's value")?;
            ExpressionKind::Struct { fields, dots }
        } else {
            let mut elements = Vec::new();
            while !self.is(Symbol::CloseBrace) {
                if self.take(Symbol::Dots) {
                    dots = true;
                    self.last_in_braces()?;
                    break;
                }
                elements.push(self.bracketed_expression()?);
                if !self.take(Symbol::Comma) {
                    break;
                }
            }
            self.expect(Symbol::CloseBrace, "or `,` after the element")?;
            ExpressionKind::List { elements, dots }
        };
        self.node(start, what)
    }

    /// Nothing may follow `...` but one comma.
    fn last_in_braces(&mut self) -> Parsed<()> {
        self.take(Symbol::Comma);
        if self.is(Symbol::CloseBrace) {
            return Ok(());
        }
        let diagnostic = Diagnostic::error(
            "syntax",
            self.here(),
            format!("nothing can follow `...` in braces, found {}", self.found()),
        );
        Err(self.fail(diagnostic))
    }

    /// `10`, `0xFF`, `8w0b1010_1010`, `4s1` (specification 6.4.3.2).
    fn integer(&mut self, text: &str, span: Span) -> Parsed<ExpressionKind> {
        let lower = text.to_ascii_lowercase();
        let (width, digits) = match lower.split_once(['w', 's']) {
            Some((width, digits)) => (Some((width, lower[width.len()..].starts_with('s'))), digits),
            None => (None, &lower[..]),
        };
        let (radix, digits) = match digits.as_bytes() {
            [b'0', b'x', ..] => (16, &digits[2..]),
            [b'0', b'd', ..] => (10, &digits[2..]),
            [b'0', b'o', ..] => (8, &digits[2..]),
            [b'0', b'b', ..] => (2, &digits[2..]),
            _ => (10, digits),
        };
        let digits: String = digits.chars().filter(|c| *c != '_').collect();
        let bad = |message: String| Diagnostic::error("bad-integer", span, message);
        if digits.len() > MAX_LITERAL_BITS as usize {
            let diagnostic = bad(format!(
                "an integer may have at most {MAX_LITERAL_BITS} digits"
            ));
            return Err(self.fail(diagnostic));
        }
        let Some(mut value) = BigUint::parse_bytes(digits.as_bytes(), radix) else {
            let diagnostic = bad(format!("`{text}` has no digits"));
            return Err(self.fail(diagnostic));
        };
        let Some((width, signed)) = width else {
            return Ok(ExpressionKind::Integer {
                value: value.into(),
                width: None,
                radix,
            });
        };
        let Some(width) = width.parse().ok().filter(|w| *w <= MAX_LITERAL_BITS) else {
            let diagnostic = bad(format!(
                "a literal is at most {MAX_LITERAL_BITS} bits wide, not {width}"
            ));
            return Err(self.fail(diagnostic));
        };
        if signed && width == 0 {
            let diagnostic = bad("a signed literal has at least 1 bit".into());
            return Err(self.fail(diagnostic));
        }
        let room = u64::from(width) - u64::from(signed);
        if value.bits() > room {
            let needed = value.bits() + u64::from(signed);
            self.diagnostics.push(
                Diagnostic::warning(
                    "literal-too-wide",
                    span,
                    format!("`{text}` needs {needed} bits and is cut to {width}"),
                )
                .help("give it the width that it needs"),
            );
            value &= crate::value::mask(width);
        }
        // Signed values are in the range of their type.
        let mut value = BigInt::from(value);
        if signed && value.bits() > room {
            value -= BigInt::one() << width;
        }
        Ok(ExpressionKind::Integer {
            value,
            width: Some((width, signed)),
            radix,
        })
    }

    /// `a`, `a &&& b`, `a .. b`, `default`, `_`; several in brackets.
    pub(super) fn keyset(&mut self) -> Parsed<Expression> {
        let start = self.here();
        let closed = if self.is(Symbol::OpenParen) {
            self.closing(self.at, usize::MAX)
        } else {
            None
        };
        let in_brackets = closed.is_some_and(|close| {
            self.tokens
                .get(close + 1)
                .is_none_or(|t| t.is(Symbol::Colon))
        });
        if !in_brackets {
            return self.simple_keyset();
        }
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            elements.push(self.simple_keyset()?);
            if !self.take(Symbol::Comma) {
                break;
            }
            if self.is(Symbol::CloseParen) {
                break;
            }
        }
        self.expect(Symbol::CloseParen, "or `,` after the value")?;
        match elements.pop() {
            Some(mut only) if elements.is_empty() => {
                only.span = start.to(self.before());
                Ok(only)
            }
            last => {
                elements.extend(last);
                let dots = false;
                self.node(start, ExpressionKind::List { elements, dots })
            }
        }
    }

    fn simple_keyset(&mut self) -> Parsed<Expression> {
        let start = self.here();
        let whole = match self.keyword() {
            Some(Keyword::Default) => Some(ExpressionKind::Default),
            Some(Keyword::Underscore) => Some(ExpressionKind::DontCare),
            _ => None,
        };
        if let Some(kind) = whole {
            self.at += 1;
            return self.node(start, kind);
        }
        let first = self.bracketed_expression()?;
        if self.take(Symbol::Mask) {
            let mask = Box::new(self.bracketed_expression()?);
            let value = Box::new(first);
            return self.node(start, ExpressionKind::Mask { value, mask });
        }
        self.range_from(start, first)
    }

    /// `first .. b`, or `first` alone.
    pub(super) fn range_from(&mut self, start: Span, first: Expression) -> Parsed<Expression> {
        if !self.take(Symbol::Range) {
            return Ok(first);
        }
        let high = Box::new(self.bracketed_expression()?);
        let low = Box::new(first);
        self.node(start, ExpressionKind::Range { low, high })
    }
}

fn is_call(expression: &Expression) -> bool {
    matches!(expression.kind, ExpressionKind::Call { .. })
}
