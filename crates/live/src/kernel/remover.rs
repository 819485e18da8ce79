//! A process that removes files once this one has ended, with rights that this one has given up.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The other process. It removes the files when this value is dropped, and when this process ends
/// in any other way, such as by SIGKILL.
#[derive(Debug)]
pub struct Remover {
    /// The other process reads the end of this pipe.
    pipe: Option<OwnedFd>,
    process: libc::pid_t,
}

/// A file to remove, as long as it is the same one.
struct Entry {
    folder: OwnedFd,
    name: CString,
    device: u64,
    inode: u64,
}

impl Entry {
    fn new(path: &Path) -> io::Result<Entry> {
        let found = std::fs::symlink_metadata(path)?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_DIRECTORY);
        let name = path
            .file_name()
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(Entry {
            folder: options.open(folder)?.into(),
            name: CString::new(name.as_bytes())?,
            device: found.dev(),
            inode: found.ino(),
        })
    }

    /// Allocates nothing.
    fn remove(&self) {
        let folder = self.folder.as_raw_fd();
        // SAFETY: plain system calls; zero is valid for each field of the structure, and the name ends with a zero.
        unsafe {
            let mut found: libc::stat = std::mem::zeroed();
            let flags = libc::AT_SYMLINK_NOFOLLOW;
            let result = libc::fstatat(folder, self.name.as_ptr(), &mut found, flags);
            // Another process may have a file of this name by now.
            if result == 0 && (found.st_dev, found.st_ino) == (self.device, self.inode) {
                libc::unlinkat(folder, self.name.as_ptr(), 0);
            }
        }
    }
}

impl Remover {
    /// Starts the process, which first calls `restrict`. The function must not allocate: other threads of this process
    /// may have held locks of the allocator.
    ///
    /// # Errors
    /// When one of the files is not there, or the system has no room for a process.
    pub fn start(paths: &[&Path], restrict: impl FnOnce()) -> io::Result<Remover> {
        let entries = paths.iter().map(|path| Entry::new(path));
        let entries: Vec<Entry> = entries.collect::<io::Result<_>>()?;
        let mut ends = [0; 2];
        // SAFETY: the array has room for both descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both are open, and nobody else's.
        let [read, write] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        let folders = entries.iter().map(|entry| entry.folder.as_raw_fd());
        let mut kept: Vec<RawFd> = folders.chain([read.as_raw_fd()]).collect();
        kept.sort_unstable();
        // SAFETY: the child makes system calls only, and ends without returning.
        match unsafe { libc::fork() } {
            ..0 => Err(io::Error::last_os_error()),
            0 => {
                detach(&kept);
                restrict();
                wait_for_end(read.as_raw_fd());
                for entry in &entries {
                    entry.remove();
                }
                // SAFETY: ends the process; nothing of the parent is flushed or dropped.
                unsafe { libc::_exit(0) }
            }
            process => Ok(Remover {
                pipe: Some(write),
                process,
            }),
        }
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.pipe = None;
        // SAFETY: a plain system call; the process is this one's child.
        unsafe { libc::waitpid(self.process, std::ptr::null_mut(), 0) };
    }
}

/// Leaves the terminal, ignores its signals, and closes all descriptors but those of `kept`, which are sorted.
fn detach(kept: &[RawFd]) {
    // SAFETY: plain system calls.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"wire-remover".as_ptr());
        let mut next: libc::c_uint = 0;
        for &number in kept {
            let number = number as libc::c_uint;
            if number > next {
                libc::syscall(libc::SYS_close_range, next, number - 1, 0);
            }
            next = number + 1;
        }
        libc::syscall(libc::SYS_close_range, next, libc::c_uint::MAX, 0);
    }
}

/// Returns when all writing ends of the pipe are closed.
fn wait_for_end(pipe: RawFd) {
    let mut byte = 0u8;
    loop {
        // SAFETY: there is room for the byte.
        let read = unsafe { libc::read(pipe, (&raw mut byte).cast(), 1) };
        let interrupted = || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        if read == 0 || read < 0 && !interrupted() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_removed_at_the_end_unless_others_took_their_names() {
        let folder = std::env::temp_dir().join(format!("wire-remover-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let paths = ["mine", "taken", "stays"].map(|name| folder.join(name));
        for path in &paths {
            std::fs::write(path, "x").unwrap();
        }
        let remover = Remover::start(&[&paths[0], &paths[1]], || {}).unwrap();
        std::fs::rename(&paths[2], &paths[1]).unwrap();
        assert!(paths[0].exists());
        drop(remover);
        assert_eq!(
            paths.each_ref().map(|path| path.exists()),
            [false, true, false]
        );
        assert!(Remover::start(&[&paths[0]], || {}).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
