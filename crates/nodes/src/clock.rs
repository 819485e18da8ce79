//! A clock of a node's own: an oscillator that is off, and what is done about it.

pub(crate) mod found;
pub(crate) mod limits;
pub(crate) mod measured;
pub(crate) mod servo;
pub(crate) mod station;

use alloc::format;
use alloc::vec::Vec;
use node::ConfigError;
use node::oscillator::MAX_PPM;
use node::{Oscillator, OscillatorError, Time};

/// What a node's clock is made from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// How fast its oscillator is, parts per million: -100 to 100.
    pub ppm: f64,
    /// How that changes with age, parts per million a second: -1000 to 1000.
    pub drift: f64,
    /// How it changes with temperature, parts per million a degree.
    pub per_degree: f64,
    /// The temperature at some times, degrees: between two of them it changes evenly.
    pub temperature: Vec<(Time, f64)>,
    /// What the clock shows at the begin, counted from `epoch_ns`.
    pub start: Time,
    /// What the world's time zero is, nanoseconds since 1970: errors count from that.
    pub epoch_ns: u64,
    /// How fine its stamps are, at most 1 s; zero: picoseconds.
    pub tick: Time,
    /// By how much its rate against another clock is taken to change, parts per million a second: more than 0, at most 1000. Bounds hold as far as
    /// that is so.
    pub wander: f64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ppm: 0.0,
            drift: 0.0,
            per_degree: 0.0,
            temperature: Vec::new(),
            start: Time::ZERO,
            epoch_ns: 0,
            tick: Time::ZERO,
            wander: 0.1,
        }
    }
}

impl Config {
    /// The clock, as it is at time zero.
    pub(crate) fn make(&self) -> Result<Clock, ConfigError> {
        if !(self.wander > 0.0 && self.wander <= 1000.0) {
            let reason = "`wander` is more than 0, and at most 1000 ppm a second";
            return Err(ConfigError::new("clock", reason));
        }
        if self.tick > Time::from_secs(1) {
            let reason = "stamps (`tick`) are at least as fine as 1 s";
            return Err(ConfigError::new("clock", reason));
        }
        let oscillator = Oscillator {
            offset: self.ppm,
            drift: self.drift,
            per_degree: self.per_degree,
            temperature: self.temperature.clone(),
        };
        match oscillator.check() {
            Ok(()) => {
                let clock = Clock::new(oscillator, self.start, self.tick);
                Ok(clock.since(Local::from(self.epoch_ns) * 1_000))
            }
            Err(error @ OscillatorError::Offset) => {
                Err(ConfigError::new("clock", format!("{error} (`ppm`)")))
            }
            Err(error) => Err(ConfigError::new("clock", format!("{error}"))),
        }
    }
}

/// A time on a clock, picoseconds since its epoch: PTP counts since 1970, which 64 bits do not hold.
pub(crate) type Local = i128;

