//! Waiting for a time as exactly as the machine allows, and noticing when the machine stood still.

use crate::clock::now_ns;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long before a departure sleep gives way to spinning: later than nearly every wake-up.
const SPIN_NS: u64 = 60_000;
/// Between two looks at the clock while spinning lie some 50 ns; a thousand times that means that the
/// thread did not run.
const PAUSE_NS: u64 = 50_000;
/// A sleep that ends so much too late is no matter of timers any more.
const OVERSLEPT_NS: u64 = 1_000_000;

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
}

impl Waiter {
    /// Waits until the counter is at `at` ns, and returns what it is then: never earlier. `sleep`
    /// sleeps so long or shorter, and says whether to go on; `leave` is asked while spinning whether not
    /// to. `None` when the wait was left.
    pub fn until(
        &mut self,
        at: u64,
        mut sleep: impl FnMut(Duration) -> bool,
        mut leave: impl FnMut() -> bool,
    ) -> Option<u64> {
        let mut now = now_ns();
        if now >= at {
            return Some(now);
        }
        self.behind = false;
        while now < at {
            let left = at - now;
            if left > SPIN_NS {
                let nap = left - SPIN_NS;
                if !sleep(Duration::from_nanos(nap)) {
                    return None;
                }
                let woken = now_ns();
                self.note(woken.saturating_sub(now + nap), OVERSLEPT_NS);
                now = woken;
            } else {
                if leave() {
                    return None;
                }
                std::hint::spin_loop();
                let looked = now_ns();
                self.note(looked - now, PAUSE_NS);
                now = looked;
            }
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

/// Above the nodes' threads, which only sleep and compute; below the kernel's own.
const FIRST: i32 = 10;
const SECOND: i32 = 5;

/// Gives this thread real-time priority where allowed, and exact timers anyway; whether it got it.
fn prefer(priority: i32) -> bool {
    let priority = libc::sched_param {
        sched_priority: priority,
    };
    // Children of this thread, if any, are ordinary again.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: plain system calls on this thread, and a valid structure.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
        libc::sched_setscheduler(0, policy, &priority) == 0
    }
}

/// Makes this thread one that is not kept waiting by ordinary ones, but by those that [`hurry`].
pub fn attend() {
    prefer(SECOND);
}

/// Makes this thread one that is not kept waiting: real-time priority and a core of its own where
/// allowed, exact timers anyway. Returns whether it got the priority.
pub fn hurry() -> bool {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if !prefer(FIRST) {
        // Without the priority a fixed core would be a burden: others may be busy on it.
        return false;
    }
    // SAFETY: plain system calls on this thread; the structures are valid and their sizes given.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&allowed), &mut allowed) == 0 {
            let count = libc::CPU_COUNT(&allowed) as usize;
            if count > 1 {
                // From the last core down: interrupts mostly come in on the first.
                let skip = NEXT.fetch_add(1, Ordering::Relaxed) % count;
                let mut cores = (0..libc::CPU_SETSIZE as usize).rev();
                if let Some(core) = cores
                    .by_ref()
                    .filter(|&core| libc::CPU_ISSET(core, &allowed))
                    .nth(skip)
                {
                    let mut one: libc::cpu_set_t = std::mem::zeroed();
                    libc::CPU_SET(core, &mut one);
                    libc::sched_setaffinity(0, size_of_val(&one), &one);
                }
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_never_ends_early() {
        let mut waiter = Waiter::default();
        for ahead in [0, 1, 10_000, 59_999, 60_001, 300_000] {
            let at = now_ns() + ahead;
            let nap = |nap| {
                // Wakes up early at times, as a condition variable does.
                std::thread::park_timeout(nap / 2);
                true
            };
            let end = waiter.until(at, nap, || false);
            assert!(end.unwrap() >= at);
        }
    }

    #[test]
    fn a_wait_ends_when_sleep_says_so() {
        let mut waiter = Waiter::default();
        assert_eq!(waiter.until(u64::MAX, |_| false, || false), None);
    }

    #[test]
    fn a_long_gap_is_a_pause_until_there_is_time_again() {
        let mut waiter = Waiter::default();
        waiter.note(PAUSE_NS - 1, PAUSE_NS);
        assert!(!waiter.behind && waiter.pauses == 0);
        waiter.note(100_000_000, PAUSE_NS);
        assert!(waiter.behind && waiter.longest_pause == 100_000_000);
        waiter.until(now_ns().saturating_sub(5), |_| true, || false);
        assert!(waiter.behind, "a time already past is caught up with");
    }
}
