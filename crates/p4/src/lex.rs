//! Text to tokens. Comments and line ends separate tokens; a backslash at the end of a line joins it to the next.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::token::{Interner, Symbol, Token, TokenKind};
use alloc::borrow::Cow;
use alloc::sync::Arc;

/// Reads the tokens of one file.
#[derive(Clone, Debug)]
pub struct Lexer<'t> {
    text: &'t str,
    at: usize,
    base: u32,
    line: u32,
    line_start: bool,
    one_line: bool,
}

/// What separates tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trivia {
    /// `// ...` to the end of the line, without it.
    LineComment,
    /// `/* ... */`
    BlockComment,
}

impl<'t> Lexer<'t> {
    /// Over a text whose first byte has the number `base` in spans.
    #[must_use]
    pub fn new(text: &'t str, base: u32) -> Self {
        Lexer {
            text,
            at: 0,
            base,
            line: 1,
            line_start: true,
            one_line: false,
        }
    }

    /// The line on which it is, from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }

    /// How many bytes were read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// From now on, or no longer, a line end is the end of all tokens.
    pub fn within_line(&mut self, yes: bool) {
        self.one_line = yes;
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text
            .as_bytes()
            .get(self.at + ahead)
            .copied()
            .unwrap_or(0)
    }

    fn span(&self, start: usize) -> Span {
        Span {
            start: self.base + start as u32,
            end: self.base + self.at as u32,
        }
    }

