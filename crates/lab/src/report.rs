//! What came of a run: a table for people, JSON Lines for programs.

mod headline;

pub use headline::{Busiest, Headline};

use crate::plan::instrument::{self, Section};
use crate::realtime::Pace;
use crate::world::World;
use ::report::text::{Table, cells, number, time};
use live::world::process::JobReport;
use measure::statistics::{Statistics, Summary};
use node::link::LinkCounters;
use node::outcome::{Finish, Spread, Verdict};
use node::{Histogram, Outcome};
use packet::printable;
use serde_json::{Map, Value, json};
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

/// What was measured at one place.
#[derive(Clone, Debug)]
pub struct Row {
    /// The port or node, as the lab file calls it.
    pub at: String,
    /// What was measured there.
    pub statistics: Statistics,
    /// Whether frames end there: at the only link of a node.
    pub is_end: bool,
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
    /// Probes that nodes sent; `None` where that is not known, as files are replayed.
    pub sent: Option<u64>,
    /// Whether several senders share a stream number, so that probes of one look like duplicates of another's.
    pub shares_streams: bool,
    /// Whether frames ended at places that are not among the rows.
    pub elsewhere: bool,
    /// Probes that were on their way, or waited to leave, when the run ended; `None` in a world that does not see them.
    pub probes_in_flight: Option<u64>,
    /// Whether inter-packet delays are what the lab is about: it says where to measure, or sends at exact times.
    pub gaps: bool,
    /// The ends of each link.
    pub links: Vec<[String; 2]>,
    /// The share of the run for which each direction of a link was busy; `None` where a frame takes no time.
    pub busy: Vec<[Option<f64>; 2]>,
    /// Counters of nodes and links.
    pub outcome: Outcome,
    /// What simulated time was worth that was kept to the clock.
    pub pace: Option<Pace>,
    /// The sections of instruments, in their order. See [`section`](Report::section).
    pub sections: Vec<Arc<dyn Section>>,
    /// What came of the programs, where the lab has real ones.
    pub jobs: Vec<JobReport>,
    /// What went wrong on the way without ending the run.
    pub notes: Vec<String>,
    /// Packets of replayed files that were skipped, cut short, or could not be read; the notes tell of them.
    pub lost: u64,
    /// Packets of replayed files that were not sent at all, as far as it is known.
    pub unsent: u64,
    /// Whether a signal ended a replayed file before its end.
    pub stopped: bool,
    /// Captures and plots that were written.
    pub files: Vec<PathBuf>,
    /// Captures and plots that could not be written, or only in part, and why.
    pub failures: Vec<String>,
    /// Plots that were not written, as nothing would be seen in them, and why.
    pub empty: Vec<String>,
}

impl Report {
    /// What was measured, and below it the places where nothing came.
    fn measured(&self, gaps: bool) -> (Table, Vec<&str>) {
        let seen = |row: &&Row| row.statistics.packets() > 0;
        let silent = self.rows.iter().filter(|row| !seen(row));
        let silent = silent.map(|row| &row.at[..]).collect();
        let probes = self.rows.iter().any(|row| row.statistics.probes() > 0);
        let mut head = cells(&["at", "packets", if probes { "lost" } else { "bytes" }]);
        let mut table = Table::default();
        if gaps {
            table.groups.push((3, 4, "inter-packet delay"));
            head.extend(cells(&["mean", "sd", "min", "max"]));
        }
        if probes {
            let wide = if gaps { 2 } else { 4 };
            table.groups.push((head.len(), wide, "delay"));
            head.extend(cells(&["mean", "sd", "min", "max"][..wide]));
        }
        let delays = head.len() - 3 - if gaps { 4 } else { 0 };
        table.lines.push(head);
        for Row { at, statistics, .. } in self.rows.iter().filter(seen) {
            let mut line = vec![at.clone(), number(statistics.packets())];
            line.push(match statistics.probes() {
                _ if !probes => number(statistics.bytes()),
                0 => "-".into(),
                _ => number(statistics.order().lost),
            });
            if gaps {
                line.extend(self.times(&statistics.gaps()));
            }
            line.extend(self.times(&statistics.delays()).into_iter().take(delays));
            table.lines.push(line);
        }
        (table, silent)
    }

    /// The percentiles of inter-packet delays and delays, place by place. They are at most 1/32 above the
    /// truth, and at most 1/4096 where a plot was drawn.
    pub fn percentiles(&self) -> Table {
        let head = ["at", "p50", "p99", "p99.9", "p50", "p99", "p99.9"];
        let mut table = Table::new([cells(&head)]);
        table.groups = vec![(1, 3, "inter-packet delay"), (4, 3, "delay")];
        for Row { at, statistics, .. } in &self.rows {
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
            World::Sim | World::Cosim => ps,
            World::Live => (ps / 1e3).round() * 1e3,
        });
        ps.map(time).into()
    }

    /// The section of this type; `None` where its instrument has nothing to tell.
    pub fn section<T: Section>(&self) -> Option<&T> {
        instrument::section(&self.sections)
    }

    /// The figures that one looks at first.
    pub fn headline(&self) -> Headline {
        Headline::of(self)
    }

    /// What nodes that watch over something say of the run.
    pub fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        let nodes = self.outcome.nodes.iter();
        nodes.filter_map(|node| node.verdict.as_ref())
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

    /// Writes the report as JSON Lines: one `run`, then `measure`, `node`, `flow` and `link` lines, those of instruments, and
    /// `note` and `file` lines. Times are picoseconds.
    pub fn json(&self) -> String {
        let mut lines = vec![self.run_line()];
        for Row { at, statistics, .. } in &self.rows {
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
                    "queue_full": counters.queue_full,
                    "dropped_early": counters.dropped_early, "marked": counters.marked, "lost": counters.lost,
                    "bit_errors": counters.bit_errors, "duplicated": counters.duplicated,
                    "reordered": counters.reordered,
                    "delivered": counters.delivered, "in_flight": counters.in_flight,
                });
                if counters.line.is_some() {
                    line["line"] = crate::block_counters::json(counters);
                }
                lines.push(line);
            }
        }
        lines.extend(self.sections.iter().flat_map(|section| section.json()));
        lines.extend(crate::programs::lines(&self.jobs));
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
            "lost_input": self.lost, "headline": self.headline().json(),
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

