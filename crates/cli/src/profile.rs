//! `wire profile`: what packets are like in time.

mod compare;
mod figures;
mod object;
mod picture;
mod reader;
mod subject;

pub use figures::text;
pub use object::{count, signed_count};
pub use subject::Subjects;

use crate::Verdict;
use crate::complaints::Strictness;
use crate::listen::{Directions, Listener};
use crate::output::{self, Buffering, Output};
use crate::packets::Ended;
use crate::select::Selection;
use crate::sources::Sources;
use crate::time::tick;
use confine::Permissions;
use measure::profile::Config;
use node::{Rate, Time};
use packet::Tick;
use std::ffi::OsString;
use std::path::PathBuf;

/// Tell what packets are like in time: gaps, bursts, rate, loss
///
/// PORT or FILE is what `wire cat` reads; each interface of a capture, and each port, is told by itself, of `any` each direction too.
/// A port is listened to until Ctrl-C, --count or --duration. With the --rate of the line, or where the
/// capture has it, gaps are told in idle characters and bits, and bursts are found.
///
/// --compare finds the packets of one capture in another, though MAC addresses, tags, TTL, addresses and
/// ports may have been rewritten: the delay of each, loss, order, duplicates.
#[derive(clap::Args)]
#[command(
    name = "profile",
    after_help = "Examples:
  wire profile trace.pcapng --rate 10Gb/s --plot trace.svg
  wire profile eth0 --duration 1s --json
  wire profile --compare before.pcapng behind.pcapng --plot delay.svg"
)]
pub struct ProfileCommand {
    /// What to read
    #[arg(value_name = "PORT|FILE", default_value = "-")]
    sources: Vec<OsString>,
    /// Tell what a device did to packets: FILE or FILE#INTERFACE before it, and behind it
    #[arg(long, num_args = 2, value_names = ["BEFORE", "BEHIND"], conflicts_with_all = ["sources", "count", "skip", "since", "until", "duration"])]
    compare: Vec<OsString>,
    /// With --compare: packets of each side that wait to be found on the other
    #[arg(long, value_name = "N", default_value_t = 1 << 18, value_parser = clap::value_parser!(u32).range(16..=1 << 24))]
    within: u32,
    /// With --compare: bytes of payload by which a packet without a probe is known again
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(0..=262_144))]
    payload: u32,
    /// The rate of the line, such as 10Gb/s
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// The longest gap within a burst; by default 1.5 times the least gap at the rate
    #[arg(long, value_name = "TIME")]
    burst: Option<Time>,
    /// Burstiness by time scale: the energy of the Haar wavelets of the bytes, by octave
    #[arg(long, conflicts_with = "compare")]
    energy: bool,
    /// The length of the windows over which the rate is taken; by default some hundreds
    #[arg(long, value_name = "TIME", value_parser = window)]
    window: Option<Time>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    directions: Directions,
    /// Draw a picture, .png or .svg: distribution, histogram, delays and rate over time
    #[arg(long, value_name = "FILE")]
    plot: Vec<PathBuf>,
    /// What stands above the picture
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    /// The figures as JSON Lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    strictness: Strictness,
}

fn window(text: &str) -> Result<Time, String> {
    let time: Time = text.parse().map_err(|error| format!("{error}"))?;
    match time {
        Time::ZERO => Err("a window has a length".into()),
        _ => Ok(time),
    }
}

impl ProfileCommand {
    /// Reads everything, and tells.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        picture::check(&self.plot)?;
        if !self.compare.is_empty() {
            let task = compare::Task {
                sources: &self.compare,
                config: measure::compare::Config {
                    window: self.within as usize,
                    bytes: self.payload as usize,
                },
                filter: self.selection.filter()?,
                tick: self.tick,
                complaints: self.strictness.complaints(),
            };
            return compare::run(task, &self.plot, self.title.as_deref(), self.json);
        }
        let config = Config {
            rate: self.rate,
            burst: self.burst,
            window: self.window,
            energy: self.energy,
        };
        let mut subjects = Subjects::new(config, self.tick);
        subjects.selector = self.selection.selector()?;
        let sources = Sources::of(&self.sources)?;
        let complaints = self.strictness.complaints();
        // Ports are opened first, so that nothing they receive meanwhile is lost.
        let listener = Listener::open(&sources.ports, self.tick, self.directions)?;
        sources.confine(Permissions {
            writes: !self.plot.is_empty(),
            ..Permissions::default()
        })?;
        let listening = !sources.ports.is_empty();
        listener.tell_life(&self.selection);
        let feed = || -> anyhow::Result<()> {
            for path in &sources.files {
                if reader::file(path, &mut subjects, &complaints)? == Ended::Stopped {
                    return Ok(());
                }
            }
            reader::ports(listener, &mut subjects, &complaints)
        };
        let fed = feed();
        let mut verdict = complaints.finish();
        if listening {
            // Ports are listened to for ever, if nothing else was asked for.
            let done = self.selection.is_endless() || subjects.is_over() || subjects.enough();
            verdict = verdict.max(Verdict::if_done(done));
        }
        // What was read before something went wrong is told all the same; old pictures stand, as they do where nothing is to be drawn.
        let title = self.title.as_deref();
        let mut stdout = Output::open(&Buffering::default())?;
        let told = match self.json {
            true => subjects.list().iter().map(object::line).collect(),
            false => text(subjects.list()),
        };
        stdout.tell(&told)?;
        stdout.finish()?;
        fed?;
        for path in &self.plot {
            output::picture(&picture::of(subjects.list(), title), path)?;
        }
        Ok(verdict)
    }
}
