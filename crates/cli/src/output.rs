//! Where commands write. Standard output as `cat` and `grep` have it: blocks in a pipe, lines on a terminal, a reader
//! that goes away is a normal end, and an error says how much had been written. Files as [`capture::output`] makes them:
//! whole under their name, or beside it.

use crate::progress;
use ::capture::output::{ApartError, Kept, OutputFile, apart, stdout_was_closed};
use packet::printable;
use rustix::pipe::fcntl_setpipe_size;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Bytes gathered before they are written, where nobody waits for the single line.
const BLOCK: usize = 256 * 1024;
/// The size that a pipe on standard output is asked to have; the system may refuse.
const PIPE: usize = 1024 * 1024;

/// When output is written.
#[derive(clap::Args, Default)]
pub struct Buffering {
    /// Write every packet at once, as on a terminal
    #[arg(long)]
    line_buffered: bool,
}

/// Whoever read our output has closed it, as `head` does; the command ends, and all is well.
#[derive(Debug, thiserror::Error)]
#[error("the reader of standard output has gone")]
pub struct ReaderGone;

/// Standard output could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output after {written} bytes")]
pub struct WriteError {
    /// Bytes that were written before.
    written: u64,
    source: io::Error,
}

/// A buffer before standard output, or before a file.
///
/// A file takes its place by [`finish`](Output::finish). Dropped before, for an error of the command, it stays beside its
/// name with all that it was given, and that is told.
pub struct Output {
    sink: Sink,
    buffer: Vec<u8>,
    /// Write whenever a whole packet is there.
    eager: bool,
    /// Somebody looks at it: nothing in it may act on the terminal.
    shown: bool,
    written: u64,
}

enum Sink {
    Standard(File),
    File(OutputFile),
    /// It has ended, well or not, and everything about that is told.
    Ended,
}

impl Output {
    /// Standard output: eager if asked to be, or on a terminal.
    ///
    /// # Errors
    /// When it is closed.
    pub fn open(buffering: &Buffering) -> io::Result<Output> {
        if stdout_was_closed() {
            return Err(io::Error::other("standard output is closed"));
        }
        let stdout = io::stdout();
        let file = File::from(stdout.as_fd().try_clone_to_owned()?);
        // Fails where it is no pipe, or over the user's limit: then it stays as it is.
        let _ = fcntl_setpipe_size(&file, PIPE);
        Ok(Output {
            eager: buffering.line_buffered || stdout.is_terminal(),
            shown: stdout.is_terminal(),
            sink: Sink::Standard(file),
            buffer: Vec::with_capacity(4 * BLOCK),
            written: 0,
        })
    }

    /// A file at `path`, which takes the place of an old one in the end; standard output for `-`. What is
    /// made from `inputs` has to be another file than each of them, and they have to be there.
    ///
    /// # Errors
    /// When an input cannot be opened or is the output, or the file cannot be made.
    pub fn create(
        path: &Path,
        inputs: &[PathBuf],
        buffering: &Buffering,
    ) -> anyhow::Result<Output> {
        apart(path, inputs.iter().map(PathBuf::as_path))?;
        if path == Path::new("-") {
            return Ok(Output::open(buffering)?);
        }
        let file = OutputFile::create(path)?;
        Ok(Output {
            eager: buffering.line_buffered,
            shown: file.is_terminal(),
            sink: Sink::File(file),
            buffer: Vec::with_capacity(4 * BLOCK),
            written: 0,
        })
    }

    /// Standard output for what is made from `inputs`, none of which it may be, as in `wire cat f >> f`. They need not be
    /// there yet.
    ///
    /// # Errors
    /// When it is one of them, or closed.
    pub fn reading(inputs: &[PathBuf], buffering: &Buffering) -> anyhow::Result<Output> {
        for input in inputs {
            match apart(Path::new("-"), [input.as_path()]) {
                Err(same @ ApartError::Same { .. }) => return Err(same.into()),
                Err(ApartError::Input(_)) | Ok(()) => {}
            }
        }
        Ok(Output::open(buffering)?)
    }

