//! How lengths that differ are spread: times, sizes, numbers of packets.
//!
//! A [`Distribution`] is data; a [`Sampler`] draws from it, with a seed, the same values on every machine.
//! Values are whole counts of a [`Unit`]: picoseconds for a [`Time`], plain numbers for `u64`.
//!
//! | text | values |
//! |---|---|
//! | `10ms`, `constant(10ms)` | always the same |
//! | `uniform(5ms, 15ms)` | each from the least to the greatest, both included, equally often |
//! | `normal(10ms, 1ms)` | mean and standard deviation; nothing below 0, nothing beyond 6 deviations |
//! | `exponential(10ms)` | mean; the gaps of Poisson arrivals |
//! | `exponential(10ms, 2ms)` | mean of all, and the least: the rest is exponential |
//! | `pareto(1ms, 2.5)` | least value and shape: a value exceeds x with probability (least / x)^shape |
//! | `lognormal(10ms, 3ms)` | mean and standard deviation of the values, not of their logarithms |
//! | `table(1ms, 2ms, 5ms)` | one of these, equally often |
//! | `table(64: 7, 594: 4, 1518: 1)` | one of these, as often as the numbers behind them say |
//!
//! ```
//! use node::Time;
//! use measure::distribution::{Distribution, Sampler};
//!
//! let gaps: Distribution = "exponential(1 ms)".parse()?;
//! let mut sampler = Sampler::new(&gaps, 7);
//! let total: u64 = (0..10_000).map(|_| sampler.draw().as_ns()).sum();
//! assert!((9_700_000_000..10_300_000_000).contains(&total));
//!
//! let sizes: Distribution<u64> = "table(64: 7, 594: 4, 1518: 1)".parse()?;
//! assert_eq!(sizes.greatest(), 1518);
//! # Ok::<(), measure::distribution::DistributionError>(())
//! ```

mod read;
mod sample;

pub use read::{DistributionError, UnitError};
pub use sample::Sampler;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use node::Time;

/// Maximum distance of a normal distribution's values from the mean, in deviations: without a bound
/// one value in 500 million would exceed it.
pub const REACH: f64 = 6.0;
/// Maximum number of values of a table.
pub const MAX_VALUES: usize = 1 << 20;

/// Unit of the values.
pub trait Unit: Copy + PartialEq + fmt::Debug + fmt::Display {
    /// A value as people write it, for messages.
    const EXAMPLE: &'static str;
    /// Reads a value.
    ///
    /// # Errors
    /// The problem, and the expected form.
    fn read(text: &str) -> Result<Self, UnitError>;
    /// As a count.
    fn count(self) -> u64;
    /// From a count.
    fn of(count: u64) -> Self;
}

impl Unit for Time {
    const EXAMPLE: &'static str = "10ms";
    fn read(text: &str) -> Result<Time, UnitError> {
        Ok(text.parse()?)
    }
    fn count(self) -> u64 {
        self.as_ps()
    }
    fn of(count: u64) -> Time {
        Time::from_ps(count)
    }
}

impl Unit for u64 {
    const EXAMPLE: &'static str = "64";
    fn read(text: &str) -> Result<u64, UnitError> {
        let digits: String = text.chars().filter(|&c| c != '_').collect();
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|_| plain);
        number.ok_or(UnitError::Number)
    }
    fn count(self) -> u64 {
        self
    }
    fn of(count: u64) -> u64 {
        count
    }
}

/// How values are spread; see the [module](self) for the texts that it is read from.
///
/// It is always one that can be drawn from if it was read from a text. Made by hand: a least value
/// above the greatest is taken as the greatest, an empty table gives 0.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution<T = Time> {
    /// Always the same.
    Constant(T),
    /// Every count from one to the other, both included, equally often.
    Uniform {
        /// None is less.
        least: T,
        /// None is greater.
        greatest: T,
    },
    /// The bell curve, cut off at 0 and [`REACH`] deviations from the mean. What is cut off is put at
    /// the edge.
    Normal {
        /// The middle.
        mean: T,
        /// The standard deviation.
        sd: T,
    },
    /// The times between events that know nothing of each other.
    Exponential {
        /// Of all values.
        mean: T,
        /// None is less; 0 for the plain form. At most the mean.
        least: T,
    },
    /// Heavy-tailed: of shape 2 or less without a finite deviation, of 1 or less without a mean.
    Pareto {
        /// None is less.
        least: T,
        /// The exponent of the tail, above 0.
        shape: f64,
    },
    /// Values whose logarithms are normal.
    LogNormal {
        /// Of the values.
        mean: T,
        /// Of the values.
        sd: T,
    },
    /// One of these values, each with a weight.
    Table(Vec<(T, u32)>),
}

impl<T: Unit> Distribution<T> {
    /// One of these values, all equally often.
    pub fn one_of(values: impl IntoIterator<Item = T>) -> Distribution<T> {
        Distribution::Table(values.into_iter().map(|value| (value, 1)).collect())
    }

