//! A line for each sub-interval while load goes, and in the end the verdict.

use super::line::Line;
use super::{Probe, word};
use crate::Verdict;
use crate::output::{Buffering, Output, picture};
use crate::profile::bits;
use crate::progress;
use ::lab::table::{Table, cells, number};
use node::Histogram;
use nodes::bandwidth::capacity::client::{Client, End};
use nodes::bandwidth::capacity::{Faults, Interval, Settings, Traffic};
use packet::udpstp::{Direction, IPV4_OVERHEAD, IPV6_MORE, NO_VALUE};
use plot::{Axis, Figure, Panel, Series};
use serde_json::Value;
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Bursts that leave later than this are a burst more than was asked for, ns.
const LATE_NS: u64 = 1_000_000;

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

fn span(least: u32, most: u32) -> String {
    match least {
        NO_VALUE => "-".into(),
        _ => format!("{least}..{most} ms"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// The share of datagrams that were lost, of those that came or were lost.
fn loss(intervals: &[Interval]) -> f64 {
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

/// What came of a test.
pub struct Outcome {
    settings: Settings,
    end: End,
    intervals: Vec<Interval>,
    least_round_trip: Option<u32>,
    traffic: [Traffic; 2],
    faults: Faults,
    lateness: Histogram,
    /// Datagrams that this machine had no room for, how much it has, and times that it had none to send.
    dropped: u64,
    room: usize,
    waited: u64,
    mtu: Option<usize>,
    /// Seconds of load that were asked for.
    asked: u16,
    ipv6: bool,
}

impl Outcome {
    pub fn new(client: &Client, line: &Line, end: End, asked: u16, ipv6: bool) -> Outcome {
        Outcome {
            settings: *client.settings(),
            end,
            intervals: client.intervals().to_vec(),
            least_round_trip: client.least_round_trip(),
            traffic: client.traffic(),
            faults: *client.faults(),
            lateness: client.lateness().clone(),
            dropped: line.socket.lost(),
            room: line.socket.room(),
            waited: line.waited,
            mtu: line.socket.mtu(),
            asked,
            ipv6,
        }
    }

    fn word(&self) -> &'static str {
        word(self.settings.direction)
    }

    fn best(&self) -> Option<&Interval> {
        let best = |a: &&Interval, b: &&Interval| a.rate.total_cmp(&b.rate);
        self.intervals.iter().max_by(best)
    }

    /// Datagrams and bytes at the IP layer that it cost: sent where they were sent from here, else those that came, and those lost.
    fn cost(&self) -> (u64, u64) {
        let [sent, received] = self.traffic;
        let overhead = u64::from(IPV4_OVERHEAD + if self.ipv6 { IPV6_MORE } else { 0 });
        let load = match self.settings.direction {
            Direction::Upstream => sent,
            Direction::Downstream => received,
        };
        (load.datagrams, load.bytes + overhead * load.datagrams)
    }

    fn length(&self) -> String {
        match self.settings.sub_interval {
            1000 => "second".into(),
            ms => format!("{ms} ms"),
        }
    }

    fn verdict(&self) -> String {
        let what = self.word();
        let early = match self.end {
            End::Complete => String::new(),
            end => format!("; {end} before its time"),
        };
        let Some(best) = self.best() else {
            return format!("capacity {what}: no {} is over{early}", self.length());
        };
        let (datagrams, bytes) = self.cost();
        let end = self.intervals.last().map_or(0.0, |last| last.end);
        let cost = match self.settings.direction {
            Direction::Upstream => "sent",
            Direction::Downstream => "received",
        };
        let trip = self
            .least_round_trip
            .map_or(String::new(), |ms| format!(", round trip {ms} ms at least"));
        format!(
            "capacity {what}: {} at the IP layer in the best {} of {end:.0} s (loss {}, delay variation {}{trip}); cost {:.1} MB in {} packets {cost}{early}",
            bits(best.rate),
            self.length(),
            percent(loss(&[*best])),
            span(best.sums.variation[0], best.sums.variation[1]),
            bytes as f64 / 1e6,
            number(datagrams),
        )
    }

    /// What the figure may not be worth.
    fn warnings(&self) -> Vec<String> {
        let (mut told, what) = (Vec::new(), self.word());
        if self.dropped > 0 {
            told.push(format!(
                "{} datagrams reached this machine and found no room in its {} kB of buffer: they count as lost on the path. Give it more by \
                 sysctl net.core.rmem_max=8388608",
                number(self.dropped),
                self.room / 1000
            ));
        }
        if self.faults.late_bursts > 0 {
            told.push(format!(
                "{} of {} bursts {what} were more than 10 ms late, and what was to follow them was left out: less was sent than asked for, and the \
                 path may carry more. This machine is too busy, or too slow, for this rate",
                number(self.faults.late_bursts),
                number(self.lateness.total())
            ));
        }
        let late = self.lateness.value_at(990, 1_000);
        if self.lateness.total() > 0 && late > LATE_NS {
            let rate = self.best().map_or(0.0, |best| best.rate);
            told.push(format!(
                "pacing is coarse: one burst in a hundred left {:.1} ms late or more, at this rate {:.0} kB at once, which short queues do not hold",
                late as f64 / 1e6,
                rate * late as f64 / 8e12
            ));
        }
        let fast = self.best().is_some_and(|best| best.rate > 1e9);
        if let Some(mtu) = self.mtu
            && fast
            && self.settings.jumbo
            && mtu < 9_000
        {
            told.push(format!(
                "above 1 Gb/s the server has datagrams of 9000 bytes, which go in fragments over this MTU of {mtu} bytes"
            ));
        }
        if self.settings.test_time < self.asked {
            told.push(format!(
                "the server allows {} s of load, not {}",
                self.settings.test_time, self.asked
            ));
        }
        let faults = &self.faults;
        for (count, what) in [
            (faults.unreadable.0, "datagrams were no messages"),
            (
                faults.bad_rates,
                "rates from the server cannot be sent, and were passed over",
            ),
            (
                faults.wrong_lengths,
                "datagrams had another length than they say",
            ),
        ] {
            if count > 0 {
                told.push(format!("{} {what}", number(count)));
            }
        }
        told
    }

    fn late_us(&self, part: u64) -> Option<f64> {
        let any = self.lateness.total() > 0;
        any.then(|| self.lateness.value_at(part, 1_000) as f64 / 1e3)
    }

    fn object(&self, host: &str) -> Value {
        let (datagrams, bytes) = self.cost();
        let best = self.best();
        let settings = &self.settings;
        json_line!("probe", "probe", {
            "verdict": self.verdict(), "host": host, "direction": self.word(), "complete": self.end == End::Complete,
            "capacity_bps": best.map(|best| best.rate), "best_end_s": best.map(|best| best.end),
            "loss": best.map(|best| loss(&[*best])), "loss_overall": loss(&self.intervals),
            "round_trip_ms": self.least_round_trip, "intervals": self.intervals.len(),
            "cost_datagrams": datagrams, "cost_bytes": bytes,
            "bursts": self.lateness.total(), "late_us": { "p50": self.late_us(500), "p99": self.late_us(990) },
            "late_bursts": self.faults.late_bursts, "dropped_here": self.dropped, "waited_to_send": self.waited,
            "status_missed": self.faults.missed.iter().sum::<u64>(),
            "settings": { "seconds": settings.test_time, "interval_ms": settings.sub_interval, "trial_ms": settings.trial_interval,
                "low_ms": settings.low_threshold, "high_ms": settings.upper_threshold, "jumbo": settings.jumbo, "row": settings.row },
            "warnings": self.warnings(),
        })
    }

    /// All of each sub-interval, and what the machine did.
    fn detail(&self) -> String {
        let head = [
            "end, s",
            "rate",
            "datagrams",
            "bytes",
            "lost",
            "reordered",
            "again",
            "delay, ms",
            "mean",
            "round trip, ms",
        ];
        let lines = self.intervals.iter().map(|it| {
            let [lost, reordered, again] = it.sums.errors.map(|count| number(count.into()));
            let [least, most, sum, count] = it.sums.variation;
            let mean = match count {
                0 => "-".into(),
                count => format!("{:.1}", f64::from(sum) / f64::from(count)),
            };
            vec![
                format!("{:.1}", it.end),
                bits(it.rate),
                number(it.sums.datagrams.into()),
                number(it.sums.bytes),
                lost,
                reordered,
                again,
                span(least, most),
                mean,
                span(it.sums.round_trip[0], it.sums.round_trip[1]),
            ]
        });
        let mut text = Table::new([cells(&head)].into_iter().chain(lines)).to_string();
        let settings = &self.settings;
        text += &format!(
            "settings: {} s of load, sub-intervals of {} ms, trials of {} ms, thresholds {} and {} ms, {} losses a trial, jumbo datagrams {}\n",
            settings.test_time,
            settings.sub_interval,
            settings.trial_interval,
            settings.low_threshold,
            settings.upper_threshold,
            settings.error_threshold,
            if settings.jumbo {
                "above 1 Gb/s"
            } else {
                "never"
            },
        );
        if let (Some(half), Some(most)) = (self.late_us(500), self.late_us(990)) {
            text += &format!(
                "bursts: {} left, half of them {half:.0} us late or more, one in a hundred {most:.0} us; {} times the system had no room\n",
                number(self.lateness.total()),
                number(self.waited)
            );
        }
        text += &format!(
            "status messages missed: {}; arrival is the kernel's stamp, delay variation in whole ms as the protocol has it\n",
            self.faults.missed.iter().sum::<u64>()
        );
        text
    }
}

/// Tells the results, and draws.
pub fn tell(command: &Probe, host: &str, outcomes: &[Outcome]) -> anyhow::Result<Verdict> {
    let mut stdout = Output::open(&Buffering::default())?;
    let mut good = true;
    for outcome in outcomes {
        let enough = match (command.at_least, outcome.best()) {
            (Some(least), best) => {
                best.is_some_and(|best| best.rate >= least.bits_per_second() as f64)
            }
            (None, _) => true,
        };
        good &= enough && matches!(outcome.end, End::Complete | End::Stopped);
        if command.json {
            stdout.tell(&format!("{}\n", outcome.object(host)))?;
            continue;
        }
        stdout.tell(&format!("{}\n", outcome.verdict()))?;
        if let Some(least) = command.at_least.filter(|_| !enough) {
            stdout.tell(&format!("that is below {least}\n"))?;
        }
        if command.verbose {
            stdout.tell(&outcome.detail())?;
        }
        for warning in outcome.warnings() {
            eprintln!("wire: warning: {warning}");
        }
    }
    stdout.finish()?;
    if let Some(path) = &command.plot {
        match outcomes.iter().any(|outcome| !outcome.intervals.is_empty()) {
            true => picture(&figure(host, outcomes), path)?,
            false => eprintln!(
                "wire: no sub-interval is over: {} is not drawn",
                path.display()
            ),
        }
    }
    Ok(Verdict::if_good(good))
}

fn figure(host: &str, outcomes: &[Outcome]) -> Figure {
    let panel = |name: &str, value: fn(&Interval) -> f64| {
        let panel = Panel::new(Axis::new("time [s]"), Axis::new(name).from_zero());
        outcomes.iter().fold(panel, |panel, outcome| {
            let points = outcome.intervals.iter().map(|it| (it.end, value(it)));
            panel.series(Series::line(outcome.word(), points))
        })
    };
    Figure::new(format!("capacity to {host}, at the IP layer"))
        .panel(panel("rate [Mb/s]", |it| it.rate / 1e6))
        .panel(panel("delay variation, mean [ms]", |it| {
            let [_, _, sum, count] = it.sums.variation;
            f64::from(sum) / f64::from(count.max(1))
        }))
        .panel(panel("loss [%]", |it| 100.0 * loss(&[*it])))
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
