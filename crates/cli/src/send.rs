//! `wire send`: packets to a port, at their departure times.

mod schedule;

use crate::Verdict;
use crate::cat::tick;
use crate::complaints::{Complaints, Strictness};
use crate::confine;
use crate::packets::{Consumer, Ended, Packets};
use crate::ports::spec;
use crate::report;
use anyhow::{bail, ensure};
use live::file::Item;
use live::pace::{Pacer, Stopped};
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
  wire send eth0 trace.pcapng --scale 2 --loop 10")]
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
    /// Send with the timing of the lines' or records' timestamps, from the first packet on
    #[arg(long)]
    replay: bool,
    /// Replay so many times as fast as it was; implies --replay
    #[arg(long, value_name = "FACTOR", group = "timing")]
    scale: Option<f64>,
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
    #[arg(long = "loop", value_name = "N", default_value_t = 1)]
    loops: u64,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
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
        live::signal::install();
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
        let mut sender = Sender {
            pacer: Pacer::start(port.tx, self.tick)?,
            schedule,
            tick: self.tick,
            complaints: complaints.clone(),
            sent: 0,
        };
        let mut result = packets.copy(&mut sender);
        let mut loops = 1;
        while matches!(result, Ok(Ended::End)) && loops != self.loops {
            if sender.sent == 0 {
                result = Err(anyhow::anyhow!(
                    "there is no packet to send again and again"
                ));
                break;
            }
            loops += 1;
            sender.schedule.again();
            result = Packets::open(&self.file, &complaints)
                .and_then(|mut packets| packets.copy(&mut sender));
        }
        let report = sender.pacer.finish();
        let done = matches!(result, Ok(Ended::End)) && report.unsent == 0;
        let verdict = report::tell(&name, report, self.json);
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
            Send {
                rate: Some(rate), ..
            } => Pace::Rate(*rate, 0),
            Send { gap: Some(gap), .. } => Pace::Gap(*gap),
            Send { pps: Some(0), .. } => bail!("--pps needs at least 1 packet a second"),
            Send { pps: Some(pps), .. } => Pace::PerSecond(*pps, 0),
            Send {
                scale: Some(scale), ..
            } => {
                let sound = scale.is_finite() && *scale >= 1e-6 && *scale <= 1e9;
                ensure!(sound, "--scale takes a factor from 0.000001 to 1000000000");
                Pace::Own(*scale)
            }
            _ => Pace::Said,
        })
    }
}

/// Gives packets to the pacing thread.
struct Sender {
    pacer: Pacer,
    schedule: Schedule,
    tick: Tick,
    complaints: Complaints,
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
        self.pacer.submit(departure, item.bytes)?;
        self.sent += 1;
        Ok(!live::signal::stop_requested())
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}
