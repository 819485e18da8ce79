//! Windows over a ring: `[RANGE 10 SECONDS]`, `[ROWS 50]`, `[SINCE 1000]`, `[NOW]`.

use crate::ring::Ring;
use crate::syntax::{SyntaxError, Word, tokens};
use alloc::format;
use alloc::string::String;
use core::ops::Range;

/// The unit of `at` in all tables of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds; since 1970 where wall clock time is stored.
    Nanoseconds,
    /// Picoseconds, as [`node::Time`] has them: simulated time, up to 106 days.
    Picoseconds,
}

impl Unit {
    /// Units in a second.
    #[must_use]
    pub fn per_second(self) -> i64 {
        match self {
            Unit::Nanoseconds => 1_000_000_000,
            Unit::Picoseconds => 1_000_000_000_000,
        }
    }

    /// A time or duration in this unit; saturates.
    #[must_use]
    pub fn of(self, time: node::Time) -> i64 {
        let units = match self {
            Unit::Nanoseconds => time.as_ns(),
            Unit::Picoseconds => time.as_ps(),
        };
        i64::try_from(units).unwrap_or(i64::MAX)
    }

    /// A duration of `count` units of this name.
    pub(crate) fn duration(self, count: i64, name: &str) -> Option<i64> {
        // Picoseconds in each.
        let scale: i64 = match name.to_ascii_uppercase().as_str() {
            "PS" | "PICOSECOND" | "PICOSECONDS" => 1,
            "NS" | "NANOSECOND" | "NANOSECONDS" => 1_000,
            "US" | "MICROSECOND" | "MICROSECONDS" => 1_000_000,
            "MS" | "MILLISECOND" | "MILLISECONDS" => 1_000_000_000,
            "S" | "SECOND" | "SECONDS" => 1_000_000_000_000,
            "MIN" | "MINUTE" | "MINUTES" => 60_000_000_000_000,
            "H" | "HOUR" | "HOURS" => 3_600_000_000_000_000,
            "DAY" | "DAYS" => 86_400_000_000_000_000,
            _ => return None,
        };
        let each = 1_000_000_000_000 / self.per_second();
        // Rounded up, so that no window of a positive length is empty.
        let picoseconds = i128::from(count) * i128::from(scale);
        let units = picoseconds.div_euclid(each.into())
            + i128::from(picoseconds.rem_euclid(each.into()) > 0);
        i64::try_from(units).ok()
    }
}

/// A part of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All rows.
    All,
    /// Rows with `now - range < at <= now`.
    Range(i64),
    /// The newest rows, at most this number.
    Rows(u64),
    /// Rows with `at` after this time.
    Since(i64),
    /// Rows with the time of the newest row.
    Now,
}

impl Extent {
    /// Rows of a ring before row `next` that are in the window at a time.
    #[must_use]
    pub fn rows(self, ring: &Ring, now: i64, next: u64) -> Range<u64> {
        let next = next.clamp(ring.first(), ring.next());
        let last = ring.first().max(next.saturating_sub(1));
        let after = |time: i64| match time.checked_add(1) {
            Some(time) => ring.lower_bound(0, time),
            None => next,
        };
        let first = match self {
            Extent::All => ring.first(),
            Extent::Range(range) => after(now.saturating_sub(range)),
            Extent::Rows(rows) => next.saturating_sub(rows).max(ring.first()),
            Extent::Since(time) => after(time),
            Extent::Now if last < next => ring.lower_bound(0, ring.time(last)),
            Extent::Now => next,
        };
        first.min(next)..next
    }

    /// Whether overwritten rows may belong to the window, given its rows that are in the ring.
    #[must_use]
    pub fn is_cut(self, ring: &Ring, rows: &Range<u64>) -> bool {
        let begins_with_oldest = ring.first() > 0 && rows.start == ring.first();
        match self {
            Extent::All => false,
            Extent::Rows(most) => begins_with_oldest && rows.end - rows.start < most,
            Extent::Range(_) | Extent::Since(_) | Extent::Now => begins_with_oldest,
        }
    }

