//! Who receives load: counts what came, and tells of it every trial interval.

use super::{Clock, DEAF, Faults, Interval, Settings, Traffic};
use alloc::vec::Vec;
use node::Time;
use packet::udpstp::{Action, Load, NO_VALUE, SendingRate, Stamp, Status, SubInterval};

/// The last sequence numbers, by which what comes again is told from what comes late.
const HISTORY: usize = 32;

/// A receiver of load.
#[derive(Clone, Debug)]
pub struct Receiver {
    clock: Clock,
    settings: Settings,
    ipv6: bool,
    /// The highest that came; 0: none has.
    highest: u32,
    history: [u32; HISTORY],
    next_history: usize,
    /// When the last load message came.
    heard: Time,
    /// The status message that load answered last: each gives one round trip.
    answered: Stamp,
    least_clock: Option<i64>,
    least_round_trip: Option<u32>,
    trial: Trial,
    /// When it began to wait for load: nothing that it receives left, or was answered, earlier.
    start: Time,
    began: Time,
    next_status: Time,
    sequence: u32,
    sub: SubInterval,
    sub_began: Option<Time>,
    last: SubInterval,
    subs: u32,
    total: Time,
    pub(super) intervals: Vec<Interval>,
    pub(super) received: Traffic,
}

/// What came in a trial.
#[derive(Clone, Copy, Debug)]
struct Trial {
    errors: [u32; 3],
    variation: [u32; 4],
    round_trip: Option<u32>,
    new_least: bool,
    datagrams: u32,
    bytes: u32,
}

impl Trial {
    const NONE: Trial = Trial {
        errors: [0; 3],
        variation: NOTHING_VARIED,
        round_trip: None,
        new_least: false,
        datagrams: 0,
        bytes: 0,
    };
}

const NOTHING_VARIED: [u32; 4] = [NO_VALUE, 0, 0, 0];
const NO_SUMS: SubInterval = SubInterval {
    datagrams: 0,
    bytes: 0,
    time: 0,
    errors: [0; 3],
    variation: NOTHING_VARIED,
    round_trip: [NO_VALUE, 0],
    total_time: 0,
};

fn vary([least, most, sum, count]: &mut [u32; 4], ms: u32) {
    *least = (*least).min(ms);
    *most = (*most).max(ms);
    *sum = sum.saturating_add(ms);
    *count += 1;
}

impl Receiver {
    /// Begins to wait for load.
    pub fn new(clock: Clock, settings: Settings, ipv6: bool, now: Time) -> Receiver {
        Receiver {
            clock,
            settings,
            ipv6,
            highest: 0,
            history: [0; HISTORY],
            next_history: 0,
            heard: now,
            answered: Stamp::default(),
            least_clock: None,
            least_round_trip: None,
            trial: Trial::NONE,
            start: now,
            began: now,
            next_status: now + Time::from_ms(u64::from(settings.trial_interval)),
            sequence: 0,
            sub: NO_SUMS,
            sub_began: None,
            last: SubInterval::default(),
            subs: 0,
            total: Time::ZERO,
            intervals: Vec::new(),
            received: Traffic::default(),
        }
    }

    /// When the last load message came.
    pub fn heard(&self) -> Time {
        self.heard
    }

    /// When the next status message is due.
    pub fn next_status(&self) -> Time {
        self.next_status
    }

    /// Whether a status message is due, and there is anything to tell.
    pub fn is_due(&mut self, now: Time) -> bool {
        if now < self.next_status {
            return false;
        }
        self.next_status = now + Time::from_ms(u64::from(self.settings.trial_interval));
        self.highest > 0
    }

    /// What the search looks at: errors, and the variation of delay.
    pub fn trial(&self) -> ([u32; 3], Option<u32>) {
        let [_, _, sum, count] = self.trial.variation;
        let mean = (count > 0).then(|| (sum + count / 2) / count.max(1));
        let variation = match self.settings.one_way {
            true => mean,
            false => self.trial.round_trip,
        };
        (self.trial.errors, variation)
    }

    /// A load message of so many bytes has come.
    pub fn load(&mut self, now: Time, load: &Load, bytes: usize, faults: &mut Faults) {
        self.heard = now;
        // What it says of itself is not believed: a rate is of bytes that came.
        faults.wrong_lengths += u64::from(usize::from(load.payload) != bytes);
        self.received.add(bytes);
        self.trial.datagrams += 1;
        self.trial.bytes = self.trial.bytes.saturating_add(bytes as u32);
        self.sub.datagrams += 1;
        self.sub.bytes += bytes as u64;
        let age = now - self.start;
        if !(1..=most_datagrams(age)).contains(&u64::from(load.sequence)) {
            faults.implausible += 1;
            return;
        }
        let first = self.highest == 0;
        if !self.count(load.sequence) {
            return;
        }
        self.round_trip(now, load, faults);
        let ahead = self.clock.since(load.left, now);
        let least = self.least_clock.unwrap_or(ahead);
        // Of two datagrams of one test neither can have been later than the other by more than the
        // age of the test, whatever the two clocks show.
        if (ahead - least).unsigned_abs() > longest_ms(age) {
            faults.implausible += 1;
            return;
        }
        if self.least_clock.is_none_or(|least| ahead < least) {
            self.least_clock = Some(ahead);
            self.trial.new_least = true;
        }
        if !first {
            let ms = ahead - least.min(ahead);
            let ms = u32::try_from(ms).unwrap_or(NO_VALUE - 1);
            vary(&mut self.trial.variation, ms);
            vary(&mut self.sub.variation, ms);
        }
    }

