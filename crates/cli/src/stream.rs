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

/// What packets are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text, a packet a line.
    Lines,
    /// Binary records.
    Records,
    /// pcap or pcapng.
    Capture,
}

/// An open file.
pub struct Stream {
    /// What was read to tell the format, and how much of it has been given on.
    begin: Vec<u8>,
    given: usize,
    rest: Rest,
    /// What its packets are written as.
    pub format: Format,
}

/// A file with its first bytes put back.
type Whole = io::Chain<io::Cursor<Vec<u8>>, File>;

/// Where the bytes behind the first ones come from.
enum Rest {
    Plain(File),
    Gzip(Box<flate2::read::MultiGzDecoder<Whole>>),
    Zstd(Box<zstd::Decoder<'static, io::BufReader<Whole>>>),
}

impl Stream {
    /// Opens a file, or standard input for `-`, and tells by its first bytes what it is.
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
        Stream::new(file).with_context(|| format!("cannot read {}", name(path)))
    }

    fn new(mut file: File) -> io::Result<Stream> {
        let begin = first_bytes(&mut file)?;
        let whole = |begin, file| io::Cursor::new(begin).chain(file);
        let mut rest = match begin[..] {
            [0x1F, 0x8B, ..] => {
                let decoder = flate2::read::MultiGzDecoder::new(whole(begin, file));
                Rest::Gzip(Box::new(decoder))
            }
            [0x28, 0xB5, 0x2F, 0xFD] => {
                let decoder = zstd::Decoder::new(whole(begin, file))?;
                Rest::Zstd(Box::new(decoder))
            }
            _ => return Ok(Stream::with(begin, Rest::Plain(file))),
        };
        let begin = first_bytes(&mut rest)?;
        Ok(Stream::with(begin, rest))
    }

    fn with(begin: Vec<u8>, rest: Rest) -> Stream {
        Stream {
            format: tell(&begin),
            begin,
            given: 0,
            rest,
        }
    }
}

impl Read for Rest {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Rest::Plain(file) => file.read(buffer),
            Rest::Gzip(decoder) => decoder.read(buffer),
            Rest::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

impl Source for Rest {
    fn ready(&mut self, wait: bool) -> io::Result<bool> {
        match self {
            Rest::Plain(file) => file.ready(wait),
            // What a decoder holds cannot be seen from here.
            Rest::Gzip(_) | Rest::Zstd(_) => Ok(true),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let begin = &self.begin[self.given..];
        if begin.is_empty() {
            return self.rest.read(buffer);
        }
        let n = begin.len().min(buffer.len());
        buffer[..n].copy_from_slice(&begin[..n]);
        self.given += n;
        Ok(n)
    }
}

impl Source for Stream {
    fn ready(&mut self, wait: bool) -> io::Result<bool> {
        Ok(self.given < self.begin.len() || self.rest.ready(wait)?)
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

/// What a file is that begins so.
fn tell(begin: &[u8]) -> Format {
    match *begin {
        [0x0A, 0x0D, 0x0D, 0x0A]
        | [0xA1, 0xB2, 0xC3 | 0x3C, 0xD4 | 0x4D]
        | [0xD4 | 0x4D, 0xC3 | 0x3C, 0xB2, 0xA1] => Format::Capture,
        [0x37, 0x76, ..] => Format::Records,
        _ => Format::Lines,
    }
}

/// A path as messages name it.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".into()
    } else {
        path.display().to_string()
    }
}
