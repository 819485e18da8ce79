//! Numbers that tell what the gaps of a window are like.

use super::Statistic;
use alloc::vec::Vec;

/// Parts of a window whose deviations are compared.
const PARTS: usize = 5;
/// Classes of gaps for the entropy.
const CLASSES: usize = 5;
/// Maximum length of a pattern whose entropy is computed.
const MAX_PATTERN_LEN: usize = 5;
/// Gaps kept of a clean sample, evenly spread over it.
const SAMPLE: usize = 100_000;

/// Reference of clean traffic.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    sorted: Vec<i64>,
    /// Between the classes.
    edges: [i64; CLASSES - 1],
}

impl Reference {
    /// From a sample that is not empty.
    pub(super) fn new(sample: &[i64]) -> Reference {
        let stride = sample.len().div_ceil(SAMPLE).max(1);
        let mut sorted: Vec<i64> = sample.iter().copied().step_by(stride).collect();
        sorted.sort_unstable();
        let edge = |n: usize| sorted[(n + 1) * sorted.len() / CLASSES];
        Reference {
            edges: core::array::from_fn(edge),
            sorted,
        }
    }

    pub(super) fn score(&self, statistic: Statistic, window: &[i64]) -> f64 {
        match statistic {
            Statistic::Regularity => regularity(window),
            Statistic::Distance => self.distance(window),
            Statistic::Entropy => self.entropy(window),
            Statistic::Modes => {
                let mut sorted = window.to_vec();
                sorted.sort_unstable();
                modes(&sorted).criterion
            }
        }
    }

    /// Kolmogorov and Smirnov's: the greatest difference of both shares of gaps up to a value.
    fn distance(&self, window: &[i64]) -> f64 {
        let mut sorted = window.to_vec();
        sorted.sort_unstable();
        let (mut greatest, mut at) = (0.0f64, 0);
        while at < sorted.len() {
            let value = sorted[at];
            let share = |sorted: &[i64], below: bool| {
                let many = sorted.partition_point(|&gap| gap < value || (!below && gap == value));
                many as f64 / sorted.len() as f64
            };
            // Both just below the value and at it, since either sample may jump there.
            for below in [true, false] {
                let difference = share(&sorted, below) - share(&self.sorted, below);
                greatest = greatest.max(difference.abs());
            }
            at = sorted.partition_point(|&gap| gap <= value);
        }
        greatest
    }

    /// Gianvecchio and Wang's: the least over pattern lengths of the conditional entropy, corrected for patterns that
    /// occur only once, which tell nothing.
    fn entropy(&self, window: &[i64]) -> f64 {
        let class = |gap: &i64| self.edges.iter().filter(|edge| *edge < gap).count() as u32;
        let classes: Vec<u32> = window.iter().map(class).collect();
        let (mut least, mut first, mut before) = (f64::INFINITY, 0.0, 0.0);
        let mut patterns: Vec<u32> = Vec::new();
        for length in 1..=MAX_PATTERN_LEN.min(classes.len()) {
            patterns.clear();
            let number = |pattern: &[u32]| {
                pattern
                    .iter()
                    .fold(0, |number, class| number * CLASSES as u32 + class)
            };
            patterns.extend(classes.windows(length).map(number));
            patterns.sort_unstable();
            let all = patterns.len() as f64;
            let (mut entropy, mut single) = (0.0, 0.0);
            for run in patterns.chunk_by(|a, b| a == b) {
                let share = run.len() as f64 / all;
                entropy -= share * libm::log2(share);
                single += f64::from(u8::from(run.len() == 1)) / all;
            }
            if length == 1 {
                first = entropy;
            }
            least = least.min(entropy - before + single * first);
            before = entropy;
        }
        least
    }
}

/// The deviation of the differences between the deviations of a window's parts.
fn regularity(window: &[i64]) -> f64 {
    let part = (window.len() / PARTS).max(1);
    let deviations: Vec<f64> = window.chunks_exact(part).map(deviation).collect();
    let mut pairs = Vec::new();
    for (index, one) in deviations.iter().enumerate() {
        for other in &deviations[index + 1..] {
            let greater = one.max(*other);
            pairs.push(match greater > 0.0 {
                true => (one - other).abs() / greater,
                false => 0.0,
            });
        }
    }
    let mean = pairs.iter().sum::<f64>() / pairs.len().max(1) as f64;
    let squares = pairs.iter().map(|pair| (pair - mean) * (pair - mean));
    libm::sqrt(squares.sum::<f64>() / pairs.len().max(1) as f64)
}

