//! MinProbe's own: the rate at which the variance of queuing delays begins to rise.
//!
//! Paper 002 section 4.4.4, figure 4.18: "the turning point where the delay variance shows a significant trend of
//! increasing". How the point is found the paper does not say. Here: above the available bandwidth A the delays of a train grow
//! from packet to packet, by `L / R * (R - A) / C`; below they only jitter, up or down, as packets meet others. So of a
//! train's variance only that share counts which a growing line explains: over a sweep of R its root is flat and then rises
//! as `1 - A / R`, the steeper the slower the tight link, and never less than one of the capacity would; of all turning points A the one with the least squares is taken. Where that curve explains
//! less than half of what a flat line leaves, there is no trend, and no answer.

use super::turning::turning;
use super::{Answer, Estimator, Interval, Observed};
use alloc::format;
use alloc::vec::Vec;
use node::Rate;

/// The least share of the variance that a turning point has to explain.
pub const SIGNIFICANT: f64 = 0.5;
/// Section 4.4.4: each of a series is replaced by the weighted average of so many before it.
pub const SMOOTHED: usize = 5;

#[derive(Clone, Debug)]
pub struct MinProbe {
    /// Above which no link's capacity is.
    capacity: f64,
    points: Vec<(f64, f64)>,
    /// Of each train the rate, and the root of the variance that growth explains, over that of a train through a link of the
    /// capacity which is busy with others.
    growth: Vec<(f64, f64)>,
    lossy: usize,
}

impl MinProbe {
    /// Of a path on which no link is faster than this: the rate of the sender's own line, or that of the tight link if it is known.
    pub fn new(capacity: Rate) -> MinProbe {
        MinProbe {
            capacity: capacity.bits_per_second() as f64,
            points: Vec::new(),
            growth: Vec::new(),
            lossy: 0,
        }
    }
}

impl Estimator for MinProbe {
    fn figure(&self) -> &'static str {
        "variance of queuing delay [ns²]"
    }

    fn see(&mut self, train: &Observed<'_>) {
        // The proof of section 4.4.2 assumes that nothing is lost.
        if train.lost() > 0 || train.packets.len() < 2 {
            self.lossy += 1;
            return;
        }
        let rate = train.rate.bits_per_second() as f64;
        let delays = train.delays();
        self.points.push((rate, variance(&delays) / 1e6));
        let count = delays.len() as f64;
        let bits = train.packets.iter().map(|packet| packet.bits as f64);
        // Delays from 0 to this in equal steps.
        let most = bits.sum::<f64>() * (count - 1.0) / count / self.capacity * 1e12;
        let whole = most * libm::sqrt((count + 1.0) / (count - 1.0) / 12.0);
        self.growth.push((rate, growth(&delays) / whole));
    }

    fn answer(&mut self) -> Answer {
        let points = core::mem::take(&mut self.points);
        let lossy = core::mem::take(&mut self.lossy);
        let growth = core::mem::take(&mut self.growth);
        match turning(&growth, 1.0, |rate, at| (1.0 - at / rate).max(0.0)) {
            None => Answer::none(
                format!(
                    "no turning point in {} trains, {lossy} more with losses",
                    points.len()
                ),
                points,
            ),
            Some(found) if found.explained < SIGNIFICANT => Answer::none(
                format!(
                    "no trend: a turning point explains {:.0} % of how delays grow",
                    100.0 * found.explained
                ),
                points,
            ),
            Some(found) => Answer {
                estimate: Some(Interval {
                    value: found.at,
                    low: found.low,
                    high: found.high,
                }),
                how: format!(
                    "a turning point that explains {:.1} % of how delays grow over {} trains",
                    100.0 * found.explained,
                    points.len()
                ),
                points,
            },
        }
    }
}

fn variance(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum::<f64>()
        / count
}

/// The root of the variance that a line through the values explains, negative where it falls.
fn growth(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let (mut both, mut own) = (0.0, 0.0);
    for (n, value) in values.iter().enumerate() {
        let from = n as f64 - middle;
        (both, own) = (both + from * value, own + from * from);
    }
    both / own * libm::sqrt(own / count)
}

/// Replaces each of a series by the exponentially weighted average of itself and those before it, [`SMOOTHED`] in all; each weighs half
/// of the next. For estimates under bursty traffic (figure 4.22).
pub fn smoothed(series: &[f64]) -> Vec<f64> {
    let average = |end: usize| {
        let window = &series[(end + 1).saturating_sub(SMOOTHED)..=end];
        let (sum, weights) = window.iter().fold((0.0, 0.0), |(sum, weights), value| {
            (sum / 2.0 + value, weights / 2.0 + 1.0)
        });
        sum / weights
    };
    (0..series.len()).map(average).collect()
}