fn link_losses(counters: &LinkCounters) -> [(&'static str, u64); 7] {
    [
        ("queue full", counters.queue_full),
        ("dropped by the queue discipline", counters.dropped_early),
        ("lost on the way", counters.lost),
        ("bit errors", counters.bit_errors),
        ("delivered twice", counters.duplicated),
        ("held up", counters.reordered),
        ("left later than asked", counters.late),
    ]
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(false))
    }
}

/// Drops that people are shown, the most frequent; programs get all.
const DROPS: usize = 32;
/// Places without frames that are named.
const SILENT: usize = 8;

impl Report {
    /// For people: the verdict in a line, then the tables; with all detail of times if it is to be `verbose`.
    pub fn text(&self, verbose: bool) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = self.write(&mut text, verbose);
        // A lab file, and what its programs say, may come from anywhere.
        printable::lines(&text).into_owned()
    }

    fn write(&self, f: &mut String, verbose: bool) -> fmt::Result {
        let outcome = &self.outcome;
        writeln!(f, "{}: {}", self.lab, self.headline().text())?;
        let (world, seed) = (self.world.name(), self.seed);
        let ended = time(outcome.ended.as_ps() as f64);
        let (frames, events) = (number(outcome.frames), number(outcome.events));
        write!(
            f,
            "world {world}, seed {seed}, {ended}, {frames} frames delivered in {events} events"
        )?;
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
        for section in &self.sections {
            section.write(f, verbose)?;
        }
        self.write_losses(f)?;
        let flows = crate::flows::table(&outcome.nodes);
        let full = outcome
            .links
            .iter()
            .flatten()
            .any(|link| link.queue_full + link.dropped_early > 0);
        if !flows.is_empty() {
            write!(f, "\n{}", Table::new(flows.clone()))?;
        }
        if !flows.is_empty() || full || verbose {
            let (links, idle) = crate::flows::links(&self.links, &outcome.links, &self.busy);
            write!(f, "\n{}", Table::new(links))?;
            if idle > 0 {
                writeln!(f, "{} carried nothing", ways(idle))?;
            }
        }
        self.write_rows(f, flows.is_empty(), verbose)?;
        self.write_timing(f, verbose)?;
        let line = crate::block_counters::table(&self.links, &outcome.links, number);
        if !line.is_empty() {
            write!(f, "\n{}", Table::new(line))?;
        }
        f.write_str(&crate::programs::text(&self.jobs))?;
        if !self.notes.is_empty() || !self.files.is_empty() {
            writeln!(f)?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        for file in &self.files {
            writeln!(f, "wrote {}", file.display())?;
        }
        Ok(())
    }

    fn write_losses(&self, f: &mut String) -> fmt::Result {
        let mut losses = self.losses();
        if losses.is_empty() {
            return Ok(());
        }
        losses.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
        let more = losses.len().saturating_sub(DROPS);
        let rest: u64 = losses.iter().skip(DROPS).map(|(.., count)| count).sum();
        let head = cells(&["where", "what", "frames"]);
        let lines = losses.into_iter().take(DROPS);
        let lines = lines.map(|(at, what, count)| vec![at, what, number(count)]);
        write!(f, "\n{}", Table::new(std::iter::once(head).chain(lines)))?;
        match more {
            0 => Ok(()),
            _ => writeln!(
                f,
                "and {} frames at {more} more places: --json has all",
                number(rest)
            ),
        }
    }

    /// What was measured; of hosts' conversations the tables above tell the same.
    fn write_rows(&self, f: &mut String, alone: bool, verbose: bool) -> fmt::Result {
        if self.rows.is_empty() || !(alone || self.gaps || verbose) {
            return Ok(());
        }
        let (table, silent) = self.measured(self.gaps || verbose);
        if table.lines.len() > 1 {
            write!(f, "\n{table}")?;
        }
        match silent.len() {
            0 => Ok(()),
            few if few <= SILENT => writeln!(f, "nothing came to {}", silent.join(", ")),
            many => writeln!(
                f,
                "nothing came to {} and {} more",
                silent[..SILENT].join(", "),
                many - SILENT
            ),
        }
    }

    fn write_timing(&self, f: &mut String, verbose: bool) -> fmt::Result {
        if let Some(pace) = &self.pace {
            writeln!(f)?;
            for line in pace.lines() {
                writeln!(f, "{line}")?;
            }
        }
        // Where no node asked for a time there is no error of it.
        let timing = self.outcome.timing.as_ref();
        let Some(timing) = timing.filter(|timing| timing.frames > 0) else {
            return Ok(());
        };
        if !verbose {
            let Spread { p50, p99, .. } = timing.raw;
            let (p50, p99) = (time(p50.as_ps() as f64), time(p99.as_ps() as f64));
            return writeln!(
                f,
                "\ndepartures off by {p50} at the median, {p99} at p99 (-v tells more)"
            );
        }
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
        match timing.lines().last() {
            Some(how) => writeln!(f, "{how}"),
            None => Ok(()),
        }
    }
}

/// How many directions of links.
fn ways(count: usize) -> String {
    match count {
        1 => "1 direction of a link".into(),
        _ => format!("{count} directions of links"),
    }
}
