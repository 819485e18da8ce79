//! What became of nodes' clocks: a table, a line, and JSON.

use crate::flows::short;
use crate::table::{cells, number};
use measure::clock::{ClockReport, Deviations};
use node::Time;
use node::outcome::{NodeOutcome, Spread};
use serde_json::{Value, json};

/// Clocks that people are shown; programs get all.
const SHOWN: usize = 64;

/// Counters that DTP keeps, by the names of their nodes.
type Counters = [(String, ClockReport)];

/// The table; empty without clocks. Counters of DTP stand there where others do: they have a table of their own.
pub(crate) fn table(nodes: &[NodeOutcome], counters: &Counters) -> Vec<Vec<String>> {
    let own = nodes.iter();
    let own = own.filter_map(|node| Some((&node.name, node.extensions.get::<ClockReport>()?)));
    let mut clocks: Vec<_> = own.collect();
    if clocks.is_empty() {
        return Vec::new();
    }
    clocks.extend(counters.iter().map(|(name, clock)| (name, clock)));
    let all = clocks.len();
    let mut lines = vec![cells(&[
        "clock", "state", "offsets", "last", "rms", "max", "last", "rms", "max", "last", "max",
        "over it", "delay", "steered",
    ])];
    for (name, clock) in clocks.into_iter().take(SHOWN) {
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
pub(crate) fn groups(truth: &'static str) -> Vec<(usize, usize, &'static str)> {
    vec![
        (3, 3, "from its master"),
        (6, 3, truth),
        (9, 3, "bound that it has"),
    ]
}

/// What each protocol has come to, where there are several: the worst clock of each.
pub(crate) fn protocols(nodes: &[NodeOutcome], counters: &Counters) -> Vec<Vec<String>> {
    let own = || {
        nodes
            .iter()
            .filter_map(|node| node.extensions.get::<ClockReport>())
    };
    let clocks = || own().chain(counters.iter().map(|(_, clock)| clock));
    let clocks = || clocks().filter(|clock| clock.error.count > 0);
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
pub(crate) fn protocol_groups(truth: &'static str) -> Vec<(usize, usize, &'static str)> {
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
