//! Figures as texts for people, and tables of texts.

use std::fmt::{self, Write};

/// A length of time as people read it, in a unit that suits: six digits, and more if they are needed
/// to show a tenth of a nanosecond.
pub fn time(ps: f64) -> String {
    let (scale, unit) = match ps {
        _ if ps < 0.5 => return "0".into(),
        _ if ps < 1e3 => (1.0, "ps"),
        _ if ps < 1e6 => (1e3, "ns"),
        _ if ps < 1e9 => (1e6, "us"),
        _ if ps < 1e12 => (1e9, "ms"),
        _ => (1e12, "s"),
    };
    let value = ps / scale;
    let six = 6usize.saturating_sub(value.log10().max(0.0) as usize + 1);
    let digits = six.max((scale.log10() as usize).saturating_sub(2));
    let text = format!("{value:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} {unit}")
}

/// A length of time in picoseconds, rounded to three digits.
pub fn three_digits(ps: f64) -> String {
    rounded(ps, 3)
}

/// A length of time in picoseconds, rounded to four digits.
pub fn four_digits(ps: f64) -> String {
    rounded(ps, 4)
}

fn rounded(ps: f64, digits: i32) -> String {
    if ps < 1.0 {
        return time(ps);
    }
    let scale = 10f64.powi(ps.log10().floor() as i32 + 1 - digits).max(1.0);
    time((ps / scale).round() * scale)
}

/// A share as people write it.
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        little if little < 0.05 && little > 0.0 => "under 0.1 %".into(),
        percent => format!("{percent:.1} %"),
    }
}

/// A number with its thousands apart.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number for people: whole numbers in full, others with four digits.
pub fn figure(value: f64) -> String {
    let nearest = value.round();
    if (value - nearest).abs() < 1e-6 * value.abs().max(1e-6) || value >= 10_000.0 {
        return number(nearest as u64);
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// A rate for people, with an exponent below a thousandth.
pub fn rate(value: f64) -> String {
    match value {
        1e5.. => number(value.round() as u64),
        // Less than a packet in the age of the universe is a rounding error.
        1e-18..1e-3 => {
            let text = format!("{value:.3e}");
            match text.split_once('e') {
                Some((digits, exponent)) => {
                    let digits = digits.trim_end_matches('0').trim_end_matches('.');
                    format!("{digits}e{exponent}")
                }
                None => text,
            }
        }
        _ => figure(value),
    }
}

/// A rate of bits.
pub fn bits(value: f64) -> String {
    let units = [(1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")];
    let fit = units.into_iter().find(|(scale, _)| value >= *scale);
    let (scale, unit) = fit.unwrap_or((1.0, "b/s"));
    format!("{} {unit}", rate(value / scale))
}

/// Lines of cells, each column as wide as it must be; the first is on the left, others on the right.
#[derive(Default)]
pub struct Table {
    /// From top to bottom.
    pub lines: Vec<Vec<String>>,
    /// Headings over several columns: the first of them, how many, and the text.
    pub groups: Vec<(usize, usize, &'static str)>,
}

/// Blanks between two columns.
const BETWEEN: usize = 2;

impl Table {
    /// A table of these lines, without headings over several columns.
    pub fn new(lines: impl IntoIterator<Item = Vec<String>>) -> Table {
        Table {
            lines: lines.into_iter().collect(),
            groups: Vec::new(),
        }
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..columns).map(width).collect();
        for &(first, count, text) in &self.groups {
            let wide: usize = widths[first..first + count].iter().sum();
            let wide = wide + BETWEEN * (count - 1);
            // A blank and a dash on either side of the text.
            widths[first] += (text.len() + 4).saturating_sub(wide);
        }
        widths
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let mut heading = String::new();
        for &(first, count, text) in &self.groups {
            let start: usize = widths[..first].iter().map(|width| width + BETWEEN).sum();
            let wide: usize = widths[first..first + count].iter().sum();
            let wide = wide + BETWEEN * (count - 1);
            let text = format!(" {text} ");
            write!(heading, "{:start$}", "", start = start - heading.len())?;
            write!(heading, "{text:-^wide$}")?;
        }
        if !heading.is_empty() {
            writeln!(f, "{heading}")?;
        }
        for line in &self.lines {
            let mut text = String::new();
            for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(text, "{cell:<width$}")?,
                    _ => write!(text, "{:BETWEEN$}{cell:>width$}", "")?,
                }
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// A line of cells.
pub fn cells(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_short_as_they_are_true() {
        assert_eq!(figure(13_992.0), "13,992");
        assert_eq!(figure(170.0), "170");
        assert_eq!(figure(31.6413), "31.64");
        assert_eq!(figure(0.0), "0");
        assert_eq!(bits(8.951e9), "8.951 Gb/s");
        assert_eq!(bits(0.0), "0 b/s");
        assert_eq!(bits(6.2963e-5), "6.296e-5 b/s");
        assert_eq!(rate(1.0 / 8_640_000.0), "1.157e-7");
        assert_eq!(rate(2e-6), "2e-6");
        assert_eq!(rate(0.25), "0.25");
    }

    #[test]
    fn times_have_six_digits_and_a_unit_that_suits() {
        for (ps, text) in [
            (0.0, "0"),
            (67_200.0, "67.2 ns"),
            (1e12, "1 s"),
            (1_000_000_115_200.0, "1.0000001152 s"),
            (999.4, "999.4 ps"),
            (123_456_789.0, "123.4568 us"),
        ] {
            assert_eq!(time(ps), text);
        }
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(number(123), "123");
    }
}
