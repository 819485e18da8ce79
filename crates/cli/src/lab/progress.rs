//! How far a simulation has come, and how fast it goes.

use crate::progress;
use indicatif::ProgressBar;
use node::Time;
use parking_lot::Mutex;
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is told at the run's beginning and end.
static SHOWN: OnceLock<Shown> = OnceLock::new();
/// Between two lines of JSON, nanoseconds.
const EVERY_NS: u64 = 1_000_000_000;

struct Shown {
    begun_ns: u64,
    /// When the next line is due.
    next_ns: AtomicU64,
    lines: bool,
    bar: Mutex<Option<ProgressBar>>,
}

/// Whom a run tells how far it has come, if anybody wants to know.
pub fn teller(json: bool, asked: bool) -> Option<fn(Time, Option<Time>)> {
    let bar = !json && std::io::stderr().is_terminal();
    if !asked && !bar {
        return None;
    }
    let now = ::capture::clock::now_ns();
    SHOWN.get_or_init(|| Shown {
        begun_ns: now,
        next_ns: AtomicU64::new(now + EVERY_NS / 5),
        lines: !bar,
        bar: Mutex::new(None),
    });
    Some(if json { tell_json } else { tell })
}

/// Simulated seconds to a real one.
fn ratio(shown: &Shown, at: Time) -> f64 {
    let real = ::capture::clock::now_ns().saturating_sub(shown.begun_ns) as f64 / 1e9;
    at.as_secs_f64() / real.max(1e-9)
}

/// Whether it is time to tell something.
fn is_due(shown: &Shown) -> bool {
    let (now, next) = (
        ::capture::clock::now_ns(),
        shown.next_ns.load(Ordering::Relaxed),
    );
    let every = if shown.lines { EVERY_NS } else { EVERY_NS / 10 };
    let due = now >= next;
    if due {
        shown.next_ns.store(now + every, Ordering::Relaxed);
    }
    due
}

fn tell(at: Time, until: Option<Time>) {
    let Some(shown) = SHOWN.get().filter(|shown| is_due(shown)) else {
        return;
    };
    let text = format!(
        "{:.3} s simulated, {:.2} times real time",
        at.as_secs_f64(),
        ratio(shown, at)
    );
    if shown.lines {
        return eprintln!("{text}");
    }
    let mut bar = shown.bar.lock();
    let bar = bar.get_or_insert_with(|| match until {
        Some(until) => progress::bar(
            until.as_ns() / 1_000,
            "{bar:40} {percent:>3} %  {msg}, {eta} to go",
        ),
        None => progress::bar(0, "{spinner} {msg}"),
    });
    bar.set_position(at.as_ns() / 1_000);
    bar.set_message(text);
}

fn tell_json(at: Time, until: Option<Time>) {
    let Some(shown) = SHOWN.get().filter(|shown| is_due(shown)) else {
        return;
    };
    println!(
        "{}",
        json_line!("lab", "progress", { "at_ps": at.as_ps(),
            "until_ps": until.map(Time::as_ps), "ratio": ratio(shown, at),
        })
    );
}

/// The run is over.
pub fn finish() {
    if let Some(shown) = SHOWN.get()
        && let Some(bar) = shown.bar.lock().take()
    {
        bar.finish_and_clear();
    }
}
