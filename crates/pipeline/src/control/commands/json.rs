//! Answers as JSON, one object a line.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use packet::json::Head;

/// An object while it is written.
#[derive(Clone)]
pub(super) struct Object {
    text: String,
}

impl Object {
    /// A row: it says its form's version and its kind.
    pub(super) fn new(kind: &str) -> Self {
        let mut object = Self::plain();
        object.text = Head { what: "p4", kind }.to_string();
        object
    }

    /// An object within another.
    pub(super) fn plain() -> Self {
        Object {
            text: String::from("{"),
        }
    }

    pub(super) fn raw(&mut self, name: &str, value: &str) -> &mut Self {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        let _ = write!(self.text, "{}:{value}", quoted(name));
        self
    }

    pub(super) fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.raw(name, &quoted(value))
    }

    pub(super) fn number(&mut self, name: &str, value: u64) -> &mut Self {
        self.raw(name, &format!("{value}"))
    }

    pub(super) fn boolean(&mut self, name: &str, value: bool) -> &mut Self {
        self.raw(name, if value { "true" } else { "false" })
    }

    pub(super) fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

/// `[a,b]` of values that are JSON already.
pub(super) fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(","))
}

/// A string in its quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
