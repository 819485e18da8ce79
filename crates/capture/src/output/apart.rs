//! Whether what is read and what is written are the same file.

use crate::file::FileError;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Why a command does not begin.
#[derive(Debug, thiserror::Error)]
pub enum ApartError {
    /// What is to be read cannot be.
    #[error(transparent)]
    Input(#[from] FileError),
    /// It would be written while it is read.
    #[error("{output} is the same file as {input}, which is read; give the output another name")]
    Same {
        /// What is written.
        output: String,
        /// What is read.
        input: String,
    },
}

/// Sees to it that every input is there, and that none of them is the file that is to be written, by whatever
/// name. `-` is standard input, and standard output.
///
/// Devices, terminals and pipes may well be both. A FIFO is not opened, since that would wait for its writer.
///
/// # Errors
/// The first input that cannot be opened, or is the output.
pub fn apart<'a>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), ApartError> {
    let standard = |path: &Path| path.as_os_str() == "-";
    let written = match standard(output) {
        true => about(&io::stdout()).ok(),
        // One that cannot be looked at will not be opened either.
        false => fs::metadata(output).ok(),
    };
    for input in inputs {
        let read = match standard(input) {
            true => about(&io::stdin()),
            false => look(input),
        };
        let name = |path: &Path, standard_name: &str| match standard(path) {
            true => standard_name.to_owned(),
            false => path.display().to_string(),
        };
        let read = read.map_err(|source| FileError::Open {
            name: name(input, "standard input"),
            source,
        })?;
        if written.as_ref().is_some_and(|written| same(&read, written)) {
            return Err(ApartError::Same {
                output: name(output, "standard output"),
                input: name(input, "standard input"),
            });
        }
    }
    Ok(())
}

fn about(stream: &impl AsFd) -> io::Result<Metadata> {
    File::from(stream.as_fd().try_clone_to_owned()?).metadata()
}

/// What is known of a file that can be opened.
fn look(path: &Path) -> io::Result<Metadata> {
    match fs::metadata(path)? {
        about if about.is_file() => File::open(path)?.metadata(),
        about => Ok(about),
    }
}

fn same(read: &Metadata, written: &Metadata) -> bool {
    let storage = |about: &Metadata| about.is_file() || about.file_type().is_block_device();
    storage(read) && (read.dev(), read.ino()) == (written.dev(), written.ino())
}
