//! `#if` and its kin.

use super::Preprocessor;
use crate::lex::Lexer;
use crate::source::Span;
use crate::token::{Symbol, Token, TokenKind};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Maximum nesting depth of a condition.
const MAX_DEPTH: u32 = 100;

impl Preprocessor<'_> {
    /// Whether `#if ...`, `#ifdef NAME`, `#ifndef NAME` holds; a bad condition is reported and does
    /// not hold.
    pub(super) fn holds(
        &mut self,
        lexer: &mut Lexer<'_>,
        word: &str,
        hash: Span,
        file: &Arc<str>,
    ) -> bool {
        if word != "if" {
            return match self.next(lexer).as_ref().and_then(Token::name) {
                Some(name) => self.is_defined(name) == (word == "ifdef"),
                None => {
                    self.error(
                        "bad-directive",
                        hash,
                        format!("`#{word}` needs a macro's name"),
                    );
                    false
                }
            };
        }
        let mut line = Vec::new();
        while let Some(token) = self.next(lexer) {
            line.push(token);
        }
        // `defined` looks at names before they are replaced.
        let mut at = 0;
        let mut resolved = Vec::new();
        while let Some(token) = line.get(at) {
            at += 1;
            if token.name().is_none_or(|n| &**n != "defined") {
                resolved.push(token.clone());
                continue;
            }
            let bracket = line.get(at).is_some_and(|t| t.is(Symbol::OpenParen));
            let name = line.get(at + usize::from(bracket)).and_then(Token::name);
            let closed = !bracket || line.get(at + 2).is_some_and(|t| t.is(Symbol::CloseParen));
            let Some(name) = name.filter(|_| closed) else {
                let span = token.span;
                self.error(
                    "bad-condition",
                    span,
                    "`defined` needs a macro's name: `defined(NAME)`",
                );
                return false;
            };
            let value = if self.is_defined(name) { "1" } else { "0" };
            resolved.push(Token {
                kind: TokenKind::Integer(value.into()),
                ..token.clone()
            });
            at += if bracket { 3 } else { 1 };
        }
        let tokens = self.expand_list(resolved, file, 0);
        let mut reader = Reader {
            tokens: &tokens,
            at: 0,
            depth: 0,
            end: tokens.last().map_or(hash, |t| t.span),
        };
        let value = reader.conditional().and_then(|value| match reader.peek() {
            Some(token) => Err((
                token.span,
                format!("`{}` cannot stand behind a condition", token.text()),
            )),
            None => Ok(value),
        });
        match value {
            Ok(value) => value != 0,
            Err((span, message)) => {
                self.error("bad-condition", span, message);
                false
            }
        }
    }

    fn is_defined(&self, name: &str) -> bool {
        self.macros.contains_key(name) || matches!(name, "__LINE__" | "__FILE__")
    }
}

type Fault = (Span, String);

