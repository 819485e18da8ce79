//! Simulated time by a clock.

use node::Time;
use std::time::Duration;

/// Simulated seconds in one of the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// That many, from 1e-9 to 1e6.
    Times(f64),
    /// As many as the machine can do.
    Max,
}

impl Speed {
    /// The least speed: a nanosecond a second.
    pub const MIN_TIMES: f64 = 1e-9;
    /// The greatest speed by a clock.
    pub const MAX_TIMES: f64 = 1e6;
}

/// The pace of a run. It never catches up: time that the machine was too slow for is lost, so that a run is even.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    speed: Speed,
    is_running: bool,
    /// A time of the clock, and the simulated time at it.
    anchor: (Duration, Time),
}

impl Pace {
    /// A run that begins.
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

    /// Whether time goes on.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Goes on from here at a speed, clamped to its range.
    pub fn set_speed(&mut self, now: Duration, at: Time, speed: Speed) {
        self.speed = match speed {
            Speed::Times(times) => Speed::Times(times.clamp(Speed::MIN_TIMES, Speed::MAX_TIMES)),
            Speed::Max => Speed::Max,
        };
        self.anchor = (now, at);
    }

    /// Lets time go on from here, or stand still.
    pub fn set_running(&mut self, now: Duration, at: Time, is_running: bool) {
        self.is_running = is_running;
        self.anchor = (now, at);
    }

    /// The simulated time that it is to be at a time of the clock; `None` without a bound.
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

    /// Goes on from here: the simulation did not reach its target, or stood.
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
