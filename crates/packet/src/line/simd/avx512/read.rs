//! Lines to frames: gather the digits of each byte, look their values up, and check on the way
//! that every digit is one and every space stands where it should.

use super::super::Decoded;
use super::super::layout::{HEAD, Layout};
use super::{Bytes, SLACK, logic, low};
use crate::MAX_FRAME_LEN;
use alloc::vec::Vec;
use core::arch::x86_64::*;

/// By the lower 6 bits of a character: the digit's value, and above it the character's upper 2
/// bits if it is this digit. 0x30 marks what is no digit.
static VALUES: Bytes = {
    let mut table = Bytes([0x30; 64]);
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789ABCDEF"[value as usize];
        table.0[digit as usize & 63] = digit & 0xC0 | value;
        let lower_case = digit.to_ascii_lowercase();
        table.0[lower_case as usize & 63] = lower_case & 0xC0 | value;
        value += 1;
    }
    table
};

/// Where the digits of up to 32 bytes stand in one vector.
#[derive(Clone, Copy)]
struct Gather {
    /// Upper digits from 0, lower digits from 32. What is not used repeats the first byte.
    digits: Bytes,
    /// 0xFF where a space stands.
    blanks: Bytes,
}

impl Gather {
    const fn new(first_digit: u8) -> Gather {
        Gather {
            digits: Bytes([first_digit; 64]),
            blanks: Bytes::ZERO,
        }
    }
}

/// 21 groups " XX".
static GROUPS: Gather = {
    let mut gather = Gather::new(1);
    let mut group = 0;
    while group < 21 {
        gather.blanks.0[3 * group] = 0xFF;
        gather.digits.0[group] = 3 * group as u8 + 1;
        gather.digits.0[32 + group] = 3 * group as u8 + 2;
        group += 1;
    }
    gather
};

/// 64 groups " XX" in three vectors.
struct Wide {
    upper: Bytes,
    lower: Bytes,
    /// The groups whose digits are in the second, and in the third vector.
    upper_in: [u64; 2],
    lower_in: [u64; 2],
    blanks: [Bytes; 3],
}

static WIDE: Wide = {
    let mut wide = Wide {
        upper: Bytes::ZERO,
        lower: Bytes::ZERO,
        upper_in: [0; 2],
        lower_in: [0; 2],
        blanks: [Bytes::ZERO; 3],
    };
    let mut group = 0;
    while group < 64 {
        let (blank, upper, lower) = (3 * group, 3 * group + 1, 3 * group + 2);
        wide.blanks[blank / 64].0[blank % 64] = 0xFF;
        wide.upper.0[group] = (upper % 64) as u8;
        wide.lower.0[group] = (lower % 64) as u8;
        if upper >= 64 {
            wide.upper_in[upper / 64 - 1] |= 1 << group;
        }
        if lower >= 64 {
            wide.lower_in[lower / 64 - 1] |= 1 << group;
        }
        group += 1;
    }
    wide
};

/// Where word and hash stand in the 32 bytes of a front, least byte first, behind the frame.
const WORD: usize = 24;
const fn hash_at(form: usize) -> usize {
    if form & 1 == 0 { WORD } else { 16 }
}

/// A form's first vector.
static FRONTS: [Gather; 4] = [front(0), front(1), front(2), front(3)];

const fn front(form: usize) -> Gather {
    let layout = Layout::of(form);
    let mut front = Gather::new(0);
    let mut at = 0;
    while at < layout.characters {
        match layout.digit(at) {
            None => front.blanks.0[at] = 0xFF,
            Some((source, upper)) => {
                let byte = match source {
                    0..HEAD => source,
                    HEAD..72 => source - HEAD + WORD,
                    _ => source - 72 + hash_at(form),
                };
                front.digits.0[if upper { byte } else { 32 + byte }] = at as u8;
            }
        }
        at += 1;
    }
    front
}

/// What is the same for all vectors of a line, and what has been wrong in them.
struct Reader {
    values: __m512i,
    blank: __m512i,
    /// 0xC0 and 0xF0 in each byte.
    kind: __m512i,
    high: __m512i,
    /// Not zero where a character is wrong.
    faults: __m512i,
}

impl Reader {
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn new() -> Reader {
        Reader {
            values: VALUES.load(),
            blank: _mm512_set1_epi8(b' ' as i8),
            kind: _mm512_set1_epi8(0xC0_u8 as i8),
            high: _mm512_set1_epi8(0xF0_u8 as i8),
            faults: _mm512_setzero_si512(),
        }
    }

    /// The 32 bytes of one vector.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    #[inline]
    fn read(&mut self, text: __m512i, digits: __m512i, blanks: __m512i) -> __m256i {
        let digits = _mm512_permutexvar_epi8(digits, text);
        let values = _mm512_permutexvar_epi8(digits, self.values);
        let no_blank =
            _mm512_ternarylogic_epi64::<{ logic::DIFFER_WITHIN }>(text, self.blank, blanks);
        let no_digit =
            _mm512_ternarylogic_epi64::<{ logic::DIFFER_FROM_PART }>(values, digits, self.kind);
        let faults = _mm512_ternarylogic_epi64::<{ logic::OR_PART }>(no_blank, no_digit, self.high);
        self.faults = _mm512_or_si512(self.faults, faults);
        let upper = _mm256_slli_epi16::<4>(_mm512_castsi512_si256(values));
        let lower = _mm512_extracti64x4_epi64::<1>(values);
        let high = _mm512_castsi512_si256(self.high);
        _mm256_ternarylogic_epi64::<{ logic::SELECT }>(high, upper, lower)
    }

