//! Frames to lines: spread each byte to where its digits stand, take the half, look the digit up.

use super::super::layout::{HEAD, Layout};
use super::{Bytes, SLACK, logic, low};
use alloc::vec::Vec;
use core::arch::{asm, x86_64::*};

/// Which source byte, which half of it, and whether any: for each character of one vector.
#[derive(Clone, Copy)]
struct Spread {
    from: Bytes,
    /// 0xFF where the upper half is shown.
    upper: Bytes,
    digits: u64,
}

impl Spread {
    const NOTHING: Spread = Spread {
        from: Bytes::ZERO,
        upper: Bytes::ZERO,
        digits: 0,
    };
}

/// Three vectors of 64 groups " XX".
static GROUPS: [Spread; 3] = {
    let mut groups = [Spread::NOTHING; 3];
    let mut character = 0;
    while character < 192 {
        let (group, at) = (&mut groups[character / 64], character % 64);
        group.from.0[at] = (character / 3) as u8;
        group.digits |= (!character.is_multiple_of(3) as u64) << at;
        group.upper.0[at] = if character % 3 == 1 { 0xFF } else { 0 };
        character += 1;
    }
    groups
};

/// A form's first vector.
struct Front {
    spread: Spread,
    /// The characters that come from word and hash, and their bytes there.
    head: u64,
    head_from: Bytes,
}

static FRONTS: [Front; 4] = [front(0), front(1), front(2), front(3)];

const fn front(form: usize) -> Front {
    let layout = Layout::of(form);
    let mut front = Front {
        spread: Spread::NOTHING,
        head: 0,
        head_from: Bytes::ZERO,
    };
    let mut at = 0;
    while at < layout.characters {
        if let Some((source, upper)) = layout.digit(at) {
            front.spread.digits |= 1 << at;
            front.spread.upper.0[at] = if upper { 0xFF } else { 0 };
            if source < HEAD {
                front.spread.from.0[at] = source as u8;
            } else {
                front.head |= 1 << at;
                front.head_from.0[at] = (source - HEAD) as u8;
            }
        }
        at += 1;
    }
    front
}

/// The 16 digits, four times.
static DIGITS: Bytes = {
    let mut table = Bytes::ZERO;
    let mut at = 0;
    while at < 64 {
        table.0[at] = b"0123456789ABCDEF"[at % 16];
        at += 1;
    }
    table
};

/// What is the same for all vectors.
#[derive(Clone, Copy)]
struct Writer {
    digits: __m512i,
    blanks: __m512i,
}

impl Writer {
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn new() -> Writer {
        Writer {
            digits: DIGITS.load(),
            blanks: _mm512_set1_epi8(b' ' as i8),
        }
    }

    /// The characters of bytes that already stand where they are shown.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    #[inline]
    fn text(self, bytes: __m512i, upper: __m512i, digits: u64) -> __m512i {
        let shifted = _mm512_srli_epi16::<4>(bytes);
        let nibbles = _mm512_ternarylogic_epi64::<{ logic::SELECT }>(upper, shifted, bytes);
        let mut text = self.blanks;
        // `_mm512_mask_permutexvar_epi8(text, digits, nibbles, self.digits)`, which the compiler
        // makes two instructions of, where one port is already full: 7.5 cycles for 64 bytes and
        // not 6.
        // SAFETY: the instruction, which AVX-512 VBMI has, writes `text` and no flags.
        unsafe {
            asm!(
                "vpermb {text}{{{digits}}}, {nibbles}, {table}",
                text = inout(zmm_reg) text,
                digits = in(kreg) digits,
                nibbles = in(zmm_reg) nibbles,
                table = in(zmm_reg) self.digits,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        text
    }

    /// Writes the groups of `bytes`, which are not none.
    ///
    /// # Safety
    /// `to` has room for them and [`SLACK`].
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2")]
    #[inline]
    unsafe fn payload(self, bytes: &[u8], mut to: *mut u8) {
        let (mut from, mut rest) = (bytes.as_ptr(), bytes.len());
        let [a, b, c] = &GROUPS;
        let put = |bytes, group: &Spread, to: *mut u8| {
            let bytes = _mm512_permutexvar_epi8(group.from.load(), bytes);
            let text = self.text(bytes, group.upper.load(), group.digits);
            // SAFETY: the caller's promise.
            unsafe { _mm512_storeu_si512(to.cast(), text) };
        };
        // SAFETY: whole vectors while there are more, then masked; stores begin within the text.
        unsafe {
            while rest > 64 {
                let bytes = _mm512_loadu_si512(from.cast());
                put(bytes, a, to);
                put(bytes, b, to.add(64));
                put(bytes, c, to.add(128));
                (from, to, rest) = (from.add(64), to.add(192), rest - 64);
            }
            let bytes = _mm512_maskz_loadu_epi8(low(rest), from.cast());
            put(bytes, a, to);
            if rest > 21 {
                put(bytes, b, to.add(64));
                if rest > 42 {
                    put(bytes, c, to.add(128));
                }
            }
        }
    }
}

/// Appends a line; `form` is bit 0 for the time, bit 1 for the hash, and the frame has at least 14
/// bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2")]
pub(in super::super) fn encode(form: usize, word: u64, hash: u32, frame: &[u8], out: &mut Vec<u8>) {
    match form {
        0 => line::<0>(word, hash, frame, out),
        1 => line::<1>(word, hash, frame, out),
        2 => line::<2>(word, hash, frame, out),
        _ => line::<3>(word, hash, frame, out),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2")]
#[inline]
fn line<const FORM: usize>(word: u64, hash: u32, frame: &[u8], out: &mut Vec<u8>) {
    let layout = const { Layout::of(FORM) };
    let Front {
        spread,
        head,
        head_from,
    } = &FRONTS[FORM];
    let (writer, start, length) = (Writer::new(), out.len(), layout.length(frame.len()));
    out.reserve(length + SLACK);
    // SAFETY: every store begins within the line's `length` bytes, and a vector more is reserved;
    // loads are within the frame, or masked to it.
    unsafe {
        let line = out.as_mut_ptr().add(start);
        let first = if frame.len() >= 64 {
            _mm512_loadu_si512(frame.as_ptr().cast())
        } else {
            _mm512_maskz_loadu_epi8(low(frame.len()), frame.as_ptr().cast())
        };
        let mut bytes = _mm512_permutexvar_epi8(spread.from.load(), first);
        if FORM != 0 {
            let source = match FORM {
                1 => _mm_cvtsi64_si128(word as i64),
                _ => _mm_set_epi64x(i64::from(hash), word as i64),
            };
            let source = _mm512_zextsi128_si512(source);
            bytes = _mm512_mask_permutexvar_epi8(bytes, *head, head_from.load(), source);
        }
        let text = writer.text(bytes, spread.upper.load(), spread.digits);
        _mm512_storeu_si512(line.cast(), text);
        if frame.len() > layout.bytes {
            writer.payload(&frame[layout.bytes..], line.add(layout.characters));
        }
        line.add(length - 1).write(b'\n');
        out.set_len(start + length);
    }
}
