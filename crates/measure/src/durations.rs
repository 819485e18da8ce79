//! Lengths of time of any size that dates can be apart: sums, and how they are spread.

use crate::statistics::{Moments, Summary};
use alloc::collections::BTreeMap;
use node::Histogram;
use node::histogram::Bucket;

/// Maximum number of long durations that are kept exactly.
const MAX_EXACT: usize = 512;
/// Precision of further ones: `1/2^COARSE_BITS` of their value.
const COARSE_BITS: u32 = 11;

/// Lengths of time, in ps. Those of up to 213 days, which 64 bits hold, are in a histogram; longer
/// ones are counted apart, and are as few as there are years.
#[derive(Clone, Debug)]
pub struct Durations {
    moments: Moments,
    histogram: Histogram,
    long: BTreeMap<u128, u64>,
}

impl Durations {
    /// None yet, to be counted to `1/2^fine` of themselves.
    pub fn with_precision(fine: u32) -> Durations {
        Durations {
            moments: Moments::default(),
            histogram: Histogram::with_precision(fine),
            long: BTreeMap::new(),
        }
    }

    /// Adds one.
    #[inline]
    pub fn add(&mut self, ps: u128) {
        self.moments
            .add_signed(i128::try_from(ps).unwrap_or(i128::MAX), 1);
        match u64::try_from(ps) {
            Ok(ps) => self.histogram.record(ps),
            Err(_) => self.add_long(ps),
        }
    }

    #[cold]
    fn add_long(&mut self, ps: u128) {
        let place = match self.long.len() < MAX_EXACT || self.long.contains_key(&ps) {
            true => ps,
            false => {
                let cut = (u128::BITS - ps.leading_zeros()).saturating_sub(COARSE_BITS + 1);
                ps >> cut << cut
            }
        };
        *self.long.entry(place).or_default() += 1;
    }

    /// Count, mean, deviation, the least and the greatest.
    pub fn summary(&self) -> Summary<u128> {
        self.moments.summary_in(i128::unsigned_abs)
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.histogram.total() + self.long.values().sum::<u64>()
    }

    /// The value that `part` of `of` do not exceed, as [`Histogram::value_at`] has it.
    pub fn value_at(&self, part: u64, of: u64) -> u128 {
        let (short, all) = (self.histogram.total(), self.count());
        if short == all {
            return self.histogram.value_at(part, of).into();
        }
        let wanted = u128::from(all) * u128::from(part);
        let wanted = wanted.div_ceil(of.max(1).into()).max(1);
        // The place among those of the histogram is not rounded again.
        if let Ok(wanted) = u64::try_from(wanted)
            && wanted < short
        {
            return self.histogram.value_at(wanted, short).into();
        }
        if wanted == u128::from(short) {
            return self.histogram.max().into();
        }
        let Summary { min, max, .. } = self.summary();
        let mut seen = u128::from(short);
        let place = self.long.iter().find(|(_, count)| {
            seen += u128::from(**count);
            seen >= wanted
        });
        place.map_or(max, |(ps, _)| (*ps).clamp(min, max))
    }

    /// Ascending bounds, and how many are between them.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = (u128, u128, u64)> + '_ {
        let turn = |bucket: Bucket| (bucket.low.into(), bucket.high.into(), bucket.count);
        let short: alloc::vec::Vec<_> = self.histogram.buckets().map(turn).collect();
        let long = self.long.iter().map(|(ps, count)| (*ps, *ps, *count));
        short.into_iter().chain(long)
    }

    /// A histogram of all, and how many ps its unit is: 1, or a million where some do not fit.
    pub fn histogram(&self) -> (alloc::borrow::Cow<'_, Histogram>, f64) {
        use alloc::borrow::Cow;
        const COARSE: u128 = 1_000_000;
        if self.long.is_empty() {
            return (Cow::Borrowed(&self.histogram), 1.0);
        }
        let mut coarse = Histogram::with_precision(COARSE_BITS);
        for (_, high, count) in self.buckets() {
            coarse.record_many(u64::try_from(high / COARSE).unwrap_or(u64::MAX), count);
        }
        (Cow::Owned(coarse), COARSE as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const YEAR: u128 = 365 * 86_400 * 1_000_000_000_000;

    proptest! {
        /// Against a sorted list: from nothing to a thousand years, in few and in many.
        #[test]
        fn percentiles_are_those_of_a_sorted_list(
            values in proptest::collection::vec((0..80u32, any::<u128>()), 1..400), part in 0..=1_000u64,
        ) {
            let values: Vec<u128> = values.into_iter().map(|(bits, value)| value >> (127 - bits) >> 1).collect();
            let mut all = Durations::with_precision(12);
            values.iter().for_each(|value| all.add(*value));
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let place = (sorted.len() as u64 * part).div_ceil(1_000).max(1) as usize - 1;
            prop_assert_eq!(all.value_at(part, 1_000), sorted[place]);
            let summary = all.summary();
            prop_assert_eq!((summary.min, summary.max), (sorted[0], *sorted.last().unwrap()));
            prop_assert_eq!((summary.count, all.count()), (sorted.len() as u64, sorted.len() as u64));
            let mean = sorted.iter().map(|&value| value as f64).sum::<f64>() / sorted.len() as f64;
            prop_assert!((summary.mean - mean).abs() <= mean * 1e-9 + 1e-3);
            prop_assert_eq!(all.buckets().map(|(_, _, count)| count).sum::<u64>(), sorted.len() as u64);
            prop_assert_eq!(all.histogram().0.total(), sorted.len() as u64);
        }
    }

    #[test]
    fn many_long_ones_take_bounded_room_and_are_known_closely() {
        let mut all = Durations::with_precision(12);
        for n in 0..200_000u128 {
            all.add(YEAR + n * YEAR / 200);
        }
        assert!(all.long.len() < 40_000, "{}", all.long.len());
        let middle = all.value_at(1, 2) as f64;
        let wanted = (YEAR + 99_999 * YEAR / 200) as f64;
        assert!((middle / wanted - 1.0).abs() < 1.0 / 2_048.0);
    }
}
