//! Files that the nodes of a lab read whole.

use std::io::{self, Read};
use std::path::Path;

/// The longest text, bytes.
const LONGEST_TEXT: u64 = 64 << 20;

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
    Ok(String::from_utf8(bytes(path, LONGEST_TEXT)?)?)
}

/// A file's bytes, if there are not too many.
///
/// # Errors
/// When it cannot be read, or is too long.
pub(crate) fn bytes(path: &Path, longest: u64) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    live::file::Bytes::open(path)?
        .take(longest + 1)
        .read_to_end(&mut bytes)?;
    match bytes.len() as u64 > longest {
        true => Err(InputError::TooLong(longest)),
        false => Ok(bytes),
    }
}