    /// Appends `bytes`, and writes if a block is full.
    ///
    /// # Errors
    /// [`ReaderGone`], or a [`WriteError`].
    pub fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.buffer.extend_from_slice(bytes);
        self.relieve()
    }

    /// Appends a report, for people or as JSON, whose names come from outside; no character of it acts on a terminal, though
    /// it came there by `tee` or a pager.
    ///
    /// # Errors
    /// As [`write`](Output::write).
    pub fn tell(&mut self, text: &str) -> anyhow::Result<()> {
        self.write(printable::lines(text).as_bytes())
    }

    /// Whether all has been written that was given.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The buffer, to append to; to be followed by [`relieve`](Output::relieve).
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes if there is a whole block, or if nothing is to wait.
    ///
    /// # Errors
    /// [`ReaderGone`], or a [`WriteError`].
    pub fn relieve(&mut self) -> anyhow::Result<()> {
        if self.eager || self.buffer.len() >= BLOCK {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what is in the buffer.
    ///
    /// # Errors
    /// [`ReaderGone`], or a [`WriteError`].
    pub fn flush(&mut self) -> anyhow::Result<()> {
        if self.shown {
            printable::terminal(&mut self.buffer);
        }
        self.put()
    }

    /// Clears the screen, where somebody looks at one.
    ///
    /// # Errors
    /// As [`flush`](Output::flush).
    pub fn clear(&mut self) -> anyhow::Result<()> {
        self.flush()?;
        if self.shown {
            self.buffer.extend_from_slice(b"\x1b[H\x1b[J");
        }
        self.put()
    }

    fn put(&mut self) -> anyhow::Result<()> {
        if self.shown && !self.buffer.is_empty() {
            progress::end();
        }
        let mut done = 0;
        while done < self.buffer.len() {
            let left = &self.buffer[done..];
            let wrote = match &mut self.sink {
                Sink::Standard(file) => file.write(left),
                Sink::File(file) => file.write(left),
                // What comes behind an error has been told to be lost.
                Sink::Ended => Ok(left.len()),
            };
            match wrote {
                Ok(0) => return Err(self.failed(io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    self.written += n as u64;
                    done += n;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Err(ReaderGone.into());
                }
                Err(source) => return Err(self.failed(source)),
            }
        }
        self.buffer.clear();
        Ok(())
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        match &self.sink {
            Sink::Standard(file) => file.is_terminal(),
            Sink::File(file) => file.is_terminal(),
            Sink::Ended => false,
        }
    }

    /// Writes what is left; a file takes its place.
    ///
    /// # Errors
    /// [`ReaderGone`], or a [`WriteError`].
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.flush()?;
        match std::mem::replace(&mut self.sink, Sink::Ended) {
            Sink::File(file) => Ok(file.commit()?),
            Sink::Standard(_) | Sink::Ended => Ok(()),
        }
    }

    fn failed(&mut self, source: io::Error) -> anyhow::Error {
        match std::mem::replace(&mut self.sink, Sink::Ended) {
            Sink::File(file) => file.fault(source).into(),
            Sink::Standard(_) | Sink::Ended => {
                let written = self.written;
                WriteError { written, source }.into()
            }
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // What was made before a command's error is for its reader all the same.
        match self.flush() {
            Err(error) if !error.is::<ReaderGone>() => return eprintln!("wire: {error:#}"),
            Err(_) | Ok(()) => {}
        }
        if let Sink::File(file) = &self.sink
            && let Some(partial) = file.partial()
        {
            eprintln!("wire: {}", Kept(file.path(), partial));
        }
    }
}

/// Writes a picture, in place of an old one. Folders that are missing are made.
///
/// # Errors
/// When it cannot be drawn or written.
pub fn picture(figure: &plot::Figure, path: &Path) -> anyhow::Result<()> {
    Ok(lab::write_figure(figure, path)?)
}
