//! Random numbers of the system, for names that no other process knows beforehand.

/// A random number; without random numbers of the system, one of the clock.
pub fn number() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer and its length are valid.
    let got = unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) };
    match got {
        0 => u64::from_ne_bytes(bytes),
        _ => super::clock::now_ns() ^ u64::from(std::process::id()) << 32,
    }
}
