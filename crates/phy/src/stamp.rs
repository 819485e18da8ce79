//! Places along the line, in bits.

use core::ops::{Add, Sub};

/// A place along the line, in bits from the stream's start: 3200/33 ps (97 ps) each at 10.3125 Gb/s.
///
/// A character's stamp is `66 * block + 33 * (lane / 4)`, so that four characters are 33 bits and
/// 3.2 ns, exactly, as on the XGMII. A frame's stamp is that of its first byte behind the SFD, which
/// is always in lane 0 or 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// Bits of a block.
    pub const BLOCK: u64 = 66;
    /// Bits of four characters.
    pub const COLUMN: u64 = 33;
    /// Picoseconds of four characters at 10 Gb/s.
    pub const COLUMN_PS: u64 = 3200;

    /// That of a block's lane 0.
    pub const fn of_block(block: u64) -> Stamp {
        Stamp(block * Stamp::BLOCK)
    }

    /// That of a character counted from the stream's start, in a stream that starts with a block.
    pub const fn of_character(character: u64) -> Stamp {
        Stamp(character / 4 * Stamp::COLUMN)
    }

    /// Picoseconds from the stream's start at 10.3125 Gb/s, rounded down; exact for multiples of 33.
    pub const fn picoseconds(self) -> u64 {
        (self.0 as u128 * Stamp::COLUMN_PS as u128 / Stamp::COLUMN as u128) as u64
    }

    /// The first stamp of a column that is not before this many picoseconds.
    pub const fn from_picoseconds(ps: u64) -> Stamp {
        Stamp(ps.div_ceil(Stamp::COLUMN_PS) * Stamp::COLUMN)
    }
}

impl Add<u64> for Stamp {
    type Output = Stamp;
    fn add(self, bits: u64) -> Stamp {
        Stamp(self.0 + bits)
    }
}

impl Sub for Stamp {
    type Output = u64;
    /// Bits from one to the other.
    fn sub(self, earlier: Stamp) -> u64 {
        self.0 - earlier.0
    }
}
