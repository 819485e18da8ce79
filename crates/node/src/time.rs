//! Time as an integer count of picoseconds.

use crate::quantity::{QuantityError, quantity};
use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};
use core::str::FromStr;

/// Picoseconds in a second.
pub(crate) const SECOND: u64 = 1_000_000_000_000;

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

impl FromStr for Time {
    type Err = QuantityError;
    /// Reads `1 s`, `10ms`, `67.2 ns`, `500 us`, `97 ps`, and tc's `5 msec`; a bare `0` needs no unit.
    fn from_str(text: &str) -> Result<Time, QuantityError> {
        let scale = |unit: &str| match unit {
            "" if text.trim() == "0" => Ok(1),
            _ => scale(unit),
        };
        quantity(text, EXAMPLE, RANGE, scale).map(Time)
    }
}

const EXAMPLE: &str = "67.2 ns";
const RANGE: &str = "a time is at most 213 days, in whole picoseconds";

/// A unit in picoseconds.
fn scale(unit: &str) -> Result<u64, QuantityError> {
    Ok(match unit {
        "ps" | "psec" => 1,
        "ns" | "nsec" | "nsecs" => 1_000,
        "us" | "µs" | "μs" | "usec" | "usecs" => 1_000_000,
        "ms" | "msec" | "msecs" => 1_000_000_000,
        "s" | "sec" | "secs" => SECOND,
        "min" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        _ => return Err(QuantityError::Unit("ps, ns, us, ms, s, min, h")),
    })
}

/// Reads a time whose bare number is seconds, as in ping(8) and timeout(1): `0.2`, `10`, `10ms`.
///
/// # Errors
/// As those of [`Time::from_str`].
pub fn seconds(text: &str) -> Result<Time, QuantityError> {
    let scale = |unit: &str| match unit {
        "" => Ok(SECOND),
        _ => scale(unit),
    };
    quantity(text, "10 or 10ms", RANGE, scale).map(Time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

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
        assert_eq!("5 msec".parse(), Ok(Time::from_ms(5)));
        assert_eq!(".5h".parse(), Ok(Time::from_secs(1_800)));
    }

    #[test]
    fn a_bare_number_is_seconds_only_where_it_is_asked_for_so() {
        assert_eq!(seconds("0.2"), Ok(Time::from_ms(200)));
        assert_eq!(seconds("10"), Ok(Time::from_secs(10)));
        assert_eq!(seconds("10ms"), Ok(Time::from_ms(10)));
        for wrong in ["", "-1", "10 packets", "10%"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
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
            "1.2.3 s".parse::<Time>(),
            Err(QuantityError::NoNumber(_))
        ));
    }
}
