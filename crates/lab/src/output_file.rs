//! A file that is written in large pieces while a run goes, and tells of its first error in the end.

use crate::error::{LabError, folder_for};
use ::capture::output::{OutputError, OutputFile};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes gathered before they are written.
const BLOCK: usize = 1 << 18;

/// A file being written. After the first error nothing more is written, and the error is kept for the end.
pub(crate) struct BufferedFile {
    path: PathBuf,
    /// Until it has ended.
    file: Option<OutputFile>,
    pub buffer: Vec<u8>,
    failed: Option<OutputError>,
}

impl BufferedFile {
    /// Begins a file, and makes its folder where that is missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: PathBuf) -> Result<BufferedFile, LabError> {
        folder_for(&path)?;
        Ok(BufferedFile {
            file: Some(OutputFile::create(&path)?),
            path,
            buffer: Vec::with_capacity(BLOCK + BLOCK / 4),
            failed: None,
        })
    }

    /// Writes if there is a whole block.
    pub fn relieve(&mut self) {
        if self.buffer.len() >= BLOCK {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if let (Some(file), None) = (&mut self.file, &self.failed) {
            let written = file.write_all(&self.buffer);
            self.failed = written.map_err(|error| file.fault(error)).err();
        }
        self.buffer.clear();
    }

    /// Writes what is left, gives the file its place, and tells where that is.
    ///
    /// # Errors
    /// The first error there was.
    pub fn finish(&mut self) -> Result<PathBuf, OutputError> {
        self.flush();
        match (self.failed.take(), self.file.take()) {
            (Some(error), _) => Err(error),
            (None, Some(file)) => file.commit().map(|()| self.path.clone()),
            (None, None) => Ok(self.path.clone()),
        }
    }

    /// Writes what is left, and leaves the file beside its place; tells where, if anything is in it.
    pub fn give_up(&mut self) -> Option<PathBuf> {
        self.flush();
        let file = self.file.take()?;
        file.partial().map(Path::to_path_buf)
    }
}
