//! Looks for a covert channel without knowing the traffic it hides in.

use super::super::Line;
use super::statistics::modes;
use alloc::vec::Vec;
use node::ConfigError;
use node::{Rate, Time};

/// The share of the variance that must be between two classes of gaps.
const CRITERION: f64 = 0.9;
/// The least share of either class.
const SHARE: f64 = 0.25;
/// The least entropy of a gap's class, bits, when the classes of the three before it are known. 200 random
/// bits have 0.97 in the mean.
const ENTROPY: f64 = 0.85;

/// Judges one window of gaps after the other, in constant memory.
#[derive(Clone, Debug)]
pub struct Watch {
    line: Line,
    size: usize,
    last: Option<(Time, usize)>,
    window: Vec<i64>,
    sorted: Vec<i64>,
    windows: u64,
    suspicious: u64,
}

impl Watch {
    /// On a line of this rate, with windows of `size` gaps.
    ///
    /// # Errors
    /// For a window of fewer than 50 gaps, or more than a million.
    pub fn new(line: Rate, size: usize) -> Result<Watch, ConfigError> {
        if !(50..=1_000_000).contains(&size) {
            let reason = "a window has 50 to 1000000 gaps";
            return Err(ConfigError::new("window", reason));
        }
        Ok(Watch {
            line: Line(line),
            size,
            last: None,
            window: Vec::with_capacity(size),
            sorted: Vec::with_capacity(size),
            windows: 0,
            suspicious: 0,
        })
    }

    /// Takes a frame of `len` bytes without FCS that arrived at `arrived`.
    pub fn frame(&mut self, arrived: Time, len: usize) {
        if let Some((last, before)) = self.last.replace((arrived, len)) {
            self.gap(self.line.gap(last, arrived, before));
        }
    }

    /// Takes a gap, in idle characters.
    pub fn gap(&mut self, idles: i64) {
        self.window.push(idles);
        if self.window.len() < self.size {
            return;
        }
        self.windows += 1;
        self.suspicious += u64::from(self.is_suspicious());
        self.window.clear();
    }

    /// Whether there are two narrow modes, about equally often, in an order without a pattern.
    fn is_suspicious(&mut self) -> bool {
        self.sorted.clear();
        self.sorted.extend_from_slice(&self.window);
        self.sorted.sort_unstable();
        let modes = modes(&self.sorted);
        modes.criterion >= CRITERION
            && (SHARE..=1.0 - SHARE).contains(&modes.lower)
            && self.entropy(modes.edge) >= ENTROPY
    }

    /// The entropy of being above `edge`, given the three gaps before.
    fn entropy(&self, edge: i64) -> f64 {
        let (mut fours, mut threes) = ([0u32; 16], [0u32; 8]);
        let mut pattern = 0;
        for (index, &gap) in self.window.iter().enumerate() {
            pattern = (pattern << 1 | usize::from(gap > edge)) & 15;
            if index >= 3 {
                fours[pattern] += 1;
                threes[pattern >> 1] += 1;
            }
        }
        entropy(&fours) - entropy(&threes)
    }

    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// Windows with a covert channel's marks.
    pub fn suspicious(&self) -> u64 {
        self.suspicious
    }
}

/// Of frequencies, in bits.
fn entropy(counts: &[u32]) -> f64 {
    let all: u32 = counts.iter().sum();
    let shares = counts.iter().filter(|count| **count > 0);
    let shares = shares.map(|&count| f64::from(count) / f64::from(all));
    shares.map(|share| -share * libm::log2(share)).sum()
}