/// A clock that can be read for any time near the last one at which it was set or moved on.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    oscillator: Oscillator,
    /// When it was moved on last, and what it showed then.
    at: Time,
    shown: Local,
    /// What a clock that is right shows at time zero.
    epoch: Local,
    /// Less than a picosecond more.
    rest: f64,
    /// By how much it is made to run faster: a fraction.
    steered: f64,
    /// What that has come to, picoseconds, and by how much it was set.
    slewed: f64,
    set: Local,
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
            epoch: 0,
            rest: 0.0,
            steered: 0.0,
            slewed: 0.0,
            set: 0,
            tick: tick.as_ps().max(1).into(),
        }
    }

    /// The same, where time zero is so long after the clock's epoch.
    fn since(self, epoch: Local) -> Clock {
        Clock {
            shown: self.shown + epoch,
            epoch,
            ..self
        }
    }

    /// What it shows, as finely as it is read.
    pub fn read(&self, at: Time) -> Local {
        let shown = self.exact(at).0;
        shown - shown.rem_euclid(self.tick)
    }

    /// What it would show if it had never been set or steered.
    pub fn free(&self, at: Time) -> Local {
        self.read(at) - self.set - libm::round(self.slewed(at)) as Local
    }

    /// What steering it has come to, picoseconds.
    fn slewed(&self, at: Time) -> f64 {
        let (from, to) = (self.at.as_ps(), at.as_ps());
        let passed = (Local::from(to) - Local::from(from)) as f64;
        self.slewed + self.steered * (passed + self.fast(from, to))
    }

    /// How far it is ahead of the world's own time.
    pub fn error(&self, at: Time) -> Local {
        self.exact(at).0 - Local::from(at.as_ps()) - self.epoch
    }

    /// What it shows, whole picoseconds and the rest. Times before it was moved on last count by how fast it runs since.
    fn exact(&self, at: Time) -> (Local, f64) {
        let (from, to) = (self.at.as_ps(), at.as_ps());
        let passed = Local::from(to) - Local::from(from);
        let fast = self.fast(from, to);
        let ahead = fast + self.steered * (passed as f64 + fast) + self.rest;
        let whole = libm::floor(ahead);
        (self.shown + passed + whole as Local, ahead - whole)
    }

    /// How far the oscillator runs ahead from one time to another, or back, picoseconds.
    fn fast(&self, from: u64, to: u64) -> f64 {
        if to < from {
            return -self.fast(to, from);
        }
        let knots = match self.oscillator.per_degree {
            0.0 => &[][..],
            _ => &self.oscillator.temperature,
        };
        let knots = knots.iter().map(|(at, _)| at.as_ps());
        let within = knots.filter(|&at| from < at && at < to);
        let (mut begin, mut sum) = (from, 0.0);
        for end in within.chain([to]) {
            // The middle is exact for a deviation that changes evenly.
            let middle = begin / 2 + end / 2 + (begin & end & 1);
            sum += (end - begin) as f64 * self.deviation(Time::from_ps(middle));
            begin = end;
        }
        sum
    }

    /// How fast the oscillator is, as a fraction.
    fn deviation(&self, at: Time) -> f64 {
        let oscillator = &self.oscillator;
        let mut ppm = oscillator.offset + oscillator.drift * at.as_secs_f64();
        if oscillator.per_degree != 0.0 {
            ppm += oscillator.per_degree * (self.degrees(at) - self.degrees(Time::ZERO));
        }
        ppm.clamp(-MAX_PPM, MAX_PPM) * 1e-6
    }

    /// The temperature; 0 where none is known.
    fn degrees(&self, at: Time) -> f64 {
        let points = &self.oscillator.temperature;
        let behind = points.partition_point(|(time, _)| *time <= at);
        match (points[..behind].last(), points.get(behind)) {
            (None, None) => 0.0,
            (Some(&(_, only)), None) | (None, Some(&(_, only))) => only,
            (Some(&(from, cold)), Some(&(to, warm))) => {
                cold + (warm - cold) * ((at - from).as_secs_f64() / (to - from).as_secs_f64())
            }
        }
    }

    /// Moves it on: what is read from here on is read from close by.
    pub fn advance(&mut self, now: Time) {
        if now > self.at {
            self.slewed = self.slewed(now);
            (self.shown, self.rest) = self.exact(now);
            self.at = now;
        }
    }

    /// Sets it forward, or back.
    pub fn step(&mut self, by: Local) {
        self.shown += by;
        self.set += by;
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

    /// What it showed when it was moved on last, and how it runs from there.
    pub fn reading(&self) -> (Time, Local, f64) {
        let off = self.deviation(self.at);
        let rate = off + self.steered + off * self.steered;
        (self.at, self.shown, rate)
    }
}

/// A power of two of a second; the exponent is in -16..=17.
pub(crate) fn interval(log: i8) -> Time {
    let second = Time::from_secs(1).as_ps();
    Time::from_ps(match log {
        0.. => second << log,
        _ => second >> -log,
    })
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
        // Left alone it would be 50 ppm of all that time ahead.
        let free = clock.free(Time::from_secs(1_000)) - 1_002 * second;
        assert!((free - 50_000_000_000).abs() <= 1, "{free}");
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
    fn warmth_makes_it_faster_as_long_as_it_lasts() {
        let oscillator = Oscillator {
            per_degree: 0.1,
            temperature: alloc::vec![
                (Time::from_secs(10), 20.0),
                (Time::from_secs(20), 40.0),
                (Time::from_secs(30), 20.0),
            ],
            ..Oscillator::default()
        };
        let clock = Clock::new(oscillator, Time::ZERO, Time::ZERO);
        assert_eq!(clock.error(Time::from_secs(10)), 0);
        // Up to 2 ppm and back within 20 s: 1 ppm in the mean.
        for (second, us) in [
            (15, 2_500_000),
            (20, 10_000_000),
            (30, 20_000_000),
            (99, 20_000_000),
        ] {
            let error = clock.error(Time::from_secs(second));
            assert!((error - us).abs() <= 1, "{second} s: {error}");
        }
    }

    #[test]
    fn readings_are_whole_ticks() {
        let clock = Clock::new(Oscillator::default(), Time::ZERO, Time::from_ns(8));
        assert_eq!(clock.read(Time::from_ns(31)), 24_000);
        assert_eq!(clock.error(Time::from_ns(31)), 0, "it is only read so");
    }
}
