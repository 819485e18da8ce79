//! How much of a wait is slept, and how much is spun: as little of a core as leaves departures on time.
//!
//! A thread that sleeps is woken late: by some 5 us on a machine of its own, by 20 to 60 on a virtual one, which its host has to wake first, and
//! by far more once in a while. So sleep ends a *window* before the time, and the rest is spun. The window is what all but about one in a
//! hundred of the last sleeps would have needed: one pause of the machine does not make it longer, and the second one only until it is
//! forgotten. Nor is it ever more than an eighth of the wait, so that sleeps go on and the window goes on learning.
//!
//! The later a sleep ends, the later it was called for: in a long one the core goes to deeper sleep, and others move in. So a long sleep ends
//! early, and a short one behind it takes the thread to the window.

/// Number of sleeps from which the window is computed.
const SLEEP_HISTORY: usize = 256;
/// Number of them that may have ended later than the window allows.
const LATER: usize = 2;
/// Minimum wait that includes a sleep, ns; the thread spins through a shorter one.
const MIN_SLEEPING_WAIT_NS: u64 = 150_000;
/// Minimum sleep that is worth a call, ns.
const MIN_SLEEP_NS: u64 = 20_000;
/// Maximum sleep, ns, so that waiting threads notice a request to stop.
const MAX_SLEEP_NS: u64 = 50_000_000;
/// Duration of the short sleep that follows a long one, ns.
const SECOND_SLEEP_NS: u64 = 150_000;
/// Minimum first sleep that is worth a second one, ns.
const MIN_FIRST_SLEEP_NS: u64 = 100_000;
/// Margin added to the observed values, ns.
const MARGIN_NS: u64 = 8_000;
/// Window that is always allowed, ns.
const MODEST_NS: u64 = 60_000;
/// Maximum window, ns.
const MAX_WINDOW_NS: u64 = 1_000_000;

/// Learns how late sleeps end.
#[derive(Debug)]
pub struct SleepWindow {
    /// How much too late the last sleeps ended, ns, in a ring.
    late: [u64; SLEEP_HISTORY],
    next: usize,
    /// Follows from those, ns.
    window_ns: u64,
}

impl Default for SleepWindow {
    /// Nothing is known yet: the window is as long as it may be.
    fn default() -> SleepWindow {
        SleepWindow {
            late: [MAX_WINDOW_NS; SLEEP_HISTORY],
            next: 0,
            window_ns: MAX_WINDOW_NS,
        }
    }
}

impl SleepWindow {
    /// How long to sleep now, ns, with `left` of a wait of `wait` ns to go; `None` for spinning. With `spare` there is a core that nobody
    /// else needs.
    #[inline]
    pub fn next(&self, wait: u64, left: u64, spare: bool) -> Option<u64> {
        if wait < MIN_SLEEPING_WAIT_NS {
            return None;
        }
        let most = match spare {
            true => (wait / 8).clamp(MODEST_NS, MAX_WINDOW_NS),
            false => MODEST_NS,
        };
        let second = left.checked_sub(self.window_ns.min(most))?;
        match second.saturating_sub(SECOND_SLEEP_NS) {
            first @ MIN_FIRST_SLEEP_NS.. => Some(first.min(MAX_SLEEP_NS)),
            _ => (second >= MIN_SLEEP_NS).then_some(second),
        }
    }

