//! One direction of a link: what it is, as data, and what it does to the frames offered to it.
//!
//! Exact Ethernet accounting. Before a frame go 8 bytes of preamble and SFD, after it 4 of FCS and
//! 12 of inter-frame gap, unless the channel says otherwise; a frame under 60 bytes is padded to 60. So 64-byte frames (60 and the
//! FCS) at 10 Gb/s leave every 84 byte times: 67.2 ns. The time of a departure or an arrival is that
//! of the frame's first bit, behind the SFD (FORMATS section 3).

mod transmitter;
mod waiting;

pub use transmitter::Transmitter;
pub use waiting::Waiting;

use crate::event::{Counts, Interface, Queue};
use crate::random::{self, Probability};
use crate::{Oscillator, Port, Rate, Time};
use alloc::string::ToString;
use alloc::vec::Vec;

/// Preamble and SFD, bytes.
pub const PREAMBLE: usize = 8;
/// Frame check sequence, bytes.
pub const FCS: usize = 4;
/// Inter-frame gap, bytes: the standard's minimum, and what a [`Channel`] keeps unless it says otherwise.
pub const GAP: usize = 12;
/// Minimum frame length on a wire without FCS, bytes.
pub const MIN_WIRE_FRAME_LEN: usize = 60;

/// Bytes that a frame of `len` bytes without FCS takes on a line: with padding, preamble, FCS and least gap.
pub const fn on_wire(len: usize) -> u64 {
    let padded = if len < MIN_WIRE_FRAME_LEN {
        MIN_WIRE_FRAME_LEN
    } else {
        len
    };
    (PREAMBLE + padded + FCS + GAP) as u64
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

/// How closely a world looks at a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Level {
    /// Frames that take their time: see [`Channel`] for what that leaves out.
    #[default]
    Frame,
    /// The scrambled stream of 66-bit blocks of 10GBASE-R, between two clocks.
    Block(Clocks),
}

/// The clocks at the two ends of one direction of a link, and where one passes to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Clocks {
    /// That of the port that sends.
    pub sender: Oscillator,
    /// That of the port that receives.
    pub receiver: Oscillator,
    /// How likely the receiver's synchronisation FIFO is to hold a message of a [`Sublayer`](crate::Sublayer) for a tick more.
    /// Default 1/2.
    pub fifo: Probability,
}

impl Default for Clocks {
    fn default() -> Clocks {
        Clocks {
            sender: Oscillator::default(),
            receiver: Oscillator::default(),
            fifo: Probability::HALF,
        }
    }
}

/// One direction of a link, as data.
///
/// At the level of frames a link is a rate: a frame may leave at any picosecond and takes its bits'
/// time, both ends agree on what a second is, and a wrong bit loses the frame that it is in. That
/// leaves out what the hardware does: starts stand on the sender's 3.2 ns grid, the ends' clocks
/// differ by up to 200 ppm, so idles are inserted and removed, and errors are multiplied by the
/// descrambler, hit idles and headers, and may cost the lock. At the level of blocks ([`Level`]) it
/// is all there. The times of frames are the same: equal on the grid with clocks that are exact, and
/// off it within one column of 3.2 ns for each link that a frame crosses, however many frames came
/// before.
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
    /// Chance of each bit to be wrong, in 0..1. A frame with a wrong bit fails its FCS and is lost. At
    /// the level of blocks: of each bit on the line, those of idles and headers included.
    pub bit_error: f64,
    /// At which level. Default: that of frames.
    pub level: Level,
    /// When there is no link, from the first time of each pair until before the second, in order. A frame that is on
    /// its way at any such time is lost. Default never.
    pub down: Vec<[Time; 2]>,
    /// Seed of the random numbers, in place of the run's. Default the run's.
    pub seed: Option<u64>,
}

/// Whether a link that is [down](Channel::down) at these times is so at any time from `from` to `to`.
pub fn is_down(down: &[[Time; 2]], from: Time, to: Time) -> bool {
    // The first that ends behind the beginning; later ones begin later.
    let next = down.partition_point(|[_, up]| *up <= from);
    down.get(next).is_some_and(|[down, _]| *down <= to)
}

impl Channel {
    /// Whether the link is down at any time from `from` to `to`.
    pub fn is_down(&self, from: Time, to: Time) -> bool {
        is_down(&self.down, from, to)
    }

