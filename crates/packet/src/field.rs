//! Big-endian fields at fixed places of a header. That they are within it is checked when the
//! code is compiled: reading a field of a view cannot panic.

/// The `L` bytes at `AT`.
#[inline]
pub fn bytes<const AT: usize, const L: usize, const N: usize>(header: &[u8; N]) -> [u8; L] {
    const { assert!(AT + L <= N) };
    core::array::from_fn(|i| header[AT + i])
}

/// The 16 bits at `AT`.
#[inline]
pub fn u16<const AT: usize, const N: usize>(header: &[u8; N]) -> u16 {
    u16::from_be_bytes(bytes::<AT, 2, N>(header))
}

/// The 32 bits at `AT`.
#[inline]
pub fn u32<const AT: usize, const N: usize>(header: &[u8; N]) -> u32 {
    u32::from_be_bytes(bytes::<AT, 4, N>(header))
}

/// Splits off a header of `N` bytes, or says what is missing.
#[inline]
pub fn split<'a, const N: usize>(
    bytes: &'a [u8],
    missing: &'static str,
) -> Result<(&'a [u8; N], &'a [u8]), crate::BadHeader> {
    bytes.split_first_chunk().ok_or(crate::BadHeader(missing))
}

/// Writes 16 bits at `at` of a buffer, which has room for them.
pub fn put_u16(out: &mut [u8], at: usize, value: u16) {
    out[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
