//! What came of it, the verdict first; and if nothing did, why.

use super::Sync;
use super::method::{about_stamps, count};
use super::report::{Told, draw, length, machine, signed, signed_64};
use crate::Verdict;
use crate::output::{Buffering, Output};
use ::lab::{clock_reports, table};
use live::world::PortsOutcome;
use node::outcome::{ClockReport, Deviations, Finish, NodeOutcome};
use serde_json::Value;
use std::fmt::Write;

/// Tells it, and draws.
pub fn tell(
    command: &Sync,
    ended: PortsOutcome,
    told: Told,
    names: &[String],
) -> anyhow::Result<Verdict> {
    let node = ended.outcome.nodes.first();
    let (Some(node), Some(clock)) = (node, node.and_then(|node| node.clock.as_deref())) else {
        anyhow::bail!("this kind of node has no clock");
    };
    let (good, first) = verdict(command, node, clock, &told);
    let mut stdout = Output::open(&Buffering::default())?;
    if command.json {
        let mut line = json_line!("sync", "sync", {
            "good": good,
            "verdict": first,
            "protocol": command.method.kind(),
            "ports": names,
            "ended_ns": ended.outcome.ended.as_ns(),
            "arrival_stamps": ended.outcome.stamps,
            "departure_stamps": "software",
            "bound_ps": told.last.and_then(|it| it.bound_ps),
            "machine_ps": told.last.map(|it| machine(&it)),
            "drift_ppt": told.last.map(|it| it.drift_ppt),
            "truth_known": command.master_on.is_some(),
            "clock": clock_reports::json(&node.name, clock),
        });
        let pairs = node.counters.iter().chain(&node.drops);
        line["counters"] = pairs
            .map(|(name, count)| (name.clone(), Value::from(*count)))
            .collect();
        stdout.tell(&format!("{line}\n"))?;
    } else {
        stdout.tell(&text(command, &first, clock, &told, &about_stamps(&ended))?)?;
    }
    stdout.finish()?;
    if let Some(path) = &command.plot {
        let title = format!("{} on {}: {}", command.method.name(), names[0], clock.state);
        match told.samples.is_empty() {
            true => eprintln!("wire: no offset was found: {} is not drawn", path.display()),
            false => draw(&title, &told.samples, path)?,
        }
        if told.left_out > 0 {
            eprintln!("wire: the last {} offsets are not drawn", told.left_out);
        }
    }
    if let Some(error) = ended.trouble {
        return Err(error.into());
    }
    let endless = command.duration.is_none() && command.count.is_none();
    let counted = command.count.is_some_and(|count| told.offsets() >= count);
    let done = endless || counted || ended.outcome.finish != Finish::Stopped;
    Ok(Verdict::if_good(good).max(Verdict::if_done(done)))
}

impl Told {
    fn offsets(&self) -> u64 {
        self.samples.len() as u64 + self.left_out
    }
}

/// Whether all is well, and what is to be said first.
fn verdict(command: &Sync, node: &NodeOutcome, clock: &ClockReport, told: &Told) -> (bool, String) {
    if let Some(text) = master(node, clock) {
        return (true, text);
    }
    let Some(last) = &told.last else {
        return (
            false,
            format!(
                "no offset was found: {}",
                command.method.why_none(command, node)
            ),
        );
    };
    let held = [", locked", ", synchronised", ", free running"];
    let held = held.iter().any(|word| clock.state.ends_with(word));
    let ahead = if last.machine_ps < 0 {
        "behind"
    } else {
        "ahead of"
    };
    let bound = last.bound_ps.map_or("an unknown bound".into(), length);
    let machine = match command.master_on {
        Some(_) => {
            let error = signed(-last.machine_ps);
            format!(
                "it found the same clock {error} off, and says that it may be {}",
                bound
            )
        }
        None => format!(
            "this machine's clock is {} {ahead} it, to within {}",
            length(u64::try_from(last.machine_ps.unsigned_abs()).unwrap_or(u64::MAX)),
            bound
        ),
    };
    if !held {
        return (false, format!("not locked, but {}: {machine}", clock.state));
    }
    match command.within {
        Some(within) if last.bound_ps.is_none_or(|ps| ps > within.as_ps()) => (
            false,
            format!("not within {within}: {}; {machine}", clock.state),
        ),
        _ => (true, format!("{}; {machine}", clock.state)),
    }
}

/// What a clock that gives its time to others has done; `None` for one that follows another.
fn master(node: &NodeOutcome, clock: &ClockReport) -> Option<String> {
    let count = |name| count(node, name);
    let (given, asked) = match clock.state.as_str() {
        "master" => (
            format!("{} Syncs sent, ", table::number(count("sync_sent"))),
            count("delay_req_received") + count("pdelay_req_received"),
        ),
        "server" => (String::new(), count("pairs_answered")),
        state if state.starts_with("server of stratum") => (String::new(), count("replies_sent")),
        _ => return None,
    };
    let text = match asked {
        0 => "nobody has asked".into(),
        asked => format!("{} questions of slaves answered", table::number(asked)),
    };
    Some(format!("{}: {given}{text}", clock.state))
}

fn text(
    command: &Sync,
    first: &str,
    clock: &ClockReport,
    told: &Told,
    stamps: &str,
) -> Result<String, std::fmt::Error> {
    let mut text = format!("{first}\n");
    let Some(last) = &told.last else {
        return Ok(text);
    };
    writeln!(
        text,
        "{:10}{:>13}{:>13}{:>13}{:>13}",
        "", "last", "rms", "p99", "most"
    )?;
    let mut line = |name: &str, values: &Deviations| match values.count {
        0 => Ok(()),
        count => writeln!(
            text,
            "{name:10}{:>13}{:>13}{:>13}{:>13}  {}",
            signed_64(values.last_ps),
            length(values.rms_ps),
            length(values.spread.p99.as_ps()),
            length(values.greatest().as_ps()),
            format_args!("of {}, since it was locked", table::number(count)),
        ),
    };
    line("offset", &clock.offset)?;
    if command.master_on.is_some() {
        line("error", &clock.error)?;
    }
    let delay = last.delay_ps.map_or("-".into(), signed_64);
    let drift = last.drift_ppt as f64 / 1e6;
    writeln!(
        text,
        "delay {delay}; drift {drift:+.4} ppm, by which the machine's counter is faster"
    )?;
    writeln!(
        text,
        "{stamps}; {}. What the two ways differ by cannot be seen, and half of it is offset",
        command.method.about_bound()
    )?;
    writeln!(text, "no clock of the machine was set")?;
    Ok(text)
}
