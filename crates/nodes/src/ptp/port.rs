//! A port of an ordinary or a boundary clock: its state, and the exchanges that it has under way.

use super::best::Foreigns;
use crate::clock::Local;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use node::Time;
use packet::ptp::{Message, PortIdentity};

/// What a port does (IEEE 1588-2019 clause 9.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// It waits to hear of a master.
    #[default]
    Listening,
    Master,
    Slave,
    /// Somebody else is the master on its link, and another port leads to the grandmaster.
    Passive,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::Listening => "listening",
            State::Master => "master",
            State::Slave => "slave",
            State::Passive => "passive",
        }
    }
}

/// A Sync that waits for its Follow_Up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub sequence: u16,
    pub at: Time,
    pub came: Local,
    /// The same on a clock that nobody had ever corrected.
    pub free: Local,
    pub correction: Local,
}

/// A Sync with the time at which it left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Synced {
    /// From its departure, on the master's clock, to its arrival on this one, less what was corrected.
    pub forth: Local,
}

/// A question about a delay, and what is known of its answer. The departure may be known after the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub sequence: u16,
    /// When it left, on this clock.
    pub left: Option<Local>,
    /// And on a clock that nobody had ever corrected.
    pub free: Local,
    /// Of end-to-end delay: when it came, on the master's clock. Of peer delay: how long it was at the peer. Less what is to be
    /// corrected.
    pub answer: Option<Local>,
    /// Of peer delay: when the answer came, on this clock, and whose it was.
    pub came: Option<(Local, PortIdentity)>,
    /// Of end-to-end delay: how long the Sync took that it goes with. Of peer delay: what the answer so far takes off the time at which
    /// it left.
    pub forth: Local,
}

/// The middle of the last few delays.
#[derive(Clone, Debug)]
pub(super) struct Median {
    last: VecDeque<Local>,
    sorted: Vec<Local>,
    most: usize,
}

impl Median {
    pub fn of(most: usize) -> Median {
        Median {
            last: VecDeque::with_capacity(most),
            sorted: Vec::with_capacity(most),
            most,
        }
    }

    pub fn add(&mut self, value: Local) {
        if self.last.len() == self.most {
            self.last.pop_front();
        }
        self.last.push_back(value);
        self.sorted.clear();
        self.sorted.extend(&self.last);
        self.sorted.sort_unstable();
    }

    pub fn value(&self) -> Option<Local> {
        let middle = self.sorted.len() / 2;
        match self.sorted.len() % 2 {
            _ if self.sorted.is_empty() => None,
            0 => Some((self.sorted[middle - 1] + self.sorted[middle]) / 2),
            _ => Some(self.sorted[middle]),
        }
    }

    pub fn clear(&mut self) {
        self.last.clear();
        self.sorted.clear();
    }
}

/// A port.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub state: State,
    pub foreigns: Foreigns,
    /// When it takes itself for a master that has heard of none.
    pub alone_from: Time,
    pub next_announce: Time,
    pub next_sync: Time,
    pub next_ask: Time,
    /// Numbers of the next messages.
    pub announces: u16,
    pub syncs: u16,
    pub asks: u16,
    pub heard: Option<Heard>,
    pub synced: Option<Synced>,
    pub asked: Option<Asked>,
    pub delays: Median,
}

impl Side {
    pub fn new(start: Time, alone_from: Time, filter: usize) -> Side {
        Side {
            state: State::default(),
            foreigns: Foreigns::default(),
            alone_from,
            next_announce: start,
            next_sync: start,
            next_ask: start,
            announces: 0,
            syncs: 0,
            asks: 0,
            heard: None,
            synced: None,
            asked: None,
            delays: Median::of(filter),
        }
    }

    /// The clock was set, or has another master: what is under way is worth nothing.
    pub fn forget(&mut self) {
        self.heard = None;
        self.synced = None;
        self.asked = None;
    }

    /// The Sync that a Follow_Up goes with, if it waits for that.
    pub fn followed(&mut self, message: &Message) -> Option<Heard> {
        self.heard
            .take_if(|heard| heard.sequence == message.sequence)
    }

    /// The delay that the exchange has come to, if all of it is there.
    pub fn end_to_end(&mut self) -> Option<Local> {
        let Asked {
            left,
            answer,
            forth,
            ..
        } = self.asked?;
        let back = answer? - left?;
        self.asked = None;
        self.delays.add((forth + back) / 2);
        self.delays.value()
    }

    /// The same of an exchange with a peer.
    pub fn peer(&mut self) -> Option<Local> {
        let Asked {
            left, answer, came, ..
        } = self.asked?;
        let round = came?.0 - left?;
        let delay = (round - answer?) / 2;
        self.asked = None;
        self.delays.add(delay);
        self.delays.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_delay_that_is_far_too_long_changes_nothing() {
        let mut median = Median::of(4);
        assert_eq!(median.value(), None);
        for value in [100, 102, 1_000_000, 101] {
            median.add(value);
        }
        assert_eq!(median.value(), Some(101));
        for value in [7, 7, 7] {
            median.add(value);
        }
        assert_eq!(median.value(), Some(7));
    }

    #[test]
    fn a_delay_is_known_when_both_ends_of_it_are_whichever_comes_first() {
        let asked = Asked {
            sequence: 3,
            left: None,
            free: 0,
            answer: Some(1_500),
            came: None,
            forth: -400,
        };
        let mut side = Side::new(Time::ZERO, Time::ZERO, 1);
        side.asked = Some(asked);
        assert_eq!(side.end_to_end(), None);
        side.asked = side.asked.map(|asked| Asked {
            left: Some(500),
            ..asked
        });
        // It is 500 behind: 100 there look like -400, and 100 back like 1,000... 600 / 2.
        assert_eq!(side.end_to_end(), Some(300));
        assert!(side.asked.is_none(), "once");
    }
}
