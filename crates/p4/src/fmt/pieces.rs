//! The text as tokens, comments and directives.

use crate::diagnostic::Diagnostics;
use crate::lex::{Lexer, Trivia};
use crate::token::{Interner, Keyword, Symbol, Token, TokenKind};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What a piece is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Token(TokenKind),
    LineComment,
    BlockComment,
    /// A line of the preprocessor, or `@pragma` with its line.
    Directive,
}

/// A token, comment or directive.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// Where it began.
    pub(super) start: u32,
    /// Whether space stood before it, and how many line ends.
    pub(super) space: bool,
    pub(super) lines: usize,
}

impl Piece {
    pub(super) fn is(&self, symbol: Symbol) -> bool {
        self.kind == Kind::Token(TokenKind::Symbol(symbol))
    }

    pub(super) fn symbol(&self) -> Option<Symbol> {
        match self.kind {
            Kind::Token(TokenKind::Symbol(symbol)) => Some(symbol),
            _ => None,
        }
    }

    pub(super) fn keyword(&self) -> Option<Keyword> {
        match self.kind {
            Kind::Token(TokenKind::Name(_, keyword)) => keyword,
            _ => None,
        }
    }

    pub(super) fn is_name(&self) -> bool {
        matches!(self.kind, Kind::Token(TokenKind::Name(..)))
    }

    pub(super) fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::LineComment | Kind::BlockComment)
    }

    pub(super) fn is_token(&self) -> bool {
        matches!(self.kind, Kind::Token(_))
    }
}

pub(super) fn read(text: &str, diagnostics: &mut Diagnostics) -> Vec<Piece> {
    let mut names = Interner::default();
    let mut lexer = Lexer::new(text, 0);
    let mut list: Vec<Piece> = Vec::new();
    let mut end = 0;
    let piece = |kind, from: usize, to: usize, end: &mut usize| {
        let between = &text[*end..from];
        *end = to;
        Piece {
            kind,
            text: text[from..to].trim_end().to_string(),
            start: from as u32,
            space: !between.is_empty(),
            lines: between.matches('\n').count(),
        }
    };
    loop {
        let mut comments = Vec::new();
        lexer.trivia(diagnostics, |trivia, span| comments.push((trivia, span)));
        for (trivia, span) in comments {
            let kind = match trivia {
                Trivia::LineComment => Kind::LineComment,
                Trivia::BlockComment => Kind::BlockComment,
            };
            list.push(piece(
                kind,
                span.start as usize,
                span.end as usize,
                &mut end,
            ));
        }
        let at = lexer.position();
        let first = list.is_empty() || text[end..at].contains('\n');
        if text[at..].starts_with('#') && first {
            lexer.rest_of_line();
            list.push(piece(Kind::Directive, at, lexer.position(), &mut end));
            continue;
        }
        let mut ahead = lexer.clone();
        let Some(token) = ahead.next(&mut names, diagnostics) else {
            return list;
        };
        let is_pragma = |t: Option<Token>| t.and_then(|t| t.name().map(|n| &**n == "pragma"));
        if token.is(Symbol::At)
            && is_pragma(ahead.clone().next(&mut names, diagnostics)) == Some(true)
        {
            // Its strings may go on in the next line.
            let mut scratch = Diagnostics::default();
            while let Some(token) = ahead.next(&mut names, &mut scratch) {
                if token.line_start {
                    break;
                }
                lexer = ahead.clone();
            }
            lexer.rest_of_line();
            list.push(piece(Kind::Directive, at, lexer.position(), &mut end));
            continue;
        }
        lexer = ahead;
        let span = token.span;
        list.push(piece(
            Kind::Token(token.kind),
            span.start as usize,
            span.end as usize,
            &mut end,
        ));
    }
}
