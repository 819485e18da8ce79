//! The clock filter (RFC 5905 section 10): of the last eight answers the one that was on its way for the shortest time.

use crate::clock::Local;
use node::Time;

/// Frequency tolerance of a clock without a better bound, ps for each ps: 15 ppm.
pub(super) const PHI: f64 = 15e-6;
/// Answers that are kept.
const STAGES: usize = 8;
/// Maximum dispersion, ps, that of a missing answer: 16 s.
const MAX_DISPERSION_PS: f64 = 16e12;

/// Result of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// When it came.
    pub at: Time,
    /// Total correction of the clock by then, ps.
    pub corrected: Local,
    /// The own clock is so far ahead, picoseconds.
    pub offset: Local,
    /// To the server and back, less what it was there, picoseconds.
    pub delay: Local,
    /// How far off that may be for the clocks' sake, picoseconds, when it came.
    pub dispersion: f64,
}

/// What is known of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// The best of the answers.
    pub best: Sample,
    /// Of all of them, weighted, picoseconds.
    pub dispersion: f64,
    /// By how much the others' offsets differ from the best one's, root mean square, picoseconds.
    pub jitter: f64,
}

/// The filter.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    samples: [Option<Sample>; STAGES],
    next: usize,
    /// When the last one that was used came.
    used: Option<Time>,
}

impl Filter {
    /// Takes an answer in. `precision` is the least jitter, picoseconds. `None`: the best is one that was used already, or older.
    pub fn add(&mut self, sample: Sample, precision: f64) -> Option<Estimate> {
        self.samples[self.next] = Some(sample);
        self.next = (self.next + 1) % STAGES;
        let aged = |one: &Sample| one.dispersion + PHI * (sample.at - one.at).as_ps() as f64;
        let mut sorted = self.samples;
        sorted.sort_unstable_by_key(|one| {
            one.map_or((Local::MAX, Time::ZERO), |one| {
                // Of two that took as long the newer is the better.
                (one.delay, Time::from_ps(u64::MAX - one.at.as_ps()))
            })
        });
        let best = sorted[0].expect("one was taken in");
        let (mut dispersion, mut weight) = (0.0, 0.5);
        let (mut squares, mut others) = (0.0, 0.0);
        for (place, one) in sorted.iter().enumerate() {
            dispersion += weight
                * one
                    .as_ref()
                    .map_or(MAX_DISPERSION_PS, aged)
                    .min(MAX_DISPERSION_PS);
            weight /= 2.0;
            if let (Some(one), true) = (one, place > 0) {
                let off = (one.offset - best.offset) as f64;
                squares += off * off;
                others += 1.0;
            }
        }
        let jitter = libm::sqrt(squares / f64::max(others, 1.0)).max(precision);
        if self.used.is_some_and(|at| best.at <= at) {
            return None;
        }
        self.used = Some(best.at);
        Some(Estimate {
            best,
            dispersion,
            jitter,
        })
    }

    /// The clock was set: all offsets are worth nothing now.
    pub fn forget(&mut self) {
        *self = Filter::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLL: Time = Time::from_secs(64);

    fn sample(poll: u64, offset: Local, delay: Local) -> Sample {
        Sample {
            at: POLL * poll,
            corrected: 0,
            offset,
            delay,
            dispersion: 0.0,
        }
    }

    #[test]
    fn the_answer_that_took_the_shortest_time_counts_and_only_once() {
        let mut filter = Filter::default();
        let first = sample(1, 100, 1_000);
        let Some(estimate) = filter.add(first, 1.0) else {
            panic!("the first counts");
        };
        assert_eq!(estimate.best, first);
        // Seven that never came: almost half of 16 s, and less with each one that does.
        assert!((estimate.dispersion / 1e12 - 7.94).abs() < 0.01);
        assert_eq!(filter.add(sample(2, 900, 3_000), 1.0), None);
        let Some(estimate) = filter.add(sample(3, 110, 999), 1.0) else {
            panic!("it took less");
        };
        assert_eq!(estimate.best.offset, 110);
        let expected = libm::sqrt((10.0f64.powi(2) + 790.0f64.powi(2)) / 2.0);
        assert!((estimate.jitter - expected).abs() < 1e-6);
        // When the best is more than seven answers ago, the next best counts.
        for poll in 4..=10 {
            assert_eq!(
                filter.add(sample(poll, 500, 5_000 + Local::from(poll)), 1.0),
                None
            );
        }
        let Some(estimate) = filter.add(sample(11, 500, 6_000), 1.0) else {
            panic!("the old best has gone");
        };
        assert_eq!(estimate.best.at, POLL * 4);
    }
}
