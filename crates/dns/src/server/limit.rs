//! Response rate limiting (RRL, as of BIND and NSD): forged queries get few responses, and truncated ones.
//!
//! Each network of clients, a /24 of IPv4 or a /56 of IPv6, has a token bucket of one second's responses. Of the responses
//! beyond it every `slip`th is sent truncated, without records, so that a client in the victim's network can ask by TCP.

use crate::lru::Lru;
use core::net::IpAddr;
use node::Time;

/// Maximum number of networks with a bucket. The one used least recently gives way.
const MAX_NETWORKS: usize = 16_384;

/// Treatment of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is sent.
    Send,
    /// It is sent without records and with the bit TC.
    Truncate,
    /// It is not sent.
    Drop,
}

#[derive(Debug)]
struct Bucket {
    /// Its tokens at time `now` are `(now - empty) / interval`.
    empty: Time,
    refused: u32,
}

/// The buckets of a server.
#[derive(Debug)]
pub struct Limit {
    networks: Lru<u128, Bucket>,
    interval: Time,
    slip: u32,
}

impl Limit {
    /// A limit of `rate` responses a second to each network; 0: no limit. Every `slip`th beyond it is truncated; 0: none.
    pub fn new(rate: u32, slip: u32) -> Limit {
        let interval = match rate {
            0 => Time::ZERO,
            rate => Time::from_ps(Time::from_secs(1).as_ps() / u64::from(rate)),
        };
        Limit {
            networks: Lru::default(),
            interval,
            slip,
        }
    }

    /// Decides on a response to `client`.
    pub fn decide(&mut self, now: Time, client: IpAddr) -> Verdict {
        if self.interval == Time::ZERO {
            return Verdict::Send;
        }
        // A clock that begins at zero finds full buckets.
        let now = now + Time::from_secs(1);
        let full = now - Time::from_secs(1);
        let network = match client.to_canonical() {
            IpAddr::V4(address) => u128::from(address.to_bits() >> 8),
            // With a bit that no IPv4 network has.
            IpAddr::V6(address) => address.to_bits() >> 72 | 1 << 127,
        };
        if self.networks.get(&network).is_none() {
            let bucket = Bucket {
                empty: full,
                refused: 0,
            };
            if self.networks.len() >= MAX_NETWORKS {
                self.networks.pop_oldest();
            }
            self.networks.insert(network, bucket);
        }
        let bucket = self.networks.get(&network).expect("just inserted");
        bucket.empty = bucket.empty.max(full);
        if bucket.empty + self.interval <= now {
            bucket.empty += self.interval;
            return Verdict::Send;
        }
        bucket.refused = bucket.refused.wrapping_add(1);
        match bucket.refused.checked_rem(self.slip) {
            Some(0) => Verdict::Truncate,
            _ => Verdict::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;

    #[test]
    fn a_network_gets_its_rate_and_every_second_refusal_is_truncated() {
        let mut limit = Limit::new(10, 2);
        let mut counts = [0; 3];
        for ms in 0..10_000 {
            let client = IpAddr::from([192, 0, 2, ms as u8]);
            counts[limit.decide(Time::from_ms(ms), client) as usize] += 1;
        }
        let [sent, truncated, dropped] = counts;
        assert!((108..=110).contains(&sent), "{counts:?}");
        assert!(truncated + sent + dropped == 10_000 && dropped - truncated <= 1);
    }

    #[test]
    fn forged_addresses_take_bounded_memory() {
        let mut limit = Limit::new(1, 0);
        let mut random = Random::new(1);
        for us in 0..50_000 {
            let client = IpAddr::from(
                u128::from(random.bits())
                    .to_be_bytes()
                    .map(|octet| octet ^ 1),
            );
            limit.decide(Time::from_us(us), client);
        }
        assert!(limit.networks.len() <= MAX_NETWORKS);
        assert_eq!(
            Limit::new(0, 0).decide(Time::ZERO, [1; 4].into()),
            Verdict::Send
        );
    }
}
