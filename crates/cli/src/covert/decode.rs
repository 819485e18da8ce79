//! `wire covert decode`: messages out of gaps.

use super::{Gaps, Times};
use crate::Verdict;
use crate::complaints::Strictness;
use crate::output::{Buffering, Output};
use crate::packets::{Consumer, Packets};
use crate::select::Selection;
use ::capture::file::Item;
use anyhow::Context;
use confine::Permissions;
use nodes::covert::{Demodulator, Reception, code};
use serde_json::Value;
use std::path::PathBuf;

/// Read messages in the gaps between packets
///
/// Each is printed when it is whole, again and again while it is repeated unless --once; at the end, on
/// stderr, what was received, wrong bits counted. Exit code 1: there was no message.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire covert decode out.pcapng --idles 1000 --once")]
pub struct Decode {
    /// The packets, `-` for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    gaps: Gaps,
    /// Stop behind the first message
    #[arg(long)]
    once: bool,
    /// Messages and what was received as JSON Lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

struct Reader {
    out: Output,
    times: Times,
    demodulator: Demodulator,
    once: bool,
    json: bool,
}

impl Decode {
    /// Reads every packet.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let demodulator = Demodulator::new(&self.gaps.config()).context("cannot decode")?;
        let mut reader = Reader {
            out: Output::reading(std::slice::from_ref(&self.file), &self.buffering)?,
            times: Times::new(self.gaps.line.tick),
            demodulator,
            once: self.once,
            json: self.json,
        };
        let mut selector = self.selection.selector()?;
        confine::reader(Permissions::default())?;
        let complaints = self.strictness.complaints();
        let result = Packets::open(&self.file, &complaints).and_then(|packets| {
            let tick = self.gaps.line.tick;
            packets
                .with_lengths()
                .choose(&mut selector, tick, &mut reader)
        });
        let reception = reader.demodulator.reception();
        if self.json {
            reader
                .out
                .write(format!("{}\n", object(&reception)).as_bytes())?;
        } else {
            eprintln!("wire: {}", text(&reception));
        }
        reader.out.finish()?;
        let verdict = complaints.finish();
        result?;
        Ok(verdict.max(Verdict::if_good(reception.found.messages > 0)))
    }
}

impl Consumer for Reader {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let at = self.times.of(item)?;
        // A capture may have cut the packet short; its gap is counted from its end.
        let len = item.bytes.len().max(item.original_len as usize);
        let Some(message) = self.demodulator.frame(at, len) else {
            return Ok(true);
        };
        if self.json {
            let object = json_line!("covert", "message", {
                "at_ps": at.as_ps(),
                "message": String::from_utf8_lossy(message),
            });
            self.out.write(format!("{object}\n").as_bytes())?;
        } else {
            self.out.buffer().extend_from_slice(message);
            self.out.write(b"\n")?;
        }
        Ok(!self.once)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        self.out.flush()
    }
}

fn checked(reception: &Reception) -> u64 {
    reception.found.chunks * code::CHUNK as u64
}

fn text(reception: &Reception) -> String {
    let found = reception.found;
    format!(
        "{} gaps, {} bits; {} messages in {} chunks, {} wrong of {} bits mended; {} chunks beyond mending",
        reception.gaps,
        reception.bits,
        found.messages,
        found.chunks,
        found.bit_errors,
        checked(reception),
        found.failed
    )
}

fn object(reception: &Reception) -> Value {
    let found = reception.found;
    json_line!("covert", "heard", {
        "gaps": reception.gaps,
        "bits": reception.bits,
        "uncoded": reception.uncoded,
        "messages": found.messages,
        "chunks": found.chunks,
        "failed": found.failed,
        "bit_errors": found.bit_errors,
        "bits_checked": checked(reception),
    })
}
