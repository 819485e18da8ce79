//! A descriptor that others can make readable.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Wakes a thread that polls.
pub struct Wake(OwnedFd);

impl Wake {
    /// Nothing has happened yet.
    pub fn new() -> io::Result<Wake> {
        // SAFETY: a plain system call; the result is checked before it is owned.
        unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            match fd {
                0.. => Ok(Wake(OwnedFd::from_raw_fd(fd))),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Wakes.
    pub fn call(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the buffer and its length are valid. A full counter is readable all the same.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Takes all calls so far.
    pub fn take(&self) {
        let mut count = [0u8; 8];
        // SAFETY: the buffer and its length are valid; with nothing to take the call fails.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

impl AsRawFd for Wake {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
