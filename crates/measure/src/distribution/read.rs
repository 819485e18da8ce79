//! Distributions from texts.

use super::{Distribution, MAX_VALUES, Unit};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;
use core::str::FromStr;
use node::QuantityError;

/// The names, for messages.
const NAMES: &str = "constant, uniform, normal, exponential, pareto, lognormal, table";

/// What is wrong with the text of a distribution, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct DistributionError {
    /// The bytes of the text that are wrong.
    pub span: Range<usize>,
    /// What is wrong with them, and what is wanted.
    pub reason: String,
}

/// Why a text is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// No time.
    #[error(transparent)]
    Time(#[from] QuantityError),
    /// No plain number.
    #[error("a whole number is wanted, such as 64")]
    Number,
}

/// A part of a text that knows its place.
#[derive(Clone, Copy)]
struct Part<'a> {
    at: usize,
    text: &'a str,
}

impl<'a> Part<'a> {
    fn new(at: usize, text: &'a str) -> Part<'a> {
        let front = text.len() - text.trim_start().len();
        Part {
            at: at + front,
            text: text.trim(),
        }
    }

    fn wrong(self, reason: impl Into<String>) -> DistributionError {
        DistributionError {
            span: self.at..self.at + self.text.len(),
            reason: reason.into(),
        }
    }

    fn read<T: Unit>(self) -> Result<T, DistributionError> {
        T::read(self.text).map_err(|error| self.wrong(error.to_string()))
    }

    /// The parts between commas.
    fn list(self) -> Vec<Part<'a>> {
        let mut at = self.at;
        let parts = self.text.split(',').map(|text| {
            let part = Part::new(at, text);
            at += text.len() + 1;
            part
        });
        parts.collect()
    }
}

impl<T: Unit> FromStr for Distribution<T> {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Distribution<T>, DistributionError> {
        let whole = Part::new(0, text);
        let Some((name, rest)) = whole.text.split_once('(') else {
            let named = whole.text.starts_with(|c: char| c.is_ascii_alphabetic());
            if !named {
                return whole.read().map(Distribution::Constant);
            }
            let example = T::EXAMPLE;
            return Err(whole.wrong(match NAMES.split(", ").any(|name| name == whole.text) {
                true => format!("`{0}` wants its values, as in {0}({example}, ...)", whole.text),
                false => format!("no distribution; there are {example} for always the same, and {NAMES}, each with its values as in uniform(1, 2)"),
            }));
        };
        let name = Part::new(whole.at, name);
        let Some(inner) = rest.strip_suffix(')') else {
            return Err(whole.wrong("the `)` at the end is missing"));
        };
        let inside = Part::new(whole.at + whole.text.len() - rest.len(), inner);
        let values = inside.list();
        match name.text {
            "constant" => {
                let [value] = exactly(whole, &values)?;
                Ok(Distribution::Constant(value.read()?))
            }
            "uniform" => {
                let [least, greatest] = exactly(whole, &values)?;
                let (low, high): (T, T) = (least.read()?, greatest.read()?);
                if low.count() > high.count() {
                    return Err(inside.wrong("the least value comes first, then the greatest"));
                }
                Ok(Distribution::Uniform {
                    least: low,
                    greatest: high,
                })
            }
            "normal" => {
                let [mean, sd] = exactly(whole, &values)?;
                Ok(Distribution::Normal {
                    mean: mean.read()?,
                    sd: sd.read()?,
                })
            }
            "exponential" => {
                let (mean, least) = match values[..] {
                    [mean, least] => (mean.read::<T>()?, least.read()?),
                    _ => {
                        let [mean] = exactly(whole, &values)?;
                        (mean.read()?, T::of(0))
                    }
                };
                if least.count() > mean.count() {
                    return Err(inside
                        .wrong("the mean comes first, then the least value, which is below it"));
                }
                Ok(Distribution::Exponential { mean, least })
            }
            "pareto" => {
                let [least, shape] = exactly(whole, &values)?;
                Ok(Distribution::Pareto {
                    least: least.read()?,
                    shape: shape_of(shape)?,
                })
            }
            "lognormal" => {
                let [mean, sd] = exactly(whole, &values)?;
                let (m, s): (T, T) = (mean.read()?, sd.read()?);
                if m.count() == 0 && s.count() > 0 {
                    return Err(mean.wrong("a mean above 0 is wanted: the logarithm of 0 is none"));
                }
                Ok(Distribution::LogNormal { mean: m, sd: s })
            }
            "table" => table(inside, &values),
            _ => Err(name.wrong(format!("no distribution is called that; there are {NAMES}"))),
        }
    }
}

/// So many values as the distribution has.
fn exactly<'a, const N: usize>(
    whole: Part<'a>,
    values: &[Part<'a>],
) -> Result<[Part<'a>; N], DistributionError> {
    let given: Result<[Part<'a>; N], _> = values.try_into();
    given.map_err(|_| {
        whole.wrong(format!(
            "{N} value(s) wanted between the parentheses, not {}",
            values.len()
        ))
    })
}

fn shape_of(part: Part<'_>) -> Result<f64, DistributionError> {
    let shape = part.text.parse::<f64>().ok();
    let shape = shape.filter(|shape| (0.01..=1000.0).contains(shape));
    shape.ok_or_else(|| part.wrong("a shape from 0.01 to 1000 is wanted, such as 2.5"))
}

fn table<T: Unit>(
    inside: Part<'_>,
    values: &[Part<'_>],
) -> Result<Distribution<T>, DistributionError> {
    if values.len() > MAX_VALUES {
        return Err(inside.wrong(format!("a table has at most {MAX_VALUES} values")));
    }
    let entry = |part: &Part<'_>| match part.text.split_once(':') {
        None => Ok((part.read()?, 1)),
        Some((value, weight)) => {
            let number = Part::new(part.at + value.len() + 1, weight);
            let weight = number.text.parse::<u32>();
            let weight =
                weight.map_err(|_| number.wrong("a weight is a whole number, such as 7"))?;
            Ok((Part::new(part.at, value).read()?, weight))
        }
    };
    let table: Vec<(T, u32)> = values.iter().map(entry).collect::<Result<_, _>>()?;
    if table.iter().all(|(_, weight)| *weight == 0) {
        return Err(inside.wrong("a value with a weight above 0 is wanted"));
    }
    Ok(Distribution::Table(table))
}

impl DistributionError {
    /// The error in a text of which the distribution's begins at `at`.
    pub fn behind(mut self, at: usize) -> DistributionError {
        self.span = self.span.start + at..self.span.end + at;
        self
    }

    /// The word that is wrong.
    pub fn word<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.span.clone()).unwrap_or(text)
    }
}

impl From<DistributionError> for String {
    fn from(error: DistributionError) -> String {
        error.to_string()
    }
}
