//! What came of it, the verdict first; and if nothing did, why.

use super::Sync;
use super::method::{about_bound, about_stamps, count, name};
use super::report::{Reported, draw, length, machine, signed, signed_64};
use crate::Verdict;
use crate::output::{Buffering, Output};
use ::lab::instruments::clocks;
use ::report::text;
use live::world::PortsOutcome;
use measure::clock::{ClockReport, Deviations};
use node::Time;
use node::outcome::{Finish, NodeOutcome};
use serde_json::Value;
use std::fmt::Write;

/// A clock, and what came of it.
pub struct Found<'a> {
    pub node: &'a NodeOutcome,
    pub clock: &'a ClockReport,
    pub told: &'a Reported,
    pub ended: Time,
    /// What arrivals are stamped by.
    pub arrivals: &'a str,
    /// The ports of a machine; none of a lab.
    pub ports: &'a [String],
}

/// Tells it, and draws.
pub fn tell(
    command: &Sync,
    ended: PortsOutcome,
    told: Reported,
    names: &[String],
) -> anyhow::Result<Verdict> {
    let node = ended.outcome.nodes.first();
    let (Some(node), Some(clock)) = (
        node,
        node.and_then(|node| node.extensions.get::<ClockReport>()),
    ) else {
        anyhow::bail!("this kind of node has no clock");
    };
    let found = Found {
        node,
        clock,
        told: &told,
        ended: ended.outcome.ended,
        arrivals: ended.outcome.stamps,
        ports: names,
    };
    let good = found.tell(command)?;
    if let Some(error) = ended.trouble {
        return Err(error.into());
    }
    let endless = command.duration.is_none() && command.count.is_none();
    let counted = command.count.is_some_and(|count| told.offsets() >= count);
    let done = endless || counted || ended.outcome.finish != Finish::Stopped;
    Ok(Verdict::if_good(good).max(Verdict::if_done(done)))
}

impl Reported {
    fn offsets(&self) -> u64 {
        self.samples.len() as u64 + self.left_out
    }
}

