//! x86-64 with AVX2 and AVX-512. But for one scrambler it is the portable code: the compiler makes
//! vectors of it, with variable shifts (AVX2) or funnel shifts (AVX-512 VBMI2).

use crate::kernel::{self, GROUP, Groups, WORDS};
use core::arch::x86_64::*;

#[target_feature(enable = "avx2")]
pub fn scramble_avx2(state: u64, payloads: &mut [u64]) -> u64 {
    kernel::look_ahead(state, payloads)
}

#[target_feature(enable = "avx2")]
pub fn descramble_avx2(state: u64, line: &[u64], payloads: &mut [u64]) -> u64 {
    kernel::descramble(state, line, payloads)
}

#[target_feature(enable = "avx512f,avx512vl,avx512vbmi2")]
pub fn descramble_avx512(state: u64, line: &[u64], payloads: &mut [u64]) -> u64 {
    kernel::descramble(state, line, payloads)
}

#[target_feature(enable = "avx2")]
pub fn onto_line_avx2(
    state: u64,
    held: u64,
    phase: usize,
    payloads: &[u64],
    control: impl Fn(usize) -> u32,
    line: &mut [u64],
) -> (u64, u64) {
    let scramble = kernel::look_ahead;
    let pack = |payloads: &_, headers, line: &mut _| pack_avx2(payloads, headers, line);
    kernel::onto_line(scramble, pack, state, held, phase, payloads, control, line)
}

#[target_feature(enable = "avx512f,avx512vl,avx512vbmi2")]
pub fn onto_line_avx512(
    state: u64,
    held: u64,
    phase: usize,
    payloads: &[u64],
    control: impl Fn(usize) -> u32,
    line: &mut [u64],
) -> (u64, u64) {
    let scramble = |state, payloads: &mut [u64]| scramble_avx512(state, payloads);
    let pack = |payloads: &_, headers, line: &mut _| pack_avx512(payloads, headers, line);
    kernel::onto_line(scramble, pack, state, held, phase, payloads, control, line)
}

#[target_feature(enable = "avx2")]
pub fn off_line_avx2(state: u64, held: u64, bits: u32, words: &[u64], groups: &mut Groups) {
    kernel::off_line(
        |line, payloads| unpack_avx2(line, payloads),
        state,
        held,
        bits,
        words,
        groups,
    );
}

#[target_feature(enable = "avx512f,avx512vl,avx512vbmi2")]
pub fn off_line_avx512(state: u64, held: u64, bits: u32, words: &[u64], groups: &mut Groups) {
    kernel::off_line(
        |line, payloads| unpack_avx512(line, payloads),
        state,
        held,
        bits,
        words,
        groups,
    );
}

// These are not to be inlined: within the loop over groups the compiler finds no vectors in them.

#[inline(never)]
#[target_feature(enable = "avx2")]
fn pack_avx2(payloads: &[u64; GROUP], headers: u64, line: &mut [u64; WORDS]) {
    kernel::pack(payloads, headers, line);
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512vbmi2")]
fn pack_avx512(payloads: &[u64; GROUP], headers: u64, line: &mut [u64; WORDS]) {
    kernel::pack(payloads, headers, line);
}

#[inline(never)]
#[target_feature(enable = "avx2")]
fn unpack_avx2(line: &[u64; WORDS], payloads: &mut [u64; GROUP]) -> u64 {
    kernel::unpack(line, payloads)
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512vbmi2")]
fn unpack_avx512(line: &[u64; WORDS], payloads: &mut [u64; GROUP]) -> u64 {
    kernel::unpack(line, payloads)
}

/// Words `n` back from those of `$one`, whose predecessors are `$two`.
macro_rules! back {
    ($one:expr, $two:expr, $n:literal) => {
        _mm512_alignr_epi64::<{ 8 - $n }>($one, $two)
    };
}

/// A sum of a vector and two funnel shifts: those of `$a` and what went before it, and of `$c` and
/// what went before it.
macro_rules! tap {
    ($x:expr, $a:expr, $b:expr, $by:literal, $c:expr, $d:expr, $and:literal) => {
        _mm512_ternarylogic_epi64::<0x96>(
            $x,
            _mm512_shldi_epi64::<$by>($a, $b),
            _mm512_shldi_epi64::<$and>($c, $d),
        )
    };
}

/// Look-ahead by four squarings (see [`kernel::look_ahead`]): 1 + x^624 + x^928 reaches back more than
/// eight words, so that a vector of eight waits for earlier vectors only. All history is in
/// registers.
#[target_feature(enable = "avx512f,avx512vl,avx512vbmi2")]
pub fn scramble_avx512(state: u64, payloads: &mut [u64]) -> u64 {
    let (chunks, rest) = payloads.as_chunks_mut::<8>();
    let zero = _mm512_setzero_si512();
    let (mut d1, mut u1, mut v1, mut w1) = (zero, zero, zero, zero);
    let (mut y1, mut y2) = (zero, zero);
    let mut first = _mm512_maskz_set1_epi64(1, (state >> 6 ^ state >> 25) as i64);
    for chunk in &mut *chunks {
        // SAFETY: a chunk is 64 bytes.
        let d = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        let d = _mm512_xor_si512(d, first);
        first = zero;

        let one = back!(d, d1, 1);
        let u = tap!(d, d, one, 39, d, one, 58);
        let (one, two) = (back!(u, u1, 1), back!(u, u1, 2));
        let v = tap!(u, one, two, 14, one, two, 52);
        let (two, three, four) = (back!(v, v1, 2), back!(v, v1, 3), back!(v, v1, 4));
        let w = tap!(v, two, three, 28, three, four, 40);
        let (four, five, seven) = (back!(w, w1, 4), back!(w, w1, 5), back!(w, w1, 7));
        let x = tap!(w, four, five, 56, seven, w1, 16);

        let (nine, ten) = (back!(y1, y2, 1), back!(y1, y2, 2));
        let (fourteen, fifteen) = (back!(y1, y2, 6), back!(y1, y2, 7));
        let y = tap!(x, nine, ten, 48, fourteen, fifteen, 32);

        // SAFETY: a chunk is 64 bytes.
        unsafe { _mm512_storeu_si512(chunk.as_mut_ptr().cast(), y) };
        (d1, u1, v1, w1) = (d, u, v, w);
        (y2, y1) = (y1, y);
    }
    kernel::words(chunks.last().map_or(state, |chunk| chunk[7]), rest)
}
