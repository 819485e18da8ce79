//! `wire phy decode`: packets from the line.

use super::events;
use super::lock::with_type;
use super::source::{self, Input, push};
use crate::Verdict;
use crate::complaints::{Complaints, Strictness};
use crate::epoch;
use crate::form::{Form, FormOptions};
use crate::output::{Buffering, Output};
use crate::profile::signed_count;
use ::capture::file::Next;
use anyhow::{Context, bail};
use confine::Permissions;
use packet::capture::{Interface, PcapngWriter, Resolution, Statistics};
use packet::{MAX_FRAME_LEN, MIN_FRAME_LEN, Packet, Stamp, Tick};
use phy::file::{Feed, Header};
use phy::{Item, Received};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Read the packets of a bit stream, with exact stamps and the idles before each
///
/// The stream is a file of `wire phy encode`, or raw bits of any origin, at any alignment. A frame that
/// is not whole is told and skipped; the table and --json have it with its fault. The exit code is 1 if
/// the stream never locks.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire phy decode line.phy --table
  wire phy decode line.phy --pcapng | wire dump --pcap --lenient > line.pcap")]
pub struct Decode {
    #[command(flatten)]
    input: Input,
    /// Stop after this many frames
    #[arg(long, short, value_name = "N")]
    count: Option<u64>,
    /// The unit of timestamps: a time such as 8ns (the default) or 1ps, or `bit`
    #[arg(long, value_name = "TIME|bit", default_value = "8ns", value_parser = unit)]
    tick: Unit,
    /// Columns: bit, ps from the first bit, idles before the frame, its bytes with FCS, verdict
    #[arg(long, group = "kind", conflicts_with = "FormOptions")]
    table: bool,
    /// A capture with stamps in ps
    #[arg(long, group = "kind", conflicts_with = "FormOptions")]
    pcapng: bool,
    /// Keep so many bytes of each frame, such as 48, SoNIC's; a capture and --table tell its length
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(MIN_FRAME_LEN as i64..))]
    snap: Option<u32>,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

/// What a timestamp counts.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Tick(Tick),
    /// Bits of the stream.
    Bit,
}

fn unit(text: &str) -> Result<Unit, String> {
    match text {
        "bit" => Ok(Unit::Bit),
        text => crate::time::tick(text).map(Unit::Tick),
    }
}

impl Decode {
    /// Decodes the stream.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let complaints = self.strictness.complaints();
        let mut source = self.input.open(&complaints)?;
        let out = Output::create(&self.output, self.input.files(), &self.buffering)?;
        if self.pcapng && out.is_terminal() {
            bail!("a capture is not for a terminal; use -o FILE, or pipe it into another command");
        }
        let writes = self.output != Path::new("-");
        confine::reader(Permissions {
            writes,
            ..Permissions::default()
        })?;
        let shape = match self.form.form() {
            _ if self.table => Shape::Table,
            _ if self.pcapng => Shape::Pcapng(PcapngWriter::default()),
            Form::Json(_) => Shape::Json,
            form => Shape::Packets(form),
        };
        let mut writer = Writer {
            out,
            shape,
            unit: self.tick,
            snap: self.snap,
            header: source.header,
            interface: Interface::default(),
            number: 0,
            name: source.name().into(),
            complaints: complaints.clone(),
            left: self.count.unwrap_or(u64::MAX),
            locked: false,
            good: 0,
            failure: None,
        };
        writer.begin();
        let mut feed = Feed::at(source.first);
        // What was read before an error is still given.
        let result = loop {
            let part = source.next(&mut || writer.out.flush());
            match &part {
                Ok(Next::Item(part)) => {
                    push(&mut feed, part, &mut |base, item| writer.item(base, item));
                }
                ended => {
                    let stopped = matches!(ended, Ok(Next::Stopped));
                    source::finish(&mut feed, stopped, &mut |base, item| {
                        writer.item(base, item)
                    });
                }
            }
            match part {
                Ok(Next::Item(_)) if writer.left > 0 => writer.relieve()?,
                Ok(_) => break writer.relieve(),
                Err(error) => break Err(error),
            }
        };
        let (locked, name) = (writer.locked, writer.name.clone());
        writer.end();
        if result.is_ok() {
            writer.out.finish()?;
        }
        let verdict = complaints.finish();
        result?;
        if !locked && verdict != Verdict::Stopped {
            complaints.note(format_args!(
                "{name}: no blocks were found; `wire phy lock` says more, --bits and --invert may help"
            ));
            return Ok(Verdict::Failed);
        }
        Ok(verdict)
    }
}

/// What packets become.
enum Shape {
    Table,
    Json,
    Packets(Form),
    Pcapng(PcapngWriter),
}

struct Writer {
    out: Output,
    shape: Shape,
    unit: Unit,
    /// Bytes of a frame that are kept, where not all are.
    snap: Option<u32>,
    header: Header,
    /// The line in a capture, and its number there.
    interface: Interface,
    number: u32,
    name: String,
    complaints: Complaints,
    left: u64,
    locked: bool,
    good: u64,
    /// Why to stop. A receiver cannot be told, so it is kept for its caller.
    failure: Option<anyhow::Error>,
}

