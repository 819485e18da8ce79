//! Results of OFLOPS, for people and as JSON Lines.

pub mod agent;
mod figure;
mod lines;
pub(crate) mod program;
mod runs;
mod text;

pub use figure::{Device, figure};
pub use lines::lines;
pub use runs::Runs;
pub use text::text;

use crate::table::number;
use node::Time;
use openflow::flops::{Report, Row, Series};
use parking_lot::Mutex;
use std::sync::Arc;

/// Reports of the measuring nodes of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured(Arc<Mutex<Vec<Report>>>);

impl Measured {
    /// Adds one.
    pub fn add(&self, report: Report) {
        self.0.lock().push(report);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        let reports = self.0.lock();
        reports.len()
    }

    /// All so far.
    pub fn all(&self) -> Vec<Report> {
        self.0.lock().clone()
    }
}

/// The tests in a line: packets lost and wrong, messages refused, faults.
pub fn verdict(reports: &[Report]) -> String {
    let names: Vec<&str> = reports.iter().map(|report| &report.test[..]).collect();
    let faults: usize = reports.iter().map(|report| report.faults.len()).sum();
    let rows = || reports.iter().flat_map(|report| &report.rows);
    let wrong: u64 = rows().map(|row| row.wrong).sum();
    let refused: u64 = rows().map(|row| row.refused).sum();
    let probes = reports.iter().filter(|report| !is_update(report));
    let lost = probes.flat_map(|report| &report.rows);
    let lost: u64 = lost.map(|row| row.sent.saturating_sub(row.received)).sum();
    let count = |count: u64, what: &str| match count {
        0 => format!("no {what}"),
        count => format!("{} {what}", number(count)),
    };
    let refused = match refused {
        0 => String::new(),
        _ => format!(", {}", count(refused, "refused")),
    };
    format!(
        "{} done: {}, {}{refused}, {}\n",
        names.join(", "),
        count(lost, "lost"),
        count(wrong, "wrong"),
        count(faults as u64, "faults")
    )
}

/// Whether rows are about a number of flow-mods.
fn is_count_of_mods(report: &Report) -> bool {
    is_update(report) && report.of == "entries"
}

/// Flow-mods a second, by the median of what is counted from the first of them on.
fn per_second(row: &Row, name: &str, median: Time) -> Option<u64> {
    if !["transmission", "barrier", "first packet", "last packet"].contains(&name) {
        return None;
    }
    let rate = u128::from(row.x) * 1_000_000_000_000;
    u64::try_from(rate.checked_div(median.as_ps().into())?).ok()
}

/// Of what came before or after the barrier one is zero each time, and one of them often always.
fn is_shown(series: &Series) -> bool {
    !series.name.ends_with("the barrier") || series.times.iter().any(|time| *time > Time::ZERO)
}

/// The share of a row's probes that was lost; `None` where none were sent, or most are meant to be dropped.
fn loss(report: &Report, row: &Row) -> Option<f64> {
    let lost = row.sent.saturating_sub(row.received) as f64;
    (row.sent > 0 && !is_update(report)).then(|| lost / row.sent as f64)
}

/// In the tests of the flow table most probes are meant to be dropped, and wrong are barriers after which a probe
/// still met the old table.
fn is_update(report: &Report) -> bool {
    UPDATES.contains(&&report.test[..])
}

/// Tests that change the flow table.
pub(crate) const UPDATES: [&str; 7] = [
    "insert",
    "insert-exact",
    "modify",
    "modify-exact",
    "delete",
    "delete-exact",
    "interaction",
];
