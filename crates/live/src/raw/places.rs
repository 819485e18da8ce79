//! The places of a ring that the kernel fills: whose each one is, and what is in it. Over any memory, so that the logic can be run without a
//! kernel.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a place: a frame of the usual MTU, and what stands before it.
pub const PLACE: usize = 2048;

/// Places side by side in memory that somebody else fills. Each begins with its status.
pub struct Places {
    at: NonNull<u8>,
    count: usize,
}

// SAFETY: the memory belongs to this value alone; who fills it keeps to the protocol of the places' states.
unsafe impl Send for Places {}

impl Places {
    /// # Safety
    /// `at` leads to `count` times [`PLACE`] bytes, aligned to 4, that are valid as long as this value is, and that nobody in this process
    /// reads or writes but by it. Who fills a place does so while its status has no TP_STATUS_USER, and sets that last.
    pub unsafe fn new(at: NonNull<u8>, count: usize) -> Places {
        Places { at, count }
    }

    /// Where they begin.
    pub fn start(&self) -> NonNull<u8> {
        self.at
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    fn status(&self, place: usize) -> &AtomicU32 {
        assert!(place < self.count);
        // SAFETY: the place is within the memory, and its status is an aligned word of its own.
        unsafe { &*self.at.as_ptr().add(place * PLACE).cast() }
    }

    /// A place that has been filled, and how; `None` while it has not.
    pub fn take(&mut self, place: usize) -> Option<(u32, &mut [u8])> {
        let status = self.status(place).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: within the memory, and ours alone until its status is given back, which takes this value again.
        let bytes = unsafe {
            let start = self.at.as_ptr().add(place * PLACE);
            std::slice::from_raw_parts_mut(start, PLACE)
        };
        Some((status, bytes))
    }

    /// Gives a place back to be filled.
    pub fn give_back(&mut self, place: usize) {
        let kernel = libc::TP_STATUS_KERNEL;
        self.status(place).store(kernel, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a kernel does, by a thread.
    fn fill(at: NonNull<u8>, place: usize, value: u8) {
        // SAFETY: the test's memory is there longer than this thread, and a place without TP_STATUS_USER is this one's to fill.
        unsafe {
            let start = at.as_ptr().add(place * PLACE);
            let status = &*start.cast::<AtomicU32>();
            while status.load(Ordering::Acquire) != libc::TP_STATUS_KERNEL {
                std::thread::yield_now();
            }
            start.add(4).write_bytes(value, PLACE - 4);
            status.store(libc::TP_STATUS_USER, Ordering::Release);
        }
    }

    #[test]
    fn places_go_round_between_who_fills_and_who_reads() {
        const PLACES: usize = 3;
        const FRAMES: usize = 20;
        let mut memory = vec![0u64; PLACES * PLACE / 8];
        let at = NonNull::new(memory.as_mut_ptr()).unwrap().cast::<u8>();
        // SAFETY: the memory is valid to the end of the test, and touched by nobody but the two sides.
        let mut places = unsafe { Places::new(at, PLACES) };
        let start = at.as_ptr() as usize;
        let kernel = {
            struct Shared(NonNull<u8>);
            // SAFETY: as above.
            unsafe impl Send for Shared {}
            let shared = Shared(at);
            std::thread::spawn(move || {
                let shared = shared;
                (0..FRAMES).for_each(|frame| fill(shared.0, frame % PLACES, frame as u8));
            })
        };
        for frame in 0..FRAMES {
            let place = frame % PLACES;
            loop {
                if let Some((_, bytes)) = places.take(place) {
                    assert_eq!(bytes.as_ptr() as usize, start + place * PLACE);
                    assert!(bytes[4..].iter().all(|&byte| byte == frame as u8));
                    bytes[4] = 0xFF;
                    break;
                }
                std::thread::yield_now();
            }
            places.give_back(place);
        }
        kernel.join().unwrap();
        assert!((0..PLACES).all(|place| places.take(place).is_none()));
    }
}