    /// No value is less.
    pub fn least(&self) -> T {
        match self {
            Distribution::Constant(value) => *value,
            Distribution::Uniform { least, .. }
            | Distribution::Exponential { least, .. }
            | Distribution::Pareto { least, .. } => *least,
            Distribution::Normal { mean, sd } => {
                let reach = (REACH * sd.count() as f64) as u64;
                T::of(mean.count().saturating_sub(reach))
            }
            Distribution::LogNormal { .. } => T::of(0),
            Distribution::Table(table) => {
                let counts = used(table).map(|(value, _)| value.count());
                T::of(counts.min().unwrap_or(0))
            }
        }
    }

    /// No value is greater; that of the heavy-tailed is what 64 bits hold.
    pub fn greatest(&self) -> T {
        match self {
            Distribution::Constant(value) => *value,
            Distribution::Uniform { greatest, .. } => *greatest,
            Distribution::Normal { mean, sd } => {
                let reach = (REACH * sd.count() as f64) as u64;
                T::of(mean.count().saturating_add(reach))
            }
            Distribution::Exponential { .. }
            | Distribution::Pareto { .. }
            | Distribution::LogNormal { .. } => T::of(u64::MAX),
            Distribution::Table(table) => {
                let counts = used(table).map(|(value, _)| value.count());
                T::of(counts.max().unwrap_or(0))
            }
        }
    }

    /// The mean, as a count; infinite for a Pareto distribution of shape 1 or less.
    pub fn mean(&self) -> f64 {
        let f = |value: &T| value.count() as f64;
        match self {
            Distribution::Constant(mean)
            | Distribution::Normal { mean, .. }
            | Distribution::Exponential { mean, .. }
            | Distribution::LogNormal { mean, .. } => f(mean),
            Distribution::Uniform { least, greatest } => (f(least) + f(greatest)) / 2.0,
            Distribution::Pareto { shape, .. } if *shape <= 1.0 => f64::INFINITY,
            Distribution::Pareto { least, shape } => f(least) * shape / (shape - 1.0),
            Distribution::Table(table) => moment(table, 0.0, 1),
        }
    }

    /// The standard deviation, as a count; infinite for a Pareto distribution of shape 2 or less.
    pub fn sd(&self) -> f64 {
        let f = |value: &T| value.count() as f64;
        match self {
            Distribution::Constant(_) => 0.0,
            Distribution::Normal { sd, .. } | Distribution::LogNormal { sd, .. } => f(sd),
            Distribution::Exponential { mean, least } => (f(mean) - f(least)).max(0.0),
            // Of n whole counts: the root of (n^2 - 1) / 12.
            Distribution::Uniform { least, greatest } => {
                let n = f(greatest) - f(least) + 1.0;
                libm::sqrt((n * n - 1.0).max(0.0) / 12.0)
            }
            Distribution::Pareto { shape, .. } if *shape <= 2.0 => f64::INFINITY,
            Distribution::Pareto { least, shape } => {
                f(least) / (shape - 1.0) * libm::sqrt(shape / (shape - 2.0))
            }
            Distribution::Table(table) => libm::sqrt(moment(table, self.mean(), 2)),
        }
    }
}

/// The entries that are ever drawn.
fn used<T: Unit>(table: &[(T, u32)]) -> impl Iterator<Item = &(T, u32)> {
    table.iter().filter(|(_, weight)| *weight > 0)
}

/// The mean of the first or second power of the distance from `from`.
fn moment<T: Unit>(table: &[(T, u32)], from: f64, power: u32) -> f64 {
    let total: f64 = table.iter().map(|(_, weight)| f64::from(*weight)).sum();
    let part = |(value, weight): &(T, u32)| {
        let distance = value.count() as f64 - from;
        f64::from(*weight)
            * if power == 1 {
                distance
            } else {
                distance * distance
            }
    };
    match total > 0.0 {
        true => table.iter().map(part).sum::<f64>() / total,
        false => 0.0,
    }
}

impl<T: Unit> fmt::Display for Distribution<T> {
    /// As it is read, with the names of the table above.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Constant(value) => write!(f, "{value}"),
            Distribution::Uniform { least, greatest } => write!(f, "uniform({least}, {greatest})"),
            Distribution::Normal { mean, sd } => write!(f, "normal({mean}, {sd})"),
            Distribution::Exponential { mean, least } if least.count() == 0 => {
                write!(f, "exponential({mean})")
            }
            Distribution::Exponential { mean, least } => write!(f, "exponential({mean}, {least})"),
            Distribution::Pareto { least, shape } => write!(f, "pareto({least}, {shape})"),
            Distribution::LogNormal { mean, sd } => write!(f, "lognormal({mean}, {sd})"),
            Distribution::Table(table) => {
                let plain = table.iter().all(|(_, weight)| *weight == 1);
                f.write_str("table(")?;
                for (index, (value, weight)) in table.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    match plain {
                        true => write!(f, "{value}")?,
                        false => write!(f, "{value}: {weight}")?,
                    }
                }
                f.write_str(")")
            }
        }
    }
}

#[cfg(feature = "serde")]
impl<'de, T: Unit> serde::Deserialize<'de> for Distribution<T> {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Distribution<T>, D::Error> {
        let wanted = "a distribution, such as \"exponential(1 ms)\"";
        input.deserialize_str(node::text::Text::new(wanted))
    }
}

#[cfg(test)]
mod tests;
