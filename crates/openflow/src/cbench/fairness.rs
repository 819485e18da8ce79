//! Figures over rounds and switches.

/// How evenly something is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fairness {
    /// Jain's index: 1 when all have the same, 1/n when one has everything.
    pub jain: f64,
    /// The least share over the largest; 1 when all have the same.
    pub min_over_max: f64,
}

impl Fairness {
    /// Of these shares; all zero counts as even.
    pub fn of(shares: &[u64]) -> Fairness {
        let sum: f64 = shares.iter().map(|&share| share as f64).sum();
        let squares: f64 = shares
            .iter()
            .map(|&share| share as f64 * share as f64)
            .sum();
        let (min, max) = (shares.iter().min(), shares.iter().max());
        match (min, max) {
            (Some(&min), Some(&max)) if max > 0 => Fairness {
                jain: sum * sum / (shares.len() as f64 * squares),
                min_over_max: min as f64 / max as f64,
            },
            _ => Fairness {
                jain: 1.0,
                min_over_max: 1.0,
            },
        }
    }
}

/// Mean, spread and ends of some figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    pub count: usize,
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
    pub mean: f64,
    /// The variance, of the sample; its root is the standard deviation.
    pub variance: f64,
}

impl Summary {
    /// Of these figures.
    pub fn of(figures: &[f64]) -> Summary {
        let count = figures.len();
        if count == 0 {
            return Summary::default();
        }
        let mean = figures.iter().sum::<f64>() / count as f64;
        let squares: f64 = figures.iter().map(|one| (one - mean) * (one - mean)).sum();
        Summary {
            count,
            min: figures.iter().copied().fold(f64::INFINITY, f64::min),
            max: figures.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean,
            variance: if count > 1 {
                squares / (count - 1) as f64
            } else {
                0.0
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_shares_are_fair_and_one_that_has_all_is_not() {
        assert_eq!(Fairness::of(&[5, 5, 5, 5]).jain, 1.0);
        let unfair = Fairness::of(&[8, 0, 0, 0]);
        assert_eq!((unfair.jain, unfair.min_over_max), (0.25, 0.0));
        assert_eq!(Fairness::of(&[0, 0]).jain, 1.0);
    }

    #[test]
    fn a_summary_is_that_of_a_sample() {
        let summary = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((summary.min, summary.max, summary.mean), (2.0, 9.0, 5.0));
        assert!((summary.variance - 32.0 / 7.0).abs() < 1e-12);
        assert_eq!(Summary::of(&[]), Summary::default());
    }
}
