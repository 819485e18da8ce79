//! How long an answer is waited for before it is asked for again.
//!
//! As RFC 6298 has it for TCP: what answers take is learned, and by how much that varies; of what was asked more than once nothing is learned, as nobody knows
//! to which question the answer was (Karn); and who asks in vain waits longer from time to time. A group that answers later than is waited would else
//! be asked everything twice, be slower for it, and not come out of that.

use node::Time;

/// Maximum number of times that a timeout is doubled.
const DOUBLED: u32 = 6;
/// Maximum timeout that is learned.
const MAX_TIMEOUT: Time = Time::from_secs(60);

/// Statistics learned from all answers of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    least: Time,
    /// Smoothed time of an answer, and its deviation, ps; 0 before the first answer.
    smoothed: u64,
    deviation: u64,
    /// Time waited in vain, until a request that was sent once is answered.
    in_vain: Time,
}

impl Patience {
    /// One that never waits for less.
    pub fn new(least: Time) -> Patience {
        Patience {
            least,
            smoothed: 0,
            deviation: 0,
            in_vain: Time::ZERO,
        }
    }

    /// An answer came, so long after it was asked for first, and it was asked for so often.
    pub fn answered(&mut self, took: Time, asked: u32) {
        if asked != 1 {
            return;
        }
        self.in_vain = Time::ZERO;
        let took = took.min(MAX_TIMEOUT).as_ps();
        if self.smoothed == 0 {
            (self.smoothed, self.deviation) = (took, took / 2);
            return;
        }
        self.deviation = self.deviation / 4 * 3 + self.smoothed.abs_diff(took) / 4;
        self.smoothed = self.smoothed / 8 * 7 + took / 8;
    }

    /// How long to wait for what has been asked for so often, after waiting for so long `before`: as long as answers take, and at least what it was made with;
    /// the second time no longer than the first, as one frame may be lost, and from then on twice as long each time.
    pub fn wait(&mut self, asked: u32, before: Time) -> Time {
        let learned = Time::from_ps(self.smoothed + 4 * self.deviation).min(MAX_TIMEOUT);
        let first = self.least.max(learned);
        if asked < 2 {
            return first.max(self.in_vain);
        }
        let most = self.least.as_ps().saturating_mul(1 << DOUBLED);
        let twice = Time::from_ps(before.as_ps().saturating_mul(2).min(most)).max(first);
        self.in_vain = self.in_vain.max(twice);
        match asked {
            2 => before.max(first),
            _ => twice,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn it_waits_for_as_long_as_answers_take_and_longer_for_what_is_asked_in_vain() {
        let ms = Time::from_ms;
        let first = |patience: &Patience| { *patience }.wait(1, Time::ZERO);
        let mut patience = Patience::new(ms(5));
        let mut before = Time::ZERO;
        for (asked, wait) in [(1, 5), (2, 5), (3, 10), (4, 20), (5, 40)] {
            before = patience.wait(asked, before);
            assert_eq!(before, ms(wait));
        }
        assert_eq!({ patience }.wait(9, ms(1000)), ms(320), "no longer");
        for _ in 0..100 {
            patience.answered(Time::from_us(100), 1);
        }
        assert_eq!(first(&patience), ms(5), "no shorter");
        for _ in 0..100 {
            patience.answered(Time::from_ms(40), 1);
        }
        let learned = first(&patience);
        assert!((ms(40)..ms(50)).contains(&learned), "{patience:?}");
        for _ in 0..100 {
            patience.answered(Time::from_us(100), 1);
        }
        assert_eq!(first(&patience), ms(5), "and soon as short as before");
        patience.answered(Time::MAX, 1);
        assert!(patience.wait(u32::MAX, Time::MAX) < Time::MAX);
    }

    /// Where all answers come late each is asked for twice, and nothing is learned of them: so the wait grows until one is asked for once.
    #[test]
    fn a_group_that_is_later_than_it_waits_is_soon_asked_once() {
        let (mut patience, late) = (Patience::new(Time::from_ms(5)), Time::from_ms(70));
        let mut asked = Vec::new();
        for _ in 0..10 {
            let (mut at, mut times, mut wait) = (Time::ZERO, 0, Time::ZERO);
            while at < late {
                times += 1;
                wait = patience.wait(times, wait);
                at += wait;
            }
            patience.answered(late, times);
            asked.push(times);
        }
        assert_eq!(asked, [5, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
        // One lost frame does not change that.
        patience.answered(Time::from_ms(900), 2);
        assert!(patience.wait(1, Time::ZERO) < Time::from_ms(300));
    }
}
