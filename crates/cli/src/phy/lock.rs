//! `wire phy lock`: where blocks are found in a stream, and lost.

use super::events;
use super::source::{self, Input, Part, Source, push};
use crate::Verdict;
use crate::complaints::Strictness;
use crate::output::{Buffering, Output};
use ::capture::file::Next;
use confine::Permissions;
use phy::file::{Feed, Recorder, Run, Segment, Writer};
use phy::{Event, Item};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Say where a stream locks, after how many blocks, and where it is lost
///
/// Lock is had behind 64 good sync headers in a row and lost by 16 bad ones among 64; 16 bad ones
/// within 125 us are hi_ber (IEEE 802.3 figures 49-14 and 49-15). The exit code is 1 if there is no
/// lock at the end.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire gen --count 9 | wire phy encode --skew 17 --raw msb | wire phy lock")]
pub struct Lock {
    #[command(flatten)]
    input: Input,
    /// Write the stream to a file, aligned, idles counted, with an index
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// One JSON object for each change, and one in the end
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    strictness: Strictness,
}

/// What was seen so far.
#[derive(Default)]
struct Summary {
    /// The first block of the last lock, while it is held; when it was told.
    locked: Option<(u64, u64)>,
    locks: u64,
    losses: u64,
    high: u64,
    bad_headers: u64,
    frames: u64,
    bad_frames: u64,
}

impl Lock {
    /// Reads the stream to its end.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let complaints = self.strictness.complaints();
        let mut source = self.input.open(&complaints)?;
        let mut out = Output::open(&Buffering::default())?;
        let mut copy = match &self.output {
            Some(path) => Some(Copy::create(path, self.input.files(), &source)?),
            None => None,
        };
        confine::reader(Permissions {
            writes: self.output.is_some(),
            ..Permissions::default()
        })?;
        let mut feed = Feed::at(source.first);
        let mut summary = Summary::default();
        let mut bits = source.first;
        let mut stopped = false;
        let result = loop {
            let part = match source.next(&mut || out.flush()) {
                Ok(Next::Item(part)) => part,
                Ok(ended) => {
                    stopped = matches!(ended, Next::Stopped);
                    break Ok(());
                }
                Err(error) => break Err(error),
            };
            if let Some(copy) = &mut copy {
                copy.push(&part)?;
            }
            bits = match &part {
                Part::Segment(segment) => segment.first() + segment.bits(),
                Part::Words(words) => bits + 64 * words.len() as u64,
                Part::Bits(_, count) => bits + u64::from(*count),
            };
            let text = out.buffer();
            push(&mut feed, &part, &mut |base, item| {
                summary.item(base, item, self.json, text);
            });
            out.relieve()?;
        };
        let locked = feed.receiver().is_locked();
        let text = out.buffer();
        source::finish(&mut feed, stopped, &mut |base, item| {
            summary.item(base, item, self.json, text);
        });
        summary.end(bits - source.first, locked, self.json, text);
        out.finish()?;
        if let Some(copy) = copy {
            let out = copy.end();
            if result.is_ok() {
                out.finish()?;
            }
        }
        let verdict = complaints.finish();
        result?;
        Ok(verdict.max(Verdict::if_good(locked)))
    }
}

impl Summary {
    fn item(&mut self, base: u64, item: Item<'_>, as_json: bool, out: &mut Vec<u8>) {
        let (stamp, event) = match item {
            Item::Frame(frame) => {
                match frame.verdict {
                    phy::Verdict::Good => self.frames += 1,
                    _ => self.bad_frames += 1,
                }
                return;
            }
            Item::Event(stamp, event) => (base + stamp.0, event),
        };
        let (name, _) = events::event(event);
        let (mut object, text);
        match event {
            Event::Lock => {
                self.locks += 1;
                let blocks = u64::from(phy::lock::Lock::HEADERS);
                // The stamp is that of the block whose header made the lock.
                let first = stamp - (blocks - 1) * phy::file::BLOCK;
                let told = stamp + phy::file::BLOCK;
                self.locked = Some((first, told));
                object = json!({"bit": told, "first_block": first, "alignment": first % 66});
                text = format!(
                    "bit {told}: lock after {blocks} blocks, the first at bit {first} ({} modulo 66)",
                    first % 66
                );
            }
            Event::Loss => {
                self.losses += 1;
                let held = self
                    .locked
                    .take()
                    .map_or(0, |(_, told)| stamp.saturating_sub(told) / 66);
                object = json!({"bit": stamp, "blocks": held});
                text = format!("bit {stamp}: lock lost, {held} blocks behind it");
            }
            Event::HighErrorRate(high) => {
                self.high += u64::from(high);
                object = json!({"bit": stamp});
                text = match high {
                    true => format!("bit {stamp}: hi_ber, 16 bad headers within 125 us"),
                    false => format!("bit {stamp}: hi_ber is over"),
                };
            }
            Event::BadHeader => {
                self.bad_headers += 1;
                return;
            }
            _ => return,
        }
        if as_json {
            object = with_type(name, object);
            out.extend_from_slice(format!("{object}\n").as_bytes());
        } else {
            out.extend_from_slice(text.as_bytes());
            out.push(b'\n');
        }
    }

