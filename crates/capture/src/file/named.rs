//! Files that another file names: an `#include`, a program or a trace of a lab.
//!
//! The author of a file is not trusted, and the user has not seen the name: a device, a FIFO or a folder in its place is refused,
//! and so is a file that is too long. What the user names on the command line may be anything that can be read: a FIFO,
//! `/dev/stdin`, a shell's `<(command)`.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The longest text that another file may name, in bytes.
pub const MAX_TEXT: u64 = 64 << 20;

/// Opens a regular file that another file names.
///
/// # Errors
/// When it cannot be opened, or is not a regular file.
pub fn open_named(path: &Path) -> io::Result<File> {
    // Without waiting for the writer of a FIFO, and without becoming a terminal's process.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "not a regular file: files may only name regular files",
        )),
    }
}

/// Bytes of a regular file that another file names, if there are at most `limit` of them.
///
/// # Errors
/// Those of [`open_named`]; when it cannot be read, or is longer.
pub fn bytes_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Files of /proc have no length before they are read.
    open_named(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("longer than {limit} bytes"),
        )),
        false => Ok(bytes),
    }
}

/// Text of a regular file that another file names, of at most [`MAX_TEXT`] bytes.
///
/// # Errors
/// Those of [`bytes_named`]; when it is not UTF-8.
pub fn text_named(path: &Path) -> io::Result<String> {
    let bytes = bytes_named(path, MAX_TEXT)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn regular_files_are_read_and_nothing_else_is_waited_for() {
        let folder = std::env::temp_dir().join(format!("wl-named-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, link, fifo) = (folder.join("a"), folder.join("b"), folder.join("c"));
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        for path in [&file, &link] {
            assert_eq!(text_named(path).unwrap(), "text");
        }
        for path in [
            &fifo,
            &folder,
            Path::new("/dev/zero"),
            Path::new("/dev/tty"),
        ] {
            let error = text_named(path).unwrap_err().to_string();
            let no_terminal = path.ends_with("tty") && error.contains("os error 6");
            assert!(error.contains("regular file") || no_terminal, "{error}");
        }
        assert!(bytes_named(&file, 4).is_ok());
        let error = bytes_named(&file, 3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        std::fs::write(&file, [0xFF]).unwrap();
        assert_eq!(
            text_named(&file).unwrap_err().kind(),
            ErrorKind::InvalidData
        );
        let missing = text_named(&folder.join("d")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
