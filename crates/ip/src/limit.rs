//! Rate limit of ICMP errors, with Linux's rules and defaults (`icmp_ratelimit`, `icmp_msgs_per_sec`, `icmp_msgs_burst`).
//!
//! Two token buckets must agree: one for all receivers together, and one for each. Their sizes bound the errors that a
//! peer with many forged addresses can cause, and the memory for it.

use alloc::collections::BTreeMap;
use core::net::IpAddr;
use node::Time;

/// Errors of all receivers together: one per interval, after a burst.
const INTERVAL: Time = Time::from_ms(1);
const BURST: u64 = 50;
/// Errors to one receiver.
const PEER_INTERVAL: Time = Time::from_secs(1);
const PEER_BURST: u64 = 6;
/// Maximum number of receivers with a bucket. More cannot be short of tokens at a time: in the 6 s in which a bucket
/// fills, the limit for all lets 6,050 errors through.
const MAX_PEERS: usize = 6_144;

/// A token bucket, as the time at which it was or will be empty.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Its tokens at time `now` are `(now - empty) / interval`.
    empty: Time,
}

impl Bucket {
    fn full(now: Time, interval: Time, burst: u64) -> Time {
        Time::from_ps(now.as_ps().saturating_sub((interval * burst).as_ps()))
    }

    /// Takes a token, if there is one.
    fn take(&mut self, now: Time, interval: Time, burst: u64) -> bool {
        self.empty = self.empty.max(Bucket::full(now, interval, burst));
        let allowed = self.empty + interval <= now;
        if allowed {
            self.empty += interval;
        }
        allowed
    }
}

/// A bucket for each of many peers.
#[derive(Debug)]
pub struct PeerLimit {
    interval: Time,
    burst: u64,
    peers: BTreeMap<IpAddr, Bucket>,
}

impl PeerLimit {
    /// Full buckets of `burst` tokens, of which one comes back after each `interval`.
    pub fn new(interval: Time, burst: u64) -> PeerLimit {
        PeerLimit {
            interval,
            burst,
            peers: BTreeMap::new(),
        }
    }

    /// Takes a token of `peer`, if there is one. The clock of `now` begins at least as late as an empty bucket needs to fill.
    fn take(&mut self, now: Time, peer: IpAddr) -> bool {
        let full = Bucket::full(now, self.interval, self.burst);
        if self.peers.len() >= MAX_PEERS && !self.peers.contains_key(&peer) {
            self.peers.retain(|_, bucket| bucket.empty > full);
            // Without room a new peer waits.
            if self.peers.len() >= MAX_PEERS {
                return false;
            }
        }
        let bucket = self.peers.entry(peer).or_insert(Bucket { empty: full });
        bucket.take(now, self.interval, self.burst)
    }

    /// Takes a token of `peer`, if there is one.
    pub fn allows(&mut self, now: Time, peer: IpAddr) -> bool {
        self.take(now + self.interval * self.burst, peer)
    }
}

/// The buckets of an interface.
#[derive(Debug)]
pub struct RateLimit {
    all: Bucket,
    peers: PeerLimit,
    /// Whether there is any limit.
    limited: bool,
    /// Added to all times, so that a clock that begins at zero finds full buckets.
    start: Time,
}

impl Default for RateLimit {
    fn default() -> RateLimit {
        RateLimit::new(true)
    }
}

impl RateLimit {
    /// Buckets that are full, or no limit at all.
    pub fn new(limited: bool) -> RateLimit {
        RateLimit {
            limited,
            all: Bucket { empty: Time::ZERO },
            peers: PeerLimit::new(PEER_INTERVAL, PEER_BURST),
            start: PEER_INTERVAL * PEER_BURST,
        }
    }

    /// Whether an error to `peer` may be sent at `now`; if so, it is counted.
    pub fn allows(&mut self, now: Time, peer: IpAddr) -> bool {
        if !self.limited {
            return true;
        }
        let now = now + self.start;
        // Linux looks at the common limit first, and does not give its token back.
        if !self.all.take(now, INTERVAL, BURST) {
            return false;
        }
        self.peers.take(now, peer)
    }

    /// Number of receivers with a bucket.
    pub fn peers(&self) -> usize {
        self.peers.peers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;

    fn peer(number: u64) -> IpAddr {
        IpAddr::from((number as u32).to_be_bytes())
    }

    #[test]
    fn one_peer_gets_six_errors_and_then_one_a_second() {
        let mut limit = RateLimit::default();
        let allowed = |limit: &mut RateLimit, ms: u64| limit.allows(Time::from_ms(ms), peer(1));
        let burst = (0..60).filter(|ms| allowed(&mut limit, *ms)).count();
        assert_eq!(burst, 6);
        let later = (60..10_000).filter(|ms| allowed(&mut limit, *ms)).count();
        assert_eq!(later, 9);
        // Another is not affected.
        assert!(limit.allows(Time::from_ms(10_000), peer(2)));
    }

    #[test]
    fn forged_addresses_get_a_thousand_errors_a_second_and_bounded_memory() {
        let mut limit = RateLimit::default();
        let mut random = Random::new(4);
        let mut allowed = 0;
        for us in 0..300_000 {
            let time = Time::from_us(us * 100);
            allowed += u64::from(limit.allows(time, peer(random.bits())));
            assert!(limit.peers() <= MAX_PEERS);
        }
        assert!((29_000..=30_050).contains(&allowed), "{allowed}");
    }
}
