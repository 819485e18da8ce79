//! Memory that is asked for before it is needed.
//!
//! A load whose value is thrown away does the same, but the processor does not retire what comes after it until it is there; so
//! no more of them are under way than it has room for between the first and the next use.

/// Asks for what stands at a place. Without an instruction for it, it is not asked for.
#[inline(always)]
pub(crate) fn fetch<T>(place: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction (SSE), it changes nothing that a program sees, and a reference is to valid memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(place).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
