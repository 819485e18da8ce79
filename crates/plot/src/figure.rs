//! What is to be drawn, as data.

use crate::TimeUnit;
use node::Histogram;

/// A picture: a title, and panels one below the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What stands above all.
    pub title: String,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Width in pixels of 1/96 inch, 900 by default; held between 300 and 8000.
    pub width: u32,
    /// Height of each panel with its axis in the same, 300 by default; held between 150 and 4000.
    pub panel_height: u32,
}

impl Figure {
    /// A figure without panels.
    pub fn new(title: impl Into<String>) -> Figure {
        Figure {
            title: title.into(),
            panels: Vec::new(),
            width: 900,
            panel_height: 300,
        }
    }

    /// Adds a panel below the others.
    pub fn panel(mut self, panel: Panel) -> Figure {
        self.panels.push(panel);
        self
    }

    /// Why nothing would be seen in any of its panels; `None` where something is.
    pub(crate) fn emptiness(&self) -> Option<String> {
        let panels = self.panels.iter().map(Panel::seen);
        let all = panels.fold(Seen::default(), |all, seen| Seen {
            shown: all.shown + seen.shown,
            not_positive: all.not_positive + seen.not_positive,
            outside: all.outside + seen.outside,
            no_number: all.no_number + seen.no_number,
        });
        if all.shown > 0 {
            return None;
        }
        let why = [
            (
                all.not_positive,
                "of zero or less have no place on a logarithmic axis",
            ),
            (all.outside, "are outside of the range of an axis"),
            (all.no_number, "are no numbers"),
        ];
        let why = why.iter().filter(|(count, _)| *count > 0);
        let why: Vec<String> = why
            .map(|(count, what)| format!("{count} values {what}"))
            .collect();
        Some(match why.is_empty() {
            true => "there is no value".into(),
            false => why.join(", "),
        })
    }
}

/// Two axes, and what is drawn between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// What stands above the panel; may be empty.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// Later ones are drawn over earlier ones.
    pub series: Vec<Series>,
    /// Lines of reference.
    pub marks: Vec<Mark>,
}

impl Panel {
    /// A panel with nothing in it.
    pub fn new(x: Axis, y: Axis) -> Panel {
        Panel {
            x,
            y,
            ..Panel::default()
        }
    }

    /// Gives the panel a title of its own.
    pub fn title(mut self, title: impl Into<String>) -> Panel {
        self.title = title.into();
        self
    }

    /// Adds a series. One with an empty label is not in the legend.
    pub fn series(mut self, series: Series) -> Panel {
        self.series.push(series);
        self
    }

    /// What becomes of the points and bars.
    #[must_use]
    pub fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        let outside = |(axis, value): (&Axis, f64)| {
            let range = axis.range;
            range.is_some_and(|(low, high)| value < low || value > high)
        };
        for (x, y) in self.series.iter().flat_map(Series::places) {
            let both = [(&self.x, x), (&self.y, y)];
            if !(x.is_finite() && y.is_finite()) {
                seen.no_number += 1;
            } else if both.iter().any(|(axis, value)| axis.log && *value <= 0.0) {
                seen.not_positive += 1;
            } else if both.into_iter().any(outside) {
                seen.outside += 1;
            } else {
                seen.shown += 1;
            }
        }
        seen
    }

    /// Adds a dashed vertical line at `x`.
    pub fn mark_x(mut self, at: f64, label: impl Into<String>) -> Panel {
        let label = label.into();
        let vertical = true;
        self.marks.push(Mark {
            at,
            label,
            vertical,
        });
        self
    }

    /// Adds a dashed horizontal line at `y`.
    pub fn mark_y(mut self, at: f64, label: impl Into<String>) -> Panel {
        let label = label.into();
        let vertical = false;
        self.marks.push(Mark {
            at,
            label,
            vertical,
        });
        self
    }
}