    /// Tells that a sleep of `sleep` ns ended so much too late.
    pub fn woken(&mut self, sleep: u64, late: u64) {
        // What a long one was late by is made good by the short one behind it.
        if sleep > SECOND_SLEEP_NS + MIN_FIRST_SLEEP_NS {
            return;
        }
        self.late[self.next] = late;
        self.next = (self.next + 1) % SLEEP_HISTORY;
        let mut latest = [0; LATER + 1];
        for &late in &self.late {
            if late > latest[LATER] {
                latest[LATER] = late;
                latest.sort_unstable_by(|a, b| b.cmp(a));
            }
        }
        self.window_ns = latest[LATER] + MARGIN_NS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose sleeps end late by 17 us mostly, by 20 to 45 one time in ten, by up to 110 one time in a hundred, as measured on
    /// a virtual one; and by `pause` every so many times.
    struct Machine {
        random: u64,
        sleeps: u64,
        pause: Option<(u64, u64)>,
    }

    impl Machine {
        fn late(&mut self) -> u64 {
            self.sleeps += 1;
            if let Some((every, pause)) = self.pause
                && self.sleeps.is_multiple_of(every)
            {
                return pause;
            }
            // Numerical Recipes' congruence.
            self.random = self
                .random
                .wrapping_mul(1_664_525)
                .wrapping_add(1_013_904_223)
                & 0xFFFF_FFFF;
            let share = self.random >> 16;
            match self.random % 1_000 {
                0..2 => 50_000 + share,
                2..100 => 20_000 + share % 25_000,
                _ => 16_000 + share % 2_000,
            }
        }
    }

    /// What waits for departures `gap` ns apart cost.
    #[derive(Debug)]
    struct Cost {
        spun: f64,
        sleeps: f64,
        late: f64,
    }

    fn run(gap: u64, spare: bool, pause: Option<(u64, u64)>) -> Cost {
        let (mut window, mut machine) = (
            SleepWindow::default(),
            Machine {
                random: 1,
                sleeps: 0,
                pause,
            },
        );
        let (mut now, mut spun, mut sleeps, mut late) = (0, 0, 0, 0);
        let count = 20_000;
        // The first show what the machine is like.
        for index in 0..count + 1_000 {
            if index == 1_000 {
                (spun, sleeps, late) = (0, 0, 0);
            }
            let at = (index + 1) * gap;
            let wait = at.saturating_sub(now);
            while now < at {
                let left = at - now;
                match window.next(wait, left, spare) {
                    None => {
                        spun += left;
                        now = at;
                    }
                    Some(sleep) => {
                        assert!(sleep <= left, "a sleep beyond the time");
                        let over = machine.late();
                        window.woken(sleep, over);
                        sleeps += 1;
                        now += sleep + over;
                    }
                }
            }
            late += u64::from(now > at);
        }
        let part = |of: u64| of as f64 / count as f64;
        Cost {
            spun: part(spun) / gap as f64,
            sleeps: part(sleeps),
            late: part(late),
        }
    }

    #[test]
    fn two_thousand_departures_a_second_spin_an_eighth_of_the_time_at_most() {
        let cost = run(500_000, true, None);
        assert!(cost.spun < 0.125 && cost.sleeps <= 2.1, "{cost:?}");
        assert!(cost.late < 0.01, "{cost:?}");
    }

    #[test]
    fn pauses_of_the_machine_do_not_make_the_thread_spin() {
        let quiet = run(500_000, true, None);
        // Each costs the departures that fall into it, and is no reason to sleep less.
        for pause in [1_000_000, 100_000_000] {
            let paused = run(500_000, true, Some((2_000, pause)));
            assert!(
                paused.spun < quiet.spun + 0.02,
                "{pause}: {paused:?} {quiet:?}"
            );
        }
        // On a machine that is hardly ever in time it still sleeps most of the time.
        let bad = run(500_000, true, Some((3, 400_000)));
        assert!(bad.spun < 0.125 && bad.sleeps > 1.0, "{bad:?}");
    }

    #[test]
    fn where_others_need_the_core_less_is_spun() {
        let (spare, none) = (
            run(10_000_000, true, Some((50, 300_000))),
            run(10_000_000, false, Some((50, 300_000))),
        );
        assert!(
            none.spun < spare.spun && none.spun < 0.01,
            "{none:?} {spare:?}"
        );
        // With a core to spare, and time, all but what is rarer than one in a hundred is made good.
        assert!(spare.late < 0.01 && spare.spun < 0.05, "{spare:?}");
    }

    #[test]
    fn close_departures_are_spun_for() {
        let cost = run(20_000, true, None);
        assert!(cost.sleeps == 0.0 && cost.late == 0.0, "{cost:?}");
    }
}
