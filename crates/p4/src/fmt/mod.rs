//! Lays programs out: four spaces, one statement a line, at most 100 columns, and the author's comments, blank lines and directives.
//!
//! It works on tokens, not on the tree, so that macros and both branches of an `#if` stay as they are. Where the author broke a line
//! inside brackets it stays broken. Formatting what is formatted changes nothing.

mod layout;
mod pieces;
mod roles;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lex::Lexer;
use crate::source::Span;
use crate::token::{Interner, Token};
use alloc::string::String;
use alloc::vec::Vec;

/// The widest line that is made; what the author wrote without a place to break stays longer.
pub const WIDTH: usize = 100;
/// One level.
pub const INDENT: usize = 4;

/// The text laid out.
///
/// # Errors
/// What keeps the text from being tokens: an open string or comment, a bracket that nothing closes.
pub fn format(text: &str) -> Result<String, Diagnostics> {
    let mut out = once(text)?;
    // Where a joined line makes another one too long, the next round breaks that.
    for _ in 0..4 {
        let next = once(&out)?;
        if next == out {
            break;
        }
        out = next;
    }
    // No program is ever changed by its layout.
    if words(text) != words(&out) {
        let mut diagnostics = Diagnostics::default();
        diagnostics.push(Diagnostic::error(
            "format",
            Span::default(),
            "this text cannot be laid out without changing it",
        ));
        return Err(diagnostics);
    }
    Ok(out)
}

fn once(text: &str) -> Result<String, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let pieces = pieces::read(text, &mut diagnostics);
    if diagnostics.failed() {
        return Err(diagnostics);
    }
    let roles = roles::find(&pieces, &mut diagnostics);
    if diagnostics.failed() {
        return Err(diagnostics);
    }
    Ok(layout::lay_out(&pieces, &roles))
}

/// All that means something: the tokens' texts.
fn words(text: &str) -> Vec<String> {
    let (mut names, mut diagnostics) = (Interner::default(), Diagnostics::default());
    let mut lexer = Lexer::new(text, 0);
    core::iter::from_fn(|| lexer.next(&mut names, &mut diagnostics))
        .map(|t: Token| t.text())
        .collect()
}

#[cfg(test)]
mod tests;
