//! A direction of a link at the level of frames.

use super::{Channel, FCS, Flight, LinkCounters, MIN_WIRE_FRAME_LEN, PREAMBLE, Waiting};
use crate::event::{Interface, Queue};
use crate::random::Random;
use crate::{Time, When};

/// One direction of a link at work: decides for each frame when it leaves and whether it arrives.
///
/// Everything is decided when a frame is offered, because a port keeps order: whatever could come
/// before the frame has been offered already. So a frame costs a world one event. It is the same code
/// that `sim` and `live` run.
#[derive(Debug)]
pub struct Transmitter {
    channel: Channel,
    /// Picoseconds to a byte, where that is a whole number: no division for each frame.
    byte_ps: Option<u64>,
    /// When the next preamble may start, and what is left of a picosecond, in units of 1/rate.
    free: (Time, u64),
    waiting: Waiting,
    random: Random,
    /// Good bits to come before the next wrong one.
    good_bits: u64,
    counters: LinkCounters,
}

impl Transmitter {
    /// A free link. The same seed gives the same losses.
    pub fn new(channel: Channel, seed: u64) -> Transmitter {
        // A link without a rate takes 0 ps for a byte.
        let byte_ps = channel.rate.map_or(Some(0), |rate| {
            let (byte, rest) = rate.time_of(8, 0);
            (rest == 0).then_some(byte.as_ps())
        });
        let mut link = Transmitter {
            channel,
            byte_ps,
            free: (Time::ZERO, 0),
            waiting: Waiting::default(),
            random: Random::new(seed),
            good_bits: 0,
            counters: LinkCounters::default(),
        };
        link.good_bits = link.random.good_bits(link.channel.bit_error);
        link
    }

    /// Offers a frame of `len` bytes without FCS, at `now`, which never goes back.
    ///
    /// `None` when the queue is full: the frame is not sent, and has been counted. A frame that waits
    /// for its own departure time does not wait in the queue; one that waits for others does.
    pub fn offer(&mut self, now: Time, when: When, len: usize) -> Option<Flight> {
        let len = len.max(MIN_WIRE_FRAME_LEN);
        let preamble = self.bits(PREAMBLE).0;
        let earliest = match when {
            When::Now => now + preamble,
            When::At(at) => {
                self.counters.late += u64::from(at < now);
                at.max(now)
            }
        };
        // A port keeps order, so a frame takes its place in the queue not before its predecessors.
        let asked = Time::from_ps(self.waiting.look(earliest.as_ps()));
        let departed = asked.max(self.free.0 + preamble);
        if departed > asked {
            let queue = self.channel.queue;
            if !self.waiting.push(queue, departed.as_ps(), len) {
                self.counters.queue_full += 1;
                return None;
            }
            let longest = self.counters.longest_queue.max(self.waiting.count() as u64);
            self.counters.longest_queue = longest;
        }
        Some(self.carry(departed, preamble, len))
    }

    fn carry(&mut self, departed: Time, preamble: Time, len: usize) -> Flight {
        // The fraction of a picosecond is carried only from one frame to the next right behind it.
        let back_to_back = departed == self.free.0 + preamble;
        let carry = if back_to_back { self.free.1 } else { 0 };
        let (duration, _) = self.bits(len + FCS);
        let slot = PREAMBLE + len + FCS + self.channel.gap as usize;
        let (until, rest) = match (self.byte_ps, self.channel.rate) {
            (None, Some(rate)) => rate.time_of(8 * slot as u64, carry),
            _ => self.bits(slot),
        };
        self.free = (departed - preamble + until, rest);
        self.counters.sent += 1;
        self.counters.bytes += len as u64;

        let mut arrived = departed + self.channel.delay;
        if self.random.decide(self.channel.reorder) {
            self.counters.reordered += 1;
            arrived += self.channel.reorder_by;
        }
        let lost = self.random.decide(self.channel.loss)
            || (!self.channel.down.is_empty()
                && self.channel.is_down(departed, arrived + duration));
        let broken = self.break_bits(8 * (len + FCS) as u64);
        self.counters.lost += u64::from(lost);
        self.counters.bit_errors += u64::from(broken && !lost);
        let arrives = !lost && !broken;
        let again = arrives && self.random.decide(self.channel.duplicate);
        self.counters.duplicated += u64::from(again);
        Flight {
            departed,
            arrived: arrives.then_some(arrived),
            duration,
            duplicate: again.then_some(arrived + until),
        }
    }

    /// How long this many bytes of a frame take, from its first bit on.
    pub fn time_of(&self, bytes: usize) -> Time {
        self.bits(bytes).0
    }

    /// How long this many bytes take, and the rest in units of 1/rate.
    fn bits(&self, bytes: usize) -> (Time, u64) {
        match (self.byte_ps, self.channel.rate) {
            (Some(ps), _) => (Time::from_ps(ps * bytes as u64), 0),
            (None, Some(rate)) => rate.time_of(8 * bytes as u64, 0),
            (None, None) => (Time::ZERO, 0),
        }
    }

    /// Whether one of the next `bits` is wrong.
    fn break_bits(&mut self, bits: u64) -> bool {
        let broken = self.good_bits < bits;
        // Errors beyond the first one in a frame change nothing; the run of good bits starts again after it.
        self.good_bits = if broken {
            self.random.good_bits(self.channel.bit_error)
        } else {
            self.good_bits - bits
        };
        broken
    }

    /// What happened so far.
    pub fn counters(&self) -> LinkCounters {
        self.counters
    }

    /// Frames with wrong bits so far.
    pub fn bit_errors(&self) -> u64 {
        self.counters.bit_errors
    }

    /// What is to be told of it at `now` to who sends by it.
    pub fn statistics(&mut self, now: Time) -> (Interface, Queue) {
        self.waiting.look(now.as_ps());
        self.channel.statistics(now, &self.counters, &self.waiting)
    }

    /// The direction's data.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The earliest time at which the first bit of another frame could leave.
    pub fn free_at(&self) -> Time {
        self.free.0 + self.bits(PREAMBLE).0
    }
}
