//! `wire p4 cycles`: how many cycles packets take in hardware.

use super::compile::width;
use super::control::carry_out;
use super::source::Reading;
use crate::Verdict;
use crate::complaints::Strictness;
use crate::output::{Buffering, Output};
use crate::select::{Filter, Selector};
use anyhow::{anyhow, bail, ensure};
use lab::engine::{EngineKind, Engines, describe};
use pipeline::architecture::{Config, Pipeline};
use pipeline::control::Control;
use pipeline::engine::{Outcome, Passage};
use pipeline::environment::Options;
use std::path::PathBuf;
use std::sync::Arc;

/// Packets of a stream, and those that pass before cycles are counted.
const STREAM: usize = 256;
const BEFORE: usize = 64;
/// No packet is shorter than an Ethernet frame.
const MIN_SIZE: usize = 64;

/// Count the cycles that packets take in a program in hardware
///
/// Needs `wire-rtl`, which compiles the Verilog of the program. A packet, filled up with zeros to each size, passes alone, and then in a stream without
/// gaps: a line for each size has the cycles from its first word in to its first and last word out, the cycles a packet of the stream, and
/// what that is in Gb/s.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire-rtl p4 cycles router.p4
  wire-rtl gen --count 1 | wire-rtl p4 cycles router.p4 - --entries entries.txt --size 64,1518")]
pub struct Cycles {
    /// The program
    program: PathBuf,
    /// The packet: the first of lines, records or a capture; 64 zeros without it
    packets: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// A file of commands for the control plane
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    /// Bits of a word of the streams: 64, 128, 256 or 512
    #[arg(long, value_name = "BITS", default_value_t = 512, value_parser = width)]
    width: u32,
    /// Sizes of the packet in bytes; those below its own count as its own
    #[arg(
        long,
        value_name = "BYTES",
        value_delimiter = ',',
        default_value = "64,128,256,512,1024,1518"
    )]
    size: Vec<usize>,
    /// The clock by which cycles become time, MHz
    #[arg(long, value_name = "MHZ", default_value_t = 250.0)]
    clock: f64,
    #[command(flatten)]
    filter: Filter,
    /// A line of JSON for each size on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    strictness: Strictness,
}

/// The cycles of a size.
struct Figures {
    bytes: usize,
    first: u64,
    last: u64,
    each: f64,
    outcome: Outcome,
}

impl Cycles {
    /// Counts.
    ///
    /// # Errors
    /// When the program is no hardware, it does not answer, or files cannot be read.
    pub fn run(self, known: &Engines) -> anyhow::Result<Verdict> {
        ensure!(
            self.clock > 0.0 && self.clock.is_finite(),
            "the clock has to be more than 0 MHz"
        );
        let (head, verdict) = self.head()?;
        let mut stdout = Output::open(&Buffering::default())?;
        let compiled = self.reading.load_valid(&self.program)?;
        let program = compiled.program.clone();
        let program = program.ok_or_else(|| anyhow!("{} has no `main`", self.program.display()))?;
        let options = Options {
            width: Some(self.width),
            ..Options::default()
        };
        let config = Config::default();
        let pipeline = known.pipeline(&Arc::new(program), EngineKind::Rtl, options, &config);
        let mut pipeline = pipeline.map_err(|fault| anyhow!(describe(&fault, &compiled)))?;
        if let Some(path) = &self.entries {
            carry_out(&Control::new(Arc::clone(pipeline.environment())), path)?;
        }
        let mut sizes: Vec<usize> = self.size.iter().map(|size| head.len().max(*size)).collect();
        sizes.dedup();
        if !self.json {
            let clock = self.clock;
            stdout.tell(&format!(
                "bytes  to the first word out  to the last out  cycles a packet  Gb/s at {clock} MHz\n"
            ))?;
        }
        for size in sizes {
            let mut packet = head.clone();
            packet.resize(size, 0);
            let figures = Figures::of(&mut pipeline, &packet)?;
            stdout.tell(&self.line(&figures))?;
        }
        stdout.finish()?;
        Ok(verdict)
    }

    /// The packet at its shortest.
    fn head(&self) -> anyhow::Result<(Vec<u8>, Verdict)> {
        let selector = Selector::by(&self.filter)?;
        let complaints = self.strictness.complaints();
        let mut head = None;
        if let Some(packets) = &self.packets {
            super::packets::each(packets, selector, &complaints, &mut |_, bytes| {
                head.get_or_insert_with(|| bytes.to_vec());
            })?;
            if head.is_none() {
                bail!("{} has no packets", packets.display());
            }
        }
        let mut head = head.unwrap_or_default();
        if head.len() < MIN_SIZE {
            head.resize(MIN_SIZE, 0);
        }
        Ok((head, complaints.finish()))
    }

    fn line(&self, figures: &Figures) -> String {
        let Figures {
            bytes,
            first,
            last,
            each,
            ref outcome,
        } = *figures;
        let rate = bytes as f64 * 8.0 * self.clock / 1000.0 / each;
        let (port, sent, reason) = match outcome {
            Outcome::Sent(port, bytes) => (Some(*port), Some(bytes.len()), None),
            Outcome::Dropped(reason) => (None, None, Some(*reason)),
        };
        if self.json {
            let line = json_line!("p4", "cycles", { "bytes": bytes, "first_out": first, "last_out": last, "cycles_per_packet": each,
                "gigabits_per_second": rate, "first_out_ns": first as f64 * 1000.0 / self.clock, "port": port, "bytes_sent": sent, "drop_reason": reason });
            return format!("{line}\n");
        }
        let result = match outcome {
            Outcome::Sent(port, bytes) => format!("sent by port {port} with {} bytes", bytes.len()),
            Outcome::Dropped(reason) => format!("dropped, reason {reason}"),
        };
        format!("{bytes:5}  {first:21}  {last:15}  {each:15.2}  {rate:15.1}  {result}\n")
    }
}

impl Figures {
    /// A packet alone, and in a stream.
    fn of(pipeline: &mut Pipeline, packet: &[u8]) -> anyhow::Result<Figures> {
        let alone = pass(pipeline, packet, 1)?;
        let stream = pass(pipeline, packet, STREAM)?;
        let one = &alone[0];
        let (first, last) = (&stream[BEFORE], &stream[stream.len() - 1]);
        let counted = stream.len() - 1 - BEFORE;
        Ok(Figures {
            bytes: packet.len(),
            first: one.first_out - one.first_in,
            last: one.last_out - one.first_in,
            each: (last.last_out - first.last_out) as f64 / counted as f64,
            outcome: one.outcome.clone(),
        })
    }
}

/// Packets in direct succession; at least one passage for each.
fn pass(pipeline: &mut Pipeline, packet: &[u8], count: usize) -> anyhow::Result<Vec<Passage>> {
    let packets: Vec<(u16, &[u8])> = (0..count).map(|_| (0, packet)).collect();
    let passages = pipeline.cycles(&packets);
    let passages = passages.ok_or_else(|| anyhow!("this engine has no cycles"))?;
    let passages = passages.map_err(|stuck| anyhow!(stuck))?;
    ensure!(
        passages.len() >= count,
        "of {count} packets {} came out of the hardware",
        passages.len()
    );
    Ok(passages)
}