/// Evaluates a condition as C does, in 64 bits; names that are not macros are 0.
struct Reader<'t> {
    tokens: &'t [Token],
    at: usize,
    depth: u32,
    end: Span,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, symbol: Symbol) -> bool {
        let yes = self.peek().is_some_and(|t| t.is(symbol));
        self.at += usize::from(yes);
        yes
    }

    fn conditional(&mut self) -> Result<i64, Fault> {
        let condition = self.binary(0)?;
        if !self.take(Symbol::Question) {
            return Ok(condition);
        }
        self.deeper()?;
        let yes = self.conditional()?;
        if !self.take(Symbol::Colon) {
            return Err(self.expected("`:`"));
        }
        let no = self.conditional()?;
        self.depth -= 1;
        Ok(if condition != 0 { yes } else { no })
    }

    fn deeper(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let span = self.peek().map_or(self.end, |t| t.span);
            return Err((
                span,
                format!("a condition nests more than {MAX_DEPTH} deep"),
            ));
        }
        Ok(())
    }

    fn expected(&self, what: &str) -> Fault {
        match self.peek() {
            Some(token) => (
                token.span,
                format!("expected {what} in the condition, found `{}`", token.text()),
            ),
            None => (
                self.end,
                format!("expected {what} behind the condition's last word"),
            ),
        }
    }

    /// The operator here, how tightly it binds, and its number of tokens.
    fn operator(&self) -> Option<(Symbol, u8, usize)> {
        use Symbol::*;
        let TokenKind::Symbol(symbol) = self.peek()?.kind else {
            return None;
        };
        if symbol == Greater
            && self
                .tokens
                .get(self.at + 1)
                .is_some_and(|t| t.is(Greater) && !t.space)
        {
            return Some((AssignShiftRight, 8, 2));
        }
        let binds = match symbol {
            Or => 1,
            And => 2,
            BitOr => 3,
            BitXor => 4,
            BitAnd => 5,
            Equal | NotEqual => 6,
            Less | Greater | LessEqual | GreaterEqual => 7,
            ShiftLeft => 8,
            Plus | Minus => 9,
            Star | Slash | Percent => 10,
            _ => return None,
        };
        Some((symbol, binds, 1))
    }

    fn binary(&mut self, least: u8) -> Result<i64, Fault> {
        use Symbol::*;
        let mut left = self.unary()?;
        while let Some((symbol, binds, length)) = self.operator() {
            if binds <= least {
                break;
            }
            let span = self.tokens[self.at].span;
            self.at += length;
            let right = self.binary(binds)?;
            left = match symbol {
                Or => i64::from(left != 0 || right != 0),
                And => i64::from(left != 0 && right != 0),
                BitOr => left | right,
                BitXor => left ^ right,
                BitAnd => left & right,
                Equal => i64::from(left == right),
                NotEqual => i64::from(left != right),
                Less => i64::from(left < right),
                Greater => i64::from(left > right),
                LessEqual => i64::from(left <= right),
                GreaterEqual => i64::from(left >= right),
                ShiftLeft => left.checked_shl(right.clamp(0, 64) as u32).unwrap_or(0),
                AssignShiftRight => left >> right.clamp(0, 63),
                Plus => left.wrapping_add(right),
                Minus => left.wrapping_sub(right),
                Star => left.wrapping_mul(right),
                // The value does not matter where it stands behind `0 &&`.
                _ if right == 0 && self.at < self.tokens.len() => 0,
                _ if right == 0 => return Err((span, "division by zero in a condition".into())),
                Slash => left.wrapping_div(right),
                _ => left.wrapping_rem(right),
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i64, Fault> {
        let Some(token) = self.peek() else {
            return Err(self.expected("a value"));
        };
        self.deeper()?;
        self.at += 1;
        let value = match &token.kind {
            TokenKind::Symbol(Symbol::Bang) => i64::from(self.unary()? == 0),
            TokenKind::Symbol(Symbol::Minus) => self.unary()?.wrapping_neg(),
            TokenKind::Symbol(Symbol::Plus) => self.unary()?,
            TokenKind::Symbol(Symbol::Tilde) => !self.unary()?,
            TokenKind::Symbol(Symbol::OpenParen) => {
                let value = self.conditional()?;
                if !self.take(Symbol::CloseParen) {
                    return Err(self.expected("`)`"));
                }
                value
            }
            TokenKind::Name(..) => 0,
            TokenKind::Integer(text) => {
                let value = integer(text).ok_or_else(|| {
                    (
                        token.span,
                        format!("`{text}` is not an integer of a condition"),
                    )
                })?;
                // `10UL`
                let suffix = |t: &Token| {
                    !t.space
                        && t.name()
                            .is_some_and(|n| n.bytes().all(|b| b"uUlL".contains(&b)))
                };
                self.at += usize::from(self.peek().is_some_and(suffix));
                value
            }
            _ => {
                self.at -= 1;
                return Err(self.expected("a value"));
            }
        };
        self.depth -= 1;
        Ok(value)
    }
}

/// `10`, `0x1F`, `0b11`, and as in C `017`.
fn integer(text: &str) -> Option<i64> {
    let lower = text.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', b'd', ..] => (10, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, &lower[..]),
    };
    u64::from_str_radix(digits, radix).ok().map(|n| n as i64)
}