    /// Seed of the random numbers of a channel in a run, the same in every world. It comes from `run`, or from the
    /// channel's [own](Channel::seed), and from the ports that it leads from and to, each with its node's name. Other nodes
    /// and links, their order, and the order of the link's ends do not change it.
    pub fn seed_of(&self, run: u64, from: (&str, Port), to: (&str, Port)) -> u64 {
        let [out, into] = [from, to].map(|(_, port)| port.0.to_string());
        let run = self.seed.unwrap_or(run);
        random::seed_of(run, "link", &[from.0, &out, to.0, &into])
    }

    /// The times at which the link goes down or up, with the state from then on.
    pub fn changes(&self) -> impl Iterator<Item = (Time, bool)> + '_ {
        let pairs = self.down.iter();
        pairs.flat_map(|&[down, up]| [(down, false), (up, true)])
    }

    /// Whether [`down`](Channel::down) is in order: each ends behind its beginning, and before the next.
    pub fn is_down_in_order(&self) -> bool {
        self.changes().is_sorted_by(|a, b| a.0 < b.0)
    }
}

impl Channel {
    /// What is to be told of this direction to who sends by it, when it has done this much and so much waits. What
    /// came the other way is not in it.
    pub fn statistics(
        &self,
        now: Time,
        counters: &LinkCounters,
        waiting: &Waiting,
    ) -> (Interface, Queue) {
        let waits = waiting.count() as u64;
        let queue = Queue {
            class: 0,
            packets: waits as u32,
            bytes: waiting.bytes(),
            rate: self.rate,
            overhead: (PREAMBLE + FCS) as u32 + self.gap,
            sent_packets: counters.sent - waits,
            sent_bytes: counters.bytes - waiting.bytes(),
            dropped: counters.queue_full,
            overlimits: 0,
        };
        let sent = Counts {
            packets: queue.sent_packets,
            bytes: queue.sent_bytes,
            dropped: queue.dropped,
            errors: 0,
        };
        let interface = Interface {
            up: !self.is_down(now, now),
            rate: self.rate,
            mtu: 0,
            received: Counts::default(),
            sent,
        };
        (interface, queue)
    }
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
            level: Level::Frame,
            down: Vec::new(),
            seed: None,
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
    /// Found the queue full, or had to leave a full one.
    pub queue_full: u64,
    /// Dropped by the queue discipline though there was room.
    pub dropped_early: u64,
    /// Marked by the queue discipline: they carry CE (RFC 3168) and were sent.
    pub marked: u64,
    /// The most frames that waited at once, on a link at the level of frames.
    pub longest_queue: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Lost on the way because of a wrong bit.
    pub bit_errors: u64,
    /// Delivered twice.
    pub duplicated: u64,
    /// Held up so that later ones overtake.
    pub reordered: u64,
    /// Given to the node at its end; `None` in a world that does not see that of each link. With what was lost, and what is
    /// [in flight](LinkCounters::in_flight), it is what was sent and delivered twice.
    pub delivered: Option<u64>,
    /// On its way, or waiting to leave, when the run ended; `None` as above.
    pub in_flight: Option<u64>,
    /// What happened below the frames, on a link at the level of blocks.
    pub line: Option<LineCounters>,
}

/// What one direction of a link at the level of blocks has done below the frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounters {
    /// Idle characters put in by the receiver, whose clock was ahead.
    pub idles_inserted: u64,
    /// Idle characters taken out by the receiver, whose clock was behind.
    pub idles_removed: u64,
    /// Times at which the receiver's buffer overflowed, because there was no idle that might go.
    pub slips: u64,
    /// Bits that were wrong on the line.
    pub wrong_bits: u64,
    /// Blocks with a header of two equal bits.
    pub bad_headers: u64,
    /// Blocks that the receiver took as errors, those with bad headers included.
    pub bad_blocks: u64,
    /// Frames that ended with a wrong FCS.
    pub bad_fcs: u64,
    /// Times at which block lock was lost.
    pub lock_losses: u64,
    /// Times at which the error rate was found high (hi_ber).
    pub high_error_rates: u64,
    /// Frames delivered whose wrong bits the FCS did not show.
    pub undetected: u64,
    /// Blocks of long idle stretches at a high error rate that were passed over: what their wrong
    /// bits would have done is not in these counters.
    pub passed_over: u64,
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

#[cfg(test)]
mod tests;
