//! Delays that may be below zero, as two clocks make them.

use crate::statistics::Moments;
use alloc::vec::Vec;
use node::Histogram;
use node::histogram::Bucket;

/// How finely delays are counted: to `1/2^FINE` of themselves.
const FINE: u32 = 12;
/// Sums are of what a delay is above this far below zero, in ps: 18 minutes.
const FLOOR: i64 = -(1 << 50);

/// Delays in ps.
#[derive(Clone, Debug)]
pub struct Delays {
    moments: Moments,
    /// By their size.
    below: Histogram,
    above: Histogram,
    last: Option<i64>,
    changes: Moments,
    jitter: f64,
    most_jitter: f64,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays {
            moments: Moments::default(),
            below: Histogram::with_precision(FINE),
            above: Histogram::with_precision(FINE),
            last: None,
            changes: Moments::default(),
            jitter: 0.0,
            most_jitter: 0.0,
        }
    }
}

impl Delays {
    /// The delay of the packet that arrived next; what is below -18 minutes counts as that.
    pub(super) fn add(&mut self, delay: i64) {
        let delay = delay.max(FLOOR);
        self.moments.add(delay.abs_diff(FLOOR));
        match delay {
            0.. => self.above.record(delay.unsigned_abs()),
            _ => self.below.record(delay.unsigned_abs()),
        }
        if let Some(last) = self.last.replace(delay) {
            let change = delay.abs_diff(last);
            self.changes.add(change);
            // RFC 3550 section 6.4.1.
            self.jitter += (change as f64 - self.jitter) / 16.0;
            self.most_jitter = self.most_jitter.max(self.jitter);
        }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.moments.summary().count
    }

    /// Their mean.
    pub fn mean(&self) -> f64 {
        let summary = self.moments.summary();
        match summary.count {
            0 => 0.0,
            _ => summary.mean + FLOOR as f64,
        }
    }

    /// Their standard deviation.
    pub fn sd(&self) -> f64 {
        self.moments.summary().sd
    }

    /// The least.
    pub fn min(&self) -> i64 {
        self.extreme(self.moments.summary().min)
    }

    /// The greatest.
    pub fn max(&self) -> i64 {
        self.extreme(self.moments.summary().max)
    }

    fn extreme(&self, value: u64) -> i64 {
        match self.count() {
            0 => 0,
            _ => FLOOR.saturating_add_unsigned(value),
        }
    }

    /// How many are below zero.
    pub fn below_zero(&self) -> u64 {
        self.below.total()
    }

    /// The value that `part` of `of` delays do not exceed; zero of none.
    pub fn value_at(&self, part: u64, of: u64) -> i64 {
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
    pub fn values(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let below: Vec<Bucket> = self.below.buckets().collect();
        let below = below.into_iter().rev();
        // The end of a bucket that is further from minus infinity.
        let below = below.map(|bucket| (0i64.saturating_sub_unsigned(bucket.low), bucket.count));
        let above = self.above.buckets();
        below.chain(
            above.map(|bucket| (i64::try_from(bucket.high).unwrap_or(i64::MAX), bucket.count)),
        )
    }

    /// The changes of delay from each arrival to the next, by size: RFC 3393's variation.
    pub fn changes(&self) -> crate::statistics::Summary {
        self.changes.summary()
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
    fn jitter_goes_towards_the_mean_change() {
        let mut delays = Delays::default();
        (0..1_000).for_each(|n| delays.add(n % 2 * 160));
        assert!((delays.jitter().0 - 160.0).abs() < 1e-6);
        let mut wild = Delays::default();
        [i64::MIN, i64::MAX, 0]
            .into_iter()
            .for_each(|delay| wild.add(delay));
        assert!(wild.mean().is_finite() && wild.sd().is_finite());
        assert_eq!(Delays::default().value_at(1, 2), 0);
    }
}
