//! Tokens, and names kept once.

use crate::source::Span;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// One token of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    /// Where it stands; a token out of a macro's body stands where the macro is used.
    pub span: Span,
    /// Whether it is the first of its line, which ends an `@pragma` and tells where a `;` was forgotten.
    pub line_start: bool,
    /// Whether anything stands between it and the token before it: `> >` is no shift.
    pub space: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name; in P4_16 some are keywords.
    Name(Arc<str>, Option<Keyword>),
    /// An integer literal as written: `10`, `0xFF`, `8w0b1010_1010`.
    Integer(Arc<str>),
    /// What stands between the quotes of a string, escapes as written.
    String(Arc<str>),
    /// Punctuation.
    Symbol(Symbol),
    /// A character that has no place in a program.
    Unknown(char),
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// As it is written.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

words! {
    /// The keywords of P4_16 (specification, appendix A).
    Keyword {
        Abstract "abstract", Action "action", Actions "actions", Apply "apply", Bit "bit", Bool "bool", Break "break",
        Const "const", Continue "continue", Control "control", Default "default", Else "else", Entries "entries",
        Enum "enum", Error "error", Exit "exit", Extern "extern", False "false", For "for", Header "header",
        HeaderUnion "header_union", If "if", In "in", InOut "inout", Int "int", Key "key", List "list",
        MatchKind "match_kind", Out "out", Package "package", Parser "parser", Priority "priority", Return "return",
        Select "select", State "state", String "string", Struct "struct", Switch "switch", Table "table", This "this",
        Transition "transition", True "true", Tuple "tuple", Type "type", Typedef "typedef", ValueSet "value_set",
        Varbit "varbit", Void "void", Underscore "_",
    }
}

impl Keyword {
    /// The keyword that a name is.
    #[must_use]
    pub fn of(text: &str) -> Option<Keyword> {
        Keyword::ALL.iter().copied().find(|k| k.text() == text)
    }

    /// Whether it may be used as a name all the same.
    #[must_use]
    pub fn is_name(self) -> bool {
        use Keyword::{Actions, Apply, Entries, Key, List, Priority, State, Type};
        matches!(
            self,
            Actions | Apply | Entries | Key | List | Priority | State | Type
        )
    }
}

words! {
    /// Punctuation.
    Symbol {
        OpenParen "(", CloseParen ")", OpenBracket "[", CloseBracket "]", OpenBrace "{", CloseBrace "}", Invalid "{#}",
        Less "<", Greater ">", LessEqual "<=", GreaterEqual ">=", ShiftLeft "<<", Equal "==", NotEqual "!=",
        And "&&", Or "||", Mask "&&&", BitAnd "&", BitOr "|", BitXor "^", Tilde "~", Bang "!",
        Plus "+", Minus "-", Star "*", Slash "/", Percent "%", Concat "++", PlusSat "|+|", MinusSat "|-|",
        Assign "=", AssignPlus "+=", AssignMinus "-=", AssignStar "*=", AssignSlash "/=", AssignPercent "%=",
        AssignAnd "&=", AssignOr "|=", AssignXor "^=", AssignShiftLeft "<<=", AssignShiftRight ">>=",
        AssignPlusSat "|+|=", AssignMinusSat "|-|=",
        Semicolon ";", Colon ":", PlusColon "+:", Comma ",", Question "?", Dot ".", Range "..", Dots "...", At "@",
        Hash "#", HashHash "##", Quote "'",
    }
}

impl Token {
    /// The token as it is written.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.kind {
            TokenKind::Name(text, _) | TokenKind::Integer(text) => String::from(&**text),
            TokenKind::String(text) => format!("\"{text}\""),
            TokenKind::Symbol(symbol) => String::from(symbol.text()),
            TokenKind::Unknown(c) => String::from(*c),
        }
    }

    /// Whether it is this punctuation.
    #[must_use]
    pub fn is(&self, symbol: Symbol) -> bool {
        self.kind == TokenKind::Symbol(symbol)
    }

    /// The name, when it is one; keywords too.
    #[must_use]
    pub fn name(&self) -> Option<&Arc<str>> {
        match &self.kind {
            TokenKind::Name(text, _) => Some(text),
            _ => None,
        }
    }

    /// The keyword, when it is one.
    #[must_use]
    pub fn keyword(&self) -> Option<Keyword> {
        match self.kind {
            TokenKind::Name(_, keyword) => keyword,
            _ => None,
        }
    }
}

