//! A proportional-integral servo: what is done about an offset.

use super::Local;

/// Maximum rate by which a clock is steered, a fraction: 1000 ppm.
const MAX_STEERING: f64 = 1e-3;

/// How far it has got.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    /// It knows of no offset.
    #[default]
    Unlocked,
    /// It knows of one, and when that was on its own clock.
    Estimating(Local, Local),
    /// It has set the clock once, and steers it.
    Locked,
}

/// Action of the servo on the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    /// Nothing yet.
    Wait,
    /// It is set forward by so much, and made to run faster by a fraction.
    Step(Local, f64),
    /// It is made to run faster by a fraction.
    Steer(f64),
}

/// The servo.
#[derive(Clone, Debug)]
pub(crate) struct Servo {
    proportional: f64,
    integral: f64,
    /// Beyond this the clock is set again; never if there is none.
    threshold: Option<Local>,
    state: State,
    /// How much faster the clock has to run for good, as far as is known.
    drift: f64,
}

impl Servo {
    pub fn new(proportional: f64, integral: f64, threshold: Option<Local>) -> Servo {
        Servo {
            proportional,
            integral,
            threshold,
            state: State::Unlocked,
            drift: 0.0,
        }
    }

    pub fn is_locked(&self) -> bool {
        self.state == State::Locked
    }

    /// The word for reports.
    pub fn word(&self) -> &'static str {
        match self.state {
            State::Unlocked => "unlocked",
            State::Estimating(..) => "estimating",
            State::Locked => "locked",
        }
    }

    /// Restarts with what it knows of the clock's rate.
    pub fn reset(&mut self) {
        self.state = State::Unlocked;
    }

    /// The clock was `offset` picoseconds ahead when it showed `at`; the next will be known `interval` seconds later.
    pub fn sample(&mut self, offset: Local, at: Local, interval: f64) -> Action {
        match self.state {
            State::Unlocked => {
                self.state = State::Estimating(offset, at);
                Action::Wait
            }
            // Two offsets tell how fast the clock is.
            State::Estimating(before, then) => {
                if at <= then {
                    return Action::Wait;
                }
                let fast = (offset - before) as f64 / (at - then) as f64;
                self.drift = (self.drift - fast).clamp(-MAX_STEERING, MAX_STEERING);
                self.state = State::Locked;
                Action::Step(-offset, self.drift)
            }
            State::Locked => {
                if self.threshold.is_some_and(|most| offset.abs() > most) {
                    self.state = State::Estimating(offset, at);
                    return Action::Wait;
                }
                let part = offset as f64 * 1e-12 / interval;
                self.drift = (self.drift - self.integral * part).clamp(-MAX_STEERING, MAX_STEERING);
                let by = self.drift - self.proportional * part;
                Action::Steer(by.clamp(-MAX_STEERING, MAX_STEERING))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use node::{Oscillator, Time};

    /// The offsets of a clock that is 80 ppm fast and 1 s ahead, from second to second, and whose rate changes by so much.
    fn run(mut servo: Servo, seconds: u64, drift: f64) -> (Servo, std::vec::Vec<Local>) {
        let oscillator = Oscillator {
            drift,
            ..Oscillator::fast_by(80.0)
        };
        let mut clock = Clock::new(oscillator, Time::from_secs(1), Time::ZERO);
        let mut offsets = std::vec::Vec::new();
        for second in 1..=seconds {
            let now = Time::from_secs(second);
            clock.advance(now);
            let offset = clock.error(now);
            offsets.push(offset);
            match servo.sample(offset, clock.read(now), 1.0) {
                Action::Wait => {}
                Action::Step(by, fast) => {
                    clock.step(by);
                    clock.steer(now, fast);
                }
                Action::Steer(fast) => clock.steer(now, fast),
            }
        }
        (servo, offsets)
    }

    #[test]
    fn a_clock_is_set_once_and_then_held() {
        let (servo, offsets) = run(Servo::new(0.7, 0.3, None), 60, 0.0);
        assert!(servo.is_locked());
        assert!(offsets[1] > 1_000_000_000_000, "both are before the step");
        assert!(offsets[2].abs() < 100_000, "{offsets:?}");
        assert!(offsets[59].abs() <= 1, "{offsets:?}");
    }

    #[test]
    fn the_integral_part_keeps_a_clock_whose_rate_changes() {
        let last = |integral| {
            let (_, offsets) = run(Servo::new(0.7, integral, None), 60, -0.1);
            offsets[59].abs()
        };
        // 0.1 us a second each second are made up for by as much of the offset; without it the offset grows.
        assert!((300_000..370_000).contains(&last(0.3)), "{}", last(0.3));
        assert!(last(0.0) > 5_000_000, "{}", last(0.0));
    }

    #[test]
    fn beyond_the_threshold_the_clock_is_set_again() {
        let mut servo = Servo::new(0.7, 0.3, Some(1_000));
        assert_eq!(servo.sample(5, 0, 1.0), Action::Wait);
        assert_eq!(servo.sample(5, 1_000, 1.0), Action::Step(-5, 0.0));
        assert_eq!(servo.sample(1_001, 2_000, 1.0), Action::Wait);
        let Action::Step(by, _) = servo.sample(1_001, 3_000, 1.0) else {
            panic!("it is set");
        };
        assert_eq!(by, -1_001);
    }
}
