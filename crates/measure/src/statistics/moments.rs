//! Mean and deviation of a stream of integers, from exact sums.

/// Count, sums and extremes of the values added.
///
/// Sums are of the differences to the first value, which keeps the squares of nearly equal values
/// small: 128 bits hold them exactly for 10^14 values that spread over a second of picoseconds.
/// Beyond that they saturate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: u64,
    first: u64,
    sum: i128,
    squares: u128,
    min: u64,
    max: u64,
}

/// What a stream of values was like; in the values' unit. All zero when there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many values there were.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, by `count - 1`; 0 for a single value.
    pub sd: f64,
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: u64,
}

impl Moments {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Adds a value `count` times.
    #[inline]
    pub fn add_many(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        if self.count == 0 {
            (self.first, self.min, self.max) = (value, value, value);
        }
        let difference = i128::from(value) - i128::from(self.first);
        let size = difference.unsigned_abs();
        self.count = self.count.saturating_add(count);
        let (sum, times) = (difference.saturating_mul(count.into()), u128::from(count));
        self.sum = self.sum.saturating_add(sum);
        // Below 2^64, so its square is below 2^128.
        let squares = (size * size).saturating_mul(times);
        self.squares = self.squares.saturating_add(squares);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// What the values were like.
    pub fn summary(&self) -> Summary {
        if self.count == 0 {
            return Summary::default();
        }
        let count = self.count as f64;
        Summary {
            count: self.count,
            mean: self.first as f64 + self.sum as f64 / count,
            sd: libm::sqrt(self.variance()),
            min: self.min,
            max: self.max,
        }
    }

    fn variance(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let size = self.sum.unsigned_abs();
        let count = u128::from(self.count);
        let divisor = self.count as f64 * (self.count - 1) as f64;
        // n times the squares less the sum's square, never negative, exactly if it fits.
        match (self.squares.checked_mul(count), size.checked_mul(size)) {
            (Some(squares), Some(square)) => squares.saturating_sub(square) as f64 / divisor,
            _ => {
                let (sum, count) = (self.sum as f64, self.count as f64);
                let spread = self.squares as f64 - sum * (sum / count);
                (spread / (count - 1.0)).max(0.0)
            }
        }
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
        for (value, count) in [(5, 3), (100, 0), (2, 7)] {
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
    fn the_ends_of_the_range_do_not_overflow() {
        let wild = summary([0, u64::MAX].into_iter().cycle().take(1_000));
        assert!((wild.mean / u64::MAX as f64 - 0.5).abs() < 0.01);
        assert!(wild.sd.is_finite());
        assert_eq!(summary([]), Summary::default());
        assert_eq!(summary([5]).sd, 0.0);
    }
}
