//! Bytes of a file, pipe or terminal, decompressed if need be, and a look at the first of them.

use crate::progress::Reading;
use ::capture::file::{Bytes, Next};
use ::capture::signal::Stopped;
use anyhow::Context;
use packet::sniff::{CAPTURES, foreign, may_be_foreign};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// First bytes that tell what a file is.
const TELLING: usize = 4;

/// Where bytes come from, and whether some can be had without waiting.
pub trait Source {
    /// Whether [`next`](Source::next) would return at once.
    ///
    /// # Errors
    /// Those of poll(2).
    fn ready(&self) -> io::Result<bool>;

    /// Reads once, and waits for that: how many bytes came.
    ///
    /// # Errors
    /// Those of reading.
    fn next(&mut self, buffer: &mut [u8]) -> io::Result<Next<usize>>;
}

/// Reads once from `source` into `buffer`; how many bytes came. Calls `idle` before it waits.
///
/// # Errors
/// Those of the source, and of `idle`.
pub fn fill<R: Source>(
    source: &mut R,
    buffer: &mut [u8],
    idle: &mut dyn FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Next<usize>> {
    if !source.ready()? {
        idle()?;
    }
    Ok(source.next(buffer)?)
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text as it is, which may be lines.
    Text,
    /// Records, a capture, or anything compressed.
    Binary,
}

/// An open file, of which the first bytes have been looked at.
pub struct Stream {
    begin: Vec<u8>,
    given: usize,
    bytes: Bytes,
    reading: Option<Reading>,
}

impl Stream {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub fn open(path: &Path) -> anyhow::Result<Stream> {
        let bytes = Bytes::open(path).with_context(|| format!("cannot open {}", name(path)))?;
        let stream = Stream::over(bytes).with_context(|| format!("cannot read {}", name(path)))?;
        Ok(Stream {
            reading: Reading::of(path),
            ..stream
        })
    }

    /// What an open file has from its place on.
    ///
    /// # Errors
    /// Those of reading.
    pub fn from_file(file: File) -> io::Result<Stream> {
        Stream::over(Bytes::from_file(file)?)
    }

    /// Waits for the first bytes; there are fewer than [`TELLING`] only where no more come.
    fn over(mut bytes: Bytes) -> io::Result<Stream> {
        let mut begin = vec![0; TELLING];
        let mut len = 0;
        while len < TELLING
            && let Next::Item(got) = bytes.next(&mut begin[len..])?
        {
            len += got;
        }
        begin.truncate(len);
        Ok(Stream {
            begin,
            given: 0,
            bytes,
            reading: None,
        })
    }

    /// Whether it is a regular file: it has all it will ever have.
    pub fn is_whole(&self) -> bool {
        self.bytes.is_whole()
    }

    /// What it holds, told by its first bytes.
    pub fn content(&self) -> Content {
        let capture = |magic: &[u8; 4]| self.begin.starts_with(magic);
        match self.begin[..] {
            _ if CAPTURES.iter().any(capture) => Content::Binary,
            [0x28, 0xB5, 0x2F, 0xFD]
            | [0x50..=0x5F, 0x2A, 0x4D, 0x18]
            | [0x37, 0x76 | 0x77, ..]
            | [0x1F, 0x8B, ..] => Content::Binary,
            // The reader names a format that it does not read.
            _ if foreign(&self.begin).is_some() => Content::Binary,
            [_, _, _, _] if may_be_foreign(&self.begin) => Content::Binary,
            _ => Content::Text,
        }
    }

    /// Whether it may be objects of JSON: no line begins with a brace.
    pub fn is_json(&self) -> bool {
        self.begin.first() == Some(&b'{')
    }

    /// Whether it is compressed.
    fn compressed(&self) -> bool {
        matches!(
            self.begin[..],
            [0x1F, 0x8B, ..] | [0x28, 0xB5, 0x2F, 0xFD] | [0x50..=0x5F, 0x2A, 0x4D, 0x18]
        )
    }
}

impl Source for Stream {
    fn ready(&self) -> io::Result<bool> {
        Ok(self.given < self.begin.len() || self.bytes.ready()?)
    }

    fn next(&mut self, buffer: &mut [u8]) -> io::Result<Next<usize>> {
        let begin = &self.begin[self.given..];
        if begin.is_empty() {
            let next = self.bytes.next(buffer)?;
            if let (Some(reading), Next::Item(bytes)) = (&mut self.reading, &next) {
                reading.advance(*bytes as u64);
            }
            return Ok(next);
        }
        let n = begin.len().min(buffer.len());
        buffer[..n].copy_from_slice(&begin[..n]);
        self.given += n;
        Ok(Next::Item(n))
    }
}

/// A stream for decoders: it says [`WouldBlock`](io::ErrorKind::WouldBlock) once before it waits, so that its
/// reader can write what it has; and a stop is the error [`Stopped`].
///
/// A compressed one does not say the former: not every decoder goes on behind an error.
pub struct Pausing {
    stream: Stream,
    /// It has been said, or is not to be.
    said: bool,
}

impl Pausing {
    /// A stream as it is.
    pub fn new(stream: Stream) -> Pausing {
        let said = stream.compressed();
        Pausing { stream, said }
    }
}

impl Read for Pausing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.said && !self.stream.ready()? {
            self.said = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.said = self.stream.compressed();
        match self.stream.next(buffer)? {
            Next::Item(got) => Ok(got),
            Next::End => Ok(0),
            Next::Stopped => Err(Stopped.into()),
        }
    }
}

/// A path as messages name it.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".into()
    } else {
        path.to_string_lossy().into_owned()
    }
}
