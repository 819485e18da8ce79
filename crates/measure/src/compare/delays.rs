//! Delays that may be below zero, as two clocks make them.

use crate::durations::Durations;
use crate::statistics::{Moments, Summary};
use alloc::vec::Vec;

/// How finely delays are counted: to `1/2^FINE` of themselves.
const FINE: u32 = 12;

/// Delays in ps.
#[derive(Clone, Debug)]
pub struct Delays {
    moments: Moments,
    /// By their size.
    below: Durations,
    above: Durations,
    last: Option<i128>,
    changes: Moments,
    jitter: f64,
    most_jitter: f64,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays {
            moments: Moments::default(),
            below: Durations::with_precision(FINE),
            above: Durations::with_precision(FINE),
            last: None,
            changes: Moments::default(),
            jitter: 0.0,
            most_jitter: 0.0,
        }
    }
}

impl Delays {
    /// The delay of the packet that arrived next.
    pub(super) fn add(&mut self, delay: i128) {
        self.moments.add_signed(delay, 1);
        match delay {
            0.. => self.above.add(delay.unsigned_abs()),
            _ => self.below.add(delay.unsigned_abs()),
        }
        if let Some(last) = self.last.replace(delay) {
            let change = delay.saturating_sub(last).saturating_abs();
            self.changes.add_signed(change, 1);
            // RFC 3550 section 6.4.1.
            self.jitter += (change as f64 - self.jitter) / 16.0;
            self.most_jitter = self.most_jitter.max(self.jitter);
        }
    }

    fn summary(&self) -> Summary<i128> {
        self.moments.summary_in(|value| value)
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.summary().count
    }

    /// Their mean.
    pub fn mean(&self) -> f64 {
        self.summary().mean
    }

    /// Their standard deviation.
    pub fn sd(&self) -> f64 {
        self.summary().sd
    }

    /// The least.
    pub fn min(&self) -> i128 {
        self.summary().min
    }

    /// The greatest.
    pub fn max(&self) -> i128 {
        self.summary().max
    }

    /// How many are below zero.
    pub fn below_zero(&self) -> u64 {
        self.below.count()
    }

    /// The value that `part` of `of` delays do not exceed; zero of none.
    pub fn value_at(&self, part: u64, of: u64) -> i128 {
        let wanted = (u128::from(self.count()) * u128::from(part)).div_ceil(u128::from(of.max(1)));
        let mut seen = 0;
        for (value, count) in self.values() {
            seen += u128::from(count);
            if seen >= wanted.max(1) {
                return value;
            }
        }
        self.max()
    }

    /// Their distribution: ascending values, and how many delays are about that.
    pub fn values(&self) -> impl Iterator<Item = (i128, u64)> + '_ {
        let signed = |size: u128| i128::try_from(size).unwrap_or(i128::MAX);
        let below: Vec<_> = self.below.buckets().collect();
        let below = below.into_iter().rev();
        // The end of a bucket that is further from minus infinity.
        let below = below.map(move |(low, _, count)| (-signed(low), count));
        let above = self.above.buckets();
        below.chain(above.map(move |(_, high, count)| (signed(high), count)))
    }

    /// The changes of delay from each arrival to the next, by size: RFC 3393's variation.
    pub fn changes(&self) -> Summary<u128> {
        self.changes.summary_in(i128::unsigned_abs)
    }

    /// The interarrival jitter of RFC 3550 section 6.4.1 at the end, and the greatest on the way; in
    /// ps.
    pub fn jitter(&self) -> (f64, f64) {
        (self.jitter, self.most_jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_on_both_sides_of_zero_are_one_distribution() {
        let mut delays = Delays::default();
        (-50..=50).for_each(|delay| delays.add(delay));
        assert_eq!(
            (delays.min(), delays.max(), delays.below_zero()),
            (-50, 50, 50)
        );
        assert_eq!((delays.mean(), delays.value_at(1, 2)), (0.0, 0));
        assert_eq!(delays.value_at(1, 101), -50);
        assert_eq!(delays.changes().max, 1);
        assert!(delays.sd() > 29.0 && delays.sd() < 30.0);
    }

    #[test]
    fn a_constant_delay_has_no_jitter_and_no_deviation() {
        let mut delays = Delays::default();
        (0..1_000).for_each(|_| delays.add(1_000_000_000_000));
        assert_eq!((delays.mean(), delays.sd()), (1e12, 0.0));
        assert_eq!(
            (delays.value_at(999, 1_000), delays.jitter()),
            (1_000_000_000_000, (0.0, 0.0))
        );
    }

    #[test]
    fn delays_of_years_are_as_long_as_they_are() {
        let year = 31_536_000_000_000_000_000;
        let mut delays = Delays::default();
        [-year, 5, 2 * year]
            .into_iter()
            .for_each(|delay| delays.add(delay));
        assert_eq!((delays.min(), delays.max()), (-year, 2 * year));
        assert_eq!((delays.value_at(1, 2), delays.value_at(1, 3)), (5, -year));
        assert_eq!(delays.changes().max, 2 * year.unsigned_abs() - 5);
    }

    #[test]
    fn jitter_goes_towards_the_mean_change() {
        let mut delays = Delays::default();
        (0..1_000).for_each(|n| delays.add(n % 2 * 160));
        assert!((delays.jitter().0 - 160.0).abs() < 1e-6);
        let mut wild = Delays::default();
        [i128::MIN / 8, i128::MAX / 8, 0]
            .into_iter()
            .for_each(|delay| wild.add(delay));
        assert!(wild.mean().is_finite() && wild.sd().is_finite());
        assert_eq!(Delays::default().value_at(1, 2), 0);
    }
}
