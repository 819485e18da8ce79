//! Files that the nodes of a lab read whole. A lab names them, so that they are regular files.

use ::capture::file::{MAX_TEXT, open_named};
use std::io::{self, Read};
use std::path::Path;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// It is longer than so many bytes.
    #[error("longer than {0} bytes")]
    TooLong(u64),
    /// It is no text.
    #[error(transparent)]
    NotText(#[from] std::string::FromUtf8Error),
}

/// A file's text, if it is not too long.
///
/// # Errors
/// When it cannot be read, is too long, or is not UTF-8.
pub(crate) fn text(path: &Path) -> Result<String, InputError> {
    Ok(String::from_utf8(bytes(path, MAX_TEXT)?)?)
}

/// The text of a file that the user names, which may be a pipe.
///
/// # Errors
/// Those of [`text`].
pub(crate) fn text_of_user(path: &Path) -> Result<String, InputError> {
    let file = ::capture::file::Bytes::open(path)?;
    Ok(String::from_utf8(read(file, MAX_TEXT)?)?)
}

/// A file's bytes, if there are not too many.
///
/// # Errors
/// When it cannot be read, or is too long.
pub(crate) fn bytes(path: &Path, longest: u64) -> Result<Vec<u8>, InputError> {
    read(open_named(path)?, longest)
}

fn read(file: impl Read, longest: u64) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    file.take(longest + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > longest {
        true => Err(InputError::TooLong(longest)),
        false => Ok(bytes),
    }
}
