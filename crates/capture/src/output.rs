//! Files that are written: whole under their name, or not at all.
//!
//! Bytes go into a new file beside the one that is named, `NAME.RANDOM.partial`. When all of them are there,
//! [`OutputFile::commit`] writes them to the disk and gives the file its name, in one step: whoever opens the
//! name finds the old file or the new one, whole. When that goes wrong, the old file stands as it was, and
//! what was written stays in the partial file, so that nothing is lost that was accepted; a partial file
//! without a byte is removed.
//!
//! A symbolic link is followed: the file it names is replaced, the link stays. The new file has the mode of
//! the old one, and its owner and group where the system allows that; other hard links keep the old content.
//! What is no regular file is written as it is: a FIFO, a device, a terminal, `/dev/stdout`, a file of /proc.
//!
//! ```no_run
//! use std::io::Write;
//!
//! let mut file = capture::output::OutputFile::create("trace.pcapng".as_ref())?;
//! file.write_all(b"...")?;
//! file.commit()?; // Without this the old trace.pcapng stands.
//! capture::output::replace("plot.svg".as_ref(), b"<svg/>")?; // All at once.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apart;
mod closed;
mod destination;

pub use apart::{ApartError, apart};
pub use closed::stdout_was_closed;

use destination::Destination;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file of this content, in place of an old one. Nothing is left beside it when that goes wrong.
///
/// # Errors
/// When any step of it fails; the old file stands.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    // A signal that ends the process comes when the partial file is gone. At a FIFO, which may wait for ever, it comes at once.
    let is_file = path.metadata().map_or(true, |found| found.is_file());
    let _held = is_file.then(crate::signal::Held::new);
    let mut file = OutputFile::create(path)?;
    let written = file.write_all(bytes).map_err(|source| file.fault(source));
    match written.and_then(|()| file.put()) {
        Ok(()) => Ok(()),
        Err(error) => {
            file.discard();
            Err(OutputError {
                kept: None,
                ..error
            })
        }
    }
}

/// A file being written, to take its place in the end.
#[derive(Debug)]
pub struct OutputFile {
    /// As the caller named it.
    path: PathBuf,
    file: File,
    destination: Destination,
    written: u64,
}

/// Why a file could not be written. The old one of its name stands as it was.
#[derive(Debug, thiserror::Error)]
pub struct OutputError {
    /// The file, as the caller named it.
    pub path: PathBuf,
    /// What was tried; empty for opening it.
    doing: &'static str,
    /// Bytes that were written before; `None` where the file could not even be opened.
    pub written: Option<u64>,
    /// Where these are, if they are anywhere.
    pub kept: Option<PathBuf>,
    /// What the system said.
    pub source: io::Error,
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.path.display();
        write!(f, "cannot write {name}")?;
        if let Some(written) = self.written {
            write!(f, " after {written} bytes")?;
        }
        if !self.doing.is_empty() {
            write!(f, ": {}", self.doing)?;
        }
        write!(f, ": {}", self.source)?;
        match &self.kept {
            Some(kept) => write!(f, "; {}", Kept(&self.path, kept)),
            None => Ok(()),
        }
    }
}

/// Says where the bytes are of a file that did not take its place.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a>(pub &'a Path, pub &'a Path);

impl fmt::Display for Kept<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, kept) = (self.0.display(), self.1.display());
        write!(f, "what was written is in {kept}; {path} was not touched")
    }
}

impl OutputFile {
    /// Begins a file. What is no regular file is opened as it is; a FIFO waits for its reader, until somebody
    /// [asks to stop](crate::signal).
    ///
    /// # Errors
    /// When the name is a directory, the file must not be written, or none can be made beside it.
    pub fn create(path: &Path) -> Result<OutputFile, OutputError> {
        let opened = Destination::open(path);
        let (file, destination) = opened.map_err(|(doing, source)| OutputError {
            path: path.into(),
            doing,
            written: None,
            kept: None,
            source,
        })?;
        Ok(OutputFile {
            path: path.into(),
            file,
            destination,
            written: 0,
        })
    }

    /// The file, as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        io::IsTerminal::is_terminal(&self.file)
    }

    /// Where the bytes are until the file has its place; `None` when it is written as it is, and when there
    /// are none.
    pub fn partial(&self) -> Option<&Path> {
        match &self.destination {
            Destination::Beside { partial, .. } if self.written > 0 => Some(partial),
            _ => None,
        }
    }

    /// The same as an error of writing this file.
    pub fn fault(&self, source: io::Error) -> OutputError {
        self.failed("", source)
    }

    /// Everything is written: the file takes its place, and is on the disk.
    ///
    /// # Errors
    /// When the disk does not take it, or the name cannot be given. Then the old file stands, and the partial
    /// one stays.
    pub fn commit(mut self) -> Result<(), OutputError> {
        self.put()
    }

    fn put(&mut self) -> Result<(), OutputError> {
        self.destination
            .put(&self.file)
            .map_err(|(doing, source)| self.failed(doing, source))
    }

    /// Removes the partial file.
    fn discard(&mut self) {
        self.written = 0;
        self.destination.leave(false);
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> OutputError {
        OutputError {
            path: self.path.clone(),
            doing,
            written: Some(self.written),
            kept: self.partial().map(Path::to_path_buf),
            source,
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        self.destination.leave(self.written > 0);
    }
}

#[cfg(test)]
mod tests;
