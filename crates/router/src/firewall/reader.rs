//! Tokens of a ruleset, one after the other, and elements and verdicts in them.

use super::Fault;
use super::lexer::{Lexed, Token};
use super::sets::{Data, Holds, Verdict};
use super::values::Type;
use crate::conntrack::Helper;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// A table while it is read.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// IP version; `None`: both.
    pub is_v4: Option<bool>,
    pub sets: BTreeMap<String, u32>,
    /// Helpers, each for a version of IP or both (`None`).
    pub helpers: BTreeMap<String, (Helper, Option<bool>)>,
    /// Chains with their numbers, and whether each is a base chain.
    pub chains: BTreeMap<String, (u32, bool)>,
    /// Rules of each chain, as ranges of tokens.
    pub rules: Vec<(u32, Range<usize>)>,
}

/// A place in the tokens of a ruleset.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub tokens: &'a [Lexed],
    pub at: usize,
}

impl<'a> Reader<'a> {
    pub fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at).map(|lexed| &lexed.token)
    }

    pub fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Line and column of the next token.
    pub fn place(&self) -> (u32, u32) {
        let found = self.tokens.get(self.at).or(self.tokens.last());
        found.map_or((1, 1), |lexed| (lexed.line, lexed.column))
    }

    /// A fault at the next token.
    pub fn fault(&self, reason: impl Into<String>) -> Fault {
        let (line, column) = self.place();
        Fault::new(line, column, reason)
    }

    /// The next word, which is not taken.
    pub fn peek_word(&self) -> Option<&'a str> {
        match self.peek() {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// The word after the next token.
    pub fn second_word(&self) -> Option<&'a str> {
        match self.tokens.get(self.at + 1).map(|lexed| &lexed.token) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Takes the next word if it is this one.
    pub fn take(&mut self, word: &str) -> bool {
        let found = self.peek_word() == Some(word);
        self.at += usize::from(found);
        found
    }

    /// Takes a symbol if it is next.
    pub fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(own)) if *own == symbol);
        self.at += usize::from(found);
        found
    }

    /// Takes a symbol that must be next.
    pub fn expect(&mut self, symbol: &str) -> Result<(), Fault> {
        match self.symbol(symbol) {
            true => Ok(()),
            false => Err(self.fault(format!("`{symbol}` is missing"))),
        }
    }

    /// Takes a word, of a kind that the fault names.
    pub fn word(&mut self, kind: &str) -> Result<&'a str, Fault> {
        match self.peek_word() {
            Some(word) => {
                self.at += 1;
                Ok(word)
            }
            None => Err(self.fault(format!("{kind} is missing"))),
        }
    }

    /// Takes a text in quotation marks or a word.
    pub fn text(&mut self, kind: &str) -> Result<&'a str, Fault> {
        match self.peek() {
            Some(Token::Text(text)) => {
                self.at += 1;
                Ok(text)
            }
            _ => self.word(kind),
        }
    }

    /// Takes a whole number.
    pub fn number<T: core::str::FromStr>(&mut self) -> Result<T, Fault> {
        let number = self.peek_word().and_then(|word| word.parse().ok());
        let number = number.ok_or_else(|| self.fault("a number is missing, or is too large"))?;
        self.at += 1;
        Ok(number)
    }

    /// Passes ends of lines.
    pub fn skip_ends(&mut self) {
        while self.peek() == Some(&Token::End) {
            self.at += 1;
        }
    }

    /// Takes the end of a statement.
    pub fn end(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(Token::End) => {
                self.skip_ends();
                Ok(())
            }
            Some(Token::Symbol("}")) | None => Ok(()),
            _ => Err(self.fault("begin a new line, or write `;`, before this")),
        }
    }

    /// The part of the tokens between two places, as one line.
    pub fn line(&self, range: Range<usize>) -> String {
        let mut line = String::new();
        for lexed in &self.tokens[range] {
            let text = match &lexed.token {
                Token::Word(word) => word.clone(),
                Token::Text(text) => format!("\"{text}\""),
                Token::Symbol(symbol) => (*symbol).to_owned(),
                Token::End => continue,
            };
            if !line.is_empty() {
                line.push(' ');
            }
            line += &text;
        }
        line
    }
}

/// Reads elements up to the closing brace.
pub(super) fn list(
    reader: &mut Reader,
    kind: Type,
    holds: Holds,
    scope: &Scope,
) -> Result<Vec<(u128, u128, Data)>, Fault> {
    let mut elements = Vec::new();
    loop {
        reader.skip_ends();
        if reader.symbol("}") {
            return Ok(elements);
        }
        let (line, column) = reader.place();
        let (first, last) = kind.read(reader.word("an element")?, line, column)?;
        let data = match holds {
            Holds::Nothing => Data::None,
            Holds::Values(kind) => {
                reader.expect(":")?;
                let (line, column) = reader.place();
                let (value, last) = kind.read(reader.word("a value")?, line, column)?;
                if value != last {
                    return Err(Fault::new(line, column, "data of a map is one value"));
                }
                Data::Value(value)
            }
            Holds::Verdicts => {
                reader.expect(":")?;
                let fault = reader.fault("a verdict is missing, such as accept or drop");
                Data::Verdict(verdict(reader, scope)?.ok_or(fault)?)
            }
        };
        elements.push((first, last, data));
        reader.skip_ends();
        if !reader.symbol(",") {
            reader.skip_ends();
            reader.expect("}")?;
            return Ok(elements);
        }
    }
}

/// Reads a verdict, if one is next.
pub(super) fn verdict(reader: &mut Reader, scope: &Scope) -> Result<Option<Verdict>, Fault> {
    let verdict = match reader.peek_word() {
        Some("accept") => Verdict::Accept,
        Some("drop") => Verdict::Drop,
        Some("continue") => Verdict::Continue,
        Some("return") => Verdict::Return,
        Some(word @ ("jump" | "goto")) => {
            reader.at += 1;
            let name = reader.word("the chain's name")?;
            reader.at -= 1;
            let number = match scope.chains.get(name) {
                Some((number, false)) => *number,
                Some(_) => return Err(reader.fault(format!("`{name}` has a hook of its own"))),
                None => return Err(reader.fault(format!("this table has no chain `{name}`"))),
            };
            match word {
                "jump" => Verdict::Jump(number),
                _ => Verdict::Goto(number),
            }
        }
        _ => return Ok(None),
    };
    reader.at += 1;
    Ok(Some(verdict))
}
