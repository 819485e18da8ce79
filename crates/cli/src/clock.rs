//! `wire clock`: the time of a clock that another process keeps in a page.

use crate::Verdict;
use crate::output::{Buffering, Output};
use ::capture::clock::now_ns;
use anyhow::Context;
use jiff::Timestamp;
use live::page::{Reader, Reading, State};
use node::Time;
use std::path::PathBuf;
use std::time::Duration;

/// Tell the time of a clock that `wire sync --page FILE` keeps
///
/// The time is UTC as far as the clock says how far it is ahead of it. With it comes how far it may be off, and whether somebody still
/// keeps it: when not, it goes on by its last rate, and its bound grows. The exit code is 1 if it is not known, or not kept any more.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire clock /run/wire/clock
  wire clock /run/wire/clock --count 10 --interval 100ms --json")]
pub struct Clock {
    /// The page
    page: PathBuf,
    /// How often it is told
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// Between two times
    #[arg(long, short, value_name = "TIME", value_parser = node::time::seconds, default_value = "1s")]
    interval: Time,
    /// Exit with 1 if it may be farther off than this
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    within: Option<Time>,
    /// Each time as a JSON object
    #[arg(long)]
    json: bool,
}

impl Clock {
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        let reader = Reader::open(&self.page)?;
        let mut stdout = Output::open(&Buffering::default())?;
        let mut verdict = Verdict::Good;
        for number in 0..self.count {
            if number > 0 && !pause(self.interval) {
                verdict = verdict.max(Verdict::Stopped);
                break;
            }
            let reading = reader.read();
            let line = match self.json {
                true => format!("{}\n", object(&reader, reading)),
                false => text(&reader, reading)?,
            };
            stdout.tell(&line)?;
            stdout.flush()?;
            let far = |reading: &Reading| {
                let bound = Time::from_ns(reading.bound_ns.min(Time::MAX.as_ns()));
                self.within.is_some_and(|within| bound > within)
            };
            let good = reading.is_some_and(|reading| !reading.stale && !far(&reading));
            verdict = verdict.max(Verdict::if_good(good));
        }
        stdout.finish()?;
        Ok(verdict)
    }
}

/// Waits; whether nobody asked for the end meanwhile.
fn pause(interval: Time) -> bool {
    let end = now_ns() + interval.as_ns();
    loop {
        let left = end.saturating_sub(now_ns());
        if left == 0 || ::capture::signal::stop_requested() {
            return !::capture::signal::stop_requested();
        }
        std::thread::park_timeout(Duration::from_nanos(left.min(50_000_000)));
    }
}

/// What a state is called.
fn word(reading: &Reading) -> &'static str {
    match reading.state {
        State::Ended => "its writer has ended",
        _ if reading.stale => "nobody keeps it any more",
        State::Alone => "has lost its master",
        State::Set | State::Unset => "kept",
    }
}

fn text(reader: &Reader, reading: Option<Reading>) -> anyhow::Result<String> {
    let Some(reading) = reading else {
        return Ok(format!(
            "no time is known: process {} has found no offset yet\n",
            reader.writer()
        ));
    };
    let utc = i128::from(reading.ns) - i128::from(reading.ahead_of_utc_s) * 1_000_000_000;
    let time =
        Timestamp::from_nanosecond(utc).context("the page has a time that no calendar has")?;
    Ok(format!(
        "{time:.9}, to within {}; {}, era {}, written {} ago by process {}\n",
        length(reading.bound_ns),
        word(&reading),
        reading.era,
        length(reading.age_ns),
        reader.writer()
    ))
}

fn length(ns: u64) -> String {
    crate::sync::length(ns.saturating_mul(1_000))
}

fn object(reader: &Reader, reading: Option<Reading>) -> serde_json::Value {
    json_line!("clock", "clock", {
        "known": reading.is_some(),
        "ns": reading.map(|it| it.ns),
        "ahead_of_utc_s": reading.map(|it| it.ahead_of_utc_s),
        "bound_ns": reading.map(|it| it.bound_ns),
        "state": reading.as_ref().map(word),
        "stale": reading.map(|it| it.stale),
        "era": reading.map(|it| it.era),
        "age_ns": reading.map(|it| it.age_ns),
        "writer": reader.writer(),
        "counter": reader.counter(),
    })
}
