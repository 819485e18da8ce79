//! Flows, actions, groups and meters as text, in the syntax of ovs-ofctl (man ovs-ofctl, ovs-fields, ovs-actions).
//!
//! ```
//! use openflow::text::Flow;
//! use openflow::message::{FlowCommand, Message};
//! use openflow::version::Version;
//!
//! let text = "priority=100,ip,nw_dst=10.0.0.0/8,actions=mod_dl_dst:02:00:00:00:00:01,output:2";
//! let flow = Flow::parse(Version::V13, text)?;
//! let mut bytes = Vec::new();
//! Message::FlowMod(flow.message(FlowCommand::Add)).encode(Version::V13, 1, &mut bytes).unwrap();
//! # Ok::<(), openflow::text::TextError>(())
//! ```

mod action;
mod field;
mod flow;
mod group;

pub use action::{parse_actions, parse_instructions, show_actions, show_instructions};
pub use field::{parse_match, parse_port, show_field, show_match};
pub use flow::Flow;
pub use group::{Group, Meter, show_band, show_bucket};

use alloc::string::String;

/// A text that cannot be read: where, what, and the mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {}: {what}", at + 1)]
pub struct TextError {
    /// The byte of the text, from 0.
    pub at: usize,
    /// What is wrong there.
    pub what: String,
}

impl TextError {
    fn new(at: usize, what: impl Into<String>) -> TextError {
        TextError {
            at,
            what: what.into(),
        }
    }
}

/// A piece of a text, and where it begins.
#[derive(Clone, Copy, Debug)]
struct Piece<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Piece<'t> {
    fn new(text: &'t str) -> Piece<'t> {
        Piece { text, at: 0 }
    }

    fn error(&self, what: impl Into<String>) -> TextError {
        TextError::new(self.at, what)
    }

    fn slice(&self, from: usize, to: usize) -> Piece<'t> {
        Piece {
            text: &self.text[from..to],
            at: self.at + from,
        }
    }

    fn trim(&self) -> Piece<'t> {
        let front = self.text.len() - self.text.trim_start().len();
        Piece {
            text: self.text.trim(),
            at: self.at + front,
        }
    }

    /// Before and behind the first of these characters.
    fn split(&self, separators: &[char]) -> Option<(Piece<'t>, Piece<'t>)> {
        let at = self.text.find(separators)?;
        Some((self.slice(0, at), self.slice(at + 1, self.text.len())))
    }

    /// The pieces between commas and white space that stand in no parentheses; empty ones are left out.
    fn list(self) -> impl Iterator<Item = Piece<'t>> {
        let mut from = 0;
        core::iter::from_fn(move || {
            loop {
                let rest = self.text.get(from..).filter(|rest| !rest.is_empty())?;
                let mut depth = 0_usize;
                let end = rest.char_indices().find(|(_, c)| {
                    match c {
                        '(' => depth += 1,
                        ')' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    depth == 0 && (*c == ',' || c.is_whitespace())
                });
                let length = end.map_or(rest.len(), |(at, _)| at);
                let piece = self.slice(from, from + length);
                from += length + end.map_or(0, |(_, c)| c.len_utf8());
                if !piece.text.is_empty() {
                    return Some(piece);
                }
            }
        })
    }

    /// A name and its argument: `name:argument`, `name=argument` or `name(argument)`.
    fn call(self) -> Result<(Piece<'t>, Option<Piece<'t>>), TextError> {
        let Some(at) = self.text.find([':', '=', '(']) else {
            return Ok((self, None));
        };
        let name = self.slice(0, at);
        if self.text.as_bytes()[at] != b'(' {
            return Ok((name, Some(self.slice(at + 1, self.text.len()))));
        }
        if !self.text.ends_with(')') {
            return Err(self.error("the parenthesis is not closed: add )"));
        }
        Ok((name, Some(self.slice(at + 1, self.text.len() - 1))))
    }

    /// A decimal number, or hexadecimal behind 0x, up to a highest one.
    fn number(&self, highest: u64) -> Result<u64, TextError> {
        let parsed = match self
            .text
            .strip_prefix("0x")
            .or(self.text.strip_prefix("0X"))
        {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => self.text.parse(),
        };
        parsed
            .ok()
            .filter(|number| *number <= highest)
            .ok_or_else(|| {
                self.error(alloc::format!(
                    "'{}' is not a number from 0 to {highest}",
                    self.text
                ))
            })
    }
}
