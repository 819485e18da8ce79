//! The timestamp word (FORMATS section 3; paper 000 section 4.3).
//!
//! On a received packet it is the count of the port's ticks at the arrival of the first bit. On a
//! packet to send, the top byte is a mode and the lower 56 bits are ticks.

use core::fmt;

/// The lower 56 bits.
const TICKS: u64 = (1 << 56) - 1;
/// Maximum number of ticks of a word.
const MAX_TICKS: u128 = TICKS as u128;

/// The length of a port's tick, in picoseconds, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(u32);

impl Tick {
    /// 8 ns, as in EtherPIPE (paper 000 section 4.2): one cycle of a 125 MHz clock.
    pub const EIGHT_NS: Tick = Tick(8_000);

    /// From picoseconds, 1 to 4,294,967,295; `None` for zero.
    pub const fn from_ps(ps: u32) -> Option<Tick> {
        if ps == 0 { None } else { Some(Tick(ps)) }
    }

    /// As picoseconds.
    pub const fn as_ps(self) -> u32 {
        self.0
    }

    /// The count of whole ticks in this many picoseconds, within 56 bits.
    pub const fn count(self, ps: u128) -> u64 {
        (ps / self.0 as u128) as u64 & TICKS
    }

    /// The same where 56 bits hold it: with ticks of 8 ns, up to 18 years.
    pub const fn checked_count(self, ps: u128) -> Option<u64> {
        match ps / self.0 as u128 {
            ticks @ 0..=MAX_TICKS => Some(ticks as u64),
            _ => None,
        }
    }

    /// The picoseconds of this many ticks.
    pub const fn ps(self, ticks: u64) -> u128 {
        (ticks & TICKS) as u128 * self.0 as u128
    }
}

/// One of a port's timers, 1 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer(u8);

impl Timer {
    /// From its number; `None` outside 1 to 7.
    pub const fn new(number: u8) -> Option<Timer> {
        if number >= 1 && number <= 7 {
            Some(Timer(number))
        } else {
            None
        }
    }

    /// Its number, 1 to 7.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// When a packet is to leave, as its word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// At once, in order.
    Now,
    /// When the port's counter reaches this many ticks.
    At(u64),
    /// At once, and the real departure goes into this timer. The word's lower bits mean nothing.
    Mark(Timer),
    /// When the counter reaches this timer's value and this many ticks.
    After(Timer, u64),
}

/// A word with a mode that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BadWord(pub u64);

impl fmt::Display for BadWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "timestamp {:016X}: the first two digits must be 00 (absolute), 01 to 07 (timer + value) \
             or 11 to 17 (mark a timer)",
            self.0
        )
    }
}

impl Departure {
    /// Reads a word.
    ///
    /// # Errors
    /// When the top byte is no mode.
    pub const fn from_word(word: u64) -> Result<Departure, BadWord> {
        let (mode, ticks) = ((word >> 56) as u8, word & TICKS);
        let timer = Timer::new(mode & 0x0F);
        match (mode >> 4, timer) {
            (0, None) if word == 0 => Ok(Departure::Now),
            (0, None) if mode == 0 => Ok(Departure::At(ticks)),
            (0, Some(timer)) => Ok(Departure::After(timer, ticks)),
            (1, Some(timer)) => Ok(Departure::Mark(timer)),
            _ => Err(BadWord(word)),
        }
    }

    /// Writes the word; ticks beyond 56 bits are cut off.
    pub const fn to_word(self) -> u64 {
        match self {
            Departure::Now => 0,
            Departure::At(ticks) => ticks & TICKS,
            Departure::Mark(timer) => (0x10 | timer.0 as u64) << 56,
            Departure::After(timer, ticks) => (timer.0 as u64) << 56 | ticks & TICKS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_mode_is_told_by_its_top_byte() {
        let timer = Timer::new(1).unwrap();
        assert_eq!(Departure::from_word(0), Ok(Departure::Now));
        assert_eq!(
            Departure::from_word(0x75BCD15),
            Ok(Departure::At(0x75BCD15))
        );
        assert_eq!(Departure::from_word(0x11 << 56), Ok(Departure::Mark(timer)));
        assert_eq!(
            Departure::from_word(0x01 << 56 | 1_250_000),
            Ok(Departure::After(timer, 1_250_000))
        );
    }

    #[test]
    fn words_are_either_read_and_written_back_or_refused() {
        for mode in 0..=255u64 {
            let word = mode << 56 | 42;
            let known = matches!(mode, 0x00..=0x07 | 0x11..=0x17);
            match Departure::from_word(word) {
                Ok(Departure::Mark(timer)) => assert_eq!(u64::from(timer.number()), mode & 15),
                Ok(departure) => assert_eq!(departure.to_word(), word),
                Err(BadWord(bad)) => assert_eq!(bad, word),
            }
            assert_eq!(Departure::from_word(word).is_ok(), known, "{mode:02X}");
        }
        assert!(
            BadWord(0x18 << 56)
                .to_string()
                .starts_with("timestamp 1800000000000000:")
        );
    }

    #[test]
    fn ticks_beyond_56_bits_are_none() {
        let last = 8_000 * ((1u128 << 56) - 1) + 7_999;
        assert_eq!(Tick::EIGHT_NS.checked_count(last), Some((1 << 56) - 1));
        assert_eq!(Tick::EIGHT_NS.checked_count(last + 1), None);
        assert_eq!(Tick::EIGHT_NS.checked_count(u128::MAX), None);
    }

    #[test]
    fn ticks_count_down_and_up_exactly() {
        assert_eq!(Tick::EIGHT_NS.count(10_000_000_000), 1_250_000);
        let tick = Tick::from_ps(6_400).unwrap();
        assert_eq!(tick.ps(tick.count(67_200)), 64_000);
    }
}
