//! What happened to a packet, step by step.
//!
//! While [`Context::trace`](crate::context::Context::trace) is there the interpreter and the architecture note [`Event`]s in it; [`text()`] and
//! [`json()`] show them to people and programs. Without it, it costs nothing.

mod expression;
mod json;
mod text;

pub(crate) use expression::expression;
pub use json::json;
pub use text::text;

use crate::cause::{Cause, Drop};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use p4::ir::{ActionId, HeaderId, ParserError, SectionId, SlotId, StackId, TableId};
use p4::source::Span;
use p4::value::Bits;

/// How many events a trace keeps.
const EVENTS: usize = 100_000;

/// Events of packets, in order, at most so many.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// What happened.
    pub events: Vec<Event>,
    /// How many more there were.
    pub lost: u64,
}

impl Trace {
    pub(crate) fn push(&mut self, event: Event) {
        if self.events.len() < EVENTS {
            self.events.push(event);
        } else {
            self.lost += 1;
        }
    }
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A packet, or a copy of one, begins ingress or egress.
    Pass {
        cause: Cause,
        /// By which port it came in.
        port: u32,
        bytes: Vec<u8>,
    },
    /// A section begins.
    Section(SectionId),
    /// A parser state begins.
    State(Arc<str>),
    /// A header was extracted.
    Extract {
        header: HeaderId,
        /// Its fields' values.
        values: Vec<Bits>,
        /// Where in the program.
        span: Span,
    },
    /// The parser failed.
    Error {
        error: ParserError,
        /// The stack that had no more room, if that was it.
        stack: Option<StackId>,
        /// Where in the program.
        span: Span,
    },
    /// A `select` chose.
    Select {
        /// What was looked at.
        keys: Vec<Bits>,
        /// Which case it was; none for `default`.
        case: Option<usize>,
    },
    /// A condition was decided.
    Branch {
        /// The condition in the program, as far as its place is known.
        condition: String,
        taken: bool,
    },
    /// A table was applied.
    Table {
        table: TableId,
        /// The keys' values, in order, selectors too.
        keys: Vec<Bits>,
        /// The handle of the entry that was hit.
        entry: Option<u64>,
        /// The member of the action profile.
        member: Option<u32>,
        /// The action, and its arguments by parameter.
        action: Option<(ActionId, Vec<Bits>)>,
    },
    /// A value was written that is another than before.
    Assign {
        slot: SlotId,
        old: Bits,
        new: Bits,
        /// Where in the program.
        span: Span,
    },
    /// An extern was called.
    Call {
        /// As the program writes it.
        name: Arc<str>,
        /// What it was given.
        inputs: Vec<Bits>,
        /// The text of `log_msg`.
        text: Option<String>,
        /// Where in the program.
        span: Span,
    },
    /// A header was emitted, or not because it is invalid.
    Emit { header: HeaderId, valid: bool },
    /// The packet asks for clones.
    Clone {
        session: u32,
        /// So many; none when there is no such session.
        count: Option<usize>,
    },
    /// The packet goes to a multicast group.
    Multicast {
        group: u32,
        /// So many ports.
        count: usize,
    },
    /// The packet is given up.
    Drop { reason: Drop },
    /// The packet leaves.
    Send { port: u32, bytes: Vec<u8> },
}
