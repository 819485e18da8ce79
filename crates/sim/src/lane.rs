//! One direction of a link, and the frames that are on their way over it.

use crate::agenda::Due;
use crate::block::BlockLink;
use node::event::{Counts, Interface, Queue};
use node::link::LinkCounters;
use node::{Channel, Flight, Frame, Port, Time, Transmitter, When};
use std::cmp::Ordering;
use std::collections::VecDeque;

/// A frame, and when its node is told of it.
pub(crate) struct Arrival {
    pub due: Due,
    pub frame: Frame,
}

/// What carries the frames. The usual kind is at hand; the other is behind a pointer.
#[expect(clippy::large_enum_variant)]
pub(crate) enum Way {
    Frames(Transmitter),
    Blocks(Box<BlockLink>),
}

/// A frame's way, and when the node at its end is told of it.
#[derive(Clone, Copy)]
pub(crate) struct Passage {
    pub flight: Flight,
    pub told: Time,
}

/// One direction of a link.
pub(crate) struct Lane {
    pub way: Way,
    /// The node and port that it leads to.
    pub node: usize,
    pub port: Port,
    /// How many bytes of a frame that node needs to be told of it; `usize::MAX` for all.
    pub needs: usize,
    /// In the order of arrival, which is that of departure.
    pub flying: VecDeque<Arrival>,
    /// Frames that its node was told of.
    pub landed: u64,
    /// Whether somebody looks at what arrives.
    pub tapped: bool,
}

impl Lane {
    /// Offers a padded frame, and decides its whole way; `None` when the queue is full.
    #[inline]
    pub fn offer(&mut self, now: Time, when: When, frame: &mut Frame) -> Option<Passage> {
        match &mut self.way {
            Way::Frames(transmitter) => {
                let flight = transmitter.offer(now, when, frame.len())?;
                let after = match self.needs < frame.len() {
                    true => transmitter.time_of(self.needs),
                    false => flight.duration,
                };
                let told = flight
                    .arrived
                    .map_or(Time::MAX, |first_bit| first_bit + after);
                Some(Passage { flight, told })
            }
            Way::Blocks(link) => link.offer(now, when, frame, self.needs),
        }
    }

    /// The longest frame that it carries, bytes without FCS.
    pub fn longest(&self) -> usize {
        match self.way {
            Way::Blocks(_) => phy::LONGEST,
            Way::Frames(_) => node::frame::LONGEST,
        }
    }

    /// The direction's data.
    pub fn channel(&self) -> &Channel {
        match &self.way {
            Way::Frames(transmitter) => transmitter.channel(),
            Way::Blocks(link) => link.channel(),
        }
    }

    /// What is to be told of it at `now` to who sends by it.
    pub fn statistics(&mut self, now: Time) -> (Interface, Queue) {
        match &mut self.way {
            Way::Frames(transmitter) => transmitter.statistics(now),
            Way::Blocks(link) => link.statistics(now),
        }
    }

    /// What has come out at its end by now.
    pub fn delivered(&self) -> Counts {
        let sent = self.counters();
        let flying = self.flying.len() as u64;
        let bytes: u64 = self
            .flying
            .iter()
            .map(|flying| flying.frame.len() as u64)
            .sum();
        let gone = sent.lost + sent.bit_errors;
        Counts {
            packets: (sent.sent + sent.duplicated).saturating_sub(gone + flying),
            // What was lost counts with its bytes: no more is known of it.
            bytes: sent.bytes.saturating_sub(bytes),
            dropped: 0,
            errors: sent.bit_errors,
        }
    }

    /// Brings the counters of what happens between frames up to a time.
    pub fn settle(&mut self, at: Time) {
        if let Way::Blocks(link) = &mut self.way {
            link.settle(at);
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> LinkCounters {
        match &self.way {
            Way::Frames(transmitter) => transmitter.counters(),
            Way::Blocks(link) => link.counters(),
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
