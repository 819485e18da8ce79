//! How long each frame is under way.
//!
//! Correlated delays: one frame's place in the standard normal distribution is `rho` times that of the one
//! before and the rest by lot, which leaves it standard normal; what the delay's own distribution has
//! at that place is the delay. So the distribution is kept exactly, whatever the correlation. `rho`
//! is such that the delays themselves, not the normal values behind them, have the correlation asked for:
//! it is found from the distribution's expansion in Hermite polynomials. netem instead mixes the uniform
//! numbers that it draws from, which narrows the distribution and gives another correlation.

use super::spec::{Lag, Shape};
use super::trace::{Cursor, Trace};
use alloc::vec::Vec;
use measure::distribution::{Distribution, REACH, Sampler};
use node::Time;
use node::random::Random;

/// What delays are drawn from.
#[derive(Debug)]
pub struct Lags {
    law: Law,
    /// Of neighbours in the normal distribution; 0: they know nothing of each other.
    rho: f64,
    /// The last place in the normal distribution.
    place: Option<f64>,
}

#[derive(Debug)]
enum Law {
    Fixed(Time),
    Spread {
        base: f64,
        jitter: f64,
        shape: Standard,
    },
    Drawn(Distribution, Sampler<Time>),
    Trace(Trace, Cursor),
}

/// A shape, made ready.
#[derive(Debug)]
enum Standard {
    Uniform,
    Normal,
    Pareto(Pareto),
    /// With what its values are divided by, so that their deviation is 1.
    ParetoNormal(Pareto, f64),
    Exponential,
    Table(Vec<i16>),
}

/// Of mean 0 and deviation 1.
#[derive(Clone, Copy, Debug)]
struct Pareto {
    power: f64,
    mean: f64,
    sd: f64,
}

impl Pareto {
    fn new(shape: f64) -> Pareto {
        Pareto {
            power: -1.0 / shape,
            mean: shape / (shape - 1.0),
            sd: libm::sqrt(shape / (shape - 2.0)) / (shape - 1.0),
        }
    }

    /// The value that the part `above` of all exceeds.
    fn at(self, above: f64) -> f64 {
        (libm::pow(above, self.power) - self.mean) / self.sd
    }
}

impl Standard {
    fn new(shape: &Shape) -> Standard {
        match shape {
            Shape::Uniform => Standard::Uniform,
            Shape::Normal => Standard::Normal,
            Shape::Pareto(shape) => Standard::Pareto(Pareto::new(*shape)),
            Shape::ParetoNormal => {
                let pareto = Pareto::new(3.0);
                let mixed = |place: f64| 0.25 * place + 0.75 * pareto.at(above(place));
                Standard::ParetoNormal(pareto, Hermite::of(mixed).deviation())
            }
            Shape::Exponential => Standard::Exponential,
            Shape::Table(table) => Standard::Table(table.clone()),
            // Refused before; nothing is drawn from it.
            Shape::File(_) => Standard::Table(Vec::new()),
        }
    }

    /// The value at a place in the standard normal distribution.
    fn at_normal(&self, place: f64) -> f64 {
        match self {
            Standard::Normal => place.clamp(-REACH, REACH),
            Standard::ParetoNormal(pareto, sd) => {
                (0.25 * place.clamp(-REACH, REACH) + 0.75 * pareto.at(above(place))) / sd
            }
            _ => self.quantile(above(-place), above(place)),
        }
    }

    /// The value that the part `below` is under, and the part `above` over.
    fn quantile(&self, below: f64, above: f64) -> f64 {
        match self {
            Standard::Uniform => below - above,
            Standard::Pareto(pareto) => pareto.at(above),
            Standard::Exponential => -libm::log(above) - 1.0,
            Standard::Table(table) => {
                let place = (below * table.len() as f64) as usize;
                let entry = table.get(place).or(table.last());
                f64::from(entry.copied().unwrap_or(0)) / 8192.0
            }
            Standard::Normal | Standard::ParetoNormal(..) => 0.0,
        }
    }

    /// No value is less.
    fn least(&self) -> f64 {
        match self {
            Standard::Uniform | Standard::Exponential => -1.0,
            Standard::Normal => -REACH,
            Standard::Pareto(pareto) => pareto.at(1.0),
            Standard::ParetoNormal(pareto, sd) => (-0.25 * REACH + 0.75 * pareto.at(1.0)) / sd,
            Standard::Table(table) => f64::from(table.iter().min().copied().unwrap_or(0)) / 8192.0,
        }
    }
}

/// The part of the standard normal distribution above a place.
fn above(place: f64) -> f64 {
    0.5 * libm::erfc(place * core::f64::consts::FRAC_1_SQRT_2)
}

