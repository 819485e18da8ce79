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
/// Of those about packets without a route (`error_cost` and `error_burst`).
const ROUTE_BURST: u64 = 5;
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

/// The buckets of an interface.
#[derive(Debug)]
pub struct RateLimit {
    all: Bucket,
    peers: BTreeMap<IpAddr, Bucket>,
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
            peers: BTreeMap::new(),
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
        self.take(now, peer, PEER_BURST)
    }

    /// Whether an error about a packet without a route may be sent to `peer` at `now`, as far as a limit goes that comes before
    /// [`allows`](RateLimit::allows) and shares its tokens (Linux's `ip_error`, which has no setting).
    pub fn allows_route_error(&mut self, now: Time, peer: IpAddr) -> bool {
        self.take(now + self.start, peer, ROUTE_BURST)
    }

    /// Whether a redirect of IPv6 because of `peer`, its receiver or the destination, may be sent at `now`. It has no setting, and shares the
    /// tokens (Linux's `inet_peer_xrlim_allow`).
    pub fn allows_redirect(&mut self, now: Time, peer: IpAddr) -> bool {
        self.take(now + self.start, peer, PEER_BURST)
    }

    /// Takes all tokens of `peer` away, as Linux does with the first redirect to it.
    pub fn empty(&mut self, now: Time, peer: IpAddr) {
        let empty = now + self.start;
        if self.make_room(empty, peer) {
            self.peers.insert(peer, Bucket { empty });
        }
    }

    fn take(&mut self, now: Time, peer: IpAddr, burst: u64) -> bool {
        if !self.make_room(now, peer) {
            return false;
        }
        let full = Bucket::full(now, PEER_INTERVAL, PEER_BURST);
        let bucket = self.peers.entry(peer).or_insert(Bucket { empty: full });
        bucket.take(now, PEER_INTERVAL, burst)
    }

    /// Whether there is room for the bucket of `peer`.
    fn make_room(&mut self, now: Time, peer: IpAddr) -> bool {
        if self.peers.len() >= MAX_PEERS && !self.peers.contains_key(&peer) {
            let full = Bucket::full(now, PEER_INTERVAL, PEER_BURST);
            self.peers.retain(|_, bucket| bucket.empty > full);
        }
        self.peers.len() < MAX_PEERS || self.peers.contains_key(&peer)
    }

    /// Number of receivers with a bucket.
    pub fn peers(&self) -> usize {
        self.peers.len()
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
