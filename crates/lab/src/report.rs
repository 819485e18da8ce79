//! What came of a run: a table for people, JSON Lines for programs.

use crate::paced::Pace;
use crate::run::World;
use crate::table::{Table, cells, number, time};
use live::crew::JobReport;
use node::link::LinkCounters;
use node::outcome::{Finish, Spread};
use node::{Histogram, Outcome};
use nodes::meter::{Statistics, Summary};
use packet::printable;
use serde_json::{Map, Value, json};
use std::fmt::{self, Write};
use std::path::PathBuf;

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
    /// The share of the run for which each direction of a link was busy; `None` where a frame takes no time.
    pub busy: Vec<[Option<f64>; 2]>,
    /// Counters of nodes and links.
    pub outcome: Outcome,
    /// What simulated time was worth that was kept to the clock.
    pub pace: Option<Pace>,
    /// What came of the programs, where the lab has real ones.
    pub jobs: Vec<JobReport>,
    /// What went wrong on the way without ending the run.
    pub notes: Vec<String>,
    /// Packets of replayed files that were skipped, cut short, or could not be read; the notes tell of them.
    pub lost: u64,
    /// Whether a signal ended a replayed file before its end.
    pub stopped: bool,
    /// What OFLOPS measured.
    pub flops: Vec<openflow::flops::Report>,
    /// Captures and plots that were written.
    pub files: Vec<PathBuf>,
    /// Captures and plots that could not be written, or only in part, and why.
    pub failures: Vec<String>,
    /// Plots that were not written, as nothing would be seen in them, and why.
    pub empty: Vec<String>,
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

    /// The percentiles of inter-packet delays and delays, place by place. They are at most 1/32 above the
    /// truth, and at most 1/4096 where a plot was drawn.
    pub fn percentiles(&self) -> Table {
        let head = ["at", "p50", "p99", "p99.9", "p50", "p99", "p99.9"];
        let mut table = Table::new([cells(&head)]);
        table.groups = vec![(1, 3, "inter-packet delay"), (4, 3, "delay")];
        for Row { at, statistics } in &self.rows {
            let mut line = vec![at.clone()];
            for histogram in [statistics.gap_histogram(), statistics.delay_histogram()] {
                line.extend([500, 990, 999].map(|part| match histogram.total() {
                    0 => "-".into(),
                    _ => time(histogram.value_at(part, 1_000) as f64),
                }));
            }
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

    /// Writes the report as JSON Lines: one `run`, then `measure`, `node`, `flow`, `link` and `file` lines.
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
                "gap": summary(&statistics.gaps(), statistics.gap_histogram()),
                "delay": summary(&statistics.delays(), statistics.delay_histogram()),
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
            lines.extend(node.flows.iter().map(|flow| crate::flows::json(name, flow)));
        }
        let busy = self
            .busy
            .iter()
            .copied()
            .chain(std::iter::repeat([None; 2]));
        for ((ends, counters), busy) in self.links.iter().zip(&self.outcome.links).zip(busy) {
            for (direction, counters) in counters.iter().enumerate() {
                let mut line = json!({
                    "type": "link", "from": ends[direction], "to": ends[1 - direction],
                    "sent": counters.sent, "bytes": counters.bytes, "late": counters.late,
                    "busy": busy[direction], "longest_queue": counters.longest_queue,
                    "queue_full": counters.queue_full, "lost": counters.lost,
                    "bit_errors": counters.bit_errors, "duplicated": counters.duplicated,
                    "reordered": counters.reordered,
                    "delivered": counters.delivered, "in_flight": counters.in_flight,
                });
                if counters.line.is_some() {
                    line["line"] = crate::lines::json(counters);
                }
                lines.push(line);
            }
        }
        lines.extend(crate::programs::lines(&self.jobs));
        lines.extend(crate::flops::lines(&self.flops));
        for note in &self.notes {
            lines.push(json!({ "type": "note", "note": note }));
        }
        for file in &self.files {
            lines.push(json!({ "type": "file", "path": file.display().to_string() }));
        }
        for failure in self.failures.iter().chain(&self.empty) {
            lines.push(json!({ "type": "failure", "failure": failure }));
        }
        let mut text = String::new();
        for line in lines {
            let line = line.to_string();
            // Writing to a String does not fail.
            let _ = writeln!(
                text,
                "{{\"schema\":\"{}\",{}",
                packet::json::schema("lab"),
                &line[1..]
            );
        }
        text
    }

    fn run_line(&self) -> Value {
        let outcome = &self.outcome;
        let mut line = json!({
            "type": "run", "lab": self.lab, "world": self.world.name(), "seed": self.seed,
            "ended_ps": outcome.ended.as_ps(), "finish": finish(outcome.finish),
            "frames": outcome.frames, "events": outcome.events, "stamps": outcome.stamps,
            "lost_input": self.lost,
        });
        let spread = |spread: &Spread| {
            json!({
                "p50_ps": spread.p50.as_ps(), "p99_ps": spread.p99.as_ps(),
                "p999_ps": spread.p999.as_ps(), "max_ps": spread.max.as_ps(),
            })
        };
        if let Some(pace) = &self.pace {
            line["realtime"] = json!({
                "behind": spread(&pace.behind),
                "entered": pace.entered, "entering": spread(&pace.entering),
                "left": pace.left, "leaving": spread(&pace.leaving), "lost": pace.lost,
            });
        }
        if let Some(timing) = &outcome.timing {
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

fn summary(summary: &Summary, histogram: &Histogram) -> Value {
    let at = |part| histogram.value_at(part, 1_000);
    match summary.count {
        0 => Value::Null,
        _ => json!({
            "count": summary.count, "mean_ps": summary.mean, "sd_ps": summary.sd,
            "min_ps": summary.min, "max_ps": summary.max,
            "p50_ps": at(500), "p99_ps": at(990), "p999_ps": at(999),
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
        let mut text = String::new();
        self.text(&mut text)?;
        // A lab file, and what its programs say, may come from anywhere.
        f.write_str(&printable::lines(&text))
    }
}

impl Report {
    fn text(&self, f: &mut String) -> fmt::Result {
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
        if !self.rows.is_empty() {
            write!(f, "\n{}", self.measured())?;
        }
        if let Some(pace) = &self.pace {
            writeln!(f)?;
            for line in pace.lines() {
                writeln!(f, "{line}")?;
            }
        }
        // Where no node asked for a time there is no error of it.
        if let Some(timing) = outcome.timing.as_ref().filter(|timing| timing.frames > 0) {
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
        let flows = crate::flows::table(&outcome.nodes);
        if !flows.is_empty() {
            write!(f, "\n{}", Table::new(flows))?;
            let links = crate::flows::links(&self.links, &outcome.links, &self.busy);
            write!(f, "\n{}", Table::new(links))?;
        }
        let losses = self.losses();
        if !losses.is_empty() {
            let head = cells(&["where", "what", "frames"]);
            let lines = losses
                .into_iter()
                .map(|(at, what, count)| vec![at, what, number(count)]);
            write!(f, "\n{}", Table::new(std::iter::once(head).chain(lines)))?;
        }
        let line = crate::lines::table(&self.links, &outcome.links, number);
        if !line.is_empty() {
            write!(f, "\n{}", Table::new(line))?;
        }
        f.write_str(&crate::programs::text(&self.jobs))?;
        f.write_str(&crate::flops::text(&self.flops))?;
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
