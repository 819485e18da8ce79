//! Lines to frames: gather digits by `vpshufb`, judge them by two tables, and join the halves.

use super::{Bytes, MIN_VECTOR_FRAME_LEN, NONE};
use crate::line::simd::Decoded;
use crate::{MAX_FRAME_LEN, MIN_FRAME_LEN};
use alloc::vec::Vec;
use core::arch::x86_64::*;

/// 24 characters are two vectors, from the first and from the ninth: the digits of five groups
/// " XX" and of three.
static FIVE: Bytes = Bytes::twice([
    1, 2, 4, 5, 7, 8, 10, 11, 13, 14, NONE, NONE, NONE, NONE, NONE, NONE,
]);
static THREE: Bytes = Bytes::twice([
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, 8, 9, 11, 12, 14, 15,
]);
static FIVE_BLANKS: Bytes = every_third(0);
static THREE_BLANKS: Bytes = every_third(1);

/// 0xFF at each third place from `first`.
const fn every_third(first: usize) -> Bytes {
    let mut mask = [0; 16];
    let mut at = first;
    while at < 16 {
        mask[at] = 0xFF;
        at += 3;
    }
    Bytes::twice(mask)
}

/// The 28 digits of the header stand in 30 characters, which are two vectors, from the first and
/// from the fifteenth. 16 digits come from both, 12 from the second.
static HEADER_FIRST: Bytes =
    Bytes::twice([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, NONE, NONE, NONE]);
static HEADER_MIDDLE: Bytes = Bytes::twice([
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, 0, 1, 2,
]);
/// The last digit again where there is none, so that no place is at fault.
static HEADER_LAST: Bytes = Bytes::twice([3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15, 15]);