    /// Passes white space and comments, each comment is shown to `see`. An unclosed comment is told and ends with the text.
    pub fn trivia(&mut self, diagnostics: &mut Diagnostics, mut see: impl FnMut(Trivia, Span)) {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'\n') => {
                    if self.one_line {
                        return;
                    }
                    self.at += 1;
                    self.line += 1;
                    self.line_start = true;
                }
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => self.at += 1,
                // The mark that some editors put at the start of a UTF-8 file.
                Some(0xef) if self.at == 0 && self.text.starts_with('\u{feff}') => self.at += 3,
                Some(b'\\') => {
                    let rest = &bytes[self.at + 1..];
                    let length = match rest {
                        [b'\n', ..] => 2,
                        [b'\r', b'\n', ..] => 3,
                        _ => return,
                    };
                    self.at += length;
                    self.line += 1;
                }
                Some(b'/') => match bytes.get(self.at + 1) {
                    Some(b'/') => {
                        let start = self.at;
                        self.pass_line();
                        see(Trivia::LineComment, self.span(start));
                    }
                    Some(b'*') => {
                        let start = self.at;
                        let end = self.text[self.at + 2..].find("*/");
                        if end.is_none() {
                            self.at += 2;
                            diagnostics.push(
                                Diagnostic::error(
                                    "unclosed-comment",
                                    self.span(start),
                                    "this comment is never closed",
                                )
                                .help("write `*/` where it ends"),
                            );
                        }
                        self.at = end.map_or(self.text.len(), |n| start + n + 4);
                        let inside = &bytes[start..self.at];
                        self.line += inside.iter().filter(|b| **b == b'\n').count() as u32;
                        see(Trivia::BlockComment, self.span(start));
                    }
                    _ => return,
                },
                _ => return,
            }
        }
    }

    /// To the line's end, over joined lines.
    fn pass_line(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if byte == b'\n' {
                let joined =
                    bytes[..self.at].ends_with(b"\\") || bytes[..self.at].ends_with(b"\\\r");
                if !joined {
                    return;
                }
                self.line += 1;
            }
            self.at += 1;
        }
    }

    /// The rest of the line as it is written; the line's end is left.
    pub fn rest_of_line(&mut self) -> (&'t str, Span) {
        let start = self.at;
        self.pass_line();
        (&self.text[start..self.at], self.span(start))
    }

    /// The next token; `None` at the end.
    pub fn next(&mut self, names: &mut Interner, diagnostics: &mut Diagnostics) -> Option<Token> {
        let before = self.at;
        self.trivia(diagnostics, |_, _| {});
        let start = self.at;
        let first = *self.text.as_bytes().get(start)?;
        if self.one_line && first == b'\n' {
            return None;
        }
        let kind = match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let (name, keyword) = names.intern(&self.word());
                TokenKind::Name(name, keyword)
            }
            b'0'..=b'9' => {
                self.integer();
                TokenKind::Integer(names.intern(&self.text[start..self.at]).0)
            }
            b'"' => TokenKind::String(self.string(diagnostics)),
            _ => self.symbol(),
        };
        let token = Token {
            kind,
            span: self.span(start),
            line_start: self.line_start,
            space: start > before,
        };
        self.line_start = false;
        Some(token)
    }

    fn pass(&mut self, while_: impl Fn(u8) -> bool) {
        let bytes = &self.text.as_bytes()[self.at..];
        self.at += bytes
            .iter()
            .position(|b| !while_(*b))
            .unwrap_or(bytes.len());
    }

    /// A name, which may go on in the next line behind a backslash.
    fn word(&mut self) -> Cow<'t, str> {
        let mut word = Cow::Borrowed("");
        loop {
            let start = self.at;
            self.pass(|b| b.is_ascii_alphanumeric() || b == b'_');
            word += &self.text[start..self.at];
            let joined = match &self.text.as_bytes()[self.at..] {
                [b'\\', b'\n', next, ..] => Some((2, *next)),
                [b'\\', b'\r', b'\n', next, ..] => Some((3, *next)),
                _ => None,
            };
            match joined {
                Some((length, next)) if next.is_ascii_alphanumeric() || next == b'_' => {
                    self.at += length;
                    self.line += 1;
                }
                _ => return word,
            }
        }
    }

    /// Digits with what may stand before them: `10`, `0x1F`, `8w5`, `16w0xFF`, `4s0b11`.
    fn integer(&mut self) {
        let leading_zero = self.byte(0) == b'0';
        if !(leading_zero && self.based_digits()) {
            self.pass(|b| b.is_ascii_digit() || b == b'_');
            let more = |b: u8| b.is_ascii_digit() || b == b'_';
            if matches!(self.byte(0), b'w' | b's') && more(self.byte(1)) {
                self.at += 1;
                if !(self.byte(0) == b'0' && self.based_digits()) {
                    self.pass(more);
                }
            }
        }
    }

    /// Passes `0x1F` and its like, when there is one.
    fn based_digits(&mut self) -> bool {
        let digit: fn(u8) -> bool = match self.byte(1) {
            b'x' | b'X' => |b| b.is_ascii_hexdigit() || b == b'_',
            b'd' | b'D' => |b| b.is_ascii_digit() || b == b'_',
            b'o' | b'O' => |b| matches!(b, b'0'..=b'7' | b'_'),
            b'b' | b'B' => |b| matches!(b, b'0' | b'1' | b'_'),
            _ => return false,
        };
        if !digit(self.byte(2)) {
            return false;
        }
        self.at += 2;
        self.pass(digit);
        true
    }

    fn string(&mut self, diagnostics: &mut Diagnostics) -> Arc<str> {
        let start = self.at;
        self.at += 1;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') if self.at + 1 < bytes.len() => {
                    self.line += u32::from(bytes[self.at + 1] == b'\n');
                    self.at += 2;
                }
                Some(b'\n') if !self.one_line => {
                    self.line += 1;
                    self.at += 1;
                }
                Some(b'\n') | None => {
                    self.at = start + 1;
                    diagnostics.push(
                        Diagnostic::error(
                            "unclosed-string",
                            self.span(start),
                            "this string is never closed",
                        )
                        .help("write `\"` where it ends"),
                    );
                    self.pass_line();
                    return self.text[start + 1..self.at].into();
                }
                Some(_) => self.at += 1,
            }
        }
        // An escape may have passed half of a character; the quote is a whole one.
        let inside = self.text.get(start + 1..self.at).unwrap_or("");
        self.at += 1;
        inside.into()
    }

    fn symbol(&mut self) -> TokenKind {
        use Symbol::*;
        let (symbol, length) = match [self.byte(0), self.byte(1), self.byte(2), self.byte(3)] {
            [b'|', b'+', b'|', b'='] => (AssignPlusSat, 4),
            [b'|', b'-', b'|', b'='] => (AssignMinusSat, 4),
            [b'|', b'+', b'|', _] => (PlusSat, 3),
            [b'|', b'-', b'|', _] => (MinusSat, 3),
            [b'{', b'#', b'}', _] => (Invalid, 3),
            [b'&', b'&', b'&', _] => (Mask, 3),
            [b'<', b'<', b'=', _] => (AssignShiftLeft, 3),
            [b'>', b'>', b'=', _] => (AssignShiftRight, 3),
            [b'.', b'.', b'.', _] => (Dots, 3),
            [b'.', b'.', ..] => (Range, 2),
            [b'<', b'<', ..] => (ShiftLeft, 2),
            [b'<', b'=', ..] => (LessEqual, 2),
            [b'>', b'=', ..] => (GreaterEqual, 2),
            [b'=', b'=', ..] => (Equal, 2),
            [b'!', b'=', ..] => (NotEqual, 2),
            [b'&', b'&', ..] => (And, 2),
            [b'|', b'|', ..] => (Or, 2),
            [b'+', b'+', ..] => (Concat, 2),
            [b'+', b':', ..] => (PlusColon, 2),
            [b'+', b'=', ..] => (AssignPlus, 2),
            [b'-', b'=', ..] => (AssignMinus, 2),
            [b'*', b'=', ..] => (AssignStar, 2),
            [b'/', b'=', ..] => (AssignSlash, 2),
            [b'%', b'=', ..] => (AssignPercent, 2),
            [b'&', b'=', ..] => (AssignAnd, 2),
            [b'|', b'=', ..] => (AssignOr, 2),
            [b'^', b'=', ..] => (AssignXor, 2),
            [b'#', b'#', ..] => (HashHash, 2),
            [b'(', ..] => (OpenParen, 1),
            [b')', ..] => (CloseParen, 1),
            [b'[', ..] => (OpenBracket, 1),
            [b']', ..] => (CloseBracket, 1),
            [b'{', ..] => (OpenBrace, 1),
            [b'}', ..] => (CloseBrace, 1),
            [b'<', ..] => (Less, 1),
            [b'>', ..] => (Greater, 1),
            [b'&', ..] => (BitAnd, 1),
            [b'|', ..] => (BitOr, 1),
            [b'^', ..] => (BitXor, 1),
            [b'~', ..] => (Tilde, 1),
            [b'!', ..] => (Bang, 1),
            [b'+', ..] => (Plus, 1),
            [b'-', ..] => (Minus, 1),
            [b'*', ..] => (Star, 1),
            [b'/', ..] => (Slash, 1),
            [b'%', ..] => (Percent, 1),
            [b'=', ..] => (Assign, 1),
            [b';', ..] => (Semicolon, 1),
            [b':', ..] => (Colon, 1),
            [b',', ..] => (Comma, 1),
            [b'?', ..] => (Question, 1),
            [b'.', ..] => (Dot, 1),
            [b'@', ..] => (At, 1),
            [b'#', ..] => (Hash, 1),
            [b'\'', ..] => (Quote, 1),
            _ => {
                let c = self.text[self.at..].chars().next().unwrap_or('\0');
                self.at += c.len_utf8();
                return TokenKind::Unknown(c);
            }
        };
        self.at += length;
        TokenKind::Symbol(symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec::Vec;

    fn tokens(text: &str) -> (Vec<Token>, Diagnostics) {
        let (mut names, mut diagnostics) = (Interner::default(), Diagnostics::default());
        let mut lexer = Lexer::new(text, 0);
        let list = core::iter::from_fn(|| lexer.next(&mut names, &mut diagnostics)).collect();
        (list, diagnostics)
    }

    fn texts(text: &str) -> Vec<String> {
        let (list, diagnostics) = tokens(text);
        assert!(!diagnostics.failed(), "{text}");
        list.iter().map(Token::text).collect()
    }

    #[test]
    fn integers_in_every_base_are_one_token_each() {
        let line = "0xFf_0 0b1_0 0o17 0d9 1_000 8w255 16w0xFFFF 4s0b11 0 007";
        assert_eq!(texts(line).join(" "), line);
        assert_eq!(texts("1..3"), ["1", "..", "3"]);
        assert_eq!(texts("8wide 0xg"), ["8", "wide", "0", "xg"]);
    }

    #[test]
    fn the_longest_punctuation_wins_but_greater_stays_alone() {
        assert_eq!(
            texts("|+|= |+| a|b &&& && {#} {# } >> >>= ... .. +:"),
            [
                "|+|=", "|+|", "a", "|", "b", "&&&", "&&", "{#}", "{", "#", "}", ">", ">", ">>=",
                "...", "..", "+:"
            ]
        );
    }

    #[test]
    fn comments_separate_and_lines_are_told() {
        let (list, _) = tokens("a/* x\n */b // c\nd \\\n e");
        let starts: Vec<_> = list.iter().map(|t| (t.line_start, t.space)).collect();
        assert_eq!(
            starts,
            [(true, false), (false, true), (true, true), (false, true)]
        );
    }

    #[test]
    fn unclosed_strings_and_comments_are_errors_with_a_place() {
        let (_, diagnostics) = tokens("a \"bc");
        assert_eq!(diagnostics.sorted()[0].span, Span { start: 2, end: 3 });
        let (_, diagnostics) = tokens("a /* b");
        assert_eq!(diagnostics.sorted()[0].code, "unclosed-comment");
    }

    #[test]
    fn an_escape_before_a_wide_character_does_not_split_it() {
        assert_eq!(texts("\"\\é\" x"), ["\"\\é\"", "x"]);
    }
}
