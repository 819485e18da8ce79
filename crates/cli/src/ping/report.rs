//! What a pinger tells: each answer, and in the end what round trips were like and what that is worth.

use super::accuracy::Accuracy;
use super::route::Route;
use super::{Ping, Pinger, Watch};
use crate::output::{Buffering, Output, picture};
use live::port::pace::PaceReport;
use live::port::{PortInfo, Stamps};
use node::Time;
use nodes::ping::Answer;
use packet::word::Tick;
use plot::{Axis, Figure, Panel, Series, TimeUnit};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Round trips that are drawn; of more, the first.
const DRAWN: usize = 1_000_000;

/// A report in the making.
pub struct Report {
    stdout: Output,
    title: String,
    target: String,
    tick: Tick,
    stamps: Stamps,
    quiet: bool,
    verbose: bool,
    json: bool,
    plot: Option<PathBuf>,
    drawn: Vec<(f64, u64)>,
}

impl Report {
    /// Begins it.
    pub fn new(command: &Ping, info: &PortInfo, route: &Route) -> anyhow::Result<Report> {
        let mut report = Report {
            stdout: Output::open(&Buffering::default())?,
            title: format!("{} from {} by {}", command.target, route.source, info.name),
            target: command.target.to_string(),
            tick: info.tick,
            stamps: info.stamps,
            quiet: command.quiet,
            verbose: command.verbose,
            json: command.json,
            plot: command.plot.clone(),
            drawn: Vec::new(),
        };
        if !report.json {
            report.line(&format!("ping {}", report.title))?;
        }
        Ok(report)
    }

    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        self.stdout.write(format!("{line}\n").as_bytes())?;
        Ok(())
    }

    fn ticks(&self, time: Time) -> u64 {
        time.as_ps() / u64::from(self.tick.as_ps())
    }

    /// An answer has come.
    pub fn answer(&mut self, answer: &Answer) -> anyhow::Result<()> {
        let rtt = answer.rtt();
        if self.plot.is_some() && self.drawn.len() < DRAWN && !answer.duplicate {
            let departed = answer.departed.as_secs_f64();
            self.drawn.push((departed, rtt.as_ps()));
        }
        if self.quiet {
            return Ok(());
        }
        let ticks = self.ticks(rtt);
        if self.json {
            let line = json_line!("ping", "answer", {
                "number": answer.number,
                "rtt_ticks": ticks,
                "rtt_ns": rtt.as_ps() as f64 / 1e3,
                "bytes": answer.bytes,
                "hop_limit": answer.hop_limit,
                "duplicate": answer.duplicate,
                "late": answer.late,
            });
            return self.line(&line.to_string());
        }
        let mut line = format!(
            "{} bytes from {}: probe {}",
            answer.bytes, self.target, answer.number
        );
        if answer.hop_limit > 0 {
            line += &format!(", ttl {}", answer.hop_limit);
        }
        line += &format!(", {ticks} ticks, {rtt}");
        line += match (answer.duplicate, answer.late) {
            (true, _) => ", again",
            (_, true) => ", late",
            _ => "",
        };
        self.line(&line)
    }

    /// What was told so far is to be seen now.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.stdout.flush()?;
        Ok(())
    }

    pub fn end(mut self, node: &Pinger, watch: &Watch, sent: &PaceReport) -> anyhow::Result<()> {
        let accuracy = Accuracy::new(self.tick, self.stamps, watch);
        match self.json {
            true => self.line(&self.object(node, &accuracy, sent).to_string())?,
            false => self.text(node, &accuracy)?,
        }
        self.stdout.finish()?;
        if let Some(path) = &self.plot {
            let rtt = &node.statistics().rtt;
            let unit = TimeUnit::of(rtt.max() as f64);
            let axis = || Axis::of_times("round trip", unit, false);
            let points = self.drawn.iter();
            let points = points.map(|(at, rtt_ps)| (*at, unit.of_ps(*rtt_ps)));
            let over_time =
                Panel::new(Axis::new("time [s]"), axis()).series(Series::points("", points));
            let shares = Panel::new(axis(), Axis::new("share of answers"))
                .series(Series::cdf("", rtt, unit.ps).with_quantiles_of(rtt, unit));
            let figure = Figure::new(self.title.clone())
                .panel(over_time)
                .panel(shares);
            picture(&figure, path)?;
        }
        Ok(())
    }

    fn text(&mut self, node: &Pinger, accuracy: &Accuracy) -> anyhow::Result<()> {
        let statistics = node.statistics();
        let (sent, answered) = (node.sent(), statistics.answered);
        if !node.is_resolved() {
            return self.line("no probe was sent: nobody answered to ARP or neighbour discovery, so no MAC address of the target, or of the router to it, is known");
        }
        let lost = sent - answered;
        let mut line = format!("{sent} sent, {answered} answered, {lost} lost");
        if sent > 0 {
            line += &format!(" ({} %)", (lost as f64 * 1e4 / sent as f64).round() / 100.0);
        }
        for (count, what) in [
            (statistics.duplicates, "answered again"),
            (statistics.late, "late"),
            (node.unreachable(), "told to be unreachable"),
        ] {
            if count > 0 {
                line += &format!(", {count} {what}");
            }
        }
        if answered > 0 {
            let mean = Time::from_ns((statistics.mean() / 1e3).round() as u64);
            line += &format!(", mean {mean}");
        }
        self.line(&line)?;
        if answered == 0 {
            return Ok(());
        }
        let figures = figures(node);
        let names: Vec<String> = figures
            .iter()
            .map(|(name, _)| format!("{name:>12}"))
            .collect();
        self.line(&format!("{:14}{}", "", names.concat()))?;
        let ticks: Vec<String> = figures
            .iter()
            .map(|(_, ps)| format!("{:>12.1}", ps / f64::from(self.tick.as_ps())))
            .collect();
        let tick = Time::from_ps(self.tick.as_ps().into()).to_string();
        self.line(&format!(
            "{:14}{}",
            format!("ticks of {tick}"),
            ticks.concat()
        ))?;
        let times: Vec<String> = figures
            .iter()
            .map(|(_, ps)| format!("{:>12.3}", ps / 1e6))
            .collect();
        self.line(&format!("{:14}{}", "us", times.concat()))?;
        match self.verbose {
            true => self.line(&accuracy.text()),
            false => self.line(&accuracy.bound()),
        }
    }

    fn object(&self, node: &Pinger, accuracy: &Accuracy, sent: &PaceReport) -> Value {
        let statistics = node.statistics();
        let mut rtt = json!({});
        let mut ticks = json!({});
        if statistics.answered > 0 {
            for (name, ps) in figures(node) {
                rtt[name] = json!(ps / 1e3);
                ticks[name] = json!(ps / f64::from(self.tick.as_ps()));
            }
        }
        json_line!("ping", "ping", {
            "target": self.target,
            "resolved": node.is_resolved(),
            "sent": node.sent(),
            "answered": statistics.answered,
            "lost": node.sent() - statistics.answered,
            "duplicates": statistics.duplicates,
            "late": statistics.late,
            "unreachable": node.unreachable(),
            "refused": sent.refused,
            "tick_ps": self.tick.as_ps(),
            "rtt_ns": rtt,
            "rtt_ticks": ticks,
            "departure_stamps": accuracy.departure(),
            "arrival_stamps": accuracy.arrival.name(),
            "stamped_departures": accuracy.stamped,
            "departures": accuracy.marks,
            "error_bound_ns": accuracy.bound_ns(),
        })
    }
}

/// The figures of round trips, in ps.
fn figures(node: &Pinger) -> [(&'static str, f64); 7] {
    let statistics = node.statistics();
    let rtt = &statistics.rtt;
    [
        ("min", rtt.min() as f64),
        ("mean", statistics.mean()),
        ("median", rtt.value_at(1, 2) as f64),
        ("p99", rtt.value_at(99, 100) as f64),
        ("max", rtt.max() as f64),
        ("sd", statistics.sd()),
        ("jitter", statistics.jitter()),
    ]
}
