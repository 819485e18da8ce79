//! Token buckets without rounding: tokens are counted in 10^-12 bits, of which a rate of 1 b/s
//! gives one each picosecond.

use node::{Rate, Size, Time};

/// Tokens of a byte.
const BYTE: u128 = 8_000_000_000_000;

/// A token bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    rate: Rate,
    capacity: u128,
    tokens: u128,
    /// When `tokens` was right.
    at: Time,
}

impl Bucket {
    /// A full bucket of `bytes`.
    pub fn new(rate: Rate, bytes: u64) -> Bucket {
        let capacity = tokens_of(bytes);
        Bucket {
            rate,
            capacity,
            tokens: capacity,
            at: Time::ZERO,
        }
    }

    /// Tokens at `now`.
    pub fn tokens(&self, now: Time) -> u128 {
        let bits = u128::from(self.rate.bits_per_second());
        let more = bits * u128::from((now - self.at).as_ps());
        self.tokens.saturating_add(more).min(self.capacity)
    }

    /// Whether the bucket can ever cover a packet of `len` bytes.
    pub fn can_hold(&self, len: u32) -> bool {
        tokens_of(len.into()) <= self.capacity
    }

    /// Takes the tokens of a packet, which must be there.
    pub fn take(&mut self, now: Time, len: u32) {
        self.tokens = self.tokens(now) - tokens_of(len.into());
        self.at = now;
    }

    /// When there are tokens for a packet, not before `now`. [`Time::MAX`] when that is never.
    pub fn time_of(&self, now: Time, len: u32) -> Time {
        let missing = tokens_of(len.into()).saturating_sub(self.tokens(now));
        let wait = missing.div_ceil(self.rate.bits_per_second().into());
        now + Time::from_ps(u64::try_from(wait).unwrap_or(u64::MAX))
    }
}

/// A bucket that may be in debt. Tokens are in 10^-12 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    rate: u128,
    capacity: i128,
    tokens: i128,
    at: Time,
}

impl Account {
    /// A full bucket of `burst`.
    pub fn new(rate: Rate, burst: Size) -> Account {
        let capacity = tokens_of(burst.bytes()) as i128;
        Account {
            rate: rate.bits_per_second().into(),
            capacity,
            tokens: capacity,
            at: Time::ZERO,
        }
    }

    /// Tokens at `now`, below 0 in debt.
    pub fn tokens(&self, now: Time) -> i128 {
        // Both factors are below 2^64.
        let more = self.rate * u128::from((now - self.at).as_ps());
        let more = i128::try_from(more).unwrap_or(i128::MAX);
        self.tokens.saturating_add(more).min(self.capacity)
    }

    /// Takes the tokens of a packet, whether they are there or not.
    pub fn charge(&mut self, now: Time, len: u32) {
        self.tokens = self.tokens(now) - tokens_of(len.into()) as i128;
        self.at = now;
    }

    /// Whether the bucket can hold no more at `now`.
    pub fn is_full(&self, now: Time) -> bool {
        self.tokens(now) == self.capacity
    }

    /// Time at which the tokens suffice again, at least `now`.
    pub fn time_of(&self, now: Time) -> Time {
        let debt = self.tokens(now).min(0).unsigned_abs();
        let wait = u64::try_from(debt.div_ceil(self.rate));
        now + Time::from_ps(wait.unwrap_or(u64::MAX))
    }
}

/// Tokens of a packet of `bytes`.
pub(crate) fn tokens_of(bytes: u64) -> u128 {
    u128::from(bytes) * BYTE
}
