//! Lines written in portable code.

use crate::{Date, MIN_FRAME_LEN};
use alloc::vec::Vec;

/// The two digits of each byte.
const DIGITS: [[u8; 2]; 256] = {
    let mut digits = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        digits[byte] = [
            b"0123456789ABCDEF"[byte >> 4],
            b"0123456789ABCDEF"[byte & 15],
        ];
        byte += 1;
    }
    digits
};

/// Appends a date's field and the space behind it.
#[inline]
pub(super) fn date(date: Date, out: &mut Vec<u8>) {
    field(&date.as_ps().to_be_bytes()[16 - Date::DIGITS / 2..], out);
}

/// Appends a line to `out`; the frame's length has been checked.
pub(super) fn line(word: Option<u64>, hash: Option<u32>, frame: &[u8], out: &mut Vec<u8>) {
    let (header, payload) = frame.split_at(MIN_FRAME_LEN);
    if let Some(word) = word {
        field(&word.to_be_bytes(), out);
    }
    if let Some(hash) = hash {
        field(&hash.to_be_bytes(), out);
    }
    field(&header[..6], out);
    field(&header[6..12], out);
    field(&header[12..], out);
    let start = out.len();
    out.resize(start + 3 * payload.len(), b' ');
    for (text, &byte) in out[start..].chunks_exact_mut(3).zip(payload) {
        text[..2].copy_from_slice(&DIGITS[byte as usize]);
    }
    let last = out.len() - 1;
    out[last] = b'\n';
}

/// Appends the digits of `bytes`, and a space.
fn field(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        out.extend_from_slice(&DIGITS[byte as usize]);
    }
    out.push(b' ');
}
