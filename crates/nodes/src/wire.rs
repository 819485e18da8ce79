//! Fields of an Ethernet header that nodes read at full speed.

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
pub(crate) const TPID_CUSTOMER: u16 = 0x8100;
pub(crate) const TPID_SERVICE: u16 = 0x88A8;

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}
