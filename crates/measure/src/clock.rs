//! Reports on clocks: how far off a clock was, and what it shows.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::Time;
use node::outcome::Spread;

/// How far off a clock was, over a run: positive is ahead. Times are picoseconds; what is greater than 106 days counts as that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deviations {
    /// How many were taken.
    pub count: u64,
    /// The last of them.
    pub last_ps: i64,
    /// The least.
    pub min_ps: i64,
    /// The greatest.
    pub max_ps: i64,
    /// The root of the mean square.
    pub rms_ps: u64,
    /// Percentiles of how far, ahead or behind.
    pub spread: Spread,
}

impl Deviations {
    /// The greatest, ahead or behind.
    pub fn greatest(&self) -> Time {
        Time::from_ps(self.min_ps.unsigned_abs().max(self.max_ps.unsigned_abs()))
    }
}

/// What became of a node's clock, by whatever protocol it is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockReport {
    /// The protocol: `ptp`, `ntp`.
    pub protocol: &'static str,
    /// What it is at the end, in a few words: `master`, `slave of 020000.fffe.000001, locked`.
    pub state: String,
    /// Ahead of its master, as the protocol has found it: before each correction, from when the clock was locked on.
    pub offset: Deviations,
    /// Ahead of the world's own time, which no protocol knows, at the same moments. In simulated time that is the truth; on live
    /// ports the machine's counter.
    pub error: Deviations,
    /// How far off its master's time it may have been at the last offset, before its correction, as far as the protocol knows: picoseconds, if
    /// what it was told is right. `None`: it knows of no bound.
    pub bound_ps: Option<u64>,
    /// The greatest of the bounds that it had at the offsets that count.
    pub greatest_bound_ps: Option<u64>,
    /// At how many offsets, also those that do not count, the error was greater than the bound. None, where the master has the world's own time
    /// and what the bound rests on is so.
    pub over_bound: u64,
    /// The delay to its master that it reckons with, picoseconds.
    pub delay_ps: Option<i64>,
    /// By how much the clock is made to run faster, parts in 10^12.
    pub steered_ppt: i64,
    /// Some of the moments: when, offset and error.
    pub trace: Vec<(Time, i64, i64)>,
    /// What it shows; `None` of a clock that cannot be read.
    pub reading: Option<ClockReading>,
    /// What it has found between itself and others; `None` of a clock that is measured against none.
    pub mesh: Option<Box<Mesh>>,
}

/// A clock that runs free, and what was found between it and others, window by window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// By which others know it.
    pub address: Ipv4Addr,
    /// When each window ended, by the world's time, and what the clock showed then, picoseconds since its epoch.
    pub shown: Vec<(Time, i128)>,
    /// What was found, in that order.
    pub pairs: Vec<MeshPair>,
    /// Pairs of later windows, for which there was no room.
    pub left_out: u64,
}

/// What was found between a clock and another one in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshPair {
    /// When the window ended, by the world's time.
    pub closed: Time,
    /// The other.
    pub with: Ipv4Addr,
    /// A time on the own clock near the window's end, picoseconds.
    pub at_ps: i128,
    /// How far the own clock was ahead of the other then, picoseconds.
    pub ahead_ps: i128,
    /// By how much it was faster, parts in 10^12.
    pub faster_ppt: i64,
}

/// What a clock shows, and what that is worth, so that others may have its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// The world's time that the rest is of.
    pub at: Time,
    /// What it showed then, picoseconds since its epoch.
    pub shown_ps: i128,
    /// By how much it runs faster than the world's time from then on, until it is corrected again: parts in 10^12.
    pub rate_ppt: i64,
    /// Whether it follows another clock now.
    pub follows: bool,
    /// Offsets from that one which were found so far.
    pub offsets: u64,
    /// The last of them, before its correction: when, and how far this one was ahead, picoseconds.
    pub offset: Option<(Time, i64)>,
    /// How far it may have been from the clock that it follows, at the last offset and once that was corrected, whatever the two ways
    /// of the path are like: picoseconds. It holds as far as the stamps do. Zero of a clock that follows none and is not to; `None` while nothing
    /// is known, or where the protocol gives no bound.
    pub bound_ps: Option<u64>,
    /// How far its time is ahead of UTC, seconds: 37 of TAI in 2024. Zero also where nothing says so.
    pub ahead_of_utc_s: i16,
    /// How often it was set, beside being steered.
    pub steps: u64,
}
