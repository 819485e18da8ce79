//! A line a second, and what is kept for the picture.

use super::Sync;
use super::watch::{News, Sample};
use crate::output::{Buffering, Output, picture};
use ::report::text;
use node::Time;
use plot::{Axis, Figure, Panel, Series, TimeUnit};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Maximum number of offsets that are kept: the first ones.
const MAX_OFFSETS: usize = 1_000_000;

/// The reported results, and those that are used in the end.
#[derive(Default)]
pub struct Reported {
    pub samples: Vec<Sample>,
    pub last: Option<Sample>,
    /// Offsets that there was no room for.
    pub left_out: u64,
    /// Offsets that were not read.
    pub missed: u64,
}

/// Tells what happens, on a thread of its own: a terminal that is stopped keeps no clock waiting.
pub struct Teller {
    /// Of a lab: whose clock it is.
    node: Option<String>,
    stdout: Output,
    json: bool,
    quiet: bool,
    /// Offsets of this second.
    count: u64,
    head: bool,
    told: Reported,
}

impl Teller {
    pub fn start(
        command: &Sync,
    ) -> anyhow::Result<(Sender<News>, JoinHandle<anyhow::Result<Reported>>)> {
        let (sender, receiver) = channel();
        let teller = Teller::new(command, None, false)?;
        let thread = live::thread::spawn("report", move || teller.run(&receiver))?;
        Ok((sender, thread))
    }

    /// One that is told what happens by who calls it; of a lab the clock of this node.
    pub fn new(command: &Sync, node: Option<String>, quiet: bool) -> anyhow::Result<Teller> {
        Ok(Teller {
            node,
            stdout: Output::open(&Buffering::default())?,
            json: command.json,
            quiet: quiet || command.quiet,
            count: 0,
            head: false,
            told: Reported::default(),
        })
    }

    fn run(mut self, news: &Receiver<News>) -> anyhow::Result<Reported> {
        for news in news {
            self.hear(news)?;
        }
        self.finish()
    }

    /// Takes down what happened, and tells it.
    pub fn hear(&mut self, news: News) -> anyhow::Result<()> {
        match news {
            News::Offset(sample) => {
                self.count += 1;
                self.told.last = Some(sample);
                match self.told.samples.len() < MAX_OFFSETS {
                    true => self.told.samples.push(sample),
                    false => self.told.left_out += 1,
                }
            }
            News::Missed(offsets) => self.told.missed += offsets,
            News::Second(at, state, asked) => {
                let count = std::mem::take(&mut self.count);
                if !self.quiet {
                    let line = self.line(at, &state, count, asked);
                    self.stdout.tell(&line)?;
                    self.stdout.flush()?;
                }
            }
        }
        Ok(())
    }

    /// What there was.
    pub fn finish(self) -> anyhow::Result<Reported> {
        self.stdout.finish()?;
        Ok(self.told)
    }

    fn line(&mut self, at: Time, state: &str, count: u64, asked: u64) -> String {
        let sample = self.told.last.filter(|_| count > 0);
        let seconds = at.as_secs_f64();
        if self.json {
            let line = json_line!("sync", "second", {
                "at_s": seconds, "state": state, "offsets": count, "asked": asked,
                "offset_ps": sample.map(|it| it.offset_ps), "bound_ps": sample.and_then(|it| it.bound_ps),
                "delay_ps": sample.and_then(|it| it.delay_ps), "drift_ppt": sample.map(|it| it.drift_ppt),
                "machine_ps": sample.map(|it| machine(&it)), "node": self.node,
            });
            return format!("{line}\n");
        }
        let Some(sample) = sample else {
            let gives = state == "master" || state.starts_with("server");
            let asked = match (gives, asked) {
                (true, 0) => ", nobody has asked".into(),
                (true, asked) => format!(", {asked} questions of slaves"),
                (false, _) => String::new(),
            };
            return format!("{seconds:>7.0}s  {state}{asked}\n");
        };
        let delay = sample.delay_ps.map_or("-".into(), signed_64);
        let line = format!(
            "{seconds:>7.0}s {:>13} {:>13} {delay:>12} {:>+12.4} {:>14}\n",
            signed_64(sample.offset_ps),
            sample.bound_ps.map_or("-".into(), length),
            sample.drift_ppt as f64 / 1e6,
            signed(sample.machine_ps),
        );
        match std::mem::replace(&mut self.head, true) {
            true => line,
            false if self.node.is_some() => format!("{LAB_HEAD}\n{line}"),
            false => format!("{HEAD}\n{line}"),
        }
    }
}

