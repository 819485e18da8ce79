//! Bytes of a file, pipe or terminal, decompressed as their first bytes ask for.

use super::bytes::Bytes;
use crate::signal::{self, Stopped};
use flate2::bufread::MultiGzDecoder;
use packet::sniff::{FOREIGN_HEAD, foreign, may_be_foreign};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, BufReader, Read};
use std::path::Path;

/// How compressed input is read from the system, bytes.
const BLOCK: usize = 256 << 10;
const GZIP: [u8; 2] = [0x1F, 0x8B];
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// A stream whose first bytes have been looked at and come again.
pub struct Again<R> {
    seen: Vec<u8>,
    given: usize,
    rest: R,
}

impl<R: Read> Again<R> {
    fn new(rest: R) -> Again<R> {
        Again {
            seen: Vec::new(),
            given: 0,
            rest,
        }
    }

    /// Reads up to `len` bytes that come again, as long as `wanted` says so of those seen so far.
    fn look(&mut self, len: usize, wanted: impl Fn(&[u8]) -> bool) -> io::Result<&[u8]> {
        debug_assert_eq!(self.given, self.seen.len());
        self.seen.clear();
        self.given = 0;
        while self.seen.len() < len && wanted(&self.seen) {
            let mut more = [0; 8];
            let room = (len - self.seen.len()).min(more.len());
            match self.rest.read(&mut more[..room]) {
                Ok(0) => break,
                Ok(got) => self.seen.extend_from_slice(&more[..got]),
                // It tells that it is about to wait. Nothing has been given yet that could go on meanwhile.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.seen)
    }
}

impl<R: Read> Read for Again<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let seen = &self.seen[self.given..];
        if seen.is_empty() {
            return self.rest.read(buffer);
        }
        let len = buffer.len().min(seen.len());
        buffer[..len].copy_from_slice(&seen[..len]);
        self.given += len;
        Ok(len)
    }
}

type Stream = Again<Box<dyn Read + Send>>;

/// Bytes after decompression.
pub enum Input {
    /// As they are.
    Plain(Stream),
    /// gzip, any number of members.
    Gzip(Box<MultiGzDecoder<BufReader<Stream>>>),
    /// zstd, any number of frames.
    Zstd(Zstd),
    /// A signal asked to stop before the first bytes had come.
    Stopped,
}

impl Input {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<Input> {
        Input::new(Box::new(Bytes::open(path)?))
    }

    /// Looks at the first bytes of a stream. Waits for no more of them than it takes.
    pub fn new(stream: Box<dyn Read + Send>) -> io::Result<Input> {
        match Input::told(stream) {
            Err(error) if signal::is_stop(&error) => Ok(Input::Stopped),
            told => told,
        }
    }

    fn told(stream: Box<dyn Read + Send>) -> io::Result<Input> {
        let mut stream = Again::new(stream);
        let may_become =
            |seen: &[u8], magic: &[u8]| seen.len() < magic.len() && magic.starts_with(seen);
        let seen = stream.look(FOREIGN_HEAD, |seen| {
            may_become(seen, &GZIP)
                || may_become(seen, &ZSTD)
                || may_be_foreign(seen)
                || may_skip(seen)
        })?;
        if let Some(foreign) = foreign(seen) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, foreign));
        }
        let gzip = seen.starts_with(&GZIP);
        let zstd = seen.starts_with(&ZSTD) || seen.len() >= ZSTD.len() && skips(seen);
        Ok(if zstd {
            let stream = BufReader::with_capacity(BLOCK, stream);
            Input::Zstd(Zstd::Between(Again::new(stream)))
        } else if gzip {
            let stream = BufReader::with_capacity(BLOCK, stream);
            Input::Gzip(Box::new(MultiGzDecoder::new(stream)))
        } else {
            Input::Plain(stream)
        })
    }
}

/// Whether the first bytes of a frame that is to be skipped, with which zstd may begin, are these.
fn skips(seen: &[u8]) -> bool {
    matches!(seen, [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..])
}

/// Whether they may become that.
fn may_skip(seen: &[u8]) -> bool {
    matches!(
        seen,
        [] | [0x50..=0x5F] | [0x50..=0x5F, 0x2A] | [0x50..=0x5F, 0x2A, 0x4D]
    )
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::Plain(stream) => stream.read(buffer),
            Input::Gzip(decoder) => decoder.read(buffer),
            Input::Zstd(decoder) => decoder.read(buffer),
            Input::Stopped => Err(Stopped.into()),
        }
    }
}

type Frames = Again<BufReader<Stream>>;

/// zstd frames one behind the other, skippable ones among them.
pub enum Zstd {
    /// Before a frame.
    Between(Frames),
    Inside(Box<StreamingDecoder<Frames, FrameDecoder>>),
    /// At the end, or behind an error.
    Done,
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(self, Zstd::Done) {
                Zstd::Done => return Ok(0),
                Zstd::Between(frames) => *self = begin(frames)?,
                Zstd::Inside(mut decoder) => match decoder.read(buffer)? {
                    0 => *self = Zstd::Between(decoder.into_inner()),
                    got => {
                        *self = Zstd::Inside(decoder);
                        return Ok(got);
                    }
                },
            }
        }
    }
}

/// Reads a frame's header, or skips a frame that is to be skipped (RFC 8878 section 3.1.2).
fn begin(mut frames: Frames) -> io::Result<Zstd> {
    let seen = frames.look(ZSTD.len(), |_| true)?;
    if seen.is_empty() {
        return Ok(Zstd::Done);
    }
    if skips(seen) {
        let mut header = [0; 8];
        frames.read_exact(&mut header)?;
        let len = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        let skipped = io::copy(&mut (&mut frames).take(len.into()), &mut io::sink())?;
        return match skipped == u64::from(len) {
            true => Ok(Zstd::Between(frames)),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        };
    }
    let decoder = StreamingDecoder::new(frames)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Zstd::Inside(Box::new(decoder)))
}
