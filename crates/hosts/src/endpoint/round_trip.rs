//! Round trips and the retransmission time-out (RFC 6298).

use node::Time;
use node::outcome::Times;

/// Time-out before the first round trip is known.
pub(super) const FIRST_TIMEOUT: Time = Time::from_secs(1);
const MAX_TIMEOUT: Time = Time::from_secs(60);
/// Estimates of one direction of a connection.
pub(super) struct RoundTrip {
    /// Smoothed round trip and mean deviation.
    smoothed: Option<(Time, Time)>,
    /// The shortest round trip; [`Time::MAX`] before the first.
    pub least: Time,
    /// Time-outs since the last progress.
    backoff: u32,
    /// Lower limit. As in Linux it bounds the variation, not the sum: a time-out is always this much longer
    /// than the smoothed round trip, so that a queue that fills does not cause one.
    pub min_variation: Time,
    pub all: Times,
}

impl RoundTrip {
    pub fn new(min_variation: Time) -> RoundTrip {
        RoundTrip {
            smoothed: None,
            least: Time::MAX,
            backoff: 0,
            min_variation,
            all: Times::default(),
        }
    }

    /// Takes a round trip of a segment that was sent once.
    pub fn sample(&mut self, time: Time) {
        self.all.add(time);
        self.least = self.least.min(time);
        self.smoothed = Some(match self.smoothed {
            None => (time, Time::from_ps(time.as_ps() / 2)),
            Some((mean, deviation)) => {
                let off = u128::from(mean.as_ps().abs_diff(time.as_ps()));
                let deviation = (3 * u128::from(deviation.as_ps()) + off) / 4;
                let mean = (7 * u128::from(mean.as_ps()) + u128::from(time.as_ps())) / 8;
                (Time::from_ps(mean as u64), Time::from_ps(deviation as u64))
            }
        });
    }

    /// The smoothed round trip; `None` before the first sample.
    pub fn mean(&self) -> Option<Time> {
        self.smoothed.map(|(mean, _)| mean)
    }

    /// The retransmission time-out, with its exponential back-off.
    pub fn timeout(&self) -> Time {
        let base = match self.smoothed {
            None => FIRST_TIMEOUT,
            Some((mean, deviation)) => mean + (deviation * 4).max(self.min_variation),
        };
        (base * (1 << self.backoff)).min(MAX_TIMEOUT)
    }

    /// Doubles the time-out.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// Ends the back-off: data was acknowledged.
    pub fn progress(&mut self) {
        self.backoff = 0;
    }

    /// Consecutive time-outs without progress.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }
}
