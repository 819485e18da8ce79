//! What a slave makes of its master's messages: offsets, their limits, and what is done about them.

use super::port::{self, Side, State};
use super::{Ptp, unscaled};
use crate::clock::found::Found;
use crate::clock::measured::in_64_bits;
use crate::clock::servo::Action;
use crate::clock::{Local, interval};
use measure::clock::ClockReading;
use node::Time;
use packet::ptp::{self, Message};

impl Ptp {
    /// A Sync from its master.
    pub(super) fn synced(&mut self, port: usize, at: Time, message: &Message, left: Local) {
        if !self.is_from_parent(port, message) {
            return;
        }
        let side = &mut self.sides[port];
        let heard = port::Heard {
            sequence: message.sequence,
            at,
            came: self.clock.read(at),
            free: self.clock.free(at),
            correction: unscaled(message.correction),
        };
        self.counters.lost_follow_ups += u64::from(side.heard.take().is_some());
        match message.flags & ptp::TWO_STEP {
            0 => self.offset(port, heard, left, message.log_interval),
            _ => side.heard = Some(heard),
        }
    }

    /// When the last one left.
    pub(super) fn followed(&mut self, port: usize, message: &Message, left: Local) {
        if !self.is_from_parent(port, message) {
            return;
        }
        match self.sides[port].followed(message) {
            Some(mut heard) => {
                heard.correction += unscaled(message.correction);
                self.offset(port, heard, left, message.log_interval);
            }
            None => self.counters.unmatched += 1,
        }
    }

    pub(super) fn is_from_parent(&mut self, port: usize, message: &Message) -> bool {
        let sender = self.parent.map(|parent| parent.set.sender);
        let own = self.sides[port].state == State::Slave && sender == Some(message.source);
        self.counters.foreign += u64::from(!own);
        own
    }

    /// A Sync whose both ends are known: the offset, if the delay is known too, and what is done about it.
    fn offset(&mut self, port: usize, heard: port::Heard, left: Local, log_interval: i8) {
        let forth = heard.came - left - heard.correction;
        // A Sync came after it was sent.
        let ahead = heard.free - left - heard.correction + self.fineness();
        self.limits.at_most(heard.free, ahead);
        let side = &mut self.sides[port];
        side.synced = Some(port::Synced { forth });
        let Some(delay) = side.delays.value() else {
            return;
        };
        let (at, offset) = (heard.at, forth - delay);
        let settled = self.servo.is_locked() || self.config.free_running;
        let settled = settled && at >= self.config.settle;
        let span = self.limits.span(heard.free);
        let span = span.map(|span| span.shifted(heard.came - heard.free));
        let (error, bound) = (self.clock.error(at), span.map(|span| span.from(0)));
        self.measured.add(at, offset, error, bound, settled);
        self.offsets += 1;
        self.found = Some(Found::new(at, offset, span));
        if self.config.free_running {
            return;
        }
        let own = self.config.log_sync_interval;
        let log = if (-7..=4).contains(&log_interval) {
            log_interval
        } else {
            own
        };
        let seconds = interval(log).as_secs_f64();
        match self.servo.sample(offset, heard.came, seconds) {
            Action::Wait => {}
            Action::Step(by, faster) => {
                self.clock.step(by);
                self.clock.steer(at, faster);
                self.counters.steps += 1;
                self.sides.iter_mut().for_each(Side::forget);
                if let Some(found) = &mut self.found {
                    found.stepped(by);
                }
            }
            Action::Steer(faster) => self.clock.steer(at, faster),
        }
    }

    /// An answer to a question about the delay: that was heard after it had left.
    pub(super) fn heard_by_master(&mut self, left: Local, answer: Local) {
        let ahead = left - answer - self.fineness();
        self.limits.at_least(left, ahead);
    }

    /// What stamps are off for their tick's sake; those in messages are whole nanoseconds, and the master's are taken to be as fine as its own.
    fn fineness(&self) -> Local {
        Local::from(self.config.clock.tick.as_ps()).max(1_000)
    }

    /// What the clock shows, and what that is worth.
    pub(super) fn reading(&self) -> Option<ClockReading> {
        if self.transparent.is_some() {
            return None;
        }
        let (at, shown_ps, rate) = self.clock.reading();
        let found = self.found.as_ref();
        let own =
            self.parent.is_none() && self.sides.iter().all(|side| side.state == State::Master);
        let ahead_of_utc = self.parent.map(|parent| parent.time.ahead_of_utc());
        Some(ClockReading {
            at,
            shown_ps,
            rate_ppt: libm::round(rate * 1e12) as i64,
            follows: self.parent.is_some(),
            offsets: self.offsets,
            offset: found.map(|found| (found.at, in_64_bits(found.offset))),
            bound_ps: match own {
                true => Some(0),
                // Between peers no question is held against the master's clock, and nothing is known of how long a Sync took.
                false => found.and_then(Found::bound),
            },
            ahead_of_utc_s: ahead_of_utc.unwrap_or(0),
            steps: self.counters.steps,
        })
    }
}
