//! How long packets waited: how many for how long, in steps of a fifth.

use std::sync::atomic::{AtomicU64, Ordering};

/// Steps in each doubling of the time.
const STEPS: u32 = 4;
/// Doublings: up to 2^40 ns, a quarter of an hour.
const DOUBLINGS: u32 = 40;
/// How many steps there are.
pub const COUNT: usize = (STEPS * DOUBLINGS) as usize;

/// Counts of one thread, which alone writes them.
#[derive(Debug)]
pub struct Waits([AtomicU64; COUNT]);

impl Default for Waits {
    fn default() -> Waits {
        Waits([const { AtomicU64::new(0) }; COUNT])
    }
}

impl Waits {
    /// One more has waited so long.
    pub(super) fn add(&self, ns: u64) {
        let count = &self.0[step_of(ns)];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Adds them to those of others.
    pub(super) fn add_to(&self, sum: &mut Vec<u64>) {
        sum.resize(COUNT, 0);
        for (sum, count) in sum.iter_mut().zip(&self.0) {
            *sum += count.load(Ordering::Relaxed);
        }
    }
}

fn step_of(ns: u64) -> usize {
    let doubling = ns.max(1).ilog2();
    // The two bits below the first.
    let part = match doubling {
        0 | 1 => (ns.max(1) << (2 - doubling)) & 3,
        _ => (ns >> (doubling - 2)) & 3,
    };
    ((doubling * STEPS) as usize + part as usize).min(COUNT - 1)
}

/// Where a step ends, ns: what waited less is in it or in those before.
pub fn end_of(step: usize) -> u64 {
    let (doubling, part) = (step / STEPS as usize, step % STEPS as usize);
    let quarters = (5 + part as u64) << doubling;
    quarters.div_ceil(u64::from(STEPS))
}

/// The time that this share of them (0 to 1) did not wait longer than, at most a fifth too long, ns; `None` when there are none.
pub fn percentile(counts: &[u64], share: f64) -> Option<u64> {
    let total: u64 = counts.iter().sum();
    let wanted = (total as f64 * share).ceil().max(1.0) as u64;
    let mut sum = 0;
    let step = counts.iter().position(|count| {
        sum += count;
        sum >= wanted
    });
    step.filter(|_| total > 0).map(end_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_each_other_and_hold_what_they_say() {
        let mut last = 0;
        for step in 8..COUNT - 1 {
            let end = end_of(step);
            assert!(
                end > last && step_of(end) == step + 1 && step_of(end - 1) == step,
                "{step}"
            );
            last = end;
        }
        assert_eq!((step_of(0), step_of(u64::MAX)), (0, COUNT - 1));
    }

    #[test]
    fn percentiles_are_a_fifth_off_at_most() {
        let waits = Waits::default();
        (1..=1000).for_each(|us| waits.add(us * 1000));
        let mut counts = Vec::new();
        waits.add_to(&mut counts);
        for (share, exact) in [(0.5, 500_000), (0.99, 990_000), (1.0, 1_000_000)] {
            let found = percentile(&counts, share).unwrap();
            assert!((exact..=exact * 5 / 4).contains(&found), "{share}: {found}");
        }
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!(percentile(&[0; COUNT], 0.5), None);
    }
}
