//! One direction of a link at the level of blocks: 10GBASE-R between two clocks.
//!
//! As at the level of frames, all of a frame's way is decided when it is offered. Departures stand on
//! the sender's XGMII: a column of four characters every 3.2 ns of its own oscillator, a start in the
//! first lane of a column - lane 0 or 4 of a block - and the deficit idle count of 46.3.1.4 between
//! frames, so that the mean gap is the one asked for and none is three shorter. The arrival stamp is
//! the wire's, exact. When the node is told of a frame is its own clock's affair, behind the elastic
//! buffer.
//!
//! | module | what is in it |
//! |---|---|
//! | [`elastic`] | the receiver's buffer: idles inserted and removed |
//! | [`messages`] | what a sublayer says in idle blocks |
//! | [`stream`] | wrong bits, and what the receiver makes of them |
//! | [`tape`] | looking at the blocks themselves |

mod elastic;
pub mod messages;
mod stream;
pub mod tape;

use elastic::{COLUMN, Elastic};
use messages::Idle;
use node::clock::{Clock, Own};
use node::event::{Interface, Queue};
use node::link::{FCS, LineCounters, LinkCounters, MIN_WIRE_FRAME_LEN, PREAMBLE, Waiting};
use node::random::Random;
use node::{Channel, Clocks, Flight, Frame, Time, When};
use stream::{Fate, Stream};

/// Own time of a byte on the XGMII.
const BYTE: Own = COLUMN / 4;
/// The seed of the wrong bits, apart from that of the other impairments.
const BITS: u64 = 0x6269_7473;

/// A frame's flight, and when the node at its end is told of it.
#[derive(Clone, Copy)]
pub(crate) struct Passage {
    pub flight: Flight,
    pub delivered: Time,
}

/// One direction of a link at work, at the level of blocks.
#[derive(Debug)]
pub struct BlockLink {
    channel: Channel,
    sender: Clock,
    elastic: Elastic,
    /// `None` where no bit is ever wrong.
    stream: Option<Box<Stream>>,
    waiting: Waiting,
    random: Random,
    /// Where the next preamble may start, in bytes of the sender's own time. It is up to three bytes
    /// behind the column that it starts in: what the deficit idle count owes.
    free: u64,
    counters: LinkCounters,
    /// What a sublayer says between frames; `None` where there is none.
    idle: Option<Box<Idle>>,
}

impl BlockLink {
    /// A free link whose channel was checked. The same seed gives the same losses. `every`: every
    /// block goes through the coder, whether or not a bit is wrong near it.
    pub fn new(channel: Channel, clocks: &Clocks, seed: u64, every: bool) -> BlockLink {
        let [sender, receiver] = [&clocks.sender, &clocks.receiver].map(Clock::new);
        let errors = every || channel.bit_error > 0.0;
        let stream = errors.then(|| Box::new(Stream::new(channel.bit_error, seed ^ BITS, every)));
        BlockLink {
            elastic: Elastic::new(sender.clone(), receiver, channel.delay.as_ps()),
            sender,
            stream,
            waiting: Waiting::default(),
            random: Random::new(seed),
            free: 0,
            counters: LinkCounters::default(),
            idle: None,
            channel,
        }
    }

    /// Offers a frame, padded, at `now`, which never goes back. The node is told when `needs` bytes
    /// of it are in, or all.
    ///
    /// `None` when the queue is full: the frame is not sent, and has been counted.
    pub fn offer(
        &mut self,
        now: Time,
        when: When,
        frame: &mut Frame,
        needs: usize,
    ) -> Option<Passage> {
        let len = frame.len().max(MIN_WIRE_FRAME_LEN);
        let earliest = match when {
            When::Now => self.sender.own(now.as_ps()) + PREAMBLE as Own * BYTE,
            When::At(at) => {
                self.counters.late += u64::from(at < now);
                self.sender.own(at.max(now).as_ps())
            }
        };
        let earliest = u64::try_from(earliest.div_ceil(COLUMN)).unwrap_or(u64::MAX);
        let asked = self.waiting.look(earliest);
        let soonest = (self.free + PREAMBLE as u64) / 4;
        // The column of the first byte behind the SFD.
        let column = asked.max(soonest);
        if column > asked && !self.waiting.push(self.channel.queue, column, len) {
            self.counters.queue_full += 1;
            return None;
        }
        // Behind more idles than the least nothing is owed.
        let owed = if column == soonest {
            (self.free + PREAMBLE as u64) % 4
        } else {
            0
        };
        let first = 4 * column;
        let end = first + (len + FCS) as u64;
        self.free = end + owed + u64::from(self.channel.gap);
        Some(self.carry(frame, first, end, needs))
    }

