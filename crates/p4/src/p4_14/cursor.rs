//! A place among the tokens, and what a P4_14 parser asks of it.

use super::tree::{Expr, ExprKind};
use crate::ast::{BinaryOperator, Name, UnaryOperator};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::token::{Symbol, Token, TokenKind};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::Zero;

/// Maximum nesting depth of expressions and blocks.
const MAX_DEPTH: u32 = 200;

/// An error was reported; the caller continues after the next `;` or `}`.
pub(super) struct Reported;

/// The result of reading something.
pub(super) type Read<T> = Result<T, Reported>;

/// A place among the tokens.
pub(super) struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: u32,
    /// Number of operators that the expression may still have: a chain of them is a deep tree too.
    operators: u32,
    pub diagnostics: &'a mut Diagnostics,
}

impl<'a> Cursor<'a> {
    pub fn new(tokens: &'a [Token], diagnostics: &'a mut Diagnostics) -> Self {
        Cursor {
            tokens,
            at: 0,
            depth: 0,
            operators: 0,
            diagnostics,
        }
    }

    pub fn token(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn ahead(&self, n: usize) -> Option<&'a Token> {
        self.tokens.get(self.at + n)
    }

    /// Where it is; at the end, where the last token is.
    pub fn span(&self) -> Span {
        self.token()
            .or(self.tokens.last())
            .map_or(Span::default(), |t| t.span)
    }

    /// Where the token before it was.
    pub fn before(&self) -> Span {
        self.at
            .checked_sub(1)
            .and_then(|n| self.tokens.get(n))
            .map_or(Span::default(), |t| t.span)
    }

    pub fn advance(&mut self) {
        self.at += 1;
    }

    pub fn is(&self, symbol: Symbol) -> bool {
        self.token().is_some_and(|t| t.is(symbol))
    }

