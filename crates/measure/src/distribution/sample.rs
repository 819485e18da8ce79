//! Drawing from a distribution.

use super::{Distribution, REACH, Unit};
use alloc::vec::Vec;
use core::marker::PhantomData;
use node::random::Random;

/// Draws values from a distribution.
#[derive(Clone, Debug)]
pub struct Sampler<T> {
    law: Law,
    random: Random,
    unit: PhantomData<T>,
}

/// A distribution, ready to draw from.
#[derive(Clone, Debug)]
enum Law {
    Constant(u64),
    /// The least count, and how many there are.
    Uniform(u64, u128),
    Normal {
        mean: f64,
        sd: f64,
    },
    Exponential {
        least: f64,
        rest: f64,
    },
    /// The least value, and one less than nothing over the shape.
    Pareto {
        least: f64,
        power: f64,
    },
    /// Mean and deviation of the logarithm.
    LogNormal {
        mu: f64,
        sigma: f64,
    },
    /// Values, and the sum of the weights up to and with each.
    Table(Vec<(u64, u64)>),
}

impl Law {
    fn new<T: Unit>(distribution: &Distribution<T>) -> Law {
        let f = |value: &T| value.count() as f64;
        match distribution {
            Distribution::Constant(value) => Law::Constant(value.count()),
            Distribution::Uniform { least, greatest } => {
                let (least, greatest) = (least.count().min(greatest.count()), greatest.count());
                Law::Uniform(least, u128::from(greatest - least) + 1)
            }
            Distribution::Normal { mean, sd } => Law::Normal {
                mean: f(mean),
                sd: f(sd),
            },
            Distribution::Exponential { mean, least } => Law::Exponential {
                least: f(least).min(f(mean)),
                rest: (f(mean) - f(least)).max(0.0),
            },
            Distribution::Pareto { least, shape } => Law::Pareto {
                least: f(least),
                power: -1.0 / shape.max(f64::MIN_POSITIVE),
            },
            Distribution::LogNormal { mean, .. } if mean.count() == 0 => Law::Constant(0),
            Distribution::LogNormal { mean, sd } => {
                let ratio = f(sd) / f(mean);
                let square = libm::log1p(ratio * ratio);
                Law::LogNormal {
                    mu: libm::log(f(mean)) - square / 2.0,
                    sigma: libm::sqrt(square),
                }
            }
            Distribution::Table(table) => {
                let mut sum = 0;
                let running = super::used(table).map(|&(value, weight)| {
                    sum += u64::from(weight);
                    (value.count(), sum)
                });
                Law::Table(running.collect())
            }
        }
    }

    /// The value below which the part `below` of all values lies, or over which the part `above` does:
    /// both are given, since near 1 only the other is exact.
    fn quantile(&self, below: f64, above: f64) -> u64 {
        match self {
            Law::Constant(value) => *value,
            Law::Uniform(least, many) => {
                let step = (below * *many as f64) as u128;
                least + step.min(many - 1) as u64
            }
            Law::Exponential { least, rest } => whole(least - rest * libm::log(above)),
            Law::Pareto { least, power } => whole(least * libm::pow(above, *power)),
            Law::Table(table) => {
                let total = table.last().map_or(0, |(_, sum)| *sum);
                pick(table, (below * total as f64) as u64)
            }
            // Asked by the normal value itself, and so never here.
            Law::Normal { mean, .. } => whole(*mean),
            Law::LogNormal { mu, .. } => whole(libm::exp(*mu)),
        }
    }
}

/// The value of a table at a place among all weights.
fn pick(table: &[(u64, u64)], place: u64) -> u64 {
    let index = table.partition_point(|&(_, sum)| sum <= place);
    let entry = table.get(index).or(table.last());
    entry.map_or(0, |&(value, _)| value)
}

/// The nearest count; what is below 0 is 0.
fn whole(value: f64) -> u64 {
    // A cast saturates at both ends.
    libm::round(value) as u64
}

impl<T: Unit> Sampler<T> {
    /// A sampler; equal seeds give equal values.
    pub fn new(distribution: &Distribution<T>, seed: u64) -> Sampler<T> {
        Sampler {
            law: Law::new(distribution),
            random: Random::new(seed),
            unit: PhantomData,
        }
    }

    /// The next value, which owes nothing to the ones before it.
    pub fn draw(&mut self) -> T {
        let count = match &self.law {
            Law::Constant(value) => *value,
            Law::Uniform(least, many) => match u64::try_from(*many) {
                Ok(many) => least + self.random.below(many),
                Err(_) => self.random.bits(),
            },
            Law::Table(table) => {
                let total = table.last().map_or(0, |(_, sum)| *sum);
                pick(table, self.random.below(total))
            }
            Law::Normal { .. } | Law::LogNormal { .. } => {
                let normal = self.random.normal();
                return self.at_normal(normal);
            }
            law => {
                let unit = self.random.unit();
                law.quantile(1.0 - unit, unit)
            }
        };
        T::of(count)
    }

    /// The value at the place at which `normal` is in the standard normal distribution: so that values
    /// may be made to depend on each other by what `normal` is.
    pub fn at_normal(&self, normal: f64) -> T {
        T::of(match &self.law {
            Law::Normal { mean, sd } => whole(mean + sd * normal.clamp(-REACH, REACH)),
            Law::LogNormal { mu, sigma } => whole(libm::exp(mu + sigma * normal)),
            law => {
                let tail = |x: f64| 0.5 * libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2);
                law.quantile(tail(-normal), tail(normal))
            }
        })
    }

    /// The source of chance, for other draws of the same owner.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }
}
