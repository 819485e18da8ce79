//! The unit of a capture's stamps, and exact conversion to picoseconds.

/// Picoseconds in a second, as a power of ten.
const PICO: u32 = 12;
const SECOND: u128 = 1_000_000_000_000;

/// The unit of an interface's stamps: a negative power of ten or of two, of a second
/// (`if_tsresol`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution(u8);

impl Resolution {
    /// Microseconds: what pcap has, and pcapng unless it says otherwise.
    pub const MICRO: Resolution = Resolution(6);
    /// Nanoseconds.
    pub const NANO: Resolution = Resolution(9);
    /// Picoseconds.
    pub const PICO: Resolution = Resolution(12);

    /// From the option's byte: the lower seven bits are an exponent, the top bit says that it is
    /// one of two.
    pub const fn from_byte(byte: u8) -> Resolution {
        Resolution(byte)
    }

    /// The option's byte.
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// A count of units since `offset_s` after 1970, in picoseconds since 1970, rounded down; what
    /// is before 1970 is zero.
    #[inline]
    pub fn to_ps(self, units: u64, offset_s: i64) -> u128 {
        let (units, exponent) = (u128::from(units), u32::from(self.0 & 0x7F));
        let ps = match self.0 {
            // The usual four without a look-up: 64 by 64 bits.
            6 => units * 1_000_000,
            9 => units * 1_000,
            12 => units,
            // At most 2^64 * 10^12, which is below 2^104.
            0..=11 => units * 10u128.pow(PICO - exponent),
            // No divisor that fits 128 bits: less than a picosecond.
            13..=0x7F => 10u128
                .checked_pow(exponent - PICO)
                .map_or(0, |unit| units / unit),
            0x80.. => (units * SECOND) >> exponent,
        };
        match offset_s {
            0 => ps,
            1.. => ps + u128::from(offset_s.unsigned_abs()) * SECOND,
            _ => ps.saturating_sub(u128::from(offset_s.unsigned_abs()) * SECOND),
        }
    }

    /// Whether [`to_ps`](Resolution::to_ps) gives just what the units say: a whole number of picoseconds, not before 1970.
    pub fn is_exact(self, units: u64, offset_s: i64) -> bool {
        let exponent = u32::from(self.0 & 0x7F);
        let whole = match self.0 {
            0..=12 | 0x80..=0x8C => true,
            13..=0x7F => match 10u128.checked_pow(exponent - PICO) {
                Some(unit) => u128::from(units).is_multiple_of(unit),
                None => units == 0,
            },
            // 10^12 is 5^12 * 2^12.
            0x8D.. => units.trailing_zeros() + PICO >= exponent || units == 0,
        };
        let before = u128::from(offset_s.min(0).unsigned_abs()) * SECOND;
        whole && (before == 0 || self.to_ps(units, 0) >= before)
    }

    /// The count of units that says just this many picoseconds since 1970, if one does.
    #[inline]
    pub fn exact(self, ps: u128, offset_s: i64) -> Option<u64> {
        let units = self.from_ps(ps, offset_s);
        (self.to_ps(units, offset_s) == ps && self.is_exact(units, offset_s)).then_some(units)
    }

