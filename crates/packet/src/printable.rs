//! Text from outside - names in captures, what a peer sent, a user's file - as it may be shown: on a terminal, in a picture, in a page.
//!
//! Control characters, C1 ones too, could move the cursor, change colours or set a window's title; marks of direction
//! could make a name read as another. They become `\uXXXX`, as JSON writes them, so that what is JSON stays the same by
//! value. What belongs to JSON as such is not made printable but exact.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// A text that stands within a line, such as a name: line ends and tabs are escaped too.
///
/// ```
/// assert_eq!(packet::printable::word("eth0\x1b[2J"), "eth0\\u001b[2J");
/// ```
pub fn word(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// A text of one or more lines, such as a message: line feeds and tabs stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// Makes bytes that may be no UTF-8 fit for a terminal, in place: as [`lines`], and a carriage return before a line
/// feed stays.
pub fn terminal(bytes: &mut Vec<u8>) {
    if bytes
        .iter()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return;
    }
    let mut shown = String::with_capacity(bytes.len() + bytes.len() / 8);
    for chunk in bytes.utf8_chunks() {
        let text = chunk.valid();
        for (at, c) in text.char_indices() {
            match c {
                '\n' | '\t' => shown.push(c),
                '\r' if text[at..].starts_with("\r\n") => shown.push(c),
                c => push(c, &mut shown),
            }
        }
        // Alone they are C1 characters to a terminal that knows no UTF-8.
        for &byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    *bytes = shown.into_bytes();
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c: char| is_unprintable(c) && !stays(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match bad(c) {
            true => push(c, &mut shown),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Appends a character, escaped if it must be. All that must be have at most four digits.
fn push(c: char, out: &mut String) {
    if is_unprintable(c) {
        let _ = write!(out, "\\u{:04x}", u32::from(c));
    } else {
        out.push(c);
    }
}

/// Whether a character acts instead of being seen: C0 and C1 control characters, DEL, marks, embeddings, overrides
/// and isolates of direction, separators of lines and paragraphs, and the byte order mark.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_escaped_and_what_is_seen_stays() {
        for (text, shown) in [
            ("eth0", "eth0"),
            ("Zürich 東京 🐟", "Zürich 東京 🐟"),
            ("\x1b]0;owned\x07", "\\u001b]0;owned\\u0007"),
            ("a\u{9b}31mb\x7f", "a\\u009b31mb\\u007f"),
            ("gpj.\u{202e}exe", "gpj.\\u202eexe"),
            ("a\r\nb\tc", "a\\u000d\\u000ab\\u0009c"),
        ] {
            assert_eq!(word(text), shown);
        }
        assert_eq!(lines("a\tb\n\x1b[2J\r\n"), "a\tb\n\\u001b[2J\\u000d\n");
        assert!(matches!(word("eth0"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_terminal_gets_no_byte_that_acts() {
        let mut bytes = b"ok \x9b31m \xc2\x9b31m \x1b[2J caf\xc3\xa9\r\nx\ry\n".to_vec();
        terminal(&mut bytes);
        let shown = String::from_utf8(bytes).unwrap();
        assert_eq!(
            shown,
            "ok \\x9b31m \\u009b31m \\u001b[2J café\r\nx\\u000dy\n"
        );
    }
}
