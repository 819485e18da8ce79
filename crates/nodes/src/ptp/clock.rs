//! A clock of its own: an oscillator that is off, and what a servo does about it.

use node::oscillator::MOST_PPM;
use node::{Oscillator, Time};

/// A time on a clock, picoseconds since its epoch: PTP counts since 1970, which 64 bits do not hold.
pub(super) type Local = i128;

/// A clock that can be read for any time near the last one at which it was set or moved on.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    oscillator: Oscillator,
    /// When it was moved on last, and what it showed then.
    at: Time,
    shown: Local,
    /// Less than a picosecond more.
    rest: f64,
    /// By how much it is made to run faster: a fraction.
    steered: f64,
    /// Readings are rounded down to a multiple of this, picoseconds.
    tick: Local,
}

impl Clock {
    /// One that shows `start` at time zero, and whose readings are multiples of `tick`.
    pub fn new(oscillator: Oscillator, start: Time, tick: Time) -> Clock {
        Clock {
            oscillator,
            at: Time::ZERO,
            shown: start.as_ps().into(),
            rest: 0.0,
            steered: 0.0,
            tick: tick.as_ps().max(1).into(),
        }
    }

    /// What it shows, as finely as it is read.
    pub fn read(&self, at: Time) -> Local {
        let shown = self.exact(at).0;
        shown - shown.rem_euclid(self.tick)
    }

    /// How far it is ahead of the world's own time.
    pub fn error(&self, at: Time) -> Local {
        self.exact(at).0 - Local::from(at.as_ps())
    }

    /// What it shows, whole picoseconds and the rest. Times before it was moved on last count by how fast it runs since.
    fn exact(&self, at: Time) -> (Local, f64) {
        let (from, to) = (self.at.as_ps(), at.as_ps());
        let passed = Local::from(to) - Local::from(from);
        // The middle is exact for a deviation that changes evenly.
        let middle = Time::from_ps(from / 2 + to / 2 + (from & to & 1));
        let off = self.deviation(middle);
        let rate = off + self.steered + off * self.steered;
        let ahead = passed as f64 * rate + self.rest;
        let whole = libm::floor(ahead);
        (self.shown + passed + whole as Local, ahead - whole)
    }

    /// How fast the oscillator is, as a fraction.
    fn deviation(&self, at: Time) -> f64 {
        let Oscillator { offset, drift, .. } = self.oscillator;
        let ppm = offset + drift * at.as_secs_f64();
        ppm.clamp(-MOST_PPM, MOST_PPM) * 1e-6
    }

    /// Moves it on: what is read from here on is read from close by.
    pub fn advance(&mut self, now: Time) {
        if now > self.at {
            (self.shown, self.rest) = self.exact(now);
            self.at = now;
        }
    }

    /// Sets it forward, or back.
    pub fn step(&mut self, by: Local) {
        self.shown += by;
    }

    /// Makes it run faster by this fraction of its own rate from now on.
    pub fn steer(&mut self, now: Time, by: f64) {
        self.advance(now);
        self.steered = by;
    }

    /// By how much it is made to run faster.
    pub fn steered(&self) -> f64 {
        self.steered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_runs_as_its_oscillator_and_its_servo_have_it() {
        let mut clock = Clock::new(Oscillator::fast_by(50.0), Time::from_secs(2), Time::ZERO);
        let second = 1_000_000_000_000;
        assert_eq!(clock.read(Time::ZERO), 2 * second);
        let fast = clock.error(Time::from_secs(1));
        assert!((fast - 2 * second - 50_000_000).abs() <= 1, "{fast}");
        clock.steer(Time::from_secs(1), -50.0e-6 / (1.0 + 50.0e-6));
        let later = clock.error(Time::from_secs(1_000));
        assert!((later - 2 * second - 50_000_000).abs() <= 1, "{later}");
        clock.step(-2 * second);
        let late = clock.error(Time::from_secs(1_000));
        assert!((late - 50_000_000).abs() <= 1, "{late}");
    }

    #[test]
    fn drift_adds_up_and_many_small_steps_make_the_same_as_one_great_one() {
        let oscillator = Oscillator {
            offset: -10.0,
            drift: 0.5,
            ..Oscillator::default()
        };
        let whole = Clock::new(oscillator.clone(), Time::ZERO, Time::ZERO);
        let mut steps = whole.clone();
        for ms in 0..20_000 {
            steps.advance(Time::from_ms(ms));
        }
        let at = Time::from_secs(20);
        // -10 ppm for 20 s, and half of 0.5 ppm/s for 20 s squared: -200 us + 100 us.
        assert!((whole.error(at) + 100_000_000).abs() <= 1);
        assert!((whole.error(at) - steps.error(at)).abs() <= 1);
    }

    #[test]
    fn readings_are_whole_ticks() {
        let clock = Clock::new(Oscillator::default(), Time::ZERO, Time::from_ns(8));
        assert_eq!(clock.read(Time::from_ns(31)), 24_000);
        assert_eq!(clock.error(Time::from_ns(31)), 0, "it is only read so");
    }
}
