//! Pacing: segments leave one by one, at a rate by the congestion window and the round trip.
//!
//! The rate is Linux's (`tcp_update_pacing_rate`): twice the window in a round trip in slow start, and 1.2 times the window
//! later, so that the window remains the limit. The first segments of a connection are not paced, as in `sch_fq`. Linux
//! paces bursts of about a millisecond; here each segment has a time of its own.

use node::Time;

/// Segments of data that leave without a pace.
const UNPACED: u32 = 10;
/// Maximum time between two segments, in picoseconds.
const MAX_GAP: u64 = u64::MAX / 4;
/// Percent of the window in a round trip: below half of the slow start threshold, and above.
const SLOW_START: u64 = 200;
const AVOIDANCE: u64 = 120;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Pacing {
    is_on: bool,
    /// Segments of data sent so far, up to [`UNPACED`].
    sent: u32,
    /// Time before which no segment leaves.
    next: Time,
    /// A segment waits for that time.
    waits: bool,
}

impl Pacing {
    pub fn new(is_on: bool) -> Pacing {
        Pacing {
            is_on,
            ..Pacing::default()
        }
    }

    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether a segment that could leave has to wait; the deadline is then set.
    pub fn holds(&mut self, now: Time) -> bool {
        self.waits = self.next > now;
        self.waits
    }

    /// When the segment that waits may leave.
    pub fn due(&self) -> Option<Time> {
        self.waits.then_some(self.next)
    }

    /// A deadline has passed, or another segment has left.
    pub fn release(&mut self) {
        self.waits = false;
    }

    /// Notes that `bytes` of data leave. `window` and `threshold` are those of the congestion control, in bytes, and
    /// `round_trip` is smoothed.
    pub fn sent(
        &mut self,
        now: Time,
        bytes: u64,
        window: u64,
        threshold: u64,
        round_trip: Option<Time>,
    ) {
        let Some(round_trip) = round_trip.filter(|_| self.begins()) else {
            return;
        };
        let percent = match window < threshold / 2 {
            true => SLOW_START,
            false => AVOIDANCE,
        };
        let rate = u128::from(percent) * u128::from(window.max(1));
        let gap = u128::from(bytes) * 100 * u128::from(round_trip.as_ps()) / rate;
        self.next = self.next.max(now) + Time::from_ps(gap.min(u128::from(MAX_GAP)) as u64);
    }

    /// Notes that `bytes` of data leave at `rate` bytes a second.
    pub fn sent_at(&mut self, now: Time, bytes: u64, rate: f64) {
        if self.begins() {
            let gap = (bytes as f64 / rate * 1e12).min(MAX_GAP as f64);
            self.next = self.next.max(now) + Time::from_ps(gap as u64);
        }
    }

    /// Counts a segment; whether it is paced.
    fn begins(&mut self) -> bool {
        let is_paced = self.is_on && self.sent == UNPACED;
        self.sent = (self.sent + 1).min(UNPACED);
        is_paced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_leaves_in_half_a_round_trip_and_later_in_five_sixths() {
        const WINDOW: u64 = 100_000;
        let round_trip = Time::from_ms(60);
        for (threshold, wanted) in [(u64::MAX, 30), (WINDOW, 50), (2 * WINDOW, 50)] {
            let mut pacing = Pacing::new(true);
            let mut now = Time::from_ms(5);
            let mut send = |now| {
                let mut now = now;
                if pacing.holds(now) {
                    now = pacing.due().unwrap();
                    assert!(!pacing.holds(now));
                }
                pacing.sent(now, 1_000, WINDOW, threshold, Some(round_trip));
                now
            };
            for _ in 0..=UNPACED {
                assert_eq!(send(now), now);
            }
            let begins = now;
            for _ in 0..100 {
                now = send(now);
            }
            assert_eq!(now - begins, Time::from_ms(wanted), "{threshold}");
            // Time without a segment is not made up for.
            let later = now + Time::from_secs(1);
            assert_eq!(send(later), later);
            assert!(send(later) > later);
        }
    }

    #[test]
    fn nothing_waits_without_pacing_or_before_the_first_round_trip() {
        for (is_on, round_trip) in [(false, Some(Time::from_ms(10))), (true, None)] {
            let mut pacing = Pacing::new(is_on);
            for _ in 0..100 {
                pacing.sent(Time::ZERO, 1_000, 1_000, u64::MAX, round_trip);
                assert!(!pacing.holds(Time::ZERO));
            }
        }
    }
}