/// What stands above the columns.
const HEAD: &str = "    time        offset         bound        delay   drift, ppm   machine ahead";
/// The same of a lab.
const LAB_HEAD: &str =
    "    time        offset         bound        delay   drift, ppm   true time ahead";

/// As JSON has it: what is more than 106 days is as much as that.
pub fn machine(sample: &Sample) -> i64 {
    let least = i128::from(i64::MIN);
    sample.machine_ps.clamp(least, i64::MAX.into()) as i64
}

/// A length of time with four digits.
pub fn length(ps: u64) -> String {
    let ps = ps as f64;
    let scale = 10f64.powi(ps.max(1.0).log10().floor() as i32 - 3).max(1.0);
    text::time((ps / scale).round() * scale)
}

/// The same with a sign.
pub fn signed(ps: i128) -> String {
    let sign = match ps {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    let size = u64::try_from(ps.unsigned_abs()).unwrap_or(u64::MAX);
    format!("{sign}{}", length(size))
}

/// The same of 64 bits.
pub fn signed_64(ps: i64) -> String {
    signed(ps.into())
}

/// Draws offsets with their bound, the machine's clock, delay and drift over time.
pub fn draw(title: &str, machine: &str, samples: &[Sample], path: &Path) -> anyhow::Result<()> {
    // What was before the clock was set would leave no room for all else.
    let first = samples
        .iter()
        .rposition(|it| it.offset_ps.unsigned_abs() > 1_000_000_000_000);
    let samples = &samples[first
        .map_or(0, |place| place + 1)
        .min(samples.len().saturating_sub(1))..];
    let most = |value: &dyn Fn(&Sample) -> f64| {
        let values = samples.iter().map(|it| value(it).abs());
        TimeUnit::of(values.fold(1.0, f64::max))
    };
    let at = |sample: &Sample| sample.at.as_secs_f64();
    let time = || Axis::new("time [s]");
    let panel = |name: &str, value: &dyn Fn(&Sample) -> f64| {
        let unit = most(value);
        let points = samples.iter().map(|it| (at(it), value(it) / unit.ps));
        Panel::new(time(), Axis::of_times(name, unit, false)).series(Series::line("", points))
    };
    let offset = |it: &Sample| it.offset_ps as f64;
    let unit = most(&|it| offset(it).abs().max(it.bound_ps.unwrap_or(0) as f64));
    let own = samples.iter().map(|it| (at(it), offset(it) / unit.ps));
    let band = samples.iter().map(|it| {
        let bound = it.bound_ps.unwrap_or(0) as f64;
        (
            at(it),
            (offset(it) - bound) / unit.ps,
            (offset(it) + bound) / unit.ps,
        )
    });
    let offsets = Panel::new(time(), Axis::of_times("ahead of the master", unit, false))
        .series(Series::line("offset and its bound", own).with_band(band));
    let drift = samples.iter().map(|it| (at(it), it.drift_ppt as f64 / 1e6));
    let drift = Panel::new(time(), Axis::new("drift [ppm]")).series(Series::line("", drift));
    let figure = Figure::new(title)
        .panel(offsets)
        .panel(panel(machine, &|it| it.machine_ps as f64))
        .panel(panel("delay", &|it| it.delay_ps.unwrap_or(0) as f64))
        .panel(drift);
    picture(&figure, path)
}