/// A line of reference across a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The value on its axis.
    pub at: f64,
    /// What it is; stands beside it.
    pub label: String,
    /// Whether it is at a value of x.
    pub vertical: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What is on it, with its unit: `delay [µs]`.
    pub name: String,
    /// Whether it is logarithmic; values of zero and below are then not drawn.
    pub log: bool,
    /// From where to where; by default all that is to be drawn, with some room.
    pub range: Option<(f64, f64)>,
    /// Whether zero is on it in any case, if it is linear.
    pub zero: bool,
    /// Where values are times: picoseconds in a unit. Marks of a logarithmic axis have their own units then.
    pub time: Option<f64>,
}

impl Axis {
    /// A linear axis as long as what is drawn.
    pub fn new(name: impl Into<String>) -> Axis {
        Axis {
            name: name.into(),
            ..Axis::default()
        }
    }

    /// Makes it logarithmic.
    pub fn log(mut self) -> Axis {
        self.log = true;
        self
    }

    /// Makes it logarithmic if `is_log`.
    pub fn log_if(mut self, is_log: bool) -> Axis {
        self.log = is_log;
        self
    }

    /// An axis of times in a unit; a logarithmic one has units at its marks, such as `10 ns` and `1 s`.
    pub fn of_times(name: &str, unit: TimeUnit, is_log: bool) -> Axis {
        let time = Some(unit.ps);
        let name = match is_log {
            true => name.into(),
            false => format!("{name} [{}]", unit.name),
        };
        Axis {
            time,
            ..Axis::new(name).log_if(is_log)
        }
    }

    /// Makes it begin at zero, or below where there are values below.
    pub fn from_zero(mut self) -> Axis {
        self.zero = true;
        self
    }

    /// Says from where to where it goes. A range that is empty or not of finite numbers is not heeded.
    pub fn range(mut self, from: f64, to: f64) -> Axis {
        self.range = Some((from, to));
        self
    }
}

/// How many points and bars of a panel are seen, and how many are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// On both axes.
    pub shown: u64,
    /// Zero or less, for which a logarithmic axis has no place.
    pub not_positive: u64,
    /// Outside of an axis' range.
    pub outside: u64,
    /// Not a finite number.
    pub no_number: u64,
}

/// Something drawn, and what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Stands in the legend; if it is empty, nothing does.
    pub label: String,
    /// How it is drawn. What is not a finite number is left out.
    pub shape: Shape,
    /// At an x, from where to where values spread: thin upright bars.
    pub spread: Vec<(f64, f64, f64)>,
    /// At an x, from where to where the truth is likely to be: an area round a line.
    pub band: Vec<(f64, f64, f64)>,
    /// Of a distribution: values below which a share of all is.
    pub quantiles: Vec<Quantile>,
}

/// A value below which a share of all is.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantile {
    /// The value on the axis of x.
    pub at: f64,
    /// The share, from 0 to 1.
    pub share: f64,
    /// What stands beside it: `p50 1.36 µs`.
    pub label: String,
}

/// How a series is drawn. All but points are in the order of x.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A mark at each point.
    Points(Vec<(f64, f64)>),
    /// A line from point to point; a few points get marks too.
    Line(Vec<(f64, f64)>),
    /// From the lower end of the axis straight up to the first point; from each point to the right, and
    /// straight to the next one. Steps of no width to be seen get a mark, a triangle, at their top.
    Steps(Vec<(f64, f64)>),
    /// Bars from the lower end of the axis, or from zero.
    Bars(Vec<Bar>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Its left side.
    pub from: f64,
    /// Its right side.
    pub to: f64,
    /// Where it ends.
    pub height: f64,
}

impl Series {
    fn new(label: String, shape: Shape) -> Series {
        Series {
            label,
            shape,
            spread: Vec::new(),
            band: Vec::new(),
            quantiles: Vec::new(),
        }
    }

