//! Where a `}` was forgotten.
//!
//! Only in programs that have more `{` than `}`: there a word that cannot stand between the braces around it tells that they end before it.

use super::Reader;
use super::types::MAX_LOOKAHEAD;
use crate::token::{Keyword, Symbol, Token};

/// What stands between braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Actions, tables, `apply`.
    Control,
    /// States.
    Parser,
    /// Keys, actions or entries of a table.
    PartOfTable,
    /// Statements, fields, cases, properties of a table, methods.
    Other,
}

/// How many more braces are opened than closed; below zero how many fewer.
pub(super) fn unclosed(tokens: &[Token]) -> isize {
    tokens.iter().fold(0, |open, token| {
        if token.is(Symbol::OpenBrace) {
            open + 1
        } else if token.is(Symbol::CloseBrace) {
            open - 1
        } else {
            open
        }
    })
}

impl Reader<'_, '_> {
    /// Whether here begins what cannot stand between such braces.
    pub(super) fn is_beyond(&self, holds: Holds) -> bool {
        let first = self.annotations_length();
        let keyword = |ahead: usize| self.look(first + ahead).and_then(Token::keyword);
        let is = |ahead: usize, symbol| self.look_is(first + ahead, symbol);
        match keyword(0) {
            Some(
                Keyword::Control
                | Keyword::Extern
                | Keyword::Header
                | Keyword::HeaderUnion
                | Keyword::Package
                | Keyword::Parser
                | Keyword::Struct
                | Keyword::Typedef
                | Keyword::Enum,
            ) => return true,
            Some(Keyword::Action | Keyword::Table) => return holds != Holds::Control,
            Some(Keyword::Apply) if is(1, Symbol::OpenBrace) => return holds != Holds::Control,
            Some(Keyword::State) if is(2, Symbol::OpenBrace) => return holds != Holds::Parser,
            _ => {}
        }
        let name = usize::from(keyword(0) == Some(Keyword::Const));
        let property = self.is_name(first + name) && is(name + 1, Symbol::Assign);
        (holds == Holds::PartOfTable && property) || self.is_main(first)
    }

    /// How many tokens the annotations have that stand here.
    fn annotations_length(&self) -> usize {
        let mut at = 0;
        while self.look_is(at, Symbol::At) {
            at += 2;
            if self.look_is(at, Symbol::OpenParen) || self.look_is(at, Symbol::OpenBracket) {
                at = self.behind_brackets(at);
            }
        }
        at
    }

    /// Whether `Package(...) main` begins there.
    fn is_main(&self, ahead: usize) -> bool {
        let Some(length) = self.type_length(ahead) else {
            return false;
        };
        let open = ahead + length;
        self.look_is(open, Symbol::OpenParen)
            && self
                .look(self.behind_brackets(open))
                .and_then(Token::name)
                .is_some_and(|name| &**name == "main")
    }

    /// Behind the bracket that closes the one there, or at the end of the program.
    fn behind_brackets(&self, open: usize) -> usize {
        let mut depth = 0_u32;
        let mut at = open;
        while let Some(token) = self.look(at).filter(|_| at < open + MAX_LOOKAHEAD) {
            at += 1;
            if token.is(Symbol::OpenParen) || token.is(Symbol::OpenBracket) {
                depth += 1;
            } else if token.is(Symbol::CloseParen) || token.is(Symbol::CloseBracket) {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
        }
        at
    }
}
