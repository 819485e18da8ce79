//! Programs that read a node's counter behind PCI Express, as DTP's daemon does (paper 002 sections 4.5.3 and 4.5.4): how far their time is from it.
//!
//! The counter is read now and then. A reading takes its way to the card and back, neither of which is known, so it is taken for what the counter was
//! in their middle; in between the program goes on by the processor's own counter ([`Timekeeper`]). How long the ways take is a model, whose
//! figures are the lab's: a least time, what is added to it by an exponential law, and now and then a longer wait.

use super::TICK_PS;
use crate::fault::Fault;
use crate::plan::instrument::Reading;
use crate::tree;
use ::plot::{Axis, Figure, Panel, Series, TimeUnit};
use ::report::text::{Table, cells};
use node::random::{Random, seed_of};
use node::timekeeper::Timekeeper;
use node::{Histogram, Time};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::{self, Write as _};

/// A tick of the processor's counter, picoseconds: 2.5 GHz.
const TSC_PS: f64 = 400.0;
/// How fast that is at most, parts per million.
const TSC_PPM: f64 = 50.0;
/// Points that are kept to be drawn.
const POINTS: usize = 4_000;
/// Parts of a tick of DTP that are told apart.
const PARTS: f64 = 10.0;

/// Programs that read nodes' counters behind PCI Express.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Config {
    /// From one reading to the next.
    pub every: Time,
    /// Number of readings in the moving mean: 1 to 64.
    pub window: usize,
    /// Minimum time of each way, to the card and back.
    pub way: Time,
    /// Mean of the exponentially distributed time that is added to each way.
    pub jitter: Time,
    /// Probability that a way takes longer than usual: 0 to 1.
    pub spikes: f64,
    /// Maximum of that wait, uniformly distributed from 0.
    pub spike: Time,
    /// Published bounds on the distance from the counter, ticks: of single readings, and of their moving mean.
    pub within: [u32; 2],
    /// Seed of their random numbers.
    pub seed: u64,
    /// The picture.
    pub file: Option<String>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            every: Time::from_us(50),
            window: 10,
            way: Time::from_ns(300),
            jitter: Time::from_ns(25),
            spikes: 0.01,
            spike: Time::from_ns(400),
            within: [16, 4],
            seed: 1,
            file: None,
        }
    }
}

impl Config {
    /// Adds faults for values out of range in the table `value`.
    pub fn check(&self, value: &tree::Value, reading: &mut Reading<'_>) {
        let wrong = match self {
            config if config.every == Time::ZERO => Some(("every", "more than 0")),
            config if !(1..=64).contains(&config.window) => Some(("window", "1 to 64 readings")),
            config if !(0.0..=1.0).contains(&config.spikes) => Some(("spikes", "0 to 1")),
            _ => None,
        };
        if let Some((key, reason)) = wrong {
            let span = value.get(key).map_or(&value.span, |value| &value.span);
            let message = format!("`{key}` of a daemon is {reason}");
            reading.faults.push(Fault::new(span.clone(), message));
        }
        if let (Some(file), Some(value)) = (&self.file, value.get("file")) {
            reading.file_name(file, value, &["png", "svg"]);
        }
    }
}

/// A program beside a node.
#[derive(Clone, Debug)]
pub(super) struct Daemon {
    next: Time,
    random: Random,
    /// By how much the processor's counter is faster, a fraction.
    fast: f64,
    /// As it is read, and through the mean of the last few.
    keepers: [Timekeeper; 2],
    off: [Off; 2],
}

/// How far off.
#[derive(Clone, Debug)]
struct Off {
    /// Tenths of a tick.
    sizes: Histogram,
    within: u64,
    /// Some of the looks: when, and by how many ticks it was ahead.
    points: Vec<(Time, f64)>,
    /// Of how many looks one is a point.
    every: usize,
    looks: usize,
}

impl Daemon {
    /// That of a node.
    pub fn new(config: &Config, node: &str) -> Daemon {
        let mut random = Random::new(seed_of(config.seed, "daemon", &[node]));
        let off = Off {
            sizes: Histogram::with_precision(7),
            within: 0,
            points: Vec::new(),
            every: 1,
            looks: 0,
        };
        Daemon {
            next: Time::ZERO,
            fast: (2.0 * random.unit() - 1.0) * TSC_PPM * 1e-6,
            random,
            keepers: [Timekeeper::new(1), Timekeeper::new(config.window)],
            off: [off.clone(), off],
        }
    }

