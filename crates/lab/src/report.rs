//! What came of a run: a table for people, JSON Lines for programs.

use crate::run::World;
use node::Outcome;
use node::link::LinkCounters;
use node::outcome::{Finish, Spread};
use nodes::meter::{Statistics, Summary};
use serde_json::{Map, Value, json};
use std::fmt::{self, Write};
use std::path::PathBuf;

/// The version of the JSON Lines, in each of them as `schema`.
pub const SCHEMA: &str = "wireline.lab/1";

/// What was measured at one place.
#[derive(Clone, Debug)]
pub struct Row {
    /// The port or node, as the lab file calls it.
    pub at: String,
    /// What was measured there.
    pub statistics: Statistics,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The lab's name.
    pub lab: String,
    /// What the lab file says about it.
    pub about: String,
    /// Where it ran.
    pub world: World,
    /// Its seed.
    pub seed: u64,
    /// What was measured, place by place.
    pub rows: Vec<Row>,
    /// The ends of each link.
    pub links: Vec<[String; 2]>,
    /// Counters of nodes and links.
    pub outcome: Outcome,
    /// What went wrong on the way without ending the run.
    pub notes: Vec<String>,
    /// Captures and plots that were written.
    pub files: Vec<PathBuf>,
    /// Captures and plots that could not be written, or only in part, and why.
    pub failures: Vec<String>,
}

/// A length of time as people read it, in a unit that suits: six digits, and more if they are needed
/// to show a tenth of a nanosecond.
fn time(ps: f64) -> String {
    let (scale, unit) = match ps {
        _ if ps < 0.5 => return "0".into(),
        _ if ps < 1e3 => (1.0, "ps"),
        _ if ps < 1e6 => (1e3, "ns"),
        _ if ps < 1e9 => (1e6, "us"),
        _ if ps < 1e12 => (1e9, "ms"),
        _ => (1e12, "s"),
    };
    let value = ps / scale;
    let six = 6usize.saturating_sub(value.log10().max(0.0) as usize + 1);
    let digits = six.max((scale.log10() as usize).saturating_sub(2));
    let text = format!("{value:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} {unit}")
}

