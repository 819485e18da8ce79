//! Pauses that a link's other end requests.

use super::{Config, PRIORITIES, Pause, Pauses, time_of_quanta};
use alloc::collections::VecDeque;
use node::{Channel, ConfigError, Rate, Time};

/// The sender's end of pauses.
#[derive(Debug)]
pub struct Gate {
    config: Config,
    rate: Rate,
    /// Pauses that arrived, with the time at which they take effect.
    heard: VecDeque<(Time, Pause)>,
    until: Pauses,
    /// Start of each priority's uninterrupted pause, and whether it counts as a storm.
    since: [Option<Since>; PRIORITIES],
}

#[derive(Clone, Copy, Debug)]
struct Since {
    at: Time,
    is_storm: bool,
}

impl Gate {
    /// For the sender of a channel.
    ///
    /// # Errors
    /// For invalid parameters, and a channel without a rate.
    pub fn new(config: &Config, channel: &Channel) -> Result<Gate, ConfigError> {
        config.check(channel)?;
        let Some(rate) = channel.rate else {
            return Err(ConfigError::new("rate", "pauses count bit times"));
        };
        Ok(Gate {
            config: config.clone(),
            rate,
            heard: VecDeque::new(),
            until: Pauses::default(),
            since: Default::default(),
        })
    }

    /// Whether pauses are per priority, not of the whole link.
    pub fn is_by_priority(&self) -> bool {
        !self.config.priorities.is_empty()
    }

    /// Stores a pause that has arrived. It takes effect after the reaction time.
    pub fn hear(&mut self, now: Time, pause: Pause) {
        self.heard.push_back((now + self.config.reaction, pause));
    }

    /// Applies the pauses that are due. Returns the ends of pauses when they changed.
    pub fn apply(&mut self, now: Time) -> Option<Pauses> {
        let mut is_changed = false;
        while let Some((at, pause)) = self.heard.pop_front_if(|(at, _)| *at <= now) {
            let heard = at - self.config.reaction;
            for priority in 0..PRIORITIES {
                // PFC of a priority without it, and PAUSE where PFC is in use, have no effect
                // (802.1Q 36.1.1: the two are not used together).
                let is_own = self.config.covers(priority)
                    && matches!(pause, Pause::Priorities(_)) == self.is_by_priority();
                let Some(quanta) = pause.time_of(priority).filter(|_| is_own) else {
                    continue;
                };
                is_changed = true;
                // The pause time counts from the arrival; the last frame replaces earlier ones.
                let until = heard + time_of_quanta(quanta, self.rate);
                let was_paused = self.until[priority] >= at;
                self.until[priority] = until;
                match (until > at, was_paused && self.since[priority].is_some()) {
                    (false, _) => self.since[priority] = None,
                    (true, true) => {}
                    (true, false) => {
                        self.since[priority] = Some(Since {
                            at,
                            is_storm: false,
                        });
                    }
                }
            }
        }
        is_changed.then_some(self.until)
    }

    /// End of the pause of the whole line, for a discipline without priorities.
    pub fn line_until(&self) -> Time {
        self.until.into_iter().max().unwrap_or(Time::ZERO)
    }

    /// Time of the next event: a stored pause takes effect, or the watchdog is due, which runs while
    /// frames wait.
    pub fn next(&self, frames_wait: bool) -> Option<Time> {
        let heard = self.heard.front().map(|(at, _)| *at);
        let watched = self.since.iter().zip(&self.until);
        let watched = watched.filter_map(|(since, until)| {
            let since = since.filter(|since| frames_wait && !since.is_storm)?;
            let due = since.at + self.config.watchdog;
            (due <= *until).then_some(due)
        });
        heard.into_iter().chain(watched).min()
    }

    /// Priorities whose pause has now become a storm, by bit; of the whole link the first.
    pub fn storms(&mut self, now: Time, frames_wait: bool) -> u8 {
        let mut storms = 0;
        for (priority, (since, until)) in self.since.iter_mut().zip(&self.until).enumerate() {
            if now > *until {
                *since = None;
            }
            let Some(since) = since else { continue };
            let is_due = since.at + self.config.watchdog <= now;
            if is_due && frames_wait && !since.is_storm {
                since.is_storm = true;
                storms |= 1 << priority;
            }
        }
        match self.is_by_priority() {
            true => storms,
            // A link is one storm.
            false => storms & 1,
        }
    }

    /// The link has gone down: all pauses end.
    pub fn restart(&mut self) {
        self.heard.clear();
        (self.until, self.since) = (Pauses::default(), Default::default());
    }
}