    /// The counter shows this now.
    pub fn look(&mut self, config: &Config, now: Time, counter: u128) {
        let shown = (counter as i128) * i128::from(TICK_PS);
        // Before there is a clock there is nothing to read.
        if counter == 0 {
            return;
        }
        if self.keepers[0].rate() > 0.0 {
            let tsc = self.tsc(now.as_ps() as f64);
            for (which, keeper) in self.keepers.iter().enumerate() {
                let Some(at) = keeper.at(tsc) else { continue };
                let ahead = (at - shown) as f64 / TICK_PS as f64;
                self.off[which].add(now, ahead, f64::from(config.within[which]));
            }
        }
        if now >= self.next {
            self.next = now + config.every;
            let (there, back) = (self.way(config), self.way(config));
            let sampled = (there / TICK_PS as f64 + self.random.unit()).floor();
            let middle = now.as_ps() as f64 + (there + back) / 2.0;
            let tsc = self.tsc(middle);
            let value = shown + sampled as i128 * i128::from(TICK_PS);
            for keeper in &mut self.keepers {
                keeper.sample(tsc, value);
            }
        }
    }

    fn tsc(&self, ps: f64) -> u64 {
        (ps * (1.0 + self.fast) / TSC_PS) as u64
    }

    /// How long one way takes, picoseconds.
    fn way(&mut self, config: &Config) -> f64 {
        let ps = |time: Time| time.as_ps() as f64;
        let jitter = -(1.0 - self.random.unit()).ln() * ps(config.jitter);
        let held = self.random.unit() < config.spikes;
        let spike = if held {
            self.random.unit() * ps(config.spike)
        } else {
            0.0
        };
        ps(config.way) + jitter + spike
    }
}

impl Off {
    fn add(&mut self, now: Time, ticks: f64, within: f64) {
        self.sizes.record((ticks.abs() * PARTS).round() as u64);
        self.within += u64::from(ticks.abs() <= within);
        self.looks += 1;
        if !self.looks.is_multiple_of(self.every) {
            return;
        }
        self.points.push((now, ticks));
        if self.points.len() > POINTS {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
        }
    }

    fn share(&self) -> f64 {
        100.0 * self.within as f64 / self.looks.max(1) as f64
    }

    /// The median, the 99th percentile, and the greatest, ticks.
    fn ticks(&self) -> [f64; 3] {
        let spread = self.sizes.spread(Time::from_ps(1));
        [spread.p50, spread.p99, spread.max].map(|tenths| tenths.as_ps() as f64 / PARTS)
    }
}

/// The programs of a lab.
#[derive(Clone, Debug)]
pub(super) struct Daemons {
    pub config: Config,
    pub all: Vec<Daemon>,
}

impl Daemons {
    /// What each is called.
    fn names(&self) -> [String; 2] {
        [
            "as it is read".into(),
            format!("mean of {} readings", self.config.window),
        ]
    }

    /// For people: the worst of them.
    pub fn write(&self, f: &mut String) -> fmt::Result {
        let mut lines = vec![cells(&[
            "programs' time from the counter [ticks]",
            "median",
            "99 %",
            "most",
            "within",
            "of looks",
        ])];
        for (which, name) in self.names().into_iter().enumerate() {
            let all = self.all.iter().map(|daemon| &daemon.off[which]);
            let worst = all.clone().map(Off::ticks);
            let worst = worst.fold([0.0; 3], |a: [f64; 3], b| [0, 1, 2].map(|i| a[i].max(b[i])));
            let share = all.map(Off::share).fold(100.0, f64::min);
            let mut line = vec![name];
            line.extend(worst.map(|ticks| format!("{ticks:.1}")));
            line.push(self.config.within[which].to_string());
            line.push(format!("{share:.2} %"));
            lines.push(line);
        }
        write!(f, "\n{}", Table::new(lines))
    }

    /// A line for each.
    pub fn json(&self, names: &[&str]) -> Vec<Value> {
        let all = self.all.iter().zip(names);
        let lines = all.flat_map(|(daemon, node)| {
            let windows = [1, self.config.window];
            let off = daemon.off.iter().zip(windows).zip(self.config.within);
            off.map(move |((off, window), within)| {
                let [median, p99, most] = off.ticks();
                json!({
                    "type": "daemon", "node": node, "window": window, "looks": off.looks, "median_ticks": median,
                    "p99_ticks": p99, "greatest_ticks": most, "within_ticks": within, "share_within": off.share() / 100.0,
                })
            })
        });
        lines.collect()
    }

    /// Figure 4.32: the first program's offset over time, as it is read and smoothed.
    pub fn figure(&self, title: &str, ended: Time) -> Figure {
        let unit = TimeUnit::of(ended.as_ps() as f64);
        let mut figure = Figure::new(title.to_string());
        for (which, name) in self.names().into_iter().enumerate() {
            let time = Axis::new(format!("time [{}]", unit.name));
            let points = self.all.first().map(|daemon| &daemon.off[which].points);
            let points = points.into_iter().flatten();
            let points = points.map(|(at, ticks)| (unit.of_ps(at.as_ps()), *ticks));
            let within = f64::from(self.config.within[which]);
            let panel = Panel::new(time, Axis::new("program ahead of the counter [ticks]"))
                .title(&name)
                .series(Series::points("", points))
                .mark_y(within, "published")
                .mark_y(-within, "");
            figure = figure.panel(panel);
        }
        figure
    }
}
