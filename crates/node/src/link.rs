//! One direction of a link: what it is, as data, and what it does to the frames offered to it.
//!
//! Exact Ethernet accounting. Before a frame go 8 bytes of preamble and SFD, after it 4 of FCS and
//! 12 of inter-frame gap, unless the channel says otherwise; a frame under 60 bytes is padded to 60. So 64-byte frames (60 and the
//! FCS) at 10 Gb/s leave every 84 byte times: 67.2 ns. The time of a departure or an arrival is that
//! of the frame's first bit, behind the SFD (FORMATS section 3).

use crate::{Rate, Time, When};
use alloc::collections::VecDeque;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Preamble and SFD, bytes.
pub const PREAMBLE: usize = 8;
/// Frame check sequence, bytes.
pub const FCS: usize = 4;
/// Inter-frame gap, bytes: the standard's minimum, and what a [`Channel`] keeps unless it says otherwise.
pub const GAP: usize = 12;
/// The shortest frame on a wire, bytes without FCS.
pub const SHORTEST: usize = 60;

/// A probability as a fraction of 2^64, so that a decision is one integer comparison and the same
/// everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probability(u64);

impl Probability {
    /// From a number in 0..=1; `None` outside it. 1 means always.
    pub fn new(p: f64) -> Option<Probability> {
        // 2^64 as a float: the cast saturates, so 1.0 becomes u64::MAX, which `decide` takes as always.
        (0.0..=1.0)
            .contains(&p)
            .then_some(Probability((p * 18_446_744_073_709_551_616.0) as u64))
    }

    fn decide(self, rng: &mut Xoshiro256PlusPlus) -> bool {
        // No draw for an impairment that is off: it costs nothing and shifts no other one's luck.
        self.0 != 0 && (self.0 == u64::MAX || rng.next_u64() < self.0)
    }
}

/// How much may wait for a link, not counting the frame that is leaving. Beyond it: tail drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Frames.
    Packets(u32),
    /// Bytes of frames, without FCS.
    Bytes(u64),
}

impl QueueLimit {
    /// Whether nothing at all may wait.
    pub fn is_zero(self) -> bool {
        matches!(self, QueueLimit::Packets(0) | QueueLimit::Bytes(0))
    }
}

/// One direction of a link, as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Bits a second; `None` for a link on which a frame takes no time. Default 10 Gb/s.
    pub rate: Option<Rate>,
    /// The least inter-frame gap, bytes: frames back to back are this far apart. Default [`GAP`]; less than
    /// the standard's 12 is allowed, as SoNIC sends with 8.
    pub gap: u32,
    /// Propagation delay. Default 0.
    pub delay: Time,
    /// What may wait. Default 1000 packets.
    pub queue: QueueLimit,
    /// Frames that never arrive.
    pub loss: Probability,
    /// Frames that arrive twice, the second right behind the first.
    pub duplicate: Probability,
    /// Frames that are held up by `reorder_by`, so that later ones overtake them.
    pub reorder: Probability,
    /// How long a reordered frame is held up.
    pub reorder_by: Time,
    /// Chance of each bit to be wrong, in 0..1. A frame with a wrong bit fails its FCS and is lost.
    pub bit_error: f64,
}

impl Default for Channel {
    fn default() -> Channel {
        Channel {
            rate: Some(Rate::TEN_GIGABIT),
            gap: GAP as u32,
            delay: Time::ZERO,
            queue: QueueLimit::Packets(1000),
            loss: Probability::default(),
            duplicate: Probability::default(),
            reorder: Probability::default(),
            reorder_by: Time::ZERO,
            bit_error: 0.0,
        }
    }
}

/// What one direction of a link has done, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Left the port.
    pub sent: u64,
    /// Bytes of those, padded, without FCS.
    pub bytes: u64,
    /// Asked to leave at a time that was already past.
    pub late: u64,
    /// Found the queue full.
    pub queue_full: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Lost on the way because of a wrong bit.
    pub bit_errors: u64,
    /// Delivered twice.
    pub duplicated: u64,
    /// Held up so that later ones overtake.
    pub reordered: u64,
}

