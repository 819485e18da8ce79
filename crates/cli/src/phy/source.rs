//! Streams out of files and pipes: files with an index, and raw bits in any order.

use super::order::Order;
use crate::complaints::Complaints;
use crate::stream::{self, Stream, fill};
use ::capture::file::Next;
use ::capture::signal::Stopped;
use anyhow::{Context, bail, ensure};
use phy::Item;
use phy::file::{Entry, Feed, Header, MAGIC, Reader, Segment, Step, TRAILER, last_index};
use phy::lock::Lock;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes that are asked for at a time.
const READ: usize = 256 << 10;
/// Bytes of raw bits by which their order is told.
const TELLING: usize = 16 << 10;

/// Where a stream comes from.
#[derive(clap::Args)]
pub struct Input {
    /// The stream, `-` for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The order of raw bits; without it, the one in which blocks are found
    #[arg(long, value_name = "ORDER")]
    bits: Option<Order>,
    /// Raw bits are inverted
    #[arg(long)]
    invert: bool,
    /// Begin at this bit of a file with an index, or at the segment that has it
    #[arg(long, value_name = "BIT")]
    from: Option<u64>,
}

/// Part of a stream.
pub enum Part<'a> {
    /// Of a file.
    Segment(Segment<'a>),
    /// Raw: bit i is bit i % 64 of word i / 64.
    Words(&'a [u64]),
    /// Raw: the last bits.
    Bits(u64, u32),
}

/// What is done before somebody has to be waited for.
pub type Idle<'a> = &'a mut dyn FnMut() -> anyhow::Result<()>;

/// An open stream.
pub struct Source {
    name: String,
    stream: Stream,
    /// What was read; the part before `at` is done with.
    window: Vec<u8>,
    at: usize,
    ended: bool,
    /// A signal asked to stop before the end.
    stopped: bool,
    complaints: Complaints,
    kind: Kind,
    words: Vec<u64>,
    /// The stream's bit at which it begins.
    pub first: u64,
    /// What a file says of its stream; of raw bits, what is usual.
    pub header: Header,
}

enum Kind {
    File(Reader),
    Raw {
        order: Order,
        invert: bool,
        /// Digits that make no whole word yet.
        held: u64,
        count: u32,
    },
}

impl Input {
    /// The bit at which to begin.
    pub fn from(&self) -> u64 {
        self.from.unwrap_or(0)
    }

    /// What it is read from.
    pub fn files(&self) -> &[PathBuf] {
        std::slice::from_ref(&self.file)
    }

    /// Opens it.
    ///
    /// # Errors
    /// When it cannot be read, or is no stream.
    pub fn open(&self, complaints: &Complaints) -> anyhow::Result<Source> {
        let mut source = Source {
            name: stream::name(&self.file),
            stream: Stream::open(&self.file)?,
            window: Vec::new(),
            at: 0,
            ended: false,
            stopped: false,
            complaints: complaints.clone(),
            kind: Kind::File(Reader::default()),
            words: Vec::new(),
            first: 0,
            header: Header::default(),
        };
        source.wait_for(MAGIC.len())?;
        if self.bits.is_none() && !self.invert && source.window.starts_with(&MAGIC) {
            source.header()?;
            if let Some(bit) = self.from {
                source.seek(&self.file, bit)?;
            }
            return Ok(source);
        }
        ensure!(
            self.from.is_none(),
            "--from needs a file with an index, which {} is not; `wire phy lock -o FILE` makes one of raw bits",
            source.name
        );
        source.wait_for(TELLING)?;
        let order = match self.bits {
            Some(order) => order,
            None => tell(&source.window[..source.window.len().min(TELLING)]),
        };
        source.kind = Kind::Raw {
            order,
            invert: self.invert,
            held: 0,
            count: 0,
        };
        Ok(source)
    }
}

/// Tells a receiver that no more comes. At a stop it gives the frame that is whole, if its last block was the
/// last that came, and drops one that is not.
pub fn finish(feed: &mut Feed, stopped: bool, each: &mut impl FnMut(u64, Item<'_>)) {
    feed.finish(&mut |base, item| {
        let whole = matches!(&item, Item::Frame(frame) if frame.verdict == phy::Verdict::Good);
        if whole || !stopped {
            each(base, item);
        }
    });
}

/// Gives a part to a receiver.
pub fn push(feed: &mut Feed, part: &Part<'_>, each: &mut impl FnMut(u64, Item<'_>)) {
    match part {
        Part::Segment(segment) => feed.segment(segment, each),
        Part::Words(words) => feed.words(words, each),
        Part::Bits(word, count) => feed.bits(*word, *count, each),
    }
}

impl Source {
    /// Whether it is a file with segments, rather than raw bits.
    pub fn is_file(&self) -> bool {
        matches!(self.kind, Kind::File(_))
    }

    /// As messages name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next part; what is not whole at a stop is dropped. Calls `idle` before it waits.
    ///
    /// # Errors
    /// When nothing more can be read, and those of `idle`; what is damaged is told and passed over, if
    /// complaints are not strict.
    pub fn next(&mut self, idle: Idle<'_>) -> anyhow::Result<Next<Part<'_>>> {
        match self.kind {
            Kind::File(_) => self.segment(idle),
            Kind::Raw { order, invert, .. } => self.raw(order, invert, idle),
        }
    }

    /// Waits for so many bytes that tell what it is, or for its end.
    fn wait_for(&mut self, bytes: usize) -> anyhow::Result<()> {
        while self.window.len() < bytes && !self.ended {
            self.more(&mut || Ok(()))?;
            if self.stopped {
                return Err(Stopped.into());
            }
        }
        Ok(())
    }

    fn more(&mut self, idle: Idle<'_>) -> anyhow::Result<()> {
        self.window.drain(..std::mem::take(&mut self.at));
        let have = self.window.len();
        self.window.resize(have + READ, 0);
        let read = fill(&mut self.stream, &mut self.window[have..], idle);
        let got = read.as_ref().ok().and_then(|read| read.item());
        self.window.truncate(have + got.unwrap_or(0));
        match read.with_context(|| format!("cannot read {}", self.name))? {
            Next::Item(_) => {}
            Next::End => self.ended = true,
            Next::Stopped => {
                self.complaints.stopped();
                self.stopped = true;
            }
        }
        Ok(())
    }

    fn header(&mut self) -> anyhow::Result<()> {
        let Kind::File(reader) = &mut self.kind else {
            return Ok(());
        };
        // The reader is done with the header before any more is read.
        let mut first = reader.clone();
        loop {
            let step = first.next(&self.window, self.ended);
            match step.with_context(|| self.name.clone())? {
                Step::Header { used, header } => {
                    self.at = used;
                    self.header = header;
                    self.kind = Kind::File(first);
                    return Ok(());
                }
                _ if self.stopped => return Err(Stopped.into()),
                _ => self.more(&mut || Ok(()))?,
            }
        }
    }

    /// Goes to the segment with this bit, by the index.
    fn seek(&mut self, path: &Path, bit: u64) -> anyhow::Result<()> {
        let entry = find(path, bit).with_context(|| {
            format!(
                "cannot go to bit {bit} of {}; without --from it is read from its beginning",
                self.name
            )
        })?;
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(entry.offset))?;
        self.stream = Stream::from_file(file)?;
        self.window.clear();
        (self.at, self.ended, self.first) = (0, false, entry.first);
        self.kind = Kind::File(Reader::at(entry.offset));
        Ok(())
    }

    fn segment(&mut self, idle: Idle<'_>) -> anyhow::Result<Next<Part<'_>>> {
        loop {
            let Kind::File(reader) = &mut self.kind else {
                return Ok(Next::End);
            };
            // Borrowed only where it is given, since more may have to be read.
            let step = reader.next(&self.window[self.at..], self.ended);
            let step = step.with_context(|| self.name.clone())?;
            let used = step.used();
            let (from, found) = (self.at, matches!(step, Step::Segment { .. }));
            if let Step::Damaged { offset, reason, .. } = step {
                let place = format!("{}: byte {offset}", self.name);
                self.complaints
                    .bad(place, format_args!("a segment was passed over: {reason}"))?;
            }
            match used {
                Some(used) => self.at += used,
                None if self.ended => return Ok(Next::End),
                None if self.stopped => return Ok(Next::Stopped),
                None => {
                    self.more(idle)?;
                    continue;
                }
            }
            if found {
                // Looked at again: its check costs little beside what is done with it.
                return Ok(match segment_at(&self.window[from..self.at]) {
                    Some(segment) => Next::Item(Part::Segment(segment)),
                    None => Next::End,
                });
            }
        }
    }

    fn raw(
        &mut self,
        order: Order,
        invert: bool,
        idle: Idle<'_>,
    ) -> anyhow::Result<Next<Part<'_>>> {
        let wanted = if order == Order::Text { 1 } else { 8 };
        while self.window.len() - self.at < wanted && !self.ended {
            if self.stopped {
                return Ok(Next::Stopped);
            }
            self.more(idle)?;
        }
        let Kind::Raw { held, count, .. } = &mut self.kind else {
            return Ok(Next::End);
        };
        let turn = if invert { u64::MAX } else { 0 };
        let input = &self.window[self.at..];
        self.words.clear();
        if order == Order::Text {
            for (at, byte) in (self.at..).zip(input) {
                match byte {
                    b'0' | b'1' => {
                        *held |= u64::from(byte & 1) << *count;
                        *count += 1;
                    }
                    b' ' | b'\t' | b'\r' | b'\n' | b'_' => {}
                    other => bail!(
                        "{}: a byte {other:02X} among the digits 0 and 1, at byte {at} of what was read last; --bits lsb or msb takes raw bytes",
                        self.name
                    ),
                }
                if *count == 64 {
                    self.words.push(*held ^ turn);
                    (*held, *count) = (0, 0);
                }
            }
            self.at = self.window.len();
            if self.words.is_empty() && self.ended {
                let rest = (*count > 0).then_some(Part::Bits(*held ^ turn, *count));
                (*held, *count) = (0, 0);
                return Ok(rest.map_or(Next::End, Next::Item));
            }
            return Ok(Next::Item(Part::Words(&self.words)));
        }
        let word = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u64::from(order.byte(byte)))
                ^ turn
        };
        let whole = input.chunks_exact(8);
        let rest = whole.remainder();
        self.words.extend(whole.map(word));
        self.at += 8 * self.words.len();
        if !self.words.is_empty() {
            return Ok(Next::Item(Part::Words(&self.words)));
        }
        if rest.is_empty() {
            return Ok(Next::End);
        }
        self.at += rest.len();
        Ok(Next::Item(Part::Bits(word(rest), 8 * rest.len() as u32)))
    }
}

