//! From the text of constraints to what they compare.

use super::{Constraint, Number, Part, Relation, Scope, Truth, Whole};
use crate::table::{KeyForm, MatchKind};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};
use num_bigint::{BigInt, BigUint};
use num_traits::{Num, Signed};
use p4::value::mask;

/// Maximum nesting depth of brackets and signs.
const MAX_DEPTH: u32 = 64;

/// The constraints of a text: those between its outermost `;`.
pub(super) fn constraints(text: &str, scope: &Scope<'_>) -> Result<Vec<Constraint>, String> {
    let mut reader = Reader {
        tokens: tokens(text)?,
        at: 0,
        scope,
        depth: 0,
    };
    let mut found = Vec::new();
    while reader.at < reader.tokens.len() {
        let first = reader.at;
        let holds = reader.implication()?;
        let holds = reader.truth(holds)?;
        let words = &reader.tokens[first..reader.at];
        let begin = words.first().map_or(0, |token| token.at);
        let end = words.last().map_or(0, |token| token.at + token.text.len());
        let written: Vec<&str> = text[begin..end].split_whitespace().collect();
        let text = written.join(" ");
        found.push(Constraint { text, holds });
        if reader.at < reader.tokens.len() && !reader.take(";") {
            return Err(reader.unexpected("`;`"));
        }
    }
    Ok(found)
}

#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    /// Its first byte.
    at: usize,
    /// From 1.
    line: usize,
}

const SIGNS: [&str; 15] = [
    "::", "&&", "||", "->", "==", "!=", "<=", ">=", "<", ">", "!", "-", "(", ")", ";",
];

fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let line = 1 + text[..at].matches('\n').count();
        let blank = rest.len() - rest.trim_start().len();
        let length = if blank > 0 {
            at += blank;
            continue;
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if rest.starts_with("/*") {
            let end = rest.find("*/");
            at += end.ok_or_else(|| format!("line {line}: a comment has no end"))? + 2;
            continue;
        } else if let Some(quoted) = rest.strip_prefix('\'') {
            let end = quoted.find('\'');
            end.ok_or_else(|| format!("line {line}: an address has no end"))? + 2
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            sign.len()
        } else {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            match rest.find(|c| !word(c)).unwrap_or(rest.len()) {
                0 => {
                    let sign = rest.chars().next().unwrap_or(' ');
                    return Err(format!("line {line}: `{sign}` has no meaning here"));
                }
                length => length,
            }
        };
        found.push(Token {
            text: &rest[..length],
            at,
            line,
        });
        at += length;
    }
    Ok(found)
}

/// Kind of a token of a constraint.
enum Piece<'a> {
    Truth(Truth),
    Number(Number),
    /// A key without a part.
    Key(usize, &'a KeyForm),
}

struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    scope: &'a Scope<'a>,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.at).map(|token| token.text)
    }

    fn take(&mut self, sign: &str) -> bool {
        let here = self.peek() == Some(sign);
        self.at += usize::from(here);
        here
    }

    fn place(&self) -> String {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        format!("line {}", token.map_or(1, |token| token.line))
    }

    fn unexpected(&self, wanted: &str) -> String {
        match self.peek() {
            Some(token) => format!("{}: {wanted} is wanted, not `{token}`", self.place()),
            None => format!("{}: {wanted} is wanted at the end", self.place()),
        }
    }

    fn truth(&self, piece: Piece<'a>) -> Result<Truth, String> {
        match piece {
            Piece::Truth(truth) => Ok(truth),
            _ => Err(format!(
                "{}: a number is no constraint: compare it",
                self.place()
            )),
        }
    }

    /// `;` inside brackets is `&&` that binds least.
    fn sequence(&mut self) -> Result<Piece<'a>, String> {
        let mut left = self.implication()?;
        while self.take(";") {
            if self.peek() == Some(")") {
                break;
            }
            let right = self.implication()?;
            let (a, b) = (self.truth(left)?, self.truth(right)?);
            left = Piece::Truth(Truth::And(Box::new(a), Box::new(b)));
        }
        Ok(left)
    }

    fn implication(&mut self) -> Result<Piece<'a>, String> {
        let left = self.disjunction()?;
        if !self.take("->") {
            return Ok(left);
        }
        let right = self.disjunction()?;
        if self.peek() == Some("->") {
            return Err(format!(
                "{}: `->` has no order: write brackets",
                self.place()
            ));
        }
        let (a, b) = (self.truth(left)?, self.truth(right)?);
        let not = Truth::Not(Box::new(a));
        Ok(Piece::Truth(Truth::Or(Box::new(not), Box::new(b))))
    }

    fn disjunction(&mut self) -> Result<Piece<'a>, String> {
        let mut left = self.conjunction()?;
        while self.take("||") {
            let right = self.conjunction()?;
            let (a, b) = (self.truth(left)?, self.truth(right)?);
            left = Piece::Truth(Truth::Or(Box::new(a), Box::new(b)));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Piece<'a>, String> {
        let mut left = self.comparison()?;
        while self.take("&&") {
            let right = self.comparison()?;
            let (a, b) = (self.truth(left)?, self.truth(right)?);
            left = Piece::Truth(Truth::And(Box::new(a), Box::new(b)));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Piece<'a>, String> {
        let left = self.unary()?;
        let signs = ["==", "!=", "<=", ">=", "<", ">"];
        let Some(sign) = self.peek().filter(|sign| signs.contains(sign)) else {
            return Ok(left);
        };
        self.at += 1;
        let right = self.unary()?;
        if self.peek().is_some_and(|sign| signs.contains(&sign)) {
            return Err(format!(
                "{}: comparisons have no order: write brackets",
                self.place()
            ));
        }
        self.compare(sign, left, right).map(Piece::Truth)
    }

    fn compare(&self, sign: &str, left: Piece<'a>, right: Piece<'a>) -> Result<Truth, String> {
        let not = |truth| Truth::Not(Box::new(truth));
        if matches!(sign, "==" | "!=") {
            let same = match (left, right) {
                (Piece::Truth(a), Piece::Truth(b)) => Truth::Same(Box::new(a), Box::new(b)),
                (Piece::Key(a, form), Piece::Key(b, other))
                    if form.ty.width() == other.ty.width() =>
                {
                    Truth::Equal(
                        Whole::Key(a, form.ty.width()),
                        Whole::Key(b, other.ty.width()),
                    )
                }
                (Piece::Key(key, form), Piece::Number(number))
                | (Piece::Number(number), Piece::Key(key, form)) => {
                    let width = form.ty.width();
                    match form.kind {
                        // It is just one value.
                        MatchKind::Exact => {
                            let value = Number::Part(key, Part::Value, width);
                            Truth::Compare(Relation::Equal, value, self.fit(number, width)?)
                        }
                        _ => {
                            let number = match self.fit(number, width)? {
                                Number::Constant(value) => Number::Constant(value),
                                other if self.width_of(&other) == Some(width) => other,
                                _ => return Err(self.kinds(sign)),
                            };
                            let whole = Whole::Key(key, width);
                            exactly(whole, number, width)
                        }
                    }
                }
                (Piece::Number(a), Piece::Number(b)) => {
                    let (a, b) = self.alike(sign, a, b)?;
                    Truth::Compare(Relation::Equal, a, b)
                }
                _ => return Err(self.kinds(sign)),
            };
            return Ok(if sign == "==" { same } else { not(same) });
        }
        let (a, b) = (self.number(sign, left)?, self.number(sign, right)?);
        let (a, b) = self.alike(sign, a, b)?;
        Ok(match sign {
            "<" => Truth::Compare(Relation::Less, a, b),
            "<=" => Truth::Compare(Relation::LessEqual, a, b),
            ">" => Truth::Compare(Relation::Less, b, a),
            _ => Truth::Compare(Relation::LessEqual, b, a),
        })
    }

    fn kinds(&self, sign: &str) -> String {
        format!(
            "{}: `{sign}` compares two numbers of one width, two keys, or two truths",
            self.place()
        )
    }

    fn number(&self, sign: &str, piece: Piece<'a>) -> Result<Number, String> {
        match piece {
            Piece::Number(number) => Ok(number),
            Piece::Key(key, form) if form.kind == MatchKind::Exact => {
                Ok(Number::Part(key, Part::Value, form.ty.width()))
            }
            Piece::Key(_, form) => Err(format!(
                "{}: `{sign}` compares numbers, and `{}` is {}: name a part, such as `{}::value`",
                self.place(),
                form.name,
                form.kind,
                form.name
            )),
            Piece::Truth(_) => Err(self.kinds(sign)),
        }
    }

    /// Two numbers of one type: one without bound takes the other's width.
    fn alike(&self, sign: &str, a: Number, b: Number) -> Result<(Number, Number), String> {
        match (self.width_of(&a), self.width_of(&b)) {
            (Some(x), Some(y)) if x == y => Ok((a, b)),
            (Some(width), None) => Ok((a, self.fit(b, width)?)),
            (None, Some(width)) => Ok((self.fit(a, width)?, b)),
            (None, None) => Ok((a, b)),
            _ => Err(self.kinds(sign)),
        }
    }

    /// How many bits a number has; none where it has no bound.
    fn width_of(&self, number: &Number) -> Option<u32> {
        match (number, self.scope) {
            (Number::Parameter(index), Scope::Action(form)) => {
                form.parameters.get(*index).map(|(_, ty)| ty.width())
            }
            (Number::Negative(of), _) => self.width_of(of),
            _ => number.width(),
        }
    }

    /// A constant of `width` bits: -1 is all ones.
    fn fit(&self, number: Number, width: u32) -> Result<Number, String> {
        match number {
            Number::Constant(value) => {
                let all = BigInt::from(mask(width)) + 1;
                let low = ((value % &all) + &all) % &all;
                Ok(Number::Constant(low))
            }
            other => match self.width_of(&other) {
                Some(own) if own == width => Ok(other),
                Some(own) => Err(format!(
                    "{}: numbers of {width} and of {own} bits are not of one width",
                    self.place()
                )),
                None => Err(format!(
                    "{}: a number of {width} bits cannot be compared with one without a width",
                    self.place()
                )),
            },
        }
    }

    fn unary(&mut self) -> Result<Piece<'a>, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("{}: it is nested too deep", self.place()));
        }
        let piece = if self.take("!") {
            let of = self.unary()?;
            Piece::Truth(Truth::Not(Box::new(self.truth(of)?)))
        } else if self.take("-") {
            match self.unary()? {
                Piece::Number(Number::Constant(value)) => Piece::Number(Number::Constant(-value)),
                Piece::Number(number) if self.width_of(&number).is_none() => {
                    Piece::Number(Number::Negative(Box::new(number)))
                }
                _ => {
                    return Err(format!(
                        "{}: `-` is for numbers without a width",
                        self.place()
                    ));
                }
            }
        } else if self.take("(") {
            let inner = self.sequence()?;
            if !self.take(")") {
                return Err(self.unexpected("`)`"));
            }
            inner
        } else {
            self.atom()?
        };
        self.depth -= 1;
        Ok(piece)
    }

    fn atom(&mut self) -> Result<Piece<'a>, String> {
        if self.take("::") {
            return match (self.peek(), self.scope) {
                (Some("priority"), Scope::Entry(_)) => {
                    self.at += 1;
                    Ok(Piece::Number(Number::Priority))
                }
                _ => Err(self.unexpected("`priority`, the only attribute of an entry,")),
            };
        }
        let wanted = "a key, a number, true or false";
        let word = self.peek().ok_or_else(|| self.unexpected(wanted))?;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let value = numeral(word).ok_or_else(|| self.unexpected("a number"))?;
            self.at += 1;
            return Ok(Piece::Number(Number::Constant(value)));
        }
        match word {
            "true" | "false" => {
                self.at += 1;
                return Ok(Piece::Truth(Truth::Constant(word == "true")));
            }
            "ipv4" | "ipv6" | "mac"
                if self.tokens.get(self.at + 1).is_some_and(|t| t.text == "(") =>
            {
                self.at += 2;
                return self.address(word);
            }
            _ => {}
        }
        if !word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Err(self.unexpected(wanted));
        }
        let piece = self.named(word)?;
        self.at += 1;
        if self.take("::") {
            let part = self.peek().unwrap_or("");
            let Piece::Key(key, form) = piece else {
                return Err(format!("{}: only keys have parts", self.place()));
            };
            let found = Part::find(form.kind, part).ok_or_else(|| {
                format!(
                    "{}: `{}` is {} and has no part `{part}`",
                    self.place(),
                    form.name,
                    form.kind
                )
            })?;
            self.at += 1;
            return Ok(Piece::Number(Number::Part(key, found, form.ty.width())));
        }
        Ok(piece)
    }

    fn named(&self, word: &str) -> Result<Piece<'a>, String> {
        match self.scope {
            Scope::Entry(form) => {
                let mut keys = form.keys.iter().enumerate();
                let found = keys.find(|(_, key)| &*key.name == word);
                let (index, key) = found
                    .ok_or_else(|| format!("{}: the table has no key `{word}`", self.place()))?;
                Ok(Piece::Key(index, key))
            }
            Scope::Action(form) => {
                let mut parameters = form.parameters.iter();
                let found = parameters.position(|(name, _)| &**name == word);
                let index = found.ok_or_else(|| {
                    format!("{}: the action has no parameter `{word}`", self.place())
                })?;
                Ok(Piece::Number(Number::Parameter(index)))
            }
        }
    }

    /// Behind `ipv4(`: `'10.0.0.1')`.
    fn address(&mut self, kind: &str) -> Result<Piece<'a>, String> {
        let quoted = self.peek().unwrap_or("");
        let text = quoted
            .strip_prefix('\'')
            .unwrap_or("")
            .trim_end_matches('\'');
        let value = match kind {
            "ipv4" => text
                .parse()
                .ok()
                .map(|ip: Ipv4Addr| u128::from(ip.to_bits())),
            "ipv6" => text.parse().ok().map(|ip: Ipv6Addr| ip.to_bits()),
            _ => mac(text),
        };
        let Some(value) = value else {
            return Err(self.unexpected(&format!("an address for `{kind}` in single quotes")));
        };
        self.at += 1;
        if !self.take(")") {
            return Err(self.unexpected("`)`"));
        }
        Ok(Piece::Number(Number::Constant(value.into())))
    }
}

