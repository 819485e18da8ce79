//! `wire covert`: messages in the gaps between packets.

mod decode;
mod detect;
mod encode;

use crate::Verdict;
use crate::departures::Departures;
use crate::time::tick;
use ::capture::file::Item;
use anyhow::Context;
use node::{Rate, Time};
use nodes::covert::Config;
use packet::Tick;

/// Put messages into the gaps between packets, read them, and detect them
///
/// A 0 is a gap of so many idle characters less epsilon, a 1 of so many more: nanoseconds, which only
/// exact stamps show. Lines and records are taken to have ticks of 800 ps, one character at 10 Gb/s.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  wire gen -c 2000 --idles 170 --tick 800ps | wire covert encode hello > hidden
  wire covert decode hidden
  wire gen -c 9999 --idles 170 --tick 800ps | wire covert detect"
)]
pub struct Covert {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Encode(encode::Encode),
    Decode(decode::Decode),
    Detect(detect::Detect),
}

impl Covert {
    /// Does what was asked for.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        match self.action {
            Action::Encode(command) => command.run(),
            Action::Decode(command) => command.run(),
            Action::Detect(command) => command.run(),
        }
    }
}

/// What sender and receiver must agree on.
#[derive(clap::Args)]
struct Gaps {
    /// The gap that stands for neither bit, in idle characters
    #[arg(long, value_name = "N", default_value_t = 170)]
    idles: u32,
    /// How many characters fewer, or more, stand for a bit
    #[arg(long, value_name = "N", default_value_t = 16)]
    epsilon: u32,
    #[command(flatten)]
    line: Line,
}

/// What characters and timestamps are.
#[derive(clap::Args)]
struct Line {
    /// The line whose characters count
    #[arg(long, value_name = "RATE", default_value = "10Gb/s")]
    line: Rate,
    /// The unit of timestamps in lines and records
    #[arg(long, value_name = "TIME", default_value = "800ps", value_parser = tick)]
    tick: Tick,
}

impl Gaps {
    fn config(&self) -> Config {
        Config {
            idles: self.idles,
            epsilon: self.epsilon,
            line: self.line.line,
            ..Config::default()
        }
    }
}

/// Times of packets from the first one on, whatever they come from.
struct Times {
    departures: Departures,
    first: Option<u128>,
}

impl Times {
    fn new(tick: Tick) -> Times {
        Times {
            departures: Departures::new(tick),
            first: None,
        }
    }

    /// When this one came, or leaves. Stamps that go back behind the first are as early as that.
    ///
    /// # Errors
    /// When it is more than 213 days after the first.
    fn of(&mut self, item: &Item<'_>) -> anyhow::Result<Time> {
        let ps = match item.at_ps {
            Some(ps) => ps,
            None => self.departures.ps(item.word.unwrap_or(0)),
        };
        let since = ps.saturating_sub(*self.first.get_or_insert(ps));
        let since = u64::try_from(since).ok().context(
            "a packet comes more than 213 days after the first, where times end here; split the file by --since and --until of `wire cat`",
        )?;
        Ok(Time::from_ps(since))
    }
}
