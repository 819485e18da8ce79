//! The page as memory.

use super::truncated;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Bytes of the file.
pub const SIZE: usize = truncated::SIZE;

/// The page's begin, as the module's documentation has it.
#[repr(C)]
pub struct Page {
    pub magic: AtomicU64,
    pub version: AtomicU64,
    pub counter: AtomicU64,
    pub writer: AtomicU64,
    pad: [AtomicU64; 4],
    pub sequence: AtomicU64,
    rest: [AtomicU64; 7],
    pub slots: [[AtomicU64; 8]; 2],
}

/// A file's first page, shared with all who have it mapped.
#[derive(Debug)]
pub struct Map(NonNull<Page>);

// SAFETY: all of a page is atomic, and the mapping belongs to no thread.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps a file of [`SIZE`] bytes.
    pub fn new(file: &File, writable: bool) -> io::Result<Map> {
        let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
        // SAFETY: a new mapping at an address of the kernel's choice; the descriptor is open.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                SIZE,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        truncated::watch(at as usize);
        NonNull::new(at.cast())
            .map(Map)
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl std::ops::Deref for Map {
    type Target = Page;

    #[inline]
    fn deref(&self) -> &Page {
        // SAFETY: the mapping is SIZE bytes long, which is more than a Page, aligned to a page of memory, and lives as long as this value;
        // where its file becomes shorter, zeros take its place.
        // Any bytes are a Page, and whoever changes them meanwhile does so in whole words.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        truncated::forget(self.0.as_ptr() as usize);
        // SAFETY: this is the mapping that was made, and nobody has a reference to it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), SIZE) };
    }
}