/// The way of one frame over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// First bit leaves.
    pub departed: Time,
    /// First bit arrives; `None` when the frame is lost on the way.
    pub arrived: Option<Time>,
    /// From the arrival of the first bit to that of the last one, FCS included.
    pub duration: Time,
    /// First bit of a second copy arrives.
    pub duplicate: Option<Time>,
}

/// The seed of one direction of a link in a run: neighbours share no luck, and every world draws the
/// same. `direction` is 0 for the way from the link's end 0, 1 for the way back.
pub fn seed_of(run: u64, link: usize, direction: usize) -> u64 {
    // The finaliser of SplitMix64, over a walk by the golden ratio.
    let place = 2 * link as u64 + direction as u64 + 1;
    let mut x = run.wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

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
    /// Up to when the queue was looked at; it never goes back.
    looked: Time,
    /// Frames that wait: when they leave, and their bytes.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    rng: Xoshiro256PlusPlus,
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
            looked: Time::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            good_bits: 0,
            counters: LinkCounters::default(),
        };
        link.good_bits = link.draw_good_bits();
        link
    }

    /// Offers a frame of `len` bytes without FCS, at `now`, which never goes back.
    ///
    /// `None` when the queue is full: the frame is not sent, and has been counted. A frame that waits
    /// for its own departure time does not wait in the queue; one that waits for others does.
    pub fn offer(&mut self, now: Time, when: When, len: usize) -> Option<Flight> {
        let len = len.max(SHORTEST);
        let preamble = self.bits(PREAMBLE).0;
        let earliest = match when {
            When::Now => now + preamble,
            When::At(at) => {
                self.counters.late += u64::from(at < now);
                at.max(now)
            }
        };
        // A port keeps order, so a frame takes its place in the queue not before its predecessors.
        let asked = earliest.max(self.looked);
        self.looked = asked;
        while let Some(&(_, bytes)) = self.waiting.front().filter(|(leaves, _)| *leaves <= asked) {
            self.waiting_bytes -= u64::from(bytes);
            self.waiting.pop_front();
        }
        let departed = asked.max(self.free.0 + preamble);
        if departed > asked {
            let full = match self.channel.queue {
                QueueLimit::Packets(limit) => self.waiting.len() >= limit as usize,
                QueueLimit::Bytes(limit) => self.waiting_bytes + len as u64 > limit,
            };
            if full {
                self.counters.queue_full += 1;
                return None;
            }
            self.waiting.push_back((departed, len as u32));
            self.waiting_bytes += len as u64;
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
        if self.channel.reorder.decide(&mut self.rng) {
            self.counters.reordered += 1;
            arrived += self.channel.reorder_by;
        }
        let lost = self.channel.loss.decide(&mut self.rng);
        let broken = self.break_bits(8 * (len + FCS) as u64);
        self.counters.lost += u64::from(lost);
        self.counters.bit_errors += u64::from(broken && !lost);
        let arrives = !lost && !broken;
        let again = arrives && self.channel.duplicate.decide(&mut self.rng);
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
        // Errors beyond the first one in a frame change nothing; the run of luck starts anew behind it.
        self.good_bits = if broken {
            self.draw_good_bits()
        } else {
            self.good_bits - bits
        };
        broken
    }

    /// The geometric distribution by inversion; `libm` gives the same result on every machine.
    fn draw_good_bits(&mut self) -> u64 {
        if self.channel.bit_error <= 0.0 {
            return u64::MAX;
        }
        let uniform = ((self.rng.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0;
        (libm::log(uniform) / libm::log1p(-self.channel.bit_error.min(1.0))) as u64
    }

    /// What happened so far.
    pub fn counters(&self) -> LinkCounters {
        self.counters
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

#[cfg(test)]
mod tests;
