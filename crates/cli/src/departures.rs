//! The times at which a port that is always free would send packets.

use packet::word::Timer;
use packet::{Departure, Tick};

/// Turns departure words into times.
pub struct Departures {
    tick: Tick,
    /// The last packet's time and those that the timers were marked with, in ps of the counter.
    last: u128,
    timers: [u128; 8],
}

impl Departures {
    /// `tick` is the unit of words.
    pub fn new(tick: Tick) -> Departures {
        Departures {
            tick,
            last: 0,
            timers: [0; 8],
        }
    }

    /// The time of a word, in ps of the counter. At once is right behind the packet before.
    pub fn ps(&mut self, word: u64) -> u128 {
        let timer = |timer: Timer| usize::from(timer.number());
        self.last = match Departure::from_word(word) {
            Ok(Departure::At(ticks)) => self.tick.ps(ticks),
            Ok(Departure::After(number, ticks)) => self.timers[timer(number)] + self.tick.ps(ticks),
            Ok(Departure::Mark(number)) => {
                self.timers[timer(number)] = self.last;
                self.last
            }
            Ok(Departure::Now) | Err(_) => self.last,
        };
        self.last
    }
}
