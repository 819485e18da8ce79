//! Looking at a clock while it runs.

use super::Sync;
use live::page::Publisher;
use measure::clock::{ClockReading, ClockReport};
use node::Time;
use node::outcome::Statistics;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// An offset, and what was known with it.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When, since the begin.
    pub at: Time,
    /// Ahead of the master, before the correction, picoseconds.
    pub offset_ps: i64,
    /// How far the truth may be from it, if the protocol bounds that.
    pub bound_ps: Option<u64>,
    pub delay_ps: Option<i64>,
    /// By how much what the clock counts by is faster, the machine's counter or a lab's oscillator, parts in 10^12: the mean of the servo's last
    /// [`RATES`] rates, each of which makes up for an offset too.
    pub drift_ppt: i64,
    /// How far the machine's clock was ahead of the master's; in a lab simulated time.
    pub machine_ps: i128,
}

/// What there is to tell.
pub enum News {
    Offset(Sample),
    /// So many offsets were found between two looks, of which nothing is known.
    Missed(u64),
    /// A second is over, and what the clock is.
    Second(Time, String, u64),
}

/// What counts questions of those who want the time.
const QUESTIONS: [&str; 4] = [
    "delay_req_received",
    "pdelay_req_received",
    "requests_received",
    "pairs_answered",
];

/// Rates whose mean is the drift.
const RATES: usize = 64;

/// Looks at a clock, and tells.
pub struct Watch {
    start_ns: u64,
    epoch_ps: i128,
    publisher: Option<Publisher>,
    news: Sender<News>,
    stop: Arc<AtomicBool>,
    count: Option<u64>,
    /// Until when the first offset has to be there.
    patience: Option<Time>,
    offsets: u64,
    steps: u64,
    rates: VecDeque<i64>,
    next_second: Time,
}

impl Watch {
    pub fn new(
        command: &Sync,
        start_ns: u64,
        epoch_ns: u64,
        publisher: Option<Publisher>,
        news: Sender<News>,
        stop: Arc<AtomicBool>,
    ) -> Watch {
        let waits = command.lab.is_none() && command.role == "slave" && command.wait > Time::ZERO;
        Watch {
            start_ns,
            epoch_ps: i128::from(epoch_ns) * 1_000,
            publisher,
            news,
            stop,
            count: command.count,
            patience: waits.then_some(command.wait),
            offsets: 0,
            steps: 0,
            rates: VecDeque::with_capacity(RATES),
            next_second: Time::from_secs(1),
        }
    }

    /// Looks at the clock now.
    pub fn look(&mut self, counts: &Statistics, now: Time) {
        let Some(clock) = counts.extensions.get::<ClockReport>() else {
            return;
        };
        if let Some(reading) = &clock.reading {
            if let Some(publisher) = &mut self.publisher {
                publisher.publish(reading, self.start_ns);
            }
            if reading.offsets > self.offsets {
                self.offset(reading, clock);
            }
        }
        let lost = self.offsets == 0 && self.patience.is_some_and(|until| now > until);
        if lost || self.count.is_some_and(|count| self.offsets >= count) {
            self.stop.store(true, Ordering::Relaxed);
        }
        if now >= self.next_second {
            let asked = QUESTIONS.iter().filter_map(|name| counts.get(name)).sum();
            self.tell(News::Second(self.next_second, clock.state.clone(), asked));
            self.next_second = Time::from_secs(now.as_ps() / Time::from_secs(1).as_ps() + 1);
        }
    }

    fn offset(&mut self, reading: &ClockReading, clock: &ClockReport) {
        let missed = reading.offsets - self.offsets - 1;
        if missed > 0 && self.offsets > 0 {
            self.tell(News::Missed(missed));
        }
        self.offsets = reading.offsets;
        if self.rates.len() == RATES {
            self.rates.pop_front();
        }
        self.rates.push_back(clock.steered_ppt);
        let stepped = std::mem::replace(&mut self.steps, reading.steps) != reading.steps;
        let Some((at, offset_ps)) = reading.offset else {
            return;
        };
        let back = i128::from(reading.at.as_ps()) - i128::from(at.as_ps());
        let rate = reading.rate_ppt as f64 * 1e-12;
        let shown = reading.shown_ps - back - (back as f64 * rate) as i128;
        // A step has made up for all of the offset, and the servo for nothing yet.
        let left = if stepped { 0 } else { i128::from(offset_ps) };
        let utc = shown - left - i128::from(reading.ahead_of_utc_s) * 1_000_000_000_000;
        self.tell(News::Offset(Sample {
            at,
            offset_ps,
            bound_ps: reading.bound_ps,
            delay_ps: clock.delay_ps,
            drift_ppt: -(self.rates.iter().sum::<i64>() / self.rates.len() as i64),
            machine_ps: self.epoch_ps + i128::from(at.as_ps()) - utc,
        }));
    }

    fn tell(&self, news: News) {
        // Who does not listen any more has an error to tell in the end.
        if self.news.send(news).is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}
