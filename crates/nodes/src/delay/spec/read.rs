//! The words of a SPEC taken one by one, as quantities.

use super::words::{Word, words};
use super::{Percent, SpecError};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;
use core::str::FromStr;
use node::{QuantityError, Rate, Time};

/// Maximum length of a SPEC, bytes; the table of a distribution may be long.
pub const MAX_SPEC_LEN: usize = 1 << 20;

/// A SPEC being read.
pub struct Reader<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
    next: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Result<Reader<'a>, SpecError> {
        if text.len() > MAX_SPEC_LEN {
            return Err(SpecError {
                text: String::new(),
                span: 0..0,
                reason: format!("a SPEC has at most {MAX_SPEC_LEN} bytes"),
            });
        }
        let mut words = words(text);
        // A whole line of tc: all before the discipline's name says where it goes.
        if let Some(at) = words.iter().position(|word| word.text == "netem") {
            words.drain(..=at);
        }
        Ok(Reader {
            text,
            words,
            next: 0,
        })
    }

    pub fn wrong(&self, span: Range<usize>, reason: impl Into<String>) -> SpecError {
        SpecError {
            text: self.text.into(),
            span,
            reason: reason.into(),
        }
    }

    pub fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.next).copied()
    }

    pub fn take(&mut self) -> Option<Word<'a>> {
        let word = self.peek()?;
        self.next += 1;
        Some(word)
    }

    /// Whether this word is all that there is.
    pub fn is_only(&self, text: &str) -> bool {
        matches!(self.words[..], [word] if word.text == text)
    }

    /// Takes the next word if it is this one.
    pub fn take_if(&mut self, text: &str) -> bool {
        let is = self.peek().is_some_and(|word| word.text == text);
        self.next += usize::from(is);
        is
    }

    /// The next word, which must be there.
    pub fn want(&mut self, behind: &str, what: &str) -> Result<Word<'a>, SpecError> {
        let end = self.text.trim_end().len();
        let missing = || self.wrong(end..end, format!("behind `{behind}` {what} is missing"));
        let word = self.peek().ok_or_else(missing)?;
        self.next += 1;
        Ok(word)
    }

    /// Whether the next word is a number.
    pub fn number_follows(&self) -> bool {
        self.peek().is_some_and(Word::is_number)
    }

    /// A number, with the unit that may stand behind it as a word of its own.
    fn quantity(
        &mut self,
        behind: &str,
        what: &str,
        is_unit: fn(&str) -> bool,
    ) -> Result<(String, Range<usize>), SpecError> {
        let word = self.want(behind, what)?;
        let mut span = word.span();
        let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_');
        if word.text.chars().all(plain)
            && let Some(next) = self.peek().filter(|next| is_unit(next.text))
        {
            span.end = next.span().end;
            self.next += 1;
        }
        Ok((self.text[span.clone()].to_string(), span))
    }

    pub fn time(&mut self, behind: &str) -> Result<Time, SpecError> {
        let what = "a time, such as 100ms,";
        let is_unit = |word: &str| {
            word.starts_with(char::is_alphabetic) && format!("0{word}").parse::<Time>().is_ok()
        };
        let (text, span) = self.quantity(behind, what, is_unit)?;
        text.parse().map_err(|error| {
            let reason = match error {
                QuantityError::Unit(_) if text.ends_with('%') => "a time is wanted, such as 10ms, not a percentage".into(),
                QuantityError::Unit(_) if text.ends_with(|last: char| last.is_ascii_digit()) => format!(
                    "a unit is wanted, as in {text}us: a bare number is microseconds to some versions of tc and nanoseconds to others"
                ),
                QuantityError::Unit(_) => "the units of time are s, ms, us, ns and ps".into(),
                QuantityError::NoNumber(_) => "a time is wanted, such as 100ms".into(),
                QuantityError::Range(_) => error.to_string(),
            };
            self.wrong(span, reason)
        })
    }

    pub fn rate(&mut self, behind: &str) -> Result<Rate, SpecError> {
        let what = "a rate, such as 10mbit,";
        let is_unit = |word: &str| {
            word.starts_with(char::is_alphabetic) && Rate::from_tc(&format!("1{word}")).is_ok()
        };
        let (text, span) = self.quantity(behind, what, is_unit)?;
        Rate::from_tc(&text).map_err(|error| {
            let reason = match error {
                QuantityError::Unit(_) if text.ends_with('%') => {
                    "the speed of a port is not known here; write the rate itself, such as 10mbit"
                }
                QuantityError::Unit(_) | QuantityError::NoNumber(_) => {
                    "a rate is wanted, such as 10mbit, 1.5gbit or 10Mb/s; kbps and mbps are bytes a second, as in tc"
                }
                QuantityError::Range(_) => {
                    "a rate is at least 1 bit and at most 2^64 bits a second, in whole bits"
                }
            };
            self.wrong(span, reason)
        })
    }

    pub fn percent(&mut self, behind: &str) -> Result<Percent, SpecError> {
        let word = self.want(behind, "a percentage, such as 1%,")?;
        let number = word.text.strip_suffix('%').unwrap_or(word.text);
        let plain = number
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'-'));
        let value = number.parse::<f64>().ok().filter(|_| plain);
        let Some(value) = value else {
            return Err(self.wrong(word.span(), "a percentage is wanted, such as 0.1% or 25%"));
        };
        Percent::new(value)
            .ok_or_else(|| self.wrong(word.span(), "a percentage is from 0% to 100%"))
    }

    /// A percentage, if a number follows.
    pub fn percent_if(&mut self, behind: &str) -> Result<Option<Percent>, SpecError> {
        match self.number_follows() {
            true => self.percent(behind).map(Some),
            false => Ok(None),
        }
    }

    /// A whole number from `least` to `most`.
    pub fn whole<T: FromStr + PartialOrd + core::fmt::Display>(
        &mut self,
        behind: &str,
        least: T,
        most: T,
    ) -> Result<T, SpecError> {
        let word = self.want(behind, "a number")?;
        let value = word.text.parse::<T>().ok();
        value
            .filter(|value| *value >= least && *value <= most)
            .ok_or_else(|| {
                let reason =
                    format!("behind `{behind}` a whole number from {least} to {most} is wanted");
                self.wrong(word.span(), reason)
            })
    }
}
