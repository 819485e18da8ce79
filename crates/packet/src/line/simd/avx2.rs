//! Lines by AVX2: 32 payload bytes, 96 characters, at a time.
//!
//! Frames of fewer than 46 bytes, and their lines, are left to the portable code: what is behind
//! the last whole 32 bytes is done by going back, which needs 32 of payload.

mod read;
mod write;

pub(super) use read::decode;
pub(super) use write::encode;

use core::arch::x86_64::*;

/// Minimum frame length for this path, bytes.
const MIN_VECTOR_FRAME_LEN: usize = crate::MIN_FRAME_LEN + 32;

/// A vector in memory.
#[repr(align(32))]
#[derive(Clone, Copy)]
struct Bytes([u8; 32]);

impl Bytes {
    /// The same 16 bytes in both halves, within which `vpshufb` moves bytes.
    const fn twice(half: [u8; 16]) -> Bytes {
        let mut bytes = [0; 32];
        let mut at = 0;
        while at < 32 {
            bytes[at] = half[at % 16];
            at += 1;
        }
        Bytes(bytes)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(&self) -> __m256i {
        // SAFETY: 32 bytes, aligned to 32.
        unsafe { _mm256_load_si256(self.0.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load_half(&self) -> __m128i {
        // SAFETY: 16 bytes, aligned to 32.
        unsafe { _mm_load_si128(self.0.as_ptr().cast()) }
    }
}

/// For `vpshufb`: nothing comes here.
const NONE: u8 = 0x80;
