//! Rings that a process and the kernel share: one side fills, the other empties, neither waits.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Memory that goes with this value.
pub struct Mapping {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to this value; who may write where is the rings' protocol.
unsafe impl Send for Mapping {}
// SAFETY: as above; shared parts are atomics, or belong to one half of the port.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps so many bytes: of a socket at an offset, or fresh ones.
    pub fn new(len: usize, socket: Option<(&OwnedFd, i64)>) -> io::Result<Mapping> {
        let (fd, offset, flags) = match socket {
            Some((fd, offset)) => (
                fd.as_raw_fd(),
                offset,
                libc::MAP_SHARED | libc::MAP_POPULATE,
            ),
            None => (-1, 0, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS),
        };
        // SAFETY: a new mapping, of a length that the caller has from the kernel.
        let at = unsafe {
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), len, rights, flags, fd, offset)
        };
        match NonNull::new(at.cast()) {
            Some(at) if at.as_ptr() as isize != -1 => Ok(Mapping { at, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Where it begins.
    pub fn start(&self) -> *mut u8 {
        self.at.as_ptr()
    }

    /// Its bytes.
    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
    }
}

/// Where the parts of a ring are in its mapping: struct xdp_ring_offset.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Offsets {
    pub producer: u64,
    pub consumer: u64,
    pub entries: u64,
    pub flags: u64,
}

/// A ring of entries, a power of two of them.
pub struct Ring<T> {
    mapping: Mapping,
    offsets: Offsets,
    size: u32,
    /// How far this side is.
    at: u32,
    kind: std::marker::PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// Maps a ring of a socket at one of the kernel's fixed offsets.
    pub fn map(socket: &OwnedFd, offset: i64, offsets: Offsets, size: u32) -> io::Result<Ring<T>> {
        let len = offsets.entries as usize + size as usize * size_of::<T>();
        Ok(Ring {
            mapping: Mapping::new(len, Some((socket, offset)))?,
            offsets,
            size,
            at: 0,
            kind: std::marker::PhantomData,
        })
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: within the mapping, aligned, by the kernel's own offsets.
        unsafe { &*self.mapping.start().add(offset as usize).cast() }
    }

    fn entry(&self, index: u32) -> *mut T {
        let place = index & (self.size - 1);
        // SAFETY: within the mapping, which has room for `size` entries.
        unsafe {
            let entries = self.mapping.start().add(self.offsets.entries as usize);
            entries.cast::<T>().add(place as usize)
        }
    }

    /// Whether the kernel wants a call before it goes on. To be asked behind [`publish`](Ring::publish).
    pub fn needs_wakeup(&self) -> bool {
        // A driver says so before it looks at the ring for the last time; so it sees what was published, or is seen here.
        fence(Ordering::SeqCst);
        self.word(self.offsets.flags).load(Ordering::Relaxed) & 1 != 0
    }

    /// How many entries this side may put in, as the producer.
    pub fn room(&self) -> u32 {
        let consumed = self.word(self.offsets.consumer).load(Ordering::Acquire);
        // A kernel that has consumed more than there was leaves no room, and no number that is none.
        self.size.saturating_sub(self.at.wrapping_sub(consumed))
    }

    /// Puts an entry in; there is [room](Ring::room). The kernel sees it at the next
    /// [`publish`](Ring::publish).
    pub fn put(&mut self, entry: T) {
        debug_assert!(self.room() > 0, "an entry that is not consumed yet");
        // SAFETY: the place is ours until it is published.
        unsafe { self.entry(self.at).write(entry) };
        self.at = self.at.wrapping_add(1);
    }

    /// Shows the kernel what was put in.
    pub fn publish(&self) {
        self.word(self.offsets.producer)
            .store(self.at, Ordering::Release);
    }

    /// Takes an entry out, as the consumer. Its place goes back at the next [`release`](Ring::release).
    pub fn take(&mut self) -> Option<T> {
        let produced = self.word(self.offsets.producer).load(Ordering::Acquire);
        if produced == self.at {
            return None;
        }
        // SAFETY: the kernel has published the entry and does not touch it until it is released.
        let entry = unsafe { self.entry(self.at).read() };
        self.at = self.at.wrapping_add(1);
        Some(entry)
    }

    /// Gives the places of what was taken back to the kernel.
    pub fn release(&self) {
        self.word(self.offsets.consumer)
            .store(self.at, Ordering::Release);
    }
}

/// What a test does that stands in for the kernel.
#[cfg(test)]
impl<T: Copy> Ring<T> {
    /// A ring of which nobody else knows.
    pub fn fake(size: u32) -> Ring<T> {
        let offsets = Offsets {
            producer: 0,
            consumer: 64,
            flags: 128,
            entries: 192,
        };
        let mapping = Mapping::new(192 + size as usize * size_of::<T>(), None);
        Ring {
            mapping: mapping.expect("memory for a ring"),
            offsets,
            size,
            at: 0,
            kind: std::marker::PhantomData,
        }
    }

    /// Takes out all that this side has put in.
    pub fn consume(&self) -> Vec<T> {
        let from = self.word(self.offsets.consumer).load(Ordering::Acquire);
        let to = self.word(self.offsets.producer).load(Ordering::Acquire);
        let count = to.wrapping_sub(from);
        // SAFETY: these entries were published.
        let read = |index| unsafe { self.entry(from.wrapping_add(index)).read() };
        let taken = (0..count).map(read).collect();
        self.word(self.offsets.consumer)
            .store(to, Ordering::Release);
        taken
    }

    /// Puts in what this side is to take out.
    pub fn produce(&self, entries: &[T]) {
        let mut at = self.word(self.offsets.producer).load(Ordering::Acquire);
        for &entry in entries {
            // SAFETY: this side has not seen the entry yet.
            unsafe { self.entry(at).write(entry) };
            at = at.wrapping_add(1);
        }
        self.word(self.offsets.producer)
            .store(at, Ordering::Release);
    }

    /// Says whether a call is wanted.
    pub fn want_wakeup(&self, wanted: bool) {
        self.word(self.offsets.flags)
            .store(wanted.into(), Ordering::Release);
    }
}