    /// The count of units for picoseconds since 1970, rounded down. What does not fit becomes the
    /// nearest that does.
    #[inline]
    pub fn from_ps(self, ps: u128, offset_s: i64) -> u64 {
        let offset = u128::from(offset_s.unsigned_abs()).saturating_mul(SECOND);
        let ps = match offset_s {
            0 => ps,
            1.. => ps.saturating_sub(offset),
            _ => ps.saturating_add(offset),
        };
        let exponent = u32::from(self.0 & 0x7F);
        let units = match self.0 {
            // A 64-bit division where the stamp is in 64 bits of picoseconds.
            0..=12 => {
                let unit = 10u64.pow(PICO - exponent);
                match u64::try_from(ps) {
                    Ok(ps) => return ps / unit,
                    Err(_) => ps / u128::from(unit),
                }
            }
            13..=0x7F => match 10u128.checked_pow(exponent - PICO) {
                Some(unit) => ps.saturating_mul(unit),
                None if ps == 0 => 0,
                None => u128::MAX,
            },
            // 10^12 is 5^12 * 2^12: a shift and a division are exact. A shift that loses bits leaves
            // more than 64 of them.
            0x80..=0x8B => ps / (SECOND >> exponent),
            0x8C.. if ps.leading_zeros() >= exponent - PICO => {
                (ps << (exponent - PICO)) / 5u128.pow(PICO)
            }
            0x8C.. => u128::MAX,
        };
        u64::try_from(units).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_and_two_convert_exactly() {
        assert_eq!(Resolution::from_byte(0).to_ps(3, 0), 3 * SECOND);
        assert_eq!(Resolution::MICRO.to_ps(1, 0), 1_000_000);
        assert_eq!(Resolution::from_byte(15).to_ps(1_999, 0), 1);
        assert_eq!(Resolution::from_byte(127).to_ps(u64::MAX, 0), 0);
        assert_eq!(Resolution::from_byte(0x80 | 10).to_ps(1, 0), 976_562_500);
        assert_eq!(Resolution::from_byte(0xFF).to_ps(u64::MAX, 0), 0);
        assert_eq!(
            Resolution::from_byte(0x80).to_ps(u64::MAX, 0),
            u128::from(u64::MAX) * SECOND
        );
        assert_eq!(Resolution::NANO.to_ps(5, 1_000), 1_000 * SECOND + 5_000);
        assert_eq!(Resolution::NANO.to_ps(2_000_000_000, -1), SECOND);
        assert_eq!(Resolution::NANO.to_ps(0, i64::MIN), 0);
    }

    #[test]
    fn units_come_back_from_picoseconds() {
        for byte in [0, 3, 6, 7, 9, 12] {
            let resolution = Resolution::from_byte(byte);
            for units in [0, 1, 1_700_000_000_123_456_789, u64::MAX] {
                for offset in [0, 5, 1_700_000_000] {
                    let ps = resolution.to_ps(units, offset);
                    assert_eq!(resolution.from_ps(ps, offset), units, "{byte} {offset}");
                }
            }
        }
        let binary = Resolution::from_byte(0x80 | 32);
        assert_eq!(binary.from_ps(SECOND / 2, 0), 1 << 31);
        assert_eq!(Resolution::from_byte(0x80 | 3).from_ps(SECOND / 4, 0), 2);
        assert_eq!(
            Resolution::from_byte(0x80 | 88).from_ps(1, 0),
            ((1u128 << 76) / 5u128.pow(12)) as u64
        );
        assert_eq!(binary.from_ps(u128::MAX, i64::MIN), u64::MAX);
        for byte in 0..=255 {
            let resolution = Resolution::from_byte(byte);
            assert_eq!(resolution.from_ps(0, 0), 0);
            assert_eq!(resolution.from_ps(u128::MAX, 0), u64::MAX, "{byte}");
            resolution.to_ps(u64::MAX, i64::MAX);
        }
    }

    #[test]
    fn what_a_resolution_cannot_say_is_told_from_what_it_can() {
        let femto = Resolution::from_byte(15);
        let binary = |exponent: u8| Resolution::from_byte(0x80 | exponent);
        for (resolution, units, offset, exact) in [
            (Resolution::NANO, u64::MAX, 0, true),
            (Resolution::NANO, 999_999_999, -1, false),
            (Resolution::NANO, 1_000_000_000, -1, true),
            (femto, 2_000, 0, true),
            (femto, 2_001, 0, false),
            (Resolution::from_byte(127), 1, 0, false),
            (binary(12), 7, 0, true),
            (binary(32), 1 << 20, 0, true),
            (binary(32), 1 << 19, 0, false),
            (binary(127), 0, 0, true),
        ] {
            let name = resolution.byte();
            assert_eq!(resolution.is_exact(units, offset), exact, "{name} {units}");
            if exact {
                let ps = resolution.to_ps(units, offset);
                assert_eq!(resolution.exact(ps, offset), Some(units), "{name} {units}");
            }
        }
        assert_eq!(Resolution::NANO.exact(1_001, 0), None);
        assert_eq!(Resolution::PICO.exact(1 << 64, 0), None);
        assert_eq!(Resolution::PICO.exact(SECOND, 2), None);
        let last = u128::from(u64::MAX) + 2 * SECOND;
        assert_eq!(Resolution::PICO.exact(last, 2), Some(u64::MAX));
        assert_eq!(Resolution::PICO.exact(last + 1, 2), None);
    }

    #[test]
    fn a_stamp_out_of_range_becomes_the_nearest() {
        assert_eq!(Resolution::PICO.from_ps(1 << 64, 0), u64::MAX);
        assert_eq!(Resolution::PICO.from_ps(SECOND, 2), 0);
    }
}
