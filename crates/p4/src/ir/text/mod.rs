//! The intermediate representation as text, and back.
//!
//! A declaration stands on a line of its own, and so does each statement; a block begins with its label. Expressions with
//! two operands are always in parentheses, so that nobody has to know a precedence. `;` begins a comment.
//!
//! ```text
//! program V1Switch
//! enum error: 32 { NoError = 32w0x0, PacketTooShort = 32w0x1 }
//! slot hdr.e.$valid: bool
//! slot hdr.e.type: b16
//! slot meta.out: b9
//! header hdr.e: ethernet_t valid hdr.e.$valid { hdr.e.type }
//! action forward(port: meta.out) {
//! b0:
//!   return
//! }
//! table ingress.t {
//!   key type: b16 exact = hdr.e.type
//!   action forward
//!   default 0(9w0x1)
//! }
//! parser P role p {
//! b0 (start):
//!   extract hdr.e
//!   select (hdr.e.type) { (16w0x800) -> b1 } b2
//! b1 (accept):
//!   return
//! b2 (reject):
//!   reject
//! }
//! ```
//!
//! Types are `bool`, `b16`, `i16` (signed) and `v16` (varbit). Things are named by their names; where a name is not unique,
//! by `#` and their index. Names that are not plain are quoted.

mod lex;
mod parse;
mod print;

use crate::ir::Program;
use alloc::string::String;
use core::fmt;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// One sentence without a full stop.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl core::error::Error for Error {}

/// A program as text, without the places in the source that its statements come from.
#[must_use]
pub fn print(program: &Program) -> String {
    print::print(program, false)
}

/// The same with the places (`!12..15` behind a statement): [`parse`] gives exactly the program again.
#[must_use]
pub fn print_with_spans(program: &Program) -> String {
    print::print(program, true)
}

/// A program from its text. All ids of the result are within their lists; whether types fit is not looked at.
///
/// # Errors
/// The first fault, with its place.
pub fn parse(text: &str) -> Result<Program, Error> {
    parse::parse(text)
}

#[cfg(test)]
mod tests;
