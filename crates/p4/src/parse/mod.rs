//! Tokens to the syntax tree of P4_16 1.2.5.
//!
//! A recursive descent parser. Three places of the grammar depend on which names are types - a cast against an expression in brackets,
//! type arguments against less-than, a declaration against a statement - so that the names of types are tracked through the scopes as
//! they are declared (specification 6.3: types are declared before their use). After an error it goes on behind the next `;` or `}`.

mod annotations;
mod braces;
mod declarations;
mod expressions;
mod scopes;
mod statements;
mod tables;
mod types;

use crate::ast::{Name, NodeId, Program};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{Sources, Span};
use crate::token::{Keyword, Symbol, Token, TokenKind};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use braces::Holds;
use scopes::Scopes;

/// Maximum nesting depth of expressions, types and statements, and maximum length of a chain such
/// as `a + b + ...`.
pub const MAX_DEPTH: u16 = 256;
/// Maximum width of a literal, bits, and maximum number of its digits.
pub const MAX_LITERAL_BITS: u32 = 65_536;

/// Reads a program. Unreadable parts are reported and left out.
#[must_use]
pub fn parse(tokens: &[Token], sources: &Sources, diagnostics: &mut Diagnostics) -> Program {
    let end = tokens.last().map_or_else(
        || sources.files().first().map_or(0, |f| f.start),
        |t| t.span.end,
    );
    let mut reader = Reader {
        tokens,
        at: 0,
        diagnostics,
        end: Span { start: end, end },
        heights: Vec::new(),
        depth: 0,
        scopes: Scopes::default(),
        greater_closes: false,
        ended: false,
        unclosed: braces::unclosed(tokens),
    };
    let declarations = reader.program();
    Program {
        declarations,
        nodes: reader.heights.len() as u32,
    }
}

/// Said of what could not be read: a diagnostic was given.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Reader<'t, 'd> {
    tokens: &'t [Token],
    at: usize,
    diagnostics: &'d mut Diagnostics,
    /// Behind the last token.
    end: Span,
    /// By node: how high the expression or type below it is.
    heights: Vec<u16>,
    depth: u16,
    scopes: Scopes,
    /// Whether a `>` ends the expression: inside `bit<...>`.
    greater_closes: bool,
    /// Whether it was told that the program ends too early.
    ended: bool,
    /// How many more `{` than `}` the program has, less those that were told: below zero how many fewer.
    unclosed: isize,
}

