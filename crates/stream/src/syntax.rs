//! Words of questions, standing windows and patterns, and errors with their place.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// Maximum length of a question, standing window or pattern, bytes.
pub const MAX_SQL_LEN: usize = 64 << 10;

/// A syntax error with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SyntaxError {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// The cause and, where there is one, the fix.
    pub message: String,
}

impl SyntaxError {
    /// An error at a byte of a text.
    pub(crate) fn new(text: &str, offset: usize, message: impl Into<String>) -> SyntaxError {
        let before = &text[..text.floor_char_boundary(offset)];
        let line = before.rsplit('\n').next().unwrap_or("");
        SyntaxError {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            message: message.into(),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

/// A word with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    /// First byte in the text.
    pub start: usize,
    /// First byte after it.
    pub end: usize,
    pub word: Word<'a>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word<'a> {
    /// A name or keyword.
    Name(&'a str),
    /// A name in quotes, without them.
    Quoted(String),
    /// A text in single quotes, without them.
    Text(String),
    /// A number as it is written.
    Number(&'a str),
    /// Text between square brackets.
    Bracket(&'a str),
    /// An operator or a mark.
    Mark(&'a str),
}

/// Splits SQL into words, without spaces and comments.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, SyntaxError> {
    if text.len() > MAX_SQL_LEN {
        let message = format!("{} bytes: at most {MAX_SQL_LEN} are read", text.len());
        return Err(SyntaxError::new(text, 0, message));
    }
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let start = at;
        let rest = &text[at..];
        let run = |from: usize, part: fn(u8) -> bool| {
            let length = bytes[from..].iter().position(|&byte| !part(byte));
            from + length.unwrap_or(bytes.len() - from)
        };
        let word = match bytes[at] {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'-' if rest.starts_with("--") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with("/*") => {
                at += rest.find("*/").map_or(rest.len(), |end| end + 2);
                continue;
            }
            byte if byte.is_ascii_digit()
                || byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) =>
            {
                at = run(at, |b| b.is_ascii_alphanumeric() || b == b'.' || b == b'_');
                // The sign of an exponent; hexadecimal numbers have none.
                let hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
                if !hexadecimal
                    && matches!(bytes[at - 1], b'e' | b'E')
                    && matches!(bytes.get(at), Some(b'+' | b'-'))
                {
                    at = run(at + 1, |b| b.is_ascii_digit());
                }
                Word::Number(&text[start..at])
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => {
                at = run(at, |b| {
                    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
                });
                Word::Name(&text[start..at])
            }
            quote @ (b'\'' | b'"' | b'`') => {
                let Some((inside, length)) = quoted(rest, quote as char) else {
                    let message = format!("no closing {} for this one", quote as char);
                    return Err(SyntaxError::new(text, at, message));
                };
                at += length;
                match quote {
                    b'\'' => Word::Text(inside),
                    _ => Word::Quoted(inside),
                }
            }
            b'[' => {
                let Some(length) = rest.find(']') else {
                    return Err(SyntaxError::new(text, at, "no closing ] for this one"));
                };
                at += length + 1;
                Word::Bracket(&rest[1..length])
            }
            _ => {
                let two = ["<=", ">=", "<>", "!=", "==", "||", "<<", ">>", "->"];
                at += two
                    .iter()
                    .find(|two| rest.starts_with(**two))
                    .map_or(1, |two| two.len());
                Word::Mark(&text[start..at])
            }
        };
        found.push(Token {
            start,
            end: at,
            word,
        });
    }
    Ok(found)
}

/// Text between quotes, where a doubled quote is a quote, and its length including the quotes.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut inside = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != quote {
            inside.push(letter);
        } else if letters.next_if(|(_, next)| *next == quote).is_some() {
            inside.push(quote);
        } else {
            return Some((inside, at + 1));
        }
    }
    None
}

/// Reads tokens in order.
pub(crate) struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Result<Reader<'a>, SyntaxError> {
        Ok(Reader {
            text,
            tokens: tokens(text)?,
            at: 0,
        })
    }

