//! Simulated time paced by the clock.

use node::Time;
use std::time::Duration;

/// Simulated seconds per second of the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// This factor, from 1e-9 to 1e6.
    Times(f64),
    /// As fast as possible.
    Max,
}

impl Speed {
    /// Minimum speed: a nanosecond per second.
    pub const MIN_TIMES: f64 = 1e-9;
    /// Maximum speed other than [`Max`](Speed::Max).
    pub const MAX_TIMES: f64 = 1e6;
}

/// Pace of a run. It does not catch up: after a delay the run continues from its present time, at the same speed.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    speed: Speed,
    is_running: bool,
    /// A time of the clock, and the simulated time at that moment.
    anchor: (Duration, Time),
}

impl Pace {
    /// The pace of a new run: real time.
    pub fn new(now: Duration) -> Pace {
        Pace {
            speed: Speed::Times(1.0),
            is_running: true,
            anchor: (now, Time::ZERO),
        }
    }

    /// The speed.
    pub fn speed(&self) -> Speed {
        self.speed
    }

    /// Whether the run is not paused.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Sets the speed from simulated time `at` on, clamped to its range.
    pub fn set_speed(&mut self, now: Duration, at: Time, speed: Speed) {
        self.speed = match speed {
            Speed::Times(times) => Speed::Times(times.clamp(Speed::MIN_TIMES, Speed::MAX_TIMES)),
            Speed::Max => Speed::Max,
        };
        self.anchor = (now, at);
    }

    /// Continues or pauses the run at simulated time `at`.
    pub fn set_running(&mut self, now: Duration, at: Time, is_running: bool) {
        self.is_running = is_running;
        self.anchor = (now, at);
    }

    /// Target of simulated time at a time of the clock; `None` for no limit.
    pub fn target(&self, now: Duration) -> Option<Time> {
        let (real, at) = self.anchor;
        match self.speed {
            _ if !self.is_running => Some(at),
            Speed::Max => None,
            Speed::Times(times) => {
                let gone = now.saturating_sub(real).as_secs_f64() * times * 1e12;
                // A cast of floats saturates.
                Some(Time::from_ps(at.as_ps().saturating_add(gone as u64)))
            }
        }
    }

    /// Continues from simulated time `at`, after the simulation has missed its target.
    pub fn restart(&mut self, now: Duration, at: Time) {
        self.anchor = (now, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_at_the_speed_from_where_it_was_set() {
        let second = Duration::from_secs;
        let mut pace = Pace::new(second(5));
        assert_eq!(pace.target(second(7)), Some(Time::from_secs(2)));
        pace.set_speed(second(7), Time::from_secs(2), Speed::Times(0.001));
        assert_eq!(pace.target(second(17)), Some(Time::from_ms(2010)));
        pace.set_running(second(17), Time::from_ms(2010), false);
        assert_eq!(pace.target(second(90)), Some(Time::from_ms(2010)));
        pace.set_running(second(90), Time::from_ms(2010), true);
        assert_eq!(pace.target(second(91)), Some(Time::from_ms(2011)));
        pace.set_speed(second(91), Time::from_ms(2011), Speed::Max);
        assert_eq!(pace.target(second(92)), None);
        // The clock may be read before the anchor was set.
        pace.set_speed(second(91), Time::from_ms(2011), Speed::Times(1.0));
        assert_eq!(pace.target(second(90)), Some(Time::from_ms(2011)));
        pace.set_speed(second(91), Time::from_ms(2011), Speed::Times(f64::INFINITY));
        assert_eq!(pace.speed(), Speed::Times(1e6));
    }
}
