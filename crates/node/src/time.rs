//! Time as an integer count of picoseconds, and rates that turn bits into it without rounding away.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};
use core::str::FromStr;

/// Picoseconds in a second.
const SECOND: u64 = 1_000_000_000_000;

/// A point on a world's time axis, or a length of it: an integer count of picoseconds.
///
/// Zero is the start of the run in every world; a world on a real machine keeps the offset to the
/// machine's counter at its edge. The range is 213 days. Arithmetic saturates: [`Time::MAX`] is
/// "never", and nothing is before [`Time::ZERO`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start of the run; no time at all.
    pub const ZERO: Time = Time(0);
    /// Never.
    pub const MAX: Time = Time(u64::MAX);

    /// From picoseconds.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }
    /// From nanoseconds; saturates at 213 days.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns.saturating_mul(1_000))
    }
    /// From microseconds; saturates at 213 days.
    pub const fn from_us(us: u64) -> Time {
        Time(us.saturating_mul(1_000_000))
    }
    /// From milliseconds; saturates at 213 days.
    pub const fn from_ms(ms: u64) -> Time {
        Time(ms.saturating_mul(1_000_000_000))
    }
    /// From seconds; saturates at 213 days.
    pub const fn from_secs(s: u64) -> Time {
        Time(s.saturating_mul(SECOND))
    }
    /// As picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// As whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// As seconds, for people and plots; exact to 53 bits.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / SECOND as f64
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, times: u64) -> Time {
        Time(self.0.saturating_mul(times))
    }
}

impl fmt::Display for Time {
    /// In the largest unit of which there is at least one, exactly, without trailing zeros: `67.2 ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale, digits) = match self.0 {
            0 => return f.write_str("0 s"),
            SECOND.. => ("s", SECOND, 12),
            1_000_000_000.. => ("ms", 1_000_000_000, 9),
            1_000_000.. => ("us", 1_000_000, 6),
            1_000.. => ("ns", 1_000, 3),
            _ => ("ps", 1, 0),
        };
        let (whole, mut part, mut digits) = (self.0 / scale, self.0 % scale, digits);
        while part != 0 && part.is_multiple_of(10) {
            part /= 10;
            digits -= 1;
        }
        match part {
            0 => write!(f, "{whole} {unit}"),
            _ => write!(f, "{whole}.{part:0digits$} {unit}"),
        }
    }
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// No number stands at the front.
    #[error("a number and its unit are wanted, such as \"{0}\"")]
    NoNumber(&'static str),
    /// The unit is missing or not known.
    #[error("unknown or missing unit: {0} are known")]
    Unit(&'static str),
    /// The value does not fit, or has digits below the smallest unit.
    #[error("out of range: {0}")]
    Range(&'static str),
}

/// Reads `digits[.digits] unit` as an exact count of the smallest unit.
fn quantity(
    text: &str,
    example: &'static str,
    range: &'static str,
    scale_of: impl Fn(&str) -> Result<u64, QuantityError>,
) -> Result<u64, QuantityError> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || part.contains('.') {
        return Err(QuantityError::NoNumber(example));
    }
    let scale = u128::from(scale_of(unit.trim())?);
    let out_of_range = QuantityError::Range(range);
    let (mut value, mut divisor) = (0u128, 1u128);
    for digit in whole.bytes().chain(part.bytes()).filter(|&b| b != b'_') {
        value = value * 10 + u128::from(digit - b'0');
        if value > 1 << 100 {
            return Err(out_of_range);
        }
    }
    for _ in part.bytes().filter(|&b| b != b'_') {
        divisor *= 10;
    }
    let scaled = value.checked_mul(scale).ok_or(out_of_range)?;
    if !scaled.is_multiple_of(divisor) {
        return Err(out_of_range);
    }
    u64::try_from(scaled / divisor).map_err(|_| out_of_range)
}

impl FromStr for Time {
    type Err = QuantityError;
    /// Reads `1 s`, `10ms`, `67.2 ns`, `500 us`, `97 ps`; a bare `0` needs no unit.
    fn from_str(text: &str) -> Result<Time, QuantityError> {
        let scale = |unit: &str| match unit {
            "ps" => Ok(1),
            "ns" => Ok(1_000),
            "us" | "µs" => Ok(1_000_000),
            "ms" => Ok(1_000_000_000),
            "s" => Ok(SECOND),
            "min" => Ok(60 * SECOND),
            "" if text.trim() == "0" => Ok(1),
            _ => Err(QuantityError::Unit("ps, ns, us, ms, s, min")),
        };
        quantity(
            text,
            "67.2 ns",
            "a time is at most 213 days, in whole picoseconds",
            scale,
        )
        .map(Time)
    }
}

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
            return (Time(bits.saturating_mul(SECOND / rate)), 0);
        }
        let total = u128::from(bits) * u128::from(SECOND) + u128::from(carry);
        let time = u64::try_from(total / u128::from(rate)).unwrap_or(u64::MAX);
        (Time(time), (total % u128::from(rate)) as u64)
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
        let scale = |unit: &str| {
            let unknown = Err(QuantityError::Unit("b/s, kb/s, Mb/s, Gb/s, Tb/s"));
            let a_second = unit.strip_suffix("/s").or(unit.strip_suffix("ps"));
            let bits = a_second.unwrap_or(unit);
            let prefix = bits.strip_suffix("bit").or(bits.strip_suffix('b'));
            if a_second.is_some() && prefix.is_none() {
                return unknown;
            }
            match prefix.unwrap_or(bits) {
                "" => Ok(1),
                "k" | "K" => Ok(1_000),
                "m" | "M" => Ok(1_000_000),
                "g" | "G" => Ok(1_000_000_000),
                "t" | "T" => Ok(SECOND),
                _ => unknown,
            }
        };
        let range = "a rate is at least 1 b/s, in whole bits a second; leave it out for a link that takes no time";
        let bits = quantity(text, "10 Gb/s", range, scale)?;
        Rate::from_bits_per_second(bits).ok_or(QuantityError::Range(range))
    }
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
    fn times_read_back_as_they_are_shown() {
        for ps in [
            0,
            1,
            999,
            67_200,
            1_000_000,
            10_000_000_000,
            SECOND,
            SECOND + 1,
            u64::MAX,
        ] {
            let shown = Time(ps).to_string();
            assert_eq!(shown.parse(), Ok(Time(ps)), "{shown}");
        }
        assert_eq!("67.2 ns".parse(), Ok(Time(67_200)));
        assert_eq!("0".parse(), Ok(Time::ZERO));
    }

    #[test]
    fn a_quantity_without_sense_says_what_is_wanted() {
        assert!(matches!(
            "fast".parse::<Time>(),
            Err(QuantityError::NoNumber(_))
        ));
        assert!(matches!("5".parse::<Time>(), Err(QuantityError::Unit(_))));
        assert!(matches!(
            "0.5 ps".parse::<Time>(),
            Err(QuantityError::Range(_))
        ));
        assert!(matches!(
            "999999999999 s".parse::<Time>(),
            Err(QuantityError::Range(_))
        ));
        assert!(matches!(
            "0 Gb/s".parse::<Rate>(),
            Err(QuantityError::Range(_))
        ));
        assert!(matches!(
            "1.2.3 s".parse::<Time>(),
            Err(QuantityError::NoNumber(_))
        ));
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
