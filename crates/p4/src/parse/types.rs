//! Types, and looking ahead over them.

use super::{MAX_DEPTH, Parsed, Reader};
use crate::ast::{Expression, Name, NodeId, TypeExpression, TypeExpressionKind, TypeParameter};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Keyword, Symbol, Token, TokenKind};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Maximum number of tokens of a type where the parser must distinguish it from an expression.
pub(super) const MAX_LOOKAHEAD: usize = 2000;

impl Reader<'_, '_> {
    fn type_node(&mut self, start: Span, kind: TypeExpressionKind) -> Parsed<TypeExpression> {
        use TypeExpressionKind as T;
        let height = |id: &NodeId| self.height(*id);
        let most = match &kind {
            T::Bit(Some(width)) | T::Signed(width) | T::Varbit(width) => height(&width.id),
            T::Specialized { base, arguments } => arguments
                .iter()
                .map(|a| height(&a.id))
                .fold(height(&base.id), u16::max),
            T::Stack { base, size } => height(&base.id).max(height(&size.id)),
            T::Tuple(elements) => elements.iter().map(|e| height(&e.id)).max().unwrap_or(0),
            T::List(element) => height(&element.id),
            _ => 0,
        };
        let span = start.to(self.before());
        if most >= MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        let id = self.id();
        self.heights[id.0 as usize] = most + 1;
        Ok(TypeExpression { id, span, kind })
    }

    /// A type of a value: any but `void` and `_`.
    pub(super) fn value_type(&mut self) -> Parsed<TypeExpression> {
        if self.is_keyword(Keyword::Void) {
            let diagnostic = Diagnostic::error(
                "syntax",
                self.here(),
                "`void` is not the type of any value, only the result of a function",
            );
            return Err(self.fail(diagnostic));
        }
        self.type_expression()
    }

    /// A type, `void` too.
    pub(super) fn type_expression(&mut self) -> Parsed<TypeExpression> {
        self.deeper(|reader| {
            let start = reader.here();
            let ty = reader.simple_type()?;
            reader.stack_sizes(start, ty)
        })
    }

    /// `[size]` behind a type or behind the name declared with it.
    pub(super) fn stack_sizes(
        &mut self,
        start: Span,
        mut ty: TypeExpression,
    ) -> Parsed<TypeExpression> {
        while self.take(Symbol::OpenBracket) {
            let size = Box::new(self.bracketed_expression()?);
            self.expect(Symbol::CloseBracket, "after the size of the header stack")?;
            let base = Box::new(ty);
            ty = self.type_node(start, TypeExpressionKind::Stack { base, size })?;
        }
        Ok(ty)
    }

    fn simple_type(&mut self) -> Parsed<TypeExpression> {
        use TypeExpressionKind as T;
        let start = self.here();
        let kind = match self.keyword() {
            Some(Keyword::Bool) => T::Bool,
            Some(Keyword::Error) => T::Error,
            Some(Keyword::MatchKind) => T::MatchKind,
            Some(Keyword::String) => T::String,
            Some(Keyword::Void) => T::Void,
            Some(Keyword::Int) => {
                self.at += 1;
                let kind = if self.is(Symbol::Less) {
                    T::Signed(Box::new(self.width("int")?))
                } else {
                    T::Int
                };
                return self.type_node(start, kind);
            }
            Some(Keyword::Bit) => {
                self.at += 1;
                let width = if self.is(Symbol::Less) {
                    Some(Box::new(self.width("bit")?))
                } else {
                    None
                };
                return self.type_node(start, T::Bit(width));
            }
            Some(Keyword::Varbit) => {
                self.at += 1;
                let width = Box::new(self.width("varbit")?);
                return self.type_node(start, T::Varbit(width));
            }
            Some(Keyword::Tuple) => {
                self.at += 1;
                let elements = self.type_arguments("tuple")?;
                return self.type_node(start, T::Tuple(elements));
            }
            Some(Keyword::List) if self.look_is(1, Symbol::Less) => {
                self.at += 1;
                let mut arguments = self.type_arguments("list")?;
                let (Some(element), true) = (arguments.pop(), arguments.is_empty()) else {
                    let diagnostic = Diagnostic::error(
                        "syntax",
                        start.to(self.before()),
                        "`list` takes one type argument",
                    )
                    .help("write `list<T>`");
                    return Err(self.fail(diagnostic));
                };
                return self.type_node(start, T::List(Box::new(element)));
            }
            _ => return self.named_type(),
        };
        self.at += 1;
        self.type_node(start, kind)
    }

