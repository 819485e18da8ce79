//! What became of departures: for people on stderr, or as JSON on standard output.

use crate::Verdict;
use crate::output::{Buffering, Output};
use live::pace::PaceReport;
use node::Time;
use node::outcome::Spread;
use serde_json::{Value, json};
use std::fmt::Write;

/// Tells what a pacing thread has done. The verdict is bad if the port refused packets.
///
/// # Errors
/// When the port went away, or standard output cannot be written.
pub fn tell(port: &str, report: PaceReport, as_json: bool) -> anyhow::Result<Verdict> {
    if as_json {
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.write(format!("{}\n", object(port, &report)).as_bytes())?;
        stdout.finish()?;
    } else {
        eprintln!("wire: {port}: {}", text(&report));
    }
    if let Some(refusal) = &report.refusal {
        eprintln!("wire: the first of the refused: {refusal}");
    }
    match report.error {
        Some(error) => Err(error.into()),
        None if report.refused > 0 => Ok(Verdict::Failed),
        None => Ok(Verdict::Good),
    }
}

/// `1000 packets sent, 3 late; departures off by p50 60 ns, p99 400 ns, p99.9 2 us, max 5 us`.
fn text(report: &PaceReport) -> String {
    let mut text = format!("{} packets sent", report.sent);
    let timing = &report.timing;
    // Writing to a String does not fail.
    for (count, what) in [
        (timing.late, "late"),
        (report.refused, "refused by the port"),
        (report.unsent, "not sent"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    if timing.frames > 0 {
        let _ = write!(text, "; departures off by {}", spread(&timing.raw));
        if timing.in_pauses > 0 {
            let _ = write!(
                text,
                "; without {} in {} pauses of the machine (the longest {}): {}",
                timing.in_pauses,
                report.pauses,
                Time::from_ns(report.longest_pause_ns),
                spread(&timing.trimmed)
            );
        }
        if !report.real_time {
            text.push_str("; without real-time priority (CAP_SYS_NICE), which makes them better");
        }
    }
    text
}

fn spread(spread: &Spread) -> String {
    let Spread {
        p50,
        p99,
        p999,
        max,
    } = spread;
    format!("p50 {p50}, p99 {p99}, p99.9 {p999}, max {max}")
}

fn object(port: &str, report: &PaceReport) -> Value {
    let spread = |spread: &Spread| {
        json!({
            "p50_ns": spread.p50.as_ns(),
            "p99_ns": spread.p99.as_ns(),
            "p999_ns": spread.p999.as_ns(),
            "max_ns": spread.max.as_ns(),
        })
    };
    let timing = &report.timing;
    json!({
        "schema": 1,
        "type": "sent",
        "port": port,
        "sent": report.sent,
        "refused": report.refused,
        "unsent": report.unsent,
        "scheduled": timing.frames,
        "late": timing.late,
        "error": spread(&timing.raw),
        "error_trimmed": spread(&timing.trimmed),
        "in_pauses": timing.in_pauses,
        "pauses": report.pauses,
        "longest_pause_ns": report.longest_pause_ns,
        "real_time": report.real_time,
    })
}