impl Lags {
    /// Ready to draw from; `seed` is for a distribution of its own.
    pub fn new(lag: &Lag, seed: u64) -> Lags {
        let (law, correlation) = match lag {
            Lag::Fixed(time) => (Law::Fixed(*time), 0.0),
            Lag::Spread {
                base,
                jitter,
                shape,
                correlation,
            } => {
                let law = Law::Spread {
                    base: base.as_ps() as f64,
                    jitter: jitter.as_ps() as f64,
                    shape: Standard::new(shape),
                };
                (law, correlation.part())
            }
            Lag::Drawn {
                distribution,
                correlation,
            } => {
                let law = Law::Drawn(distribution.clone(), Sampler::new(distribution, seed));
                (law, correlation.part())
            }
            Lag::Trace(trace) => (Law::Trace(trace.clone(), Cursor::default()), 0.0),
        };
        let value = |place: f64| match &law {
            Law::Spread { shape, .. } => shape.at_normal(place),
            Law::Drawn(_, sampler) => sampler.at_normal(place).as_ps() as f64,
            _ => 0.0,
        };
        let rho = match correlation > 0.0 {
            true => Hermite::of(value).rho(correlation),
            false => 0.0,
        };
        Lags {
            law,
            rho,
            place: None,
        }
    }

    /// The delay of the next frame, which arrived at `at`; `None`: the list says that it is lost.
    pub fn next(&mut self, random: &mut Random, at: Time) -> Option<Time> {
        Some(match &mut self.law {
            Law::Fixed(time) => *time,
            Law::Trace(trace, cursor) => return cursor.next(trace, at),
            Law::Drawn(_, sampler) if self.rho == 0.0 => sampler.draw(),
            Law::Spread {
                base,
                jitter,
                shape,
            } if self.rho == 0.0 => {
                let value = match shape {
                    Standard::Normal | Standard::ParetoNormal(..) => {
                        shape.at_normal(random.normal())
                    }
                    _ => {
                        let unit = random.unit();
                        shape.quantile(1.0 - unit, unit)
                    }
                };
                whole(*base + *jitter * value)
            }
            law => {
                let place = match self.place {
                    None => random.normal(),
                    Some(last) => {
                        let fresh = libm::sqrt(1.0 - self.rho * self.rho);
                        self.rho * last + fresh * random.normal()
                    }
                };
                self.place = Some(place);
                match law {
                    Law::Spread {
                        base,
                        jitter,
                        shape,
                    } => whole(*base + *jitter * shape.at_normal(place)),
                    Law::Drawn(_, sampler) => sampler.at_normal(place),
                    Law::Fixed(_) | Law::Trace(..) => Time::ZERO,
                }
            }
        })
    }

    /// No delay is less.
    pub fn least(&self) -> Time {
        match &self.law {
            Law::Fixed(time) => *time,
            Law::Spread {
                base,
                jitter,
                shape,
            } => whole(base + jitter * shape.least()),
            Law::Drawn(distribution, _) => distribution.least(),
            Law::Trace(trace, _) => trace.least(),
        }
    }

    /// Whether there is no delay at all.
    pub fn is_nothing(&self) -> bool {
        matches!(self.law, Law::Fixed(Time::ZERO))
    }
}

/// What is below 0 is 0.
fn whole(ps: f64) -> Time {
    // A cast saturates at both ends.
    Time::from_ps(libm::round(ps) as u64)
}

/// Terms that are looked at.
const TERMS: usize = 24;
/// Half of the range that is integrated over, and steps on it.
const RANGE: f64 = 8.0;
const STEPS: usize = 4000;

/// The expansion of a function of a standard normal value in Hermite polynomials: of two such values with
/// correlation rho, the function's values have the covariance sum of c_k^2 rho^k, k from 1.
struct Hermite {
    /// c_k^2, k from 1; the last is all that remains.
    squares: [f64; TERMS],
}

impl Hermite {
    fn of(value: impl Fn(f64) -> f64) -> Hermite {
        let mut sums = [0.0; TERMS + 1];
        let (mut weights, mut square) = (0.0, 0.0);
        for step in 0..=STEPS {
            let z = RANGE * (2.0 * step as f64 / STEPS as f64 - 1.0);
            let weight = libm::exp(-z * z / 2.0);
            let value = value(z);
            weights += weight;
            square += weight * value * value;
            // Normalised polynomials: h_(k+1) = (z h_k - sqrt(k) h_(k-1)) / sqrt(k + 1).
            let (mut last, mut this) = (0.0, 1.0);
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum += weight * value * this;
                let next = (z * this - libm::sqrt(k as f64) * last) / libm::sqrt(k as f64 + 1.0);
                (last, this) = (this, next);
            }
        }
        let mut squares = [0.0; TERMS];
        let mean = sums[0] / weights;
        let mut rest = (square / weights - mean * mean).max(0.0);
        for (k, square) in squares.iter_mut().enumerate().take(TERMS - 1) {
            let c = sums[k + 1] / weights;
            *square = (c * c).min(rest);
            rest -= *square;
        }
        squares[TERMS - 1] = rest;
        Hermite { squares }
    }

    fn deviation(&self) -> f64 {
        libm::sqrt(self.squares.iter().sum())
    }

    /// The correlation that the normal values must have for that of the function's values to be as asked.
    fn rho(&self, wanted: f64) -> f64 {
        let total: f64 = self.squares.iter().sum();
        if total <= 0.0 {
            return wanted;
        }
        let given = |rho: f64| {
            let inner = self.squares.iter().rev();
            inner.fold(0.0, |sum, square| (sum + square) * rho) / total
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            match given(middle) < wanted {
                true => low = middle,
                false => high = middle,
            }
        }
        high
    }
}

#[cfg(test)]
mod tests;