    /// Whether the next token is this word.
    pub fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    /// The next token, when it is a word.
    pub fn word(&self) -> Option<&'a str> {
        self.token().and_then(Token::name).map(|name| &**name)
    }

    /// Passes the symbol when it is next.
    pub fn accept(&mut self, symbol: Symbol) -> bool {
        let yes = self.is(symbol);
        self.at += usize::from(yes);
        yes
    }

    /// Passes the word when it is next.
    pub fn accept_word(&mut self, word: &str) -> bool {
        let yes = self.is_word(word);
        self.at += usize::from(yes);
        yes
    }

    pub fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> Reported {
        self.diagnostics
            .push(Diagnostic::error(code, span, message));
        Reported
    }

    /// Says what should stand here.
    pub fn expected(&mut self, what: &str) -> Reported {
        let message = match self.token() {
            Some(token) => format!("expected {what}, found `{}`", token.text()),
            None => format!("expected {what}, found the end of the program"),
        };
        self.error("syntax", self.span(), message)
    }

    pub fn expect(&mut self, symbol: Symbol) -> Read<Span> {
        let span = self.span();
        match self.accept(symbol) {
            true => Ok(span),
            false => Err(self.expected(&format!("`{}`", symbol.text()))),
        }
    }

    pub fn expect_word(&mut self, word: &str) -> Read<Span> {
        let span = self.span();
        match self.accept_word(word) {
            true => Ok(span),
            false => Err(self.expected(&format!("`{word}`"))),
        }
    }

    /// `{ a; b; }`
    pub fn names(&mut self, what: &str) -> Read<Vec<Name>> {
        let mut names = Vec::new();
        self.block(|c| {
            names.push(c.name(what)?);
            c.expect(Symbol::Semicolon)?;
            Ok(())
        })?;
        Ok(names)
    }

    /// Warns of a draft keyword, and names the final keyword.
    pub fn draft(&mut self, found: &Name, word: &str, otherwise: &str) {
        let message = format!(
            "`{}` is a word of a draft of P4_14: it is read as `{word}`{otherwise}",
            found.text
        );
        let warning = Diagnostic::warning("draft", found.span, message);
        let help = format!("write `{word}`");
        self.diagnostics.push(warning.help(help));
    }

    pub fn name(&mut self, what: &str) -> Read<Name> {
        let Some(token) = self.token() else {
            return Err(self.expected(what));
        };
        let Some(text) = token.name() else {
            return Err(self.expected(what));
        };
        self.advance();
        Ok(Name {
            text: text.clone(),
            span: token.span,
        })
    }

    /// Passes to behind the next `;` of this block, or to its `}`.
    pub fn skip_statement(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.token() {
            match token.kind {
                TokenKind::Symbol(Symbol::OpenBrace) => depth += 1,
                TokenKind::Symbol(Symbol::CloseBrace) if depth == 0 => return,
                TokenKind::Symbol(Symbol::CloseBrace) => depth -= 1,
                TokenKind::Symbol(Symbol::Semicolon) if depth == 0 => {
                    self.advance();
                    return;
                }
                _ => {}
            }
            self.advance();
            if depth == 0 && self.before_is(Symbol::CloseBrace) {
                return;
            }
        }
    }

    fn before_is(&self, symbol: Symbol) -> bool {
        self.at
            .checked_sub(1)
            .and_then(|n| self.tokens.get(n))
            .is_some_and(|t| t.is(symbol))
    }

    /// Whether the next word is followed by this.
    pub fn word_then(&self, symbol: Symbol) -> bool {
        self.word().is_some() && self.ahead(1).is_some_and(|t| t.is(symbol))
    }

    /// `{ item item ... }`; after an error in an item it goes on with the next.
    pub fn block(&mut self, mut item: impl FnMut(&mut Self) -> Read<()>) -> Read<Span> {
        self.expect(Symbol::OpenBrace)?;
        loop {
            let span = self.span();
            if self.accept(Symbol::CloseBrace) {
                return Ok(span);
            }
            if self.token().is_none() {
                return Err(self.expected("`}`"));
            }
            let start = self.at;
            if item(self).is_err() {
                self.skip_statement();
            }
            if self.at == start {
                return Err(Reported);
            }
        }
    }

    /// Bounds how deep something nests.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} levels of nesting");
            return Err(self.error("too-deep", self.span(), message));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// `a, b, c`, at least one.
    pub fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<alloc::vec::Vec<T>> {
        let mut items = alloc::vec![item(self)?];
        while self.accept(Symbol::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `name : value ;` behind the name.
    pub fn property<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.expect(Symbol::Colon)?;
        let value = read(self)?;
        self.expect(Symbol::Semicolon)?;
        Ok(value)
    }

    /// An expression of any operators.
    pub fn expression(&mut self) -> Read<Expr> {
        self.operators = MAX_DEPTH;
        self.binary(0)
    }

    fn binary(&mut self, least: u32) -> Read<Expr> {
        let mut left = self.nested(Self::unary)?;
        while let Some((operator, level, tokens)) = self.operator() {
            if level < least {
                break;
            }
            self.at += tokens;
            let Some(rest) = self.operators.checked_sub(1) else {
                let message = format!("more than {MAX_DEPTH} operators in one expression");
                return Err(self.error("too-deep", left.span, message));
            };
            self.operators = rest;
            let right = self.nested(|c| c.binary(level + 1))?;
            left = Expr {
                span: left.span.to(right.span),
                kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)),
            };
        }
        Ok(left)
    }

    /// The operator here, how strongly it binds, and how many tokens it has. `and`, `or` and comparisons bind weaker than the
    /// operators on bits, other than in C.
    fn operator(&self) -> Option<(BinaryOperator, u32, usize)> {
        use BinaryOperator as B;
        use Symbol as S;
        let token = self.token()?;
        let symbol = match &token.kind {
            TokenKind::Symbol(symbol) => *symbol,
            TokenKind::Name(name, _) if **name == *"or" => return Some((B::Or, 0, 1)),
            TokenKind::Name(name, _) if **name == *"and" => return Some((B::And, 1, 1)),
            _ => return None,
        };
        Some(match symbol {
            S::Or => (B::Or, 0, 1),
            S::And => (B::And, 1, 1),
            S::Equal => (B::Equal, 2, 1),
            S::NotEqual => (B::NotEqual, 2, 1),
            S::Less => (B::Less, 3, 1),
            S::LessEqual => (B::LessEqual, 3, 1),
            S::GreaterEqual => (B::GreaterEqual, 3, 1),
            S::Greater => match self.ahead(1) {
                Some(next) if next.is(S::Greater) && !next.space => (B::ShiftRight, 7, 2),
                _ => (B::Greater, 3, 1),
            },
            S::BitOr => (B::BitOr, 4, 1),
            S::BitXor => (B::BitXor, 5, 1),
            S::BitAnd => (B::BitAnd, 6, 1),
            S::ShiftLeft => (B::ShiftLeft, 7, 1),
            S::Plus => (B::Add, 8, 1),
            S::Minus => (B::Subtract, 8, 1),
            S::Star => (B::Multiply, 9, 1),
            S::Slash => (B::Divide, 9, 1),
            S::Percent => (B::Modulo, 9, 1),
            _ => return None,
        })
    }

    fn unary(&mut self) -> Read<Expr> {
        let start = self.span();
        let operator = match self.token().map(|t| &t.kind) {
            Some(TokenKind::Symbol(Symbol::Bang)) => UnaryOperator::Not,
            Some(TokenKind::Symbol(Symbol::Tilde)) => UnaryOperator::Complement,
            Some(TokenKind::Symbol(Symbol::Minus)) => UnaryOperator::Negate,
            Some(TokenKind::Symbol(Symbol::Plus)) => UnaryOperator::Plus,
            Some(TokenKind::Name(name, _)) if **name == *"not" => UnaryOperator::Not,
            _ => return self.primary(),
        };
        self.advance();
        let operand = self.nested(Self::unary)?;
        Ok(Expr {
            span: start.to(operand.span),
            kind: ExprKind::Unary(operator, Box::new(operand)),
        })
    }

    fn primary(&mut self) -> Read<Expr> {
        let start = self.span();
        match self.token().map(|t| &t.kind) {
            Some(TokenKind::Integer(_)) => return self.integer(),
            Some(TokenKind::Symbol(Symbol::OpenParen)) => {
                self.advance();
                let inner = self.nested(|c| c.binary(0))?;
                self.expect(Symbol::CloseParen)?;
                return Ok(inner);
            }
            _ => {}
        }
        let call = self.word_then(Symbol::OpenParen);
        match self.word() {
            Some("valid") if call => {
                self.advance();
                self.advance();
                let header = self.reference()?;
                let end = self.expect(Symbol::CloseParen)?;
                Ok(Expr {
                    span: start.to(end),
                    kind: ExprKind::Valid(Box::new(header)),
                })
            }
            Some("current") if call => {
                self.advance();
                self.advance();
                let offset = self.nested(|c| c.binary(0))?;
                self.expect(Symbol::Comma)?;
                let width = self.nested(|c| c.binary(0))?;
                let end = self.expect(Symbol::CloseParen)?;
                Ok(Expr {
                    span: start.to(end),
                    kind: ExprKind::Current(Box::new(offset), Box::new(width)),
                })
            }
            Some(word @ ("true" | "false")) => {
                self.advance();
                Ok(Expr {
                    span: start,
                    kind: ExprKind::Bool(word == "true"),
                })
            }
            Some(_) => self.reference(),
            None => Err(self.expected("an expression")),
        }
    }

    /// `h`, `h[next]`, `h.f`, `latest.f`, `h.valid`
    pub fn reference(&mut self) -> Read<Expr> {
        let name = self.name("a header, field or metadata")?;
        let mut expr = Expr {
            span: name.span,
            kind: ExprKind::Name(name.text),
        };
        let mut parts = 0;
        loop {
            parts += 1;
            if parts > MAX_DEPTH {
                return Err(self.error("too-deep", expr.span, "too many parts in one reference"));
            }
            if self.accept(Symbol::OpenBracket) {
                let index = self.nested(|c| c.binary(0))?;
                let end = self.expect(Symbol::CloseBracket)?;
                expr = Expr {
                    span: expr.span.to(end),
                    kind: ExprKind::Index(Box::new(expr), Box::new(index)),
                };
            } else if self.accept(Symbol::Dot) {
                let member = self.name("a field")?;
                let span = expr.span.to(member.span);
                let kind = match &*member.text {
                    "valid" => ExprKind::Valid(Box::new(expr)),
                    _ => ExprKind::Member(Box::new(expr), member),
                };
                expr = Expr { span, kind };
            } else {
                return Ok(expr);
            }
        }
    }

    /// `10`, `0x1F`, `8w0b11`, and with an apostrophe `8'0x1F`.
    fn integer(&mut self) -> Read<Expr> {
        let Some(token) = self.token() else {
            return Err(self.expected("a number"));
        };
        let TokenKind::Integer(text) = &token.kind else {
            return Err(self.expected("a number"));
        };
        let mut span = token.span;
        let mut text: &str = text;
        let mut width = None;
        self.advance();
        if self.is(Symbol::Quote) {
            let Some(Token {
                kind: TokenKind::Integer(digits),
                span: end,
                ..
            }) = self.ahead(1)
            else {
                self.advance();
                return Err(self.expected("the digits of a number"));
            };
            width = Some((text, false));
            text = digits;
            span = span.to(*end);
            self.at += 2;
        } else if let Some(n) = text.find(['w', 's'])
            && text[..n].bytes().all(|b| b.is_ascii_digit())
        {
            width = Some((&text[..n], text.as_bytes()[n] == b's'));
            text = &text[n + 1..];
        }
        let Some(value) = number(text) else {
            return Err(self.error("number", span, format!("`{text}` is not a number")));
        };
        let width = match width {
            None => None,
            Some((bits, signed)) => match bits.parse::<u32>() {
                Ok(bits) if (1..=super::MAX_WIDTH).contains(&bits) => Some((bits, signed)),
                _ => {
                    let most = super::MAX_WIDTH;
                    return Err(self.error(
                        "width",
                        span,
                        format!("a number has 1 to {most} bits, not {bits}"),
                    ));
                }
            },
        };
        Ok(Expr {
            span,
            kind: ExprKind::Integer(value, width),
        })
    }
}

/// The value of digits with an optional base.
fn number(text: &str) -> Option<BigInt> {
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'b' | b'B', ..] => (2, &text[2..]),
        [b'0', b'o' | b'O', ..] => (8, &text[2..]),
        [b'0', b'd' | b'D', ..] => (10, &text[2..]),
        _ => (10, text),
    };
    if digits.bytes().all(|b| b == b'0' || b == b'_') && !digits.is_empty() {
        return Some(BigInt::zero());
    }
    BigInt::parse_bytes(digits.as_bytes(), radix)
}
