//! Profiles as a picture: distribution, histogram, delays over time, rate over time.

use super::subject::Subject;
use anyhow::ensure;
use measure::durations::Durations;
use measure::profile::Profile;
use node::Histogram;
use plot::unit::rate_unit;
use plot::{Axis, Figure, Panel, Series, TimeUnit};
use std::path::PathBuf;

/// Bars of a histogram.
const BINS: usize = 120;
/// From this ratio of the longest to the shortest delay on, axes of time are logarithmic.
const WIDE: f64 = 100.0;

/// Refuses names whose ending tells no format, before anything is read.
pub fn check(paths: &[PathBuf]) -> anyhow::Result<()> {
    for path in paths {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ensure!(
            ending.is_some_and(|ending| plot::ENDINGS.contains(&ending)),
            "the ending of {} tells no format; use .png or .svg",
            path.display()
        );
    }
    Ok(())
}

/// The unit and the kind of an axis for these times.
struct Scaled {
    unit: TimeUnit,
    log: bool,
    /// From where to where all values are, in the unit.
    range: (f64, f64),
}

impl Scaled {
    fn of<'a>(all: impl Iterator<Item = &'a Durations>) -> Scaled {
        let (mut least, mut most) = (u128::MAX, 0);
        for summary in all.map(Durations::summary).filter(|of| of.count > 0) {
            least = least.min(summary.min.max(1));
            most = most.max(summary.max);
        }
        let unit = TimeUnit::of(most as f64);
        let log = most as f64 > WIDE * least as f64;
        let range = (in_unit(least.min(most), unit), in_unit(most, unit));
        Scaled { unit, log, range }
    }

    fn axis(&self, name: &str) -> Axis {
        time_axis(name, self.unit, self.log, self.range)
    }

    /// The bars of a histogram whose unit is `each` ps.
    fn bars(&self, label: &str, histogram: &Histogram, each: f64) -> Series {
        let unit = self.unit.ps / each;
        match self.log {
            true => Series::log_histogram(label, histogram, unit, BINS),
            false => Series::histogram(label, histogram, unit, BINS),
        }
    }
}

fn in_unit(ps: u128, unit: TimeUnit) -> f64 {
    ps as f64 / unit.ps
}

/// An axis for times from `low` to `high` of a unit; with room for a single value too.
pub fn time_axis(name: &str, unit: TimeUnit, log: bool, (low, high): (f64, f64)) -> Axis {
    let span = high - low;
    let (from, to) = match span > 0.0 {
        _ if log => (low / 1.3, high * 1.3),
        true if low >= 0.0 => ((low - 0.05 * span).max(0.0), high + 0.05 * span),
        true => (low - 0.05 * span, high + 0.05 * span),
        false if low < 0.0 => (2.0 * low, 0.0),
        false => (0.0, 2.0 * high.max(0.5)),
    };
    Axis::of_times(name, unit, log).range(from, to)
}

/// Energy by octave, on a scale of twos, as MinProbe plots it (paper 002, figure 4.16); `None` where none was asked for.
fn energy(subjects: &[Subject]) -> Option<Panel> {
    let mut panel = Panel::new(
        Axis::new("octave j: pairs of 2^j ns"),
        Axis::new("log2 of energy"),
    );
    let mut drawn = false;
    for subject in subjects {
        let label = match subjects.len() > 1 {
            true => short(&subject.name, subjects),
            false => "",
        };
        let octaves = subject.profile.energy()?;
        let octaves = octaves.iter().filter(|found| found.energy > 0.0);
        let points: Vec<_> = octaves
            .map(|found| (f64::from(found.octave), found.energy.log2()))
            .collect();
        drawn |= !points.is_empty();
        panel = panel.series(Series::line(label, points));
    }
    drawn.then_some(panel)
}

