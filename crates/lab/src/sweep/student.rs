//! Means of a few runs, and how far the truth may be from them.

/// The 97.5th percentiles of Student's t distribution by degrees of freedom, from 1 on.
const T: [f64; 30] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010,
    2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687,
    2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
];

/// The 97.5th percentile of the normal distribution.
const Z: f64 = 1.959_963_985;

/// The 97.5th percentile of Student's t distribution: what the standard error of a mean is multiplied by for a 95 % confidence
/// interval. Beyond 30 degrees of freedom by the expansion of Abramowitz and Stegun, 26.7.5.
fn t(degrees: usize) -> f64 {
    if let Some(t) = degrees.checked_sub(1).and_then(|index| T.get(index)) {
        return *t;
    }
    let n = degrees as f64;
    let (z3, z5) = (Z.powi(3), Z.powi(5));
    Z + (z3 + Z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * n * n)
}

/// What several runs have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// How many runs told something.
    pub runs: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, by one less than their number; 0 of a single one.
    pub sd: f64,
    /// Half of the 95 % confidence interval of the mean; `None` of a single run.
    pub half: Option<f64>,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Estimate {
    /// Of values; `None` of none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let (runs, first) = (values.len(), *values.first()?);
        let mean = values.iter().sum::<f64>() / runs as f64;
        // Equal values have no deviation, whatever the last bit of their mean.
        let equal = values.iter().all(|value| *value == first);
        let mean = if equal { first } else { mean };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = match runs {
            1 => 0.0,
            _ => (squares / (runs - 1) as f64).sqrt(),
        };
        Some(Estimate {
            runs,
            mean,
            sd,
            half: (runs > 1).then(|| t(runs - 1) * sd / (runs as f64).sqrt()),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Student's own drug data, differences: mean 1.58, 95 % from 0.70 to 2.46.
        let sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let estimate = Estimate::of(&sleep).unwrap();
        assert!((estimate.mean - 1.58).abs() < 1e-9);
        assert!(
            (estimate.half.unwrap() - 0.88).abs() < 0.005,
            "{estimate:?}"
        );
        for (degrees, wanted) in [
            (1, 12.706),
            (30, 2.042),
            (40, 2.021),
            (60, 2.000),
            (120, 1.980),
        ] {
            assert!(
                (t(degrees) - wanted).abs() < 6e-4,
                "{degrees}: {}",
                t(degrees)
            );
        }
    }

    #[test]
    fn intervals_of_95_percent_hold_the_truth_in_95_percent() {
        let mut random = node::random::Random::new(95);
        for runs in [2, 3, 5, 12, 40] {
            let trials = 4_000;
            let held = (0..trials).filter(|_| {
                // The sum of twelve is as good as normal, with a deviation of 1.
                let mut value = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
                let values: Vec<f64> = (0..runs).map(|_| 7.0 + value()).collect();
                let estimate = Estimate::of(&values).unwrap();
                (estimate.mean - 7.0).abs() <= estimate.half.unwrap()
            });
            let held = held.count() as f64 / f64::from(trials);
            // Three standard errors are a hundredth.
            assert!((held - 0.95).abs() < 0.011, "{runs}: {held}");
        }
    }

    #[test]
    fn one_run_has_no_interval_and_equal_runs_have_one_of_nothing() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[0.1]).unwrap().half, None);
        assert_eq!(Estimate::of(&[0.1; 7]).unwrap().half, Some(0.0));
    }
}
