//! The intermediate representation as text, for people.
//!
//! A declaration stands on a line of its own, and so does each statement; a block begins with its label. Expressions with
//! two operands are always in parentheses, so that nobody has to know a precedence.
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

mod names;
mod print;

use crate::ir::Program;
use alloc::string::String;

/// A program as text, without the places in the source that its statements come from.
#[must_use]
pub fn print(program: &Program) -> String {
    print::print(program)
}

#[cfg(test)]
mod tests;
