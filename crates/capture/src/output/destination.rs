//! Where a file's bytes go until it is whole, and how it then gets its name.

use crate::signal;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum number of symbolic links that are followed from one name, the same as in the kernel.
const MAX_SYMLINKS: usize = 40;
/// Maximum length of a file name, bytes.
const MAX_NAME_LEN: usize = 255;
/// Names that are tried for a partial file.
const TRIES: u32 = 100;
/// Interval between two attempts to open a FIFO without a reader.
const FIFO_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The attempted operation, and the system's error.
pub type Fault = (&'static str, io::Error);

/// Where the bytes go.
#[derive(Debug)]
pub enum Destination {
    /// Into what is named itself.
    Itself,
    /// Into a partial file in the same folder.
    Beside {
        /// Its final name, with links followed.
        target: PathBuf,
        partial: PathBuf,
    },
    /// Where they belong, or given up.
    Done,
}

impl Destination {
    /// Opens what `path` names, or a new file beside it.
    pub fn open(path: &Path) -> Result<(File, Destination), Fault> {
        let plain = |error| ("", error);
        let target = match follow(path).map_err(plain)? {
            Named::Descriptor(file) => return Ok((file, Destination::Itself)),
            Named::Path(target) => target,
        };
        let old = match fs::metadata(&target) {
            Ok(old) => Some(old),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(plain(error)),
        };
        if let Some(old) = &old {
            let file = open_old(&target, old).map_err(plain)?;
            if !old.is_file() || crate::file_system::is_kernels(&target) {
                return Ok((file, Destination::Itself));
            }
            return match beside(&target, Some(old)) {
                Ok((file, partial)) => Ok((file, Destination::Beside { target, partial })),
                // Ports that `wire mount` serves look like regular files, in a folder where none can be made.
                Err(_) if crate::file_system::is_fuse(&target) => Ok((file, Destination::Itself)),
                Err(fault) => Err(fault),
            };
        }
        let (file, partial) = beside(&target, old.as_ref())?;
        Ok((file, Destination::Beside { target, partial }))
    }

    /// Gives the file its name. What is written as it is has it already.
    pub fn put(&mut self, file: &File) -> Result<(), Fault> {
        let Destination::Beside { target, partial } = self else {
            return Ok(());
        };
        match file.sync_all() {
            // Some file systems have no such thing.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOTSUP)) => {}
            Err(error) => return Err(("writing it to the disk", error)),
            Ok(()) => {}
        }
        fs::rename(&*partial, &*target).map_err(|error| ("giving it its name", error))?;
        // The file has its name in any case; this only makes it stay through a loss of power.
        let _ = File::open(folder_of(target)).and_then(|folder| folder.sync_all());
        *self = Destination::Done;
        Ok(())
    }

    /// Leaves the old file as it is, and the partial one if it is to be kept.
    pub fn leave(&mut self, keep: bool) {
        if let Destination::Beside { partial, .. } = self
            && !keep
        {
            // There is nothing in it, and nobody to tell.
            let _ = fs::remove_file(partial);
        }
        *self = Destination::Done;
    }
}

enum Named {
    Path(PathBuf),
    /// A descriptor of this process, such as /dev/stdout.
    Descriptor(File),
}

/// Follows symbolic links; the last of them may lead to a file that is not there yet.
fn follow(path: &Path) -> io::Result<Named> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_SYMLINKS {
        let Ok(link) = fs::read_link(&path) else {
            return Ok(Named::Path(path));
        };
        if let Some(number) = descriptor(&path) {
            // SAFETY: a plain system call; what it gives is nobody else's.
            let own = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
            if own < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: just made, and open.
            let own = unsafe { OwnedFd::from_raw_fd(own) };
            return Ok(Named::Descriptor(own.into()));
        }
        path = folder_of(&path).join(link);
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

/// The number of a descriptor of this process that a path names, as `/proc/self/fd/1` does.
fn descriptor(path: &Path) -> Option<i32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let folder = fs::canonicalize(folder_of(path)).ok()?;
    let own = Path::new("/proc").join(std::process::id().to_string());
    (folder.starts_with(own) && folder.ends_with("fd")).then_some(number)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Opens what is there for writing: to write to it, or to know that this is allowed.
fn open_old(path: &Path, old: &Metadata) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    if !old.file_type().is_fifo() {
        return options.open(path);
    }
    // A plain open would wait for a reader whatever signal comes.
    options.custom_flags(libc::O_NONBLOCK);
    loop {
        match options.open(path) {
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                if signal::stop_requested() {
                    return Err(io::Error::new(
                        io::ErrorKind::Interrupted,
                        "stopped while nobody read it",
                    ));
                }
                #[expect(
                    clippy::disallowed_methods,
                    reason = "nothing tells when a reader comes"
                )]
                std::thread::sleep(FIFO_RETRY_INTERVAL);
            }
            Err(error) => return Err(error),
            Ok(file) => {
                let number = std::os::fd::AsRawFd::as_raw_fd(&file);
                // SAFETY: a plain system call on a descriptor that is open.
                return match unsafe { libc::fcntl(number, libc::F_SETFL, 0) } {
                    0.. => Ok(file),
                    _ => Err(io::Error::last_os_error()),
                };
            }
        }
    }
}

/// Makes a new file beside `target`, of the same mode and owner as the old one.
fn beside(target: &Path, old: Option<&Metadata>) -> Result<(File, PathBuf), Fault> {
    let name = target.file_name().ok_or_else(|| {
        let why = "it names no file";
        ("", io::Error::new(io::ErrorKind::InvalidInput, why))
    })?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // The old one's mode comes behind its owner; until then it is nobody else's.
    options.mode(if old.is_some() { 0o600 } else { 0o666 });
    let mut last = None;
    for _ in 0..TRIES {
        let partial = target.with_file_name(partial_name(name));
        match options.open(&partial) {
            Ok(file) => {
                if let Some(old) = old {
                    adopt(&file, old);
                }
                return Ok((file, partial));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
            // Without an old file it is the same folder that the file itself would be in.
            Err(error) if old.is_none() => return Err(("", error)),
            Err(error) => return Err(("making a new file beside it", error)),
        }
    }
    let many = io::Error::from(io::ErrorKind::AlreadyExists);
    Err(("making a new file beside it", last.unwrap_or(many)))
}

/// `NAME.RANDOM.partial`; a name that would be too long is cut. No other process knows it beforehand.
fn partial_name(name: &OsStr) -> OsString {
    let ending = format!(".{:016x}.partial", crate::random::number());
    let name = name.as_bytes();
    let name = &name[..name.len().min(MAX_NAME_LEN - ending.len())];
    OsString::from_vec([name, ending.as_bytes()].concat())
}

/// Gives the new file the old one's owner, group and mode, as far as the system allows. Nobody gets rights to
/// it who had none.
fn adopt(file: &File, old: &Metadata) {
    let Ok(new) = file.metadata() else { return };
    let mut mode = old.mode() & 0o7777;
    if new.uid() != old.uid() && fchown(file, Some(old.uid()), None).is_err() {
        mode &= 0o1777;
    }
    if new.gid() != old.gid() && fchown(file, None, Some(old.gid())).is_err() {
        mode &= 0o1707;
    }
    let _ = file.set_permissions(fs::Permissions::from_mode(mode));
}
