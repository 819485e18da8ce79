//! The clock discipline (RFC 5905 section 11.3): what is done about an offset, and how often the server is asked.
//!
//! Its phase- and its frequency-locked loop, with the constants of the reference implementation, counted in intervals of polling, so that they work the same
//! at intervals below 64 s. The first offset sets the clock; 16 intervals behind it, the RFC's 15 minutes, the frequency is
//! known, and it is set again. What is left of an offset is slewed by a 16th part in each interval.

use crate::clock::{Local, interval};
use node::Time;

/// The time constant of the phase-locked loop, intervals.
const PLL: f64 = 16.0;
/// The frequency-locked loop works from half of this on, seconds, and gives no less weight.
const ALLAN: f64 = 2048.0;
/// Its gain falls with this less the logarithm of the interval, and is a quarter at most.
const FLL: f64 = 18.0;
const AVERAGE: f64 = 4.0;
/// Maximum rate by which a clock is steered, a fraction: 500 ppm.
const MAX_STEERING: f64 = 500e-6;
/// Intervals until the frequency is taken to be known.
const TRAINING: u64 = 16;
/// Delay before an offset beyond the threshold steps the clock, in poll intervals.
const STEP_DELAY: u64 = 4;
/// Multiple of the jitter below which an offset suggests a longer interval.
const GATE: f64 = 4.0;
/// Such offsets until the interval becomes longer, and half as many that are more until it becomes shorter.
const LIMIT: i32 = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// It was never set.
    Unset,
    /// It was set then, and how fast it is will be known from how far it has gone since.
    Training(Time),
    /// It is held.
    Synchronised,
}

/// What is to be done with the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Action {
    /// Nothing.
    Wait,
    /// It is set forward by so much, picoseconds, and made to run faster by a fraction.
    Step(Local, f64),
    /// It is made to run faster by a fraction.
    Steer(f64),
}

/// The discipline.
#[derive(Clone, Debug)]
pub(super) struct Discipline {
    /// Beyond this the clock is set, not slewed; never if there is none.
    threshold: Option<Local>,
    least: i8,
    most: i8,
    state: State,
    /// By how much the clock has to run faster for good, a fraction.
    frequency: f64,
    /// What is still to be slewed, picoseconds.
    residual: f64,
    /// The last offset and when it was so.
    last: Option<(Local, Time)>,
    /// Since when offsets are beyond the threshold.
    beyond: Option<Time>,
    /// Between questions, as a power of two of a second.
    pub poll: i8,
    jiggle: i32,
}

impl Discipline {
    pub fn new(threshold: Option<Time>, least: i8, most: i8) -> Discipline {
        Discipline {
            threshold: threshold.map(|time| Local::from(time.as_ps())),
            least,
            most,
            state: State::Unset,
            frequency: 0.0,
            residual: 0.0,
            last: None,
            beyond: None,
            poll: least,
            jiggle: 0,
        }
    }

    pub fn is_synchronised(&self) -> bool {
        self.state == State::Synchronised
    }

