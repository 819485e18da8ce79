//! The instrument's section of a report.

use super::report::{Available, json, notes, summaries, table, verbose};
use super::{Bandwidth, Estimated, figure};
use crate::plan::instrument::Section;
use ::plot::Figure;
use ::report::text::Table;
use serde_json::{Value, json};
use std::fmt::{self, Write as _};

/// The estimates of a run: the instrument's section of the report.
#[derive(Clone, Debug)]
pub struct Found {
    /// Node by node, each node's in the order in which it made them.
    pub all: Vec<Estimated>,
    pub(super) pictures: Bandwidth,
    pub(super) lab: String,
}

impl Found {
    /// The figures that one looks at first; `None` without estimates.
    #[must_use]
    pub fn available(&self) -> Option<Available> {
        Available::of(&summaries(&self.all))
    }
}

impl Section for Found {
    fn headline(&self) -> Option<String> {
        Some(self.available()?.text())
    }

    fn headline_json(&self) -> Vec<(&'static str, Value)> {
        let found = self.available();
        let object = found.map(|found| {
            json!({
                "mean": found.mean, "true": found.truth, "error": found.error, "worst_error": found.worst,
                "unanswered": found.unanswered[0], "samples": found.unanswered[1],
            })
        });
        vec![("available", json!(object))]
    }

    fn write(&self, f: &mut String, is_verbose: bool) -> fmt::Result {
        let summaries = summaries(&self.all);
        let mut tables = vec![table(&summaries)];
        if is_verbose {
            tables.push(verbose(&self.all));
        }
        for table in tables.into_iter().filter(|table| !table.is_empty()) {
            write!(f, "\n{}", Table::new(table))?;
        }
        for note in notes(&self.all, &summaries) {
            writeln!(f, "{note}")?;
        }
        Ok(())
    }

    fn json(&self) -> Vec<Value> {
        self.all.iter().map(json).collect()
    }

    fn figures(&self) -> Vec<(String, Figure)> {
        let accuracy = self.pictures.figure.iter();
        let accuracy = accuracy.map(|file| {
            let figure = figure::accuracy(&self.all, &self.lab);
            (file.clone(), figure)
        });
        let points = self.pictures.points.iter();
        let points = points.map(|file| {
            let figure = figure::points(&self.all, &self.pictures.points_of, &self.lab);
            (file.clone(), figure)
        });
        accuracy.chain(points).collect()
    }
}
