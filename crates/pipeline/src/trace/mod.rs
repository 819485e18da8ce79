//! What happened to a packet, step by step.

use alloc::vec::Vec;

/// Events of one packet, in order, at most so many.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// What happened.
    pub events: Vec<Event>,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {}
