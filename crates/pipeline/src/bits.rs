//! Strings of bits in bytes, the most significant first, as they are on the wire.

use alloc::vec::Vec;

/// Reads `width` bits from bit `at` into `limbs`, the least significant first; limbs beyond the width become zero.
///
/// # Panics
/// When the bits are not all there, or the limbs too few.
pub fn read(bytes: &[u8], at: u64, width: u32, limbs: &mut [u64]) {
    limbs.fill(0);
    if width == 0 {
        return;
    }
    let mut end = at + u64::from(width);
    let mut left = width;
    for limb in limbs {
        let take = left.min(64);
        *limb = read_small(bytes, end - u64::from(take), take);
        end -= u64::from(take);
        left -= take;
        if left == 0 {
            return;
        }
    }
    assert!(left == 0, "{width} bits do not fit");
}

/// Reads at most 64 bits.
fn read_small(bytes: &[u8], at: u64, width: u32) -> u64 {
    let first = (at / 8) as usize;
    let skip = (at % 8) as u32;
    let last = ((at + u64::from(width)).div_ceil(8)) as usize;
    let mut value = 0u128;
    for byte in &bytes[first..last] {
        value = value << 8 | u128::from(*byte);
    }
    let behind = (last - first) as u32 * 8 - skip - width;
    let value = (value >> behind) as u64;
    if width == 64 {
        value
    } else {
        value & ((1 << width) - 1)
    }
}

/// Appends the low `width` bits of `limbs` to `bytes`, of which the first `length` bits count.
pub fn append(bytes: &mut Vec<u8>, length: &mut u64, limbs: &[u64], width: u32) {
    let mut left = width;
    while left > 0 {
        // The topmost limb may be partly used; from there on down whole ones.
        let index = ((left - 1) / 64) as usize;
        let take = left - index as u32 * 64;
        let limb = limbs.get(index).copied().unwrap_or(0);
        append_small(bytes, length, limb, take);
        left -= take;
    }
}

/// Appends at most 64 bits.
fn append_small(bytes: &mut Vec<u8>, length: &mut u64, value: u64, width: u32) {
    let mut left = width;
    while left > 0 {
        let used = (*length % 8) as u32;
        if used == 0 {
            bytes.push(0);
        }
        let take = left.min(8 - used);
        let piece = (value >> (left - take)) as u8 & (0xFFu16 >> (8 - take)) as u8;
        if let Some(last) = bytes.last_mut() {
            *last |= piece << (8 - used - take);
        }
        *length += u64::from(take);
        left -= take;
    }
}

/// Appends the bits of `tail` from bit `from` on.
pub fn append_bytes(bytes: &mut Vec<u8>, length: &mut u64, tail: &[u8], from: u64) {
    let whole = (from / 8) as usize;
    if length.is_multiple_of(8) && from.is_multiple_of(8) {
        let tail = tail.get(whole..).unwrap_or(&[]);
        bytes.extend_from_slice(tail);
        *length += tail.len() as u64 * 8;
        return;
    }
    let mut at = from;
    let end = tail.len() as u64 * 8;
    while at < end {
        let take = (8 - at % 8).min(end - at) as u32;
        append_small(bytes, length, read_small(tail, at, take), take);
        at += u64::from(take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn what_is_appended_at_any_bit_is_read_back() {
        for start in 0..17u64 {
            for width in [1, 3, 8, 13, 63, 64, 65, 100, 128, 130, 192] {
                let limbs = [
                    0x0123_4567_89ab_cdef,
                    0xfedc_ba98_7654_3210,
                    0xa5a5_a5a5_5a5a_5a5a,
                ];
                let (mut bytes, mut length) = (Vec::new(), 0);
                append(&mut bytes, &mut length, &[0x1_5555], start as u32);
                append(&mut bytes, &mut length, &limbs, width);
                append(&mut bytes, &mut length, &[u64::MAX], 5);
                assert_eq!(length, start + u64::from(width) + 5);
                let mut back = [7; 3];
                read(&bytes, start, width, &mut back);
                for (index, limb) in limbs.iter().enumerate() {
                    let bits = width.saturating_sub(index as u32 * 64).min(64);
                    let mask = if bits == 64 {
                        u64::MAX
                    } else {
                        (1 << bits) - 1
                    };
                    assert_eq!(back[index], limb & mask, "{start} {width} {index}");
                }
            }
        }
    }

    #[test]
    fn a_tail_follows_where_the_bits_end() {
        let (mut bytes, mut length) = (Vec::new(), 0);
        append(&mut bytes, &mut length, &[0b101], 3);
        append_bytes(&mut bytes, &mut length, &[0xF0, 0x0F], 4);
        assert_eq!((bytes, length), (vec![0b1010_0000, 0b0001_1110], 15));
    }
}
