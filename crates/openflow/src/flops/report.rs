//! What came of a test.

use crate::version::Version;
use ::node::Time;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// What came of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The module's name.
    pub test: String,
    /// The version that was spoken; `None` in a report that no instrument has given.
    pub version: Option<Version>,
    /// What a row is about: "action", "entries", "rate".
    pub of: Cow<'static, str>,
    /// One for each thing measured.
    pub rows: Vec<Row>,
    /// What went wrong.
    pub faults: Vec<String>,
}

/// A line of the table, a point of the figure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// As a number, for figures: entries, packets a second.
    pub x: u64,
    /// The measured times.
    pub series: Vec<Series>,
    /// Probes sent.
    pub sent: u64,
    /// Probes that came, and were as they should be.
    pub received: u64,
    /// Probes that came unchanged, or changed wrongly.
    pub wrong: u64,
    /// Messages that the switch refused, by error messages.
    pub refused: u64,
    /// The processor's load in parts of a thousand, where the node's agent told.
    pub busy: Option<u64>,
}

impl Row {
    /// Nothing measured yet.
    pub fn new(name: impl Into<String>, x: u64) -> Row {
        Row {
            name: name.into(),
            x,
            ..Row::default()
        }
    }

    /// Adds a measured time.
    pub fn add(&mut self, series: impl Into<Cow<'static, str>>, time: Time) {
        let series = series.into();
        let found = self.series.iter().position(|one| one.name == series);
        let at = found.unwrap_or_else(|| {
            let times = Vec::new();
            self.series.push(Series {
                name: series,
                times,
            });
            self.series.len() - 1
        });
        self.series[at].times.push(time);
    }

    /// The times of a series; empty if there are none.
    pub fn times(&self, series: &str) -> &[Time] {
        let found = self.series.iter().find(|one| one.name == series);
        found.map_or(&[], |one| &one.times)
    }
}

/// Times of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Of which: "delay", "barrier", "first packet".
    pub name: Cow<'static, str>,
    /// The times, in the order in which they were measured.
    pub times: Vec<Time>,
}

impl Series {
    /// A percentile, of 0 to 100; `None` without times.
    pub fn percentile(&self, part: usize) -> Option<Time> {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        let at = (sorted.len().checked_sub(1)? * part.min(100) + 50) / 100;
        sorted.get(at).copied()
    }

    /// The mean and the standard deviation, in picoseconds; zeros without times.
    pub fn mean_and_deviation(&self) -> (f64, f64) {
        let count = self.times.len().max(1) as f64;
        let ps = |time: &Time| time.as_ps() as f64;
        let mean = self.times.iter().map(ps).sum::<f64>() / count;
        let square = |time: &Time| (ps(time) - mean) * (ps(time) - mean);
        let variance = self.times.iter().map(square).sum::<f64>() / count;
        (mean, root(variance))
    }
}

/// A square root by Newton's method: `core` has none.
fn root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let mut guess = x.max(1.0);
    for _ in 0..200 {
        let next = 0.5 * (guess + x / guess);
        if next >= guess {
            break;
        }
        guess = next;
    }
    guess
}
