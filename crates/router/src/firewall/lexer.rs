//! Words and symbols of a ruleset.

use super::Fault;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv6Addr;

/// Maximum length of a ruleset, bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// A word or a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Letters, digits and what names, numbers, addresses and ranges are made of.
    Word(String),
    /// In quotation marks.
    Text(String),
    /// One of `{ } ( ) , : = == != < <= > >= & | @ !`.
    Symbol(&'static str),
    /// The end of a line, or `;`.
    End,
}

/// A token, and where it begins.
#[derive(Clone, Debug)]
pub(super) struct Lexed {
    pub token: Token,
    pub line: u32,
    pub column: u32,
}

const SYMBOLS: [&str; 17] = [
    "==", "!=", "<=", ">=", "{", "}", "(", ")", ",", ":", "=", "<", ">", "&", "|", "@", "!",
];

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_.-/:*+$^\\".contains(character)
}

/// Whether a word with colons is an IPv6 address, a prefix, or a range of addresses.
fn is_ipv6(word: &str) -> bool {
    let is_address = |part: &str| {
        let address = part.split('/').next().unwrap_or(part);
        address.parse::<Ipv6Addr>().is_ok()
    };
    word.split('-').all(is_address)
}

/// Splits a ruleset into tokens.
pub(super) fn split(text: &str) -> Result<Vec<Lexed>, Fault> {
    if text.len() > MAX_TEXT {
        return Err(Fault::new(1, 1, format!("longer than {MAX_TEXT} bytes")));
    }
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let number = number as u32 + 1;
        let mut rest = line;
        let place = |rest: &str| (line.len() - rest.len()) as u32 + 1;
        let continues = line.trim_end().ends_with('\\');
        loop {
            rest = rest.trim_start();
            let column = place(rest);
            let mut add = |token| {
                tokens.push(Lexed {
                    token,
                    line: number,
                    column,
                });
            };
            if rest.is_empty() || rest.starts_with('#') || (continues && rest.trim_end() == "\\") {
                if !continues {
                    add(Token::End);
                }
                break;
            }
            if let Some(after) = rest.strip_prefix(';') {
                add(Token::End);
                rest = after;
                continue;
            }
            if let Some(after) = rest.strip_prefix('"') {
                let Some((inner, after)) = after.split_once('"') else {
                    return Err(Fault::new(number, column, "close the quotation mark"));
                };
                add(Token::Text(inner.to_owned()));
                rest = after;
                continue;
            }
            let length = rest.find(|next| !is_word(next)).unwrap_or(rest.len());
            let word = &rest[..length];
            if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol))
                && (symbol != ":" || !is_ipv6(word))
            {
                add(Token::Symbol(symbol));
                rest = &rest[symbol.len()..];
                continue;
            }
            // A key and its value in a map, such as `22:accept`.
            let word = match word.split_once(':') {
                Some((key, _)) if !is_ipv6(word) => key,
                _ => word,
            };
            let Some(first) = rest.chars().next().filter(|_| word.is_empty()) else {
                add(Token::Word(word.to_owned()));
                rest = &rest[word.len()..];
                continue;
            };
            let reason = format!("`{first}` has no meaning here");
            return Err(Fault::new(number, column, reason));
        }
    }
    Ok(tokens)
}
