//! The words of a SPEC taken one by one, as quantities.

use super::words::{Word, words};
use super::{Percent, Spec, SpecError};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;
use core::str::FromStr;
use node::{Rate, Time};

/// The longest SPEC, in bytes; a table of a distribution may be long.
pub const LONGEST: usize = 1 << 20;

/// A SPEC being read.
pub struct Reader<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
    next: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Result<Reader<'a>, SpecError> {
        if text.len() > LONGEST {
            return Err(SpecError {
                text: String::new(),
                span: 0..0,
                reason: format!("a SPEC has at most {LONGEST} bytes"),
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
        unit: fn(&str) -> bool,
    ) -> Result<(String, Range<usize>), SpecError> {
        let word = self.want(behind, what)?;
        let mut span = word.span();
        let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_');
        if word.text.chars().all(plain)
            && let Some(next) = self.peek().filter(|next| unit(next.text))
        {
            span.end = next.span().end;
            self.next += 1;
        }
        Ok((self.text[span.clone()].to_string(), span))
    }

    pub fn time(&mut self, behind: &str) -> Result<Time, SpecError> {
        let what = "a time, such as 100ms,";
        let (text, span) = self.quantity(behind, what, |word| unit_of_time(word).is_some())?;
        let (number, unit) = split(&text);
        if number.is_empty() {
            return Err(self.wrong(span, "a time is wanted, such as 100ms"));
        }
        // Nothing is nothing in every unit.
        let zero = unit.is_empty() && number == "0";
        let Some(unit) = unit_of_time(if zero { "ps" } else { unit }) else {
            return Err(self.wrong(span, match unit {
                "" => format!("a unit is wanted, as in {number}us: a bare number is microseconds to some versions of tc and nanoseconds to others"),
                "%" => "a time is wanted, such as 10ms, not a percentage".into(),
                _ => "the units of time are s, ms, us, ns and ps".into(),
            }));
        };
        let time = format!("{number} {unit}").parse::<Time>();
        time.map_err(|error| self.wrong(span, error.to_string()))
    }

    pub fn rate(&mut self, behind: &str) -> Result<Rate, SpecError> {
        let what = "a rate, such as 10mbit,";
        let (text, span) = self.quantity(behind, what, |word| scale_of_rate(word).is_some())?;
        let (number, unit) = split(&text);
        if unit.starts_with('%') {
            let reason =
                "the speed of a port is not known here; write the rate itself, such as 10mbit";
            return Err(self.wrong(span, reason));
        }
        let Some((scale, bytes)) = scale_of_rate(unit).filter(|_| !number.is_empty()) else {
            let reason = "a rate is wanted, such as 10mbit, 1.5gbit or 10Mb/s; kbps and mbps are bytes a second, as in tc";
            return Err(self.wrong(span, reason));
        };
        let bits =
            decimal(number, scale).and_then(|value| value.checked_mul(1 + 7 * u64::from(bytes)));
        let rate = bits.and_then(Rate::from_bits_per_second);
        rate.ok_or_else(|| {
            self.wrong(
                span,
                "a rate is at least 1 bit and at most 2^64 bits a second, in whole bits",
            )
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

/// The number at the front of a text, and what stands behind it.
fn split(text: &str) -> (&str, &str) {
    let plain = |c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'));
    let (number, unit) = text.split_at(text.find(plain).unwrap_or(text.len()));
    (number, unit.trim())
}

/// A unit of time as tc or Wireline spells it, as Wireline does. No unit is one only of 0.
fn unit_of_time(text: &str) -> Option<&'static str> {
    Some(match text {
        "s" | "sec" | "secs" => "s",
        "ms" | "msec" | "msecs" => "ms",
        "us" | "usec" | "usecs" | "µs" => "us",
        "ns" | "nsec" | "nsecs" => "ns",
        "ps" => "ps",
        "min" => "min",
        _ => return None,
    })
}

/// The scale of a unit of rate as tc or Wireline spells it, and whether it is of bytes.
fn scale_of_rate(text: &str) -> Option<(u64, bool)> {
    let text = text.to_ascii_lowercase();
    let (prefix, bytes) = if let Some(bits) = text.strip_suffix("/s") {
        (bits.trim_end_matches("bit").trim_end_matches('b'), false)
    } else if let Some(prefix) = text.strip_suffix("bps") {
        (prefix, true)
    } else {
        (text.trim_end_matches("bit"), false)
    };
    let scale = match prefix {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        "ti" => 1 << 40,
        _ => return None,
    };
    Some((scale, bytes))
}

/// A decimal number times a scale, if that is whole.
fn decimal(number: &str, scale: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.chars().filter(|c| *c != '_').collect::<String>();
    let (whole, part) = (digits(whole), digits(part));
    if (whole.is_empty() && part.is_empty()) || part.len() > 18 {
        return None;
    }
    let value: u128 = format!("{whole}{part}").parse().ok()?;
    let (scaled, divisor) = (
        value.checked_mul(scale.into())?,
        10u128.pow(part.len() as u32),
    );
    match scaled.is_multiple_of(divisor) {
        true => u64::try_from(scaled / divisor).ok(),
        false => None,
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let mut reader = Reader::new(text)?;
        if reader.words.len() == 1 && reader.take_if("none") {
            return Ok(Spec::default());
        }
        let mut draft = super::clauses::Draft::default();
        while let Some(word) = reader.take() {
            draft.clause(word, &mut reader)?;
        }
        draft.finish(&reader)
    }
}
