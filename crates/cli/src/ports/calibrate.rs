//! `wire ports --calibrate`: what a pair of ports is worth.

use crate::Verdict;
use crate::output::{Buffering, Output};
use crate::report::{put_timing, spread};
use anyhow::Context;
use live::port::PortSpec;
use live::port::calibrate::{self, Direction, Plan, Trial};
use node::Time;
use node::outcome::Spread;
use std::fmt::Write;

/// Measures, keeps and tells.
pub fn run(
    a: &PortSpec,
    b: &PortSpec,
    plan: Plan,
    keep: bool,
    as_json: bool,
) -> anyhow::Result<Verdict> {
    ::capture::signal::install();
    let directions = calibrate::measure(a, b, plan)?;
    let mut text = String::new();
    for direction in &directions {
        match as_json {
            true => lines(direction, &mut text),
            false => table(direction, &mut text)?,
        }
    }
    let mut stdout = Output::open(&Buffering::default())?;
    stdout.write(text.as_bytes())?;
    stdout.finish()?;
    if keep {
        let path = calibrate::save(&directions).context("cannot keep what was measured")?;
        eprintln!(
            "wire: kept in {}; later runs make use of it",
            path.display()
        );
    }
    Ok(Verdict::Good)
}

fn table(direction: &Direction, text: &mut String) -> std::fmt::Result {
    let (from, to, stamps) = (&direction.from, &direction.to, direction.stamps);
    writeln!(text, "{from} -> {to}, as the {stamps} stamps there say")?;
    let best = direction.best();
    for trial in &direction.trials {
        let chosen = match (direction.trials.len(), std::ptr::eq(trial, best)) {
            (1, _) | (_, false) => "",
            _ => ", the best",
        };
        let head = format!("  by {}{chosen}", name(trial));
        let [p50, p99, p999, max] = ["p50", "p99", "p99.9", "max"];
        writeln!(text, "{head:<40} {p50:>11} {p99:>11} {p999:>11} {max:>12}")?;
        let mut rows = vec![
            ("off the time asked for", &trial.far),
            ("without what all have in common", &trial.jitter),
            ("distance of neighbours", &trial.gaps),
            ("from the call to the stamp", &trial.latency),
            ("the sender's own account", &trial.timing.raw),
            ("a bare loop on the clock", &trial.timing.floor),
        ];
        if trial.timing.stamped > 0 {
            rows.insert(5, ("the driver's stamps", &trial.timing.at_driver));
        }
        for (
            name,
            Spread {
                p50,
                p99,
                p999,
                max,
            },
        ) in rows
        {
            let cells = [p50, p99, p999, max].map(|time| time.to_string());
            let [p50, p99, p999, max] = cells;
            writeln!(
                text,
                "    {name:<36} {p50:>11} {p99:>11} {p999:>11} {max:>12}"
            )?;
        }
        let inside = match trial.inside {
            true => "stamps are taken inside the call",
            false => "stamps are taken later than the call",
        };
        let (lead, earliest) = (Time::from_ns(trial.lead_ns), trial.earliest);
        let (sent, received) = (trial.sent, trial.received);
        writeln!(
            text,
            "    {received} of {sent} arrived, the earliest by {earliest} before its time; to be called {lead} ahead\n    \
             {inside}, {} after it began at the least",
            trial.least_latency,
        )?;
    }
    Ok(())
}

fn name(trial: &Trial) -> &'static str {
    match trial.method {
        "" => "send",
        method => method,
    }
}

fn lines(direction: &Direction, text: &mut String) {
    for trial in &direction.trials {
        let mut line = json_line!("ports", "calibration", {
            "from": direction.from.to_string(),
            "to": direction.to.to_string(),
            "stamps": direction.stamps.to_string(),
            "best": std::ptr::eq(trial, direction.best()),
            "sent": trial.sent,
            "received": trial.received,
            "error_far": spread(&trial.far),
            "jitter_far": spread(&trial.jitter),
            "gap_error_far": spread(&trial.gaps),
            "earliest_far_ns": trial.earliest.as_ns(),
            "latency": spread(&trial.latency),
            "latency_min_ns": trial.least_latency.as_ns(),
            "stamps_inside_call": trial.inside,
            "known_lead_ns": trial.lead_ns,
        });
        put_timing(&mut line, &trial.timing);
        text.push_str(&line.to_string());
        text.push('\n');
    }
}
