//! What a delay box has done: for people or as JSON.

use crate::output::{Buffering, Output};
use crate::report::{Detail, put, put_departures, put_link, put_link_object, put_timing};
use live::world::PortsOutcome;
use nodes::delay::Spec;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// What is told of each direction, beside its packets.
const COUNTS: [&str; 6] = [
    "lost",
    "dropped",
    "marked",
    "duplicated",
    "corrupted",
    "reordered",
];

/// Tells it.
///
/// # Errors
/// When standard output cannot be written.
pub fn tell(
    ended: &PortsOutcome,
    names: &[String],
    specs: &[Spec; 2],
    as_json: bool,
    detail: Detail,
) -> anyhow::Result<()> {
    if as_json {
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.write(format!("{}\n", object(ended, names, specs)).as_bytes())?;
        stdout.finish()?;
    } else {
        put(&text(ended, names, specs, detail), names)?;
    }
    Ok(())
}

/// Frames that were still to leave at the end: in the box, or on their way to the port.
fn held(ended: &PortsOutcome, way: usize) -> u64 {
    count(ended, way, "held") + ended.unsent[1 - way]
}

/// A counter of the box.
fn count(ended: &PortsOutcome, way: usize, name: &str) -> u64 {
    let name = format!("{}_{name}", ["forth", "back"][way]);
    let counters = ended.outcome.nodes.first().map(|node| &node.counters);
    let found = counters.and_then(|counters| counters.iter().find(|(known, _)| *known == name));
    found.map_or(0, |&(_, value)| value)
}

fn text(ended: &PortsOutcome, names: &[String], specs: &[Spec; 2], detail: Detail) -> String {
    let mut text = String::new();
    let came: u64 = (0..2).map(|way| count(ended, way, "packets")).sum();
    let left: u64 = ended.sent.iter().map(|tx| tx.sent).sum();
    let waiting: u64 = (0..2).map(|way| held(ended, way)).sum();
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "{came} packets came, {left} left, {waiting} were held at the end"
    );
    for way in 0..2 {
        let (from, to) = (&names[way], &names[1 - way]);
        let _ = writeln!(text, "{from} > {to}: {}", specs[way]);
        let _ = write!(
            text,
            "{from} > {to}: {} in, {} out",
            count(ended, way, "packets"),
            ended.sent[1 - way].sent
        );
        for name in COUNTS {
            match count(ended, way, name) {
                0 => {}
                value => {
                    let _ = write!(text, ", {value} {name}");
                }
            }
        }
        for (count, what) in [
            (ended.received[way].dropped, "not read in time"),
            (ended.received[way].refused, "of no length for a frame"),
            (ended.sent[1 - way].refused, "refused by the port"),
            (held(ended, way), "held at the end"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        text.push('\n');
    }
    for (name, link) in names.iter().zip(&ended.links) {
        put_link(&mut text, name, *link);
    }
    for node in &ended.outcome.nodes {
        for (reason, count) in node.drops.iter().filter(|(reason, _)| reason != "lost") {
            let _ = writeln!(text, "dropped {count}: {reason}");
        }
    }
    put_departures(&mut text, &ended.outcome, detail);
    text
}

fn object(ended: &PortsOutcome, names: &[String], specs: &[Spec; 2]) -> Value {
    let directions = [0, 1].map(|way| {
        let mut direction = Map::new();
        direction.insert("from".into(), json!(names[way]));
        direction.insert("to".into(), json!(names[1 - way]));
        direction.insert("spec".into(), json!(specs[way].to_string()));
        for name in ["packets", "bytes"].into_iter().chain(COUNTS) {
            direction.insert(name.into(), json!(count(ended, way, name)));
        }
        direction.insert("sent".into(), json!(ended.sent[1 - way].sent));
        direction.insert("held".into(), json!(held(ended, way)));
        direction.insert("unread".into(), json!(ended.received[way].dropped));
        direction.insert(
            "refused".into(),
            json!(ended.sent[1 - way].refused + ended.received[way].refused),
        );
        let mut direction = Value::Object(direction);
        put_link_object(&mut direction, ended.links[way]);
        direction
    });
    let nodes = ended.outcome.nodes.iter();
    let drops: Map<String, Value> = nodes
        .flat_map(|node| &node.drops)
        .map(|(reason, count)| (reason.clone(), json!(count)))
        .collect();
    let mut line = json_line!("delay", "delay", {
        "ended_ns": ended.outcome.ended.as_ns(),
        "directions": directions,
        "drops": drops,
        "stamps": ended.outcome.stamps,
    });
    put_timing(&mut line, &ended.outcome.timing.unwrap_or_default());
    line
}
