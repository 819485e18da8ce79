//! Which kind of file system a path leads to.

use std::path::Path;

/// Whether a file is served by a program, such as a mounted port: it may keep its reader waiting, and
/// what is written to it is a departure.
pub fn is_fuse(path: &Path) -> bool {
    kind(path) == Some(libc::FUSE_SUPER_MAGIC)
}

/// The kind of file system that a path leads to, as statfs(2) numbers them.
pub fn kind(path: &Path) -> Option<libc::c_long> {
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
    // SAFETY: an all-zero statfs is a valid one, and `name` is a C string.
    unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        (libc::statfs(name.as_ptr(), &mut about) == 0).then_some(about.f_type)
    }
}
