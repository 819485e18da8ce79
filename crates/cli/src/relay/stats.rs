//! `wire relay stats`: what the relays of this machine do.

use super::stats_server::folders;
use crate::Verdict;
use crate::output::{Buffering, Output};
use listen::unix::is_left_over;
use live::world::hook::waits;
use node::Time;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{IsTerminal, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum length of a relay's statistics, bytes.
const MAX_STATS_LEN: u64 = 1 << 20;
/// Timeout for reading a relay's statistics.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// Show what the relays of this machine do, again and again
///
/// Rates, answers and times of waiting are those since the last look, or with --once since each began. Waiting is from when a packet was read
/// to its answer; backlog is what waits in the kernel's queue to leave by each interface. Relays of other users are shown to root.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire relay stats --once --json")]
pub struct Stats {
    /// A single time
    #[arg(long)]
    once: bool,
    /// How often
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "1s")]
    interval: Time,
    /// One JSON object a relay and look
    #[arg(long)]
    json: bool,
}

impl Stats {
    /// Shows them.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let mut stdout = Output::open(&Buffering::default())?;
        // Relays come and go, and are asked by their sockets.
        confine::ports(std::iter::empty::<&live::port::PortSpec>(), true)?;
        let clears = std::io::stdout().is_terminal() && !self.json && !self.once;
        let mut before: BTreeMap<PathBuf, Value> = BTreeMap::new();
        let mut first = true;
        loop {
            let relays = all(&folders());
            let mut text = String::new();
            // Once in a file that goes on.
            let news = first || clears || !before.is_empty();
            first = false;
            if relays.is_empty() && !self.json && news {
                text.push_str("no relay is running (wire relay run)\n");
            }
            let rows: Vec<(&Value, Row)> = relays
                .iter()
                .map(|(path, now)| (now, Row::new(now, before.get(path))))
                .collect();
            match self.json {
                true => rows.iter().for_each(|(now, row)| row.line(now, &mut text)),
                false => table(&rows, &mut text)?,
            }
            if clears {
                stdout.clear()?;
            }
            stdout.tell(&text)?;
            stdout.flush()?;
            if self.once {
                stdout.finish()?;
                return Ok(Verdict::Good);
            }
            before = relays;
            let mut left = Duration::from_nanos(self.interval.as_ns());
            while !left.is_zero() {
                if ::capture::signal::stop_requested() {
                    stdout.finish()?;
                    return Ok(Verdict::Good);
                }
                let nap = left.min(Duration::from_millis(50));
                std::thread::park_timeout(nap);
                left -= nap;
            }
        }
    }
}

/// What each relay says, by its socket. Sockets that were left over are taken away.
fn all(folders: &[PathBuf]) -> BTreeMap<PathBuf, Value> {
    let mut all = BTreeMap::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|extension| extension != "sock") {
                continue;
            }
            match ask(&path) {
                Some(told) => drop(all.insert(path, told)),
                None if is_left_over(&path) => drop(std::fs::remove_file(&path)),
                None => {}
            }
        }
    }
    all
}

fn ask(path: &Path) -> Option<Value> {
    let stream = UnixStream::connect(path).ok()?;
    stream.set_read_timeout(Some(READ_TIMEOUT)).ok()?;
    let mut text = String::new();
    stream.take(MAX_STATS_LEN).read_to_string(&mut text).ok()?;
    let told: Value = serde_json::from_str(&text).ok()?;
    (told["type"] == "relay-stats").then_some(told)
}

/// What one did between two looks, or since it began.
#[derive(Debug, PartialEq)]
struct Row {
    seconds: f64,
    packets: f64,
    bits: f64,
    saved: f64,
    /// Percent of a processor.
    processor: f64,
    answers: [u64; 4],
    /// Median and the 99th of a hundred, ns.
    waits: [Option<u64>; 2],
}

impl Row {
    fn new(now: &Value, before: Option<&Value>) -> Row {
        let since = |value: &Value, was: Option<&Value>| {
            let was = was.and_then(Value::as_u64).unwrap_or(0);
            value.as_u64().unwrap_or(0).saturating_sub(was)
        };
        let more = |key: &str| since(&now[key], before.map(|before| &before[key]));
        let node = |key: &str| {
            let was = before.map(|before| &before["counters"][key]);
            since(&now["counters"][key], was)
        };
        let seconds = more("ran_ns") as f64 / 1e9;
        let rate = |count: u64| count as f64 / seconds.max(1e-9);
        let was = before
            .map(|before| counts(&before["waits"]))
            .unwrap_or_default();
        let mut waited = counts(&now["waits"]);
        for (end, count) in &mut waited {
            *count = count.saturating_sub(was.get(end).copied().unwrap_or(0));
        }
        Row {
            seconds,
            packets: rate(more("packets")),
            bits: 8.0 * rate(more("bytes")),
            saved: rate(node("saved_bytes")),
            processor: rate(more("processor_ns")) / 1e7,
            answers: ["accepted", "changed", "dropped", "injected"].map(more),
            waits: [0.5, 0.99].map(|share| {
                let list: Vec<u64> = waited.values().copied().collect();
                let total: u64 = list.iter().sum();
                let wanted = (total as f64 * share).ceil().max(1.0) as u64;
                let mut sum = 0;
                let found = waited.iter().find(|(_, count)| {
                    sum += **count;
                    sum >= wanted
                });
                found.filter(|_| total > 0).map(|(end, _)| *end)
            }),
        }
    }

