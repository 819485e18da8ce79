//! Standard output as `cat` and `grep` have it: blocks in a pipe, lines on a terminal, a reader
//! that goes away is a normal end, and an error says how much had been written.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

/// Bytes gathered before they are written, where nobody waits for the single line.
pub const BLOCK: usize = 256 * 1024;

/// Whoever read our output has closed it, as `head` does; the command ends, and all is well.
#[derive(Debug, thiserror::Error)]
#[error("the reader of standard output has gone")]
pub struct ReaderGone;

/// Output could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output after {written} bytes: {source}")]
pub struct WriteError {
    /// Bytes that were written before.
    written: u64,
    source: io::Error,
}

/// A buffer before standard output.
pub struct Stdout {
    file: File,
    buffer: Vec<u8>,
    /// Write whenever a whole packet is there.
    eager: bool,
    written: u64,
}

impl Stdout {
    /// Standard output: eager on a terminal.
    ///
    /// # Errors
    /// When it is closed.
    pub fn open() -> anyhow::Result<Stdout> {
        let stdout = io::stdout();
        Ok(Stdout {
            eager: stdout.is_terminal(),
            file: File::from(stdout.as_fd().try_clone_to_owned()?),
            buffer: Vec::with_capacity(BLOCK + BLOCK / 4),
            written: 0,
        })
    }

    /// Appends `bytes`, and writes if a block is full.
    ///
    /// # Errors
    /// [`ReaderGone`], or a [`WriteError`].
    pub fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.buffer.extend_from_slice(bytes);
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
        let mut rest = &self.buffer[..];
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(self.failed(io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    self.written += n as u64;
                    rest = &rest[n..];
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

    /// Writes what is left.
    ///
    /// # Errors
    /// [`ReaderGone`], or a [`WriteError`].
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.flush()
    }

    fn failed(&self, source: io::Error) -> anyhow::Error {
        WriteError {
            written: self.written,
            source,
        }
        .into()
    }
}
