//! What came of a sweep: a table, JSON Lines, and a picture.

use super::{Counted, Estimate, Measure, Setting, Unit};
use ::plot::unit::rate_unit;
use ::plot::{Axis, Figure, Panel, Series, TimeUnit};
use ::report::text::{Table, number};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// What came of all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The lab's name.
    pub lab: String,
    /// The keys that took values.
    pub keys: Vec<String>,
    /// The first seed, and how many.
    pub seeds: (u64, u64),
    /// Each combination of values, in their order.
    pub points: Vec<Point>,
    /// How many runs were asked for.
    pub asked: usize,
}

/// A combination of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The value of each key.
    pub values: Vec<Setting>,
    /// What each run that was done told, in the order of [`Measure::ALL`].
    pub runs: Vec<[Option<f64>; Measure::ALL.len()]>,
}

impl Point {
    /// What its runs have in common.
    #[must_use]
    pub fn estimate(&self, measure: Measure) -> Option<Estimate> {
        let index = Measure::ALL.iter().position(|other| *other == measure)?;
        let values: Vec<f64> = self.runs.iter().filter_map(|run| run[index]).collect();
        Estimate::of(&values)
    }
}

/// A unit, and how many of what is counted one of it is.
fn scale(counted: Counted, most: f64) -> (&'static str, f64) {
    match counted {
        Counted::Rate => rate_unit(most),
        Counted::Time => {
            let unit = TimeUnit::of(most);
            (unit.name, unit.ps)
        }
        Counted::Share => ("%", 0.01),
        Counted::Packets => ("packets", 1.0),
        Counted::Number => ("", 1.0),
    }
}

/// Of runs whose seeds make no difference.
const REPEATED: &str = "all seeds gave the same figures: nothing random changes them, or keys `seed` of nodes and links fix it";

