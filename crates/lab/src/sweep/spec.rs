//! Which keys of a lab file take which values: `link.0.rate=1Gb/s..10Gb/s:10`, `node.h1.count=100,1000`.

use node::{Rate, Time};
use std::str::FromStr;

/// Maximum number of values of one key.
const MAX_VALUES: usize = 10_000;
/// Values of a range that does not say how many.
const USUAL: u64 = 10;
/// Whole numbers of a range up to this wide are all taken.
const ALL: f64 = 20.0;

/// A key of a lab file, and the values that it takes one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The way to it: `link.0.rate`.
    pub key: String,
    /// As they stand in the lab file, and as numbers.
    pub values: Vec<Setting>,
}

/// A value of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// As it stands in the lab file.
    pub text: String,
    /// As a number: bits a second of a rate, picoseconds of a time.
    pub number: Option<f64>,
    /// What kind of number.
    pub unit: Unit,
}

/// What kind of number a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Unit {
    /// None, or not a number.
    None,
    /// Bits a second.
    Rate,
    /// Picoseconds.
    Time,
    /// Something else, by its name.
    Named(String),
}

/// Why a text is no axis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AxisError {
    /// There is no `=`.
    #[error("{WANTED}")]
    NoValues,
    /// What stands in front of the `=` names nothing.
    #[error("`{0}` is no key of a lab file; {WANTED}")]
    Key(String),
    /// A value of this key is empty.
    #[error("a value of `{0}` is empty; {WANTED}")]
    Empty(String),
    /// A key with so many values.
    #[error("`{key}` takes {count} values; {MAX_VALUES} are the most")]
    Many {
        /// The key.
        key: String,
        /// How many values it takes.
        count: usize,
    },
    /// An end of a range.
    #[error("`{0}` is no number; write FROM..TO, with units")]
    Number(String),
    /// The ends of a range do not fit together.
    #[error("`{0}` and `{1}` have different units")]
    Units(String, String),
    /// A range that begins at or behind its end.
    #[error("`{0}..{1}`: a range goes upwards")]
    Downwards(String, String),
    /// What stands behind the colon of a range.
    #[error("`{0}` is neither a number of values, such as 10, nor a step, such as +0.5 or 1Gb/s")]
    Spacing(String),
    /// A range of fewer than two values, or of too many.
    #[error("a range has from 2 to {MAX_VALUES} values")]
    Count,
    /// A range with so small a step that it has too many values.
    #[error("a range has at most {MAX_VALUES} values; a larger step gives fewer")]
    Step,
}

const WANTED: &str =
    "KEY=VALUES is wanted, such as link.0.rate=1Gb/s..10Gb/s:10 or node.a.count=100,1000";

impl FromStr for Axis {
    type Err = AxisError;

    fn from_str(text: &str) -> Result<Axis, AxisError> {
        let (key, values) = text.split_once('=').ok_or(AxisError::NoValues)?;
        let key = key.trim();
        if key.is_empty() || key.split('.').any(str::is_empty) {
            return Err(AxisError::Key(key.into()));
        }
        let values = match values.split_once("..") {
            Some((from, rest)) => range(from.trim(), rest.trim())?,
            None => values
                .split(',')
                .map(|value| setting(value.trim()))
                .collect(),
        };
        if values.iter().any(|value| value.text.is_empty()) {
            return Err(AxisError::Empty(key.into()));
        }
        let (key, count) = (key.into(), values.len());
        match count > MAX_VALUES {
            true => Err(AxisError::Many { key, count }),
            false => Ok(Axis { key, values }),
        }
    }
}

/// A value from a list.
fn setting(text: &str) -> Setting {
    let (number, unit) = match quantity(text) {
        Some((number, unit)) => (Some(number), unit),
        None => (None, Unit::None),
    };
    let text = text.into();
    Setting { text, number, unit }
}

/// A number and its unit.
fn quantity(text: &str) -> Option<(f64, Unit)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || "_.+-".contains(c)));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let plain: f64 = number.replace('_', "").parse().ok()?;
    let unit = unit.trim();
    if unit.is_empty() {
        return Some((plain, Unit::None));
    }
    if let Ok(time) = text.parse::<Time>() {
        return Some((time.as_ps() as f64, Unit::Time));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((rate.bits_per_second() as f64, Unit::Rate));
    }
    // Of 1e-9 the rest is no unit.
    match text.replace('_', "").parse::<f64>() {
        Ok(number) => Some((number, Unit::None)),
        Err(_) => Some((plain, Unit::Named(unit.into()))),
    }
}

