//! One direction of a link: the end that sends, and the end that receives, with the frames that are on their way.

use crate::SeeQueue;
use crate::block::messages::Message;
use crate::block::{BlockLink, Passage};
use node::event::{Counts, Interface, Queue};
use node::link::{FCS, LinkCounters, MIN_WIRE_FRAME_LEN, PREAMBLE};
use node::outcome::See;
use node::{Channel, Frame, Level, Port, StampId, Time, Transmitter, When};
use queue::egress::Egress;
use std::cmp::Ordering;
use std::collections::VecDeque;

/// What is on its way to a receiver, by its place in its part.
pub(crate) struct Transit {
    pub receiver: usize,
    pub what: Carried,
}

/// A frame, or a message of a sublayer.
pub(crate) enum Carried {
    Frame {
        arrival: Arrival,
        /// Whether it is out of its lane's order: held up, or a second copy.
        out_of_order: bool,
    },
    Message(Message),
}

impl Transit {
    /// When the receiver is told.
    pub fn at(&self) -> Time {
        match &self.what {
            Carried::Frame { arrival, .. } => arrival.at,
            Carried::Message(message) => message.at,
        }
    }
}

/// What carries the frames. The usual kind is at hand; the other is behind a pointer.
#[expect(clippy::large_enum_variant)]
pub(crate) enum Carrier {
    Frames(Transmitter),
    Blocks(Box<BlockLink>),
}

/// The end that sends.
pub(crate) struct Sender {
    /// The place of its end among all ends of links, in the order of names.
    pub rank: u32,
    pub carrier: Carrier,
    /// How many bytes of a frame the node at the other end needs to be told of it; `usize::MAX` for all.
    pub needs: usize,
    /// The part that the receiver is in, and its place there.
    pub to: (usize, usize),
    /// The node that sends, by its place in its part, and its port.
    pub member: usize,
    pub port: Port,
    /// From when on the sublayer wants an idle block.
    pub asked: Option<u64>,
    /// The queue discipline; `None` for a FIFO with the channel's limit.
    pub egress: Option<Box<Egress>>,
    /// Departure from the discipline of an earlier frame that left while its node was sending another one, with the timestamp request.
    pub departed: Option<(Time, StampId)>,
    /// Who looks at what waits.
    pub watcher: Option<Box<SeeQueue>>,
    /// Whether somebody has taken the link down, and how many frames that has lost.
    pub is_down: bool,
    pub cut: u64,
}

impl Sender {
    /// Offers a padded frame, and decides its whole way; `None` when the queue is full.
    #[inline]
    pub fn offer(&mut self, now: Time, when: When, frame: &mut Frame) -> Option<Passage> {
        match &mut self.carrier {
            Carrier::Frames(transmitter) => {
                let flight = transmitter.offer(now, when, frame.len())?;
                let after = match self.needs < frame.len() {
                    true => transmitter.time_of(self.needs),
                    false => flight.duration,
                };
                let delivered = flight
                    .arrived
                    .map_or(Time::MAX, |first_bit| first_bit + after);
                Some(Passage { flight, delivered })
            }
            Carrier::Blocks(link) => link.offer(now, when, frame, self.needs),
        }
    }

    /// Tells who looks at what waits of a frame that leaves at a time.
    #[cold]
    pub fn show_queue(&mut self, now: Time, departed: Time) {
        let (_, queue) = self.statistics(now);
        if let Some(see) = &mut self.watcher {
            see(now, queue.packets, Some(departed));
        }
    }

    /// Reports the backlog of the queue discipline to the observer.
    pub fn show_backlog(&mut self, now: Time) {
        if let (Some(see), Some(egress)) = (&mut self.watcher, &self.egress) {
            see(now, egress.backlog().packets as u32, None);
        }
    }

    /// Time from which the line can carry the preamble of another frame.
    pub fn free(&mut self) -> Time {
        match &mut self.carrier {
            Carrier::Frames(transmitter) => transmitter.free_at() - transmitter.time_of(PREAMBLE),
            Carrier::Blocks(link) => link.free(),
        }
    }

    /// How long a preamble and SFD take.
    pub fn preamble(&self) -> Time {
        let rate = self.channel().rate;
        rate.map_or(Time::ZERO, |rate| rate.time_of(8 * PREAMBLE as u64, 0).0)
    }

    /// Time of the next enqueue or dequeue of its queue discipline.
    pub fn next_in_queue(&mut self, now: Time) -> Option<Time> {
        let free = self.free();
        self.egress.as_ref()?.next(now, free)
    }

