//! How far off a clock was, over a run.

use super::{Clock, Local};
use alloc::string::String;
use alloc::vec::Vec;
use measure::clock::{ClockReading, ClockReport, Deviations};
use node::{Histogram, Time};

/// Maximum number of readings of a run. Of a longer one every second, fourth, ... is kept.
const MAX_READINGS: usize = 4096;

/// One quantity.
#[derive(Clone, Debug)]
struct Series {
    values: Deviations,
    squares: f64,
    sizes: Histogram,
}

impl Default for Series {
    fn default() -> Series {
        Series {
            values: Deviations::default(),
            squares: 0.0,
            sizes: Histogram::with_precision(5),
        }
    }
}

impl Series {
    fn add(&mut self, ps: i64) {
        let values = &mut self.values;
        (values.min_ps, values.max_ps) = match values.count {
            0 => (ps, ps),
            _ => (values.min_ps.min(ps), values.max_ps.max(ps)),
        };
        values.count += 1;
        values.last_ps = ps;
        self.squares += ps as f64 * ps as f64;
        self.sizes.record(ps.unsigned_abs());
    }

    fn deviations(&self) -> Deviations {
        Deviations {
            rms_ps: libm::sqrt(self.squares / self.values.count.max(1) as f64) as u64,
            spread: self.sizes.spread(Time::from_ps(1)),
            ..self.values
        }
    }
}

/// Offsets from a master, and from the world's own time at the same moments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    offset: Series,
    error: Series,
    bound: Option<u64>,
    greatest_bound: Option<u64>,
    over: u64,
    trace: Vec<(Time, i64, i64)>,
    /// One in so many moments is kept, as a power of two; and how many there were.
    thin: u32,
    seen: u64,
}

impl Measured {
    /// Takes down an offset, an error, and how far the clock may have been off as far as it knew; `settled` if they count for more than the trace.
    pub fn add(
        &mut self,
        at: Time,
        offset: Local,
        error: Local,
        bound: Option<u64>,
        settled: bool,
    ) {
        let (offset, error) = (in_64_bits(offset), in_64_bits(error));
        self.bound = bound;
        // What is false is false also before it counts.
        self.over += u64::from(bound.is_some_and(|bound| error.unsigned_abs() > bound));
        if settled {
            self.greatest_bound = self.greatest_bound.max(bound);
            self.offset.add(offset);
            self.error.add(error);
        }
        if self.seen.is_multiple_of(1 << self.thin) {
            if self.trace.len() == MAX_READINGS {
                let mut index = 0;
                self.trace.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.thin += 1;
            }
            if self.seen.is_multiple_of(1 << self.thin) {
                self.trace.push((at, offset, error));
            }
        }
        self.seen += 1;
    }

    /// What is told of a clock: its protocol and state, the delay that it reckons with, and what it shows.
    pub fn report(
        &self,
        protocol: &'static str,
        state: String,
        delay: Option<Local>,
        clock: &Clock,
        reading: Option<ClockReading>,
    ) -> ClockReport {
        ClockReport {
            protocol,
            state,
            offset: self.offset.deviations(),
            error: self.error.deviations(),
            bound_ps: self.bound,
            greatest_bound_ps: self.greatest_bound,
            over_bound: self.over,
            delay_ps: delay.map(in_64_bits),
            steered_ppt: libm::round(clock.steered() * 1e12) as i64,
            trace: self.trace.clone(),
            reading,
            mesh: None,
        }
    }
}

/// As it is reported: 106 days, ahead or behind, at most.
pub(crate) fn in_64_bits(time: Local) -> i64 {
    i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_kept_in_bounded_space_and_evenly() {
        let mut measured = Measured::default();
        for second in 0..100_000u64 {
            let value = if second % 2 == 0 { 30 } else { -40 };
            let bound = Some(second % 3);
            measured.add(Time::from_secs(second), value, 1, bound, second > 0);
        }
        let trace = &measured.trace;
        assert!((MAX_READINGS / 2..=MAX_READINGS).contains(&trace.len()));
        let steps = trace.windows(2).map(|pair| pair[1].0 - pair[0].0);
        assert!(steps.clone().all(|step| step == Time::from_secs(32)));
        let offset = measured.offset.deviations();
        assert_eq!((offset.count, offset.last_ps), (99_999, -40));
        assert_eq!((offset.min_ps, offset.max_ps, offset.rms_ps), (-40, 30, 35));
        assert_eq!(offset.greatest(), Time::from_ps(40));
        let (bound, greatest) = (measured.bound, measured.greatest_bound);
        assert_eq!((bound, greatest, measured.over), (Some(0), Some(2), 33_334));
    }

    #[test]
    fn what_64_bits_do_not_hold_is_as_much_as_they_do() {
        assert_eq!(in_64_bits(-1 << 80), i64::MIN);
        assert_eq!(in_64_bits(1 << 80), i64::MAX);
    }
}
