//! A position in the text of a script.

use node::Time;
use std::string::{String, ToString};

/// A place in a script where it stops, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub line: usize,
    pub reason: String,
}

/// See the [module](self).
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a str,
    pub line: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str, line: usize) -> Reader<'a> {
        Reader { rest: text, line }
    }

    pub fn rest(&self) -> &'a str {
        self.rest
    }

    pub fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn stop(&self, reason: impl ToString) -> Stop {
        Stop {
            line: self.line,
            reason: reason.to_string(),
        }
    }

    /// Takes `count` bytes, which end at a character's end.
    fn take(&mut self, count: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(count);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Takes characters as long as `is_part` holds.
    pub fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Takes the text before `end`, and `end` itself.
    pub fn take_until(&mut self, end: &str) -> Result<&'a str, Stop> {
        let Some(length) = self.rest.find(end) else {
            return Err(self.stop(std::format!("`{end}` is missing")));
        };
        let taken = self.take(length);
        self.take(end.len());
        Ok(taken)
    }

    /// Takes `word`, if it is next; `true` if it was.
    pub fn eat(&mut self, word: &str) -> bool {
        let is_next = self.rest.starts_with(word);
        if is_next {
            self.take(word.len());
        }
        is_next
    }

    pub fn expect(&mut self, word: &str) -> Result<(), Stop> {
        self.skip();
        match self.eat(word) {
            true => Ok(()),
            false => Err(self.stop(std::format!("`{word}` is missing"))),
        }
    }

    /// Skips spaces, line ends and comments.
    pub fn skip(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let length = self
                    .rest
                    .find("*/")
                    .map_or(self.rest.len(), |length| length + 2);
                self.take(length);
            } else {
                return;
            }
        }
    }

    /// Skips spaces within a line.
    pub fn skip_spaces(&mut self) {
        self.take_while(|c| c == ' ' || c == '\t');
    }

    /// A name of letters, digits and underscores; empty when there is none.
    pub fn word(&mut self) -> &'a str {
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// A number without a sign.
    pub fn number<T: std::str::FromStr>(&mut self) -> Result<T, Stop> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        let reason = std::format!("`{digits}` is not a number that fits");
        digits.parse().map_err(|_| self.stop(reason))
    }

    /// A time in seconds.
    pub fn seconds(&mut self) -> Result<Time, Stop> {
        let whole = self.take_while(|c| c.is_ascii_digit());
        let mut digits = "";
        let has_fraction =
            self.rest.starts_with('.') && self.rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if has_fraction {
            self.take(1);
            digits = self.take_while(|c| c.is_ascii_digit());
        }
        if whole.is_empty() && digits.is_empty() || whole.len() > 5 || digits.len() > 9 {
            return Err(self.stop("a time in seconds is missing or has too many digits"));
        }
        let whole: u64 = std::format!("0{whole}").parse().unwrap_or(0);
        let nanoseconds: u64 = std::format!("{digits:0<9}").parse().unwrap_or(0);
        Ok(Time::from_secs(whole) + Time::from_ns(nanoseconds))
    }
}
