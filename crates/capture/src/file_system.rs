//! The kind of file system that a file is on, as far as it matters to readers and writers. Only Linux tells by number.

use std::fs::File;
use std::path::Path;

/// Whether a program serves the file at a path, such as a mounted port: it may keep its reader waiting, and
/// what is written to it is a departure.
pub fn is_fuse(path: &Path) -> bool {
    magic::of_path(path).is_some_and(magic::is_fuse)
}

/// The same of an open file, whatever it says of itself.
pub(crate) fn is_served(file: &File) -> bool {
    magic::of_file(file).is_some_and(magic::is_fuse)
}

/// Whether the kernel makes up the file at a path, so that there is nothing to replace.
pub fn is_kernels(path: &Path) -> bool {
    magic::of_path(path).is_some_and(magic::is_kernels)
}

/// The numbers of statfs(2).
#[cfg(target_os = "linux")]
mod magic {
    use libc::{DEBUGFS_MAGIC, FUSE_SUPER_MAGIC, PROC_SUPER_MAGIC, SYSFS_MAGIC, TRACEFS_MAGIC};
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::path::Path;

    pub fn of_path(path: &Path) -> Option<libc::c_long> {
        let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
        // SAFETY: an all-zero statfs is a valid one, and `name` is a C string.
        unsafe {
            let mut about: libc::statfs = std::mem::zeroed();
            (libc::statfs(name.as_ptr(), &mut about) == 0).then_some(about.f_type)
        }
    }

    pub fn of_file(file: &File) -> Option<libc::c_long> {
        // SAFETY: an all-zero statfs is a valid one, and the descriptor is open.
        unsafe {
            let mut about: libc::statfs = std::mem::zeroed();
            (libc::fstatfs(file.as_raw_fd(), &mut about) == 0).then_some(about.f_type)
        }
    }

    pub fn is_fuse(kind: libc::c_long) -> bool {
        kind == FUSE_SUPER_MAGIC
    }

    pub fn is_kernels(kind: libc::c_long) -> bool {
        matches!(
            kind,
            PROC_SUPER_MAGIC | SYSFS_MAGIC | DEBUGFS_MAGIC | TRACEFS_MAGIC
        )
    }
}

/// Elsewhere nothing is known.
#[cfg(not(target_os = "linux"))]
mod magic {
    use std::fs::File;
    use std::path::Path;

    pub fn of_path(_: &Path) -> Option<()> {
        None
    }

    pub fn of_file(_: &File) -> Option<()> {
        None
    }

    pub fn is_fuse((): ()) -> bool {
        false
    }

    pub fn is_kernels((): ()) -> bool {
        false
    }
}
