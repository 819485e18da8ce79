//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation, Linux's `tcp_rate.c`).
//!
//! A sample is the data delivered between the departure of a segment and its acknowledgement, over the longer of the times in which
//! that data was sent and acknowledged. So acknowledgements that come together do not make a path look faster than it is.

use node::Time;

/// State at the departure of a segment.
#[derive(Clone, Copy, Default)]
pub(super) struct Snapshot {
    /// Bytes delivered before, and when the last of them were.
    delivered: u64,
    delivered_at: Time,
    /// Departure of the segment that was the newest to be delivered by then.
    first_sent: Time,
    /// The sender had nothing more to send.
    is_limited: bool,
}

/// A segment that was delivered, the one sent last of those that an acknowledgement reports.
#[derive(Clone, Copy)]
pub(super) struct Newest {
    pub sent: Time,
    pub end: u32,
    pub snapshot: Snapshot,
}

/// A measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// Bytes a second; `None` when the time was too short to tell.
    pub rate: Option<f64>,
    /// Bytes that were delivered when the segment left: rounds are counted by it.
    pub before: u64,
    /// The rate is that of the program, and may be less than that of the path.
    pub is_limited: bool,
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Rate {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Count of delivered bytes up to which samples are limited by the program; 0 for none.
    limited_until: u64,
}

impl Rate {
    /// State for a segment that leaves; `is_idle`: nothing else is in flight.
    pub fn depart(&mut self, now: Time, is_idle: bool) -> Snapshot {
        if is_idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_limited: self.limited_until > 0,
        }
    }

    /// The program has nothing more to send, with `flight` bytes in flight.
    pub fn limit(&mut self, flight: u64) {
        self.limited_until = (self.delivered + flight).max(1);
    }

    /// Bytes delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Takes an acknowledgement that reports `bytes` as delivered. `least` is the shortest round trip: no shorter time is a sample.
    pub fn take(
        &mut self,
        now: Time,
        bytes: u64,
        newest: Option<Newest>,
        least: Time,
    ) -> Option<Sample> {
        self.delivered += bytes;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let Newest { sent, snapshot, .. } = newest?;
        (self.delivered_at, self.first_sent) = (now, sent);
        let sending = sent - snapshot.first_sent;
        let acknowledging = now - snapshot.delivered_at;
        let interval = sending.max(acknowledging);
        let delivered = (self.delivered - snapshot.delivered) as f64;
        let is_long = interval >= least && interval > Time::ZERO;
        Some(Sample {
            rate: is_long.then(|| delivered / interval.as_secs_f64()),
            before: snapshot.delivered,
            is_limited: snapshot.is_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    fn newest(sent: Time, snapshot: Snapshot) -> Option<Newest> {
        let end = 0;
        Some(Newest {
            sent,
            end,
            snapshot,
        })
    }

    #[test]
    fn acknowledgements_that_come_together_measure_the_rate_of_sending() {
        let mut rate = Rate::default();
        // A segment of 1,000 bytes each millisecond; all are acknowledged at 30 ms.
        let sent: alloc::vec::Vec<_> = (0..20)
            .map(|at| (MS(at), rate.depart(MS(at), at == 0)))
            .collect();
        for (at, snapshot) in sent {
            let sample = rate.take(MS(30), 1_000, newest(at, snapshot), MS(10));
            let measured = sample.unwrap().rate.unwrap();
            assert!(measured <= 20_000.0 / 0.03 + 1.0, "{measured}");
        }
        // The next ones come back as the path delivers them: 1,000 bytes each 2 ms.
        let sent: alloc::vec::Vec<_> = (30..40)
            .map(|at| (MS(at), rate.depart(MS(at), at == 30)))
            .collect();
        let mut last = None;
        for (index, (at, snapshot)) in sent.into_iter().enumerate() {
            let now = MS(40 + 2 * (index as u64 + 1));
            last = rate.take(now, 1_000, newest(at, snapshot), MS(10));
        }
        let measured = last.unwrap().rate.unwrap();
        assert!((measured - 10_000.0 / 0.03).abs() < 1.0, "{measured}");
    }

    #[test]
    fn a_program_without_data_limits_samples_until_that_is_delivered() {
        let mut rate = Rate::default();
        let first = rate.depart(MS(0), true);
        rate.limit(2_000);
        let second = rate.depart(MS(1), false);
        let sample = rate.take(MS(10), 1_000, newest(MS(0), first), MS(5));
        assert!(!sample.unwrap().is_limited);
        let sample = rate.take(MS(11), 1_000, newest(MS(1), second), MS(5));
        assert!(sample.unwrap().is_limited);
        let third = rate.depart(MS(12), true);
        rate.take(MS(20), 1_000, newest(MS(12), third), MS(5));
        let fourth = rate.depart(MS(21), true);
        let sample = rate.take(MS(22), 1_000, newest(MS(21), fourth), MS(5));
        let sample = sample.unwrap();
        assert!(!sample.is_limited);
        // Less than a round trip is no time to measure in.
        assert_eq!((sample.rate, sample.before), (None, 3_000));
    }
}
