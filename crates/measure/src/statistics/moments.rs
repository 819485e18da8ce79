//! Mean and deviation of a stream of integers, from exact sums.

use super::wide::Wide;

/// Count, sums and extremes of the values added.
///
/// Values are below 2^104 in size: in ps, that is further apart than any two dates. Sums are exact
/// for 2^22 such values, and for any number of values below 2^63.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: u64,
    first: i128,
    /// Of the differences to the first value.
    sum: i128,
    squares: Wide,
    min: i128,
    max: i128,
}

/// What a stream of values was like; in the values' unit. All zero when there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary<V = u64> {
    /// How many values there were.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, by `count - 1`; 0 for a single value.
    pub sd: f64,
    /// The least.
    pub min: V,
    /// The greatest.
    pub max: V,
}

impl Moments {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_signed(value.into(), 1);
    }

    /// Adds a value `count` times.
    #[inline]
    pub fn add_many(&mut self, value: u64, count: u64) {
        self.add_signed(value.into(), count);
    }

    /// Adds a value of any size and sign `count` times.
    #[inline]
    pub fn add_signed(&mut self, value: i128, count: u64) {
        if count == 0 {
            return;
        }
        if self.count == 0 {
            (self.first, self.min, self.max) = (value, value, value);
        }
        let difference = value.saturating_sub(self.first);
        self.count = self.count.saturating_add(count);
        let sum = difference.saturating_mul(count.into());
        self.sum = self.sum.saturating_add(sum);
        let square = Wide::square(difference.unsigned_abs());
        self.squares = self.squares.plus(square.times(count));
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Moments of the values. Those that are below zero or above `u64` by far are as the
    /// nearest that fits.
    pub fn summary(&self) -> Summary {
        let fit = |value: i128| u64::try_from(value.max(0)).unwrap_or(u64::MAX);
        self.summary_in(fit)
    }

    /// Moments of the values, the least and the greatest in another type.
    pub fn summary_in<V: Default>(&self, turn: impl Fn(i128) -> V) -> Summary<V> {
        if self.count == 0 {
            return Summary::default();
        }
        let count = self.count as f64;
        Summary {
            count: self.count,
            mean: self.first as f64 + self.sum as f64 / count,
            sd: libm::sqrt(self.variance()),
            min: turn(self.min),
            max: turn(self.max),
        }
    }

    /// n times the squares less the sum's square, which is never negative.
    fn variance(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let square = Wide::square(self.sum.unsigned_abs());
        let size = self.squares.times(self.count).minus(square).as_f64();
        size / (self.count as f64 * (self.count - 1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: impl IntoIterator<Item = u64>) -> Summary {
        let mut moments = Moments::default();
        values.into_iter().for_each(|value| moments.add(value));
        moments.summary()
    }

    #[test]
    fn equal_values_deviate_by_exactly_nothing() {
        let gaps = summary(core::iter::repeat_n(67_200, 1_000_000));
        assert_eq!((gaps.mean, gaps.sd), (67_200.0, 0.0));
    }

    #[test]
    fn a_value_added_many_times_counts_as_often() {
        let (mut at_once, mut one_by_one) = (Moments::default(), Moments::default());
        for (value, count) in [(5, 3), (100, 0), (2, 7), (u64::MAX, 2)] {
            at_once.add_many(value, count);
            (0..count).for_each(|_| one_by_one.add(value));
        }
        assert_eq!(at_once.summary(), one_by_one.summary());
    }

    #[test]
    fn a_small_spread_far_from_zero_is_not_lost() {
        let far = 1_000_000_000_000_000_000;
        let spread = summary([far + 1, far + 2, far + 3, far + 4]);
        assert_eq!((spread.min, spread.max), (far + 1, far + 4));
        assert!((spread.sd - 1.290_994_448_735_805_6).abs() < 1e-12);
    }

    #[test]
    fn gaps_of_days_among_short_ones_have_the_deviation_that_they_have() {
        // A day is 8.64e16 ps; the squares of a few thousand take more than 128 bits.
        let day = 86_400_000_000_000_000u64;
        let days = summary([0, 200 * day].into_iter().cycle().take(100_000));
        let half = 100.0 * day as f64;
        assert!((days.mean / half - 1.0).abs() < 1e-12, "{days:?}");
        assert!(
            (days.sd / half - libm::sqrt(100_000.0 / 99_999.0)).abs() < 1e-12,
            "{days:?}"
        );
        // A thousand years, and a nanosecond more or less.
        let mut moments = Moments::default();
        let far = 365_250 * i128::from(day);
        for value in [1, far, far + 1_000, far + 2_000, -far] {
            moments.add_signed(value, 1);
        }
        let all = moments.summary_in(|value| value);
        assert_eq!((all.count, all.min, all.max), (5, -far, far + 2_000));
        let (mean, wanted) = (far as f64 * 0.4, far as f64 * libm::sqrt(0.8));
        assert!((all.mean / mean - 1.0).abs() < 1e-12, "{all:?}");
        assert!((all.sd / wanted - 1.0).abs() < 1e-12, "{all:?}");
    }

    #[test]
    fn the_ends_of_the_range_do_not_overflow() {
        let wild = summary([0, u64::MAX].into_iter().cycle().take(1_000));
        assert!((wild.mean / u64::MAX as f64 - 0.5).abs() < 0.01);
        assert!((wild.sd / u64::MAX as f64 - 0.5).abs() < 0.01);
        assert_eq!(summary([]), Summary::default());
        assert_eq!(summary([5]).sd, 0.0);
        let mut most = Moments::default();
        most.add_signed(i128::MAX, u64::MAX);
        most.add_signed(i128::MIN, u64::MAX);
        assert!(most.summary().sd.is_finite());
    }
}
