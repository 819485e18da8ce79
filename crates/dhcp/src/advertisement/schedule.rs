//! Times of the advertisements of a port (RFC 4861 sections 6.2.4 to 6.2.6).

use node::Time;
use node::random::Random;

/// Maximum time between the first advertisements, and their number.
const INITIAL_INTERVAL: Time = Time::from_secs(16);
const INITIAL: u32 = 3;
/// Number of the last advertisements, of a router that ceases to be one.
const FINAL: u32 = 3;
/// Minimum time between two advertisements to all hosts.
const MIN_DELAY: Time = Time::from_secs(3);
/// Maximum random delay of an answer to a solicitation.
const MAX_ANSWER_DELAY: Time = Time::from_ms(500);

/// Minimum and maximum time between two advertisements that were not asked for.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    /// Minimum, from 3 s to three quarters of the maximum.
    pub min: Time,
    /// Maximum, from 4 s to 1800 s.
    pub max: Time,
}

/// Times of one port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schedule {
    next: Time,
    sent: u32,
    last: Option<Time>,
    finals: u32,
}

impl Schedule {
    /// Time of the next advertisement; [`Time::MAX`] after the last one.
    pub fn next(&self) -> Time {
        self.next
    }

    /// A host has asked: the next advertisement is soon.
    pub fn solicit(&mut self, now: Time, random: &mut Random) {
        let delay = Time::from_ps(random.below(MAX_ANSWER_DELAY.as_ps()));
        let earliest = self.last.map_or(Time::ZERO, |last| last + MIN_DELAY);
        if self.next < Time::MAX {
            self.next = self.next.min(now.max(earliest) + delay);
        }
    }

    /// The content has changed: it is sent as at the start, a few times (RFC 4861 section 6.2.4).
    pub fn change(&mut self, now: Time, random: &mut Random) {
        self.sent = 0;
        self.solicit(now, random);
    }

    /// The router ceases to be one.
    pub fn cease(&mut self, now: Time, random: &mut Random) {
        self.finals = FINAL;
        self.solicit(now, random);
    }

    /// Whether the next advertisement is one of the last, whose lifetime is zero.
    pub fn ceases(&self) -> bool {
        self.finals > 0
    }

    /// An advertisement is sent to all hosts now.
    pub fn sent(&mut self, now: Time, intervals: Intervals, random: &mut Random) {
        self.last = Some(now);
        self.sent = self.sent.saturating_add(1);
        if self.finals > 0 {
            self.finals -= 1;
            let delay = Time::from_ps(random.below(MAX_ANSWER_DELAY.as_ps()));
            self.next = match self.finals {
                0 => Time::MAX,
                _ => now + MIN_DELAY + delay,
            };
            return;
        }
        let spread = (intervals.max - intervals.min).as_ps();
        let interval = intervals.min + Time::from_ps(random.below(spread + 1));
        let interval = match self.sent < INITIAL {
            true => interval.min(INITIAL_INTERVAL),
            false => interval,
        };
        self.next = now + interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const INTERVALS: Intervals = Intervals {
        min: Time::from_secs(200),
        max: Time::from_secs(600),
    };

    #[test]
    fn the_first_come_quickly_and_the_others_between_the_limits() {
        let mut random = Random::new(1);
        let mut schedule = Schedule::default();
        let mut times = Vec::new();
        for _ in 0..50 {
            let now = schedule.next();
            times.push(now);
            schedule.sent(now, INTERVALS, &mut random);
        }
        let gaps: Vec<Time> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps[..2], [INITIAL_INTERVAL; 2]);
        assert!(
            gaps[2..]
                .iter()
                .all(|gap| *gap >= INTERVALS.min && *gap <= INTERVALS.max)
        );
        assert!(gaps[2..].iter().max() > gaps[2..].iter().min());
    }

    #[test]
    fn a_thousand_solicitations_are_answered_once_in_three_seconds() {
        let mut random = Random::new(2);
        let mut schedule = Schedule::default();
        schedule.sent(Time::ZERO, INTERVALS, &mut random);
        let mut sent = 0;
        for ms in 0..30_000 {
            let now = Time::from_ms(ms);
            schedule.solicit(now, &mut random);
            if schedule.next() <= now {
                schedule.sent(now, INTERVALS, &mut random);
                sent += 1;
            }
        }
        assert!((8..=10).contains(&sent), "{sent}");
        // A first one after a quiet time has an answer within half a second.
        let late = Time::from_secs(100);
        schedule.solicit(late, &mut random);
        assert!(schedule.next() <= late + MAX_ANSWER_DELAY);
    }

    #[test]
    fn a_router_that_ceases_says_so_three_times() {
        let mut random = Random::new(3);
        let mut schedule = Schedule::default();
        schedule.sent(Time::ZERO, INTERVALS, &mut random);
        schedule.cease(Time::from_secs(50), &mut random);
        for _ in 0..3 {
            assert!(schedule.ceases());
            let now = schedule.next();
            assert!(now < Time::from_secs(60));
            schedule.sent(now, INTERVALS, &mut random);
        }
        assert_eq!(schedule.next(), Time::MAX);
        schedule.solicit(Time::from_secs(70), &mut random);
        assert_eq!(schedule.next(), Time::MAX);
    }
}
