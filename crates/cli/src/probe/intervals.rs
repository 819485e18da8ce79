//! Sub-intervals as lines and JSON, while load goes and of a server's test.

use super::{Probe, word};
use crate::output::{Buffering, Output};
use crate::progress;
use ::report::text::bits;
use nodes::bandwidth::capacity::{Interval, Traffic};
use packet::udpstp::{Direction, NO_VALUE};
use serde_json::Value;
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Tells what happens, on a thread of its own: a terminal that is stopped keeps no load waiting.
pub struct Teller {
    news: Sender<Interval>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Teller {
    pub fn start(command: &Probe, direction: Direction, seconds: u16) -> anyhow::Result<Teller> {
        let (news, receiver) = channel();
        let (json, quiet) = (command.json, command.quiet);
        let stdout = Output::open(&Buffering::default())?;
        let body = move || lines(stdout, &receiver, direction, seconds, json, quiet);
        let thread = live::thread::spawn("report", body)?;
        Ok(Teller { news, thread })
    }

    pub fn interval(&self, interval: Interval) {
        // Who does not listen any more has an error to tell in the end.
        let _ = self.news.send(interval);
    }

    pub fn join(self) -> anyhow::Result<()> {
        drop(self.news);
        let ended = self.thread.join();
        ended.map_err(|_| anyhow::anyhow!("the lines of sub-intervals came to an end"))?
    }
}

fn lines(
    mut stdout: Output,
    news: &Receiver<Interval>,
    direction: Direction,
    seconds: u16,
    json: bool,
    quiet: bool,
) -> anyhow::Result<()> {
    let watched = !json && std::io::stderr().is_terminal();
    let bar = watched.then(|| {
        let bar = progress::bar(u64::from(seconds), "{bar:40} {pos} of {len} s, {msg}");
        bar.tick();
        bar
    });
    let mut head = false;
    for interval in news {
        if !quiet {
            let text = match (json, std::mem::replace(&mut head, true)) {
                (true, _) => format!("{}\n", object(direction, &interval)),
                (false, false) => format!("{HEAD}\n{}", text(&interval)),
                (false, true) => text(&interval),
            };
            let mut tell = || stdout.tell(&text).and_then(|()| stdout.flush());
            match &bar {
                Some(bar) => bar.suspend(tell)?,
                None => tell()?,
            }
        }
        if let Some(bar) = &bar {
            bar.set_position(interval.end.round() as u64);
            bar.set_message(bits(interval.rate));
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    stdout.finish()
}

/// What stands above the lines.
const HEAD: &str =
    "    time         rate       loss   delay, one way   round trip, above the least";

fn text(interval: &Interval) -> String {
    format!(
        "{:>7.1}s {:>12} {:>10} {:>16} {:>13}\n",
        interval.end,
        bits(interval.rate),
        percent(loss(&[*interval])),
        span(interval.sums.variation[0], interval.sums.variation[1]),
        span(interval.sums.round_trip[0], interval.sums.round_trip[1]),
    )
}

pub fn span(least: u32, most: u32) -> String {
    match least {
        NO_VALUE => "-".into(),
        _ => format!("{least}..{most} ms"),
    }
}

pub fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// The share of datagrams that were lost, of those that came or were lost.
pub fn loss(intervals: &[Interval]) -> f64 {
    let sum = |of: fn(&Interval) -> u32| intervals.iter().map(|it| u64::from(of(it))).sum::<u64>();
    let (lost, came) = (sum(|it| it.sums.errors[0]), sum(|it| it.sums.datagrams));
    lost as f64 / (lost + came).max(1) as f64
}

fn object(direction: Direction, interval: &Interval) -> Value {
    let sums = &interval.sums;
    let [lost, reordered, again] = sums.errors;
    let [least, most, sum, count] = sums.variation;
    let value = |value: u32| (value != NO_VALUE).then_some(value);
    json_line!("probe", "interval", {
        "direction": word(direction), "end_s": interval.end, "rate_bps": interval.rate, "datagrams": sums.datagrams, "bytes": sums.bytes,
        "lost": lost, "reordered": reordered, "duplicated": again,
        "delay_variation_ms": { "least": value(least), "most": value(least).map(|_| most), "mean": (count > 0).then(|| f64::from(sum) / f64::from(count)) },
        "rtt_variation_ms": { "least": value(sums.round_trip[0]), "most": value(sums.round_trip[0]).map(|_| sums.round_trip[1]) },
    })
}

/// As one of the server's lines has it.
pub fn of_server(intervals: &[Interval]) -> (Option<f64>, f64) {
    let best = intervals.iter().map(|it| it.rate).max_by(f64::total_cmp);
    (best, loss(intervals))
}

/// A JSON object for a server's test.
pub fn served(
    peer: &str,
    direction: Direction,
    intervals: &[Interval],
    complete: bool,
    sent: &Traffic,
    dropped: u64,
) -> Value {
    let (best, loss) = of_server(intervals);
    json_line!("probe", "test", {
        "peer": peer, "direction": word(direction), "complete": complete, "capacity_bps": best, "loss_overall": loss,
        "datagrams": sent.datagrams, "bytes": sent.bytes, "dropped_here": dropped,
        "intervals": intervals.len(),
    })
}
