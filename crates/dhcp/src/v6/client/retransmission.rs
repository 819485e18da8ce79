//! Times of retransmission (RFC 9915 section 15).

use node::Time;
use node::random::Random;

/// Limits of a message's retransmission.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// First time (`IRT`).
    first: Time,
    /// Maximum time (`MRT`); zero for none.
    max: Time,
    /// Maximum number of messages (`MRC`); zero for none.
    count: u32,
    /// Whether the first time is never shorter (RFC 9915 section 18.2.1).
    late: bool,
}

const fn limits(first: u64, max: u64, count: u32) -> Limits {
    Limits {
        first: Time::from_secs(first),
        max: Time::from_secs(max),
        count,
        late: false,
    }
}

impl Limits {
    pub const SOLICIT: Limits = Limits {
        late: true,
        ..limits(1, 3600, 0)
    };
    pub const REQUEST: Limits = limits(1, 30, 10);
    pub const RENEW: Limits = limits(10, 600, 0);
    pub const REBIND: Limits = limits(10, 600, 0);
    pub const INFORMATION: Limits = limits(1, 3600, 0);
    /// Of Release and Decline.
    pub const RELEASE: Limits = limits(1, 0, 4);
}

/// State of a message that is sent again.
#[derive(Debug, Default)]
pub struct Retransmission {
    /// Number of messages sent.
    pub sent: u32,
    /// Time of the last one.
    pub last: Time,
    timeout: Time,
}

impl Retransmission {
    /// Counts a message that is sent now; gives the time of the next one, or `None` when there are to be no more.
    pub fn next(&mut self, now: Time, limits: Limits, random: &mut Random) -> Option<Time> {
        if limits.count > 0 && self.sent >= limits.count {
            return None;
        }
        let base = match self.sent {
            0 => limits.first,
            _ => self.timeout * 2,
        };
        let base = match limits.max {
            Time::ZERO => base,
            max => base.min(max),
        };
        // A tenth each way; the first Solicit's is longer.
        let tenth = base.as_ps() / 10;
        let part = random.below(2 * tenth + 1);
        self.timeout = match limits.late && self.sent == 0 {
            true => base + Time::from_ps(part / 2 + 1),
            false => Time::from_ps(base.as_ps() - tenth + part),
        };
        self.sent += 1;
        self.last = now;
        Some(now + self.timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn times_double_up_to_the_maximum_with_a_tenth_of_noise() {
        let mut random = Random::new(1);
        for _ in 0..100 {
            let mut message = Retransmission::default();
            let mut all = Vec::new();
            while let Some(next) = message.next(Time::ZERO, Limits::REQUEST, &mut random) {
                all.push(next.as_secs_f64());
            }
            assert_eq!(all.len(), 10);
            assert!((0.9..=1.1).contains(&all[0]) && (1.62..=2.42).contains(&all[1]));
            assert!(
                all[6..].iter().all(|time| (27.0..=33.0).contains(time)),
                "{all:?}"
            );
            let mut solicit = Retransmission::default();
            let first = solicit.next(Time::ZERO, Limits::SOLICIT, &mut random);
            assert!(first.is_some_and(|time| time > Time::from_secs(1)));
        }
    }
}
