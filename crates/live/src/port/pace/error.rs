//! The error of departures: when they were, less when they were wanted.

use node::outcome::{Spread, TimingError};
use node::{Histogram, Time};

/// What the histograms count in.
const NS: Time = Time::from_ns(1);

/// Collects the errors of departures that were asked for at a time.
#[derive(Debug, Default)]
pub struct ErrorMeter {
    raw: Histogram,
    trimmed: Histogram,
    late: u64,
    in_pauses: u64,
    at_driver: Histogram,
    earliest: u64,
}

impl ErrorMeter {
    /// Counts a departure at `left` that was wanted at `wanted`, both in ns. `late`: it was asked for
    /// when that was already past. `paused`: the machine had stood still.
    pub fn record(&mut self, wanted: u64, left: u64, late: bool, paused: bool) {
        let error = left.saturating_sub(wanted);
        self.raw.record(error);
        self.late += u64::from(late);
        if paused {
            self.in_pauses += 1;
        } else {
            self.trimmed.record(error);
        }
    }

    /// Counts the kernel's own stamp of a departure that was wanted at `wanted`, both in ns.
    pub fn stamped(&mut self, wanted: u64, stamp: u64) {
        self.at_driver.record(stamp.abs_diff(wanted));
        self.earliest = self.earliest.max(wanted.saturating_sub(stamp));
    }

    /// The figures so far.
    pub fn report(&self) -> TimingError {
        let (raw, trimmed) = (self.raw.spread(NS), self.trimmed.spread(NS));
        // Departures in a pause may be better than most: without them the others are no worse than all.
        let trimmed = Spread {
            p50: trimmed.p50.min(raw.p50),
            p99: trimmed.p99.min(raw.p99),
            p999: trimmed.p999.min(raw.p999),
            max: trimmed.max.min(raw.max),
        };
        TimingError {
            frames: self.raw.total(),
            late: self.late,
            raw,
            trimmed,
            in_pauses: self.in_pauses,
            stamped: self.at_driver.total(),
            at_driver: self.at_driver.spread(NS),
            earliest: Time::from_ns(self.earliest),
            ..TimingError::default()
        }
    }
}
