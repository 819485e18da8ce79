//! Bytes of a file, pipe, socket or terminal, until it ends or a signal asks to stop.

use crate::{clock, signal};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Timeout of a poll for bytes, ms, after which the reader checks whether to stop. A signal between
/// the check and the poll is noticed this much later.
const POLL_TIMEOUT_MS: i32 = 100;
/// After a signal: a writer that has sent nothing for this time has written all that it had, ms.
const QUIET_MS: i32 = 300;
/// After a signal: maximum total time that is spent waiting for a writer that continues, ns.
const DRAIN_TIMEOUT_NS: u64 = 1_000_000_000;
/// After a signal, the bytes that are taken from a writer that goes on: much more than a pipe holds, and
/// the buffers of the writer before it.
const REST: u64 = 16 << 20;

/// Result of a read. The end of the input differs from a stop before it: an item cut off at the end
/// is damaged, one cut off at a stop was still on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// Here it is.
    Item(T),
    /// The input has ended.
    End,
    /// A signal asked to stop before the input had ended.
    Stopped,
}

impl<T> Next<T> {
    /// What was given, if anything was.
    pub fn item(self) -> Option<T> {
        match self {
            Next::Item(item) => Some(item),
            Next::End | Next::Stopped => None,
        }
    }

    /// The same, with another item.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Next<U> {
        match self {
            Next::Item(item) => Next::Item(change(item)),
            Next::End => Next::End,
            Next::Stopped => Next::Stopped,
        }
    }
}

/// Something open for reading, of which a signal ends every wait.
///
/// After INT, TERM or HUP a regular file gives no more. What a writer has put into a pipe, FIFO or socket
/// by then, and what it still writes before it ends by the same signal, is read: until the writer has closed
/// it, or gives nothing for 300 ms, or goes on and on.
#[derive(Debug)]
pub struct Bytes {
    file: File,
    /// It has all it will ever have, so that nobody needs to be waited for.
    whole: bool,
    /// What was taken since the signal.
    rest: Option<Rest>,
}

#[derive(Debug, Default)]
struct Rest {
    bytes: u64,
    waited_ns: u64,
}

impl Bytes {
    /// Opens a file; `-` is standard input. A FIFO that has no writer yet does not keep the caller waiting: its
    /// first bytes do.
    ///
    /// # Errors
    /// When it cannot be opened, or is a directory.
    pub fn open(path: &Path) -> io::Result<Bytes> {
        if path.as_os_str() == "-" {
            let stdin = io::stdin().as_fd().try_clone_to_owned()?;
            return Bytes::from_file(File::from(stdin));
        }
        let fifo = std::fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo());
        let flags = if fifo { libc::O_NONBLOCK } else { 0 };
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        Bytes::from_file(file)
    }

    /// What an open file has from its place on.
    ///
    /// # Errors
    /// When it is a directory.
    pub fn from_file(file: File) -> io::Result<Bytes> {
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Bytes {
            whole: about.is_file() && !crate::file_system::is_served(&file),
            file,
            rest: None,
        })
    }

    /// Whether it is a regular file: it has all it will ever have.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether [`next`](Bytes::next) would return at once.
    ///
    /// # Errors
    /// Those of poll(2).
    pub fn ready(&self) -> io::Result<bool> {
        self.poll(0)
    }

    /// Reads once, and waits for that.
    ///
    /// # Errors
    /// Those of poll(2) and read(2).
    pub fn next(&mut self, buffer: &mut [u8]) -> io::Result<Next<usize>> {
        loop {
            let stopping = signal::stop_requested();
            match stopping {
                true if self.is_over()? => return Ok(Next::Stopped),
                true => {}
                false if self.poll(POLL_TIMEOUT_MS)? => {}
                false => continue,
            }
            match self.file.read(buffer) {
                // A writer that ends by the same signal may end in the middle of an item.
                Ok(0) if signal::stop_requested() => return Ok(Next::Stopped),
                Ok(0) => return Ok(Next::End),
                Ok(got) => {
                    if let Some(rest) = &mut self.rest {
                        rest.bytes += got as u64;
                    }
                    return Ok(Next::Item(got));
                }
                Err(error) => match error.kind() {
                    // Somebody else may have read what was there.
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => {}
                    _ => return Err(error),
                },
            }
        }
    }

    /// After a signal: whether nothing more is to be read.
    fn is_over(&mut self) -> io::Result<bool> {
        let rest = self.rest.get_or_insert_default();
        if self.whole || rest.bytes > REST || rest.waited_ns > DRAIN_TIMEOUT_NS {
            return Ok(true);
        }
        // What is there already takes no waiting, however long this process is kept from its turn.
        if self.poll(0)? {
            return Ok(false);
        }
        let begin = clock::now_ns();
        let came = self.poll(QUIET_MS)?;
        let waited = clock::now_ns().saturating_sub(begin);
        let rest = self.rest.get_or_insert_default();
        // Once it is over, it stays so, and nobody waits again.
        rest.waited_ns = match came {
            true => rest.waited_ns.saturating_add(waited),
            false => u64::MAX,
        };
        Ok(!came)
    }

    /// Waits until there is something to read, or the end.
    fn poll(&self, time_ms: i32) -> io::Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.file.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid pollfd.
        match unsafe { libc::poll(&mut poll, 1, time_ms) } {
            0 => Ok(false),
            1.. => Ok(true),
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
                error => Err(error),
            },
        }
    }
}

impl Read for Bytes {
    /// A stop is the error [`Stopped`](signal::Stopped).
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.next(buffer)? {
            Next::Item(got) => Ok(got),
            Next::End => Ok(0),
            Next::Stopped => Err(signal::Stopped.into()),
        }
    }
}

/// All of a text file; `-` is standard input. A signal ends the wait for it, as the error
/// [`Stopped`](signal::Stopped).
///
/// # Errors
/// When it cannot be opened or read, or is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    Bytes::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}
