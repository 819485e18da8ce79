//! A command's line, cut into words.

use super::super::Error;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The words of a line. Blanks, commas and brackets part words, so that `forward(2, 1)` is `forward 2 1`; `#` begins a comment; what stands
/// in double quotes is one word; `&&&`, `..` and `->` belong to the value before and behind them, as `=` does.
pub(super) fn split(line: &str) -> Result<Vec<String>, Error> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut started = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '#' if !started => break,
            '"' => {
                started = true;
                loop {
                    match characters.next() {
                        Some('"') => break,
                        Some(c) => word.push(c),
                        None => {
                            return Err(Error::value(format!(
                                "a double quote is open at the end of `{}`",
                                line.trim()
                            )));
                        }
                    }
                }
            }
            // A name such as `hdr.ipv4.isValid()`.
            '(' if started && characters.peek() == Some(&')') => {
                characters.next();
                word.push_str("()");
            }
            c if c.is_whitespace() || matches!(c, '(' | ')' | ',') => {
                if core::mem::take(&mut started) {
                    words.push(core::mem::take(&mut word));
                }
            }
            c => {
                started = true;
                word.push(c);
            }
        }
    }
    if started {
        words.push(word);
    }
    Ok(glue(words))
}

fn glue(words: Vec<String>) -> Vec<String> {
    const INNER: [&str; 4] = ["&&&", "..", "->", "="];
    let mut glued: Vec<String> = Vec::with_capacity(words.len());
    let mut open = false;
    for word in words {
        let begins = word != "=>" && INNER.iter().any(|inner| word.starts_with(inner));
        match glued.last_mut() {
            Some(last) if open || begins => last.push_str(&word),
            _ => glued.push(word.clone()),
        }
        open = word != "=>" && INNER.iter().any(|inner| word.ends_with(inner));
    }
    glued
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_into_words() {
        for (line, words) in [
            ("table  add t", &["table", "add", "t"][..]),
            ("t 1 &&& 2 3 .. 4", &["t", "1&&&2", "3..4"]),
            ("f(2, 00:11)", &["f", "2", "00:11"]),
            ("hdr.h.isValid() = true", &["hdr.h.isValid()=true"]),
            ("a b # c", &["a", "b"]),
            ("# c", &[]),
            ("\"a b\" c", &["a b", "c"]),
            ("k=1 => f", &["k=1", "=>", "f"]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        assert!(split("a \"b").is_err());
    }
}