    /// The 64 bytes of 64 groups in three vectors.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    #[inline]
    fn read_wide(&mut self, text: [__m512i; 3]) -> __m512i {
        let [a, b, c] = text;
        let differ = |text, blanks: &Bytes| {
            let blanks = blanks.load();
            _mm512_ternarylogic_epi64::<{ logic::DIFFER_WITHIN }>(text, self.blank, blanks)
        };
        let [in_a, in_b, in_c] = &WIDE.blanks;
        let no_blank = _mm512_ternarylogic_epi64::<{ logic::ANY }>(
            differ(a, in_a),
            differ(b, in_b),
            differ(c, in_c),
        );
        let gather = |places: &Bytes, [in_b, in_c]: [u64; 2]| {
            let places = places.load();
            let digits = _mm512_permutexvar_epi8(places, a);
            let digits = _mm512_mask_permutexvar_epi8(digits, in_b, places, b);
            _mm512_mask_permutexvar_epi8(digits, in_c, places, c)
        };
        let upper = gather(&WIDE.upper, WIDE.upper_in);
        let lower = gather(&WIDE.lower, WIDE.lower_in);
        let upper_values = _mm512_permutexvar_epi8(upper, self.values);
        let lower_values = _mm512_permutexvar_epi8(lower, self.values);
        let upper = _mm512_ternarylogic_epi64::<{ logic::DIFFER_FROM_PART }>(
            upper_values,
            upper,
            self.kind,
        );
        let lower = _mm512_ternarylogic_epi64::<{ logic::DIFFER_FROM_PART }>(
            lower_values,
            lower,
            self.kind,
        );
        let no_digit = _mm512_ternarylogic_epi64::<{ logic::ANY_WITHIN }>(upper, lower, self.high);
        self.faults = _mm512_ternarylogic_epi64::<{ logic::ANY }>(self.faults, no_blank, no_digit);
        let upper = _mm512_slli_epi16::<4>(upper_values);
        _mm512_ternarylogic_epi64::<{ logic::SELECT }>(self.high, upper, lower_values)
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn is_clean(&self) -> bool {
        _mm512_test_epi8_mask(self.faults, self.faults) == 0
    }
}

/// As [`Path::decode`](super::super::Path::decode); lines shorter than a vector are left to the
/// portable code.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi2")]
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
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi2")]
#[inline]
fn packet<const FORM: usize>(line: &[u8], frame: &mut Vec<u8>) -> Decoded {
    let layout = const { Layout::of(FORM) };
    let mut reader = Reader::new();
    let front = &FRONTS[FORM];
    let (text, rest) = line.split_at(layout.characters);
    let groups = (rest.len() / 3).min(MAX_FRAME_LEN - layout.bytes);
    frame.clear();
    frame.reserve(layout.bytes + groups + SLACK);
    // SAFETY: the line has 64 characters; stores begin within the frame, and a vector more is
    // reserved.
    let front = unsafe {
        let text = _mm512_loadu_si512(text.as_ptr().cast());
        let front = reader.read(text, front.digits.load(), front.blanks.load());
        _mm256_storeu_si256(frame.as_mut_ptr().cast(), front);
        payload(
            &mut reader,
            &rest[..3 * groups],
            frame.as_mut_ptr().add(layout.bytes),
        );
        front
    };
    if !reader.is_clean() {
        return Decoded::NONE;
    }
    // SAFETY: so many bytes have been written.
    unsafe { frame.set_len(layout.bytes + groups) };
    let head = _mm256_extracti128_si256::<1>(front);
    let word = if FORM & 1 != 0 {
        _mm_extract_epi64::<1>(head) as u64
    } else {
        0
    };
    let hash = match FORM {
        2 => _mm_extract_epi32::<2>(head) as u32,
        3 => _mm_cvtsi128_si32(head) as u32,
        _ => 0,
    };
    Decoded::new(FORM, word, hash, layout.characters + 3 * groups)
}

/// Reads whole groups.
///
/// # Safety
/// `to` has room for them and [`SLACK`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi2")]
#[inline]
unsafe fn payload(reader: &mut Reader, text: &[u8], mut to: *mut u8) {
    let (mut from, mut rest) = (text.as_ptr(), text.len());
    let (digits, blanks) = (GROUPS.digits.load(), GROUPS.blanks.load());
    // SAFETY: loads of whole vectors while there are some, then masked.
    unsafe {
        while rest >= 192 {
            let text = [0, 64, 128].map(|at| _mm512_loadu_si512(from.add(at).cast()));
            _mm512_storeu_si512(to.cast(), reader.read_wide(text));
            (from, to, rest) = (from.add(192), to.add(64), rest - 192);
        }
        for _ in 0..2 {
            if rest >= 64 {
                let text = _mm512_loadu_si512(from.cast());
                _mm256_storeu_si256(to.cast(), reader.read(text, digits, blanks));
                (from, to, rest) = (from.add(63), to.add(21), rest - 63);
            }
        }
        if rest > 0 {
            // Groups that are not there read as " 00".
            let zero = _mm512_set1_epi8(b'0' as i8);
            let none = _mm512_ternarylogic_epi64::<{ logic::SELECT }>(blanks, reader.blank, zero);
            let text = _mm512_mask_loadu_epi8(none, low(rest), from.cast());
            _mm256_storeu_si256(to.cast(), reader.read(text, digits, blanks));
        }
    }
}