    /// A mark at each point.
    pub fn points(
        label: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Series {
        Series::new(label.into(), Shape::Points(points.into_iter().collect()))
    }

    /// A line from point to point.
    pub fn line(label: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series::new(label.into(), Shape::Line(points.into_iter().collect()))
    }

    /// Steps, as a cumulative distribution has them.
    pub fn steps(label: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series::new(label.into(), Shape::Steps(points.into_iter().collect()))
    }

    pub fn bars(label: impl Into<String>, bars: impl IntoIterator<Item = Bar>) -> Series {
        Series::new(label.into(), Shape::Bars(bars.into_iter().collect()))
    }

    /// With what values spread over: x, the least and the greatest.
    pub fn with_spread(mut self, spread: impl IntoIterator<Item = (f64, f64, f64)>) -> Series {
        self.spread = spread.into_iter().collect();
        self
    }

    /// With where the truth is likely to be: x, from and to.
    pub fn with_band(mut self, band: impl IntoIterator<Item = (f64, f64, f64)>) -> Series {
        self.band = band.into_iter().collect();
        self
    }

    /// With marks at p50 and p99 of its values, which `at` tells for a share in percent. What stands there is by `told`, which is
    /// given how far the two are apart, so that they are not rounded to the same.
    pub fn with_quantiles(
        mut self,
        at: impl Fn(u32) -> f64,
        told: impl Fn(f64, f64) -> String,
    ) -> Series {
        let apart = (at(99) - at(50)).abs();
        let quantiles = [50, 99].map(|percent| {
            let at = at(percent);
            let share = f64::from(percent) / 100.0;
            let label = format!("p{percent} {}", told(at, apart));
            Quantile { at, share, label }
        });
        let finite = quantiles.into_iter().filter(|q| q.at.is_finite());
        self.quantiles = finite.collect();
        self
    }

    /// The same where `at` tells picoseconds.
    pub fn with_quantiles_of_times(self, unit: TimeUnit, at: impl Fn(u32) -> f64) -> Series {
        self.with_quantiles(
            |percent| at(percent) / unit.ps,
            |value, apart| unit.told_apart(value * unit.ps, apart * unit.ps),
        )
    }

    /// The same of a histogram of picoseconds.
    pub fn with_quantiles_of(self, histogram: &Histogram, unit: TimeUnit) -> Series {
        match histogram.total() {
            0 => self,
            _ => self.with_quantiles_of_times(unit, |percent| {
                histogram.value_at(u64::from(percent), 100) as f64
            }),
        }
    }

    /// The cumulative distribution of a histogram: for each value, the share of all that do not
    /// exceed it. `unit` is how many of the histogram's units one of the axis' is: 1e3 for a
    /// histogram in ps on an axis in ns.
    pub fn cdf(label: impl Into<String>, histogram: &Histogram, unit: f64) -> Series {
        let total = histogram.total().max(1) as f64;
        let mut seen = 0;
        let points = histogram.buckets().map(|bucket| {
            seen += bucket.count;
            (bucket.high as f64 / unit, seen as f64 / total)
        });
        Series::steps(label, points)
    }

    /// The counts of a histogram in about `bins` bars of equal width, none finer than the histogram.
    /// `unit` as for [`cdf`](Series::cdf).
    pub fn histogram(
        label: impl Into<String>,
        histogram: &Histogram,
        unit: f64,
        bins: usize,
    ) -> Series {
        let (min, max) = (histogram.min(), histogram.max());
        let finest = histogram.buckets().map(|bucket| bucket.high - bucket.low);
        // Equal values get a bar of their own that can be seen.
        let finest = finest.max().unwrap_or(0) + 1;
        let width = ((max - min) / bins.max(1) as u64 + 1).max(finest);
        let mut counts = vec![0u64; ((max - min) / width) as usize + 1];
        for bucket in histogram.buckets() {
            let middle = bucket.low + (bucket.high - bucket.low) / 2;
            counts[((middle - min) / width) as usize] += bucket.count;
        }
        let bars = counts.into_iter().enumerate().filter(|(_, n)| *n > 0);
        Series::bars(
            label,
            bars.map(|(index, count)| {
                let from = min as f64 + index as f64 * width as f64;
                Bar {
                    from: from / unit,
                    to: (from + width as f64) / unit,
                    height: count as f64,
                }
            }),
        )
    }

    /// The same with bars of equal ratio, for a logarithmic axis of x. Values of zero are left out.
    pub fn log_histogram(
        label: impl Into<String>,
        histogram: &Histogram,
        unit: f64,
        bins: usize,
    ) -> Series {
        let low = histogram.buckets().find(|bucket| bucket.high > 0);
        let low = low.map_or(1.0, |bucket| bucket.low.max(1) as f64);
        let high = (histogram.max() as f64).max(low * 1.01);
        let step = (high / low).ln() / bins.max(1) as f64;
        let mut counts = vec![0u64; bins.max(1)];
        for bucket in histogram.buckets().filter(|bucket| bucket.high > 0) {
            let middle = (bucket.low as f64 + bucket.high as f64) / 2.0;
            let index = ((middle / low).ln() / step).max(0.0) as usize;
            counts[index.min(bins.max(1) - 1)] += bucket.count;
        }
        let edge = |index: usize| low * (step * index as f64).exp() / unit;
        let bars = counts.into_iter().enumerate().filter(|(_, n)| *n > 0);
        Series::bars(
            label,
            bars.map(|(index, count)| Bar {
                from: edge(index),
                to: edge(index + 1),
                height: count as f64,
            }),
        )
    }

    /// Where its points are, and the tops of its bars.
    fn places(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let (points, bars): (&[(f64, f64)], &[Bar]) = match &self.shape {
            Shape::Points(points) | Shape::Line(points) | Shape::Steps(points) => (points, &[]),
            Shape::Bars(bars) => (&[], bars),
        };
        let tops = bars.iter().map(|bar| (bar.to, bar.height));
        points.iter().copied().chain(tops)
    }

    /// How many points or bars there are.
    pub fn len(&self) -> usize {
        match &self.shape {
            Shape::Points(points) | Shape::Line(points) | Shape::Steps(points) => points.len(),
            Shape::Bars(bars) => bars.len(),
        }
    }

    /// Whether there is nothing to be drawn.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(series: Series) -> Vec<Bar> {
        match series.shape {
            Shape::Bars(bars) => bars,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_cdf_ends_at_one_and_is_exact_for_a_single_value() {
        let mut histogram = Histogram::with_precision(10);
        histogram.record_many(1_356_800, 9);
        let one = Series::cdf("a", &histogram, 1e3);
        assert_eq!(one.shape, Shape::Steps(vec![(1356.8, 1.0)]));
        histogram.record(2_000_000);
        let two = Series::cdf("a", &histogram, 1e3);
        let Shape::Steps(points) = two.shape else {
            panic!("steps");
        };
        assert_eq!(points.last(), Some(&(2000.0, 1.0)));
        assert_eq!(points[0].1, 0.9);
    }

    #[test]
    fn bars_hold_every_value_once() {
        let mut histogram = Histogram::with_precision(7);
        for value in [0, 1, 5, 1_000, 1_001, 1_000_000, 1_000_000] {
            histogram.record(value);
        }
        let count = |series| bars(series).iter().map(|bar| bar.height).sum::<f64>();
        assert_eq!(count(Series::histogram("", &histogram, 1.0, 50)), 7.0);
        // Zero has no place on a logarithmic axis.
        assert_eq!(count(Series::log_histogram("", &histogram, 1.0, 50)), 6.0);
        assert!(Series::histogram("", &Histogram::default(), 1.0, 0).is_empty());
        assert!(Series::log_histogram("", &Histogram::default(), 1.0, 0).is_empty());
        histogram.record(u64::MAX);
        assert_eq!(count(Series::histogram("", &histogram, 1.0, 50)), 8.0);
    }
}
