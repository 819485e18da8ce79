//! An offset that was found, until the next one is.

use super::Local;
use super::limits::Span;
use node::Time;

/// How far a clock was ahead of another, as its protocol has it, and within what it really was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// When.
    pub at: Time,
    /// Before its correction, picoseconds.
    pub offset: Local,
    /// What of it was not made up for at once.
    left: Local,
    /// How far the clock, once it was set, may have been ahead; `None` while nothing bounds that.
    span: Option<Span>,
}

impl Found {
    /// An offset of which nothing is made up for yet.
    pub fn new(at: Time, offset: Local, span: Option<Span>) -> Found {
        Found {
            at,
            offset,
            left: offset,
            span,
        }
    }

    /// The clock was set forward by so much.
    pub fn stepped(&mut self, by: Local) {
        self.left += by;
        self.span = self.span.map(|span| span.shifted(by));
    }

    /// How far off both the clock may be and what it shows less what is left of the offset, picoseconds.
    pub fn bound(&self) -> Option<u64> {
        let span = self.span?;
        Some(span.from(0).max(span.from(self.left)))
    }
}
