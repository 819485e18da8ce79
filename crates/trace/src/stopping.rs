//! Stopping points of the multipath detection algorithm (Veitch et al., "Failure control in multipath route tracing", INFOCOM
//! 2009, section III).
//!
//! A vertex with `K` equally likely successors is probed with flows until `n_k` of them have shown no more than `k`
//! successors. The search fails when it stops with `k < K`. Each `n_k` is the smallest number that keeps the probability of
//! failure for `K = k + 1` at most `alpha`, given the points before it.

use alloc::vec::Vec;

/// Maximum number of successors with a stopping point of their own.
pub const MAX_SUCCESSORS: usize = 128;
/// Maximum stopping point.
const MAX_POINT: u32 = 4096;
/// Smallest `alpha`: points stay below `MAX_POINT`.
pub const MIN_ALPHA: f64 = 1e-9;

/// Stopping points, calculated on demand.
#[derive(Clone, Debug)]
pub struct Stopping {
    alpha: f64,
    points: Vec<u32>,
}

impl Stopping {
    /// Points for a probability `alpha` of missing a successor of one vertex, limited to 0.5 at most.
    pub fn new(alpha: f64) -> Stopping {
        Stopping {
            alpha: alpha.clamp(MIN_ALPHA, 0.5),
            points: Vec::new(),
        }
    }

    /// Probes after which a search that has found `found` successors stops; at least those of one.
    pub fn point(&mut self, found: usize) -> u32 {
        let found = found.clamp(1, MAX_SUCCESSORS);
        while self.points.len() < found {
            let next = self.next_point();
            self.points.push(next);
        }
        self.points[found - 1]
    }

    /// Probability that a search misses at least one of `successors` equally likely ones; 0 for up to one.
    pub fn failure(&mut self, successors: usize) -> f64 {
        let Some(last) = successors.checked_sub(1).filter(|last| *last > 0) else {
            return 0.0;
        };
        self.point(last);
        let points = &self.points[..last.min(MAX_SUCCESSORS)];
        let mut walk = Walk::new(successors);
        walk.stop_at_all(points)
    }

    /// The point for one successor more than there are points.
    fn next_point(&self) -> u32 {
        let known = self.points.len();
        let mut walk = Walk::new(known + 2);
        let before = walk.stop_at_all(&self.points);
        let last = walk.sent;
        while walk.sent < MAX_POINT {
            walk.send();
            if before + walk.found[known + 1] <= self.alpha && walk.sent > last {
                break;
            }
        }
        walk.sent
    }
}

/// Distribution of the number of successors found, probe by probe, without the searches that have stopped.
struct Walk {
    successors: usize,
    sent: u32,
    /// Probability of each number found, from 0.
    found: Vec<f64>,
}

impl Walk {
    fn new(successors: usize) -> Walk {
        let mut found = alloc::vec![0.0; successors + 1];
        found[0] = 1.0;
        Walk {
            successors,
            sent: 0,
            found,
        }
    }

    fn send(&mut self) {
        let all = self.successors as f64;
        for found in (0..=self.successors).rev() {
            let stays = self.found[found] * found as f64 / all;
            let comes = match found.checked_sub(1) {
                Some(before) => self.found[before] * (all - before as f64) / all,
                None => 0.0,
            };
            self.found[found] = stays + comes;
        }
        self.sent += 1;
    }

    /// Probes to each stopping point in turn; gives the probability that the search stops at one of them, and takes
    /// those searches out.
    fn stop_at_all(&mut self, points: &[u32]) -> f64 {
        let mut stopped = 0.0;
        for (index, point) in points.iter().enumerate() {
            while self.sent < *point {
                self.send();
            }
            stopped += core::mem::take(&mut self.found[index + 1]);
        }
        stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn points_are_those_of_the_papers() {
        let mut stopping = Stopping::new(0.05);
        let points: Vec<u32> = (1..=5).map(|found| stopping.point(found)).collect();
        assert_eq!(points, [6, 11, 16, 21, 27]);
        // The example of the MDA-Lite paper, section 2.1.
        assert_eq!(Stopping::new(0.01).point(1), 8);
    }

    #[test]
    fn the_failure_is_at_most_alpha_for_each_number_of_successors() {
        for alpha in [0.05, 0.01, 0.001] {
            let mut stopping = Stopping::new(alpha);
            assert_eq!(stopping.failure(1), 0.0);
            for successors in 2..=40 {
                let failure = stopping.failure(successors);
                assert!(
                    failure <= alpha && failure > alpha / 3.0,
                    "{alpha} {successors} {failure}"
                );
            }
        }
        let two = Stopping::new(0.05).failure(2);
        assert!((two - 1.0 / 32.0).abs() < 1e-12, "{two}");
    }

    #[test]
    fn points_grow_and_end_at_the_maximum() {
        let mut stopping = Stopping::new(MIN_ALPHA);
        let points: Vec<u32> = (0..200).map(|found| stopping.point(found)).collect();
        assert!(points.is_sorted() && points[199] < 4_000, "{points:?}");
        assert_eq!(points[199], points[MAX_SUCCESSORS]);
    }
}