/// What a string literal means: `\"`, `\\` and `\n` are escapes (specification 6.4.3.3); other backslashes stand for themselves.
#[must_use]
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => out.push('\n'),
            Some(c @ ('"' | '\\')) => out.push(c),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}

/// A number as it is written in a program, with its width or not.
pub(crate) fn integer(token: &str) -> Option<u64> {
    let token = match token.find(['w', 's']) {
        Some(at) if token[..at].bytes().all(|byte| byte.is_ascii_digit()) => &token[at + 1..],
        _ => token,
    };
    let token = token.replace('_', "").to_ascii_lowercase();
    if let Some(digits) = token.strip_prefix("0x") {
        u64::from_str_radix(digits, 16).ok()
    } else if let Some(digits) = token.strip_prefix("0b") {
        u64::from_str_radix(digits, 2).ok()
    } else if let Some(digits) = token.strip_prefix("0o") {
        u64::from_str_radix(digits, 8).ok()
    } else {
        token.strip_prefix("0d").unwrap_or(&token).parse().ok()
    }
}

/// Texts kept once, so that equal names share their memory.
#[derive(Debug)]
pub struct Interner {
    /// Open addressing over `entries`; 0 is free, n is entry n - 1.
    slots: Vec<u32>,
    entries: Vec<(u64, Arc<str>, Option<Keyword>)>,
}

impl Default for Interner {
    fn default() -> Self {
        let mut names = Interner {
            slots: vec![0; 1024],
            entries: Vec::new(),
        };
        for keyword in Keyword::ALL {
            let (hash, slot) = names.find(keyword.text());
            names.insert(hash, slot, keyword.text(), Some(*keyword));
        }
        names
    }
}

impl Interner {
    /// The kept text, and the keyword that it is.
    pub fn intern(&mut self, text: &str) -> (Arc<str>, Option<Keyword>) {
        let (hash, slot) = self.find(text);
        if let Some(index) = self.slots[slot].checked_sub(1) {
            let (_, kept, keyword) = &self.entries[index as usize];
            return (kept.clone(), *keyword);
        }
        self.insert(hash, slot, text, None)
    }

    fn find(&self, text: &str) -> (u64, usize) {
        // FNV-1a.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let most = self.slots.len() - 1;
        let mut slot = (hash ^ (hash >> 32)) as usize & most;
        while let Some(index) = self.slots[slot].checked_sub(1) {
            let (kept_hash, kept, _) = &self.entries[index as usize];
            if *kept_hash == hash && **kept == *text {
                break;
            }
            slot = (slot + 1) & most;
        }
        (hash, slot)
    }

    fn insert(
        &mut self,
        hash: u64,
        slot: usize,
        text: &str,
        keyword: Option<Keyword>,
    ) -> (Arc<str>, Option<Keyword>) {
        let kept: Arc<str> = text.into();
        self.entries.push((hash, kept.clone(), keyword));
        self.slots[slot] = self.entries.len() as u32;
        if self.entries.len() * 2 > self.slots.len() {
            let most = self.slots.len() * 2 - 1;
            self.slots = vec![0; most + 1];
            for (index, (hash, ..)) in self.entries.iter().enumerate() {
                let mut slot = (hash ^ (hash >> 32)) as usize & most;
                while self.slots[slot] != 0 {
                    slot = (slot + 1) & most;
                }
                self.slots[slot] = index as u32 + 1;
            }
        }
        (kept, keyword)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_and_keywords_are_told() {
        let mut names = Interner::default();
        let all: Vec<_> = (0..5000)
            .map(|n| names.intern(&format!("name{n}")).0)
            .collect();
        for (n, kept) in all.iter().enumerate() {
            assert!(Arc::ptr_eq(&names.intern(&format!("name{n}")).0, kept));
        }
        assert_eq!(names.intern("header_union").1, Some(Keyword::HeaderUnion));
        assert_eq!(names.intern("header_unions").1, None);
    }

    #[test]
    fn only_known_escapes_mean_something_else() {
        assert_eq!(unescape(r#"a\"b\\c\nd\qe\"#), "a\"b\\c\nd\\qe\\");
    }
}