    /// The word for reports.
    pub fn word(&self) -> &'static str {
        match self.state {
            State::Unset => "unset",
            State::Training(_) => "training",
            State::Synchronised => "synchronised",
        }
    }

    /// The clock was `offset` picoseconds ahead at `at`; `jitter` is by how much such offsets differ, picoseconds.
    pub fn update(&mut self, at: Time, offset: Local, jitter: f64) -> Action {
        let interval = interval(self.poll);
        if self.state == State::Unset {
            self.state = State::Training(at);
            return Action::Step(-offset, self.frequency);
        }
        let far = self.threshold.is_some_and(|most| offset.abs() > most);
        let beyond = match far {
            true => *self.beyond.get_or_insert(at),
            false => at,
        };
        self.beyond = self.beyond.filter(|_| far);
        if far {
            if at - beyond < interval * STEP_DELAY {
                return Action::Wait;
            }
            self.beyond = None;
            self.last = None;
            self.residual = 0.0;
            self.poll = self.least;
            self.state = match self.state {
                State::Synchronised => State::Synchronised,
                _ => State::Training(at),
            };
            return Action::Step(-offset, self.frequency);
        }
        if let State::Training(since) = self.state {
            if at - since < interval * TRAINING {
                return Action::Wait;
            }
            let passed = Local::from((at - since).as_ps()) + offset;
            let frequency = self.frequency - offset as f64 / passed as f64;
            self.frequency = frequency.clamp(-MAX_STEERING, MAX_STEERING);
            self.state = State::Synchronised;
            // It went off for as long as it was watched, and was not to be used before.
            return Action::Step(-offset, self.frequency);
        }
        let seconds = interval.as_secs_f64();
        let (before, then) = self.last.unwrap_or((offset, at));
        let passed = (at - then).as_secs_f64();
        if seconds > ALLAN / 2.0 {
            let weight = AVERAGE.max(FLL - f64::from(self.poll));
            let change = (offset - before) as f64 * 1e-12;
            self.frequency -= change / (seconds.max(ALLAN) * weight);
        }
        let time = 4.0 * PLL * seconds;
        self.frequency -= offset as f64 * 1e-12 * passed.min(seconds) / (time * time);
        self.choose_poll(offset, jitter);
        self.frequency = self.frequency.clamp(-MAX_STEERING, MAX_STEERING);
        self.last = Some((offset, at));
        self.residual = offset as f64;
        self.steer()
    }

    /// An interval is over: so much less is to be slewed.
    pub fn tick(&mut self) -> Action {
        match self.state {
            State::Synchronised => {
                self.residual -= self.residual / PLL;
                self.steer()
            }
            _ => Action::Wait,
        }
    }

    fn steer(&self) -> Action {
        let slew = self.residual / (PLL * interval(self.poll).as_ps() as f64);
        Action::Steer((self.frequency - slew).clamp(-MAX_STEERING, MAX_STEERING))
    }

    fn choose_poll(&mut self, offset: Local, jitter: f64) {
        self.jiggle += match (offset.abs() as f64) < GATE * jitter {
            true => 1,
            false => -2,
        };
        if self.jiggle.abs() >= LIMIT {
            let poll = self.poll + self.jiggle.signum() as i8;
            self.poll = poll.clamp(self.least, self.most);
            self.jiggle = 0;
        }
    }

    /// The server wants to be asked less often.
    pub fn ask_less(&mut self) {
        self.least = (self.least + 1).min(self.most);
        self.poll = self.poll.max(self.least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use node::Oscillator;
    use std::vec::Vec;

    /// How far a clock is off that is 80 ppm fast and 1 s ahead, after each 64 s, and the discipline.
    fn run(polls: u64, disturb: impl Fn(u64) -> Local) -> (Vec<Local>, Discipline) {
        let mut clock = Clock::new(Oscillator::fast_by(80.0), Time::from_secs(1), Time::ZERO);
        let mut discipline = Discipline::new(Some(Time::from_ms(128)), 6, 6);
        let mut errors = Vec::new();
        for poll in 1..=polls {
            let now = Time::from_secs(64) * poll;
            clock.advance(now);
            clock.step(disturb(poll));
            errors.push(clock.error(now));
            for action in [
                discipline.tick(),
                discipline.update(now, clock.error(now), 1e6),
            ] {
                match action {
                    Action::Wait => {}
                    Action::Step(by, faster) => {
                        clock.step(by);
                        clock.steer(now, faster);
                    }
                    Action::Steer(faster) => clock.steer(now, faster),
                }
            }
        }
        (errors, discipline)
    }

    #[test]
    fn a_clock_is_set_its_frequency_found_and_then_it_is_held() {
        let (errors, discipline) = run(400, |_| 0);
        assert!(discipline.is_synchronised());
        assert!(errors[0] > 1_000_000_000_000);
        // 80 ppm for 16 intervals of 64 s: 82 ms.
        assert!(
            (errors[16] - 81_920_000_000).abs() < 1_000_000_000,
            "{errors:?}"
        );
        assert!(
            errors[17..].iter().all(|error| error.abs() < 1_000_000),
            "{errors:?}"
        );
    }

    #[test]
    fn a_jump_that_lasts_is_set_right_and_a_short_one_is_not() {
        let second = 1_000_000_000_000;
        let (errors, _) = run(300, |poll| if poll == 200 { second } else { 0 });
        assert!(errors[202] > second / 2);
        assert!(errors[205].abs() < second / 1000, "{errors:?}");
        let (errors, _) = run(300, |poll| match poll {
            200 => second,
            202 => -second,
            _ => 0,
        });
        assert!(
            errors[202..].iter().all(|error| error.abs() < second / 100),
            "{errors:?}"
        );
    }

    #[test]
    fn who_is_steady_asks_less_often_and_who_is_not_more_often() {
        let mut discipline = Discipline::new(None, 4, 10);
        let mut now = Time::ZERO;
        let mut run = |discipline: &mut Discipline, count: u64, offset: Local| {
            for _ in 0..count {
                now += interval(discipline.poll);
                discipline.update(now, offset, 1e6);
            }
            discipline.poll
        };
        assert_eq!(run(&mut discipline, 200, 1_000), 10);
        assert_eq!(run(&mut discipline, 200, 5_000_000_000), 4);
        discipline.ask_less();
        assert_eq!(discipline.poll, 5, "a kiss of death");
        assert_eq!(run(&mut discipline, 20, 5_000_000_000), 5);
    }
}