fn mac(text: &str) -> Option<u128> {
    let parts: Vec<&str> = text.split(':').collect();
    let read = |part: &&str| match part.len() {
        1 | 2 => u8::from_str_radix(part, 16).ok(),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = parts.iter().map(read).collect();
    let bytes = bytes.filter(|bytes| bytes.len() == 6)?;
    let number = bytes
        .iter()
        .fold(0, |all, byte| all << 8 | u128::from(*byte));
    Some(number)
}

/// A key matches one number, and no other.
fn exactly(key: Whole, number: Number, width: u32) -> Truth {
    let Number::Constant(value) = &number else {
        return Truth::Equal(key, Whole::Number(number));
    };
    if value.is_negative() || value.bits() > u64::from(width) {
        return Truth::Constant(false);
    }
    Truth::Equal(
        key,
        Whole::Exactly(value.to_biguint().unwrap_or_default(), width),
    )
}

fn numeral(word: &str) -> Option<BigInt> {
    let lower = word.to_ascii_lowercase();
    let (digits, radix) = match lower.get(..2) {
        Some("0x") => (&lower[2..], 16),
        Some("0b") => (&lower[2..], 2),
        Some("0o") => (&lower[2..], 8),
        Some("0d") => (&lower[2..], 10),
        _ => (&lower[..], 10),
    };
    if digits.is_empty() || digits.len() > 256 {
        return None;
    }
    BigUint::from_str_radix(digits, radix)
        .ok()
        .map(BigInt::from)
}