impl Writer {
    fn begin(&mut self) {
        let out = self.out.buffer();
        match &mut self.shape {
            Shape::Table => out.extend_from_slice(
                b"#          bit               ps        idles  length  verdict\n",
            ),
            Shape::Pcapng(pcapng) => {
                let tick = match self.unit {
                    Unit::Tick(tick) => tick,
                    Unit::Bit => Tick::EIGHT_NS,
                };
                if self.header.epoch_ns == 0 {
                    self.header.epoch_ns = ::capture::clock::epoch_ns();
                }
                let epoch_ns = self.header.epoch_ns;
                self.interface = Interface {
                    resolution: Resolution::PICO,
                    offset_s: (epoch_ns / 1_000_000_000) as i64,
                    description: epoch::describe(tick, epoch_ns),
                    name: "10GBASE-R".into(),
                    speed: 10_000_000_000,
                    snap_len: self.snap.unwrap_or(0),
                    ..Interface::default()
                };
                pcapng.header(concat!("wire ", env!("CARGO_PKG_VERSION")), out);
                self.number = pcapng.interface(&self.interface, out);
            }
            Shape::Json | Shape::Packets(_) => {}
        }
    }

    fn item(&mut self, base: u64, item: Item<'_>) {
        if self.left == 0 || self.failure.is_some() {
            return;
        }
        match item {
            Item::Frame(frame) => {
                self.left -= 1;
                if let Err(failure) = self.frame(base + frame.stamp.0, &frame) {
                    self.failure = Some(failure);
                }
            }
            Item::Event(stamp, event) => {
                self.locked |= event == phy::Event::Lock;
                let (name, more) = events::event(event);
                let (bit, out) = (base + stamp.0, self.out.buffer());
                // Writing to a Vec does not fail.
                let _ = match self.shape {
                    Shape::Table => writeln!(out, "# {bit:>12}  {name} {more}"),
                    Shape::Json => {
                        let event = json!({"bit": bit, "event": name, "more": more});
                        writeln!(out, "{}", with_type("event", event))
                    }
                    Shape::Packets(_) | Shape::Pcapng(_) => Ok(()),
                };
            }
        }
    }

    fn frame(&mut self, bit: u64, frame: &Received<'_>) -> anyhow::Result<()> {
        let verdict = events::verdict(frame.verdict);
        let good = frame.verdict == phy::Verdict::Good;
        self.good += u64::from(good);
        let fits = (MIN_FRAME_LEN..=MAX_FRAME_LEN).contains(&frame.bytes.len());
        if matches!(self.shape, Shape::Packets(_) | Shape::Pcapng(_)) && !(good && fits) {
            let place = format_args!("{}: bit {bit}", self.name);
            let reason = format_args!("a frame of {} bytes was skipped: {verdict}", frame.length);
            return self.complaints.bad(place, reason);
        }
        let kept = self.snap.map_or(usize::MAX, |snap| snap as usize);
        let bytes = &frame.bytes[..frame.bytes.len().min(kept)];
        let ps = self.header.ps(bit);
        let counter = u128::try_from(ps).unwrap_or(0);
        let out = self.out.buffer();
        match &mut self.shape {
            Shape::Table => {
                let since = Header {
                    start_ps: 0,
                    ..self.header
                };
                let idles = frame.idles.map_or("-".into(), |idles| idles.to_string());
                writeln!(
                    out,
                    "{bit:>14} {:>16} {idles:>12} {:>7}  {verdict}",
                    since.ps(bit),
                    frame.length
                )?;
            }
            Shape::Json => {
                let object = json!({
                    "bit": bit,
                    "ps": signed_count(ps),
                    "idles": frame.idles,
                    "length": frame.length,
                    "verdict": verdict,
                    "fcs": events::bytes(&frame.fcs).replace(' ', ""),
                    "bytes": events::bytes(bytes).replace(' ', ""),
                });
                writeln!(out, "{}", with_type("frame", object))?;
            }
            Shape::Packets(form) => {
                let (tick, word) = match self.unit {
                    Unit::Bit => (Tick::EIGHT_NS, bit),
                    Unit::Tick(tick) => {
                        let word = tick.checked_count(counter).context(
                            "a frame is later than a timestamp word can state, which counts up to 2^56 ticks; \
                             use a longer --tick, --text or --pcapng",
                        )?;
                        (tick, word)
                    }
                };
                let packet = Packet {
                    stamp: Some(Stamp::Word(word)),
                    hash: None,
                    bytes,
                };
                form.append(&packet, tick, out)?;
            }
            Shape::Pcapng(pcapng) => {
                let at_ps = u128::from(self.header.epoch_ns) * 1_000 + counter;
                let Interface {
                    resolution,
                    offset_s,
                    ..
                } = self.interface;
                // In picoseconds an interface reaches 213 days; later frames have another one.
                if resolution.exact(at_ps, offset_s).is_none() {
                    self.interface.offset_s = (at_ps / 1_000_000_000_000) as i64;
                    self.number = pcapng.interface(&self.interface, out);
                }
                let length = frame.bytes.len() as u32;
                pcapng.cut_packet(self.number, at_ps, length, bytes, out);
            }
        }
        Ok(())
    }

    fn relieve(&mut self) -> anyhow::Result<()> {
        match self.failure.take() {
            Some(failure) => {
                self.out.flush()?;
                Err(failure)
            }
            None => self.out.relieve(),
        }
    }

    fn end(&mut self) {
        if let Shape::Pcapng(pcapng) = &self.shape {
            let statistics = Statistics {
                accepted: Some(self.good),
                at_ps: u128::from(self.header.epoch_ns) * 1_000,
                ..Statistics::default()
            };
            pcapng.statistics(&statistics, self.out.buffer());
        }
    }
}
