//! The words of a line of tc, taken one by one as quantities.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::str::FromStr;
use node::{QuantityError, Rate, Size, Time};

/// Why words are no discipline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", .text.as_ref().map_or(String::new(), |text| format!("`{text}`: ")), .reason)]
pub struct TcError {
    /// Index of the word that is wrong; the number of words where one is missing, or where they do not fit together.
    pub word: usize,
    /// The word.
    pub text: Option<String>,
    /// The fault: of the word, or of the whole.
    pub reason: String,
}

/// The words, and the next of them.
pub(super) struct Words<'a> {
    words: &'a [&'a str],
    next: usize,
}

impl<'a> Words<'a> {
    pub fn new(words: &'a [&'a str]) -> Words<'a> {
        Words { words, next: 0 }
    }

    pub fn take(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.next)?;
        self.next += 1;
        Some(word)
    }

    fn last(&self) -> &'a str {
        self.next
            .checked_sub(1)
            .and_then(|last| self.words.get(last))
            .map_or("", |word| word)
    }

    /// The word that was taken last is wrong.
    pub fn wrong(&self, reason: impl AsRef<str>) -> TcError {
        TcError {
            word: self.next.saturating_sub(1),
            text: Some(self.last().into()).filter(|word: &String| !word.is_empty()),
            reason: reason.as_ref().into(),
        }
    }

    /// The words do not fit together.
    pub fn whole(&self, reason: impl Into<String>) -> TcError {
        TcError {
            word: self.words.len(),
            text: None,
            reason: reason.into(),
        }
    }

    /// The word that was taken last is no parameter, or one of tc's that has no equal here.
    pub fn unknown(&self, known: &[&str], lacking: &[&str]) -> TcError {
        match lacking.contains(&self.last()) {
            true => self.wrong("this parameter of tc's has no equal here"),
            false => self.wrong(format!("no parameter; there are {}", known.join(", "))),
        }
    }

    /// The value behind a parameter.
    fn value(&mut self, what: &str) -> Result<&'a str, TcError> {
        let name = self.last();
        self.take()
            .ok_or_else(|| self.whole(format!("behind `{name}` {what} is missing")))
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Result<T, TcError> {
        let value = self.value(what)?;
        value
            .parse()
            .map_err(|_| self.wrong(format!("{what} is wanted")))
    }

    /// A whole number.
    pub fn count(&mut self) -> Result<u32, TcError> {
        self.number("a whole number")
    }

    /// A whole number within bounds.
    pub fn within(&mut self, least: u32, most: u32) -> Result<u32, TcError> {
        let count = self.count()?;
        match (least..=most).contains(&count) {
            true => Ok(count),
            false => Err(self.wrong(format!("a whole number from {least} to {most} is wanted"))),
        }
    }

    /// Whole numbers, as many as follow, up to `most`.
    pub fn counts(&mut self, most: usize) -> Result<Vec<u32>, TcError> {
        let mut counts = Vec::new();
        while counts.len() < most
            && let Some(next) = self.words.get(self.next)
            && next.starts_with(|first: char| first.is_ascii_digit())
        {
            counts.push(self.count()?);
        }
        match counts.is_empty() {
            true => Err(self.whole("behind `priomap` whole numbers are missing")),
            false => Ok(counts),
        }
    }

    /// A number of at least 0.
    pub fn factor(&mut self) -> Result<f64, TcError> {
        let factor: f64 = self.number("a number")?;
        match factor.is_finite() && factor >= 0.0 {
            true => Ok(factor),
            false => Err(self.wrong("a number of at least 0 is wanted")),
        }
    }

    /// Bytes that are added, or with a sign taken off.
    pub fn overhead(&mut self) -> Result<i32, TcError> {
        let bytes: i32 = self.number("a whole number of bytes")?;
        // The kernel's bounds.
        match (-64..=256).contains(&bytes) {
            true => Ok(bytes),
            false => Err(self.wrong("an overhead is from -64 to 256 bytes")),
        }
    }

    /// Percent, with or without the sign, rounded to a whole number.
    pub fn percent(&mut self) -> Result<u32, TcError> {
        let value = self.value("a percentage")?;
        let number = value.strip_suffix('%').unwrap_or(value);
        match number.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok((percent + 0.5) as u32),
            _ => Err(self.wrong("a percentage from 0 to 100 is wanted")),
        }
    }

    /// A parameter of which one value has an equal here: the one that changes nothing.
    pub fn only(&mut self, equal: &str) -> Result<(), TcError> {
        let name = self.last();
        match self.value("a value")? {
            value if value == equal => Ok(()),
            _ => Err(self.wrong(format!(
                "of tc's parameter `{name}` only the value {equal} has an equal here"
            ))),
        }
    }

    /// A time; a bare number is microseconds.
    pub fn time(&mut self) -> Result<Time, TcError> {
        let value = self.value("a time, such as 5ms,")?;
        let is_bare = value.ends_with(|last: char| last.is_ascii_digit() || last == '.');
        let time = match is_bare {
            true => format!("{value}us").parse(),
            false => value.parse(),
        };
        time.map_err(|error: QuantityError| self.wrong(error.to_string()))
    }

    /// Bytes; units are of 1024.
    pub fn size(&mut self) -> Result<Size, TcError> {
        let value = self.value("a size, such as 64k,")?;
        self.size_of(value)
    }

    /// Bytes, and after a slash the cells of a rate table, a power of two: they change nothing, as
    /// the kernel calculates times exactly.
    pub fn size_and_cell(&mut self) -> Result<Size, TcError> {
        let value = self.value("a size, such as 64k,")?;
        let Some((size, cell)) = value.split_once('/') else {
            return self.size_of(value);
        };
        match cell.parse::<u32>() {
            Ok(cell) if cell.is_power_of_two() => self.size_of(size),
            _ => Err(self.wrong("after the slash a power of two is wanted")),
        }
    }

    /// A number in the units of sizes.
    pub fn size_count(&mut self) -> Result<u32, TcError> {
        let size = self.size()?;
        let count = u32::try_from(size.bytes());
        count.map_err(|_| self.wrong(format!("a number up to {} is wanted", u32::MAX)))
    }

    fn size_of(&self, value: &str) -> Result<Size, TcError> {
        let end = value.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (number, unit) = value.split_at(end.unwrap_or(value.len()));
        let bits = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 8,
            "k" | "kb" => 8 << 10,
            "m" | "mb" => 8 << 20,
            "g" | "gb" => 8 << 30,
            "kbit" => 1 << 10,
            "mbit" => 1 << 20,
            "gbit" => 1 << 30,
            _ => return Err(self.wrong("a size is wanted, such as 1500, 64k or 1mb")),
        };
        let number: f64 = number
            .parse()
            .map_err(|_| self.wrong("a size is wanted, such as 1500, 64k or 1mb"))?;
        Ok(Size::from_bytes((number * f64::from(bits) / 8.0) as u64))
    }

    /// Bits a second.
    pub fn rate(&mut self) -> Result<Rate, TcError> {
        let value = self.value("a rate, such as 10mbit,")?;
        Rate::from_tc(value).map_err(|error| self.wrong(error.to_string()))
    }
}
