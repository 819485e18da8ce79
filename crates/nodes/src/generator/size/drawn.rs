//! Sizes drawn from a log-normal distribution cut to what Ethernet carries.

use alloc::format;
use alloc::vec::Vec;
use node::ConfigError;
use node::random::split_mix;

/// The variance of frame sizes at D_size = 1, in bytes squared (paper 002 section 4.4.4, V_size).
pub const V_SIZE: f64 = 8e4;

/// A log-normal distribution of sizes, with FCS, whose mean and deviation are those *behind* the cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    pub mean: f64,
    /// Standard deviation, bytes: 0, or 1 and more.
    pub sd: f64,
    pub least: u16,
    pub most: u16,
}

impl LogNormal {
    /// With this mean and deviation, from 64 to 1518 bytes.
    pub fn new(mean: f64, sd: f64) -> LogNormal {
        LogNormal {
            mean,
            sd,
            least: 64,
            most: 1518,
        }
    }

    /// With the deviation of CBR2: its square is `d_size` times [`V_SIZE`].
    pub fn cbr2(mean: f64, d_size: f64) -> LogNormal {
        LogNormal::new(mean, libm::sqrt(d_size * V_SIZE))
    }
}

/// A distribution as a table: each size's share of 2^64, summed up.
#[derive(Clone, Debug)]
pub(in crate::generator) struct Table {
    /// Up to which number, and including it, a draw means the least size, the next one, and so on.
    until: Vec<u64>,
    /// Bytes without FCS.
    least: u16,
    mean: f64,
    seed: u64,
}

/// Rounds of the search for the parameters; some twenty are enough where they can be found.
const ROUNDS: usize = 400;

impl Table {
    /// The table for sizes with FCS that is `fcs` bytes long.
    pub(super) fn new(of: &LogNormal, fcs: u16, seed: u64) -> Result<Table, ConfigError> {
        let wrong = |reason| Err(ConfigError::new("size", reason));
        let (least, most) = (f64::from(of.least), f64::from(of.most));
        if !(least..=most).contains(&of.mean) {
            return wrong(format!(
                "the mean of sizes from {least} to {most} is one of them, not {}",
                of.mean
            ));
        }
        if !(of.sd == 0.0 || (1.0..=f64::from(u16::MAX)).contains(&of.sd)) {
            return wrong(format!(
                "a deviation is 0, or from 1 byte on, not {}",
                of.sd
            ));
        }
        if of.sd == 0.0 {
            let size = (of.mean + 0.5) as u16 - fcs;
            return Ok(Table {
                until: [u64::MAX].into(),
                least: size,
                mean: size.into(),
                seed,
            });
        }
        let sizes = || (of.least..=of.most).map(f64::from);
        let logs: Vec<f64> = sizes().map(libm::log).collect();
        let variation = of.sd / of.mean;
        let mut sigma = libm::sqrt(libm::log1p(variation * variation));
        let mut mu = libm::log(of.mean) - sigma * sigma / 2.0;
        let mut weights: Vec<f64> = Vec::new();
        let (mut mean, mut sd) = (0.0, 0.0);
        // The cut moves both; the parameters are moved against it until they are what was asked for.
        for _ in 0..ROUNDS {
            weights.clear();
            weights.extend(logs.iter().map(|log| {
                let distance = (log - mu) / sigma;
                libm::exp(-distance * distance / 2.0 - log)
            }));
            let total: f64 = weights.iter().sum();
            let moment = |f: &dyn Fn(f64) -> f64| {
                let terms = sizes().zip(&weights).map(|(size, weight)| f(size) * weight);
                terms.sum::<f64>() / total
            };
            mean = moment(&|size| size);
            sd = libm::sqrt(moment(&|size| (size - mean) * (size - mean)));
            let near = |is: f64, wanted: f64| (is / wanted - 1.0).abs() < 1e-9;
            if near(mean, of.mean) && near(sd, of.sd) {
                break;
            }
            mu += 0.8 * libm::log(of.mean / mean);
            sigma = (sigma * libm::sqrt(of.sd / sd)).clamp(1e-4, 20.0);
        }
        // A deviation that cannot be had between these bounds leads nowhere, or to no number at all.
        let reached = (mean - of.mean).abs() < 0.01 * of.mean && (sd - of.sd).abs() < 0.02 * of.sd;
        if !reached {
            return wrong(format!(
                "no log-normal distribution from {least} to {most} bytes has the mean {} and the deviation {}",
                of.mean, of.sd
            ));
        }
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let until = weights.iter().map(|weight| {
            sum += weight;
            // 2^64 as a float; the cast saturates.
            (sum / total * 18_446_744_073_709_551_616.0) as u64
        });
        let mut until: Vec<u64> = until.collect();
        if let Some(last) = until.last_mut() {
            *last = u64::MAX;
        }
        Ok(Table {
            until,
            least: of.least - fcs,
            mean: mean - f64::from(fcs),
            seed,
        })
    }

    /// The mean, bytes without FCS.
    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// The size of the frame with this index, without FCS: the same whenever it is asked for.
    pub(super) fn nth(&self, index: u64) -> u16 {
        let x = split_mix(self.seed, index);
        let at = self.until.partition_point(|until| *until < x);
        self.least + at as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(of: LogNormal) -> (f64, f64) {
        let table = Table::new(&of, 4, 1).unwrap();
        let draws = 400_000u64;
        let sizes: Vec<f64> = (0..draws).map(|n| f64::from(table.nth(n)) + 4.0).collect();
        let mean = sizes.iter().sum::<f64>() / draws as f64;
        let squares = sizes.iter().map(|size| (size - mean) * (size - mean));
        assert!(sizes.iter().all(|size| (64.0..=1518.0).contains(size)));
        (mean, libm::sqrt(squares.sum::<f64>() / draws as f64))
    }

    #[test]
    fn drawn_sizes_have_the_mean_and_deviation_asked_for_in_spite_of_the_cut() {
        for d_size in [0.1, 0.5, 1.0] {
            let (mean, sd) = moments(LogNormal::cbr2(792.0, d_size));
            let wanted = libm::sqrt(d_size * 8e4);
            assert!((mean - 792.0).abs() < 2.0, "{d_size}: {mean}");
            assert!((sd / wanted - 1.0).abs() < 0.01, "{d_size}: {sd}");
        }
    }

    #[test]
    fn what_no_distribution_has_is_refused() {
        for (mean, sd) in [
            (63.0, 1.0),
            (1519.0, 1.0),
            (792.0, 0.5),
            (792.0, 700.0),
            (f64::NAN, 1.0),
            (800.0, f64::NAN),
        ] {
            assert!(
                Table::new(&LogNormal::new(mean, sd), 4, 0).is_err(),
                "{mean} {sd}"
            );
        }
        assert_eq!(
            Table::new(&LogNormal::cbr2(792.0, 0.0), 4, 0)
                .unwrap()
                .nth(7),
            788
        );
    }
}
