//! What became of nodes' clocks: a table, a line, and JSON.

use super::offsets::Offsets;
use crate::flows::short;
use crate::plan::instrument::{Attachments, Finished, Instrument, Measurement, Section};
use crate::world::World;
use ::report::text::{Table, cells, number};
use measure::clock::{ClockReport, Deviations};
use node::Time;
use node::outcome::Spread;
use serde_json::{Value, json};
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// Clocks that people are shown; programs get all.
const SHOWN: usize = 64;

/// The instrument: the clocks of nodes, which need no section.
#[derive(Debug, Default)]
pub(super) struct AllClocks;

impl Instrument for AllClocks {
    fn attach(&self, _: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        Some(Box::new(AllClocks))
    }
}

impl Measurement for AllClocks {
    fn finish(&self, run: &Finished<'_>) -> Option<Arc<dyn Section>> {
        let nodes = run.outcome.nodes.iter();
        let own = nodes.filter_map(|node| {
            let clock = node.extensions.get::<ClockReport>()?;
            Some((node.name.clone(), clock.clone()))
        });
        let counters = run.section::<Offsets>();
        let clocks = Clocks {
            own: own.collect(),
            counters: counters.map_or(Vec::new(), |offsets| offsets.clocks.clone()),
            world: run.world,
        };
        let is_empty = clocks.own.is_empty() && clocks.counters.is_empty();
        (!is_empty).then(|| Arc::new(clocks) as Arc<dyn Section>)
    }
}

/// The clocks of a run's nodes, each with the node's name.
#[derive(Clone, Debug)]
pub struct Clocks {
    /// Clocks that messages set.
    pub own: Vec<(String, ClockReport)>,
    /// Counters of DTP.
    pub counters: Vec<(String, ClockReport)>,
    world: World,
}

impl Clocks {
    /// All of them, counters last.
    pub fn all(&self) -> impl Iterator<Item = &(String, ClockReport)> + Clone {
        self.own.iter().chain(&self.counters)
    }
}

impl Section for Clocks {
    fn headline(&self) -> Option<String> {
        SetClocks::of(self).map(|clocks| clocks.text())
    }

    fn headline_json(&self) -> Vec<(&'static str, Value)> {
        let worst = SetClocks::of(self).map(|clocks| clocks.worst.as_ps());
        vec![("clocks_worst_error_ps", json!(worst))]
    }

    fn write(&self, f: &mut String, _verbose: bool) -> fmt::Result {
        let is_simulated = self.world.is_simulated();
        let mut put = |lines: Vec<Vec<String>>, groups| match lines.is_empty() {
            true => Ok(()),
            false => {
                let mut table = Table::new(lines);
                table.groups = groups;
                write!(f, "\n{table}")
            }
        };
        let truth = match is_simulated {
            true => "from simulated time",
            false => "from this machine's counter",
        };
        put(table(self), groups(truth))?;
        let truth = match is_simulated {
            true => "in truth",
            false => "by this machine's counter",
        };
        put(protocols(self), protocol_groups(truth))
    }

    fn json(&self) -> Vec<Value> {
        self.all().map(|(node, clock)| json(node, clock)).collect()
    }
}

/// Clocks that are set over the network, and how far off they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SetClocks {
    /// How many.
    count: u64,
    /// The most that one was off, ahead or behind.
    worst: Time,
    /// How often one was farther off than the bound that it knew.
    over_bound: u64,
}

impl SetClocks {
    fn of(clocks: &Clocks) -> Option<SetClocks> {
        let clocks = clocks.own.iter().map(|(_, clock)| clock);
        let clocks: Vec<_> = clocks.filter(|clock| clock.error.count > 0).collect();
        let worst = clocks.iter().map(|clock| clock.error.greatest()).max()?;
        Some(SetClocks {
            count: clocks.len() as u64,
            worst,
            over_bound: clocks.iter().map(|clock| clock.over_bound).sum(),
        })
    }

    fn text(&self) -> String {
        let over = match self.over_bound {
            0 => String::new(),
            1 => ", over a bound once".into(),
            over => format!(", over their bounds {} times", number(over)),
        };
        let worst = short(self.worst);
        match self.count {
            1 => format!("clock at most {worst} off{over}"),
            count => format!("{} clocks at most {worst} off{over}", number(count)),
        }
    }
}

/// The table; empty without clocks that messages set. Counters of DTP stand there where such are: they have a table of
/// their own.
fn table(clocks: &Clocks) -> Vec<Vec<String>> {
    if clocks.own.is_empty() {
        return Vec::new();
    }
    let clocks = clocks.all();
    let all = clocks.clone().count();
    let mut lines = vec![cells(&[
        "clock", "state", "offsets", "last", "rms", "max", "last", "rms", "max", "last", "max",
        "over it", "delay", "steered",
    ])];
    for (name, clock) in clocks.take(SHOWN) {
        let mut line = vec![
            name.clone(),
            format!("{} {}", clock.protocol, clock.state),
            number(clock.offset.count),
        ];
        for deviations in [&clock.offset, &clock.error] {
            line.extend(summary(deviations));
        }
        line.push(clock.bound_ps.map_or("-".into(), length));
        line.push(clock.greatest_bound_ps.map_or("-".into(), length));
        line.push(match clock.bound_ps {
            None => "-".into(),
            Some(_) => number(clock.over_bound),
        });
        line.push(clock.delay_ps.map_or("-".into(), signed));
        line.push(match clock.offset.count {
            0 => "-".into(),
            _ => format!("{:+.3} ppm", clock.steered_ppt as f64 / 1e6),
        });
        lines.push(line);
    }
    if all > SHOWN {
        lines.push(vec![format!("and {} more: --json has all", all - SHOWN)]);
    }
    lines
}