impl<'t> Reader<'t, '_> {
    fn id(&mut self) -> NodeId {
        self.heights.push(0);
        NodeId(self.heights.len() as u32 - 1)
    }

    fn height(&self, id: NodeId) -> u16 {
        self.heights[id.0 as usize]
    }

    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    fn look(&self, ahead: usize) -> Option<&'t Token> {
        self.tokens.get(self.at + ahead)
    }

    /// The token here, or the place behind the last.
    fn here(&self) -> Span {
        self.peek().map_or(self.end, |t| t.span)
    }

    /// The token before this one.
    fn before(&self) -> Span {
        match self.at.checked_sub(1) {
            Some(at) => self.tokens[at].span,
            None => self.here(),
        }
    }

    /// Behind the token before this one: where something is missing.
    fn gap(&self) -> Span {
        let end = self.before().end;
        Span { start: end, end }
    }

    fn is(&self, symbol: Symbol) -> bool {
        self.peek().is_some_and(|t| t.is(symbol))
    }

    fn look_is(&self, ahead: usize, symbol: Symbol) -> bool {
        self.look(ahead).is_some_and(|t| t.is(symbol))
    }

    fn keyword(&self) -> Option<Keyword> {
        self.peek()?.keyword()
    }

    fn is_keyword(&self, keyword: Keyword) -> bool {
        self.keyword() == Some(keyword)
    }

    fn take(&mut self, symbol: Symbol) -> bool {
        let yes = self.is(symbol);
        self.at += usize::from(yes);
        yes
    }

    fn take_keyword(&mut self, keyword: Keyword) -> bool {
        let yes = self.is_keyword(keyword);
        self.at += usize::from(yes);
        yes
    }

    /// What stands here, for a message.
    fn found(&self) -> String {
        match self.peek() {
            Some(token) => match token.keyword() {
                Some(keyword) if !keyword.is_name() && keyword != Keyword::Underscore => {
                    format!("the keyword `{}`", keyword.text())
                }
                _ => format!("`{}`", token.text()),
            },
            None => "the end of the program".to_string(),
        }
    }

    fn fail(&mut self, diagnostic: Diagnostic) -> Reported {
        if self.peek().is_none() {
            // One word of an early end is enough.
            if self.ended {
                return Reported;
            }
            self.ended = true;
        }
        self.diagnostics.push(diagnostic);
        Reported
    }

    /// Tells what was expected here.
    fn expected(&mut self, what: &str) -> Reported {
        let span = if self.peek().is_none() {
            self.gap()
        } else {
            self.here()
        };
        let message = format!("expected {what}, found {}", self.found());
        self.fail(Diagnostic::error("syntax", span, message))
    }

    /// Punctuation; `why` goes on behind "expected `)`": "after the condition". What is missing at the end of a line is missing there.
    fn expect(&mut self, symbol: Symbol, why: &str) -> Parsed<Span> {
        if self.is(symbol) {
            self.at += 1;
            return Ok(self.before());
        }
        let span = if self.peek().is_none_or(|t| t.line_start) {
            self.gap()
        } else {
            self.here()
        };
        let message = format!("expected `{}` {why}, found {}", symbol.text(), self.found());
        let reported = self.fail(Diagnostic::error("syntax", span, message));
        if symbol == Symbol::OpenBrace && self.unclosed < 0 {
            // Its `}` will come.
            self.unclosed += 1;
            return Ok(span);
        }
        Err(reported)
    }

    /// A `;`; one that is only forgotten at a line's end is told and taken as written.
    fn semicolon(&mut self, after: &str) -> Parsed<()> {
        if self.take(Symbol::Semicolon) {
            return Ok(());
        }
        let message = format!("expected `;` after {after}, found {}", self.found());
        let forgotten = self
            .peek()
            .is_some_and(|t| t.line_start || t.is(Symbol::CloseBrace));
        let span = if forgotten || self.peek().is_none() {
            self.gap()
        } else {
            self.here()
        };
        let reported = self.fail(Diagnostic::error("syntax", span, message));
        if forgotten { Ok(()) } else { Err(reported) }
    }

    fn is_name(&self, ahead: usize) -> bool {
        match self.look(ahead).map(|t| &t.kind) {
            Some(TokenKind::Name(_, keyword)) => keyword.is_none_or(Keyword::is_name),
            _ => false,
        }
    }

    /// A name; `what` it is the name of: "the table".
    fn name(&mut self, what: &str) -> Parsed<Name> {
        if let Some(Token {
            kind: TokenKind::Name(text, keyword),
            span,
            ..
        }) = self.peek()
        {
            if keyword.is_none_or(Keyword::is_name) {
                self.at += 1;
                return Ok(Name {
                    text: text.clone(),
                    span: *span,
                });
            }
            let message = if *keyword == Some(Keyword::Underscore) {
                format!("expected the name of {what}, found `_`, which is not a name")
            } else {
                format!("`{text}` is a keyword and cannot be the name of {what}")
            };
            let diagnostic = Diagnostic::error("syntax", *span, message);
            return Err(self.fail(diagnostic));
        }
        Err(self.expected(&format!("the name of {what}")))
    }

    /// Runs what nests inside what is being read, unless that is too deep already.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let reported = self.too_deep(self.here());
            return Err(reported);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn too_deep(&mut self, span: Span) -> Reported {
        self.fail(
            Diagnostic::error(
                "too-deep",
                span,
                format!("this nests more than {MAX_DEPTH} deep, or is a chain of more than {MAX_DEPTH} operators"),
            )
            .help("name a part of it by a constant, variable, action or function"),
        )
    }

    /// Reads one element of a list up to a `}`; after an error goes to the next one.
    fn recovering<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Option<T> {
        let (start, depth, scopes, greater) = (
            self.at,
            self.depth,
            self.scopes.depth(),
            self.greater_closes,
        );
        match read(self) {
            Ok(value) => Some(value),
            Err(Reported) => {
                self.depth = depth;
                self.scopes.cut(scopes);
                self.greater_closes = greater;
                self.resume(start);
                None
            }
        }
    }

    /// Goes behind the next `;`, behind the braces that are opened, or before the `}` that ends the list.
    fn resume(&mut self, start: usize) {
        let mut braces = 0_u32;
        // What was opened before the error is still open.
        for token in &self.tokens[start..self.at] {
            if token.is(Symbol::OpenBrace) {
                braces += 1;
            } else if token.is(Symbol::CloseBrace) {
                braces = braces.saturating_sub(1);
            }
        }
        while let Some(token) = self.peek() {
            match token.kind {
                TokenKind::Symbol(Symbol::Semicolon) if braces == 0 => {
                    self.at += 1;
                    return;
                }
                TokenKind::Symbol(Symbol::OpenBrace) => braces += 1,
                TokenKind::Symbol(Symbol::CloseBrace) => {
                    if braces == 0 {
                        return;
                    }
                    braces -= 1;
                    if braces == 0 {
                        self.at += 1;
                        return;
                    }
                }
                TokenKind::Name(_, Some(keyword))
                    if token.line_start && braces == 0 && self.at > start && begins(keyword) =>
                {
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Elements between braces, the `{` is taken, the `}` is taken too; after an error it goes on with the next element. A `}` that was
    /// forgotten is told and taken as written before what cannot stand here.
    fn braced<T>(
        &mut self,
        open: Span,
        what: &str,
        holds: Holds,
        mut read: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut list = Vec::new();
        loop {
            if self.take(Symbol::CloseBrace) {
                return Ok(list);
            }
            if self.peek().is_none() {
                let diagnostic = Diagnostic::error(
                    "syntax",
                    self.gap(),
                    format!("the program ends inside {what}: expected `}}`"),
                )
                .note(open, "opened here");
                return Err(self.fail(diagnostic));
            }
            if self.unclosed > 0 && self.is_beyond(holds) {
                self.unclosed -= 1;
                let message = format!("expected `}}` at the end of {what}, found {}", self.found());
                let diagnostic = Diagnostic::error("syntax", self.gap(), message);
                self.fail(diagnostic.note(open, "opened here"));
                return Ok(list);
            }
            let at = self.at;
            list.extend(self.recovering(&mut read));
            if self.at == at {
                // Nothing here can be read.
                self.at += 1;
            }
        }
    }
}

/// Whether a line that begins with it surely begins a declaration.
fn begins(keyword: Keyword) -> bool {
    use Keyword::*;
    matches!(
        keyword,
        Action
            | Control
            | Extern
            | Header
            | HeaderUnion
            | Package
            | Parser
            | Struct
            | Table
            | Typedef
            | Enum
            | Const
    )
}

#[cfg(test)]
mod tests;