/// `FROM..TO`, `FROM..TO:COUNT` or `FROM..TO:STEP`.
fn range(from: &str, rest: &str) -> Result<Vec<Setting>, AxisError> {
    let (to, spacing) = match rest.rsplit_once(':') {
        Some((to, spacing)) => (to.trim(), Some(spacing.trim())),
        None => (rest, None),
    };
    let number = |text: &str| quantity(text).ok_or_else(|| AxisError::Number(text.into()));
    let ((mut first, mut unit), (last, other)) = (number(from)?, number(to)?);
    if unit == Unit::None && other != Unit::None {
        // 1..10Gb/s: the unit is that of both.
        let in_unit = to.trim_start_matches(|c: char| c.is_ascii_digit() || "_.+-".contains(c));
        (first, unit) = number(&format!("{from}{in_unit}"))?;
    }
    if unit != other {
        return Err(AxisError::Units(from.into(), to.into()));
    }
    if first >= last {
        return Err(AxisError::Downwards(from.into(), to.into()));
    }
    let whole = first.fract() == 0.0 && last.fract() == 0.0;
    let numbers: Vec<f64> = match spacing {
        Some(spacing) => match (
            spacing.parse::<u64>(),
            quantity(spacing.trim_start_matches('+')),
        ) {
            (Ok(count), _) if !spacing.starts_with('+') => even(first, last, count)?,
            (_, Some((step, of)))
                if step > 0.0 && (of == unit || of == Unit::None && spacing.starts_with('+')) =>
            {
                steps(first, last, step)?
            }
            _ => return Err(AxisError::Spacing(spacing.into())),
        },
        None if whole && unit == Unit::None && last - first <= ALL => steps(first, last, 1.0)?,
        None => even(first, last, USUAL)?,
    };
    let numbers = numbers.into_iter().map(|number| match whole {
        true => number.round(),
        false => number,
    });
    let mut values: Vec<Setting> = numbers.map(|number| written(number, &unit)).collect();
    values.dedup();
    Ok(values)
}

fn even(first: f64, last: f64, count: u64) -> Result<Vec<f64>, AxisError> {
    if !(2..=MAX_VALUES as u64).contains(&count) {
        return Err(AxisError::Count);
    }
    let at = |index: u64| first + (last - first) * index as f64 / (count - 1) as f64;
    Ok((0..count).map(at).collect())
}

fn steps(first: f64, last: f64, step: f64) -> Result<Vec<f64>, AxisError> {
    let count = ((last - first) / step + 1e-9).floor();
    if count >= MAX_VALUES as f64 {
        return Err(AxisError::Step);
    }
    Ok((0..=count as u64)
        .map(|index| first + index as f64 * step)
        .collect())
}

/// A number as a lab file has it.
fn written(number: f64, unit: &Unit) -> Setting {
    let text = match unit {
        Unit::None => plain(number),
        Unit::Named(name) => format!("{} {name}", plain(number)),
        Unit::Time => Time::from_ps(number.round() as u64).to_string(),
        Unit::Rate => match Rate::from_bits_per_second(number.round() as u64) {
            Some(rate) => rate.to_string(),
            None => "0 b/s".into(),
        },
    };
    Setting {
        text,
        number: Some(number),
        unit: unit.clone(),
    }
}

/// With twelve digits at most, so that 0.1 + 0.2 is 0.3.
fn plain(number: f64) -> String {
    let rounded: f64 = format!("{number:.12}").parse().unwrap_or(number);
    match rounded == 0.0 && number != 0.0 {
        true => number.to_string(),
        false => rounded.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let axis: Axis = text
            .parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        axis.values.into_iter().map(|value| value.text).collect()
    }

    #[test]
    fn ranges_and_lists_are_spelled_out() {
        for (text, values) in [
            ("k=1..4", &["1", "2", "3", "4"][..]),
            (
                "k=1Gb/s..10Gb/s:4",
                &["1 Gb/s", "4 Gb/s", "7 Gb/s", "10 Gb/s"],
            ),
            ("k=1..3Gb/s:1Gb/s", &["1 Gb/s", "2 Gb/s", "3 Gb/s"]),
            ("k=10us..30us:10us", &["10 us", "20 us", "30 us"]),
            ("k=0.1..0.3:+0.1", &["0.1", "0.2", "0.3"]),
            (
                "k=10 packets..30 packets:3",
                &["10 packets", "20 packets", "30 packets"],
            ),
            ("k=reno,cubic", &["reno", "cubic"]),
            ("k=1,2 ms", &["1", "2 ms"]),
        ] {
            assert_eq!(texts(text), values, "{text}");
        }
        assert_eq!(texts("k=0..1000").len(), 10);
    }

    #[test]
    fn what_is_no_range_is_refused_with_the_mend() {
        for (text, wanted) in [
            ("rate", "KEY=VALUES"),
            ("=3", "no key"),
            ("a..b=3", "no key"),
            ("k=", "is empty"),
            ("k=5..1", "upwards"),
            ("k=1ms..1Gb/s:3", "different units"),
            ("k=1..9:1ms", "neither"),
            ("k=1..9:1", "from 2"),
            ("k=0..1:+1e-9", "at most"),
            ("k=a..b", "no number"),
        ] {
            let error = text.parse::<Axis>().unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
