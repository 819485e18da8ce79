//! Waiting for a time as exactly as the machine allows, and noticing when the machine stood still.

use super::floor::Floor;
use super::sleep::SleepWindow;
use crate::kernel::scheduling::Priority;
use ::capture::clock::now_ns;
use node::outcome::Spread;
use std::time::Duration;

/// Between two looks at the clock while spinning lie some 30 ns; a thousand times that means that the
/// thread did not run.
const PAUSE_NS: u64 = 50_000;
/// A sleep that ends so much too late is no matter of timers any more.
const OVERSLEPT_NS: u64 = 1_000_000;
/// In the last moments the thread does nothing but look at the clock.
const LAST_NS: u64 = 2_000;
/// Warming begins so long before the time, is repeated so often, and ends so long before it.
const WARM_FROM_NS: u64 = 50_000;
const WARM_EVERY_NS: u64 = 8_000;
const WARM_TO_NS: u64 = 4_000;

/// What a waiting thread does besides.
pub trait Idle {
    /// Sleeps so long or shorter; says whether to go on.
    fn sleep(&mut self, time: Duration) -> bool;

    /// Whether not to wait any longer; asked while spinning.
    fn leave(&mut self) -> bool {
        false
    }

    /// Has the processor's caches know what is needed when the time has come; some µs before.
    fn warm(&mut self) {}
}

/// A thread's way to wait.
#[derive(Debug, Default)]
pub struct Waiter {
    /// Pauses seen.
    pub pauses: u64,
    /// The longest of them, ns.
    pub longest_pause: u64,
    /// Whether a pause is not yet caught up with: set by a pause, cleared by the first wait that is
    /// for a time still to come.
    pub behind: bool,
    priority: Priority,
    window: SleepWindow,
    floor: Floor,
}

impl Waiter {
    /// For a thread that has this priority.
    pub fn new(priority: Priority) -> Waiter {
        Waiter {
            priority,
            ..Waiter::default()
        }
    }

    /// Whether the thread has real-time priority.
    pub fn real_time(&self) -> bool {
        self.priority.real_time()
    }

    /// Has the thread `writer` of this process, which hands the work over, kept out of the way and well served.
    pub fn accompany(&mut self, writer: i32) {
        self.priority.accompany(writer);
    }

    /// How late a loop that only looks at the clock would have been in the time that was spent spinning.
    pub fn floor(&self) -> Spread {
        self.floor.spread()
    }

    /// Waits until the counter is at `at` ns, and returns what it is then: never earlier. `None` when
    /// the wait was left.
    pub fn until(&mut self, at: u64, idle: &mut impl Idle) -> Option<u64> {
        let mut now = now_ns();
        self.priority.mind(now, at.saturating_sub(now));
        if now >= at {
            return Some(now);
        }
        self.behind = false;
        let wait = at - now;
        let mut warmed = now;
        while now < at {
            let left = at - now;
            if let Some(sleep) = self.window.next(wait, left, self.priority.has_core()) {
                if !idle.sleep(Duration::from_nanos(sleep)) {
                    return None;
                }
                let woken = now_ns();
                self.priority.slept(woken - now);
                // One that was broken off says nothing.
                if let Some(overslept) = woken.checked_sub(now + sleep) {
                    self.window.woken(sleep, overslept);
                    self.note(overslept, OVERSLEPT_NS);
                }
                now = woken;
                continue;
            }
            if left > LAST_NS {
                if idle.leave() {
                    return None;
                }
                if (WARM_TO_NS..WARM_FROM_NS).contains(&left) && now - warmed >= WARM_EVERY_NS {
                    idle.warm();
                    now = now_ns();
                    warmed = now;
                    continue;
                }
                std::hint::spin_loop();
            }
            let looked = now_ns();
            self.floor.record(looked - now);
            self.note(looked - now, PAUSE_NS);
            now = looked;
        }
        Some(now)
    }

    fn note(&mut self, gap: u64, limit: u64) {
        if gap >= limit {
            self.pauses += 1;
            self.longest_pause = self.longest_pause.max(gap);
            self.behind = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wakes up early at times, as a condition variable does; leaves when told to.
    struct Fitful(bool);

    impl Idle for Fitful {
        fn sleep(&mut self, time: Duration) -> bool {
            std::thread::park_timeout(time / 2);
            self.0
        }
    }

    #[test]
    fn a_wait_never_ends_early() {
        let mut waiter = Waiter::default();
        for ahead in [0, 1, 10_000, 59_999, 60_001, 300_000, 3_000_000] {
            let at = now_ns() + ahead;
            let end = waiter.until(at, &mut Fitful(true));
            assert!(end.unwrap() >= at);
        }
    }

    #[test]
    fn a_wait_ends_when_sleep_says_so() {
        let mut waiter = Waiter::default();
        assert_eq!(waiter.until(u64::MAX, &mut Fitful(false)), None);
    }

    #[test]
    fn a_long_gap_is_a_pause_until_there_is_time_again() {
        let mut waiter = Waiter::default();
        waiter.note(PAUSE_NS - 1, PAUSE_NS);
        assert!(!waiter.behind && waiter.pauses == 0);
        waiter.note(100_000_000, PAUSE_NS);
        assert!(waiter.behind && waiter.longest_pause == 100_000_000);
        waiter.until(now_ns().saturating_sub(5), &mut Fitful(true));
        assert!(waiter.behind, "a time already past is caught up with");
    }
}
