//! What a port's clock is like, as data.

use crate::Time;
use alloc::vec::Vec;

/// Maximum frequency error of an oscillator, parts per million (IEEE 802.3 clauses 52.5.1, 46.3).
/// Both ends of a link differ by at most twice as much.
pub const MAX_PPM: f64 = 100.0;
/// Maximum rate of change, parts per million a second.
pub const MAX_DRIFT: f64 = 1_000.0;
/// Maximum number of points of a temperature ramp.
pub const MAX_POINTS: usize = 1_000;

/// The oscillator of a port: how far its frequency is off from the nominal one, over the time of the
/// run.
///
/// The deviation is `offset + drift * t + per_degree * (temperature(t) - temperature(0))`, held within
/// [`MAX_PPM`] on either side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Oscillator {
    /// The deviation at the start of the run, parts per million: positive is fast. In -100..=100.
    pub offset: f64,
    /// How it changes with age, parts per million a second. In -1000..=1000.
    pub drift: f64,
    /// How it changes with temperature, parts per million a degree.
    pub per_degree: f64,
    /// The temperature at some times, degrees. Between two of them it changes evenly, before the first
    /// and behind the last not at all. Their times go up.
    pub temperature: Vec<(Time, f64)>,
}

/// What is wrong with an oscillator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OscillatorError {
    /// Too far off.
    #[error("a clock is at most 100 ppm off, fast or slow")]
    Offset,
    /// Changes too fast, by itself or with the temperature.
    #[error("a clock drifts by at most 1000 ppm a second")]
    Drift,
    /// The temperatures' times.
    #[error("the times of temperatures go up, and there are at most 1000")]
    Temperature,
}

impl Oscillator {
    /// One that is this many parts per million fast.
    pub fn fast_by(ppm: f64) -> Oscillator {
        Oscillator {
            offset: ppm,
            ..Oscillator::default()
        }
    }

    /// By how much its deviation changes at most, parts per million a second.
    pub fn steepest(&self) -> f64 {
        let slope = |pair: &[(Time, f64)]| {
            let seconds = (pair[1].0 - pair[0].0).as_ps() as f64 / 1e12;
            self.per_degree * (pair[1].1 - pair[0].1) / seconds
        };
        let magnitude = |slope: f64| slope.max(-slope);
        let slopes = self.temperature.windows(2).map(slope);
        let steepest = slopes.map(|slope| magnitude(self.drift + slope));
        steepest.fold(magnitude(self.drift), f64::max)
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self) -> Result<(), OscillatorError> {
        let within = |value: f64, most: f64| (-most..=most).contains(&value);
        if !within(self.offset, MAX_PPM) {
            return Err(OscillatorError::Offset);
        }
        if !within(self.drift, MAX_DRIFT) {
            return Err(OscillatorError::Drift);
        }
        if self.temperature.len() > MAX_POINTS {
            return Err(OscillatorError::Temperature);
        }
        for pair in self.temperature.windows(2) {
            let ((from, cold), (to, warm)) = (pair[0], pair[1]);
            if from >= to {
                return Err(OscillatorError::Temperature);
            }
            let seconds = (to - from).as_ps() as f64 / 1e12;
            let slope = self.drift + self.per_degree * (warm - cold) / seconds;
            if !within(slope, MAX_DRIFT) {
                return Err(OscillatorError::Drift);
            }
        }
        let finite = self.temperature.iter().all(|point| point.1.is_finite());
        if !finite || !self.per_degree.is_finite() {
            return Err(OscillatorError::Drift);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_clock_does_is_refused() {
        let good = Oscillator {
            offset: -100.0,
            drift: 0.5,
            per_degree: -0.04,
            temperature: alloc::vec![(Time::ZERO, 20.0), (Time::from_secs(60), 70.0)],
        };
        assert_eq!(good.check(), Ok(()));
        let with = |change: &dyn Fn(&mut Oscillator)| {
            let mut changed = good.clone();
            change(&mut changed);
            changed.check()
        };
        let offset = Err(OscillatorError::Offset);
        assert_eq!(with(&|o| o.offset = 100.1), offset);
        assert_eq!(with(&|o| o.offset = f64::NAN), offset);
        let drift = Err(OscillatorError::Drift);
        assert_eq!(with(&|o| o.drift = -1001.0), drift);
        assert_eq!(with(&|o| o.per_degree = f64::INFINITY), drift);
        assert_eq!(with(&|o| o.temperature[1].1 = 1e9), drift);
        assert_eq!(with(&|o| o.temperature[0].1 = f64::NAN), drift);
        let points = Err(OscillatorError::Temperature);
        assert_eq!(with(&|o| o.temperature[1].0 = Time::ZERO), points);
    }
}
