//! `wire undump`: a capture as lines or records, stamps kept.

use crate::Verdict;
use crate::cat::{FileReader, Writer};
use crate::complaints::Strictness;
use crate::epoch::Words;
use crate::fix::Fixer;
use crate::form::FormOptions;
use crate::output::{Buffering, Output};
use crate::packets::Packets;
use crate::select::Selection;
use crate::time::tick;
use confine::Permissions;
use packet::Tick;
use std::path::PathBuf;

/// Write the packets of a capture as lines or records
///
/// Each packet keeps its date, to the picosecond. With --words it gets the timestamp word that `wire dump` made the
/// date from; in a capture from elsewhere words count from the last whole second before its first packet, unless
/// --epoch says otherwise.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire undump trace.pcapng | sed 's/8100 00 01 //' | wire dump > untagged.pcapng")]
pub struct Undump {
    /// The capture, `-` for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Timestamp words (16 digits) in place of dates
    #[arg(long)]
    words: bool,
    /// The time at which words are zero, in ns since 1970
    #[arg(long, value_name = "NS", requires = "words")]
    epoch: Option<u64>,
    /// The unit of words, such as 8ns (the default) or 1ns; dates are rounded down to it
    #[arg(long, value_name = "TIME", requires = "words", value_parser = tick)]
    tick: Option<Tick>,
    #[command(flatten)]
    selection: Selection,
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
        ::capture::signal::install();
        let mut out = Writer {
            stdout: Output::reading(std::slice::from_ref(&self.file), &self.buffering)?,
            form: self.form.form(),
            selector: self.selection.selector()?,
            epoch_ps: 0,
            dates: false,
            fixer: Fixer::default(),
        };
        confine::reader(Permissions::default())?;
        let complaints = self.strictness.complaints();
        let mut reader = FileReader {
            out: &mut out,
            words: self.words.then(|| Words::new(self.tick, self.epoch)),
            tick: self.tick.unwrap_or(Tick::EIGHT_NS),
        };
        let result = Packets::open(&self.file, &complaints)?.copy(&mut reader);
        out.stdout.finish()?;
        let verdict = complaints.finish();
        result?;
        Ok(verdict)
    }
}
