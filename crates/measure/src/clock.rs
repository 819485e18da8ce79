//! Reports on clocks: how far off a clock was, and what it shows.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::Time;
use node::outcome::Spread;

/// Errors of a clock over a run; positive is ahead. Picoseconds, limited to 106 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deviations {
    /// Number of samples.
    pub count: u64,
    /// The last sample.
    pub last_ps: i64,
    /// Minimum.
    pub min_ps: i64,
    /// Maximum.
    pub max_ps: i64,
    /// Root mean square.
    pub rms_ps: u64,
    /// Percentiles of the absolute values.
    pub spread: Spread,
}

impl Deviations {
    /// Maximum absolute value.
    pub fn greatest(&self) -> Time {
        Time::from_ps(self.min_ps.unsigned_abs().max(self.max_ps.unsigned_abs()))
    }
}

/// Report on a node's clock, whichever protocol sets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockReport {
    /// The protocol: `ptp`, `ntp`.
    pub protocol: &'static str,
    /// State at the end in a few words: `master`, `slave of 020000.fffe.000001, locked`.
    pub state: String,
    /// Offset from the master as the protocol measured it, before each correction, once the clock was locked.
    pub offset: Deviations,
    /// Offset from the world's time at the same moments, which no protocol knows: the truth in simulated time, the machine's counter
    /// on live ports.
    pub error: Deviations,
    /// The protocol's bound on the error at the last offset, before its correction, picoseconds. It holds if the master's messages
    /// are right. `None` if the protocol has no bound.
    pub bound_ps: Option<u64>,
    /// Maximum of these bounds over the offsets that count.
    pub greatest_bound_ps: Option<u64>,
    /// Number of offsets, also of those that do not count, at which the error exceeded the bound. 0 where the master has the world's
    /// time and the assumptions of the bound hold.
    pub over_bound: u64,
    /// The delay to the master that the protocol assumes, picoseconds.
    pub delay_ps: Option<i64>,
    /// Correction of the clock's frequency, parts in 10^12; positive is faster.
    pub steered_ppt: i64,
    /// Samples: time, offset and error, picoseconds.
    pub trace: Vec<(Time, i64, i64)>,
    /// The reading at the end; `None` if the clock cannot be read.
    pub reading: Option<ClockReading>,
    /// Offsets between it and others; `None` if it is measured against none.
    pub mesh: Option<Box<Mesh>>,
}

/// Offsets between a free-running clock and others, window by window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// Address by which other nodes know it.
    pub address: Ipv4Addr,
    /// End of each window: the world's time, and the clock's, picoseconds since its epoch.
    pub shown: Vec<(Time, i128)>,
    /// Offsets found, in the order of their windows.
    pub pairs: Vec<MeshPair>,
    /// Number of pairs of later windows that were left out for lack of space.
    pub left_out: u64,
}

/// Offset between a clock and another one in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshPair {
    /// End of the window, in the world's time.
    pub closed: Time,
    /// Address of the other clock.
    pub with: Ipv4Addr,
    /// A time of this clock near the window's end, picoseconds.
    pub at_ps: i128,
    /// Offset of this clock from the other one then, picoseconds.
    pub ahead_ps: i128,
    /// Difference of the two frequencies, parts in 10^12; positive: this clock is faster.
    pub faster_ppt: i64,
}

/// Reading of a clock with its accuracy, so that other programs can use its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// The world's time of this reading.
    pub at: Time,
    /// The clock's time then, picoseconds since its epoch.
    pub shown_ps: i128,
    /// Difference of its frequency from that of the world's time until the next correction, parts in 10^12.
    pub rate_ppt: i64,
    /// Whether it follows another clock now.
    pub follows: bool,
    /// Number of offsets from that clock found so far.
    pub offsets: u64,
    /// The last offset, before its correction: its time, and picoseconds by which this clock was ahead.
    pub offset: Option<(Time, i64)>,
    /// Bound on its offset from the clock that it follows, after the last correction, for any asymmetry of the path, picoseconds. It
    /// holds if the timestamps are right. 0 for a clock that never follows another one; `None` while nothing is known, or where the
    /// protocol has no bound.
    pub bound_ps: Option<u64>,
    /// Its time minus UTC, seconds: 37 for TAI in 2024. 0 where the protocol does not say.
    pub ahead_of_utc_s: i16,
    /// Number of steps: times that the clock was set, not steered.
    pub steps: u64,
}
