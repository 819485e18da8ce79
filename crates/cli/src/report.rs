//! What became of departures: for people on stderr, or as JSON on standard output.

use crate::Verdict;
use crate::output::{Buffering, Output};
use live::pace::PaceReport;
use live::port::Link;
use live::world::Notice;
use node::outcome::{Spread, TimingError};
use node::{Outcome, Time};
use serde_json::{Value, json};
use std::fmt::Write;

/// Says on stderr when the link of one of these ports goes down or comes up.
pub fn link_notice(names: &[String]) -> Option<Notice> {
    let names = names.to_vec();
    Some(Box::new(move |port, up| {
        let state = if up { "up again" } else { "down" };
        eprintln!("wire: {}: link {state}", names[port]);
    }))
}

/// `link down 2 times, 1.5 s in all`; nothing when it never was.
pub fn put_link(text: &mut String, name: &str, link: Option<Link>) {
    let Some(link) = link.filter(|link| link.downs > 0) else {
        return;
    };
    let times = if link.downs == 1 { "time" } else { "times" };
    let now = if link.up { "" } else { ", and still down" };
    let time = Time::from_ms(link.down_ns / 1_000_000);
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "wire: {name}: link down {} {times}, {time} in all{now}",
        link.downs
    );
}

/// Puts a link that can be looked at into a line of a report.
pub fn put_link_object(line: &mut Value, link: Option<Link>) {
    if let Some(Link { up, downs, down_ns }) = link {
        line["link"] = json!({ "up": up, "downs": downs, "down_ns": down_ns });
    }
}

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
        for line in report.timing.lines() {
            eprintln!("wire: {port}: {line}");
        }
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

/// What the departures of a node on ports were worth, a line each.
pub fn put_departures(text: &mut String, outcome: &Outcome) {
    let Some(timing) = &outcome.timing else {
        return;
    };
    // Writing to a String does not fail.
    if timing.frames > 0 {
        let (stamps, frames, late) = (outcome.stamps, timing.frames, timing.late);
        let _ = writeln!(
            text,
            "wire: {stamps} stamps; {frames} departures at a time, {late} late"
        );
    }
    for line in timing.lines() {
        let _ = writeln!(text, "wire: {line}");
    }
}

/// What is said of packets whose own time was past.
pub const PAST: &str = "had a time that was past, as received packets have, and left at once";

/// `1000 packets sent, 3 late`.
fn text(report: &PaceReport) -> String {
    let mut text = format!("{} packets sent", report.sent);
    // Writing to a String does not fail.
    for (count, what) in [
        (report.timing.late, "late"),
        (report.past, PAST),
        (report.refused, "refused by the port"),
        (report.unsent, "not sent"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    if report.pauses > 0 {
        let longest = Time::from_ns(report.longest_pause_ns);
        let _ = write!(
            text,
            "; {} pauses of the machine, the longest {longest}",
            report.pauses
        );
    }
    text
}

fn object(port: &str, report: &PaceReport) -> Value {
    let mut line = json_line!("send", "sent", {
        "port": port,
        "sent": report.sent,
        "refused": report.refused,
        "past": report.past,
        "unsent": report.unsent,
        "pauses": report.pauses,
        "longest_pause_ns": report.longest_pause_ns,
    });
    put_timing(&mut line, &report.timing);
    line
}

/// Puts what departures were worth into a line of a report.
pub fn put_timing(line: &mut Value, timing: &TimingError) {
    line["scheduled"] = json!(timing.frames);
    line["late"] = json!(timing.late);
    line["error"] = spread(&timing.raw);
    line["error_trimmed"] = spread(&timing.trimmed);
    line["in_pauses"] = json!(timing.in_pauses);
    line["floor"] = spread(&timing.floor);
    line["stamped"] = json!(timing.stamped);
    line["error_at_driver"] = spread(&timing.at_driver);
    line["earliest_ns"] = json!(timing.earliest.as_ns());
    line["lead_ns"] = json!(timing.lead.as_ns());
    line["method"] = json!(timing.method);
    line["real_time"] = json!(timing.real_time);
}

/// Percentiles as an object.
pub fn spread(spread: &Spread) -> Value {
    json!({
        "p50_ns": spread.p50.as_ns(),
        "p99_ns": spread.p99.as_ns(),
        "p999_ns": spread.p999.as_ns(),
        "max_ns": spread.max.as_ns(),
    })
}