/// The segment that these bytes are.
fn segment_at(bytes: &[u8]) -> Option<Segment<'_>> {
    match Reader::at(0).next(bytes, true) {
        Ok(Step::Segment { segment, .. }) => Some(segment),
        _ => None,
    }
}

/// The entry of the segment that has a bit of a file, or of the last one.
fn find(path: &Path, bit: u64) -> anyhow::Result<Entry> {
    let mut file = File::open(path)?;
    let mut trailer = [0; TRAILER];
    file.seek(SeekFrom::End(-(TRAILER as i64)))
        .context("the file cannot be searched")?;
    file.read_exact(&mut trailer)?;
    let mut place =
        last_index(&trailer).context("the file has no index, because its writing was cut short")?;
    let mut best = None;
    while place != 0 {
        file.seek(SeekFrom::Start(place))?;
        let mut part = Vec::new();
        (&mut file).take(READ as u64).read_to_end(&mut part)?;
        let Ok(Step::Index {
            previous, entries, ..
        }) = Reader::at(place).next(&part, true)
        else {
            bail!("its index is damaged at byte {place}");
        };
        // Each part is before the one that led to it: this ends.
        ensure!(previous < place, "its index is damaged at byte {place}");
        let before = entries.partition_point(|entry| entry.first <= bit);
        if let Some(entry) = entries[..before].last() {
            return Ok(*entry);
        }
        best = entries.first().copied().or(best);
        place = previous;
    }
    best.context("the file has no segments")
}

/// The order of raw bits that begin like this.
fn tell(begin: &[u8]) -> Order {
    let digit = |byte: &u8| matches!(byte, b'0' | b'1' | b' ' | b'\t' | b'\r' | b'\n' | b'_');
    if !begin.is_empty() && begin.iter().all(digit) {
        return Order::Text;
    }
    match [Order::Lsb, Order::Msb].map(|order| locks(begin, order)) {
        [false, true] => Order::Msb,
        _ => Order::Lsb,
    }
}

/// Whether blocks are found in these bytes.
fn locks(bytes: &[u8], order: Order) -> bool {
    let bit = |at: usize| order.byte(bytes[at / 8]) >> (at % 8) & 1;
    let (mut lock, mut at) = (Lock::new(), 0);
    while at + 1 < 8 * bytes.len() && !lock.is_locked() {
        let slip = lock.header(bit(at) != bit(at + 1));
        at += if slip { 1 } else { phy::file::BLOCK as usize };
    }
    lock.is_locked()
}
