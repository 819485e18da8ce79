//! Counts of values in buckets of equal relative width: the one histogram of the project.
//!
//! As an HDR histogram does, it keeps a fixed relative precision over all of `u64`, in a space that
//! depends on the precision and on how many powers of two the values reach, not on how many values
//! there are. The first 512 values are kept too: until there are more, percentiles are exact, and behind that
//! they are given in as few decimal digits as the precision is worth. Room for a power of two is taken when the first value in it comes, unless it was
//! [reserved](Histogram::reserved).

use crate::Time;
use crate::outcome::Spread;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Maximum precision, bits: 2^16 buckets for each power of two, half a megabyte each.
const MAX_PRECISION: u32 = 16;
/// Maximum number of values that are kept exactly.
const MAX_EXACT_VALUES: usize = 512;

/// Counts of values, in whatever unit the caller has.
///
/// ```
/// use node::Histogram;
///
/// let mut gaps = Histogram::default();
/// (1..=1_000).for_each(|gap| gaps.record(gap));
/// assert_eq!(gaps.total(), 1_000);
/// assert_eq!(gaps.value_at(990, 1_000), 990);
/// assert_eq!(gaps.value_at(333, 1_000), 333);
/// assert_eq!(gaps.max(), 1_000);
/// ```
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Buckets to a power of two, as a power of two.
    fine: u32,
    /// By power of two; `None` where no value has been.
    rows: Vec<Option<Box<[u64]>>>,
    /// All values, as long as there are few.
    few: Vec<u64>,
    total: u64,
    min: u64,
    max: u64,
}

/// Values that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The least value that is counted here.
    pub low: u64,
    /// The greatest value that is counted here.
    pub high: u64,
    /// How many values there were, never zero.
    pub count: u64,
}

impl Default for Histogram {
    /// With a precision of 1/128 and room for all values: 58 KiB.
    fn default() -> Histogram {
        Histogram::with_precision(7).reserved()
    }
}

