//! Symbols, words, numbers and lists.

use super::super::Error;
use super::super::lex::{Token, WIDEST, fault};
use super::{DEEPEST, Parser, Result};
use crate::value::Bits;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> &Token<'a> {
        // The last token is `End`, and nothing moves past it.
        &self.tokens[self.at.min(self.tokens.len() - 1)].token
    }

    pub(super) fn here(&self, message: impl Into<String>) -> Error {
        let at = self.tokens[self.at.min(self.tokens.len() - 1)].at;
        fault(self.text, at, message)
    }

    pub(super) fn expected(&self, what: &str) -> Error {
        let found = match self.peek() {
            Token::Name(name) => format!("{name:?}"),
            Token::Keyword(word) => (*word).to_string(),
            Token::Number(number) => number.to_string(),
            Token::Bits(value, _) => value.to_string(),
            Token::Symbol(symbol) => (*symbol).to_string(),
            Token::End => "the end of the text".to_string(),
        };
        self.here(format!("expected {what}, found {found}"))
    }

    pub(super) fn symbol(&mut self, symbol: &'static str) -> Result<()> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(self.expected(symbol))
        }
    }

    pub(super) fn take_symbol(&mut self, symbol: &'static str) -> bool {
        let there = *self.peek() == Token::Symbol(symbol);
        self.at += usize::from(there);
        there
    }

    pub(super) fn keyword(&mut self, word: &str) -> Result<()> {
        if self.take_keyword(word) {
            Ok(())
        } else {
            Err(self.expected(word))
        }
    }

    pub(super) fn take_keyword(&mut self, word: &str) -> bool {
        let there = matches!(self.peek(), Token::Keyword(found) if *found == word);
        self.at += usize::from(there);
        there
    }

    pub(super) fn name(&mut self) -> Result<Arc<str>> {
        let Token::Name(name) = self.peek() else {
            return Err(self.expected("a name"));
        };
        let name = Arc::from(&**name);
        self.at += 1;
        Ok(name)
    }

    /// A name where no keyword can stand, so that one may be a name.
    pub(super) fn word(&mut self) -> Result<Arc<str>> {
        if let Token::Keyword(word) = *self.peek() {
            self.at += 1;
            return Ok(word.into());
        }
        self.name()
    }

    pub(super) fn number(&mut self) -> Result<u32> {
        let Token::Number(number) = *self.peek() else {
            return Err(self.expected("a number"));
        };
        let number = u32::try_from(number).map_err(|_| self.here("the number is too large"))?;
        self.at += 1;
        Ok(number)
    }

    pub(super) fn width(&mut self) -> Result<u32> {
        let width = self.number()?;
        if width > WIDEST {
            self.at -= 1;
            return Err(self.here(format!("wider than {WIDEST} bits")));
        }
        Ok(width)
    }

    pub(super) fn bits(&mut self) -> Result<Bits> {
        let Token::Bits(value, false) = self.peek() else {
            return Err(self.expected("a value such as 16w0x800"));
        };
        let value = value.clone();
        self.at += 1;
        Ok(value)
    }

    pub(super) fn braces<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.list("{", "}", item)
    }

    pub(super) fn parentheses<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.list("(", ")", item)
    }

    pub(super) fn list<T>(
        &mut self,
        open: &'static str,
        close: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.symbol(open)?;
        let mut out = Vec::new();
        if self.take_symbol(close) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.take_symbol(close) {
                return Ok(out);
            }
            self.symbol(",")?;
        }
    }

    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEEPEST {
            return Err(self.here("nested too deep"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}
