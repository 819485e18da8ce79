//! From values to pixels; where the marks of an axis are, and what stands at them.

use crate::TimeUnit;
use crate::figure::{Axis, Panel, Shape};

/// An axis whose ends are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    pub log: bool,
    /// Picoseconds in the axis' unit, if it is one of times.
    pub time: Option<f64>,
}

/// Margin at each end of an axis, as a share of its length.
const MARGIN: f64 = 0.05;
/// The smallest value of a logarithmic axis.
const TINY: f64 = 1e-12;
/// No value is drawn beyond this, so that all arithmetic stays finite.
const HUGE: f64 = 1e100;

/// The extent of values.
struct Extent {
    low: f64,
    high: f64,
    log: bool,
    /// The share of the axis that stays free at either end.
    room: f64,
}

impl Extent {
    fn add(&mut self, value: f64) {
        if value.is_finite() && value.abs() < HUGE && (!self.log || value >= TINY) {
            self.low = self.low.min(value);
            self.high = self.high.max(value);
        }
    }
}

impl Extent {
    /// Takes in all x of a panel.
    fn add_x(&mut self, panel: &Panel) {
        for series in &panel.series {
            match &series.shape {
                Shape::Points(points) | Shape::Line(points) | Shape::Steps(points) => {
                    points.iter().for_each(|(x, _)| self.add(*x));
                }
                Shape::Bars(bars) => bars.iter().for_each(|bar| {
                    self.add(bar.from);
                    self.add(bar.to);
                }),
            }
        }
        let marks = panel.marks.iter().filter(|mark| mark.vertical);
        marks.for_each(|mark| self.add(mark.at));
    }
}

impl Scale {
    /// The scale of a panel's x axis, which is that of all of `panels` with the same one.
    pub fn of_x(panel: &Panel, panels: &[Panel]) -> Scale {
        let mut extent = Extent::of(&panel.x);
        let same = panels
            .iter()
            .filter(|other| other.x == panel.x && !panel.x.name.is_empty());
        extent.add_x(panel);
        same.for_each(|other| extent.add_x(other));
        // Curves reach from side to side.
        let mut series = panels.iter().chain([panel]).flat_map(|panel| &panel.series);
        let curves = series.all(|one| matches!(one.shape, Shape::Line(_)) && one.spread.is_empty());
        extent.room = if curves { 0.0 } else { 0.02 };
        extent.scale(&panel.x, false)
    }

    /// The scale of a panel's y axis.
    pub fn of_y(panel: &Panel) -> Scale {
        let mut extent = Extent::of(&panel.y);
        let (mut from_zero, mut counts) = (panel.y.zero, false);
        for series in &panel.series {
            match &series.shape {
                Shape::Points(points) | Shape::Line(points) => {
                    points.iter().for_each(|(_, y)| extent.add(*y));
                }
                Shape::Steps(points) => {
                    from_zero = true;
                    points.iter().for_each(|(_, y)| extent.add(*y));
                }
                Shape::Bars(bars) => {
                    (from_zero, counts) = (true, true);
                    bars.iter().for_each(|bar| extent.add(bar.height));
                }
            }
            let spread = series.spread.iter().chain(&series.band);
            spread.for_each(|&(_, low, high)| {
                extent.add(low);
                extent.add(high);
            });
        }
        let marks = panel.marks.iter().filter(|mark| !mark.vertical);
        marks.for_each(|mark| extent.add(mark.at));
        if counts && extent.low >= 1.0 && panel.y.log {
            // Counts: a single one is seen, and heights compare.
            extent.add(1.0);
        }
        extent.scale(&panel.y, from_zero)
    }

