//! Bytes of a file, pipe or terminal, decompressed if need be, and a look at the first of them.

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

/// How long to wait for input before looking whether to stop.
const WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// First bytes that tell what a file is.
const TELLING: usize = 4;

/// Where bytes come from, and whether some can be had without waiting.
pub trait Source: Read {
    /// Whether [`read`](Read::read) would return at once; `wait` says to wait for that a short while.
    ///
    /// # Errors
    /// Those of poll(2).
    fn ready(&mut self, wait: bool) -> io::Result<bool>;
}

impl Source for File {
    fn ready(&mut self, wait: bool) -> io::Result<bool> {
        let fd = self.as_fd();
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        let now = Timespec::default();
        match poll(&mut fds, Some(if wait { &WAIT } else { &now })) {
            Ok(n) => Ok(n > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Reads once from `source` behind the first `filled` bytes of `buffer`; how many came, 0 at the end,
/// or `None` when somebody has asked to stop. Calls `idle` before it waits.
///
/// # Errors
/// Those of the source, and of `idle`.
pub fn fill<R: Source>(
    source: &mut R,
    buffer: &mut [u8],
    idle: &mut dyn FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Option<usize>> {
    loop {
        if !source.ready(false)? {
            idle()?;
            while !source.ready(true)? {
                if live::signal::stop_requested() {
                    return Ok(None);
                }
            }
        }
        if live::signal::stop_requested() {
            return Ok(None);
        }
        match source.read(buffer) {
            Ok(n) => return Ok(Some(n)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
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
    file: File,
}

impl Stream {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub fn open(path: &Path) -> anyhow::Result<Stream> {
        let place = || format!("cannot open {}", name(path));
        let file = if path == Path::new("-") {
            let stdin = io::stdin().as_fd().try_clone_to_owned();
            File::from(stdin.with_context(place)?)
        } else {
            File::open(path).with_context(place)?
        };
        Stream::from_file(file).with_context(|| format!("cannot read {}", name(path)))
    }

    /// What an open file has from its place on.
    ///
    /// # Errors
    /// Those of reading.
    pub fn from_file(mut file: File) -> io::Result<Stream> {
        Ok(Stream {
            begin: first_bytes(&mut file)?,
            given: 0,
            file,
        })
    }

    /// What it holds, told by its first bytes.
    pub fn content(&self) -> Content {
        match self.begin[..] {
            [0x0A, 0x0D, 0x0D, 0x0A]
            | [0xA1, 0xB2, 0xC3 | 0x3C, 0xD4 | 0x4D]
            | [0xD4 | 0x4D, 0xC3 | 0x3C, 0xB2, 0xA1]
            | [0x28, 0xB5, 0x2F, 0xFD]
            | [0x37, 0x76, ..]
            | [0x1F, 0x8B, ..] => Content::Binary,
            _ => Content::Text,
        }
    }

    /// Whether it is compressed.
    fn compressed(&self) -> bool {
        matches!(self.begin[..], [0x1F, 0x8B, ..] | [0x28, 0xB5, 0x2F, 0xFD])
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let begin = &self.begin[self.given..];
        if begin.is_empty() {
            return self.file.read(buffer);
        }
        let n = begin.len().min(buffer.len());
        buffer[..n].copy_from_slice(&begin[..n]);
        self.given += n;
        Ok(n)
    }
}

impl Source for Stream {
    fn ready(&mut self, wait: bool) -> io::Result<bool> {
        Ok(self.given < self.begin.len() || self.file.ready(wait)?)
    }
}

/// A stream that says [`WouldBlock`](io::ErrorKind::WouldBlock) once before it waits, so that its
/// reader can write what it has; and that ends when somebody asks to stop.
///
/// A compressed one does not say it: not every decoder goes on behind an error.
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
        while !self.stream.ready(self.said)? {
            if live::signal::stop_requested() {
                return Ok(0);
            }
            if !self.said {
                self.said = true;
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        self.said = self.stream.compressed();
        match live::signal::stop_requested() {
            true => Ok(0),
            false => self.stream.read(buffer),
        }
    }
}

/// Waits for the first bytes of a file; fewer than [`TELLING`] only if it has no more.
fn first_bytes(source: &mut impl Source) -> io::Result<Vec<u8>> {
    let mut begin = vec![0; TELLING];
    let mut len = 0;
    while len < TELLING && !live::signal::stop_requested() {
        if !source.ready(true)? {
            continue;
        }
        match source.read(&mut begin[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    begin.truncate(len);
    Ok(begin)
}

/// A path as messages name it.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".into()
    } else {
        path.display().to_string()
    }
}
