//! Sending into a queue that is full: waits grow, and end.

use super::{PortError, TxCounters};
use ::capture::clock::now_ns;
use std::time::Duration;

/// Minimum pause before a retry.
const MIN_PAUSE: Duration = Duration::from_micros(50);
/// Maximum pause before a retry.
const MAX_PAUSE: Duration = Duration::from_millis(10);

/// How a sending half waits for room in the interface's queue, about which poll(2) knows nothing.
///
/// A wait is twice as long as the one before it, and what was learned about the queue stays for the next frame. A frame
/// that finds no room in `patience` is given up; from then on each has one try, as at the tail of any queue that is full,
/// until one gets through.
#[derive(Debug)]
pub(crate) struct Backlog {
    patience: Duration,
    pause: Duration,
    /// Until when the frame under way waits, ns.
    until: Option<u64>,
    /// The frame before was given up.
    full: bool,
}

impl Backlog {
    /// For frames that wait so long at most.
    pub fn new(patience: Duration) -> Backlog {
        Backlog {
            patience,
            pause: MIN_PAUSE,
            until: None,
            full: false,
        }
    }

    /// There is no room: waits before the next try. Not by poll(2), which comes back at once while there are stamps to be read.
    ///
    /// # Errors
    /// [`PortError::Full`] when the frame has waited long enough.
    pub fn wait(&mut self, name: &str, counters: &mut TxCounters) -> Result<(), PortError> {
        let pause = self.pause(name)?;
        counters.waited += 1;
        std::thread::park_timeout(pause);
        Ok(())
    }

    /// How long to wait.
    fn pause(&mut self, name: &str) -> Result<Duration, PortError> {
        let now = now_ns();
        let patience = self.patience.as_nanos() as u64;
        let until = *self.until.get_or_insert(now + patience);
        if self.full || now >= until {
            self.full = true;
            self.until = None;
            return Err(PortError::Full {
                name: name.into(),
                patience: self.patience,
            });
        }
        let pause = self.pause.min(Duration::from_nanos(until - now));
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        Ok(pause)
    }

    /// A frame got through.
    #[inline]
    pub fn passed(&mut self) {
        if self.until.is_some() || self.full {
            self.until = None;
            self.full = false;
            self.pause = (self.pause / 4).max(MIN_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_what_was_learned_stays() {
        let mut backlog = Backlog::new(Duration::from_secs(3600));
        let mut next = || backlog.pause("eth0").unwrap().as_micros();
        let pauses: Vec<u128> = (0..10).map(|_| next()).collect();
        assert_eq!(
            pauses,
            [50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]
        );
        backlog.passed();
        assert_eq!(backlog.pause("eth0").unwrap().as_micros(), 2500);
    }

    #[test]
    fn a_queue_that_stays_full_is_waited_for_once() {
        let mut backlog = Backlog::new(Duration::ZERO);
        for _ in 0..3 {
            let error = backlog.pause("eth0").unwrap_err();
            assert!(
                !error.is_end() && error.to_string().contains("queue"),
                "{error}"
            );
        }
        let mut backlog = Backlog {
            full: true,
            ..Backlog::new(Duration::from_secs(3600))
        };
        assert!(backlog.pause("eth0").is_err(), "one try for each");
        backlog.passed();
        assert!(backlog.pause("eth0").is_ok(), "until one gets through");
    }
}
