//! What changes of entries leave behind: what controllers are to be told, and how to take them back.

use crate::key::Pattern;
use crate::message::FlowRemovedReason;
use crate::table::{Flow, Hot};
use node::Time;

/// An entry that has gone, for controllers that asked to be told.
#[derive(Clone, Debug)]
pub(super) struct Removed {
    pub pattern: Pattern,
    pub flow: Flow,
    pub hot: Hot,
    pub reason: FlowRemovedReason,
    pub at: Time,
}

/// How to take a change back.
#[derive(Debug)]
pub(super) enum Undo {
    Added(u8, Pattern, u32),
    /// Was taken out, and had this.
    Removed(Pattern, Flow, Hot),
    /// Did something else, had another cookie, and these counters.
    Changed(Pattern, Flow, Hot),
}