    /// `T`, `.T`, `T<arguments>`
    pub(super) fn named_type(&mut self) -> Parsed<TypeExpression> {
        let start = self.here();
        let absolute = self.take(Symbol::Dot);
        if !self.is_name(0) {
            return Err(self.expected("a type"));
        }
        let name = self.name("a type")?;
        let named = self.type_node(start, TypeExpressionKind::Named { name, absolute })?;
        self.specialized(start, named)
    }

    /// With its type arguments, when there are some.
    pub(super) fn specialized(
        &mut self,
        start: Span,
        named: TypeExpression,
    ) -> Parsed<TypeExpression> {
        if !self.is(Symbol::Less) {
            return Ok(named);
        }
        let arguments = self.type_arguments("the type")?;
        let base = Box::new(named);
        self.type_node(start, TypeExpressionKind::Specialized { base, arguments })
    }

    /// `<width>`
    fn width(&mut self, of: &str) -> Parsed<Expression> {
        self.expect(Symbol::Less, &alloc::format!("and a width after `{of}`"))?;
        let before = core::mem::replace(&mut self.greater_closes, true);
        let width = self.expression();
        self.greater_closes = before;
        let width = width?;
        self.expect(
            Symbol::Greater,
            &alloc::format!("after the width of `{of}`"),
        )?;
        Ok(width)
    }

    /// `<T, _, void>`; there may be none.
    pub(super) fn type_arguments(&mut self, of: &str) -> Parsed<Vec<TypeExpression>> {
        self.expect(
            Symbol::Less,
            &alloc::format!("and type arguments after {of}"),
        )?;
        let before = core::mem::replace(&mut self.greater_closes, false);
        let list = self.type_argument_list(of);
        self.greater_closes = before;
        list
    }

    fn type_argument_list(&mut self, of: &str) -> Parsed<Vec<TypeExpression>> {
        let mut list = Vec::new();
        if self.take(Symbol::Greater) {
            return Ok(list);
        }
        loop {
            let start = self.here();
            list.push(if self.take_keyword(Keyword::Underscore) {
                self.type_node(start, TypeExpressionKind::DontCare)?
            } else {
                self.type_expression()?
            });
            if !self.take(Symbol::Comma) {
                self.expect(
                    Symbol::Greater,
                    &alloc::format!("after the type arguments of {of}"),
                )?;
                return Ok(list);
            }
        }
    }

    /// `<T, U>` of a declaration, when there are some.
    pub(super) fn type_parameters(&mut self) -> Parsed<Vec<TypeParameter>> {
        let mut list: Vec<TypeParameter> = Vec::new();
        if !self.take(Symbol::Less) {
            return Ok(list);
        }
        loop {
            let name: Name = self.name("a type parameter")?;
            self.scopes.declare_type(&name.text);
            let id = self.id();
            list.push(TypeParameter { id, name });
            if !self.take(Symbol::Comma) {
                self.expect(Symbol::Greater, "after the type parameters")?;
                return Ok(list);
            }
        }
    }

    /// Whether a type begins here, as far as the name is known to be one.
    pub(super) fn is_type(&self, ahead: usize) -> bool {
        use Keyword::*;
        match self.look(ahead) {
            Some(token) => match &token.kind {
                TokenKind::Name(
                    _,
                    Some(Bool | Error | MatchKind | String | Void | Int | Bit | Varbit | Tuple),
                ) => true,
                TokenKind::Name(_, Some(List)) if self.look_is(ahead + 1, Symbol::Less) => true,
                TokenKind::Name(text, _) => self.scopes.is_type(text),
                TokenKind::Symbol(Symbol::Dot) => self
                    .look(ahead + 1)
                    .and_then(Token::name)
                    .is_some_and(|n| self.scopes.is_global_type(n)),
                _ => false,
            },
            None => false,
        }
    }

