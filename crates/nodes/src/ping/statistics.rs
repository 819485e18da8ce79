//! What round trips were like.

use super::Answer;
use node::Histogram;

/// Of all answers but second ones. Round trips are in picoseconds.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Probes answered, late ones too.
    pub answered: u64,
    /// Of those, later than the timeout.
    pub late: u64,
    /// Answers to probes that were answered already.
    pub duplicates: u64,
    /// The round trips; percentiles are at most 1/1024 above the truth.
    pub rtt: Histogram,
    sum: u128,
    /// From the first, so that nothing is lost when they are nearly equal.
    first: i128,
    around: i128,
    squares: f64,
    last: Option<u64>,
    steps: u128,
}

impl Default for Statistics {
    fn default() -> Statistics {
        Statistics {
            answered: 0,
            late: 0,
            duplicates: 0,
            rtt: Histogram::with_precision(10),
            sum: 0,
            first: 0,
            around: 0,
            squares: 0.0,
            last: None,
            steps: 0,
        }
    }
}

impl Statistics {
    pub(super) fn count(&mut self, answer: &Answer) {
        if answer.duplicate {
            self.duplicates += 1;
            return;
        }
        let rtt = answer.rtt().as_ps();
        self.answered += 1;
        self.late += u64::from(answer.late);
        self.rtt.record(rtt);
        self.sum += u128::from(rtt);
        if let Some(last) = self.last {
            self.steps += u128::from(last.abs_diff(rtt));
        } else {
            self.first = rtt.into();
        }
        let distance = i128::from(rtt) - self.first;
        self.around += distance;
        self.squares += distance as f64 * distance as f64;
        self.last = Some(rtt);
    }

    /// The mean, ps; 0 without answers.
    pub fn mean(&self) -> f64 {
        match self.answered {
            0 => 0.0,
            answered => self.sum as f64 / answered as f64,
        }
    }

    pub fn sd(&self) -> f64 {
        match self.answered {
            0 => 0.0,
            answered => {
                let n = answered as f64;
                let mean = self.around as f64 / n;
                libm::sqrt((self.squares / n - mean * mean).max(0.0))
            }
        }
    }

    /// The mean difference between one round trip and the next, ps.
    pub fn jitter(&self) -> f64 {
        match self.answered {
            0 | 1 => 0.0,
            answered => self.steps as f64 / (answered - 1) as f64,
        }
    }
}
