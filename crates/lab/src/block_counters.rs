//! What happened below the frames, on links at the level of blocks.

use node::link::{LineCounters, LinkCounters};
use serde_json::{Value, json};

/// The counters, by the names of the JSON Lines and of the table.
fn all(line: &LineCounters) -> [(&'static str, &'static str, u64); 11] {
    [
        ("idles_inserted", "idles inserted", line.idles_inserted),
        ("idles_removed", "idles removed", line.idles_removed),
        ("slips", "slips", line.slips),
        ("wrong_bits", "wrong bits", line.wrong_bits),
        ("bad_headers", "bad headers", line.bad_headers),
        ("bad_blocks", "bad blocks", line.bad_blocks),
        ("bad_fcs", "bad FCS", line.bad_fcs),
        ("lock_losses", "lock losses", line.lock_losses),
        ("high_error_rates", "hi_ber", line.high_error_rates),
        ("undetected", "undetected", line.undetected),
        ("passed_over", "blocks passed over", line.passed_over),
    ]
}

/// The table's lines: of the directions that have something to tell, those counters that any of them
/// has. Empty when none has.
pub(crate) fn table(
    links: &[[String; 2]],
    counters: &[[LinkCounters; 2]],
    number: impl Fn(u64) -> String,
) -> Vec<Vec<String>> {
    let mut directions = Vec::new();
    for (ends, counters) in links.iter().zip(counters) {
        for (direction, counters) in counters.iter().enumerate() {
            let Some(line) = &counters.line else { continue };
            if *line != LineCounters::default() {
                let label = format!("{} -> {}", ends[direction], ends[1 - direction]);
                directions.push((label, all(line)));
            }
        }
    }
    let Some((_, first)) = directions.first() else {
        return Vec::new();
    };
    let used = |index: &usize| {
        directions
            .iter()
            .any(|(_, counters)| counters[*index].2 > 0)
    };
    let columns: Vec<usize> = (0..first.len()).filter(used).collect();
    let mut lines = vec![vec!["line".to_string()]];
    lines[0].extend(columns.iter().map(|&column| first[column].1.to_string()));
    for (direction, counters) in &directions {
        let cells = columns.iter().map(|&column| number(counters[column].2));
        lines.push(std::iter::once(direction.clone()).chain(cells).collect());
    }
    lines
}

/// One direction's, as an object; null at the level of frames.
pub(crate) fn json(counters: &LinkCounters) -> Value {
    let Some(line) = &counters.line else {
        return Value::Null;
    };
    let pairs = all(line).map(|(name, _, count)| (name.to_string(), json!(count)));
    Value::Object(pairs.into_iter().collect())
}
