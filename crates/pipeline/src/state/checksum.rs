//! Checksums that a packet's path through a section adds up.

/// Ones' complement sum, or the bytes for another algorithm, of one checksum object and one packet.
#[derive(Clone, Debug, Default)]
pub struct Checksum {
    /// The ones' complement sum so far, folded to 16 bits: PSA's `InternetChecksum`.
    pub sum: u16,
    /// The bytes so far: PSA's `Checksum`.
    pub bytes: alloc::vec::Vec<u8>,
    /// How many bits of them.
    pub bits: u64,
}

impl Checksum {
    /// Nothing added yet.
    pub fn clear(&mut self) {
        self.sum = 0;
        self.bytes.clear();
        self.bits = 0;
    }
}

/// The ones' complement sum of two ones' complement sums.
#[must_use]
pub fn add(one: u16, other: u16) -> u16 {
    let sum = u32::from(one) + u32::from(other);
    ((sum & 0xFFFF) + (sum >> 16)) as u16
}