impl Histogram {
    /// A histogram in which a value is known to `1/2^fine` of itself; values below `2^(fine + 1)` are
    /// known exactly. `fine` is at most 16; more is taken as 16. Each power of two that is in use takes
    /// `8 * 2^fine` bytes.
    pub fn with_precision(fine: u32) -> Histogram {
        Histogram {
            fine: fine.min(MAX_PRECISION),
            rows: Vec::new(),
            few: Vec::new(),
            total: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Takes the room for all values now, so that nothing is allocated later.
    pub fn reserved(mut self) -> Histogram {
        for row in 0..65 - self.fine as usize {
            self.row(row);
        }
        self.few.reserve_exact(MAX_EXACT_VALUES);
        self
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts a value `count` times.
    #[inline]
    pub fn record_many(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        let bucket = bucket(value, self.fine);
        let (row, column) = (bucket >> self.fine, bucket & ((1 << self.fine) - 1));
        match self.rows.get_mut(row) {
            Some(Some(counts)) => counts[column] += count,
            _ => self.row(row)[column] += count,
        }
        if self.total < MAX_EXACT_VALUES as u64 {
            self.keep(value, count);
        }
        self.total += count;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Keeps a value among the few, as often as there is room.
    #[cold]
    fn keep(&mut self, value: u64, count: u64) {
        let room = (MAX_EXACT_VALUES - self.few.len()) as u64;
        let len = self.few.len() + count.min(room) as usize;
        self.few.resize(len, value);
    }

    /// A row, which is made if it is not there yet.
    #[cold]
    fn row(&mut self, row: usize) -> &mut [u64] {
        if self.rows.is_empty() {
            self.rows = vec![None; 65 - self.fine as usize];
        }
        let size = 1 << self.fine;
        self.rows[row].get_or_insert_with(|| vec![0; size].into())
    }

    /// Adds the counts of another histogram. If that is finer, each of its buckets counts as its
    /// greatest value.
    pub fn merge(&mut self, other: &Histogram) {
        if other.are_few() {
            other.few.iter().for_each(|&value| self.record(value));
        } else {
            for bucket in other.buckets() {
                self.record_many(bucket.high, bucket.count);
            }
        }
        if other.total > 0 {
            self.min = self.min.min(other.min);
        }
    }

    /// How many values were recorded.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The least value, exactly; zero when nothing was recorded.
    pub fn min(&self) -> u64 {
        self.min.min(self.max)
    }

    /// The greatest value, exactly; zero when nothing was recorded.
    pub fn max(&self) -> u64 {
        self.max
    }

    fn are_few(&self) -> bool {
        self.total == self.few.len() as u64
    }

    /// The value that `part` of `of` recorded ones do not exceed: `value_at(999, 1000)` is the 99.9th percentile.
    /// Exact for up to 512 values; of more it is the number in the value's bucket that has the fewest decimal digits. Zero
    /// when nothing was recorded; the greatest if `part` is `of` or more.
    pub fn value_at(&self, part: u64, of: u64) -> u64 {
        let wanted = u128::from(self.total) * u128::from(part);
        let wanted = wanted.div_ceil(u128::from(of.max(1))).max(1);
        if wanted >= self.total.into() {
            return self.max;
        }
        if self.are_few() {
            let mut few = self.few.clone();
            few.sort_unstable();
            return few[wanted as usize - 1];
        }
        let mut seen = 0;
        for bucket in self.buckets() {
            seen += u128::from(bucket.count);
            if seen >= wanted {
                return roundest(bucket.low, bucket.high);
            }
        }
        self.max
    }

    /// The buckets that hold something, by value. The bounds of the first and the last are those of
    /// the values themselves.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let fine = self.fine;
        let rows = self.rows.iter().enumerate();
        let rows = rows.filter_map(|(row, counts)| Some((row, counts.as_ref()?)));
        rows.flat_map(move |(row, counts)| {
            let counts = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            counts.map(move |(column, &count)| {
                let bucket = (row << fine) + column;
                Bucket {
                    low: first_of(bucket, fine).max(self.min),
                    high: last_of(bucket, fine).min(self.max),
                    count,
                }
            })
        })
    }

    /// The percentiles that reports of timing errors have, for values in a unit of time; all zero
    /// when nothing was recorded.
    pub fn spread(&self, unit: Time) -> Spread {
        Spread {
            p50: unit * self.value_at(500, 1_000),
            p99: unit * self.value_at(990, 1_000),
            p999: unit * self.value_at(999, 1_000),
            max: unit * self.max,
        }
    }
}

/// The number from `low` to `high` with the most zeros at its end; the greatest of those.
fn roundest(low: u64, high: u64) -> u64 {
    let powers = (0..=19).rev().map(|power| 10u64.pow(power));
    let mut round = powers.map(|power| high - high % power);
    round.find(|&round| round >= low).unwrap_or(high)
}

#[inline]
fn bucket(value: u64, fine: u32) -> usize {
    let shift = (63 - (value | 1).leading_zeros()).saturating_sub(fine);
    ((shift as usize) << fine) + (value >> shift) as usize
}

/// The least value of a bucket.
fn first_of(bucket: usize, fine: u32) -> u64 {
    let shift = (bucket >> fine).saturating_sub(1);
    ((bucket - (shift << fine)) as u64) << shift
}

/// The greatest value of a bucket.
fn last_of(bucket: usize, fine: u32) -> u64 {
    let shift = (bucket >> fine).saturating_sub(1);
    first_of(bucket, fine) + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_bucket_and_no_further_off_than_promised() {
        for fine in [0, 5, 7, 10, MAX_PRECISION] {
            let powers = (6..64).flat_map(|n| {
                let power = 1u64 << n;
                [power - 1, power, power + 1, power + power / 3]
            });
            for value in (0..200).chain(powers).chain([u64::MAX]) {
                let at = bucket(value, fine);
                let (first, last) = (first_of(at, fine), last_of(at, fine));
                assert!(first <= value && value <= last, "{value}: {first} {last}");
                assert!(last - first <= value >> fine, "{value}: {first} {last}");
                assert!(at >> fine <= 64 - fine as usize, "{value}: {at}");
            }
        }
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut errors = Histogram::default();
        assert_eq!(errors.spread(Time::from_ns(1)), Spread::default());
        (1..=1000).for_each(|value| errors.record(value));
        let spread = errors.spread(Time::from_ns(1));
        assert!((500..=504).contains(&spread.p50.as_ns()), "{spread:?}");
        assert!((990..=998).contains(&spread.p99.as_ns()), "{spread:?}");
        assert_eq!(spread.max, Time::from_ns(1000));
        assert_eq!((errors.min(), errors.max()), (1, 1000));
        assert_eq!((errors.value_at(0, 10), errors.value_at(10, 10)), (1, 1000));
    }

    #[test]
    fn few_values_are_known_exactly_and_many_in_no_more_digits_than_they_have() {
        let mut delays = Histogram::default();
        for delay in [94_175_231, 7, 94_175_233] {
            delays.record(delay);
        }
        assert_eq!(delays.value_at(1, 2), 94_175_231);
        // Ten milliseconds in picoseconds, but for some.
        let mut gaps = Histogram::default();
        (0..512).for_each(|_| gaps.record(10_000_000_000));
        assert_eq!(gaps.value_at(1, 2), 10_000_000_000);
        (0..10).for_each(|n| gaps.record(10_001_317_900 + n));
        gaps.record(1);
        assert_eq!(gaps.value_at(1, 2), 10_000_000_000);
        // It is in the bucket of what was recorded, and never beyond the ends.
        for value in [99, 1_001, 123_456_789, u64::MAX] {
            let mut many = Histogram::default();
            many.record_many(value, 1_000);
            many.record(value / 2);
            let told = many.value_at(900, 1_000);
            assert!(
                told.abs_diff(value) <= value >> 7 && told <= value,
                "{value}: {told}"
            );
        }
    }

    #[test]
    fn equal_values_are_known_exactly_whatever_the_precision() {
        let mut gaps = Histogram::with_precision(0);
        gaps.record_many(1_356_800, 1 << 40);
        gaps.record_many(7, 0);
        assert_eq!(gaps.value_at(1, 2), 1_356_800);
        let all: Vec<Bucket> = gaps.buckets().collect();
        let (low, high, count) = (1_356_800, 1_356_800, 1 << 40);
        assert_eq!(all, [Bucket { low, high, count }]);
    }

    #[test]
    fn merged_histograms_count_the_values_of_both() {
        let (mut a, mut b) = (Histogram::default(), Histogram::default());
        a.record(100);
        a.merge(&b);
        (0..50).for_each(|value| b.record(value));
        a.merge(&b);
        assert_eq!((a.total(), a.min(), a.max()), (51, 0, 100));
        assert_eq!(a.value_at(50, 51), 49);
    }
}
