//! Samples of evenly spread packets, in a bounded space.

use alloc::vec::Vec;

/// The most samples that are kept.
pub const SAMPLES: usize = 1 << 14;

/// A packet's inter-packet delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Since the first packet, in ps.
    pub at_ps: u128,
    /// Since the packet before, in ps.
    pub delay_ps: u128,
}

/// Of more than [`SAMPLES`] packets every second, fourth, ... is kept.
#[derive(Clone, Debug)]
pub(crate) struct Trace<S> {
    list: Vec<S>,
    /// One in `2^thin`.
    thin: u32,
    seen: u64,
}

impl<S> Default for Trace<S> {
    fn default() -> Trace<S> {
        Trace {
            list: Vec::new(),
            thin: 0,
            seen: 0,
        }
    }
}

impl<S> Trace<S> {
    #[inline]
    pub fn add(&mut self, sample: S) {
        let number = self.seen;
        self.seen += 1;
        if number & ((1 << self.thin) - 1) != 0 {
            return;
        }
        if self.list.len() == SAMPLES {
            let mut index = 0;
            self.list.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.thin += 1;
            if number & ((1 << self.thin) - 1) != 0 {
                return;
            }
        }
        if self.list.capacity() == 0 {
            self.list.reserve_exact(SAMPLES);
        }
        self.list.push(sample);
    }

    pub fn samples(&self) -> &[S] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_evenly_spread_over_any_number_of_packets() {
        let mut trace = Trace::default();
        (0..1_000_000).for_each(|at_ps| trace.add(Sample { at_ps, delay_ps: 1 }));
        let all = trace.samples();
        assert!(
            (SAMPLES / 2..=SAMPLES).contains(&all.len()),
            "{}",
            all.len()
        );
        let apart = all[1].at_ps - all[0].at_ps;
        assert!(
            all.windows(2)
                .all(|pair| pair[1].at_ps - pair[0].at_ps == apart)
        );
    }
}
