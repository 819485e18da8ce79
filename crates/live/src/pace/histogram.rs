//! Percentiles of errors, streaming.

use node::Time;
use node::outcome::Spread;

/// Buckets to a power of two: a percentile is at most 1/32 above the truth.
const FINE: u32 = 5;
const BUCKETS: usize = (64 - FINE as usize + 1) << FINE;

/// Counts of values in ns, in buckets of equal relative width.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64]>,
    total: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            counts: vec![0; BUCKETS].into(),
            total: 0,
            max: 0,
        }
    }
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
        self.max = self.max.max(value);
    }

    /// How many values were recorded.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The percentiles; all zero when nothing was recorded.
    pub fn spread(&self) -> Spread {
        Spread {
            p50: self.at(500),
            p99: self.at(990),
            p999: self.at(999),
            max: Time::from_ns(self.max),
        }
    }

    /// The value that so many of 1000 do not exceed, rounded up to its bucket's end.
    fn at(&self, of_1000: u64) -> Time {
        let wanted = (u128::from(self.total) * u128::from(of_1000)).div_ceil(1000) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                return Time::from_ns(last_of(index).min(self.max));
            }
        }
        Time::ZERO
    }
}

fn bucket(value: u64) -> usize {
    let shift = (63 - (value | 1).leading_zeros()).saturating_sub(FINE);
    ((shift as usize) << FINE) + (value >> shift) as usize
}

/// The largest value of a bucket.
fn last_of(bucket: usize) -> u64 {
    let shift = (bucket >> FINE).saturating_sub(1);
    let base = (bucket - (shift << FINE)) as u64;
    // In 128 bits: the last bucket of all ends at 2^64.
    (((u128::from(base) + 1) << shift) - 1).min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_bucket_and_no_further_off_than_promised() {
        for value in (0..200).chain((6..64).flat_map(|n| {
            let power = 1u64 << n;
            [power - 1, power, power + 1, power + power / 3]
        })) {
            let last = last_of(bucket(value));
            assert!(last >= value, "{value}: {last}");
            assert!(last - value <= value / 32, "{value}: {last}");
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut errors = Histogram::default();
        assert_eq!(errors.spread(), Spread::default());
        (1..=1000).for_each(|value| errors.record(value));
        let spread = errors.spread();
        assert!((500..=516).contains(&spread.p50.as_ns()), "{spread:?}");
        assert!((990..=1000).contains(&spread.p99.as_ns()), "{spread:?}");
        assert_eq!(spread.max, Time::from_ns(1000));
    }
}
