//! Waiting for a time as exactly as the machine allows, and noticing when the machine stood still.

use super::floor::Floor;
use super::priority::Priority;
use crate::clock::now_ns;
use node::outcome::Spread;
use std::time::Duration;

/// Between two looks at the clock while spinning lie some 30 ns; a thousand times that means that the
/// thread did not run.
const PAUSE_NS: u64 = 50_000;
/// A sleep that ends so much too late is no matter of timers any more.
const OVERSLEPT_NS: u64 = 1_000_000;
/// A sleep shorter than this is not worth it.
const SHORTEST_NAP_NS: u64 = 20_000;
/// The longest sleep: those who wait want to see a request to stop.
const LONGEST_NAP_NS: u64 = 50_000_000;
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

/// How long before a time sleep gives way to spinning: later than nearly every wake-up.
///
/// A virtual machine that sleeps is woken by its host when that finds the time, 50 µs late as often as not;
/// a machine of its own takes 5. So it follows what was seen: the worst of about the last thousand
/// sleeps, and some more.
#[derive(Debug)]
struct Window {
    worst: u64,
}

impl Window {
    /// Where nothing is known yet.
    const START_NS: u64 = 250_000;
    const MOST_NS: u64 = 1_000_000;
    /// Where spinning would keep others from working.
    const MODEST_NS: u64 = 60_000;

    fn ns(&self, has_core: bool) -> u64 {
        let most = if has_core {
            Window::MOST_NS
        } else {
            Window::MODEST_NS
        };
        (self.worst + self.worst / 4 + 10_000).min(most)
    }

    fn learn(&mut self, overslept: u64) {
        let faded = self.worst - self.worst.div_ceil(1024);
        self.worst = faded.max(overslept.min(Window::MOST_NS));
    }
}

impl Default for Window {
    fn default() -> Window {
        Window {
            worst: Window::START_NS,
        }
    }
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
    window: Window,
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
        let mut warmed = now;
        while now < at {
            let left = at - now;
            let window = self.window.ns(self.priority.has_core());
            if left > window + SHORTEST_NAP_NS {
                let nap = (left - window).min(LONGEST_NAP_NS);
                if !idle.sleep(Duration::from_nanos(nap)) {
                    return None;
                }
                let woken = now_ns();
                let overslept = woken.saturating_sub(now + nap);
                self.priority.slept(woken - now);
                self.window.learn(overslept);
                self.note(overslept, OVERSLEPT_NS);
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

    #[test]
    fn the_window_follows_what_sleeps_are_worth() {
        let mut window = Window::default();
        for _ in 0..10_000 {
            window.learn(4_000);
        }
        assert!((14_000..=17_000).contains(&window.ns(true)));
        window.learn(90_000);
        assert!(window.ns(true) > 110_000, "one long sleep is enough");
        assert_eq!(window.ns(false), Window::MODEST_NS);
        window.learn(80_000_000);
        assert_eq!(window.ns(true), Window::MOST_NS);
        for _ in 0..2_000 {
            window.learn(4_000);
        }
        assert!(window.ns(true) < 300_000, "and forgotten in time");
    }
}
