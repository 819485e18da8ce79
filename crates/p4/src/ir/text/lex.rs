//! Tokens.

use super::Error;
use crate::value::Bits;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use num_bigint::BigUint;

/// Wider values than these are not read.
pub(super) const WIDEST: u32 = 1 << 20;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A plain name that is no keyword, or a quoted one.
    Name(Cow<'a, str>),
    Keyword(&'a str),
    Number(u64),
    /// `16w0x800`, and whether it was written with `s`.
    Bits(Bits, bool),
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Placed<'a> {
    pub(super) token: Token<'a>,
    pub(super) at: usize,
}

/// Words that begin or join something; as names they are quoted.
const KEYWORDS: [&str; 54] = [
    "program",
    "enum",
    "slot",
    "header",
    "stack",
    "value_set",
    "object",
    "action",
    "table",
    "parser",
    "control",
    "is",
    "valid",
    "next",
    "size",
    "types",
    "method",
    "key",
    "default",
    "const",
    "entry",
    "implementation",
    "empty_group",
    "direct",
    "idle_timeout",
    "hit",
    "action_run",
    "property",
    "const_entries",
    "table_only",
    "default_only",
    "role",
    "error_in",
    "parameter",
    "fail",
    "extract",
    "extract_next",
    "lookahead",
    "advance",
    "length",
    "emit",
    "emit_value",
    "call",
    "of",
    "jump",
    "branch",
    "select",
    "apply",
    "return",
    "exit",
    "reject",
    "text",
    "member",
    "any",
];
/// Words of expressions.
const WORDS: [&str; 7] = [
    "at",
    "cast",
    "if",
    "varbit_length",
    "true",
    "false",
    "typed",
];

const SYMBOLS: [&str; 43] = [
    "&&&", "|+|", "|-|", "<<", ">>", "++", "==", "!=", "<=", ">=", "->", "..", "+", "-", "*", "/",
    "%", "&", "|", "^", "<", ">", "=", "~", "!", "(", ")", "{", "}", "[", "]", ",", ":", "@", "#",
    // So that a stray one is a token with a place, not a fault of the lexer.
    "?", "$", ".", "'", "`", "\\", "&&", "||",
];

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word) || WORDS.contains(&word)
}

/// How many bytes at the start of `text` are a plain name: `hdr.mpls[2].$valid`.
pub(super) fn plain_name(text: &str) -> usize {
    let bytes = text.as_bytes();
    let letter = |at: usize| {
        bytes
            .get(at)
            .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_' || *b == b'$')
    };
    if !(letter(0) || bytes.first() == Some(&b'.') && letter(1)) {
        return 0;
    }
    let mut at = 1;
    loop {
        match bytes.get(at) {
            Some(b'.') if letter(at + 1) || bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                at += 1;
            }
            Some(b'_' | b'$') => at += 1,
            Some(b) if b.is_ascii_alphanumeric() => at += 1,
            Some(b'[') => {
                let digits = bytes[at + 1..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                if digits == 0 || bytes.get(at + 1 + digits) != Some(&b']') {
                    return at;
                }
                at += digits + 2;
            }
            _ => return at,
        }
    }
}

pub(super) fn fault(text: &str, at: usize, message: impl Into<String>) -> Error {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    Error {
        line: before.matches('\n').count() as u32 + 1,
        column: before[start..].chars().count() as u32 + 1,
        message: message.into(),
    }
}

pub(super) fn tokens(text: &str) -> Result<Vec<Placed<'_>>, Error> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let token = match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b';' => {
                at += bytes[at..]
                    .iter()
                    .position(|b| *b == b'\n')
                    .unwrap_or(bytes.len() - at);
                continue;
            }
            b'"' => Token::Name(Cow::Owned(quoted(text, &mut at)?)),
            b'0'..=b'9' => number(text, &mut at)?,
            _ => {
                let length = plain_name(&text[at..]);
                if length > 0 {
                    at += length;
                    let word = &text[start..at];
                    if is_keyword(word) {
                        Token::Keyword(word)
                    } else {
                        Token::Name(Cow::Borrowed(word))
                    }
                } else {
                    let symbol = SYMBOLS.iter().find(|s| text[at..].starts_with(**s));
                    let symbol =
                        symbol.ok_or_else(|| fault(text, at, "this is no part of the language"))?;
                    at += symbol.len();
                    Token::Symbol(symbol)
                }
            }
        };
        out.push(Placed { token, at: start });
    }
    out.push(Placed {
        token: Token::End,
        at,
    });
    Ok(out)
}

fn quoted(text: &str, at: &mut usize) -> Result<String, Error> {
    let start = *at;
    let mut out = String::new();
    let mut chars = text[start + 1..].char_indices();
    while let Some((offset, c)) = chars.next() {
        match c {
            '"' => {
                *at = start + 1 + offset + 1;
                return Ok(out);
            }
            '\\' => out.push(match chars.next() {
                Some((_, 'n')) => '\n',
                Some((_, 'r')) => '\r',
                Some((_, 't')) => '\t',
                Some((_, c @ ('"' | '\\'))) => c,
                _ => {
                    let place = start + 1 + offset;
                    return Err(fault(
                        text,
                        place,
                        "one of \\n \\r \\t \\\" \\\\ is possible",
                    ));
                }
            }),
            '\n' => break,
            c => out.push(c),
        }
    }
    Err(fault(text, start, "the closing quote is missing"))
}

fn number<'a>(text: &'a str, at: &mut usize) -> Result<Token<'a>, Error> {
    let start = *at;
    let digits = |from: usize, radix: u32| {
        let rest = &text.as_bytes()[from..];
        rest.iter()
            .take_while(|b| char::from(**b).is_digit(radix))
            .count()
    };
    *at += digits(start, 10);
    let value: u64 = text[start..*at]
        .parse()
        .map_err(|_| fault(text, start, "the number is too large"))?;
    let Some(sign @ (b'w' | b's')) = text.as_bytes().get(*at) else {
        return Ok(Token::Number(value));
    };
    if !text[*at + 1..].starts_with("0x") {
        return Err(fault(text, start, "a value is written as 16w0x800"));
    }
    let from = *at + 3;
    let length = digits(from, 16);
    *at = from + length;
    let width = u32::try_from(value)
        .ok()
        .filter(|width| *width <= WIDEST)
        .ok_or_else(|| fault(text, start, format!("wider than {WIDEST} bits")))?;
    let value = BigUint::parse_bytes(&text.as_bytes()[from..*at], 16)
        .ok_or_else(|| fault(text, from, "hexadecimal digits are missing"))?;
    if value.bits() > u64::from(width) {
        return Err(fault(text, start, format!("needs more than {width} bits")));
    }
    Ok(Token::Bits(Bits::new(width, value), *sign == b's'))
}
