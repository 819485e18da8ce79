//! The words of a SPEC, and what is wrong with one.

use super::Shape;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// Error of a SPEC: the word, the cause, and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SpecError {
    pub text: String,
    /// The bytes of it that are wrong; empty, at its end, when something is missing there.
    pub span: Range<usize>,
    /// What is wrong, and what is wanted.
    pub reason: String,
}

impl SpecError {
    /// The word that is wrong; empty when one is missing.
    pub fn word(&self) -> &str {
        self.text.get(self.span.clone()).unwrap_or("")
    }

    /// The SPEC, and under it a mark at the word, as two lines.
    pub fn marked(&self) -> String {
        let before = self.text.get(..self.span.start).unwrap_or("");
        let blanks: String = before
            .chars()
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let marks = "^".repeat(self.word().chars().count().max(1));
        format!("{}\n{blanks}{marks}", self.text)
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word() {
            "" => f.write_str(&self.reason),
            word => write!(f, "`{word}`: {}", self.reason),
        }
    }
}

/// A word and its place.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    pub at: usize,
    pub text: &'a str,
}

impl Word<'_> {
    pub fn span(self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// Whether it begins as a number does.
    pub fn is_number(self) -> bool {
        let digits = self.text.trim_start_matches(['+', '-', '.']);
        digits.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// The words of a text: between spaces, but for those in parentheses.
pub fn words(text: &str) -> Vec<Word<'_>> {
    let (mut words, mut start, mut depth) = (Vec::new(), None, 0usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c.is_whitespace() && depth == 0 {
            if let Some(start) = start.take() {
                words.push(Word {
                    at: start,
                    text: &text[start..at],
                });
            }
        } else if start.is_none() {
            start = Some(at);
        }
    }
    if let Some(at) = start {
        words.push(Word {
            at,
            text: &text[at..],
        });
    }
    words
}

/// Maximum number of values of a table file; those of tc have 4096 or 16,384.
const MAX_TABLE_VALUES: usize = 1 << 16;

/// Error of a distribution table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A word that is no number, and its line.
    #[error("line {0}: `{1}` is no whole number from -32768 to 32767")]
    Number(usize, String),
    /// More numbers than a table has.
    #[error("more than {MAX_TABLE_VALUES} numbers")]
    TooMany,
    /// No number at all.
    #[error("there is no number in it")]
    Empty,
}

/// Reads a distribution table as tc has them: whole numbers between spaces, 8192 to a deviation; what
/// stands behind # is left out.
pub fn table(text: &str) -> Result<Shape, TableError> {
    let mut values = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.split('#').next().unwrap_or("");
        for word in line.split_whitespace() {
            let value = word.parse::<i16>();
            values.push(value.map_err(|_| TableError::Number(number, word.to_string()))?);
        }
        if values.len() > MAX_TABLE_VALUES {
            return Err(TableError::TooMany);
        }
    }
    match values.is_empty() {
        true => Err(TableError::Empty),
        false => Ok(Shape::Table(values)),
    }
}
