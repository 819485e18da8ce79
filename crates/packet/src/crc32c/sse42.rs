//! CRC-32C by the instruction that x86-64 processors have had since 2008.

use core::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u32, _mm_crc32_u64};

cpufeatures::new!(has_sse42, "sse4.2");

/// As [`of_tuple`](super::of_tuple); `None` where the processor lacks the instruction.
#[inline]
pub fn of_tuple<const N: usize>(
    addresses: [[u8; 8]; N],
    protocol: u8,
    ports: [u8; 4],
) -> Option<u32> {
    // SAFETY: the instruction is there, as was just found.
    has_sse42::get().then(|| unsafe { instructions(addresses, protocol, ports) })
}

#[target_feature(enable = "sse4.2")]
fn instructions<const N: usize>(addresses: [[u8; 8]; N], protocol: u8, ports: [u8; 4]) -> u32 {
    let mut sum = u64::from(u32::MAX);
    for chunk in addresses {
        sum = _mm_crc32_u64(sum, u64::from_le_bytes(chunk));
    }
    !_mm_crc32_u32(
        _mm_crc32_u8(sum as u32, protocol),
        u32::from_le_bytes(ports),
    )
}