    /// The longest frame that it carries, bytes without FCS.
    pub fn longest(&self) -> usize {
        match self.carrier {
            Carrier::Blocks(_) => phy::MAX_FRAME_LEN,
            Carrier::Frames(_) => node::frame::MAX_FRAME_LEN,
        }
    }

    /// The direction's data.
    pub fn channel(&self) -> &Channel {
        match &self.carrier {
            Carrier::Frames(transmitter) => transmitter.channel(),
            Carrier::Blocks(link) => link.channel(),
        }
    }

    /// Whether what is sent now can arrive.
    pub fn is_up(&self, now: Time) -> bool {
        !self.is_down && !self.channel().is_down(now, now)
    }

    /// What is to be told of it at `now` to who sends by it.
    pub fn statistics(&mut self, now: Time) -> (Interface, Queue) {
        let (mut interface, mut queue) = match &mut self.carrier {
            Carrier::Frames(transmitter) => transmitter.statistics(now),
            Carrier::Blocks(link) => link.statistics(now),
        };
        interface.up &= !self.is_down;
        if let Some(egress) = &self.egress {
            egress.add_to_statistics(&mut interface, &mut queue);
        }
        (interface, queue)
    }

    /// Brings the counters of what happens between frames up to a time.
    pub fn settle(&mut self, at: Time) {
        if let Carrier::Blocks(link) = &mut self.carrier {
            link.settle(at);
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> LinkCounters {
        let mut counters = match &self.carrier {
            Carrier::Frames(transmitter) => transmitter.counters(),
            Carrier::Blocks(link) => link.counters(),
        };
        counters.lost += self.cut;
        if let Some(egress) = &self.egress {
            egress.add_to(&mut counters);
        }
        counters
    }

    /// Frames with wrong bits so far.
    pub fn bit_errors(&self) -> u64 {
        match &self.carrier {
            Carrier::Frames(transmitter) => transmitter.bit_errors(),
            Carrier::Blocks(link) => link.bit_errors(),
        }
    }
}

/// The least time from the call in which a node sends by a channel to when the node at the other end, which needs so many
/// bytes, is told of the frame.
pub(crate) fn lookahead(channel: &Channel, needs: usize) -> Time {
    match channel.level {
        Level::Frame => {
            let least = 8 * needs.min(MIN_WIRE_FRAME_LEN + FCS) as u64;
            let time = channel.rate.map(|rate| rate.time_of(least, 0).0);
            channel.delay + time.unwrap_or_default()
        }
        // Both ends' clocks are rounded to picoseconds.
        Level::Block(_) => channel.delay - Time::from_ns(1),
    }
}

/// A frame, and when its node is told of it.
pub(crate) struct Arrival {
    pub at: Time,
    pub frame: Frame,
    /// Frames with wrong bits that were sent before it.
    pub errors: u64,
}

/// The end that receives.
pub(crate) struct Receiver {
    /// The lane: `2 * link + direction`.
    pub lane: usize,
    /// The place of the end that sends among all ends of links, in the order of names.
    pub rank: u32,
    /// The node, by its place in its part, and its port.
    pub member: usize,
    pub port: Port,
    /// In the order of arrival, which is that of departure.
    pub flying: VecDeque<Arrival>,
    /// Messages of the sublayer, in the order of arrival.
    pub messages: VecDeque<Message>,
    /// What its node was told of, and how often a frame had a wrong bit, as far as the last good one tells.
    pub landed: Counts,
    /// Whether the port's queue sends or obeys pauses.
    pub is_pausing: bool,
    /// Who looks at what arrives.
    pub taps: Vec<Box<See>>,
}

impl Receiver {
    /// Counts a frame that its node is told of.
    #[inline]
    pub fn count(&mut self, arrival: &Arrival) {
        self.landed.packets += 1;
        self.landed.bytes += arrival.frame.len() as u64;
        self.landed.errors = self.landed.errors.max(arrival.errors);
    }
}

/// A frame that is out of its lane's order.
pub(crate) struct OutOfOrder {
    /// Which receiver's, by its place in its part.
    pub receiver: usize,
    /// When its node is told, the rank of what is out of order in its lane, and its number: the order.
    pub order: (Time, u32, u64),
    pub arrival: Arrival,
}

// `BinaryHeap` gives the greatest first, so the earliest is the greatest.
impl Ord for OutOfOrder {
    fn cmp(&self, other: &OutOfOrder) -> Ordering {
        other.order.cmp(&self.order)
    }
}

impl PartialOrd for OutOfOrder {
    fn partial_cmp(&self, other: &OutOfOrder) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OutOfOrder {
    fn eq(&self, other: &OutOfOrder) -> bool {
        self.order == other.order
    }
}

impl Eq for OutOfOrder {}
