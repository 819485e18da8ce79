//! Frames to lines: bytes to digits by `vpshufb`, then digits to where they stand between spaces.

use super::{Bytes, MIN_VECTOR_FRAME_LEN, NONE};
use crate::MIN_FRAME_LEN;
use crate::line::{simd::layout::Layout, write};
use alloc::vec::Vec;
use core::arch::x86_64::*;

/// Bytes that a store may write behind the word, the hash and the header.
const SLACK: usize = 32;

/// Where the digits go in 16 characters from `first` of a pattern with spaces at each third place:
/// the digit's number, less `less`.
const fn spread(first: usize, less: usize) -> [u8; 16] {
    let mut from = [NONE; 16];
    let mut at = 0;
    while at < 16 {
        let character = first + at;
        if !character.is_multiple_of(3) {
            from[at] = (character / 3 * 2 + character % 3 - 1 - less) as u8;
        }
        at += 1;
    }
    from
}

/// Blanks where nothing comes.
const fn blanks(from: [u8; 16]) -> [u8; 16] {
    let mut blanks = [0; 16];
    let mut at = 0;
    while at < 16 {
        if from[at] == NONE {
            blanks[at] = b' ';
        }
        at += 1;
    }
    blanks
}

/// The 48 characters of 16 bytes: digits 0 to 9, 10 to 20, and 21 to 31. The first come from the
/// digits of the first 8 bytes, the last from those of the second 8, and the middle from both,
/// shifted by 10.
const SPREAD: [[u8; 16]; 3] = [spread(0, 0), spread(16, 10), spread(32, 16)];
static FROM: [Bytes; 3] = [
    Bytes::twice(SPREAD[0]),
    Bytes::twice(SPREAD[1]),
    Bytes::twice(SPREAD[2]),
];
static BLANKS: [Bytes; 3] = [
    Bytes::twice(blanks(SPREAD[0])),
    Bytes::twice(blanks(SPREAD[1])),
    Bytes::twice(blanks(SPREAD[2])),
];

/// The 32 characters from the destination address: digits 0 to 14, then, shifted by 15, 15 to 27.
const HEADER: [[u8; 16]; 2] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, NONE, 12, 13, 14],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, NONE, 9, 10, 11, 12, NONE, NONE],
];
static HEADER_FROM: [Bytes; 2] = [Bytes::twice(HEADER[0]), Bytes::twice(HEADER[1])];
static HEADER_BLANKS: [Bytes; 2] = [
    Bytes::twice(blanks(HEADER[0])),
    Bytes::twice(blanks(HEADER[1])),
];

static DIGITS: Bytes = Bytes::twice(*b"0123456789ABCDEF");

/// The digits of the first and of the second 8 bytes of each half.
#[target_feature(enable = "avx2")]
#[inline]
fn digits(bytes: __m256i) -> (__m256i, __m256i) {
    let (table, lower_half) = (DIGITS.load(), _mm256_set1_epi8(0x0F));
    let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), lower_half);
    let upper = _mm256_shuffle_epi8(table, upper);
    let lower = _mm256_shuffle_epi8(table, _mm256_and_si256(bytes, lower_half));
    (
        _mm256_unpacklo_epi8(upper, lower),
        _mm256_unpackhi_epi8(upper, lower),
    )
}

/// Appends a line; `form` is bit 0 for the time, bit 1 for the hash, and the frame has at least 14
/// bytes.
#[target_feature(enable = "avx2")]
pub(in super::super) fn encode(form: usize, word: u64, hash: u32, frame: &[u8], out: &mut Vec<u8>) {
    if frame.len() < MIN_VECTOR_FRAME_LEN {
        let word = (form & 1 != 0).then_some(word);
        let hash = (form & 2 != 0).then_some(hash);
        return write::line(word, hash, frame, out);
    }
    let (start, length) = (out.len(), Layout::of(form).length(frame.len()));
    out.reserve(length + SLACK);
    // SAFETY: `length` and `SLACK` are reserved. Word and hash are followed by the header's 32
    // characters, these by the payload's 96 or more; the frame has 16 bytes.
    unsafe {
        let line = out.as_mut_ptr().add(start);
        let mut to = line;
        let head = _mm_set_epi64x(i64::from(hash.swap_bytes()), word.swap_bytes() as i64);
        let header = _mm_loadu_si128(frame.as_ptr().cast());
        let (first, second) = digits(_mm256_set_m128i(header, head));
        if form & 1 != 0 {
            _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(first));
            to.add(16).write(b' ');
            to = to.add(17);
        }
        if form & 2 != 0 {
            _mm_storel_epi64(to.cast(), _mm256_castsi256_si128(second));
            to.add(8).write(b' ');
            to = to.add(9);
        }
        let first = _mm256_extracti128_si256::<1>(first);
        let second = _mm256_extracti128_si256::<1>(second);
        let second = _mm_alignr_epi8::<15>(second, first);
        for (index, digits) in [first, second].into_iter().enumerate() {
            let text = _mm_shuffle_epi8(digits, HEADER_FROM[index].load_half());
            let text = _mm_or_si128(text, HEADER_BLANKS[index].load_half());
            _mm_storeu_si128(to.add(16 * index).cast(), text);
        }
        payload(&frame[MIN_FRAME_LEN..], to.add(30));
        line.add(length - 1).write(b'\n');
        out.set_len(start + length);
    }
}

/// Writes the groups " XX" of at least 32 bytes.
///
/// # Safety
/// `to` has room for three times as many.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn payload(bytes: &[u8], to: *mut u8) {
    let mut at = 0;
    loop {
        // SAFETY: `at` is at least 32 before the end.
        unsafe {
            let (first, second) = digits(_mm256_loadu_si256(bytes.as_ptr().add(at).cast()));
            let middle = _mm256_alignr_epi8::<10>(second, first);
            let to = to.add(3 * at);
            for (index, digits) in [first, middle, second].into_iter().enumerate() {
                let text = _mm256_shuffle_epi8(digits, FROM[index].load());
                let text = _mm256_or_si256(text, BLANKS[index].load());
                let to = to.add(16 * index);
                _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(text));
                _mm_storeu_si128(to.add(48).cast(), _mm256_extracti128_si256::<1>(text));
            }
        }
        match bytes.len() - at {
            32 => break,
            rest => at += (rest - 32).min(32),
        }
    }
}