    /// How many tokens the type has that begins `ahead`, any name taken as a type; `None` when none does.
    pub(super) fn type_length(&self, ahead: usize) -> Option<usize> {
        let end = self.type_end(self.at + ahead, self.at + ahead + MAX_LOOKAHEAD, 0)?;
        Some(end - self.at - ahead)
    }

    fn type_end(&self, at: usize, most: usize, depth: u32) -> Option<usize> {
        use Keyword::*;
        if depth > 64 || at > most {
            return None;
        }
        let token = self.tokens.get(at)?;
        let opens = |at: usize| self.tokens.get(at).is_some_and(|t| t.is(Symbol::Less));
        let mut end = match &token.kind {
            TokenKind::Name(_, Some(Bool | Error | MatchKind | String | Void)) => at + 1,
            TokenKind::Name(_, Some(Bit | Int | Varbit)) if opens(at + 1) => {
                self.closing(at + 1, most)? + 1
            }
            TokenKind::Name(_, Some(Bit | Int)) => at + 1,
            TokenKind::Name(_, Some(Tuple)) => self.arguments_end(at + 1, most, depth)?,
            TokenKind::Name(_, keyword) if keyword.is_none_or(Keyword::is_name) => at + 1,
            TokenKind::Symbol(Symbol::Dot) => {
                self.tokens.get(at + 1)?.name()?;
                at + 2
            }
            _ => return None,
        };
        let generic = token.keyword().is_none_or(Keyword::is_name);
        if generic && opens(end) {
            end = self.arguments_end(end, most, depth)?;
        }
        while self
            .tokens
            .get(end)
            .is_some_and(|t| t.is(Symbol::OpenBracket))
        {
            end = self.closing(end, most)? + 1;
        }
        Some(end)
    }

    /// Behind the `>` of type arguments.
    fn arguments_end(&self, open: usize, most: usize, depth: u32) -> Option<usize> {
        if !self.tokens.get(open)?.is(Symbol::Less) {
            return None;
        }
        let mut at = open + 1;
        if self.tokens.get(at)?.is(Symbol::Greater) {
            return Some(at + 1);
        }
        loop {
            at = if self.tokens.get(at)?.keyword() == Some(Keyword::Underscore) {
                at + 1
            } else {
                self.type_end(at, most, depth + 1)?
            };
            let token = self.tokens.get(at)?;
            at += 1;
            if token.is(Symbol::Greater) {
                return Some(at);
            }
            if !token.is(Symbol::Comma) {
                return None;
            }
        }
    }

    /// Behind the type arguments that begin `ahead` with a `<`.
    pub(super) fn type_arguments_length(&self, ahead: usize) -> Option<usize> {
        let open = self.at + ahead;
        Some(self.arguments_end(open, open + MAX_LOOKAHEAD, 0)? - open)
    }

    /// The token that closes the bracket of whatever kind at `open`.
    pub(super) fn closing(&self, open: usize, most: usize) -> Option<usize> {
        use Symbol::*;
        let angle = self.tokens.get(open)?.is(Less);
        let (mut depth, mut angles) = (0_u32, 0_u32);
        for (n, token) in self.tokens.get(open..)?.iter().enumerate() {
            let TokenKind::Symbol(symbol) = token.kind else {
                continue;
            };
            match symbol {
                OpenParen | OpenBracket | OpenBrace => depth += 1,
                CloseParen | CloseBracket | CloseBrace => depth = depth.checked_sub(1)?,
                Less if depth == 0 => angles += 1,
                Greater if depth == 0 && angle => angles = angles.checked_sub(1)?,
                Semicolon if angle => return None,
                _ => continue,
            }
            if depth == 0 && (!angle || angles == 0) {
                return Some(open + n);
            }
            if open + n > most {
                return None;
            }
        }
        None
    }
}