    /// Reads the text in brackets; `None` if it is a name and not a window.
    pub(crate) fn read(
        text: &str,
        inside: &str,
        start: usize,
        unit: Unit,
    ) -> Result<Option<Extent>, SyntaxError> {
        let fault = |message: String| SyntaxError::new(text, start, message);
        let words = match tokens(inside) {
            Ok(words) => words,
            Err(_) => return Ok(None),
        };
        let Some(Word::Name(kind)) = words.first().map(|token| &token.word) else {
            return Ok(None);
        };
        let count = |from: usize| match words.get(from).map(|token| &token.word) {
            Some(Word::Number(number)) => number.parse::<i64>().ok(),
            _ => None,
        };
        let rest = words.len();
        let extent = match (kind.to_ascii_uppercase().as_str(), rest) {
            ("NOW", 1) => Extent::Now,
            ("ROWS", 2) => match count(1) {
                Some(rows) => Extent::Rows(rows.cast_unsigned()),
                None => return Err(fault("expected a number of rows: [ROWS 50]".into())),
            },
            ("RANGE", 3) => {
                let Word::Name(name) = words[2].word else {
                    return Err(fault("expected a unit of time: [RANGE 10 SECONDS]".into()));
                };
                let Some(count) = count(1) else {
                    return Err(fault("expected a whole number: [RANGE 10 SECONDS]".into()));
                };
                Extent::Range(duration(unit, count, name).map_err(fault)?)
            }
            ("SINCE", 2) => match count(1) {
                Some(time) => Extent::Since(time),
                None => return Err(fault("expected a time: [SINCE 1000000000]".into())),
            },
            ("SINCE", 3) if words[1].word == Word::Mark("-") => match count(2) {
                Some(time) => Extent::Since(-time),
                None => return Err(fault("expected a time: [SINCE 1000000000]".into())),
            },
            ("NOW" | "ROWS" | "RANGE" | "SINCE", _) => {
                let message =
                    "no such window: use [RANGE 10 SECONDS], [ROWS 50], [SINCE 1000] or [NOW]";
                return Err(fault(message.into()));
            }
            _ => return Ok(None),
        };
        Ok(Some(extent))
    }

    /// As two numbers, for arguments in SQL.
    #[cfg(feature = "sql")]
    pub(crate) fn encode(self) -> (i64, i64) {
        match self {
            Extent::All => (0, 0),
            Extent::Range(range) => (1, range),
            Extent::Rows(rows) => (2, rows.cast_signed()),
            Extent::Since(time) => (3, time),
            Extent::Now => (4, 0),
        }
    }

    /// Reads [`encode`](Extent::encode)'s numbers.
    #[cfg(feature = "sql")]
    pub(crate) fn decode(kind: i64, amount: i64) -> Option<Extent> {
        Some(match kind {
            0 => Extent::All,
            1 => Extent::Range(amount),
            2 => Extent::Rows(u64::try_from(amount).ok()?),
            3 => Extent::Since(amount),
            4 => Extent::Now,
            _ => return None,
        })
    }
}

/// Reads a duration, in units of the database.
pub(crate) fn duration(unit: Unit, count: i64, name: &str) -> Result<i64, String> {
    unit.duration(count, name).ok_or_else(|| {
        let units = "PICOSECONDS to MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS";
        match unit.duration(1, name) {
            None => format!("{name} is not a unit of time: use {units}"),
            Some(_) => format!("{count} {name} is too long for 64 bits"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    fn read(inside: &str) -> Result<Option<Extent>, SyntaxError> {
        Extent::read(inside, inside, 0, Unit::Nanoseconds)
    }

    #[test]
    fn windows_are_read_and_names_are_not() {
        assert_eq!(
            read("range 10 seconds"),
            Ok(Some(Extent::Range(10_000_000_000)))
        );
        assert_eq!(
            read("RANGE 1 HOUR"),
            Ok(Some(Extent::Range(3_600_000_000_000)))
        );
        assert_eq!(read("RANGE 3 ms"), Ok(Some(Extent::Range(3_000_000))));
        assert_eq!(read("RANGE 1 PICOSECOND"), Ok(Some(Extent::Range(1))));
        assert_eq!(read("ROWS 50"), Ok(Some(Extent::Rows(50))));
        assert_eq!(read("SINCE -5"), Ok(Some(Extent::Since(-5))));
        assert_eq!(read("NOW"), Ok(Some(Extent::Now)));
        assert_eq!(read("bytes"), Ok(None));
        for bad in [
            "ROWS",
            "ROWS x",
            "RANGE 5 PARSECS",
            "RANGE 99999999999 DAYS",
            "NOW 5",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn windows_of_a_ring_are_those_of_their_definition() {
        let schema = Schema::new("T", 5);
        let mut ring = Ring::new(&schema);
        let times = [1, 3, 3, 4, 8, 8, 9];
        for at in times {
            let first = ring.first_after(0);
            ring.push(at, &[], 0, first);
        }
        let held = ring.first()..ring.next();
        for now in 0..20 {
            for amount in 0..12 {
                let newest = *times.last().expect("some");
                for (extent, holds) in [
                    (
                        Extent::All,
                        Box::new(|_: u64, _: i64| true) as Box<dyn Fn(u64, i64) -> bool>,
                    ),
                    (
                        Extent::Range(amount),
                        Box::new(move |_, at| at > now - amount),
                    ),
                    (
                        Extent::Rows(amount.cast_unsigned()),
                        Box::new(move |row, _| row + amount.cast_unsigned() >= 7),
                    ),
                    (Extent::Since(amount), Box::new(move |_, at| at > amount)),
                    (Extent::Now, Box::new(move |_, at| at == newest)),
                ] {
                    let rows = extent.rows(&ring, now, ring.next());
                    let wanted = held.clone().filter(|row| holds(*row, ring.time(*row)));
                    assert!(rows.clone().eq(wanted), "{extent:?} at {now}: {rows:?}");
                }
            }
        }
    }
    use alloc::boxed::Box;
}