/// A number with its thousands apart.
fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Lines of cells, each column as wide as it must be; the first is on the left, others on the right.
#[derive(Default)]
struct Table {
    lines: Vec<Vec<String>>,
    /// Headings over several columns: the first of them, how many, and the text.
    groups: Vec<(usize, usize, &'static str)>,
}

/// Blanks between two columns.
const BETWEEN: usize = 2;

impl Table {
    fn new(lines: impl IntoIterator<Item = Vec<String>>) -> Table {
        Table {
            lines: lines.into_iter().collect(),
            groups: Vec::new(),
        }
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..columns).map(width).collect();
        for &(first, count, text) in &self.groups {
            let wide: usize = widths[first..first + count].iter().sum();
            let wide = wide + BETWEEN * (count - 1);
            // A blank and a dash on either side of the text.
            widths[first] += (text.len() + 4).saturating_sub(wide);
        }
        widths
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let mut heading = String::new();
        for &(first, count, text) in &self.groups {
            let start: usize = widths[..first].iter().map(|width| width + BETWEEN).sum();
            let wide: usize = widths[first..first + count].iter().sum();
            let wide = wide + BETWEEN * (count - 1);
            let text = format!(" {text} ");
            write!(heading, "{:start$}", "", start = start - heading.len())?;
            write!(heading, "{text:-^wide$}")?;
        }
        if !heading.is_empty() {
            writeln!(f, "{heading}")?;
        }
        for line in &self.lines {
            let mut text = String::new();
            for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(text, "{cell:<width$}")?,
                    _ => write!(text, "{:BETWEEN$}{cell:>width$}", "")?,
                }
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

fn cells(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

impl Report {
    fn measured(&self) -> Table {
        let head = [
            "at", "packets", "lost", "mean", "sd", "min", "max", "mean", "sd",
        ];
        let mut table = Table::new([cells(&head)]);
        table.groups = vec![(3, 4, "inter-packet delay"), (7, 2, "delay")];
        for Row { at, statistics } in &self.rows {
            let (gaps, delays) = (statistics.gaps(), statistics.delays());
            let mut line = vec![at.clone(), number(statistics.packets())];
            line.push(match statistics.probes() {
                0 => "-".into(),
                _ => number(statistics.order().lost),
            });
            line.extend(self.times(&gaps));
            line.extend(self.times(&delays).into_iter().take(2));
            table.lines.push(line);
        }
        table
    }

    /// Mean, deviation, least and greatest, as finely as the world's stamps are.
    fn times(&self, summary: &Summary) -> Vec<String> {
        if summary.count == 0 {
            return vec!["-".into(); 4];
        }
        let (min, max) = (summary.min as f64, summary.max as f64);
        let ps = [summary.mean, summary.sd, min, max];
        let ps = ps.map(|ps| match self.world {
            World::Sim => ps,
            World::Live => (ps / 1e3).round() * 1e3,
        });
        ps.map(time).into()
    }

    /// Each thing that went wrong: where, what, how often.
    pub fn losses(&self) -> Vec<(String, String, u64)> {
        let mut losses = Vec::new();
        for node in &self.outcome.nodes {
            for (reason, count) in &node.drops {
                losses.push((node.name.clone(), reason.clone(), *count));
            }
        }
        for (ends, counters) in self.links.iter().zip(&self.outcome.links) {
            for (direction, counters) in counters.iter().enumerate() {
                let way = format!("{} -> {}", ends[direction], ends[1 - direction]);
                for (reason, count) in link_losses(counters) {
                    losses.push((way.clone(), reason.into(), count));
                }
            }
        }
        losses.retain(|(_, _, count)| *count > 0);
        losses
    }

    /// Writes the report as JSON Lines: one `run`, then `measure`, `node`, `link` and `file` lines.
    /// Times are picoseconds.
    pub fn json(&self) -> String {
        let mut lines = vec![self.run_line()];
        for Row { at, statistics } in &self.rows {
            let order = statistics.order();
            lines.push(json!({
                "type": "measure", "at": at,
                "packets": statistics.packets(), "bytes": statistics.bytes(),
                "probes": statistics.probes(), "lost": order.lost, "reordered": order.reordered,
                "duplicates": order.duplicates, "stale": order.stale, "early": statistics.early(),
                "gap": summary(&statistics.gaps()), "delay": summary(&statistics.delays()),
            }));
        }
        for node in &self.outcome.nodes {
            let object = |pairs: &[(String, u64)]| -> Map<String, Value> {
                pairs
                    .iter()
                    .map(|(name, count)| (name.clone(), json!(count)))
                    .collect()
            };
            let (counters, drops) = (object(&node.counters), object(&node.drops));
            let name = &node.name;
            lines.push(
                json!({ "type": "node", "node": name, "counters": counters, "drops": drops }),
            );
        }
        for (ends, counters) in self.links.iter().zip(&self.outcome.links) {
            for (direction, counters) in counters.iter().enumerate() {
                lines.push(json!({
                    "type": "link", "from": ends[direction], "to": ends[1 - direction],
                    "sent": counters.sent, "bytes": counters.bytes, "late": counters.late,
                    "queue_full": counters.queue_full, "lost": counters.lost,
                    "bit_errors": counters.bit_errors, "duplicated": counters.duplicated,
                    "reordered": counters.reordered,
                }));
            }
        }
        for note in &self.notes {
            lines.push(json!({ "type": "note", "note": note }));
        }
        for file in &self.files {
            lines.push(json!({ "type": "file", "path": file.display().to_string() }));
        }
        for failure in &self.failures {
            lines.push(json!({ "type": "failure", "failure": failure }));
        }
        let mut text = String::new();
        for mut line in lines {
            line["schema"] = json!(SCHEMA);
            text.push_str(&line.to_string());
            text.push('\n');
        }
        text
    }

    fn run_line(&self) -> Value {
        let outcome = &self.outcome;
        let mut line = json!({
            "type": "run", "lab": self.lab, "world": self.world.name(), "seed": self.seed,
            "ended_ps": outcome.ended.as_ps(), "finish": finish(outcome.finish),
            "frames": outcome.frames, "events": outcome.events, "stamps": outcome.stamps,
        });
        if let Some(timing) = &outcome.timing {
            let spread = |spread: &Spread| {
                json!({
                    "p50_ps": spread.p50.as_ps(), "p99_ps": spread.p99.as_ps(),
                    "p999_ps": spread.p999.as_ps(), "max_ps": spread.max.as_ps(),
                })
            };
            line["timing_error"] = json!({
                "frames": timing.frames, "late": timing.late, "in_pauses": timing.in_pauses,
                "raw": spread(&timing.raw), "trimmed": spread(&timing.trimmed),
                "floor": spread(&timing.floor), "stamped": timing.stamped,
                "at_driver": spread(&timing.at_driver), "earliest_ps": timing.earliest.as_ps(),
                "lead_ps": timing.lead.as_ps(), "method": timing.method,
                "real_time": timing.real_time,
            });
        }
        line
    }
}

fn summary(summary: &Summary) -> Value {
    match summary.count {
        0 => Value::Null,
        _ => json!({
            "count": summary.count, "mean_ps": summary.mean, "sd_ps": summary.sd,
            "min_ps": summary.min, "max_ps": summary.max,
        }),
    }
}

fn finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Idle => "nothing left to happen",
        Finish::Duration => "duration",
        Finish::Stopped => "stopped",
    }
}

fn link_losses(counters: &LinkCounters) -> [(&'static str, u64); 6] {
    [
        ("queue full", counters.queue_full),
        ("lost on the way", counters.lost),
        ("bit errors", counters.bit_errors),
        ("delivered twice", counters.duplicated),
        ("held up", counters.reordered),
        ("late departures", counters.late),
    ]
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = &self.outcome;
        let (world, seed) = (self.world.name(), self.seed);
        let ended = time(outcome.ended.as_ps() as f64);
        write!(f, "{}: world {world}, seed {seed}, {ended}", self.lab)?;
        if self.world == World::Live {
            write!(f, ", {} stamps", outcome.stamps)?;
        }
        match outcome.finish {
            Finish::Stopped => writeln!(f, ", stopped")?,
            Finish::Idle | Finish::Duration => writeln!(f)?,
        }
        if !self.about.is_empty() {
            writeln!(f, "{}", self.about)?;
        }
        writeln!(f)?;
        write!(f, "{}", self.measured())?;
        if let Some(timing) = &outcome.timing {
            writeln!(f)?;
            let line = |name: &str, spread: &Spread| {
                let mut line = vec![name.to_string()];
                for value in [spread.p50, spread.p99, spread.p999, spread.max] {
                    line.push(time(value.as_ps() as f64));
                }
                line
            };
            let head = cells(&["timing error of departures", "p50", "p99", "p99.9", "max"]);
            let raw = line("  all", &timing.raw);
            let trimmed = line("  without the machine's pauses", &timing.trimmed);
            let mut lines = vec![head, raw, trimmed];
            lines.push(line("  a bare loop on the clock", &timing.floor));
            if timing.stamped > 0 {
                lines.push(line("  at the driver", &timing.at_driver));
            }
            write!(f, "{}", Table::new(lines))?;
            let (frames, late) = (number(timing.frames), number(timing.late));
            let in_pauses = number(timing.in_pauses);
            writeln!(
                f,
                "  of {frames} departures, {late} late, {in_pauses} in pauses"
            )?;
            let lines = timing.lines();
            if let Some(how) = lines.last() {
                writeln!(f, "{how}")?;
            }
        }
        let losses = self.losses();
        if !losses.is_empty() {
            let head = cells(&["where", "what", "frames"]);
            let lines = losses
                .into_iter()
                .map(|(at, what, count)| vec![at, what, number(count)]);
            write!(f, "\n{}", Table::new(std::iter::once(head).chain(lines)))?;
        }
        let (frames, events) = (number(outcome.frames), number(outcome.events));
        writeln!(f, "\n{frames} frames delivered in {events} events")?;
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        for file in &self.files {
            writeln!(f, "wrote {}", file.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_six_digits_and_a_unit_that_suits() {
        for (ps, text) in [
            (0.0, "0"),
            (67_200.0, "67.2 ns"),
            (1e12, "1 s"),
            (1_000_000_115_200.0, "1.0000001152 s"),
            (999.4, "999.4 ps"),
            (123_456_789.0, "123.4568 us"),
        ] {
            assert_eq!(time(ps), text);
        }
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(number(123), "123");
    }
}
