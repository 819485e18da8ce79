//! What OFLOPS measured, for people and as JSON Lines.

pub mod agent;
mod figure;

pub use figure::{Device, figure};

use crate::table::{Table, cells, number, time};
use node::Time;
use openflow::flops::{Report, Row, Series};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fmt::Write;
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

/// What came of the tests, in a line: how many there were, the barrier's worst, and whether anything was wrong.
pub fn verdict(reports: &[Report]) -> String {
    let names: Vec<&str> = reports.iter().map(|report| report.test).collect();
    let faults: usize = reports.iter().map(|report| report.faults.len()).sum();
    let rows = || reports.iter().flat_map(|report| &report.rows);
    let wrong: u64 = rows().map(|row| row.wrong).sum();
    let probes = reports.iter().filter(|report| !is_update(report));
    let lost = probes.flat_map(|report| &report.rows);
    let lost: u64 = lost.map(|row| row.sent.saturating_sub(row.received)).sum();
    let count = |count: u64, what: &str| match count {
        0 => format!("no {what}"),
        count => format!("{} {what}", number(count)),
    };
    format!(
        "{} done: {}, {}, {}\n",
        names.join(", "),
        count(lost, "lost"),
        count(wrong, "wrong"),
        count(faults as u64, "faults")
    )
}

/// The reports as tables; nothing where there are none.
pub fn text(reports: &[Report]) -> String {
    let mut text = String::new();
    for report in reports {
        let head = [
            report.of, "what", "times", "median", "p10", "p90", "sd", "loss", "wrong",
        ];
        let mut lines = vec![cells(&head)];
        let counts = is_count_of_mods(report);
        if counts {
            lines[0].push("flow-mods/s".into());
        }
        let loaded = report.rows.iter().any(|row| row.busy.is_some());
        if loaded {
            lines[0].push("processor".into());
        }
        for row in &report.rows {
            let mut name = row.name.clone();
            let mut loss = match row.sent {
                0 => "-".into(),
                _ if is_update(report) => "-".into(),
                sent => {
                    let lost = sent.saturating_sub(row.received);
                    format!("{:.1}%", 100.0 * lost as f64 / sent as f64)
                }
            };
            let mut wrong = number(row.wrong);
            if row.series.is_empty() {
                let mut line = vec![
                    name,
                    "-".into(),
                    "0".into(),
                    "-".into(),
                    "-".into(),
                    "-".into(),
                    "-".into(),
                    loss,
                    wrong,
                ];
                if counts {
                    line.push("-".into());
                }
                lines.push(line);
                continue;
            }
            for series in row.series.iter().filter(|series| is_shown(series)) {
                let at = |part| {
                    series
                        .percentile(part)
                        .map_or("-".into(), |at| time(at.as_ps() as f64))
                };
                let (_, deviation) = series.mean_and_deviation();
                let times = number(series.times.len() as u64);
                lines.push(vec![
                    std::mem::take(&mut name),
                    series.name.into(),
                    times,
                    at(50),
                    at(10),
                    at(90),
                    time(deviation),
                    std::mem::take(&mut loss),
                    std::mem::take(&mut wrong),
                ]);
                if let (true, Some(line)) = (counts, lines.last_mut()) {
                    let rate = per_second(row, series);
                    line.push(rate.map_or(String::new(), number));
                }
                if let (true, Some(busy), Some(line)) = (loaded, row.busy, lines.last_mut()) {
                    line.push(format!("{}.{}%", busy / 10, busy % 10));
                }
            }
        }
        let _ = write!(text, "\nOFLOPS: {}\n\n{}", report.test, Table::new(lines));
        for fault in &report.faults {
            let _ = writeln!(text, "  fault: {fault}");
        }
    }
    text
}

/// Of what came before or after the barrier one is zero each time, and one of them often always.
fn is_shown(series: &Series) -> bool {
    !series.name.ends_with("the barrier") || series.times.iter().any(|time| *time > Time::ZERO)
}

/// Whether rows are about so many flow-mods.
fn is_count_of_mods(report: &Report) -> bool {
    is_update(report) && report.of == "entries"
}

/// Flow-mods a second, by the median of what is counted from the first of them on.
fn per_second(row: &Row, series: &Series) -> Option<u64> {
    let whole = ["transmission", "barrier", "first packet", "last packet"];
    let median = series
        .percentile(50)
        .filter(|_| whole.contains(&series.name))?;
    let rate = u128::from(row.x) * 1_000_000_000_000;
    u64::try_from(rate.checked_div(median.as_ps().into())?).ok()
}

/// In the tests of the flow table most probes are meant to be dropped, and wrong are barriers behind which a probe
/// still met the old table.
fn is_update(report: &Report) -> bool {
    matches!(report.test, "insert" | "modify" | "delete" | "interaction")
}

/// A line of JSON for each row.
pub fn lines(reports: &[Report]) -> Vec<Value> {
    let mut all = Vec::new();
    for report in reports {
        for row in &report.rows {
            let series = |series: &Series| {
                let ps = |part| series.percentile(part).map(Time::as_ps);
                let (mean, deviation) = series.mean_and_deviation();
                let mut line = json!({
                    "what": series.name, "times": series.times.len(), "p10_ps": ps(10),
                    "median_ps": ps(50), "p90_ps": ps(90), "mean_ps": mean, "sd_ps": deviation,
                });
                if let Some(rate) = per_second(row, series).filter(|_| is_count_of_mods(report)) {
                    line["per_second"] = rate.into();
                }
                line
            };
            let series: Vec<Value> = row.series.iter().map(series).collect();
            all.push(json!({
                "type": "flops", "test": report.test, "of": report.of, "name": row.name, "x": row.x,
                "sent": row.sent, "received": row.received, "wrong": row.wrong, "busy": row.busy,
                "series": series,
            }));
        }
        for fault in &report.faults {
            all.push(json!({ "type": "flops-fault", "test": report.test, "fault": fault }));
        }
    }
    all
}