    /// The next word, if there is one.
    pub fn peek(&self) -> Option<&Word<'a>> {
        self.tokens.get(self.at).map(|token| &token.word)
    }

    /// The word after the next.
    pub fn peek_second(&self) -> Option<&Word<'a>> {
        self.tokens.get(self.at + 1).map(|token| &token.word)
    }

    pub fn next(&mut self) -> Option<Word<'a>> {
        let word = self.peek().cloned();
        self.at += usize::from(word.is_some());
        word
    }

    /// Number of the next word, for [`seek`](Reader::seek).
    pub fn position(&self) -> usize {
        self.at
    }

    /// Makes an earlier or later word the next one.
    pub fn seek(&mut self, position: usize) {
        self.at = position;
    }

    /// End of the last word taken.
    pub fn last_end(&self) -> usize {
        let last = self
            .at
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last));
        last.map_or(0, |token| token.end)
    }

    /// Place of the next word.
    pub fn offset(&self) -> usize {
        let token = self.tokens.get(self.at);
        token.map_or(self.text.len(), |token| token.start)
    }

    /// An error at the next word.
    pub fn fault(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.text, self.offset(), message)
    }

    /// An error at a place.
    pub fn fault_at(&self, offset: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.text, offset, message)
    }

    /// Takes the next word if it is this keyword.
    pub fn keyword(&mut self, keyword: &str) -> bool {
        let found =
            matches!(self.peek(), Some(Word::Name(name)) if name.eq_ignore_ascii_case(keyword));
        self.at += usize::from(found);
        found
    }

    /// Takes the next word if it is this mark.
    pub fn mark(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Some(Word::Mark(found)) if *found == mark);
        self.at += usize::from(found);
        found
    }

    /// Takes this keyword.
    pub fn expect(&mut self, keyword: &str) -> Result<(), SyntaxError> {
        match self.keyword(keyword) {
            true => Ok(()),
            false => Err(self.fault(format!("expected {keyword}{}", self.found()))),
        }
    }

    /// Takes this mark.
    pub fn expect_mark(&mut self, mark: &str) -> Result<(), SyntaxError> {
        match self.mark(mark) {
            true => Ok(()),
            false => Err(self.fault(format!("expected {mark}{}", self.found()))),
        }
    }

    /// Takes a name.
    pub fn name(&mut self, of: &str) -> Result<String, SyntaxError> {
        match self.peek() {
            Some(Word::Name(name)) => {
                let name = name.to_string();
                self.at += 1;
                Ok(name)
            }
            Some(Word::Quoted(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.fault(format!("expected the name of a {of}{}", self.found()))),
        }
    }

    /// Checks that no word is left.
    pub fn end(&mut self) -> Result<(), SyntaxError> {
        self.mark(";");
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault(format!("expected the end{}", self.found()))),
        }
    }

    /// The next word, for an error.
    pub fn found(&self) -> String {
        match self.tokens.get(self.at) {
            None => ", found the end".into(),
            Some(token) => {
                let word = &self.text[token.start..token.end];
                let short: String = word.chars().take(40).collect();
                format!(", found {short}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_is_split_into_words() {
        let text = "SELECT \"a\"\"b\", 'it''s' /* x ' */ FROM t[ROWS 5] -- end\nWHERE a<=1.5e-3";
        let words: Vec<Word> = tokens(text).unwrap().into_iter().map(|t| t.word).collect();
        use Word::*;
        assert_eq!(
            words,
            [
                Name("SELECT"),
                Quoted("a\"b".into()),
                Mark(","),
                Text("it's".into()),
                Name("FROM"),
                Name("t"),
                Bracket("ROWS 5"),
                Name("WHERE"),
                Name("a"),
                Mark("<="),
                Number("1.5e-3"),
            ]
        );
    }

    #[test]
    fn an_error_has_line_and_column() {
        let error = tokens("SELECT\n  é 'open").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2, column 5: no closing ' for this one"
        );
    }
}
