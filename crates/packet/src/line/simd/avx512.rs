//! Lines by AVX-512 with VBMI: 64 characters of a line are one vector.
//!
//! The idea in both directions is `vpermb`, which moves any byte of a vector anywhere, and takes
//! only the lower 6 bits of each index: a table of the 16 digits, written four times, turns bytes
//! into digits without masking, and the lower 6 bits of the 22 digits' characters all differ.
//!
//! Timestamp, hash, header and the first payload bytes are one vector in every form: 62 or 63
//! characters, the *front*. What follows is groups of a blank and two digits, 21 to a vector, or
//! 64 to three.

mod read;
mod write;

pub(super) use read::decode;
pub(super) use write::encode;

use core::arch::x86_64::*;

/// Bytes that a store may write behind the line, and behind the frame.
const SLACK: usize = 64;

/// A vector in memory.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Bytes([u8; 64]);

impl Bytes {
    const ZERO: Bytes = Bytes([0; 64]);

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(&self) -> __m512i {
        // SAFETY: 64 bytes, aligned to 64.
        unsafe { _mm512_load_si512(self.0.as_ptr().cast()) }
    }
}

/// The lower `count` bits, 0 to 64.
#[target_feature(enable = "bmi2")]
#[inline]
fn low(count: usize) -> u64 {
    _bzhi_u64(!0, count as u32)
}

/// Truth tables of three operands for `vpternlog`.
mod logic {
    const A: i32 = 0xF0;
    const B: i32 = 0xCC;
    const C: i32 = 0xAA;
    /// `a ? b : c`, bit by bit.
    pub(super) const SELECT: i32 = A & B | (!A & 0xFF) & C;
    /// `(a ^ b) & c`.
    pub(super) const DIFFER_WITHIN: i32 = (A ^ B) & C;
    /// `a ^ (b & c)`.
    pub(super) const DIFFER_FROM_PART: i32 = A ^ (B & C);
    /// `a | (b & c)`.
    pub(super) const OR_PART: i32 = A | (B & C);
    /// `a | b | c`.
    pub(super) const ANY: i32 = A | B | C;
    /// `(a | b) & c`.
    pub(super) const ANY_WITHIN: i32 = (A | B) & C;
}