/// All subjects in one picture.
pub fn of(subjects: &[Subject], title: Option<&str>) -> Figure {
    let delays = || subjects.iter().map(|subject| subject.profile.delays());
    let scaled = Scaled::of(delays());
    let longest = subjects
        .iter()
        .map(|subject| subject.profile.duration_ps())
        .max();
    let time = TimeUnit::of(longest.unwrap_or(0) as f64);
    let name = "inter-packet delay";
    let since = || Axis::new(format!("since the first packet [{}]", time.name));
    let mut share = Panel::new(
        scaled.axis(name),
        Axis::new("share of packets").range(0.0, 1.05),
    );
    let mut counts = Panel::new(scaled.axis(name), Axis::new("packets").log());
    let mut over_time = Panel::new(since(), scaled.axis(name));
    let rates: Vec<_> = subjects
        .iter()
        .map(|subject| rates(&subject.profile))
        .collect();
    let all = rates.iter().flatten();
    let fastest = all.map(|(_, rate)| *rate).fold(0.0, f64::max);
    let (unit, bits) = rate_unit(fastest);
    let axis = Axis::new(format!("rate with FCS [{unit}]"));
    let axis = axis.range(0.0, 1.05 * fastest.max(1.0) / bits);
    let mut rate = Panel::new(since(), axis);
    for (subject, rates) in subjects.iter().zip(&rates) {
        let profile = &subject.profile;
        // A single one has its name above all.
        let label = match subjects.len() > 1 {
            true => short(&subject.name, subjects),
            false => "",
        };
        let delays = profile.delays();
        let (histogram, each) = delays.histogram();
        let mut distribution = Series::cdf(label, &histogram, scaled.unit.ps / each);
        if delays.count() > 0 {
            let at = |percent| delays.value_at(u64::from(percent), 100) as f64;
            distribution = distribution.with_quantiles_of_times(scaled.unit, at);
        }
        share = share.series(distribution);
        counts = counts.series(scaled.bars(label, &histogram, each));
        let place = |at_ps, delay_ps| (in_unit(at_ps, time), in_unit(delay_ps, scaled.unit));
        let samples = profile.samples().iter();
        let samples = samples.map(|sample| place(sample.at_ps, sample.delay_ps));
        // What is far off is seen, however few they are.
        let (width, windows) = profile.windows();
        let far = windows
            .iter()
            .enumerate()
            .filter(|(_, window)| window.longest_ps > 0);
        let far = far.flat_map(|(index, window)| {
            let middle = (index as f64 + 0.5) * width as f64 / time.ps;
            [window.shortest_ps, window.longest_ps].map(|ps| (middle, in_unit(ps, scaled.unit)))
        });
        over_time = over_time.series(Series::points(label, samples.chain(far)));
        let points = rates
            .iter()
            .map(|(middle, rate)| (middle / time.ps, rate / bits));
        rate = rate.series(Series::line(label, points));
    }
    let title = title.map_or_else(|| titled(subjects), String::from);
    let mut figure = Figure::new(title)
        .panel(share)
        .panel(counts)
        .panel(over_time);
    if rate.series.iter().any(|series| !series.is_empty()) {
        figure = figure.panel(rate);
    }
    if let Some(energy) = energy(subjects) {
        figure = figure.panel(energy);
    }
    figure
}

/// The rate over time: the middle of each window, ps, and bits a second in it. The last window, which is not whole, is left out.
fn rates(profile: &Profile) -> Vec<(f64, f64)> {
    let (width, windows) = profile.windows();
    let together = (profile.rates().width_ps / width).max(1) as usize;
    let wide = width as f64 * together as f64;
    let whole = windows.len().saturating_sub(1) / together;
    let chunks = windows.chunks_exact(together).take(whole);
    let points = chunks.enumerate().map(|(index, windows)| {
        let bytes: u64 = windows.iter().map(|window| window.bytes).sum();
        ((index as f64 + 0.5) * wide, 8e12 * bytes as f64 / wide)
    });
    points.collect()
}

fn titled(subjects: &[Subject]) -> String {
    match subjects {
        [only] => short(&only.name, subjects).into(),
        _ => format!("{} streams", subjects.len()),
    }
}

/// The name of a stream without the folder of its file; without the file too, where all are of one file.
pub fn short<'a>(name: &'a str, subjects: &[Subject]) -> &'a str {
    let file = |name: &'a str| name.split_once(' ').map_or("", |(file, _)| file);
    let own = file(name);
    let one = !own.is_empty()
        && subjects
            .iter()
            .all(|other| other.name.starts_with(&format!("{own} ")));
    match one && subjects.len() > 1 {
        true => &name[own.len() + 1..],
        false => base(name),
    }
}

/// A name without the folders before it.
pub fn base(name: &str) -> &str {
    let path = name.split(' ').next().unwrap_or(name);
    path.rfind('/').map_or(name, |at| &name[at + 1..])
}
