//! The frame check sequence (Clause 3.2.9).

/// The FCS of a frame: CRC-32, as a number whose little-endian bytes follow the frame on the wire.
///
/// ```
/// assert_eq!(phy::crc::fcs(b"123456789"), 0xCBF4_3926);
/// ```
#[inline]
pub fn fcs(frame: &[u8]) -> u32 {
    crc32fast::hash(frame)
}

/// What the CRC of a frame with its FCS behind it always is.
pub const RESIDUE: u32 = 0x2144_DF1C;

/// Whether a frame with its FCS behind it is whole.
#[inline]
pub fn is_valid(with_fcs: &[u8]) -> bool {
    with_fcs.len() >= 4 && fcs(with_fcs) == RESIDUE
}