/// By a character's upper half: bit 0 for 0-9, bit 1 for A-F and a-f.
static KIND: Bytes = Bytes::twice([0, 0, 0, 1, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
/// By its lower half: the kinds that have a digit there.
static THERE: Bytes = Bytes::twice([1, 3, 3, 3, 3, 3, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
/// By its upper half: what makes the digit its value.
static OFFSET: Bytes = Bytes::twice({
    let mut offset = [0; 16];
    offset[3] = 0_u8.wrapping_sub(b'0');
    offset[4] = 10_u8.wrapping_sub(b'A');
    offset[6] = 10_u8.wrapping_sub(b'a');
    offset
});

/// What has been wrong in the characters read.
struct Reader {
    /// Zero where a digit was none.
    digits: __m256i,
    /// Not zero where a space was missing.
    blanks: __m256i,
}

impl Reader {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn new() -> Reader {
        Reader {
            digits: _mm256_set1_epi8(-1),
            blanks: _mm256_setzero_si256(),
        }
    }

    /// The values of 16 pairs of digits, as 16-bit numbers.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn values(&mut self, digits: __m256i) -> __m256i {
        let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(digits), _mm256_set1_epi8(0x0F));
        let kind = _mm256_shuffle_epi8(KIND.load(), upper);
        let there = _mm256_shuffle_epi8(THERE.load(), digits);
        self.digits = _mm256_min_epu8(self.digits, _mm256_and_si256(kind, there));
        let offset = _mm256_shuffle_epi8(OFFSET.load(), upper);
        let values = _mm256_add_epi8(digits, offset);
        _mm256_maddubs_epi16(values, _mm256_set1_epi16(0x0110))
    }

    /// The same of 16 groups.
    ///
    /// # Safety
    /// 48 characters are at `from`.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn groups(&mut self, from: *const u8) -> __m256i {
        // SAFETY: the caller's promise.
        let (five, three) = unsafe {
            (
                _mm256_loadu2_m128i(from.add(24).cast(), from.cast()),
                _mm256_loadu2_m128i(from.add(32).cast(), from.add(8).cast()),
            )
        };
        let blank = _mm256_set1_epi8(b' ' as i8);
        for (text, blanks) in [(five, &FIVE_BLANKS), (three, &THREE_BLANKS)] {
            let faults = _mm256_and_si256(_mm256_xor_si256(text, blank), blanks.load());
            self.blanks = _mm256_or_si256(self.blanks, faults);
        }
        let five = _mm256_shuffle_epi8(five, FIVE.load());
        let three = _mm256_shuffle_epi8(three, THREE.load());
        self.values(_mm256_or_si256(five, three))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn is_clean(&self) -> bool {
        let bad = _mm256_cmpeq_epi8(self.digits, _mm256_setzero_si256());
        let bad = _mm256_or_si256(bad, self.blanks);
        _mm256_testz_si256(bad, bad) != 0
    }
}

/// As [`Path::decode`](super::super::Path::decode); the lines of frames of fewer than 46 bytes are
/// left to the portable code.
#[target_feature(enable = "avx2")]
pub(in super::super) fn decode(line: &[u8], frame: &mut Vec<u8>) -> Decoded {
    if line.len() < 64 {
        return Decoded::NONE;
    }
    // Where the first space is, and with a timestamp the second, tells the form; all the others
    // are checked.
    if line[16] == b' ' {
        if line[25] == b' ' {
            packet::<3>(line, frame)
        } else {
            packet::<1>(line, frame)
        }
    } else if line[12] == b' ' {
        packet::<0>(line, frame)
    } else {
        packet::<2>(line, frame)
    }
}

/// Reads a line of at least 64 characters.
#[target_feature(enable = "avx2")]
#[inline]
fn packet<const FORM: usize>(line: &[u8], frame: &mut Vec<u8>) -> Decoded {
    // Where the hash and the destination address begin.
    let (hash, start) = const { [(0, 0), (0, 17), (0, 9), (17, 26)][FORM] };
    let (front, rest) = line.split_at(start + 30);
    let groups = (rest.len() / 3).min(MAX_FRAME_LEN - MIN_FRAME_LEN);
    if groups < MIN_VECTOR_FRAME_LEN - MIN_FRAME_LEN
        || (start > 0 && line[start - 1] != b' ')
        || line[start + 12] != b' '
        || line[start + 25] != b' '
    {
        return Decoded::NONE;
    }
    frame.clear();
    frame.reserve(MIN_FRAME_LEN + groups);
    let mut reader = Reader::new();
    // SAFETY: the line has 64 characters, and the front 30 from `start` on. The header's 16 bytes
    // go before 32 or more of payload, and these into the room reserved.
    let head = unsafe {
        let zeros = _mm_set1_epi8(b'0' as i8);
        let word = match FORM & 1 {
            0 => zeros,
            _ => _mm_loadu_si128(line.as_ptr().cast()),
        };
        let hash = match FORM & 2 {
            0 => zeros,
            _ => {
                let digits = _mm_loadl_epi64(line.as_ptr().add(hash).cast());
                _mm_unpacklo_epi64(digits, digits)
            }
        };
        let first = _mm_loadu_si128(front.as_ptr().add(start).cast());
        let second = _mm_loadu_si128(front.as_ptr().add(start + 14).cast());
        let bytes_0_to_7 = _mm_or_si128(
            _mm_shuffle_epi8(first, HEADER_FIRST.load_half()),
            _mm_shuffle_epi8(second, HEADER_MIDDLE.load_half()),
        );
        let bytes_8_to_13 = _mm_shuffle_epi8(second, HEADER_LAST.load_half());
        let values = _mm256_packus_epi16(
            reader.values(_mm256_set_m128i(bytes_0_to_7, word)),
            reader.values(_mm256_set_m128i(bytes_8_to_13, hash)),
        );
        let to = frame.as_mut_ptr();
        _mm_storeu_si128(to.cast(), _mm256_extracti128_si256::<1>(values));
        payload(&mut reader, &rest[..3 * groups], to.add(MIN_FRAME_LEN));
        _mm256_castsi256_si128(values)
    };
    if !reader.is_clean() {
        return Decoded::NONE;
    }
    // SAFETY: so many bytes have been written.
    unsafe { frame.set_len(MIN_FRAME_LEN + groups) };
    let word = (_mm_cvtsi128_si64(head) as u64).swap_bytes();
    let hash = (_mm_extract_epi32::<2>(head) as u32).swap_bytes();
    Decoded::new(FORM, word, hash, front.len() + 3 * groups)
}

/// Reads 32 or more whole groups.
///
/// # Safety
/// `to` has room for them.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn payload(reader: &mut Reader, text: &[u8], to: *mut u8) {
    let (mut at, groups) = (0, text.len() / 3);
    // SAFETY: nothing is read or written behind the last group.
    unsafe {
        loop {
            let from = text.as_ptr().add(3 * at);
            let (first, second) = (reader.groups(from), reader.groups(from.add(48)));
            // Packing takes 8 bytes of each by turns.
            let bytes = _mm256_packus_epi16(first, second);
            let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(bytes);
            _mm256_storeu_si256(to.add(at).cast(), bytes);
            at += 32;
            match groups - at {
                0 => return,
                1..=16 => break,
                rest @ 17..32 => at -= 32 - rest,
                _ => {}
            }
        }
        at = groups - 16;
        let last = reader.groups(text.as_ptr().add(3 * at));
        let (low, high) = (
            _mm256_castsi256_si128(last),
            _mm256_extracti128_si256::<1>(last),
        );
        _mm_storeu_si128(to.add(at).cast(), _mm_packus_epi16(low, high));
    }
}
