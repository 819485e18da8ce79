//! What a train of departures was like.

use measure::statistics::{Moments, Summary};
use node::{Rate, Time, link};

/// Counts departures and their distances, in a few hundred bytes however many there are.
#[derive(Clone, Debug)]
pub struct Schedule {
    line: Rate,
    packets: u64,
    bytes: u64,
    /// With padding, preambles, FCS and least gaps.
    wire_bytes: u64,
    first: Time,
    last: Option<(Time, usize)>,
    intervals: Moments,
    idles: Moments,
    overlaps: u64,
}

impl Schedule {
    /// None yet, for a line of this rate.
    pub fn new(line: Rate) -> Schedule {
        Schedule {
            line,
            packets: 0,
            bytes: 0,
            wire_bytes: 0,
            first: Time::ZERO,
            last: None,
            intervals: Moments::default(),
            idles: Moments::default(),
            overlaps: 0,
        }
    }

    /// Takes a departure of `len` bytes, without FCS, into account; they come in order.
    pub fn add(&mut self, at: Time, len: usize) {
        match self.last {
            None => self.first = at,
            Some((last, before)) => {
                let interval = at - last;
                self.intervals.add(interval.as_ps());
                match self.gap(interval, before) {
                    Some(idles) => self.idles.add(idles),
                    None => self.overlaps += 1,
                }
            }
        }
        self.last = Some((at, len));
        self.packets += 1;
        self.bytes += len as u64;
        self.wire_bytes += link::on_wire(len);
    }

    /// Idle characters, rounded to the nearest, from the end of a frame of `len` bytes to the preamble of
    /// one that leaves this long after it; `None` if they overlap.
    fn gap(&self, interval: Time, len: usize) -> Option<u64> {
        let rate = u128::from(self.line.bits_per_second());
        let characters =
            (u128::from(interval.as_ps()) * rate + 4_000_000_000_000) / 8_000_000_000_000;
        let frame = link::on_wire(len) - link::GAP as u64;
        u64::try_from(characters)
            .unwrap_or(u64::MAX)
            .checked_sub(frame)
    }

    /// How many departures there were.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Their bytes, without FCS.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// From the first departure to the last.
    pub fn span(&self) -> Time {
        self.last.map_or(Time::ZERO, |(last, _)| last - self.first)
    }

    /// The times from first bit to first bit, in picoseconds.
    pub fn intervals(&self) -> Summary {
        self.intervals.summary()
    }

    /// The gaps, in idle characters of the line.
    pub fn idles(&self) -> Summary {
        self.idles.summary()
    }

    /// Departures at which the frame before is still leaving: a line of this rate sends them later.
    pub fn overlaps(&self) -> u64 {
        self.overlaps
    }

    /// Bits a second on the wire, preamble, FCS and least gap counted, from the first departure to the
    /// last, whose own frame is not in it; `None` before there are two.
    pub fn rate(&self) -> Option<f64> {
        let (last, len) = self.last?;
        let span = last - self.first;
        if span == Time::ZERO {
            return None;
        }
        let bytes = self.wire_bytes - link::on_wire(len);
        Some(8.0 * bytes as f64 / span.as_secs_f64())
    }
}
