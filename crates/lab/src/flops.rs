//! What OFLOPS measured, for people and as JSON Lines.

use crate::table::{Table, cells, number, time};
use openflow::flops::{Report, Series};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether the test under way is over: switch and instrument would keep their channel up for ever.
static OVER: AtomicBool = AtomicBool::new(false);

/// Whether the last OFLOPS test that was begun in this process is over, so that its lab can end: for
/// [`Options::stop`](crate::Options::stop). One such lab runs at a time.
pub fn is_over() -> bool {
    OVER.load(Ordering::SeqCst)
}

/// A test begins.
pub(crate) fn begin() {
    OVER.store(false, Ordering::SeqCst);
}

/// Reports of the measuring nodes of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured(Arc<Mutex<Vec<Report>>>);

impl Measured {
    /// Adds one.
    pub fn add(&self, report: Report) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(report);
        OVER.store(true, Ordering::SeqCst);
    }

    /// All so far.
    pub fn all(&self) -> Vec<Report> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The reports as tables; nothing where there are none.
pub fn text(reports: &[Report]) -> String {
    let mut text = String::new();
    for report in reports {
        let head = [
            report.of, "what", "times", "median", "p10", "p90", "sd", "loss", "wrong",
        ];
        let mut lines = vec![cells(&head)];
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
                lines.push(vec![
                    name,
                    "-".into(),
                    "0".into(),
                    "-".into(),
                    "-".into(),
                    "-".into(),
                    "-".into(),
                    loss,
                    wrong,
                ]);
                continue;
            }
            for series in &row.series {
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
            }
        }
        let _ = write!(text, "\nOFLOPS: {}\n\n{}", report.test, Table::new(lines));
        for fault in &report.faults {
            let _ = writeln!(text, "  fault: {fault}");
        }
    }
    text
}

/// In the tests of the flow table most probes are meant to be dropped, and wrong are barriers behind which a probe
/// still met the old table.
fn is_update(report: &Report) -> bool {
    matches!(report.test, "insert" | "modify" | "delete")
}

/// A line of JSON for each row.
pub(crate) fn lines(reports: &[Report]) -> Vec<Value> {
    let mut all = Vec::new();
    for report in reports {
        for row in &report.rows {
            let series = |series: &Series| {
                let ps = |part| series.percentile(part).map(node::Time::as_ps);
                let (mean, deviation) = series.mean_and_deviation();
                json!({
                    "what": series.name, "times": series.times.len(), "p10_ps": ps(10),
                    "median_ps": ps(50), "p90_ps": ps(90), "mean_ps": mean, "sd_ps": deviation,
                })
            };
            let series: Vec<Value> = row.series.iter().map(series).collect();
            all.push(json!({
                "type": "flops", "test": report.test, "of": report.of, "name": row.name, "x": row.x,
                "sent": row.sent, "received": row.received, "wrong": row.wrong, "series": series,
            }));
        }
        for fault in &report.faults {
            all.push(json!({ "type": "flops-fault", "test": report.test, "fault": fault }));
        }
    }
    all
}