    /// Whether a sequence number is above all others; what is not is out of order, or again.
    fn count(&mut self, sequence: u32) -> bool {
        let [trial, sub] = [&mut self.trial.errors, &mut self.sub.errors];
        let mut both = |which: usize, change: fn(u32, u32) -> u32, by: u32| {
            trial[which] = change(trial[which], by);
            sub[which] = change(sub[which], by);
        };
        let above = sequence > self.highest;
        if above {
            both(0, u32::saturating_add, sequence - self.highest - 1);
            self.highest = sequence;
        } else if self.history.contains(&sequence) {
            both(2, u32::saturating_add, 1);
            return false;
        } else {
            // It was counted as lost.
            both(1, u32::saturating_add, 1);
            both(0, u32::saturating_sub, 1);
        }
        self.history[self.next_history] = sequence;
        self.next_history = (self.next_history + 1) % HISTORY;
        above
    }

    /// From a status message to the first load message behind it, less how long it was held there.
    fn round_trip(&mut self, now: Time, load: &Load, faults: &mut Faults) {
        if load.status_left == self.answered {
            return;
        }
        self.answered = load.status_left;
        if load.status_errors < u16::MAX {
            faults.missed[1] += u64::from(load.status_errors);
        }
        let took = self.clock.since(load.status_left, now);
        // Both ends round: it may be one less than nothing.
        let took = (took - i64::from(load.held)).max(0);
        let age = longest_ms(now - self.start);
        let Some(took) = u32::try_from(took)
            .ok()
            .filter(|took| u64::from(*took) <= age)
        else {
            faults.implausible += 1;
            return;
        };
        let least = self.least_round_trip.get_or_insert(took);
        if took <= *least {
            *least = took;
            self.trial.new_least = true;
        }
        let more = took - *least;
        self.trial.round_trip = Some(more);
        self.sub.round_trip[0] = self.sub.round_trip[0].min(more);
        self.sub.round_trip[1] = self.sub.round_trip[1].max(more);
    }

    /// Ends the trial: what came in it.
    pub fn status(&mut self, now: Time, action: Action, rate: SendingRate) -> Status {
        self.sequence += 1;
        let trial = core::mem::replace(&mut self.trial, Trial::NONE);
        let status = Status {
            action,
            deaf: now > self.heard + DEAF,
            sequence: self.sequence,
            rate,
            sub_interval: self.subs,
            last: self.last,
            errors: trial.errors,
            clock_difference: self.least_clock.unwrap_or(0) as i32,
            variation: trial.variation,
            least_round_trip: self.least_round_trip.unwrap_or(NO_VALUE),
            round_trip: trial.round_trip.unwrap_or(NO_VALUE),
            new_least: trial.new_least,
            time: micros(now - self.began),
            datagrams: trial.datagrams,
            bytes: trial.bytes,
            left: self.clock.stamp(now),
            mode: 0,
        };
        self.began = now;
        self.sub_interval(now);
        status
    }

    /// Sub-intervals end with a trial, the nearest one; the first begins with the first status message.
    fn sub_interval(&mut self, now: Time) {
        let Some(began) = self.sub_began else {
            (self.sub, self.sub_began) = (NO_SUMS, Some(now));
            return;
        };
        let settings = &self.settings;
        let least = settings.sub_interval - settings.trial_interval / 2;
        if now - began < Time::from_ms(u64::from(least)) {
            return;
        }
        self.total += now - began;
        self.last = SubInterval {
            time: micros(now - began),
            total_time: (self.total.as_ns() / 1_000_000) as u32,
            ..core::mem::replace(&mut self.sub, NO_SUMS)
        };
        self.subs += 1;
        self.sub_began = Some(now);
        self.intervals.push(Interval::new(&self.last, self.ipv6));
    }
}

/// Datagrams that a test of this age can have sent: above what the fastest row of the table sends.
pub(super) fn most_datagrams(age: Time) -> u64 {
    const PER_MS: u64 = 10_000;
    PER_MS * longest_ms(age)
}

/// The longest delay, or difference of two, in a test of this age, in ms. Both ends round.
pub(super) fn longest_ms(age: Time) -> u64 {
    age.as_ns() / 1_000_000 + 2
}

fn micros(time: Time) -> u32 {
    u32::try_from(time.as_ns() / 1_000).unwrap_or(u32::MAX)
}