impl Found<'_> {
    /// Tells it, and draws; whether all is well.
    pub fn tell(&self, command: &Sync) -> anyhow::Result<bool> {
        let Found {
            node, clock, told, ..
        } = self;
        let (good, first) = self.verdict(command);
        let mut stdout = Output::open(&Buffering::default())?;
        if command.json {
            let mut line = json_line!("sync", "sync", {
                "good": good,
                "verdict": first,
                "protocol": clock.protocol,
                "node": self.in_lab().then_some(&node.name),
                "ports": self.ports,
                "ended_ns": self.ended.as_ns(),
                "arrival_stamps": self.arrivals,
                "departure_stamps": if self.in_lab() { "exact" } else { "software" },
                "bound_ps": told.last.and_then(|it| it.bound_ps),
                "machine_ps": told.last.map(|it| machine(&it)),
                "drift_ppt": told.last.map(|it| it.drift_ppt),
                "truth_known": self.in_lab() || command.master_on.is_some(),
                "clock": clocks::json(&node.name, clock),
            });
            let pairs = node.counters.iter().chain(&node.drops);
            line["counters"] = pairs
                .map(|(name, count)| (name.clone(), Value::from(*count)))
                .collect();
            stdout.tell(&format!("{line}\n"))?;
        } else {
            stdout.tell(&self.text(command, &first)?)?;
        }
        stdout.finish()?;
        if let Some(path) = command.plot.as_ref().filter(|_| clock.protocol != "dtp") {
            let place = self.ports.first().unwrap_or(&node.name);
            let title = format!("{} on {place}: {}", name(clock.protocol), clock.state);
            let machine = match self.in_lab() {
                true => "true time ahead",
                false => "machine's clock ahead",
            };
            match told.samples.is_empty() {
                true => eprintln!("wire: no offset was found: {} is not drawn", path.display()),
                false => draw(&title, machine, &told.samples, path)?,
            }
            if told.left_out > 0 {
                eprintln!("wire: the last {} offsets are not drawn", told.left_out);
            }
        }
        if told.missed > 0 {
            let (count, name) = (text::number(told.missed), &node.name);
            eprintln!(
                "wire: {count} offsets of {name} came between two looks at it: the lines of seconds, the drift and the picture are without them"
            );
        }
        Ok(good)
    }

    fn in_lab(&self) -> bool {
        self.ports.is_empty()
    }

    /// Whether all is well, and what is to be said first.
    fn verdict(&self, command: &Sync) -> (bool, String) {
        let Found {
            node, clock, told, ..
        } = self;
        if let Some(text) = master(node, clock) {
            return (true, text);
        }
        let Some(last) = &told.last else {
            return match self.in_lab() {
                // Such as a transparent clock.
                true => (true, format!("{}: it has found no offset", clock.state)),
                false => {
                    let why = command.method.why_none(command, node);
                    (false, format!("no offset was found: {why}"))
                }
            };
        };
        let held = [", locked", ", synchronised", ", free running"];
        let held = clock.protocol == "dtp" || held.iter().any(|word| clock.state.ends_with(word));
        let ahead = if last.machine_ps < 0 {
            "behind"
        } else {
            "ahead of"
        };
        let bound = last.bound_ps.map_or("an unknown bound".into(), length);
        let error = signed(-last.machine_ps);
        let machine = match command.master_on {
            _ if clock.protocol == "dtp" => {
                format!("it is {error} off another counter, and may be {bound}")
            }
            _ if self.in_lab() => {
                format!("it found the true time {error} off, and says that it may be {bound}")
            }
            Some(_) => {
                format!("it found the same clock {error} off, and says that it may be {bound}")
            }
            None => format!(
                "this machine's clock is {} {ahead} it, to within {bound}",
                length(u64::try_from(last.machine_ps.unsigned_abs()).unwrap_or(u64::MAX)),
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

    fn text(&self, command: &Sync, first: &str) -> Result<String, std::fmt::Error> {
        let Found {
            node, clock, told, ..
        } = self;
        let mut text = match self.in_lab() {
            true => format!("{}: {first}\n", node.name),
            false => format!("{first}\n"),
        };
        let Some(last) = &told.last else {
            return Ok(text);
        };
        writeln!(
            text,
            "{:10}{:>13}{:>13}{:>13}{:>13}",
            "", "last", "rms", "p99", "most"
        )?;
        let mut line = |name: &str, values: &Deviations, since: &str| match values.count {
            0 => Ok(()),
            count => writeln!(
                text,
                "{name:10}{:>13}{:>13}{:>13}{:>13}  of {}{since}",
                signed_64(values.last_ps),
                length(values.rms_ps),
                length(values.spread.p99.as_ps()),
                length(values.greatest().as_ps()),
                text::number(count),
            ),
        };
        let since = match clock.protocol {
            "dtp" => "",
            _ => ", since it was locked",
        };
        line("offset", &clock.offset, since)?;
        if self.in_lab() || command.master_on.is_some() {
            line("error", &clock.error, since)?;
        }
        let delay = last.delay_ps.map_or("-".into(), signed_64);
        let drift = last.drift_ppt as f64 / 1e6;
        let what = match (clock.protocol, self.in_lab()) {
            ("dtp", _) => "its oscillator is faster than its counter goes",
            (_, true) => "its oscillator is faster",
            (_, false) => "the machine's counter is faster",
        };
        writeln!(
            text,
            "delay {delay}; drift {drift:+.4} ppm, by which {what}"
        )?;
        let stamps = about_stamps(self.arrivals);
        writeln!(text, "{stamps}; {}", about_bound(clock.protocol))?;
        if !self.in_lab() {
            writeln!(text, "no clock of the machine was set")?;
        }
        Ok(text)
    }
}

/// What a clock that gives its time to others has done; `None` for one that follows another.
fn master(node: &NodeOutcome, clock: &ClockReport) -> Option<String> {
    let count = |name| count(node, name);
    let (given, asked) = match clock.state.as_str() {
        "master" => (
            format!("{} Syncs sent, ", text::number(count("sync_sent"))),
            count("delay_req_received") + count("pdelay_req_received"),
        ),
        "server" => (String::new(), count("pairs_answered")),
        state if state.starts_with("server of stratum") => (String::new(), count("replies_sent")),
        _ => return None,
    };
    let text = match asked {
        0 => "nobody has asked".into(),
        asked => format!("{} questions of slaves answered", text::number(asked)),
    };
    Some(format!("{}: {given}{text}", clock.state))
}
