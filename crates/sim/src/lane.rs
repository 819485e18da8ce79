//! One direction of a link, and the frames that are on their way over it.

use crate::agenda::Due;
use node::{Frame, Port, Transmitter};
use std::cmp::Ordering;
use std::collections::VecDeque;

/// A frame, and when its last bit is in.
pub(crate) struct Arrival {
    pub due: Due,
    pub frame: Frame,
}

/// One direction of a link.
pub(crate) struct Lane {
    pub transmitter: Transmitter,
    /// The node and port that it leads to.
    pub node: usize,
    pub port: Port,
    /// In the order of arrival, which is that of departure.
    pub flying: VecDeque<Arrival>,
    /// Whether somebody looks at what arrives.
    pub tapped: bool,
}

/// A frame out of its lane's order: held up, or a second copy.
pub(crate) struct Stray {
    pub arrival: Arrival,
    pub lane: usize,
}

// `BinaryHeap` gives the greatest first, so the earliest is the greatest.
impl Ord for Stray {
    fn cmp(&self, other: &Stray) -> Ordering {
        other.arrival.due.cmp(&self.arrival.due)
    }
}

impl PartialOrd for Stray {
    fn partial_cmp(&self, other: &Stray) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Stray {
    fn eq(&self, other: &Stray) -> bool {
        self.arrival.due == other.arrival.due
    }
}

impl Eq for Stray {}
