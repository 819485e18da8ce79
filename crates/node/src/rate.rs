//! Bit rates, which turn bits into time without rounding away.

use crate::Time;
use crate::quantity::{QuantityError, quantity};
use crate::time::SECOND;
use core::fmt;
use core::str::FromStr;

/// A bit rate, in bits a second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(core::num::NonZeroU64);

impl Rate {
    /// 10 Gigabit Ethernet, as the MAC sees it: one bit is 100 ps.
    pub const TEN_GIGABIT: Rate = match Rate::from_bits_per_second(10_000_000_000) {
        Some(rate) => rate,
        None => unreachable!(),
    };

    /// From bits a second; `None` for zero.
    pub const fn from_bits_per_second(bits: u64) -> Option<Rate> {
        match core::num::NonZeroU64::new(bits) {
            Some(bits) => Some(Rate(bits)),
            None => None,
        }
    }

    /// As bits a second.
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// The time `bits` take, and the remainder in units of 1/rate picoseconds, which the caller
    /// carries into the next call so that rounding never accumulates. `carry` is below the rate.
    pub fn time_of(self, bits: u64, carry: u64) -> (Time, u64) {
        let rate = self.0.get();
        // The usual rates have a whole number of picoseconds to a bit: no 128-bit division.
        if carry == 0 && SECOND.is_multiple_of(rate) {
            return (Time::from_ps(bits.saturating_mul(SECOND / rate)), 0);
        }
        let total = u128::from(bits) * u128::from(SECOND) + u128::from(carry);
        let time = u64::try_from(total / u128::from(rate)).unwrap_or(u64::MAX);
        (Time::from_ps(time), (total % u128::from(rate)) as u64)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.get();
        for (scale, unit) in [
            (1_000_000_000, "Gb/s"),
            (1_000_000, "Mb/s"),
            (1_000, "kb/s"),
        ] {
            if bits >= scale {
                let (whole, mut part, mut digits) = (bits / scale, bits % scale, 0);
                if part == 0 {
                    return write!(f, "{whole} {unit}");
                }
                let mut width = scale.ilog10() as usize;
                while part.is_multiple_of(10) {
                    part /= 10;
                    digits += 1;
                }
                width -= digits;
                return write!(f, "{whole}.{part:0width$} {unit}");
            }
        }
        write!(f, "{bits} b/s")
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    /// Reads `10 Gb/s`, `100Mbit/s`, `3gbit` as tc has it, `3Gbps`, `1.5G`, `9600 b/s`. A number of anything else a second,
    /// such as `100/s` or `1 MB/s`, is an error.
    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        Rate::read(text, bits)
    }
}

impl Rate {
    /// Reads a rate in a line of tc(8), whose `kbps`, `mbps` and `gbps` are bytes a second, in any case of letters. All
    /// other words mean what they mean everywhere.
    ///
    /// # Errors
    /// As those of [`Rate::from_str`].
    pub fn from_tc(text: &str) -> Result<Rate, QuantityError> {
        Rate::read(text, |unit| {
            let unit = unit.to_ascii_lowercase();
            match unit.strip_suffix("bps") {
                Some(prefix) => scale(prefix).map(|scale| 8 * scale),
                None => bits(&unit),
            }
        })
    }

    fn read(text: &str, scale: impl Fn(&str) -> Option<u64>) -> Result<Rate, QuantityError> {
        let scale =
            |unit: &str| scale(unit).ok_or(QuantityError::Unit("b/s, kb/s, Mb/s, Gb/s, Tb/s"));
        let bits = quantity(text, "10 Gb/s", RANGE, scale)?;
        Rate::from_bits_per_second(bits).ok_or(QuantityError::Range(RANGE))
    }
}

const RANGE: &str =
    "a rate is at least 1 b/s, in whole bits a second; leave it out for a link that takes no time";

/// How many bits a second a unit of them is.
fn bits(unit: &str) -> Option<u64> {
    let a_second = unit.strip_suffix("/s").or(unit.strip_suffix("ps"));
    let bits = a_second.unwrap_or(unit);
    match bits.strip_suffix("bit").or(bits.strip_suffix('b')) {
        Some(prefix) => scale(prefix),
        None if a_second.is_some() => None,
        None => scale(bits),
    }
}

/// What stands before the unit.
fn scale(prefix: &str) -> Option<u64> {
    Some(match prefix {
        "" => 1,
        "k" | "K" => 1_000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        "t" | "T" => SECOND,
        "ki" | "Ki" => 1 << 10,
        "mi" | "Mi" => 1 << 20,
        "gi" | "Gi" => 1 << 30,
        "ti" | "Ti" => 1 << 40,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_rate_is_bits_a_second_in_the_words_of_all() {
        for same in [
            "3Gb/s",
            "3 Gbit/s",
            "3gbit",
            "3Gbps",
            "3G",
            "3000 mbit",
            "3000000000",
        ] {
            let rate = Rate::from_bits_per_second(3_000_000_000);
            assert_eq!(same.parse().ok(), rate, "{same}");
        }
        for other in [
            "100/s", "100 pps", "1 MB/s", "1MBps", "1 /s", "3 bits", "3Gb/s/s",
        ] {
            assert!(other.parse::<Rate>().is_err(), "{other}");
        }
    }

    #[test]
    fn rates_read_back_as_they_are_shown() {
        for bits in [
            1,
            9_600,
            64_000,
            100_000_000,
            10_000_000_000,
            10_312_500_000,
            1_234_567_891,
        ] {
            let rate = Rate::from_bits_per_second(bits).unwrap();
            assert_eq!(rate.to_string().parse(), Ok(rate), "{rate}");
        }
        assert_eq!("10G".parse(), Ok(Rate::TEN_GIGABIT));
        assert_eq!("10 Gbit/s".parse(), Ok(Rate::TEN_GIGABIT));
        assert!(matches!(
            "0 Gb/s".parse::<Rate>(),
            Err(QuantityError::Range(_))
        ));
    }

    #[test]
    fn a_line_of_tc_has_bytes_a_second_in_three_words_and_bits_in_all_others() {
        let bits = |text| Rate::from_tc(text).map(Rate::bits_per_second);
        assert_eq!(bits("1mbps"), Ok(8_000_000));
        assert_eq!(bits("1.5KBPS"), Ok(12_000));
        for same in ["1mbit", "1Mbit", "1Mb/s", "1000kbit", "1M", "1000000"] {
            assert_eq!(bits(same), Ok(1_000_000), "{same}");
        }
        assert_eq!(bits("1kibit"), Ok(1_024));
        assert!(bits("1 furlong").is_err());
    }

    #[test]
    fn rounding_never_accumulates() {
        let rate = Rate::from_bits_per_second(3).unwrap();
        let (mut total, mut carry) = (Time::ZERO, 0);
        for _ in 0..3_000 {
            let (time, rest) = rate.time_of(1, carry);
            total += time;
            carry = rest;
        }
        assert_eq!(total, Time::from_secs(1_000));
    }
}
