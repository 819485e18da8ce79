//! What came of a node at a hook: text for people, or an object.

use crate::output::{Buffering, Output};
use crate::report::{Detail, put};
use live::world::hook::{Report, Snapshot};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Tells what came of a run.
///
/// # Errors
/// When standard output takes no more.
pub fn report(node: &str, ended: &Report, json: bool, detail: Detail) -> anyhow::Result<()> {
    if json {
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.write(format!("{}\n", object(node, ended)).as_bytes())?;
        return stdout.finish();
    }
    put(&text(node, ended, detail), &[])
}

/// The counts that are told only when they are not zero, by their names in JSON, and what they are.
fn troubles(counts: &Snapshot) -> [(&'static str, u64, &'static str); 8] {
    [
        (
            "overruns",
            counts.overruns,
            "found no room in the queue or its socket",
        ),
        (
            "truncated",
            counts.truncated,
            "longer than the kernel gives whole, not shown to the node",
        ),
        (
            "too_big",
            counts.too_big,
            "too long for the way out; their senders were told",
        ),
        ("fragmented", counts.fragmented, "injected in fragments"),
        (
            "refused",
            counts.refused,
            "injected, and refused by the kernel",
        ),
        (
            "no_packet",
            counts.no_packet,
            "sent by the node without an IP packet in them",
        ),
        (
            "no_room",
            counts.no_room,
            "of the node's own, sent at a time when too many waited already",
        ),
        (
            "refused_verdicts",
            counts.refused_verdicts,
            "gone from the kernel's queue before the answer",
        ),
    ]
}

fn text(node: &str, ended: &Report, detail: Detail) -> String {
    let counts = &ended.counts;
    let seconds = ended.ran.as_secs_f64().max(1e-9);
    let mut text = String::new();
    let lost = match counts.overruns {
        0 => "none lost".into(),
        lost => format!("{lost} found no room in the queue or its socket"),
    };
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "{} packets: {} passed as they came, {} changed, {} dropped, {lost}",
        counts.packets, counts.accepted, counts.changed, counts.dropped
    );
    let _ = writeln!(
        text,
        "{} bytes in {seconds:.1} s: {:.0} packets/s, {:.3} Mb/s; {} injected, {} held at the end",
        counts.bytes,
        counts.packets as f64 / seconds,
        counts.bytes as f64 * 8e-6 / seconds,
        counts.injected,
        counts.held
    );
    let answered = counts.accepted + counts.changed + counts.dropped;
    if let Some(mean) = counts.waited_ns.checked_div(answered) {
        let _ = write!(
            text,
            "an answer took {:.1} us in the mean",
            mean as f64 / 1e3
        );
        if detail.verbose {
            let _ = write!(
                text,
                ", at most {:.1} us; {:.1} % of a processor",
                counts.longest_ns as f64 / 1e3,
                counts.processor_ns as f64 / seconds / 1e7,
            );
        }
        text.push('\n');
    }
    // Those without room stand in the first line.
    for (_, count, what) in troubles(counts).into_iter().skip(1) {
        if count > 0 {
            let _ = writeln!(text, "{count} {what}");
        }
    }
    if !counts.node.is_empty() {
        let _ = write!(text, "{node}:");
        for (name, count) in &counts.node {
            let _ = write!(text, " {name} {count}");
        }
        text.push('\n');
    }
    for (reason, count) in &counts.drops {
        let _ = writeln!(text, "{node}: dropped {count}: {reason}");
    }
    text
}

/// A snapshot as an object.
pub fn counts(counts: &Snapshot) -> Map<String, Value> {
    let pairs = |pairs: &[(String, u64)]| -> Map<String, Value> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, count)| (name.clone(), json!(count)))
            .collect()
    };
    let mut object = Map::new();
    for (name, count) in [
        ("packets", counts.packets),
        ("bytes", counts.bytes),
        ("accepted", counts.accepted),
        ("accepted_bytes", counts.accepted_bytes),
        ("changed", counts.changed),
        ("changed_bytes", counts.changed_bytes),
        ("dropped", counts.dropped),
        ("injected", counts.injected),
        ("injected_bytes", counts.injected_bytes),
        ("held", counts.held),
    ] {
        object.insert(name.into(), json!(count));
    }
    for (name, count, _) in troubles(counts) {
        object.insert(name.into(), json!(count));
    }
    for (name, count) in [
        ("waited_ns", counts.waited_ns),
        ("longest_ns", counts.longest_ns),
        ("processor_ns", counts.processor_ns),
    ] {
        object.insert(name.into(), json!(count));
    }
    object.insert("counters".into(), pairs(&counts.node).into());
    object.insert("drops".into(), pairs(&counts.drops).into());
    object
}

fn object(node: &str, ended: &Report) -> Value {
    let mut object = Map::new();
    object.insert("schema".into(), json!(packet::json::schema("relay")));
    object.insert("type".into(), json!("relay"));
    object.insert("node".into(), json!(node));
    object.insert("ran_ns".into(), json!(ended.ran.as_nanos() as u64));
    object.insert("queues".into(), json!(ended.queues));
    object.extend(counts(&ended.counts));
    object.into()
}
