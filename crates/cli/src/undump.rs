//! `wire undump`: a capture as lines or records, stamps kept.

use crate::Verdict;
use crate::cat::{FileReader, Writer, tick};
use crate::complaints::Strictness;
use crate::confine::{self, Still};
use crate::form::FormOptions;
use crate::output::{Buffering, Output};
use crate::packets::Packets;
use crate::zero::Zero;
use packet::Tick;
use std::path::PathBuf;

/// Write the packets of a capture as lines or records
///
/// The inverse of `wire dump`: what that wrote comes back with the same timestamps. In a capture
/// from elsewhere they count from the last whole second before its first packet, unless --epoch
/// says otherwise.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire undump trace.pcapng | sed 's/8100 00 01 //' | wire dump > untagged.pcapng")]
pub struct Undump {
    /// The capture, `-` for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The time at which timestamps are zero, in ns since 1970
    #[arg(long, value_name = "NS")]
    epoch: Option<u64>,
    /// The unit of timestamps, such as 8ns (the default) or 1ns
    #[arg(long, value_name = "TIME", value_parser = tick)]
    tick: Option<Tick>,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

impl Undump {
    /// Writes every packet.
    pub fn run(self) -> anyhow::Result<Verdict> {
        live::signal::install();
        let mut out = Writer {
            stdout: Output::reading(std::slice::from_ref(&self.file), &self.buffering)?,
            form: self.form.form(),
            filter: None,
            left: u64::MAX,
        };
        confine::reader(Still::default())?;
        let complaints = self.strictness.complaints();
        let mut reader = FileReader {
            out: &mut out,
            zero: Zero::new(self.tick, self.epoch),
            tick: self.tick.unwrap_or(Tick::EIGHT_NS),
        };
        let result = Packets::open(&self.file, &complaints)?.copy(&mut reader);
        out.stdout.finish()?;
        let verdict = complaints.finish();
        result?;
        Ok(verdict)
    }
}
