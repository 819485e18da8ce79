//! What became of the conversations of hosts: a table, and JSON.

use ::report::text::{cells, four_digits, number};
use node::link::LinkCounters;
use node::outcome::{NodeOutcome, Times};
use node::{Flow, Time};
use serde_json::{Value, json};

/// Conversations that people are shown; programs get all.
const SHOWN: usize = 64;

/// Bits a second as people write them.
pub(crate) fn rate(bits: f64) -> String {
    let (scale, unit) = match bits {
        _ if bits <= 0.0 => return "-".into(),
        _ if bits < 1e3 => (1.0, "b/s"),
        _ if bits < 1e6 => (1e3, "kb/s"),
        _ if bits < 1e9 => (1e6, "Mb/s"),
        _ => (1e9, "Gb/s"),
    };
    format!("{:.2} {unit}", bits / scale)
}

/// A time, to a thousandth of itself.
pub(crate) fn short(at: Time) -> String {
    let ps = at.as_ps() as f64;
    if ps < 1.0 {
        return "-".into();
    }
    four_digits(ps)
}

/// The table; empty without conversations.
pub(crate) fn table(nodes: &[NodeOutcome]) -> Vec<Vec<String>> {
    let all = || {
        let of_node = |node: &NodeOutcome| node.flows.len();
        nodes.iter().map(of_node).sum::<usize>()
    };
    if all() == 0 {
        return Vec::new();
    }
    let mut lines = vec![cells(&[
        "flow",
        "from",
        "to",
        "bytes",
        "in",
        "goodput",
        "packets",
        "lost",
        "resent",
        "round trip",
        "delay",
        "jitter",
    ])];
    let flows = nodes
        .iter()
        .flat_map(|node| node.flows.iter().map(move |flow| (node, flow)));
    for (node, flow) in flows.take(SHOWN) {
        let mean = |times: &Times| match times.count {
            0 => "-".into(),
            _ => short(times.mean()),
        };
        let took = flow.ended - flow.begun;
        lines.push(vec![
            match (flow.error, flow.done) {
                (Some(error), _) => format!("{} {}: {error}", node.name, flow.program),
                (None, true) => format!("{} {}", node.name, flow.program),
                (None, false) => format!("{} {} ...", node.name, flow.program),
            },
            flow.from.clone(),
            flow.to.clone(),
            number(flow.bytes),
            short(took),
            rate(flow.goodput()),
            number(flow.packets),
            number(flow.lost),
            number(flow.resent),
            mean(&flow.round_trip),
            mean(&flow.delay),
            flow.jitter.map_or("-".into(), |jitter| {
                if jitter == Time::ZERO {
                    "0".into()
                } else {
                    short(jitter)
                }
            }),
        ]);
    }
    if all() > SHOWN {
        lines.push(vec![format!("and {} more: --json has all", all() - SHOWN)]);
    }
    lines
}

/// One conversation.
pub(crate) fn json(node: &str, flow: &Flow) -> Value {
    let times = |times: &Times| match times.count {
        0 => Value::Null,
        _ => json!({
            "count": times.count, "mean_ps": times.mean().as_ps(),
            "min_ps": times.min.as_ps(), "max_ps": times.max.as_ps(),
        }),
    };
    json!({
        "type": "flow", "node": node, "program": flow.program, "from": flow.from, "to": flow.to,
        "begun_ps": flow.begun.as_ps(), "ended_ps": flow.ended.as_ps(), "done": flow.done, "error": flow.error,
        "bytes": flow.bytes, "goodput": flow.goodput(), "packets": flow.packets, "lost": flow.lost,
        "resent": flow.resent, "round_trip": times(&flow.round_trip), "delay": times(&flow.delay),
        "jitter_ps": flow.jitter.map(Time::as_ps),
    })
}

/// Links that people are shown, the busiest.
const LINKS: usize = 32;

/// What links carried, the busiest first, and how many directions carried nothing.
pub(crate) fn links(
    names: &[[String; 2]],
    counters: &[[LinkCounters; 2]],
    busy: &[[Option<f64>; 2]],
) -> (Vec<Vec<String>>, usize) {
    let (mut ways, mut idle) = (Vec::new(), 0);
    for ((ends, both), busy) in names.iter().zip(counters).zip(busy) {
        for (direction, counters) in both.iter().enumerate() {
            if counters.sent + counters.queue_full + counters.dropped_early > 0 {
                let way = format!("{} -> {}", ends[direction], ends[1 - direction]);
                ways.push((way, counters, busy[direction]));
            } else {
                idle += 1;
            }
        }
    }
    let more = ways.len().saturating_sub(LINKS);
    ways.sort_by(|(_, one, busy), (_, other, also)| {
        let by = other.queue_full.cmp(&one.queue_full);
        let share = |busy: &Option<f64>| busy.unwrap_or(0.0);
        by.then(share(also).total_cmp(&share(busy)))
            .then(other.bytes.cmp(&one.bytes))
    });
    let mut lines = vec![cells(&[
        "link",
        "frames",
        "bytes",
        "busy",
        "longest queue",
        "dropped",
    ])];
    for (way, counters, busy) in ways.into_iter().take(LINKS) {
        lines.push(vec![
            way,
            number(counters.sent),
            number(counters.bytes),
            busy.map_or("-".into(), ::report::text::percent),
            number(counters.longest_queue),
            number(
                counters.queue_full + counters.dropped_early + counters.lost + counters.bit_errors,
            ),
        ]);
    }
    if more > 0 {
        lines.push(vec![format!("and {more} less busy: --json has all")]);
    }
    (lines, idle)
}
