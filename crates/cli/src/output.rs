//! Standard output as `cat` and `grep` have it: blocks in a pipe, lines on a terminal, a reader
//! that goes away is a normal end, and an error says how much had been written.

use anyhow::Context;
use rustix::pipe::fcntl_setpipe_size;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

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

/// Output could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {name} after {written} bytes")]
pub struct WriteError {
    name: String,
    /// Bytes that were written before.
    written: u64,
    source: io::Error,
}

/// A buffer before standard output, or before a file.
pub struct Output {
    name: String,
    file: File,
    buffer: Vec<u8>,
    /// Write whenever a whole packet is there.
    eager: bool,
    written: u64,
}

impl Output {
    /// Standard output: eager if asked to be, or on a terminal.
    ///
    /// # Errors
    /// When it is closed.
    pub fn open(buffering: &Buffering) -> io::Result<Output> {
        let stdout = io::stdout();
        let file = File::from(stdout.as_fd().try_clone_to_owned()?);
        // Fails where it is no pipe, or over the user's limit: then it stays as it is.
        let _ = fcntl_setpipe_size(&file, PIPE);
        Ok(Output {
            name: "standard output".into(),
            eager: buffering.line_buffered || stdout.is_terminal(),
            file,
            buffer: Vec::with_capacity(4 * BLOCK),
            written: 0,
        })
    }

    /// A new file at `path`, which takes the place of an old one; standard output for `-`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path, buffering: &Buffering) -> anyhow::Result<Output> {
        let output = Output::open(buffering)?;
        if path == Path::new("-") {
            return Ok(output);
        }
        let name = path.display().to_string();
        let file = File::create(path).with_context(|| format!("cannot create {name}"))?;
        Ok(Output {
            name,
            eager: buffering.line_buffered,
            file,
            ..output
        })
    }

    /// Appends `bytes`, and writes if a block is full.
    ///
    /// # Errors
    /// [`ReaderGone`], or a [`WriteError`].
    pub fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.buffer.extend_from_slice(bytes);
        self.relieve()
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
        let mut done = 0;
        while done < self.buffer.len() {
            match self.file.write(&self.buffer[done..]) {
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
        self.file.is_terminal()
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// [`ReaderGone`], or a [`WriteError`].
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.flush()
    }

    fn failed(&self, source: io::Error) -> anyhow::Error {
        WriteError {
            name: self.name.clone(),
            written: self.written,
            source,
        }
        .into()
    }
}
