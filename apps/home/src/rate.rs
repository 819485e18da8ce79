//! Token buckets, one for each key, such as a switch port.

use node::Time;
use std::collections::BTreeMap;

/// Limits events of each key to a rate and a burst.
#[derive(Clone, Debug)]
pub struct Buckets<K> {
    interval: Time,
    burst: Time,
    /// For each key the time at which its bucket is empty.
    empty: BTreeMap<K, Time>,
}

impl<K: Ord> Buckets<K> {
    /// Buckets for `rate` events a second, and `burst` at once. The rate is not zero.
    pub fn new(rate: u64, burst: u64) -> Buckets<K> {
        let interval = Time::from_ps(Time::from_secs(1).as_ps() / rate);
        Buckets {
            interval,
            burst: Time::from_ps(interval.as_ps() * burst),
            empty: BTreeMap::new(),
        }
    }

    /// Counts an event. Returns `false` if it is beyond the rate.
    pub fn take(&mut self, now: Time, key: K) -> bool {
        let empty = self.empty.entry(key).or_insert(now);
        *empty = (*empty).max(now);
        let is_within = *empty + self.interval <= now + self.burst;
        if is_within {
            *empty += self.interval;
        }
        is_within
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &K) {
        self.empty.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_burst_and_its_rate() {
        let mut buckets = Buckets::new(20, 5);
        for key in [1, 2] {
            let taken = (0..100).filter(|_| buckets.take(Time::ZERO, key)).count();
            assert_eq!(taken, 5);
            // A second later the bucket is full again, and the rate holds from then on.
            let mut now = Time::from_secs(1);
            let mut taken = 0;
            for _ in 0..1000 {
                taken += usize::from(buckets.take(now, key));
                now += Time::from_ms(1);
            }
            assert_eq!(taken, 5 + 19);
        }
    }
}
