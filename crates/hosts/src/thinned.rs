//! Points over time, of which a bounded number is kept, evenly thinned.

use alloc::vec::Vec;
use node::Time;

/// Points that are kept at most: as many as a picture shows.
const MAX_POINTS: usize = 1024;

/// Times, each with a value: all at first, then every second, every fourth and so on.
#[derive(Clone, Debug)]
pub(crate) struct Thinned {
    points: Vec<(Time, Time)>,
    /// Of this number of points one is kept.
    stride: u32,
    /// Points until the next one that is kept.
    skip: u32,
}

impl Default for Thinned {
    fn default() -> Thinned {
        Thinned {
            points: Vec::new(),
            stride: 1,
            skip: 0,
        }
    }
}

impl Thinned {
    pub fn push(&mut self, at: Time, value: Time) {
        if let Some(left) = self.skip.checked_sub(1) {
            self.skip = left;
            return;
        }
        if self.points.len() == MAX_POINTS {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride = self.stride.saturating_mul(2);
        }
        self.points.push((at, value));
        self.skip = self.stride - 1;
    }

    pub fn points(&self) -> &[(Time, Time)] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_of_even_points_is_kept_of_any_number() {
        for count in [0, 1, 1024, 1025, 5_000, 1_000_000] {
            let mut thinned = Thinned::default();
            for n in 0..count {
                thinned.push(Time::from_ps(n), Time::from_ps(2 * n));
            }
            let points = thinned.points();
            assert!(points.len() as u64 >= count.min(512) && points.len() <= MAX_POINTS);
            assert!(points.iter().all(|(at, value)| *value == *at * 2));
            let gaps = points.windows(2).map(|pair| pair[1].0 - pair[0].0);
            let (least, most) = (gaps.clone().min(), gaps.max());
            // The one behind a thinning may be nearer.
            assert!(
                most.zip(least)
                    .is_none_or(|(most, least)| most <= least * 2),
                "{count}"
            );
        }
    }
}
