//! One stream held against another, which is known to be clean.

use super::Statistic;
use super::statistics::Reference;
use alloc::vec::Vec;

/// Minimum number of windows that can be compared.
pub const MIN_WINDOWS: usize = 8;

/// Result of one statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    pub statistic: Statistic,
    /// The median over the clean sample's windows.
    pub clean: f64,
    /// The median over the stream's windows.
    pub stream: f64,
    /// The chance of clean windows to differ as much, by Mann and Whitney's test, two-sided.
    pub p: f64,
    /// The same for the two halves of the clean windows.
    pub p_clean: f64,
}

/// What came of holding a stream against a clean sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// One for each statistic.
    pub findings: Vec<Finding>,
    /// Windows of the clean sample that were compared; as many gaps again tell what clean traffic is like.
    pub clean_windows: usize,
    pub windows: usize,
    /// Of clean streams, at most so many are called covert.
    pub level: f64,
}

impl Comparison {
    /// Whether the stream differs from clean traffic.
    pub fn is_covert(&self) -> bool {
        self.findings.iter().any(|finding| self.differs(finding.p))
    }

    /// Whether clean traffic differs from itself, so that the verdict is worth nothing.
    pub fn is_unsteady(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| self.differs(finding.p_clean))
    }

    /// Whether a chance is small enough, with as many chances as there are statistics.
    pub fn differs(&self, p: f64) -> bool {
        p < self.level / Statistic::ALL.len() as f64
    }
}

/// Not enough traffic to judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{gaps} gaps are too few: windows of {window} want {wanted} at least")]
pub struct TooShort {
    pub gaps: usize,
    pub window: usize,
    /// What there must be.
    pub wanted: usize,
}

/// Holds the gaps of a stream against those of a clean sample, by windows of `window` gaps.
///
/// The first half of the clean sample tells what clean gaps are; the windows of the second half are compared, so that
/// no window is held against itself.
///
/// # Errors
/// When there are fewer than 8 windows in the stream, or in half of the clean sample.
pub fn compare(
    clean: &[i64],
    stream: &[i64],
    window: usize,
    level: f64,
) -> Result<Comparison, TooShort> {
    let window = window.max(1);
    let enough = |gaps: usize, wanted: usize| match gaps >= wanted {
        true => Ok(()),
        false => Err(TooShort {
            gaps,
            window,
            wanted,
        }),
    };
    enough(clean.len(), 2 * MIN_WINDOWS * window)?;
    enough(stream.len(), MIN_WINDOWS * window)?;
    let (sample, rest) = clean.split_at(clean.len() / 2);
    let reference = Reference::new(sample);
    let findings = Statistic::ALL.map(|statistic| {
        let scores = |gaps: &[i64]| -> Vec<f64> {
            let windows = gaps.chunks_exact(window);
            windows
                .map(|gaps| reference.score(statistic, gaps))
                .collect()
        };
        let (clean, stream) = (scores(rest), scores(stream));
        let (early, late) = clean.split_at(clean.len() / 2);
        Finding {
            statistic,
            clean: median(&clean),
            stream: median(&stream),
            p: mann_whitney(&clean, &stream),
            p_clean: mann_whitney(early, late),
        }
    });
    Ok(Comparison {
        findings: findings.into(),
        clean_windows: rest.len() / window,
        windows: stream.len() / window,
        level,
    })
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[half],
        _ => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

/// Values that differ by less are the same: sums in another order round otherwise.
const SAME: f64 = 1e-9;

/// The two-sided chance that two samples of one distribution have ranks that differ as much: the normal
/// approximation with its corrections for ties and continuity, good from 8 values each.
fn mann_whitney(one: &[f64], other: &[f64]) -> f64 {
    let (n, m) = (one.len() as f64, other.len() as f64);
    if n == 0.0 || m == 0.0 {
        return 1.0;
    }
    let mut all: Vec<(f64, bool)> = one.iter().map(|&value| (value, true)).collect();
    all.extend(other.iter().map(|&value| (value, false)));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut ranks, mut ties, mut before) = (0.0, 0.0, 0.0);
    for run in all.chunk_by(|a, b| b.0 - a.0 < SAME) {
        let length = run.len() as f64;
        let ours = run.iter().filter(|(_, ours)| *ours).count() as f64;
        ranks += ours * (before + (length + 1.0) / 2.0);
        ties += length * length * length - length;
        before += length;
    }
    let total = n + m;
    let off = (ranks - n * (n + 1.0) / 2.0 - n * m / 2.0).abs();
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (off - 0.5).max(0.0) / libm::sqrt(variance);
    libm::erfc(z / core::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;

    #[test]
    fn mann_whitney_agrees_with_a_calculation_by_hand() {
        // U is 28 where 50 is expected, with a deviation of 13.229: z = 1.6252.
        let one: Vec<f64> = (0..10).map(|n| f64::from(n) * 2.0).collect();
        let other: Vec<f64> = (0..10).map(|n| f64::from(n) * 2.0 + 5.1).collect();
        assert!((mann_whitney(&one, &other) - 0.1041).abs() < 1e-4);
        assert_eq!(mann_whitney(&[1.0; 9], &[1.0; 9]), 1.0);
        assert!(mann_whitney(&[1.0; 20], &[2.0; 20]) < 1e-6);
    }

    #[test]
    fn of_clean_streams_no_more_are_called_covert_than_stated() {
        let mut random = Random::new(5);
        let mut called = 0;
        for _ in 0..400 {
            let mut gaps = |many: usize| -> Vec<i64> {
                (0..many)
                    .map(|_| 500 + (40.0 * random.normal()) as i64)
                    .collect()
            };
            let comparison = compare(&gaps(3_200), &gaps(1_600), 100, 0.05).unwrap();
            called += u32::from(comparison.is_covert());
        }
        // 5 % of 400 are 20; with four deviations of chance, 37.
        assert!(called <= 37, "{called} of 400");
    }

    #[test]
    fn too_little_traffic_is_not_judged() {
        let gaps: Vec<i64> = (0..1_000).collect();
        let error = compare(&gaps, &gaps, 100, 0.01).unwrap_err();
        assert_eq!((error.gaps, error.wanted), (1_000, 1_600));
    }
}