impl Outcome {
    /// How many runs were done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.points.iter().map(|point| point.runs.len()).sum()
    }

    /// Points with several runs, and at how many of them all runs have the same figures: another seed changes nothing there.
    #[must_use]
    pub fn repeated(&self) -> (usize, usize) {
        let several = || self.points.iter().filter(|point| point.runs.len() > 1);
        let same = |point: &&Point| point.runs.windows(2).all(|pair| pair[0] == pair[1]);
        (several().filter(same).count(), several().count())
    }

    /// The usual measures that any run has.
    #[must_use]
    pub fn usual(&self) -> Vec<Measure> {
        let has = |measure: &Measure| {
            self.points
                .iter()
                .any(|point| point.estimate(*measure).is_some())
        };
        let mut usual: Vec<Measure> = Measure::USUAL.into_iter().filter(has).collect();
        // What users get is told, if there are any.
        if usual.contains(&Measure::Goodput) {
            usual.retain(|measure| *measure != Measure::Throughput);
        }
        usual
    }

    /// The unit of a measure in all tables and pictures.
    fn unit(&self, measure: Measure) -> (&'static str, f64) {
        let means = self
            .points
            .iter()
            .filter_map(|point| point.estimate(measure));
        let most = means.fold(0.0, |most: f64, estimate| most.max(estimate.mean.abs()));
        scale(measure.counted(), most)
    }

    /// For people: a line for each combination, means with half of their 95 % confidence intervals.
    #[must_use]
    pub fn text(&self, measures: &[Measure]) -> String {
        let (done, points) = (number(self.done() as u64), number(self.points.len() as u64));
        let mut text = format!("{}: {done} runs at {points} points, ", self.lab);
        let (first, seeds) = self.seeds;
        text += &match seeds {
            1 => format!("seed {first}"),
            _ => format!("seeds {first} to {}", first.wrapping_add(seeds - 1)),
        };
        if self.done() < self.asked {
            let _ = write!(
                text,
                ", stopped: {} were asked for",
                number(self.asked as u64)
            );
        }
        text += &match self.repeated() {
            _ if seeds <= 1 => "\n\n".into(),
            (0, _) => "; means and 95 % confidence intervals\n\n".into(),
            (same, all) if same == all => format!("; {REPEATED}\n\n"),
            (same, all) => {
                let (same, all) = (number(same as u64), number(all as u64));
                format!(
                    "; means and 95 % confidence intervals, but at {same} of {all} points {REPEATED}\n\n"
                )
            }
        };
        let mut head = self.keys.clone();
        if self.keys.is_empty() {
            head.push("lab".into());
        }
        head.push("runs".into());
        for measure in measures {
            let (unit, _) = self.unit(*measure);
            head.push(match unit {
                "" => measure.name().into(),
                unit => format!("{} [{unit}]", measure.name()),
            });
        }
        let mut lines = vec![head];
        for point in &self.points {
            let mut line: Vec<String> = point
                .values
                .iter()
                .map(|value| value.text.clone())
                .collect();
            if self.keys.is_empty() {
                line.push(self.lab.clone());
            }
            line.push(number(point.runs.len() as u64));
            for measure in measures {
                let (_, by) = self.unit(*measure);
                let estimate = point.estimate(*measure);
                line.push(estimate.map_or("-".into(), |estimate| shown(&estimate, by)));
            }
            lines.push(line);
        }
        let _ = write!(text, "{}", Table::new(lines));
        text
    }

    /// For programs: one line about all, and one for each combination.
    #[must_use]
    pub fn json(&self, measures: &[Measure]) -> String {
        let names: Vec<&str> = measures.iter().map(|measure| measure.name()).collect();
        let mut lines = vec![json!({
            "type": "sweep", "lab": self.lab, "keys": self.keys, "first_seed": self.seeds.0, "seeds": self.seeds.1,
            "runs": self.done(), "asked": self.asked, "measures": names, "confidence": 0.95,
            "points_with_equal_runs": self.repeated().0,
        })];
        for point in &self.points {
            let values = self.keys.iter().zip(&point.values);
            let values: Map<String, Value> = values
                .map(|(key, value)| (key.clone(), json!(value.text)))
                .collect();
            let figures = measures.iter().map(|measure| {
                let unit = match measure.counted() {
                    Counted::Rate => "b/s",
                    Counted::Time => "ps",
                    Counted::Share => "1",
                    Counted::Packets => "packets",
                    Counted::Number => "1",
                };
                let estimate = point.estimate(*measure).map(|estimate| {
                    json!({
                        "unit": unit, "runs": estimate.runs, "mean": estimate.mean, "sd": estimate.sd,
                        "ci95": estimate.half, "min": estimate.min, "max": estimate.max,
                    })
                });
                (measure.name().to_string(), estimate.unwrap_or(Value::Null))
            });
            let figures: Map<String, Value> = figures.collect();
            lines.push(json!({ "type": "point", "values": values, "runs": point.runs.len(), "measured": figures }));
        }
        let mut text = String::new();
        for line in lines {
            let line = line.to_string();
            let schema = packet::json::schema("lab");
            let _ = writeln!(text, "{{\"schema\":\"{schema}\",{}", &line[1..]);
        }
        text
    }

    /// The means over the first key, a panel for each measure and a curve for each combination of the other keys, with the
    /// confidence intervals as bands.
    #[must_use]
    pub fn figure(&self, measures: &[Measure]) -> Figure {
        let (axis, x) = self.along();
        let several = if self.seeds.1 > 1 {
            format!(
                ": means of {} seeds with 95 % confidence intervals",
                self.seeds.1
            )
        } else {
            String::new()
        };
        let mut figure = Figure::new(format!("{}{several}", self.lab));
        figure.panel_height = if measures.len() > 2 { 240 } else { 300 };
        let mut labels: Vec<String> = Vec::new();
        for point in &self.points {
            let label = self.label(point);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        for measure in measures {
            let (unit, by) = self.unit(*measure);
            let name = match unit {
                "" => measure.name().into(),
                unit => format!("{} [{unit}]", measure.name()),
            };
            let mut panel = Panel::new(axis.clone(), Axis::new(name).from_zero());
            for label in &labels {
                let of_label = || {
                    self.points
                        .iter()
                        .zip(&x)
                        .filter(|(point, _)| self.label(point) == *label)
                };
                let estimates: Vec<(f64, Estimate)> = of_label()
                    .filter_map(|(point, x)| Some((*x, point.estimate(*measure)?)))
                    .collect();
                let means = estimates
                    .iter()
                    .map(|(x, estimate)| (*x, estimate.mean / by));
                let ends = |(x, estimate): &(f64, Estimate)| {
                    let half = estimate.half.filter(|half| *half > 0.0)?;
                    Some((*x, (estimate.mean - half) / by, (estimate.mean + half) / by))
                };
                let band: Vec<(f64, f64, f64)> = estimates.iter().filter_map(ends).collect();
                let series = Series::line(label, means).with_spread(band.clone());
                panel = panel.series(match band.len() == estimates.len() {
                    true => series.with_band(band),
                    false => series,
                });
            }
            figure = figure.panel(panel);
        }
        figure
    }

    /// What the keys but the first are at a point.
    fn label(&self, point: &Point) -> String {
        let others = self.keys.iter().zip(&point.values).skip(1);
        let others: Vec<String> = others
            .map(|(key, value)| format!("{key} = {}", value.text))
            .collect();
        others.join(", ")
    }

    /// The axis of the first key, and where on it each point is.
    fn along(&self) -> (Axis, Vec<f64>) {
        let Some(key) = self.keys.first() else {
            return (
                Axis::new("the lab file as it is"),
                vec![0.0; self.points.len()],
            );
        };
        let first = |point: &Point| point.values[0].clone();
        let values: Vec<Setting> = self.points.iter().map(first).collect();
        let alike = values.windows(2).all(|pair| pair[0].unit == pair[1].unit);
        let numbers: Option<Vec<f64>> = values.iter().map(|value| value.number).collect();
        let Some(numbers) = numbers.filter(|_| alike) else {
            // Words stand beside each other in their order.
            let mut words: Vec<&str> = Vec::new();
            for value in &values {
                if !words.contains(&&value.text[..]) {
                    words.push(&value.text);
                }
            }
            let place = |value: &Setting| {
                words
                    .iter()
                    .position(|word| *word == value.text)
                    .unwrap_or(0)
                    + 1
            };
            let x = values.iter().map(|value| place(value) as f64).collect();
            let names = words
                .iter()
                .enumerate()
                .map(|(index, word)| format!("{}: {word}", index + 1));
            let names: Vec<String> = names.collect();
            return (Axis::new(format!("{key} ({})", names.join(", "))), x);
        };
        let most = numbers.iter().copied().fold(0.0, f64::max);
        let (unit, by) = match &values[0].unit {
            Unit::Rate => rate_unit(most),
            Unit::Time => {
                let unit = TimeUnit::of(most);
                (unit.name, unit.ps)
            }
            Unit::Named(name) => (&name[..], 1.0),
            Unit::None => ("", 1.0),
        };
        let name = match unit {
            "" => key.clone(),
            unit => format!("{key} [{unit}]"),
        };
        (
            Axis::new(name),
            numbers.iter().map(|number| number / by).collect(),
        )
    }
}

/// A mean, and half of its confidence interval with two digits.
fn shown(estimate: &Estimate, by: f64) -> String {
    let (mean, half) = (estimate.mean / by, estimate.half.map(|half| half / by));
    let digits_of = |value: f64, digits: i32| {
        let whole = value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32 + 1;
        (digits - whole).clamp(0, 9) as usize
    };
    match half {
        Some(half) if half > 0.0 => {
            let digits = digits_of(half, 2);
            format!("{mean:.digits$} ± {half:.digits$}")
        }
        half => {
            let digits = if mean == 0.0 { 0 } else { digits_of(mean, 5) };
            let text = format!("{mean:.digits$}");
            let text = match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.'),
                false => &text,
            };
            match half {
                Some(_) => format!("{text} ± 0"),
                None => text.into(),
            }
        }
    }
}
