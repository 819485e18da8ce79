//! Reports and their places: results on standard output, progress and warnings on standard error; what became of departures.

use crate::Verdict;
use crate::output::{Buffering, Output};
use ::report::text::{bits, number};
use live::port::Link;
use live::port::pace::{PaceReport, SendRate};
use live::world::Notice;
use node::outcome::{Spread, TimingError};
use node::{Outcome, Time};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::IsTerminal;

/// How much a report tells.
#[derive(clap::Args, Clone, Copy, Default)]
pub struct Detail {
    /// Tell all detail, such as what departures were worth
    #[arg(long, short)]
    pub verbose: bool,
}

/// `departures exact to 0.4 us at the median`; nothing where none was asked for at a time.
fn exact(timing: &TimingError) -> Option<String> {
    let exact = || format!("departures exact to {} at the median", timing.raw.p50);
    (timing.frames > 0).then(exact)
}

/// Says on stderr that something long begins: on which ports, and until when.
pub fn begin(what: &str, names: &[String], duration: Option<Time>) {
    eprintln!("wire: {what} on {}, {}", names.join(", "), until(duration));
}

/// `for 10 s, or until Ctrl-C`.
pub fn until(duration: Option<Time>) -> String {
    match duration {
        Some(time) => format!("for {time}, or until Ctrl-C"),
        None => "until Ctrl-C".into(),
    }
}

/// The same, where somebody watches: of commands that stand in pipes and scripts, which have nothing else to say on stderr.
pub fn begin_watched(what: &str, on: &str, end: &str) {
    if std::io::stderr().is_terminal() && !on.is_empty() {
        eprintln!("wire: {what} {on}, {end}");
    }
}

/// Tells a report for people. It is a result, so it goes to standard output; where packets go there, which is the port `-`, it goes to
/// standard error.
///
/// # Errors
/// When standard output cannot be written.
pub fn put(text: &str, names: &[String]) -> anyhow::Result<()> {
    if names.iter().any(|name| name == "-") {
        text.lines().for_each(|line| eprintln!("wire: {line}"));
        return Ok(());
    }
    let mut stdout = Output::open(&Buffering::default())?;
    stdout.tell(text)?;
    stdout.finish()
}

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
        "{name}: link down {} {times}, {time} in all{now}",
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
pub fn tell(
    port: &str,
    report: PaceReport,
    as_json: bool,
    detail: Detail,
) -> anyhow::Result<Verdict> {
    if as_json {
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.write(format!("{}\n", object(port, &report)).as_bytes())?;
        stdout.finish()?;
    } else {
        let mut told = format!("{port}: {}\n", text(&report));
        for line in report.timing.lines().iter().filter(|_| detail.verbose) {
            // Writing to a String does not fail.
            let _ = writeln!(told, "{port}: {line}");
        }
        put(&told, &[port.into()])?;
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

/// What the departures of a node on ports were worth: in a line, or in all detail.
pub fn put_departures(text: &mut String, outcome: &Outcome, detail: Detail) {
    let Some(timing) = &outcome.timing else {
        return;
    };
    // Writing to a String does not fail.
    if timing.frames > 0 {
        let (stamps, frames, late) = (outcome.stamps, timing.frames, timing.late);
        let exact = exact(timing).unwrap_or_default();
        let _ = writeln!(text, "{frames} {exact}, {late} late; {stamps} stamps");
    }
    for line in timing.lines().iter().filter(|_| detail.verbose) {
        let _ = writeln!(text, "{line}");
    }
}

/// What is said of packets whose own time was past.
pub const PAST: &str = "had a time that was past, as received packets have, and left at once";

/// `1000 packets sent, 3 late`.
fn text(report: &PaceReport) -> String {
    let all = report.sent + report.refused + report.unsent;
    let mut text = match report.sent == all {
        true => format!("{all} packets sent"),
        false => format!("{} of {all} packets sent", report.sent),
    };
    if let Some(rate) = rate(&report.rate) {
        let _ = write!(text, " at {rate}");
    }
    if let Some(exact) = exact(&report.timing) {
        let _ = write!(text, ", {exact}");
    }
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
        let _ = match report.pauses {
            1 => write!(text, "; a pause of the machine, {longest}"),
            pauses => write!(
                text,
                "; {pauses} pauses of the machine, the longest {longest}"
            ),
        };
    }
    text
}

/// `1,000 packets/s, 672 kb/s on the wire`; nothing before there are two packets.
pub fn rate(rate: &SendRate) -> Option<String> {
    let packets = number(rate.packets_per_second()?.round() as u64);
    let bits = bits(rate.bits_per_second()?);
    Some(format!("{packets} packets/s, {bits} on the wire"))
}

/// Puts the rate at which packets left into a line of a report; null before there are two packets.
pub fn put_rate(line: &mut Value, rate: &SendRate) {
    line["packets_per_second"] = json!(rate.packets_per_second());
    line["bits_per_second"] = json!(rate.bits_per_second());
    line["span_ns"] = json!(rate.span_ns());
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
    put_rate(&mut line, &report.rate);
    put_timing(&mut line, &report.timing);
    line
}

/// Puts what departures were worth into a line of a report.
pub fn put_timing(line: &mut Value, timing: &TimingError) {
    line["scheduled"] = json!(timing.frames);
    line["late"] = json!(timing.late);
    // Percentiles over nothing are null.
    let of = |count: u64, of: &Spread| (count > 0).then(|| spread(of));
    let floor = u64::from(timing.floor != Spread::default());
    line["error"] = of(timing.frames, &timing.raw).into();
    line["error_trimmed"] = of(timing.frames - timing.in_pauses, &timing.trimmed).into();
    line["in_pauses"] = json!(timing.in_pauses);
    line["floor"] = of(floor, &timing.floor).into();
    line["stamped"] = json!(timing.stamped);
    line["error_at_driver"] = of(timing.stamped, &timing.at_driver).into();
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