    fn end(&self, bits: u64, locked: bool, as_json: bool, out: &mut Vec<u8>) {
        let Summary {
            locks,
            losses,
            high,
            bad_headers,
            frames,
            bad_frames,
            ..
        } = self;
        if as_json {
            let object = json!({
                "bits": bits,
                "locked": locked,
                "locks": locks,
                "losses": losses,
                "hi_ber": high,
                "bad_headers": bad_headers,
                "frames": frames,
                "bad_frames": bad_frames,
            });
            out.extend_from_slice(format!("{}\n", with_type("lock-summary", object)).as_bytes());
            return;
        }
        let state = match (locked, locks) {
            (true, _) => "locked at the end",
            (false, 0) => "never locked",
            (false, _) => "not locked at the end",
        };
        let text = format!(
            "{state}: {bits} bits, locked {locks} times, lost {losses}, hi_ber {high}; {bad_headers} bad headers, \
             {frames} good frames, {bad_frames} bad\n"
        );
        out.extend_from_slice(text.as_bytes());
    }
}

/// An object with the schema and its type in front.
pub fn with_type(name: &str, object: serde_json::Value) -> serde_json::Value {
    let mut all = serde_json::Map::new();
    all.insert("schema".into(), packet::json::schema("phy").into());
    all.insert("type".into(), name.into());
    if let serde_json::Value::Object(fields) = object {
        all.extend(fields);
    }
    serde_json::Value::Object(all)
}

/// The stream as a file.
struct Copy {
    out: Output,
    form: Form,
}

enum Form {
    /// Raw bits, in which blocks have to be found.
    Raw(Box<Recorder>),
    /// A file again, with a new index.
    File(Box<Writer>),
}

impl Copy {
    fn create(path: &Path, inputs: &[PathBuf], source: &Source) -> anyhow::Result<Copy> {
        let mut out = Output::create(path, inputs, &Buffering::default())?;
        let writer = Writer::begin(&source.header, out.buffer());
        let form = match source.is_file() {
            true => Form::File(Box::new(writer)),
            false => Form::Raw(Box::new(Recorder::new(writer))),
        };
        Ok(Copy { out, form })
    }

    fn push(&mut self, part: &Part<'_>) -> anyhow::Result<()> {
        let out = self.out.buffer();
        match (&mut self.form, part) {
            (Form::Raw(recorder), Part::Words(words)) => {
                words.iter().for_each(|&word| recorder.push(word, 64, out));
            }
            (Form::Raw(recorder), Part::Bits(word, count)) => recorder.push(*word, *count, out),
            (Form::File(writer), Part::Segment(segment)) => copy(segment, writer, out),
            // A source gives either raw bits or segments.
            _ => {}
        }
        self.out.relieve()
    }

    /// Writes the index; the file is still to be finished.
    fn end(mut self) -> Output {
        match self.form {
            Form::Raw(recorder) => recorder.finish(self.out.buffer()),
            Form::File(writer) => writer.finish(self.out.buffer()),
        };
        self.out
    }
}

fn copy(segment: &Segment<'_>, writer: &mut Writer, out: &mut Vec<u8>) {
    match *segment {
        Segment::Bits { bits, content, .. } => {
            let mut left = bits;
            for word in content.as_chunks::<8>().0 {
                writer.bits(u64::from_le_bytes(*word), left.min(64) as u32, out);
                left = left.saturating_sub(64);
            }
        }
        Segment::Blocks { state, .. } => {
            if state != writer.state() {
                writer.set_state(state, out);
            }
            for run in segment.runs() {
                match run {
                    Run::Idles(count) => writer.idles(count, out),
                    Run::Blocks(blocks) => blocks
                        .iter()
                        .for_each(|(header, payload)| writer.block(header, payload, out)),
                }
            }
        }
    }
}
