//! Repeated runs of the same tests: medians and their range over the runs.

use super::text::faults;
use super::{is_count_of_mods, is_shown, loss, per_second};
use ::report::text::{Table, cells, number, time};
use node::Time;
use openflow::flops::{Report, Row};
use serde_json::{Value, json};
use std::fmt::Write;

/// Reports of repeated runs of one list of tests.
///
/// Percentiles over packets describe one run. Runs differ by more: time of day, addresses in memory, load of the machine.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// The reports of each run.
    runs: Vec<Vec<Report>>,
}

/// The median of a series over runs, and the range of the runs' medians.
struct Range {
    name: String,
    runs: usize,
    median: Time,
    least: Time,
    greatest: Time,
}

impl Range {
    /// Of medians of runs; `None` without any.
    fn of(name: &str, mut medians: Vec<Time>) -> Option<Range> {
        medians.sort_unstable();
        Some(Range {
            name: name.into(),
            runs: medians.len(),
            median: *medians.get(medians.len() / 2)?,
            least: *medians.first()?,
            greatest: *medians.last()?,
        })
    }
}

impl Runs {
    /// Adds a run.
    pub fn add(&mut self, reports: Vec<Report>) {
        self.runs.push(reports);
    }

    /// All runs' reports of the test that is `test`-th in the list.
    fn reports(&self, test: usize) -> Vec<&Report> {
        self.runs.iter().filter_map(|run| run.get(test)).collect()
    }

    /// The tests by all runs' reports.
    fn tests(&self) -> impl Iterator<Item = Vec<&Report>> {
        let most = self.runs.iter().map(Vec::len).max().unwrap_or(0);
        (0..most).map(|test| self.reports(test))
    }

    /// The tests as tables: for each series the median of the runs' medians, the lowest and the highest of them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for reports in self.tests() {
            let Some(first) = reports.first() else {
                continue;
            };
            let rate = is_count_of_mods(first);
            let mut head = cells(&[
                &*first.of, "what", "runs", "median", "lowest", "highest", "loss", "wrong",
            ]);
            if rate {
                head.push("flow-mods/s".into());
            }
            let mut lines = vec![head];
            for (index, row) in first.rows.iter().enumerate() {
                lines.extend(row_lines(&reports, index, row, rate));
            }
            let _ = write!(
                text,
                "\nOFLOPS: {}, medians of {} runs\n\n{}",
                first.test,
                reports.len(),
                Table::new(lines)
            );
            reports.iter().for_each(|report| faults(report, &mut text));
        }
        text
    }

    /// A `flops-runs` line for each row, over all runs.
    pub fn lines(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for reports in self.tests() {
            let Some(first) = reports.first() else {
                continue;
            };
            for (index, row) in first.rows.iter().enumerate() {
                let series = ranges(&reports, index);
                let series = series.iter().map(|range| {
                    json!({
                        "what": range.name, "runs": range.runs, "median_ps": range.median.as_ps(),
                        "lowest_ps": range.least.as_ps(), "highest_ps": range.greatest.as_ps(),
                    })
                });
                let series: Vec<Value> = series.collect();
                let sum = |count: fn(&Row) -> u64| rows(&reports, index).map(count).sum::<u64>();
                all.push(json!({
                    "type": "flops-runs", "test": first.test, "of": first.of, "name": row.name, "x": row.x,
                    "runs": reports.len(), "sent": sum(|row| row.sent), "received": sum(|row| row.received),
                    "wrong": sum(|row| row.wrong), "refused": sum(|row| row.refused), "series": series,
                }));
            }
        }
        all
    }
}

/// A row in every run.
fn rows<'a>(reports: &'a [&Report], index: usize) -> impl Iterator<Item = &'a Row> {
    reports
        .iter()
        .filter_map(move |report| report.rows.get(index))
}

