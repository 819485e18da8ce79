//! When a packet came or is to leave: a date, or the word of a port's counter (FORMATS section 3).

/// Picoseconds since 1970-01-01 UTC (POSIX seconds x 10^12), below 2^80: to the year 40,000.
///
/// What comes from a capture has one, and keeps it to the last digit through lines, records and captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(u128);

impl Date {
    /// Hexadecimal digits in a line.
    pub const DIGITS: usize = 20;

    /// From picoseconds since 1970; `None` from 2^80 on.
    #[inline]
    pub const fn from_ps(ps: u128) -> Option<Date> {
        match ps >> 80 {
            0 => Some(Date(ps)),
            _ => None,
        }
    }

    /// As picoseconds since 1970.
    #[inline]
    pub const fn as_ps(self) -> u128 {
        self.0
    }
}

/// What stands before a packet in a line or a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The timestamp word of a port; see [`Departure`](crate::Departure) for packets to send.
    Word(u64),
    /// The date of a packet of a capture.
    Date(Date),
}

impl Stamp {
    /// The word, if it is one.
    #[inline]
    pub const fn word(self) -> Option<u64> {
        match self {
            Stamp::Word(word) => Some(word),
            Stamp::Date(_) => None,
        }
    }

    /// The date, if it is one.
    #[inline]
    pub const fn date(self) -> Option<Date> {
        match self {
            Stamp::Word(_) => None,
            Stamp::Date(date) => Some(date),
        }
    }
}