fn deviation(gaps: &[i64]) -> f64 {
    let mean = gaps.iter().map(|&gap| gap as f64).sum::<f64>() / gaps.len() as f64;
    let squares = gaps
        .iter()
        .map(|&gap| (gap as f64 - mean) * (gap as f64 - mean));
    libm::sqrt(squares.sum::<f64>() / gaps.len() as f64)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Modes {
    /// The share of the variance that is between them.
    pub criterion: f64,
    /// The share of gaps in the lower class.
    pub lower: f64,
    /// The greatest gap of the lower class.
    pub edge: i64,
}

/// Parts sorted gaps where the variance between both classes is greatest.
pub(super) fn modes(sorted: &[i64]) -> Modes {
    let mut best = Modes {
        criterion: 0.0,
        lower: 1.0,
        edge: sorted.last().copied().unwrap_or(0),
    };
    let count = sorted.len() as f64;
    let first = sorted.first().copied().unwrap_or(0);
    // Counted from the first, which keeps sums small and exact.
    let of = |gap: i64| gap.saturating_sub(first) as f64;
    let total: f64 = sorted.iter().map(|&gap| of(gap)).sum();
    let squares: f64 = sorted.iter().map(|&gap| of(gap) * of(gap)).sum();
    let variance = squares / count - (total / count) * (total / count);
    if variance.is_nan() || variance <= 0.0 {
        return best;
    }
    let mut sum = 0.0;
    for (index, pair) in sorted.windows(2).enumerate() {
        sum += of(pair[0]);
        if pair[0] == pair[1] {
            continue;
        }
        let (low, high) = ((index + 1) as f64, count - (index + 1) as f64);
        let apart = sum / low - (total - sum) / high;
        let criterion = low * high / (count * count) * apart * apart / variance;
        if criterion > best.criterion {
            best = Modes {
                criterion,
                lower: low / count,
                edge: pair[0],
            };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;

    fn near(is: f64, wanted: f64, by: f64) {
        assert!((is - wanted).abs() <= by, "{is} for {wanted}");
    }

    #[test]
    fn otsus_criterion_tells_one_mode_from_two() {
        let sorted = |mut gaps: Vec<i64>| {
            gaps.sort_unstable();
            modes(&gaps)
        };
        assert_eq!(sorted([170; 100].to_vec()).criterion, 0.0);
        let two = sorted((0..100).map(|n| 154 + 32 * (n % 2)).collect());
        assert_eq!((two.criterion, two.lower, two.edge), (1.0, 0.5, 154));
        near(sorted((0..10_000).collect()).criterion, 0.75, 0.001);
        let mut random = Random::new(1);
        let normal = (0..10_000)
            .map(|_| (1e6 * random.normal()) as i64)
            .collect();
        near(sorted(normal).criterion, 0.637, 0.01);
        assert_eq!(sorted(Vec::new()).criterion, 0.0);
    }

    #[test]
    fn entropy_is_that_of_what_cannot_be_foreseen() {
        let mut random = Random::new(2);
        let bits: Vec<i64> = (0..4_000).map(|_| random.below(2) as i64).collect();
        let even: Vec<i64> = (0..4_000).map(|n| n % 2).collect();
        let reference = Reference::new(&bits);
        near(reference.entropy(&bits), 1.0, 0.01);
        near(reference.entropy(&even), 0.0, 0.001);
        assert_eq!(reference.entropy(&[7; 100]), 0.0);
        let five: Vec<i64> = (0..4_000).map(|_| random.below(1_000) as i64).collect();
        // Five classes: 2.32 bits. Short patterns are not all seen, which the correction makes up for.
        near(Reference::new(&five).entropy(&five), 2.32, 0.15);
    }

    #[test]
    fn the_distance_is_that_of_two_empirical_distributions() {
        let reference = Reference::new(&(0..1_000).collect::<Vec<_>>());
        near(
            reference.distance(&(500..1_000).collect::<Vec<_>>()),
            0.5,
            0.002,
        );
        near(
            reference.distance(&(0..1_000).collect::<Vec<_>>()),
            0.0,
            0.002,
        );
        assert_eq!(Reference::new(&[170]).distance(&[154, 186]), 0.5);
        assert_eq!(Reference::new(&[170]).distance(&[170, 170]), 0.0);
    }

    #[test]
    fn regularity_is_nothing_where_all_parts_are_alike() {
        let alike: Vec<i64> = (0..200).map(|n| n % 4).collect();
        assert_eq!(regularity(&alike), 0.0);
        let burst: Vec<i64> = (0..200)
            .map(|n| if n < 40 { 100 * (n % 2) } else { n % 2 })
            .collect();
        assert!(regularity(&burst) > 0.3);
    }
}
