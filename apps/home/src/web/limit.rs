//! Limits on password guesses: for each address and in total.
//!
//! Each is a leaky bucket: a burst, then one guess in an interval. A correct password does not count. An address with a
//! session has only its own limit, so that guesses from other addresses do not lock out a household that is signed in.

use node::Time;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// Limit for one address: failures before it must wait, and the time after which one is forgotten.
const EACH: Rate = Rate {
    burst: 5,
    interval: Time::from_secs(12),
};
/// The same for all addresses together.
const ALL: Rate = Rate {
    burst: 20,
    interval: Time::from_secs(3),
};
/// Maximum number of addresses that are remembered; the one that may guess again first is evicted.
const MAX_ADDRESSES: usize = 1024;

struct Rate {
    burst: u64,
    interval: Time,
}

impl Rate {
    /// Time to wait for a bucket that empties at `full`; `None` if one more guess fits.
    fn wait(&self, now: Time, full: Time) -> Option<Time> {
        let level = full.as_ps().saturating_sub(now.as_ps());
        let room = self.interval.as_ps() * (self.burst - 1);
        (level > room).then(|| Time::from_ps(level - room))
    }

    fn add(&self, now: Time, full: Time) -> Time {
        full.max(now) + self.interval
    }
}

/// Counts guesses.
#[derive(Default)]
pub struct Limiter {
    all: Time,
    each: BTreeMap<IpAddr, Time>,
}

/// Address that guesses are counted for: an IPv4 address or an IPv6 /64, as one device may use all of a /64.
pub fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

impl Limiter {
    /// Counts a guess before it is verified. The error is the time to wait.
    ///
    /// # Errors
    /// When too many were wrong.
    pub fn guess(&mut self, now: Time, address: IpAddr, has_session: bool) -> Result<(), Time> {
        let address = counted(address);
        let each = self.each.get(&address).copied().unwrap_or_default();
        let waits = [
            EACH.wait(now, each),
            ALL.wait(now, self.all).filter(|_| !has_session),
        ];
        if let Some(wait) = waits.into_iter().flatten().max() {
            return Err(wait);
        }
        if self.each.len() >= MAX_ADDRESSES {
            self.each.retain(|_, full| *full > now);
        }
        if self.each.len() >= MAX_ADDRESSES && !self.each.contains_key(&address) {
            let first = self.each.iter().min_by_key(|(_, full)| **full);
            if let Some(first) = first.map(|(address, _)| *address) {
                self.each.remove(&first);
            }
        }
        self.each.insert(address, EACH.add(now, each));
        if !has_session {
            self.all = ALL.add(now, self.all);
        }
        Ok(())
    }

    /// Uncounts a guess that was correct, or was not verified.
    pub fn take_back(&mut self, address: IpAddr, has_session: bool) {
        let less = |full: Time, rate: Rate| {
            Time::from_ps(full.as_ps().saturating_sub(rate.interval.as_ps()))
        };
        if let Some(full) = self.each.get_mut(&counted(address)) {
            *full = less(*full, EACH);
        }
        if !has_session {
            self.all = less(self.all, ALL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(last: u32) -> IpAddr {
        Ipv4Addr::from_bits(0x0A02_0000 + last).into()
    }

    #[test]
    fn an_address_has_five_guesses_and_then_one_in_twelve_seconds() {
        let mut limiter = Limiter::default();
        let start = Time::from_secs(1000);
        for _ in 0..5 {
            limiter.guess(start, address(1), false).expect("a guess");
        }
        let wait = limiter.guess(start, address(1), false);
        assert_eq!(wait, Err(Time::from_secs(12)));
        limiter.guess(start, address(2), false).expect("another");
        let later = start + Time::from_secs(12);
        limiter.guess(later, address(1), false).expect("one");
        limiter
            .guess(later, address(1), false)
            .expect_err("no more");
        // A correct one does not count.
        let end = start + Time::from_secs(100);
        for _ in 0..50 {
            limiter.guess(end, address(1), false).expect("a guess");
            limiter.take_back(address(1), false);
        }
    }

    #[test]
    fn many_addresses_share_a_limit_that_does_not_hold_for_one_with_a_session() {
        let mut limiter = Limiter::default();
        let start = Time::from_secs(1);
        let guesses = (0..5000).filter(|&each| limiter.guess(start, address(each), false).is_ok());
        assert_eq!(guesses.count(), 20);
        limiter.guess(start, address(7000), true).expect("known");
        let mut v6 = Limiter::default();
        let of = |last: u128| IpAddr::from(Ipv6Addr::from_bits(0x2001_0DB8 << 96 | last));
        let guesses = (0..100).filter(|&each| v6.guess(start, of(each), false).is_ok());
        assert_eq!(guesses.count(), 5, "a /64 is one address");
    }

    #[test]
    fn the_table_of_addresses_is_bounded() {
        let mut limiter = Limiter::default();
        for each in 0..10_000 {
            let now = Time::from_ms(u64::from(each));
            let _ = limiter.guess(now, address(each), true);
            assert!(limiter.each.len() <= MAX_ADDRESSES);
        }
    }
}
