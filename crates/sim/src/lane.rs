//! One direction of a link, and the frames that are on their way over it.

use crate::agenda::Due;
use node::{Frame, Port, Time, Transmitter};
use std::cmp::Ordering;
use std::collections::VecDeque;

/// A frame, and when its node is told of it.
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
    /// How many bytes of a frame that node needs to be told of it; `usize::MAX` for all.
    pub needs: usize,
    /// In the order of arrival, which is that of departure.
    pub flying: VecDeque<Arrival>,
    /// Whether somebody looks at what arrives.
    pub tapped: bool,
}

impl Lane {
    /// From the first bit of a frame to when the node is told of it.
    pub fn told_after(&self, duration: Time, len: usize) -> Time {
        match self.needs < len {
            true => self.transmitter.time_of(self.needs),
            false => duration,
        }
    }
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
