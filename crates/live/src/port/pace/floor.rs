//! What no program could do better here: how far apart two looks at the clock are while a thread does
//! nothing but look.

use node::Time;
use node::outcome::Spread;

/// Buckets to a power of two.
const FINE: u32 = 3;
const BUCKETS: usize = (64 - FINE as usize + 1) << FINE;

/// The gaps between a spinning thread's looks at the clock. A time that falls into a gap is seen when the
/// gap is over; from how long all gaps are follows how late a bare loop would have been.
#[derive(Clone, Debug)]
pub struct Floor {
    /// How many gaps, and how long they are together, ns.
    buckets: Box<[(u64, u64)]>,
    longest: u64,
}

impl Default for Floor {
    fn default() -> Floor {
        Floor {
            buckets: vec![(0, 0); BUCKETS].into(),
            longest: 0,
        }
    }
}

impl Floor {
    /// Counts a gap of so many ns.
    #[inline]
    pub fn record(&mut self, gap: u64) {
        let shift = (63 - (gap | 1).leading_zeros()).saturating_sub(FINE);
        let bucket = ((shift as usize) << FINE) + (gap >> shift) as usize;
        let (count, sum) = &mut self.buckets[bucket];
        *count += 1;
        *sum += gap;
        self.longest = self.longest.max(gap);
    }

    /// How late a loop that only looks at the clock would have been, for times that have nothing to do
    /// with its looks; all zero when there were none.
    pub fn spread(&self) -> Spread {
        Spread {
            p50: self.late(0.5),
            p99: self.late(0.01),
            p999: self.late(0.001),
            max: Time::from_ns(self.longest),
        }
    }

    /// What such a part of all times would have been later than.
    fn late(&self, part: f64) -> Time {
        let total: u64 = self.buckets.iter().map(|&(_, sum)| sum).sum();
        let wanted = total as f64 * part;
        // Of a gap of g, g - x is more than x before its end.
        let (mut count, mut sum) = (0.0, 0.0);
        for (index, &(more, longer)) in self.buckets.iter().enumerate().rev() {
            count += more as f64;
            sum += longer as f64;
            let edge = least_of(index) as f64;
            if count > 0.0 && sum - count * edge >= wanted {
                let late = ((sum - wanted) / count).max(edge);
                return Time::from_ns((late.ceil() as u64).min(self.longest));
            }
        }
        Time::ZERO
    }
}

/// The least value of a bucket.
fn least_of(bucket: usize) -> u64 {
    let shift = (bucket >> FINE).saturating_sub(1);
    ((bucket - (shift << FINE)) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_gaps_make_errors_that_are_even_up_to_the_gap() {
        let mut floor = Floor::default();
        for _ in 0..1000 {
            floor.record(100);
        }
        let Spread { p50, p99, max, .. } = floor.spread();
        assert_eq!((p50.as_ns(), p99.as_ns()), (50, 99));
        assert_eq!(max.as_ns(), 100);
    }

    #[test]
    fn a_rare_long_gap_counts_by_its_length() {
        let mut floor = Floor::default();
        for _ in 0..9_000 {
            floor.record(10);
        }
        // A tenth of all time is in it.
        floor.record(10_000);
        let Spread { p50, p99, p999, .. } = floor.spread();
        assert!(p50.as_ns() <= 10, "{p50}");
        // A time is in the long gap with one chance in ten, and evenly anywhere in it.
        assert!((8_900..=9_100).contains(&p99.as_ns()), "{p99}");
        assert!((9_800..=10_000).contains(&p999.as_ns()), "{p999}");
    }

    #[test]
    fn without_a_look_there_is_nothing_to_tell() {
        assert_eq!(Floor::default().spread(), Spread::default());
    }
}
