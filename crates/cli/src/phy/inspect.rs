//! `wire phy inspect`: a stream block by block.

use super::events;
use super::lock::with_type;
use super::source::{Input, Part, Source};
use crate::Verdict;
use crate::complaints::Strictness;
use crate::output::{Buffering, Output};
use ::capture::file::Next;
use confine::Permissions;
use phy::block::Kind;
use phy::file::{BLOCK, CONTROL, Header, IDLE, Reader, Recorder, Run, Segment, Step, Writer};
use phy::xgmii::Code;
use phy::{Block, Decoder, Item, Stamp};
use serde_json::{Value, json};

/// Print a bit stream block by block
///
/// Each line has the stream's bit at which the block begins, its sync header as it is on the wire, its
/// type, and the characters in it. Runs of idle blocks are one line. Frames and faults stand behind a #
/// once they are known.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire phy inspect line.phy | head
  wire phy inspect line.phy --from 1000000 --count 20
  wire phy inspect line.phy --json | grep -v '\"type\":\"data\"'")]
pub struct Inspect {
    #[command(flatten)]
    input: Input,
    /// Stop after so many lines
    #[arg(long, short, value_name = "N")]
    count: Option<u64>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    strictness: Strictness,
}

impl Inspect {
    /// Prints the stream.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let complaints = self.strictness.complaints();
        let mut source = self.input.open(&complaints)?;
        let mut printer = Printer {
            out: Output::reading(self.input.files(), &self.buffering)?,
            json: self.json,
            left: self.count.unwrap_or(u64::MAX),
            from: self.input.from(),
            decoder: Decoder::default(),
        };
        confine::reader(Permissions::default())?;
        let mut align = Align::new(&source);
        let mut result = Ok(());
        while printer.left > 0 {
            match source.next(&mut || printer.out.flush()) {
                Ok(Next::Item(Part::Segment(segment))) => printer.segment(&segment)?,
                Ok(Next::Item(Part::Words(words))) => {
                    align.push(words, 64);
                    align.drain(&mut printer)?;
                }
                Ok(Next::Item(Part::Bits(word, count))) => {
                    align.push(&[word], count);
                    align.drain(&mut printer)?;
                }
                // The bits behind the last whole block are unfinished.
                Ok(Next::Stopped) => break,
                Ok(Next::End) => {
                    align.finish(&mut printer)?;
                    break;
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        printer.finish()?;
        let verdict = complaints.finish();
        result?;
        Ok(verdict)
    }
}

/// Finds the blocks of raw bits: by way of a file in memory, a piece at a time.
struct Align {
    recorder: Option<Recorder>,
    reader: Reader,
    file: Vec<u8>,
}

impl Align {
    fn new(source: &Source) -> Align {
        let mut file = Vec::new();
        let raw = !source.is_file();
        let recorder = raw.then(|| Recorder::new(Writer::begin(&Header::default(), &mut file)));
        Align {
            recorder,
            reader: Reader::default(),
            file,
        }
    }

    fn push(&mut self, words: &[u64], count: u32) {
        if let Some(recorder) = &mut self.recorder {
            for &word in words {
                recorder.push(word, count, &mut self.file);
            }
            recorder.flush(&mut self.file);
        }
    }

    fn drain(&mut self, printer: &mut Printer) -> anyhow::Result<()> {
        let mut at = 0;
        loop {
            let step = self.reader.next(&self.file[at..], false)?;
            if let Step::Segment { segment, .. } = &step {
                printer.segment(segment)?;
            }
            let Some(used) = step.used() else { break };
            at += used;
        }
        self.file.drain(..at);
        Ok(())
    }

    fn finish(&mut self, printer: &mut Printer) -> anyhow::Result<()> {
        if let Some(recorder) = self.recorder.take() {
            recorder.finish(&mut self.file);
            self.drain(printer)?;
        }
        Ok(())
    }
}

struct Printer {
    out: Output,
    json: bool,
    /// Lines that may still be printed.
    left: u64,
    /// What is before this bit is decoded, not printed.
    from: u64,
    decoder: Decoder,
}

impl Printer {
    fn segment(&mut self, segment: &Segment<'_>) -> anyhow::Result<()> {
        let mut at = segment.first();
        if let Segment::Bits { bits, content, .. } = *segment {
            self.items(|decoder, each| decoder.reset(&mut |item| each(item)))?;
            // A line for every 66, so that none is too long.
            for begin in (0..bits).step_by(BLOCK as usize) {
                let count = (bits - begin).min(BLOCK);
                let digits: String = (begin..begin + count)
                    .map(|bit| char::from(b'0' + (content[bit as usize / 8] >> (bit % 8) & 1)))
                    .collect();
                self.line(at + begin + count, || {
                    let text = format!("{:>14}  no block, {count} bits: {digits}", at + begin);
                    let object = json!({"bit": at + begin, "count": count, "bits": digits});
                    (text, with_type("bits", object))
                })?;
            }
            return Ok(());
        }
        for run in segment.runs() {
            match run {
                Run::Idles(blocks) => {
                    self.idles(at, blocks)?;
                    at += blocks * BLOCK;
                }
                Run::Blocks(blocks) => {
                    for (header, payload) in blocks.iter() {
                        self.block(at, header, payload)?;
                        at += BLOCK;
                        if self.left == 0 {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn idles(&mut self, at: u64, blocks: u64) -> anyhow::Result<()> {
        let idle = Block::new(CONTROL, IDLE);
        self.items(|decoder, each| {
            decoder.block(Stamp(at), idle, &mut |item| each(item));
            if blocks > 1 {
                decoder.block(Stamp(at + (blocks - 1) * BLOCK), idle, &mut |item| {
                    each(item)
                });
            }
        })?;
        self.line(at + blocks * BLOCK, || {
            let what = match blocks {
                1 => "idle x8".into(),
                blocks => format!("idle x8, {blocks} blocks"),
            };
            let text = format!("{at:>14}  10 1E  /C/   {what}");
            (
                text,
                with_type("idle", json!({"bit": at, "blocks": blocks})),
            )
        })
    }

    fn block(&mut self, at: u64, header: u8, payload: u64) -> anyhow::Result<()> {
        let block = Block::new(header, payload);
        self.items(|decoder, each| decoder.block(Stamp(at), block, &mut |item| each(item)))?;
        self.line(at + BLOCK, || describe(at, header, payload))
    }

    /// A line about what ends before a bit.
    fn line(&mut self, end: u64, tell: impl FnOnce() -> (String, Value)) -> anyhow::Result<()> {
        if end <= self.from || self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let (text, object) = tell();
        let line = if self.json { object.to_string() } else { text };
        self.out.buffer().extend_from_slice(line.as_bytes());
        self.out.write(b"\n")
    }

    /// What the decoder tells of the blocks that it is given.
    fn items(
        &mut self,
        give: impl FnOnce(&mut Decoder, &mut dyn FnMut(Item<'_>)),
    ) -> anyhow::Result<()> {
        let mut lines = Vec::new();
        give(&mut self.decoder, &mut |item| lines.push(told_of(&item)));
        for (bit, text, object) in lines {
            self.line(bit + 1, || (format!("# {bit:>12}  {text}"), object))?;
        }
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.items(|decoder, each| decoder.finish(&mut |item| each(item)))?;
        self.out.finish()
    }
}

/// A frame or an event: its bit, its line, its object.
fn told_of(item: &Item<'_>) -> (u64, String, Value) {
    match item {
        Item::Frame(frame) => {
            let (bit, verdict) = (frame.stamp.0, events::verdict(frame.verdict));
            let idles = match frame.idles {
                Some(idles) => format!("{idles} idles before it"),
                None => "the first".into(),
            };
            let text = format!("frame, {} bytes, {verdict}, {idles}", frame.length);
            let object = json!({
                "bit": bit, "idles": frame.idles, "length": frame.length, "verdict": verdict,
            });
            (bit, text, with_type("frame", object))
        }
        Item::Event(stamp, event) => {
            let (name, more) = events::event(*event);
            let object = json!({"bit": stamp.0, "event": name, "more": more});
            let text = format!("{name} {more}");
            (stamp.0, text.trim_end().into(), with_type("event", object))
        }
    }
}

/// A block's line and its object.
fn describe(at: u64, header: u8, payload: u64) -> (String, Value) {
    let sync = ["00", "10", "01", "11"][usize::from(header & 3)];
    let bytes = payload.to_le_bytes();
    let Some(block) = Block::new(header, payload) else {
        let data = events::bytes(&bytes);
        return (
            format!("{at:>14}  {sync} --  !     bad header: {data}"),
            with_type(
                "bad-header",
                json!({"bit": at, "header": sync, "payload": data}),
            ),
        );
    };
    let (name, kind, parts) = match block.kind() {
        Some(Kind::Data) => ("/D/".into(), "data", vec![events::bytes(&bytes)]),
        Some(Kind::Control) => ("/C/".into(), "control", vec![codes(block, 0..8)]),
        Some(Kind::Start) => ("/S0/".into(), "start", start(&bytes[1..])),
        Some(Kind::ControlStart) => {
            let mut parts = vec![codes(block, 0..4)];
            parts.extend(start(&bytes[5..]));
            ("/S4/".into(), "start", parts)
        }
        Some(Kind::SetStart) => {
            let mut parts = vec![set(block, 0)];
            parts.extend(start(&bytes[5..]));
            ("/OS/".into(), "start", parts)
        }
        Some(Kind::ControlSet) => {
            let parts = vec![codes(block, 0..4), set(block, 4)];
            ("/O4/".into(), "ordered-set", parts)
        }
        Some(Kind::SetControl) => {
            let parts = vec![set(block, 0), codes(block, 4..8)];
            ("/O0/".into(), "ordered-set", parts)
        }
        Some(Kind::SetSet) => {
            let parts = vec![set(block, 0), set(block, 4)];
            ("/OO/".into(), "ordered-set", parts)
        }
        Some(Kind::Terminate(lane)) => {
            let lane = usize::from(lane);
            let mut parts = vec![
                events::bytes(&bytes[1..=lane]),
                "terminate".into(),
                codes(block, lane + 1..8),
            ];
            parts.retain(|part| !part.is_empty());
            (format!("/T{lane}/"), "terminate", parts)
        }
        None => {
            let parts = vec!["unknown type".into(), events::bytes(&bytes[1..])];
            ("!".into(), "bad-type", parts)
        }
    };
    let text = parts.join(", ");
    let field = match block.control {
        true => format!("{:02X}", bytes[0]),
        false => "  ".into(),
    };
    (
        format!("{at:>14}  {sync} {field}  {name:5} {text}"),
        with_type(
            kind,
            json!({"bit": at, "header": sync, "payload": events::bytes(&bytes), "text": text}),
        ),
    )
}

fn start(preamble: &[u8]) -> Vec<String> {
    vec!["start".into(), events::bytes(preamble)]
}

fn set(block: Block, lane: usize) -> String {
    match block.set(lane) {
        Some(set) => events::set(set),
        None => "bad ordered set".into(),
    }
}

/// `idle x5, error x3`.
fn codes(block: Block, lanes: std::ops::Range<usize>) -> String {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for lane in lanes {
        let name = match block.code(lane) {
            Some(Code::Idle) => "idle".into(),
            Some(Code::LowPowerIdle) => "low power idle".into(),
            Some(Code::Error) => "error".into(),
            Some(Code::Reserved(number)) => format!("reserved {number}"),
            None => format!("bad code {:02X}", block.payload >> (8 + 7 * lane) & 0x7F),
        };
        match runs.last_mut() {
            Some((known, count)) if *known == name => *count += 1,
            _ => runs.push((name, 1)),
        }
    }
    let runs = runs
        .into_iter()
        .map(|(name, count)| format!("{name} x{count}"));
    runs.collect::<Vec<_>>().join(", ")
}
