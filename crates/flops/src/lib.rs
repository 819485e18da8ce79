//! OFLOPS in labs: the kind of node `flops`, which measures an OpenFlow switch, and the instrument that has its results.
//!
//! The node itself, and what it measures, are in [`openflow::flops`]. All that this crate needs of labs is public: it shows that a topic
//! of its own needs nothing else.
//!
//! | module | what is in it |
//! |---|---|
//! | `kind` | the keys of a node |
//! | [`agent`] | the load of a switch's processor, by SNMP or of a process |
//! | `program` | tests that are programs in any language |
//! | `text`, `lines`, `runs` | results as tables, as JSON Lines, and of several runs |
//! | `figure` | the paper's figures |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod agent;
mod figure;
mod kind;
mod lines;
mod program;
mod runs;
mod text;

pub use figure::{Device, figure};
pub use lines::lines;
pub use runs::Runs;
pub use text::text;

use ::report::text::{number, three_digits};
use lab::{Attachments, Finished, Instrument, Measurement, Registry, Section};
use node::Time;
use openflow::flops::{Report, Row, Series};
use parking_lot::Mutex;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The kind of the nodes that measure.
const KIND: &str = "flops";

/// Adds the kind `flops` and its instrument.
#[must_use]
pub fn add(registry: Registry) -> Registry {
    let registry = registry.with_kind(kind::kind());
    registry.with_instrument(Oflops::default)
}

/// The instrument: the results of nodes of the kind `flops`, which need no section.
#[derive(Debug, Default)]
struct Oflops;

impl Instrument for Oflops {
    fn attach(&self, attachments: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        let wanted = attachments.lab().results(KIND);
        if wanted == 0 {
            return None;
        }
        let reports = Measured::default();
        attachments.provide(reports.clone());
        Some(Box::new(Running { wanted, reports }))
    }
}

/// The instrument in a run.
struct Running {
    /// The number of tests of all nodes.
    wanted: usize,
    reports: Measured,
}

impl Measurement for Running {
    fn is_done(&self) -> bool {
        self.reports.0.lock().len() >= self.wanted
    }

    fn finish(&self, _: &Finished<'_>) -> Option<Arc<dyn Section>> {
        let reports = self.reports.0.lock();
        Some(Arc::new(Tests(reports.clone())))
    }
}

/// Reports of the measuring nodes of a run.
#[derive(Clone, Debug, Default)]
struct Measured(Arc<Mutex<Vec<Report>>>);

/// The tests that were done: the instrument's section of the report.
#[derive(Clone, Debug)]
pub struct Tests(pub Vec<Report>);

impl Section for Tests {
    fn write(&self, f: &mut String, _verbose: bool) -> fmt::Result {
        f.push_str(&text(&self.0));
        Ok(())
    }

    fn json(&self) -> Vec<Value> {
        lines(&self.0)
    }

    fn compared(&self) -> Vec<(String, String)> {
        let rows = self.0.iter().flat_map(|report| {
            let rows = report.rows.iter();
            rows.map(move |row| compared(report, row))
        });
        rows.flatten().collect()
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

/// Of the two series before and after the barrier, each sample is zero in one; a series that is always zero is left out.
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
const UPDATES: [&str; 7] = [
    "insert",
    "insert-exact",
    "modify",
    "modify-exact",
    "delete",
    "delete-exact",
    "interaction",
];

/// The medians of a row of OFLOPS, and its lost and wrong probes.
fn compared(report: &Report, row: &Row) -> Vec<(String, String)> {
    // A row of insertions is called after them.
    let of = row.name.strip_prefix(&report.test[..]).unwrap_or(&row.name);
    let of = of.trim_start();
    let name = |what: &str| match &report.of[..] {
        "action" => format!("{} {of}: {what}", report.test),
        things => format!("{} {of} {things}: {what}", report.test),
    };
    let series = row.series.iter().filter_map(|series| {
        let median = series.percentile(50)?.as_ps() as f64;
        Some((
            name(&format!("{}, median", series.name)),
            three_digits(median),
        ))
    });
    let mut figures: Vec<_> = series.collect();
    if row.wrong > 0 {
        figures.push((name("wrong"), number(row.wrong)));
    }
    figures
}
