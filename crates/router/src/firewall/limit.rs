//! Rate limits: token buckets with the arithmetic of nftables.

use node::Time;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// A token bucket. Tokens are nanoseconds, of which a packet or a byte costs some.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    tokens: u64,
    max: u64,
    last: Time,
    /// Nanoseconds of the limit's unit of time, and packets or bytes in it.
    unit: u64,
    rate: u64,
    is_bytes: bool,
    /// Whether packets over the limit match, and not those within.
    pub is_over: bool,
}

impl Limit {
    /// A bucket that is full; `None` when the numbers are too large, or `rate` is 0. `unit` is in seconds.
    pub fn new(rate: u64, unit: u64, burst: u64, is_bytes: bool, is_over: bool) -> Option<Limit> {
        let unit = unit.checked_mul(SECOND)?;
        let max = match is_bytes {
            true => unit
                .checked_mul(rate.checked_add(burst)?)?
                .checked_div(rate)?,
            false => unit.checked_div(rate)?.checked_mul(burst)?,
        };
        Some(Limit {
            tokens: max,
            max,
            last: Time::ZERO,
            unit,
            rate,
            is_bytes,
            is_over,
        })
    }

    /// Whether a packet of this length, in bytes, matches.
    pub fn matches(&mut self, now: Time, length: usize) -> bool {
        let passed = now.as_ps() / 1_000 - self.last.as_ps() / 1_000;
        self.last = now;
        let tokens = self.tokens.saturating_add(passed).min(self.max);
        let count = if self.is_bytes { length as u64 } else { 1 };
        let cost = (self.unit as u128 * u128::from(count) / u128::from(self.rate)) as u64;
        match tokens.checked_sub(cost) {
            Some(rest) => {
                self.tokens = rest;
                !self.is_over
            }
            None => {
                self.tokens = tokens;
                self.is_over
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut limit = Limit::new(10, 1, 5, false, false).unwrap();
        let mut passed = 0;
        for millisecond in 0..2_000 {
            passed += u32::from(limit.matches(Time::from_ms(millisecond), 100));
        }
        assert_eq!(passed, 5 + 19);
        let mut over = Limit::new(1_000, 1, 0, true, true).unwrap();
        assert!(
            !over.matches(Time::from_ms(1), 900),
            "a second's bytes are there"
        );
        assert!(over.matches(Time::from_ms(2), 900));
        assert!(Limit::new(0, 1, 5, false, false).is_none());
        assert!(Limit::new(u64::MAX, 604_800, 5, true, false).is_none());
    }
}