    /// The pixel of a value between those of the ends; `None` where it has none.
    pub fn pixel(&self, value: f64, (first, last): (f64, f64)) -> Option<f64> {
        let share = match self.log {
            _ if !value.is_finite() || value.abs() > HUGE => return None,
            true if value < TINY => return None,
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        // Far outside is as good as anywhere outside, and fits all arithmetic that follows.
        let share = share.clamp(-100.0, 100.0);
        Some(first + share * (last - first))
    }

    /// About `wanted` marks, ascending, and what stands at them.
    pub fn ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        match self.log && self.high / self.low > 5.0 {
            true => self.log_ticks(wanted.max(2)),
            false => self.linear_ticks(wanted.max(2)),
        }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / wanted as f64;
        let power = 10f64.powf(rough.log10().floor());
        let nice = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power);
        let step = nice.into_iter().find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(rough);
        let (first, last) = (self.low / step - 1e-9, self.high / step + 1e-9);
        let most = self.low.abs().max(self.high.abs());
        let (suffix, unit) = match most {
            1e13.. => ("T", 1e12),
            1e10.. => ("G", 1e9),
            1e7.. => ("M", 1e6),
            1e4.. => ("k", 1e3),
            _ => ("", 1.0),
        };
        if !(1e-3..1e16).contains(&most) {
            return self.powers(step, first.ceil(), last.floor());
        }
        let digits = (-(step / unit * 1.001).log10().floor()).clamp(0.0, 15.0) as usize;
        // Beyond 2^53 steps from zero they cannot be told apart; the axis is bare.
        let count = (last.floor() - first.ceil()) as i64;
        (0..=count.clamp(-1, 100))
            .map(|n| (first.ceil() + n as f64) * step)
            .map(|value| {
                let text = format!("{:.digits$}", value / unit);
                let zero = text.trim_start_matches('-').chars();
                match zero.into_iter().all(|c| matches!(c, '0' | '.')) {
                    true => (value, "0".into()),
                    false => (value, format!("{text}{suffix}")),
                }
            })
            .collect()
    }

    /// Marks of an axis of values that are tiny or huge: `2×10⁻⁶`.
    fn powers(&self, step: f64, first: f64, last: f64) -> Vec<(f64, String)> {
        let most = self.low.abs().max(self.high.abs());
        let n = most.log10().floor() as i32;
        let unit = 10f64.powi(n);
        let digits = (-(step / unit * 1.001).log10().floor()).clamp(0.0, 15.0) as usize;
        let count = (last - first) as i64;
        (0..=count.clamp(-1, 100))
            .map(|index| (first + index as f64) * step)
            .map(|value| match value.abs() < step / 2.0 {
                true => (value, "0".into()),
                false => (value, format!("{:.digits$}×{}", value / unit, power(n))),
            })
            .collect()
    }

    /// Where thin lines are between the marks of a logarithmic axis of few decades.
    pub fn between(&self) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor(), self.high.log10().ceil());
        if !self.log || self.high / self.low <= 5.0 || last - first > 8.0 {
            return Vec::new();
        }
        let decades = (first as i32)..=(last as i32);
        let all = decades.flat_map(|n| (2..10).map(move |digit| f64::from(digit) * 10f64.powi(n)));
        all.filter(|value| (self.low..=self.high).contains(value))
            .collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        let (first, last) = (self.low.log10() - 1e-9, self.high.log10() + 1e-9);
        let decades = (first.ceil() as i32)..=(last.floor() as i32);
        // What stands at them is short: twice as many have room.
        let every = decades.clone().count().div_ceil(2 * wanted).max(1) as i32;
        let between: &[f64] = match (last - first) * 3.0 < wanted as f64 + 0.5 {
            true => &[1.0, 2.0, 5.0],
            false => &[1.0],
        };
        let powers = (first.floor() as i32..=last.floor() as i32).filter(|n| n % every == 0);
        powers
            .flat_map(|n| between.iter().map(move |digit| (n, *digit)))
            .map(|(n, digit)| (digit * 10f64.powi(n), n, digit))
            .filter(|(value, ..)| {
                let log = value.log10();
                first <= log && log <= last
            })
            .map(|(value, n, digit)| {
                let text = match n {
                    _ if self.time.is_some() => {
                        let ps = value * self.time.unwrap_or(1.0);
                        TimeUnit::of(ps * 1.000_001).text(ps)
                    }
                    -3..0 => format!("{value:.places$}", places = n.unsigned_abs() as usize),
                    0..3 => format!("{value:.0}"),
                    3..6 => format!("{:.0}k", value / 1e3),
                    6..9 => format!("{:.0}M", value / 1e6),
                    9..12 => format!("{:.0}G", value / 1e9),
                    12..15 => format!("{:.0}T", value / 1e12),
                    _ if digit == 1.0 => power(n),
                    _ => format!("{digit:.0}×{}", power(n)),
                };
                (value, text)
            })
            .collect()
    }
}

impl Extent {
    fn of(axis: &Axis) -> Extent {
        Extent {
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            log: axis.log,
            room: MARGIN,
        }
    }

