//! Hash algorithms of v1model and PSA.

use alloc::vec::Vec;
use packet::checksum::checksum;

pub use p4::ir::Algorithm;

/// A CRC in the terms of the Rocksoft model; `width` from 8 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crc {
    /// How many bits it has.
    pub width: u32,
    /// Without the topmost bit.
    pub polynomial: u64,
    /// What it begins with.
    pub initial: u64,
    /// What is added at the end.
    pub last: u64,
    /// Whether each byte counts its least significant bit first.
    pub reflect_in: bool,
    /// Whether the result is turned round.
    pub reflect_out: bool,
}

/// CRC-16/ARC, which bmv2 calls `crc16`.
pub const CRC16: Crc = Crc {
    width: 16,
    polynomial: 0x8005,
    initial: 0,
    last: 0,
    reflect_in: true,
    reflect_out: true,
};

/// CRC-32 of Ethernet.
pub const CRC32: Crc = Crc {
    width: 32,
    polynomial: 0x04C1_1DB7,
    initial: 0xFFFF_FFFF,
    last: 0xFFFF_FFFF,
    reflect_in: true,
    reflect_out: true,
};

#[derive(Clone, Debug)]
pub struct CrcTable {
    crc: Crc,
    table: Vec<u64>,
}

fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

impl CrcTable {
    /// Makes the table; the width is brought into 8 to 64.
    #[must_use]
    pub fn new(mut crc: Crc) -> Self {
        crc.width = crc.width.clamp(8, 64);
        let table = (0..256u64)
            .map(|byte| {
                let mut value = if crc.reflect_in {
                    byte
                } else {
                    byte << (crc.width - 8)
                };
                for _ in 0..8 {
                    value = if crc.reflect_in {
                        let polynomial = crc.polynomial.reverse_bits() >> (64 - crc.width);
                        (value >> 1) ^ if value & 1 == 1 { polynomial } else { 0 }
                    } else {
                        let top = value >> (crc.width - 1) & 1 == 1;
                        ((value << 1) ^ if top { crc.polynomial } else { 0 }) & mask(crc.width)
                    };
                }
                value
            })
            .collect();
        CrcTable { crc, table }
    }

    #[must_use]
    pub fn crc(&self) -> Crc {
        self.crc
    }

    /// By byte, in the order of [`Crc::reflect_in`].
    #[must_use]
    pub fn entries(&self) -> &[u64] {
        &self.table
    }

    /// The CRC of bytes.
    #[must_use]
    pub fn of(&self, bytes: &[u8]) -> u64 {
        let Crc {
            width,
            initial,
            last,
            reflect_in,
            reflect_out,
            ..
        } = self.crc;
        let mut value = initial & mask(width);
        if reflect_in {
            value = value.reverse_bits() >> (64 - width);
            for byte in bytes {
                value = value >> 8 ^ self.table[usize::from(value as u8 ^ byte)];
            }
        } else {
            for byte in bytes {
                let index = (value >> (width - 8)) as u8 ^ byte;
                value = (value << 8 & mask(width)) ^ self.table[usize::from(index)];
            }
        }
        if reflect_in != reflect_out {
            value = value.reverse_bits() >> (64 - width);
        }
        (value ^ last) & mask(width)
    }
}

/// The tables of CRCs.
#[derive(Clone, Debug)]
pub struct Tables {
    /// CRC-16/ARC.
    pub crc16: CrcTable,
    /// CRC-32 of Ethernet.
    pub crc32: CrcTable,
    /// `crc16_custom`; CRC-16/ARC unless chosen otherwise.
    pub crc16_custom: CrcTable,
    /// `crc32_custom`; CRC-32 of Ethernet unless chosen otherwise.
    pub crc32_custom: CrcTable,
}

impl Default for Tables {
    fn default() -> Self {
        let (crc16, crc32) = (CrcTable::new(CRC16), CrcTable::new(CRC32));
        Tables {
            crc16_custom: crc16.clone(),
            crc32_custom: crc32.clone(),
            crc16,
            crc32,
        }
    }
}

impl Tables {
    /// The hash of bytes; for [`Algorithm::Random`] it is `random`'s business.
    #[must_use]
    pub fn hash(&self, algorithm: Algorithm, bytes: &[u8], random: impl FnOnce() -> u64) -> u64 {
        match algorithm {
            Algorithm::Crc32 => self.crc32.of(bytes),
            Algorithm::Crc32Custom => self.crc32_custom.of(bytes),
            Algorithm::Crc16 => self.crc16.of(bytes),
            Algorithm::Crc16Custom => self.crc16_custom.of(bytes),
            Algorithm::Random => random(),
            Algorithm::Identity => bytes
                .iter()
                .take(8)
                .fold(0, |value, byte| value << 8 | u64::from(*byte)),
            Algorithm::Checksum16 => checksum(bytes).into(),
            Algorithm::Xor16 => {
                let (pairs, rest) = bytes.as_chunks::<2>();
                let odd = rest.first().map_or(0, |byte| u16::from(*byte) << 8);
                u64::from(
                    pairs
                        .iter()
                        .fold(odd, |all, pair| all ^ u16::from_be_bytes(*pair)),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_values_of_the_catalogue() {
        let check = |width, polynomial, initial, last, reflect: bool| {
            let crc = Crc {
                width,
                polynomial,
                initial,
                last,
                reflect_in: reflect,
                reflect_out: reflect,
            };
            CrcTable::new(crc).of(b"123456789")
        };
        assert_eq!(CrcTable::new(CRC16).of(b"123456789"), 0xBB3D);
        assert_eq!(CrcTable::new(CRC32).of(b"123456789"), 0xCBF4_3926);
        assert_eq!(check(16, 0x1021, 0xFFFF, 0, false), 0x29B1);
        assert_eq!(check(8, 0x07, 0, 0, false), 0xF4);
        assert_eq!(
            check(64, 0x42F0_E1EB_A9EA_3693, 0, 0, false),
            0x6C40_DF5F_0B49_7347
        );
        assert_eq!(
            check(32, 0x04C1_1DB7, 0xFFFF_FFFF, 0xFFFF_FFFF, false),
            0xFC89_1918
        );
        assert_eq!(check(16, 0x1021, 0x0000, 0xFFFF, true), !0x2189 & 0xFFFF);
    }

    #[test]
    fn sums_and_identity() {
        let tables = Tables::default();
        let hash = |algorithm, bytes| tables.hash(algorithm, bytes, || 9);
        assert_eq!(hash(Algorithm::Identity, b"\x01\x02\x03"), 0x01_0203);
        assert_eq!(
            hash(Algorithm::Identity, b"\x01\x02\x03\x04\x05\x06\x07\x08\x09"),
            0x0102_0304_0506_0708
        );
        assert_eq!(hash(Algorithm::Xor16, b"\x12\x34\x00\xFF\xF0"), 0xE2CB);
        assert_eq!(hash(Algorithm::Checksum16, b"\xFF\xFF\x00\x01"), 0xFFFE);
        assert_eq!(hash(Algorithm::Random, b""), 9);
    }
}