    /// A frame from one byte of the sender's own time to another.
    fn carry(&mut self, frame: &mut Frame, first: u64, end: u64, needs: usize) -> Passage {
        let when = |clock: &mut Clock, byte: u64| Time::from_ps(clock.when(Own::from(byte) * BYTE));
        let departed = when(&mut self.sender, first);
        let left = when(&mut self.sender, end);
        let (start, terminate) = (first / 4 - 2, end / 4);
        self.note_busy(start, terminate);
        let in_time = self.elastic.frame(start, terminate);
        let (needed, in_at) = match needs < frame.len() {
            true => {
                let byte = first + needs as u64;
                (byte, when(&mut self.sender, byte))
            }
            false => (end, left),
        };
        // Of a frame that nothing is needed of the node is told when its first column is read.
        let read = self
            .elastic
            .read_at(needed.saturating_sub(1).max(first) / 4);
        let delay = self.channel.delay;
        let mut delivered = Time::from_ps(read).max(in_at + delay);

        self.counters.sent += 1;
        self.counters.bytes += frame.len() as u64;
        let mut arrived = departed + delay;
        if self.random.decide(self.channel.reorder) {
            self.counters.reordered += 1;
            arrived += self.channel.reorder_by;
            delivered += self.channel.reorder_by;
        }
        let lost = self.random.decide(self.channel.loss)
            || self.channel.is_down(departed, arrived + (left - departed));
        let fate = self
            .stream
            .as_mut()
            .map(|stream| stream.frame(frame, start, terminate));
        let broken = fate == Some(Fate::Broken) || !in_time;
        self.counters.lost += u64::from(lost);
        self.counters.bit_errors += u64::from(broken && !lost);
        let arrives = !lost && !broken;
        let again = arrives && self.random.decide(self.channel.duplicate);
        self.counters.duplicated += u64::from(again);
        let mut second = || arrived + (when(&mut self.sender, self.free) - departed);
        Passage {
            flight: Flight {
                departed,
                arrived: arrives.then_some(arrived),
                duration: left - departed,
                duplicate: again.then(&mut second),
            },
            delivered,
        }
    }

    /// Time from which the line can carry the preamble of another frame. A frame starts in a column of four bytes, so the gap before it
    /// may be a few idles short.
    pub fn free(&mut self) -> Time {
        let first = (self.free + PREAMBLE as u64) / 4 * 4;
        let preamble = first - PREAMBLE as u64;
        let at = self.sender.when(Own::from(preamble) * BYTE);
        // The column is not over yet.
        Time::from_ps(at.saturating_sub(1))
    }

    /// Somebody looks at the blocks, from the first one on.
    pub fn show(&mut self, see: Box<tape::See>) {
        let fresh = || Box::new(Stream::new(0.0, 0, false));
        let stream = self.stream.get_or_insert_with(fresh);
        if self.idle.is_some() {
            stream.expect_messages();
        }
        stream.show(see);
    }

    /// What is to be told of it at `now` to who sends by it.
    pub fn statistics(&mut self, now: Time) -> (Interface, Queue) {
        let column = self.sender.own(now.as_ps()) / COLUMN;
        self.waiting.look(u64::try_from(column).unwrap_or(u64::MAX));
        self.channel.statistics(now, &self.counters, &self.waiting)
    }

    /// The direction's data.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Brings the counters of what happens between frames up to a time.
    pub fn settle(&mut self, at: Time) {
        let block = self.sender.own(at.as_ps()) / (2 * COLUMN);
        if let Some(stream) = &mut self.stream {
            stream.finish(u64::try_from(block).unwrap_or(u64::MAX));
        }
        self.elastic.read_until(at.as_ps());
    }

    /// Frames with wrong bits so far.
    pub fn bit_errors(&self) -> u64 {
        self.counters.bit_errors
    }

    /// What happened so far.
    pub fn counters(&self) -> LinkCounters {
        let line = self
            .stream
            .as_ref()
            .map_or_else(LineCounters::default, |stream| stream.counters());
        LinkCounters {
            line: Some(LineCounters {
                idles_inserted: 4 * self.elastic.inserted,
                idles_removed: 4 * self.elastic.removed,
                slips: self.elastic.slips,
                ..line
            }),
            ..self.counters
        }
    }
}