/// The series of a row over all runs, in the order in which they first appear.
fn ranges(reports: &[&Report], index: usize) -> Vec<Range> {
    let mut names: Vec<&str> = Vec::new();
    for series in rows(reports, index).flat_map(|row| &row.series) {
        if !names.contains(&&series.name[..]) && is_shown(series) {
            names.push(&series.name);
        }
    }
    let range = |name: &&str| {
        let series = rows(reports, index).flat_map(|row| &row.series);
        let own = series.filter(|series| series.name == *name);
        Range::of(
            name,
            own.filter_map(|series| series.percentile(50)).collect(),
        )
    };
    names.iter().filter_map(range).collect()
}

fn row_lines(reports: &[&Report], index: usize, row: &Row, rate: bool) -> Vec<Vec<String>> {
    let mut losses: Vec<f64> = reports
        .iter()
        .filter_map(|report| loss(report, report.rows.get(index)?))
        .collect();
    losses.sort_unstable_by(f64::total_cmp);
    let share = |share: &f64| format!("{:.1}", 100.0 * share);
    let loss = match (losses.first(), losses.last()) {
        (Some(least), Some(most)) if share(least) != share(most) => {
            format!("{} to {}%", share(least), share(most))
        }
        (Some(all), _) => format!("{}%", share(all)),
        _ => "-".into(),
    };
    let wrong: u64 = rows(reports, index).map(|row| row.wrong).sum();
    let refused: u64 = rows(reports, index).map(|row| row.refused).sum();
    let what = if refused > 0 { "refused" } else { "-" };
    let empty = Range {
        name: what.into(),
        runs: 0,
        median: Time::ZERO,
        least: Time::ZERO,
        greatest: Time::ZERO,
    };
    let mut all = ranges(reports, index);
    if all.is_empty() {
        all.push(empty);
    }
    let line = |(at, range): (usize, &Range)| {
        let once = |text: &str| if at == 0 { text.into() } else { String::new() };
        let show = |time_: Time| match range.runs {
            0 => "-".into(),
            _ => time(time_.as_ps() as f64),
        };
        let mut line = vec![
            once(&row.name),
            range.name.clone(),
            number(range.runs as u64),
            show(range.median),
            show(range.least),
            show(range.greatest),
            once(&loss),
            once(&number(wrong)),
        ];
        if rate {
            let rate = per_second(row, &range.name, range.median);
            line.push(rate.map_or(String::new(), number));
        }
        line
    };
    all.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(delays: &[u64], sent: u64) -> Report {
        let mut row = Row::new("Forward", 1);
        row.sent = sent;
        row.received = delays.len() as u64;
        for &delay in delays {
            row.add("delay", Time::from_us(delay));
        }
        Report {
            test: "actions".into(),
            of: "action".into(),
            rows: vec![row],
            ..Report::default()
        }
    }

    #[test]
    fn the_range_is_that_of_the_runs_medians_and_not_of_packets() {
        let mut runs = Runs::default();
        for (delays, sent) in [([1, 20, 900], 3), ([5, 30, 31], 4), ([1, 25, 26], 3)] {
            runs.add(vec![report(&delays, sent)]);
        }
        let lines = runs.lines();
        assert_eq!(lines.len(), 1);
        let all = &lines[0];
        assert_eq!(
            (&all["type"], &all["runs"]),
            (&json!("flops-runs"), &json!(3))
        );
        let series = &all["series"][0];
        assert_eq!(series["median_ps"], 25_000_000);
        assert_eq!(series["lowest_ps"], 20_000_000);
        assert_eq!(series["highest_ps"], 30_000_000);
        let text = runs.text();
        assert!(text.contains("actions, medians of 3 runs"), "{text}");
        assert!(text.contains("25 us"), "{text}");
        assert!(text.contains("0.0 to 25.0%"), "{text}");
    }

    #[test]
    fn a_run_that_stopped_early_and_a_refused_row_are_told_apart() {
        let mut runs = Runs::default();
        let mut refused = report(&[], 0);
        refused.rows[0].refused = 1;
        runs.add(vec![report(&[7], 1), refused.clone()]);
        runs.add(vec![report(&[9], 1)]);
        let text = runs.text();
        assert!(text.contains("medians of 2 runs") && text.contains("medians of 1 runs"));
        assert!(text.contains("refused"), "{text}");
        assert_eq!(runs.lines().last().expect("a line")["refused"], 1);
    }
}
