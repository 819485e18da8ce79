//! Results of OFLOPS as tables.

use super::{is_count_of_mods, is_shown, loss, per_second};
use ::report::text::{Table, cells, number, time};
use openflow::flops::{Report, Row, Series};
use std::fmt::Write;

/// The reports as tables; empty without reports.
pub fn text(reports: &[Report]) -> String {
    let mut text = String::new();
    for report in reports {
        let table = table(report);
        let _ = write!(text, "\nOFLOPS: {}\n\n{table}", report.test);
        faults(report, &mut text);
    }
    text
}

/// A line for each fault.
pub(super) fn faults(report: &Report, text: &mut String) {
    for fault in &report.faults {
        let _ = writeln!(text, "  fault: {fault}");
    }
}

/// Columns that only some tests have.
struct Columns {
    refused: bool,
    rate: bool,
    load: bool,
}

fn table(report: &Report) -> Table {
    let columns = Columns {
        refused: report.rows.iter().any(|row| row.refused > 0),
        rate: is_count_of_mods(report),
        load: report.rows.iter().any(|row| row.busy.is_some()),
    };
    let mut head = cells(&[
        &*report.of,
        "what",
        "times",
        "median",
        "p10",
        "p90",
        "sd",
        "loss",
        "wrong",
    ]);
    let more = [
        (columns.refused, "refused"),
        (columns.rate, "flow-mods/s"),
        (columns.load, "processor"),
    ];
    let more = more.iter().filter(|(shown, _)| *shown);
    head.extend(more.map(|(_, name)| name.to_string()));
    let mut lines = vec![head];
    for row in &report.rows {
        let mut shown = row.series.iter().filter(|series| is_shown(series));
        lines.push(line(report, row, shown.next(), true, &columns));
        lines.extend(shown.map(|series| line(report, row, Some(series), false, &columns)));
    }
    Table::new(lines)
}

/// A series of a row; the first has the row's name and counts.
fn line(
    report: &Report,
    row: &Row,
    series: Option<&Series>,
    first: bool,
    columns: &Columns,
) -> Vec<String> {
    let none = || "-".to_string();
    let once = |text: String| if first { text } else { String::new() };
    let at = |part| {
        let at = series.and_then(|series| series.percentile(part));
        at.map_or_else(none, |at| time(at.as_ps() as f64))
    };
    let mut line = vec![
        once(row.name.clone()),
        series.map_or_else(none, |series| series.name.to_string()),
        number(series.map_or(0, |series| series.times.len() as u64)),
        at(50),
        at(10),
        at(90),
        series.map_or_else(none, |series| time(series.mean_and_deviation().1)),
        once(loss(report, row).map_or_else(none, |loss| format!("{:.1}%", 100.0 * loss))),
        once(number(row.wrong)),
    ];
    if columns.refused {
        line.push(once(number(row.refused)));
    }
    if columns.rate {
        let rate = series.map_or(Some("-".into()), |series| {
            let median = series.percentile(50)?;
            per_second(row, &series.name, median).map(number)
        });
        line.push(rate.unwrap_or_default());
    }
    if columns.load {
        let load = row.busy.filter(|_| series.is_some());
        line.push(load.map_or(String::new(), |busy| {
            format!("{}.{}%", busy / 10, busy % 10)
        }));
    }
    line
}
