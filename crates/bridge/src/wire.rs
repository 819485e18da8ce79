//! Fields of an Ethernet header that a switch reads at full speed: addresses as numbers, and the tag after them.

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
pub(crate) const TPID_CUSTOMER: u16 = 0x8100;
pub(crate) const TPID_SERVICE: u16 = 0x88A8;
/// Addresses that end in 0 to F here are for bridges themselves and are never forwarded (802.1Q 8.6.3).
pub(crate) const RESERVED_GROUP: u64 = 0x0180_C200_0000;

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// The destination and the source address of a frame, each as the low 48 bits of a number; `None`
/// when the frame is shorter than an Ethernet header.
pub(crate) fn addresses(frame: &[u8]) -> Option<(u64, u64)> {
    // One load each, though it reads two bytes too many.
    let header = frame.first_chunk::<ETHERNET>()?;
    let number = |bytes: &[u8; 8]| u64::from_be_bytes(*bytes) >> 16;
    Some((number(header.first_chunk()?), number(header.last_chunk()?)))
}

/// Group addresses have the lowest bit of the first byte set.
pub(crate) fn is_group(mac: u64) -> bool {
    mac >> 40 & 1 == 1
}
