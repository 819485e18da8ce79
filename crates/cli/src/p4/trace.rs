//! `wire p4 trace`: what happens to each packet.

use super::source::Reading;
use crate::Verdict;
use crate::complaints::Strictness;
use crate::output::{Buffering, Output};
use crate::select::{Filter, Selector};
use ::pipeline::architecture::{Collected, Config, Pipeline};
use ::pipeline::control::Control;
use ::pipeline::environment::Options;
use ::pipeline::{stf, trace};
use anyhow::{Context, anyhow, ensure};
use confine::Permissions;
use lab::engine::{EngineKind, Engines, describe};
use node::Time;
use std::path::PathBuf;
use std::sync::Arc;

/// Tell what a program does to each packet, and why
///
/// The parser's way, each table's keys, hit or miss, the action with its parameters, fields old and new, conditions with
/// their lines, copies, and why a packet was dropped. Packets are those of an STF file, of a capture, or given by --packet.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire p4 trace router.p4 --stf router.stf
  wire p4 trace router.p4 --entries entries.txt --packet 1:ffffffffffff0200000000010800
  wire p4 trace router.p4 --entries entries.txt trace.pcapng --port 1 --json")]
pub struct Trace {
    /// The program
    program: PathBuf,
    /// A file of packets: lines, records or a capture, `-` for standard input
    packets: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Take entries and packets from an STF file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entries", "packets", "packet"])]
    stf: Option<PathBuf>,
    /// A file of commands for the control plane
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    /// A packet: the port it comes in by, and its bytes in hexadecimal
    #[arg(long, value_name = "PORT:HEX", value_parser = packet)]
    packet: Vec<(u32, Vec<u8>)>,
    /// The port by which the file's packets come in
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u32,
    #[command(flatten)]
    filter: Filter,
    /// Tell only of so many packets
    #[arg(long, short, value_name = "N")]
    count: Option<usize>,
    /// A line of JSON for each packet
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    strictness: Strictness,
}

fn packet(text: &str) -> Result<(u32, Vec<u8>), String> {
    let wanted = || format!("PORT:HEX is wanted, such as 1:ffffffffffff, not `{text}`");
    let (port, digits) = text.split_once(':').ok_or_else(wanted)?;
    let port = port.parse().map_err(|_| wanted())?;
    let digits: Vec<u8> = digits
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).map(|d| d as u8))
        .collect::<Option<_>>()
        .ok_or_else(wanted)?;
    if digits.len() % 2 == 1 || digits.is_empty() {
        return Err(wanted());
    }
    Ok((
        port,
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    ))
}

impl Trace {
    /// Runs the packets.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let selector = Selector::by(&self.filter)?;
        confine::reader(Permissions::default())?;
        // What happens is told of the program as it was written, without what the passes make of it.
        let options = p4::compile::Options {
            unoptimized: true,
            ..self.reading.options()
        };
        let compiled = self.reading.load_valid_with(&self.program, &options)?;
        let program = compiled
            .program
            .clone()
            .ok_or_else(|| anyhow!("{} has no `main`", self.program.display()))?;
        let made = Engines::default().pipeline(
            &Arc::new(program),
            EngineKind::Reference,
            Options::default(),
            &Config::default(),
        );
        let mut pipeline =
            made.map_err(|unsupported| anyhow!(describe(&unsupported, &compiled)))?;
        let mut stdout = Output::open(&Buffering::default())?;
        let traced = pipeline.set_trace(true);
        traced.map_err(|unsupported| anyhow!(describe(&unsupported, &compiled)))?;
        let mut left = self.count.unwrap_or(usize::MAX);
        let mut tell = |pipeline: &mut Pipeline, stdout: &mut Output| -> anyhow::Result<()> {
            let trace = pipeline.take_trace();
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            let program = &pipeline.environment().program;
            let text = match self.json {
                true => trace::json(&trace, program, Some(&compiled.sources)),
                false => trace::text(&trace, program, Some(&compiled.sources)) + "\n",
            };
            stdout.tell(&text)
        };
        if let Some(path) = &self.stf {
            let name = path.display().to_string();
            let text = ::capture::file::text(path).with_context(|| name.clone())?;
            let script = stf::parse(&text).map_err(|faults| {
                let faults: Vec<String> = faults
                    .iter()
                    .map(|fault| format!("{name}:{}: {}", fault.line, fault.message))
                    .collect();
                anyhow!(faults.join("\n"))
            })?;
            let mut error = Ok(());
            let outcome = stf::run_with(&script, &mut pipeline, &mut |pipeline| {
                if error.is_ok() {
                    error = tell(pipeline, &mut stdout);
                }
            });
            error?;
            for failure in &outcome.failures {
                eprintln!("{name}:{}: {}", failure.line, failure.message);
            }
            stdout.finish()?;
            return Ok(if outcome.failures.is_empty() {
                Verdict::Good
            } else {
                Verdict::Failed
            });
        }
        if let Some(path) = &self.entries {
            super::control::carry_out(&Control::new(Arc::clone(pipeline.environment())), path)?;
        }
        let complaints = self.strictness.complaints();
        let mut packets: Vec<(Time, u32, Vec<u8>)> = Vec::new();
        for (port, bytes) in &self.packet {
            packets.push((Time::from_us(packets.len() as u64), *port, bytes.clone()));
        }
        if let Some(path) = &self.packets {
            super::packets::each(path, selector, &complaints, &mut |time, bytes| {
                packets.push((time, self.port, bytes.to_vec()))
            })?;
        }
        ensure!(
            !packets.is_empty() || self.packets.is_some(),
            "no packets: name a file of them, or give some by --packet or --stf"
        );
        for (time, port, bytes) in &packets {
            if ::capture::signal::stop_requested() {
                complaints.stopped();
                break;
            }
            pipeline.process(*time, *port, bytes, &mut Collected::default());
            tell(&mut pipeline, &mut stdout)?;
        }
        stdout.finish()?;
        Ok(complaints.finish())
    }
}