    /// As JSON: what the relay says, and these.
    fn line(&self, now: &Value, text: &mut String) {
        let mut line = now.clone();
        let [p50, p99] = self.waits;
        line["over_ns"] = json!((self.seconds * 1e9) as u64);
        line["packets_per_second"] = json!(self.packets);
        line["bits_per_second"] = json!(self.bits);
        line["saved_bytes_per_second"] = json!(self.saved);
        line["processor_percent"] = json!(self.processor);
        line["wait_p50_ns"] = json!(p50);
        line["wait_p99_ns"] = json!(p99);
        // Writing to a String does not fail.
        let _ = writeln!(text, "{line}");
    }
}

/// Steps of waiting, by their ends.
fn counts(steps: &Value) -> BTreeMap<u64, u64> {
    let steps = steps.as_array().into_iter().flatten();
    let pairs = steps.filter_map(|step| Some((step[0].as_u64()?, step[1].as_u64()?)));
    pairs.take(waits::COUNT).collect()
}

fn table(rows: &[(&Value, Row)], text: &mut String) -> std::fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "{:>7} {:<14} {:<11} {:>10} {:>9} {:>9} {:>9} {:>8} {:>8} {:>6} {:>8} {:>8} {:>10} {:>6}  backlog",
        "pid",
        "node",
        "hook",
        "packets/s",
        "Mb/s",
        "through",
        "changed",
        "dropped",
        "injected",
        "held",
        "p50",
        "p99",
        "saved B/s",
        "CPU %"
    )?;
    for (now, row) in rows {
        let word = |key: &str| now[key].as_str().unwrap_or("?").to_string();
        let mut node = word("node");
        if node.chars().count() > 14 {
            node = node.chars().take(13).chain(['~']).collect();
        }
        let number = |key: &str| now[key].as_u64().unwrap_or(0);
        let [through, changed, dropped, injected] = row.answers;
        let [p50, p99] = row.waits.map(|wait| wait.map_or("-".into(), in_short));
        write!(
            text,
            "{:>7} {node:<14} {:<11} {:>10.0} {:>9.2} {through:>9} {changed:>9} {dropped:>8} {injected:>8} {:>6} {p50:>8} {p99:>8} {:>10.0} {:>6.1} ",
            number("pid"),
            word("hook"),
            row.packets,
            row.bits / 1e6,
            number("held"),
            row.saved,
            row.processor
        )?;
        for queue in now["backlog"].as_array().into_iter().flatten() {
            let name = queue["interface"].as_str().unwrap_or("?");
            write!(text, " {name} {}p {}B", queue["packets"], queue["bytes"])?;
        }
        text.push('\n');
    }
    Ok(())
}

/// A time in few characters.
fn in_short(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns}ns"),
        1_000..1_000_000 => format!("{:.1}us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1}ms", ns as f64 / 1e6),
        _ => format!("{:.1}s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(seconds: u64, packets: u64, waits: Value) -> Value {
        json!({
            "type": "relay-stats", "pid": 7, "node": "compress", "hook": "forward", "ran_ns": seconds * 1_000_000_000,
            "packets": packets, "bytes": packets * 1000, "accepted": packets, "changed": 0, "dropped": 0, "injected": 0,
            "held": 2, "processor_ns": seconds * 500_000_000, "waits": waits,
            "counters": { "saved_bytes": packets * 10 },
            "backlog": [{ "interface": "eth1", "packets": 3, "bytes": 4500 }],
        })
    }

    #[test]
    fn figures_are_those_since_the_last_look() {
        let first = told(2, 100, json!([[1000, 90], [2000, 10]]));
        let all = Row::new(&first, None);
        assert_eq!(
            (all.packets, all.bits, all.saved, all.processor),
            (50.0, 400_000.0, 500.0, 50.0)
        );
        assert_eq!(all.waits, [Some(1000), Some(2000)]);
        let second = told(3, 300, json!([[1000, 90], [2000, 210]]));
        let since = Row::new(&second, Some(&first));
        assert_eq!(
            (since.packets, since.answers[0], since.waits),
            (200.0, 200, [Some(2000); 2])
        );
        let mut text = String::new();
        table(&[(&second, since)], &mut text).unwrap();
        assert!(
            text.contains("compress") && text.contains("eth1 3p 4500B"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_relay_is_passed_over() {
        let row = Row::new(&json!({ "type": "relay-stats" }), None);
        assert_eq!((row.packets, row.waits), (0.0, [None; 2]));
        let odd = json!([["x", 5], [1], 7]);
        assert!(counts(&odd).is_empty());
        assert_eq!(
            [999, 1_500, 2_500_000, 3_000_000_000].map(in_short),
            ["999ns", "1.5us", "2.5ms", "3.0s"]
        );
    }
}
