//! Counts allocations, for the tests that show that a hot path makes none.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: allocations::Counting = allocations::Counting;
//!
//! let before = allocations::of_this_thread();
//! let boxed = Box::new(5);
//! assert_eq!(allocations::of_this_thread() - before, 1);
//! # drop(boxed);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static MINE: Cell<u64> = const { Cell::new(0) };
}
static ALL: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with a count of what is asked of it.
pub struct Counting;

/// Allocations and reallocations that this thread has made so far. A test counts these: its harness
/// allocates too, when it likes, in a thread of its own.
pub fn of_this_thread() -> u64 {
    MINE.get()
}

/// Those that all threads have made.
pub fn of_all_threads() -> u64 {
    ALL.load(Ordering::Relaxed)
}

fn count() {
    // A thread that ends may allocate after its own count is gone.
    let _ = MINE.try_with(|mine| mine.set(mine.get() + 1));
    ALL.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}
