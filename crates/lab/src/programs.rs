//! What came of real programs, for people and as JSON Lines.

use ::report::text::{number, time};
use live::world::process::{End, JobReport};
use serde_json::{Value, json};
use std::fmt::Write;

/// Lines of a program's output that people see.
const SHOWN: usize = 60;

/// A line of JSON for each program.
pub(crate) fn lines(jobs: &[JobReport]) -> Vec<Value> {
    let shown = jobs.iter().filter(|job| is_shown(job));
    let line = |job: &JobReport| {
        let (end, code, signal) = match &job.end {
            End::Code(code) => ("exit", Some(*code), None),
            End::Signal(signal) => ("signal", None, Some(*signal)),
            End::Stopped => ("stopped", None, None),
            End::Never(_) => ("never begun", None, None),
        };
        let why = match &job.end {
            End::Never(why) => Some(why),
            _ => None,
        };
        json!({
            "type": "program", "program": job.name, "command": job.command,
            "service": job.service, "end": end, "code": code, "signal": signal, "why": why,
            "failed": job.failed(),
            "began_ps": job.began.map(node::Time::as_ps), "ended_ps": job.ended.map(node::Time::as_ps),
            "written": job.written, "output": job.output,
        })
    };
    shown.map(line).collect()
}

/// The programs, how they ended and what they wrote; nothing where there are none.
pub(crate) fn text(jobs: &[JobReport]) -> String {
    let mut text = String::new();
    for job in jobs.iter().filter(|job| is_shown(job)) {
        let command = job.command.lines().next().unwrap_or_default();
        let more = if job.command.lines().nth(1).is_some() {
            " ..."
        } else {
            ""
        };
        let end = match &job.end {
            End::Code(code) => format!("exit code {code}"),
            End::Signal(signal) => format!("ended by signal {signal}"),
            End::Stopped if job.service => "a service, ended with the run".into(),
            End::Stopped => "still running when the run ended".into(),
            End::Never(why) => format!("never started: {why}"),
        };
        let when = match (job.began, job.ended) {
            (Some(began), Some(ended)) if job.end != End::Stopped => {
                let took = ended.as_ps().saturating_sub(began.as_ps());
                format!(", after {}", time(took as f64))
            }
            _ => String::new(),
        };
        let _ = writeln!(text, "\n{}$ {command}{more}\n  {end}{when}", job.name);
        let lines: Vec<&str> = job.output.lines().collect();
        if lines.len() > SHOWN {
            let hidden = number((lines.len() - SHOWN) as u64);
            let _ = writeln!(text, "  | ({hidden} lines before these)");
        }
        for line in &lines[lines.len().saturating_sub(SHOWN)..] {
            let _ = writeln!(text, "  | {line}");
        }
    }
    text
}

/// What the lab itself started is of interest only if it failed; what had the terminal was seen.
fn is_shown(job: &JobReport) -> bool {
    !job.hidden || job.failed()
}
