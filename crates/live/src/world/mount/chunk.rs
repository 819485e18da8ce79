//! A piece of a stream of packets: one thread appends, any number read what is there, without a copy.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes of a chunk. A packet is never split over two.
pub const SIZE: usize = 1 << 20;

/// Bytes that grow at their end and never change once they are there.
pub struct Chunk {
    bytes: Box<[UnsafeCell<u8>]>,
    /// How many of `bytes` are there.
    len: AtomicUsize,
    /// How many packets these are.
    packets: AtomicU64,
    /// Its place among the stream's chunks.
    pub index: u64,
    /// The stream's packets before this chunk.
    pub first: u64,
}

// SAFETY: bytes below `len` are only ever read once `len` was stored with release order; those at
// and above it are touched by `append` alone, whose caller sees to it that there is one at a time.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// An empty chunk.
    pub fn new(index: u64, first: u64) -> Chunk {
        let mut bytes = Vec::with_capacity(SIZE);
        bytes.resize_with(SIZE, || UnsafeCell::new(0));
        Chunk {
            bytes: bytes.into_boxed_slice(),
            len: AtomicUsize::new(0),
            packets: AtomicU64::new(0),
            index,
            first,
        }
    }

    /// Empties a chunk that nobody else holds, for another place in the stream.
    pub fn reset(&mut self, index: u64, first: u64) {
        self.index = index;
        self.first = first;
        *self.len.get_mut() = 0;
        *self.packets.get_mut() = 0;
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        let len = self.len.load(Ordering::Acquire);
        // SAFETY: `append` wrote these `len` bytes before it stored `len`, and nobody writes below
        // `len` again; UnsafeCell<u8> has the layout of u8.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), len) }
    }

    /// The number in the stream of the packet after the last one here.
    pub fn end(&self) -> u64 {
        self.first + self.packets.load(Ordering::Acquire)
    }

    /// Appends whole packets; says whether there was room.
    ///
    /// # Safety
    /// No other call of `append` on this chunk may run at the same time.
    pub unsafe fn append(&self, bytes: &[u8], packets: u64) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        let Some(place) = self.bytes.get(len..len + bytes.len()) else {
            return false;
        };
        // SAFETY: the place is inside the chunk, above `len`, where only this call writes and nobody
        // reads before `len` is stored below; the source is the caller's and lies elsewhere.
        unsafe {
            let place = UnsafeCell::raw_get(place.as_ptr());
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
        self.packets.fetch_add(packets, Ordering::Release);
        self.len.store(len + bytes.len(), Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays_while_more_is_appended() {
        let chunk = Chunk::new(3, 10);
        // SAFETY: one thread.
        unsafe {
            assert!(chunk.append(b"one\n", 1));
            let before = chunk.bytes();
            assert!(chunk.append(b"two\nthree\n", 2));
            assert_eq!(before, b"one\n");
        }
        assert_eq!(chunk.bytes(), b"one\ntwo\nthree\n");
        assert_eq!(chunk.end(), 13);
    }

    #[test]
    fn a_full_chunk_takes_nothing_in_part() {
        let chunk = Chunk::new(0, 0);
        // SAFETY: one thread.
        unsafe {
            assert!(chunk.append(&vec![1; SIZE - 1], 1));
            assert!(!chunk.append(b"ab", 1));
            assert!(chunk.append(b"a", 1));
        }
        assert_eq!((chunk.bytes().len(), chunk.end()), (SIZE, 2));
    }

    #[test]
    fn a_reader_in_another_thread_sees_only_whole_appends() {
        let chunk = Chunk::new(0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..10_000u32 {
                    // SAFETY: this thread is the only one that appends.
                    unsafe { chunk.append(&[n as u8; 64], 1) };
                }
            });
            let mut seen = 0;
            while seen < 10_000 * 64 {
                let bytes = chunk.bytes();
                assert_eq!(bytes.len() % 64, 0);
                for (n, packet) in bytes.chunks(64).enumerate().skip(seen / 64) {
                    assert_eq!(packet, [n as u8; 64]);
                }
                seen = bytes.len();
            }
        });
    }
}
