//! The slots of a ring that the kernel fills: whose each one is, and what is in it. Over any memory, so that the logic can be run without a
//! kernel.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a slot: a frame of the usual MTU, and what stands before it.
pub const SLOT: usize = 2048;

/// Slots side by side in memory that somebody else fills. Each begins with its status.
pub struct Slots {
    at: NonNull<u8>,
    count: usize,
}

// SAFETY: the memory belongs to this value alone; who fills it keeps to the protocol of the slots' states.
unsafe impl Send for Slots {}

impl Slots {
    /// # Safety
    /// `at` leads to `count` times [`SLOT`] bytes, aligned to 4, that are valid as long as this value is, and that nobody in this process
    /// reads or writes but by it. Who fills a slot does so while its status has no TP_STATUS_USER, and sets that last.
    pub unsafe fn new(at: NonNull<u8>, count: usize) -> Slots {
        Slots { at, count }
    }

    /// Where they begin.
    pub fn start(&self) -> NonNull<u8> {
        self.at
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    fn status(&self, slot: usize) -> &AtomicU32 {
        assert!(slot < self.count);
        // SAFETY: the slot is within the memory, and its status is an aligned word of its own.
        unsafe { &*self.at.as_ptr().add(slot * SLOT).cast() }
    }

    /// A slot that has been filled, and how; `None` while it has not.
    pub fn take(&mut self, slot: usize) -> Option<(u32, &mut [u8])> {
        let status = self.status(slot).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: within the memory, and ours alone until its status is given back, which takes this value again.
        let bytes = unsafe {
            let start = self.at.as_ptr().add(slot * SLOT);
            std::slice::from_raw_parts_mut(start, SLOT)
        };
        Some((status, bytes))
    }

    /// Gives a slot back to be filled.
    pub fn give_back(&mut self, slot: usize) {
        let kernel = libc::TP_STATUS_KERNEL;
        self.status(slot).store(kernel, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a kernel does, by a thread.
    fn fill(at: NonNull<u8>, slot: usize, value: u8) {
        // SAFETY: the test's memory is there longer than this thread, and a slot without TP_STATUS_USER is this one's to fill.
        unsafe {
            let start = at.as_ptr().add(slot * SLOT);
            let status = &*start.cast::<AtomicU32>();
            while status.load(Ordering::Acquire) != libc::TP_STATUS_KERNEL {
                std::thread::yield_now();
            }
            start.add(4).write_bytes(value, SLOT - 4);
            status.store(libc::TP_STATUS_USER, Ordering::Release);
        }
    }

    #[test]
    fn places_go_round_between_who_fills_and_who_reads() {
        const SLOTS: usize = 3;
        const FRAMES: usize = 20;
        let mut memory = vec![0u64; SLOTS * SLOT / 8];
        let at = NonNull::new(memory.as_mut_ptr()).unwrap().cast::<u8>();
        // SAFETY: the memory is valid to the end of the test, and touched by nobody but the two sides.
        let mut slots = unsafe { Slots::new(at, SLOTS) };
        let start = at.as_ptr() as usize;
        let kernel = {
            struct Shared(NonNull<u8>);
            // SAFETY: as above.
            unsafe impl Send for Shared {}
            let shared = Shared(at);
            std::thread::spawn(move || {
                let shared = shared;
                (0..FRAMES).for_each(|frame| fill(shared.0, frame % SLOTS, frame as u8));
            })
        };
        for frame in 0..FRAMES {
            let slot = frame % SLOTS;
            loop {
                if let Some((_, bytes)) = slots.take(slot) {
                    assert_eq!(bytes.as_ptr() as usize, start + slot * SLOT);
                    assert!(bytes[4..].iter().all(|&byte| byte == frame as u8));
                    bytes[4] = 0xFF;
                    break;
                }
                std::thread::yield_now();
            }
            slots.give_back(slot);
        }
        kernel.join().unwrap();
        assert!((0..SLOTS).all(|slot| slots.take(slot).is_none()));
    }
}
