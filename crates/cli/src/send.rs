//! `wire send`: packets to a port, at their departure times.

mod schedule;

use crate::Verdict;
use crate::complaints::{Complaints, Strictness};
use crate::fix::{Fix, Fixer};
use crate::packets::{Consumer, Ended, Packets};
use crate::ports::spec;
use crate::report::{self, Detail};
use crate::select::{Selection, Selector};
use crate::time::tick;
use ::capture::file::Item;
use anyhow::{bail, ensure};
use live::port::pace::{Pacer, Stopped};
use live::port::{self, Options, PortSpec};
use node::{Rate, Time};
use packet::Tick;
use schedule::{Pace, Schedule};
use std::path::{Path, PathBuf};

/// Send lines, records or a capture to a port, at their departure times
///
/// A line's or record's timestamp says when it leaves: 0 at once, an absolute time of the port's
/// counter, or a mode with a timer. A capture is replayed with its own timing, from its first packet
/// on. Reports how many packets left, how many of them late, and how exactly.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire gen --count 1000 --gap 10us | wire send eth0
  wire send eth0 trace.pcapng --speed 2 --loop 10")]
pub struct Send {
    /// Where to: an interface, tap:NAME, xdp:IFACE, udp:HOST:PORT
    #[arg(value_parser = spec())]
    port: PortSpec,
    /// What to send, `-` for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Send each packet as soon as it can leave, whatever its time
    #[arg(long, group = "timing")]
    at_once: bool,
    /// Send each packet at its date, by this machine's clock
    #[arg(long, group = "timing", conflicts_with = "replay")]
    at_date: bool,
    /// Send with the timing of the lines' or records' timestamps, from the first packet on
    #[arg(long)]
    replay: bool,
    /// Replay so many times as fast as it was; implies --replay
    #[arg(long, alias = "scale", value_name = "FACTOR", group = "timing")]
    speed: Option<f64>,
    /// Send so many bits a second, such as 100Mb/s, preamble and gap between frames counted
    #[arg(long, value_name = "RATE", group = "timing")]
    rate: Option<Rate>,
    /// Send so many packets a second
    #[arg(long, value_name = "N", group = "timing")]
    pps: Option<u32>,
    /// Send a packet every TIME, such as 10us
    #[arg(long, value_name = "TIME", group = "timing")]
    gap: Option<Time>,
    /// Send the file so many times, 0 for ever
    #[arg(long = "loop", alias = "loops", value_name = "N", default_value_t = 1)]
    loops: u64,
    #[command(flatten)]
    selection: Selection,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    #[command(flatten)]
    fix: Fix,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    strictness: Strictness,
}

impl Send {
    /// Sends everything, and reports.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ensure!(
            self.loops == 1 || self.file != Path::new("-"),
            "standard input can be sent only once; --loop needs a file"
        );
        ::capture::signal::install();
        let complaints = self.strictness.complaints();
        let schedule = Schedule::new(self.pace()?, self.replay);
        // A file that cannot be read is found out before anything happens on the wire.
        let mut packets = Packets::open(&self.file, &complaints)?;
        let options = Options {
            tick: self.tick,
            ..Options::default()
        };
        let port = port::open(&self.port, &options)?;
        let name = port.info.name;
        // Nothing is to gather in a buffer that nobody reads.
        drop(port.rx);
        confine::ports([&self.port], self.loops != 1)?;
        let end = match self.file == Path::new("-") {
            true => "until standard input ends, or Ctrl-C".into(),
            false => format!("until {} ends, or Ctrl-C", self.file.display()),
        };
        report::begin_watched("sending to", &name, &end);
        let mut sender = Sender {
            pacer: Pacer::start(port.tx, self.tick)?,
            schedule,
            tick: self.tick,
            complaints: complaints.clone(),
            fixer: self.fix.fixer(),
            sent: 0,
        };
        let mut selector = self.selection.selector()?;
        let mut result = packets.choose(&mut selector, self.tick, &mut sender);
        let mut loops = 1;
        while over(&result, &selector) && loops != self.loops {
            if sender.sent == 0 {
                result = Err(anyhow::anyhow!(
                    "there is no packet to send again and again"
                ));
                break;
            }
            loops += 1;
            sender.schedule.again();
            selector = self.selection.selector()?;
            result = Packets::open(&self.file, &complaints)
                .and_then(|mut packets| packets.choose(&mut selector, self.tick, &mut sender));
        }
        sender.fixer.tell();
        let report = sender.pacer.finish();
        let done = over(&result, &selector) && report.unsent == 0;
        let verdict = report::tell(&name, report, self.json, self.detail);
        let input = complaints.finish();
        // What is wrong with the port says more than that it takes nothing any more.
        match result {
            Err(error) if !error.is::<Stopped>() => Err(error),
            _ => Ok(verdict?.max(input).max(Verdict::if_done(done))),
        }
    }

    /// The timing that was asked for.
    fn pace(&self) -> anyhow::Result<Pace> {
        Ok(match self {
            Send { at_once: true, .. } => Pace::AtOnce,
            Send { at_date: true, .. } => {
                Pace::AtDate(u128::from(::capture::clock::epoch_ns()) * 1_000)
            }
            Send {
                rate: Some(rate), ..
            } => Pace::Rate(*rate, 0),
            Send { gap: Some(gap), .. } => Pace::Gap(*gap),
            Send { pps: Some(0), .. } => bail!("--pps needs at least 1 packet a second"),
            Send { pps: Some(pps), .. } => Pace::PerSecond(*pps, 0),
            Send {
                speed: Some(speed), ..
            } => {
                let sound = speed.is_finite() && *speed >= 1e-6 && *speed <= 1e9;
                ensure!(sound, "--speed takes a factor from 0.000001 to 1000000000");
                Pace::Own(*speed)
            }
            _ => Pace::Said,
        })
    }
}

/// Whether all that was to be sent of a file was given.
fn over(result: &anyhow::Result<Ended>, selector: &Selector) -> bool {
    match result {
        Ok(Ended::End) => true,
        Ok(Ended::Enough) => !selector.wants_more(),
        Ok(Ended::Stopped) | Err(_) => false,
    }
}

/// Gives packets to the pacing thread.
struct Sender {
    pacer: Pacer,
    schedule: Schedule,
    tick: Tick,
    complaints: Complaints,
    fixer: Fixer,
    sent: u64,
}

impl Consumer for Sender {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let departure = match self.schedule.departure(item, self.tick) {
            Ok(departure) => departure,
            Err(error) => {
                let place = format_args!("packet {}", self.sent + 1);
                self.complaints.bad(place, error)?;
                return Ok(true);
            }
        };
        let departure = match self.schedule.is_stamped(item) {
            true => self.pacer.as_stamped(departure),
            false => departure,
        };
        self.pacer.submit(departure, self.fixer.frame(item.bytes))?;
        self.sent += 1;
        Ok(!::capture::signal::stop_requested())
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}