/// Which columns are offsets from the master, which ones from the world's time, and which ones bounds.
fn groups(truth: &'static str) -> Vec<(usize, usize, &'static str)> {
    vec![
        (3, 3, "from its master"),
        (6, 3, truth),
        (9, 3, "bound that it has"),
    ]
}

/// What each protocol has come to, where there are several: the worst clock of each.
fn protocols(clocks: &Clocks) -> Vec<Vec<String>> {
    let clocks = || {
        let clocks = clocks.all().map(|(_, clock)| clock);
        clocks.filter(|clock| clock.error.count > 0)
    };
    let mut names: Vec<&str> = clocks().map(|clock| clock.protocol).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < 2 {
        return Vec::new();
    }
    let mut lines = vec![cells(&[
        "worst clock",
        "clocks",
        "median",
        "99 %",
        "max",
        "median",
        "99 %",
        "max",
        "bound",
        "over it",
    ])];
    let spread = |count: u64, spread: &Spread| {
        let shown = [spread.p50, spread.p99, spread.max];
        shown.map(|time| match count {
            0 => "-".into(),
            _ => length(time.as_ps()),
        })
    };
    for name in names {
        let of = || clocks().filter(|clock| clock.protocol == name);
        let worst = |of: &mut dyn Iterator<Item = Spread>| {
            of.reduce(|one, other| Spread {
                p50: one.p50.max(other.p50),
                p99: one.p99.max(other.p99),
                p999: one.p999.max(other.p999),
                max: one.max.max(other.max),
            })
        };
        let mut line = vec![name.to_string(), number(of().count() as u64)];
        for values in [
            |clock: &ClockReport| clock.offset,
            |clock: &ClockReport| clock.error,
        ] {
            let count = of().map(|clock| values(clock).count).sum();
            let worst = worst(&mut of().map(|clock| values(clock).spread));
            line.extend(worst.iter().flat_map(|worst| spread(count, worst)));
        }
        let bound = of().filter_map(|clock| clock.greatest_bound_ps).max();
        line.push(bound.map_or("-".into(), length));
        line.push(number(of().map(|clock| clock.over_bound).sum()));
        lines.push(line);
    }
    lines
}

/// Which columns of that are what the protocols have found, and which ones the truth.
fn protocol_groups(truth: &'static str) -> Vec<(usize, usize, &'static str)> {
    vec![(2, 3, "as it has found"), (5, 3, truth)]
}

fn summary(deviations: &Deviations) -> [String; 3] {
    match deviations.count {
        0 => ["-".into(), "-".into(), "-".into()],
        _ => [
            signed(deviations.last_ps),
            length(deviations.rms_ps),
            length(deviations.greatest().as_ps()),
        ],
    }
}

fn length(ps: u64) -> String {
    match ps {
        0 => "0".into(),
        _ => short(Time::from_ps(ps)),
    }
}

fn signed(ps: i64) -> String {
    let sign = if ps < 0 { "-" } else { "" };
    sign.to_owned() + &length(ps.unsigned_abs())
}

/// A clock on live ports, in a line: what it knows, and what its stamps are.
pub fn line(clock: &ClockReport, stamps: &str) -> String {
    let mut text = format!("{}, {} stamps", clock.state, stamps);
    if clock.offset.count > 0 {
        let [last, rms, max] = summary(&clock.offset);
        let count = number(clock.offset.count);
        text += &format!("; ahead of its master by {last}, rms {rms}, at most {max}, of {count}");
    }
    if let Some(bound) = clock.bound_ps {
        text += &format!("; off by no more than {}", length(bound));
    }
    if let Some(delay) = clock.delay_ps {
        text += &format!("; delay {}", signed(delay));
    }
    text
}

/// A clock.
pub fn json(node: &str, clock: &ClockReport) -> Value {
    let deviations = |values: &Deviations| {
        let Spread {
            p50,
            p99,
            p999,
            max,
        } = values.spread;
        match values.count {
            0 => Value::Null,
            _ => json!({
                "count": values.count, "last_ps": values.last_ps, "min_ps": values.min_ps,
                "max_ps": values.max_ps, "rms_ps": values.rms_ps, "p50_ps": p50.as_ps(),
                "p99_ps": p99.as_ps(), "p999_ps": p999.as_ps(), "greatest_ps": max.as_ps(),
            }),
        }
    };
    let trace = clock.trace.iter();
    let trace = trace.map(|(at, offset, error)| json!([at.as_ps(), offset, error]));
    json!({
        "type": "clock", "node": node, "protocol": clock.protocol, "state": clock.state,
        "offset": deviations(&clock.offset), "error": deviations(&clock.error),
        "bound_ps": clock.bound_ps, "greatest_bound_ps": clock.greatest_bound_ps,
        "over_bound": clock.over_bound, "delay_ps": clock.delay_ps, "steered_ppt": clock.steered_ppt,
        "trace": trace.collect::<Vec<_>>(),
    })
}