    fn scale(mut self, axis: &Axis, from_zero: bool) -> Scale {
        let (log, time) = (self.log, axis.time);
        let sound = |(low, high): (f64, f64)| {
            let finite = low.abs() < HUGE && high.abs() < HUGE;
            finite && low < high && (!log || low >= TINY)
        };
        if let Some((low, high)) = axis.range.filter(|range| sound(*range)) {
            return Scale {
                low,
                high,
                log,
                time,
            };
        }
        if self.low > self.high {
            (self.low, self.high) = if log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        let Extent {
            low,
            high,
            log,
            room: free,
        } = self;
        let (low, high) = match log {
            true => {
                let least = match (low < high, free > 0.0) {
                    (true, true) => 0.04,
                    (true, false) => 0.0,
                    (false, _) => 0.1,
                };
                let room = ((high / low).ln() * free).max(least).exp();
                // Bars and steps of the least value are to be seen too.
                let below = if from_zero { room.max(1.6) } else { room };
                ((low / below).max(TINY), high * room)
            }
            false if from_zero && low >= 0.0 => {
                (0.0, if high > 0.0 { high * (1.0 + free) } else { 1.0 })
            }
            false => {
                let room = (high - low) * free;
                match high - low {
                    // Enough that numbers between the ends can be told apart.
                    span if span > 1e-13 * low.abs().max(high.abs()) && span > 0.0 => {
                        let below = if low >= 0.0 {
                            (low - room).max(0.0)
                        } else {
                            low - room
                        };
                        (below, high + room)
                    }
                    _ if high > 0.0 => (0.0, 2.0 * high),
                    _ if high < 0.0 => (2.0 * high, 0.0),
                    _ => (0.0, 1.0),
                }
            }
        };
        Scale {
            low,
            high,
            log,
            time,
        }
    }
}

/// A power of ten.
fn power(n: i32) -> String {
    let raised = n
        .to_string()
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            other => char::from_u32(0x2070 + other.to_digit(10).unwrap_or(0)).unwrap_or(other),
        })
        .collect::<String>();
    format!("10{raised}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Series;

    fn labels(low: f64, high: f64, log: bool) -> Vec<String> {
        let time = None;
        let scale = Scale {
            low,
            high,
            log,
            time,
        };
        scale.ticks(6).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn marks_are_round_and_tell_each_other_apart() {
        assert_eq!(
            labels(0.0, 1.05, false),
            ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(1356.79, 1356.81, false),
            ["1356.790", "1356.795", "1356.800", "1356.805", "1356.810"]
        );
        assert_eq!(labels(0.0, 300_000.0, false)[1], "50k");
        assert_eq!(labels(0.0, 5e-6, false)[1], "1×10⁻⁶");
        assert_eq!(labels(1e-9, 1e-5, true)[0], "10⁻⁹");
        assert_eq!(
            labels(-1.0, 1.0, false),
            ["-1.0", "-0.5", "0", "0.5", "1.0"]
        );
        assert_eq!(
            labels(1.0, 1e6, true),
            ["1", "10", "100", "1k", "10k", "100k", "1M"]
        );
        assert_eq!(
            labels(0.01, 1.0, true),
            ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"]
        );
    }

    #[test]
    fn whatever_the_values_the_scale_is_finite_and_not_empty() {
        let odd = [
            vec![],
            vec![f64::NAN, f64::INFINITY],
            vec![0.0],
            vec![-5.0],
            vec![1e300, -1e300],
            vec![1e99, 1.0],
            vec![1e15, 1e15 + 1.0],
            vec![1.0, 1.0 + 1e-16],
            vec![-1.0, 0.0, 1.0],
        ];
        for values in odd {
            for log in [false, true] {
                let points = values.iter().map(|value| (*value, *value));
                let axis = || Axis::new("").log_if(log);
                for series in [
                    Series::points("", points.clone()),
                    Series::steps("", points),
                ] {
                    let panel = Panel::new(axis(), axis()).series(series);
                    for scale in [Scale::of_x(&panel, &[]), Scale::of_y(&panel)] {
                        assert!(scale.low < scale.high, "{values:?} {scale:?}");
                        assert!(scale.low.is_finite() && scale.high.is_finite());
                        assert!(scale.ticks(8).len() <= 101, "{values:?} {scale:?}");
                        for value in &values {
                            let pixel = scale.pixel(*value, (0.0, 1_000.0));
                            assert!(pixel.is_none_or(f64::is_finite), "{value} {scale:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_range_that_makes_no_sense_is_not_heeded() {
        let axis = Axis::new("").range(5.0, 5.0);
        let panel = Panel::new(axis, Axis::new("").log().range(-1.0, 2.0));
        let panel = panel.series(Series::points("", [(1.0, 1.0), (2.0, 10.0)]));
        assert!(Scale::of_x(&panel, &[]).low < 1.0);
        assert!(Scale::of_y(&panel).high > 10.0);
    }
}
