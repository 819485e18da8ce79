//! BBR, version 1, with the constants and transitions of Linux's `tcp_bbr.c` (Cardwell and others, "BBR: Congestion-Based Congestion Control",
//! ACM Queue 2016).
//!
//! The sending rate follows the greatest delivery rate of ten round trips, the window the product of that and the shortest round trip of
//! ten seconds. Losses and marks change neither. Not there: the detection of policers ("long-term bandwidth").

use super::rate::Sample;
use node::Time;

/// 2 / ln 2: the window doubles in a round trip.
const HIGH_GAIN: f64 = 2.885;
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
/// Gains of the rate in turn, each for the shortest round trip.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Gain of the window, for delayed acknowledgements.
const WINDOW_GAIN: f64 = 2.0;
/// Share of the rate that is sent, so that no queue grows.
const MARGIN: f64 = 0.99;
/// The path is full when the rate grew by less than a quarter in three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Rounds over which the greatest rate is kept, and the age of the shortest round trip.
const RATE_ROUNDS: u64 = 10;
const MAX_ROUND_TRIP_AGE: Time = Time::from_secs(10);
/// Time and window, in segments, in which the shortest round trip is measured.
const PROBE_TIME: Time = Time::from_ms(200);
const MIN_WINDOW: f64 = 4.0;
/// Segments above the product, so that delayed acknowledgements do not stop the sender.
const EXTRA: f64 = 3.0;
/// The same while the rate is probed.
const PROBE_EXTRA: f64 = 2.0;
/// Acknowledged data beyond the rate allows as much more window, up to that of this time; the most is kept for 5 to 10 rounds.
const MAX_AGGREGATION: Time = Time::from_ms(100);
const AGGREGATION_ROUNDS: u64 = 5;
/// Data after which the count of that begins again, in bytes.
const MAX_EPOCH: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    /// Index of the gain.
    ProbeRate(usize),
    ProbeRoundTrip,
}

/// An acknowledgement.
#[derive(Clone, Copy)]
pub(super) struct Ack {
    pub now: Time,
    /// Bytes that it reports as delivered, and as lost.
    pub bytes: u64,
    pub lost: u64,
    /// Bytes in flight before and after.
    pub before: u64,
    pub flight: u64,
    /// All bytes delivered so far.
    pub delivered: u64,
    /// Round trip of the newest segment, and the smoothed one.
    pub round_trip: Option<Time>,
    pub smoothed: Option<Time>,
    pub sample: Option<Sample>,
    pub recovers: bool,
}

/// See the [module](self). Windows are in bytes, rates in bytes a second.
pub(super) struct Bbr {
    mode: Mode,
    mss: f64,
    initial: f64,
    window: f64,
    rate: f64,
    /// The greatest rates by their rounds, the greatest first: Kathleen Nichols' windowed filter.
    best: [(u64, f64); 3],
    round: u64,
    round_ends: u64,
    starts_round: bool,
    full: f64,
    full_count: u32,
    is_full: bool,
    shortest: Time,
    measured: Time,
    cycle_began: Time,
    /// End of the measurement of a round trip, and whether a round is over in it.
    probe_ends: Option<Time>,
    probe_round: bool,
    /// The window before a recovery or a measurement.
    saved: f64,
    recovers: bool,
    /// In the first round of a recovery what is delivered leaves again.
    conserves: bool,
    /// The first packet after an idle time is under way.
    restarts: bool,
    /// Begin of the count of data beyond the rate, and that data; the most of the last rounds.
    epoch: (Time, u64),
    extra: [f64; 2],
    extra_round: u64,
    has_rate: bool,
}

impl Bbr {
    pub fn new(mss: u64, initial: u32) -> Bbr {
        let mss = mss as f64;
        let initial = f64::from(initial);
        Bbr {
            mode: Mode::Startup,
            mss,
            initial,
            window: initial * mss,
            rate: 0.0,
            best: [(0, 0.0); 3],
            round: 0,
            round_ends: 0,
            starts_round: false,
            full: 0.0,
            full_count: 0,
            is_full: false,
            shortest: Time::MAX,
            measured: Time::ZERO,
            cycle_began: Time::ZERO,
            probe_ends: None,
            probe_round: false,
            saved: 0.0,
            recovers: false,
            conserves: false,
            restarts: false,
            epoch: (Time::ZERO, 0),
            extra: [0.0; 2],
            extra_round: 0,
            has_rate: false,
        }
    }

    /// Changes the segment size before anything is sent.
    pub fn begin(&mut self, mss: u64) {
        self.mss = mss as f64;
        self.window = self.initial * self.mss;
    }

    /// Changes the segment size of a connection in use.
    pub fn set_mss(&mut self, mss: u64) {
        self.mss = mss as f64;
    }

    /// The window, in bytes.
    pub fn window(&self) -> u64 {
        self.window as u64
    }

    /// The rate of departures, in bytes a second; `None` before the first round trip.
    pub fn pace(&self) -> Option<f64> {
        (self.rate > 0.0).then_some(self.rate)
    }

    /// Whether the sender holds back to measure the round trip.
    pub fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRoundTrip
    }

    fn max_rate(&self) -> f64 {
        self.best[0].1
    }

    /// The window of a gain: the product of rate and round trip, and room for delayed acknowledgements.
    fn target(&self, gain: f64) -> f64 {
        if self.shortest == Time::MAX {
            return self.initial * self.mss;
        }
        let product = gain * self.max_rate() * self.shortest.as_secs_f64();
        let probe = match self.mode {
            Mode::ProbeRate(0) => PROBE_EXTRA,
            _ => 0.0,
        };
        product + (EXTRA + probe) * self.mss
    }

    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeRate(index) => (CYCLE[index], WINDOW_GAIN),
            Mode::ProbeRoundTrip => (1.0, 1.0),
        }
    }

    /// Takes an acknowledgement. `draw` is a random number, by which senders do not probe together.
    pub fn take(&mut self, ack: &Ack, draw: u64) {
        self.update_round(ack);
        self.update_rate(ack);
        self.update_extra(ack);
        self.update_cycle(ack);
        self.check_full(ack);
        self.check_drain(ack, draw);
        self.update_round_trip(ack, draw);
        if ack.sample.is_some() {
            self.restarts = false;
        }
        let (rate_gain, window_gain) = self.gains();
        self.set_rate(ack, rate_gain);
        self.set_window(ack, window_gain);
    }

    fn update_round(&mut self, ack: &Ack) {
        self.starts_round = ack
            .sample
            .is_some_and(|sample| sample.before >= self.round_ends);
        if self.starts_round {
            self.round_ends = ack.delivered;
            self.round += 1;
            self.conserves = false;
        }
    }

    fn update_rate(&mut self, ack: &Ack) {
        let Some(sample) = ack.sample else { return };
        let Some(rate) = sample.rate else { return };
        if sample.is_limited && rate < self.max_rate() {
            return;
        }
        let new = (self.round, rate);
        let age = |entry: (u64, f64)| self.round - entry.0;
        if rate >= self.best[0].1 || age(self.best[2]) > RATE_ROUNDS {
            self.best = [new; 3];
            return;
        }
        if rate >= self.best[1].1 {
            (self.best[1], self.best[2]) = (new, new);
        } else if rate >= self.best[2].1 {
            self.best[2] = new;
        }
        if age(self.best[0]) > RATE_ROUNDS {
            self.best = [self.best[1], self.best[2], new];
            if self.round - self.best[0].0 > RATE_ROUNDS {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == self.best[0].0 && age(self.best[1]) > RATE_ROUNDS / 4 {
            (self.best[1], self.best[2]) = (new, new);
        } else if self.best[2].0 == self.best[1].0 && age(self.best[2]) > RATE_ROUNDS / 2 {
            self.best[2] = new;
        }
    }

    /// Counts data that is acknowledged faster than the rate, as acknowledgements come in bursts on some paths.
    fn update_extra(&mut self, ack: &Ack) {
        if ack.bytes == 0 || ack.sample.is_none() {
            return;
        }
        if self.starts_round && self.round >= self.extra_round + AGGREGATION_ROUNDS {
            self.extra_round = self.round;
            self.extra = [0.0, self.extra[0]];
        }
        let (began, counted) = self.epoch;
        let expected = self.max_rate() * (ack.now - began).as_secs_f64();
        let begins = counted as f64 <= expected || counted + ack.bytes >= MAX_EPOCH;
        let expected = if begins { 0.0 } else { expected };
        self.epoch = match begins {
            true => (ack.now, ack.bytes),
            false => (began, counted + ack.bytes),
        };
        let extra = (self.epoch.1 as f64 - expected).min(self.window);
        self.extra[0] = self.extra[0].max(extra);
    }

    fn update_cycle(&mut self, ack: &Ack) {
        let Mode::ProbeRate(index) = self.mode else {
            return;
        };
        let is_full_length = ack.now > self.cycle_began + self.shortest;
        let before = ack.before as f64;
        let is_over = match CYCLE[index] {
            gain if gain > 1.0 => is_full_length && (ack.lost > 0 || before >= self.target(gain)),
            gain if gain < 1.0 => is_full_length || before <= self.target(1.0),
            _ => is_full_length,
        };
        if is_over {
            self.mode = Mode::ProbeRate((index + 1) % CYCLE.len());
            self.cycle_began = ack.now;
        }
    }

    fn check_full(&mut self, ack: &Ack) {
        let is_limited = ack.sample.is_none_or(|sample| sample.is_limited);
        if self.is_full || !self.starts_round || is_limited {
            return;
        }
        if self.max_rate() >= self.full * FULL_GROWTH {
            (self.full, self.full_count) = (self.max_rate(), 0);
            return;
        }
        self.full_count += 1;
        self.is_full = self.full_count >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, ack: &Ack, draw: u64) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && ack.flight as f64 <= self.target(1.0) {
            self.probe_rate(ack.now, draw);
        }
    }

    /// Begins to probe the rate with any gain but the one that drains.
    fn probe_rate(&mut self, now: Time, draw: u64) {
        let index = match draw % 7 {
            0 => 0,
            other => other as usize + 1,
        };
        self.mode = Mode::ProbeRate(index);
        self.cycle_began = now;
    }

    fn update_round_trip(&mut self, ack: &Ack, draw: u64) {
        let is_old = ack.now > self.measured + MAX_ROUND_TRIP_AGE;
        if let Some(trip) = ack.round_trip
            && (trip < self.shortest || is_old)
        {
            (self.shortest, self.measured) = (trip, ack.now);
        }
        if is_old && !self.restarts && self.mode != Mode::ProbeRoundTrip {
            self.mode = Mode::ProbeRoundTrip;
            self.save();
            self.probe_ends = None;
        }
        if self.mode != Mode::ProbeRoundTrip {
            return;
        }
        match self.probe_ends {
            None if ack.flight as f64 <= MIN_WINDOW * self.mss => {
                self.probe_ends = Some(ack.now + PROBE_TIME);
                self.probe_round = false;
                self.round_ends = ack.delivered;
            }
            None => {}
            Some(ends) => {
                self.probe_round |= self.starts_round;
                if self.probe_round && ack.now > ends {
                    self.end_probe(ack.now, draw);
                }
            }
        }
    }

    fn end_probe(&mut self, now: Time, draw: u64) {
        self.measured = now;
        self.window = self.window.max(self.saved);
        match self.is_full {
            true => self.probe_rate(now, draw),
            false => self.mode = Mode::Startup,
        }
    }

    fn set_rate(&mut self, ack: &Ack, gain: f64) {
        if !self.has_rate
            && let Some(trip) = ack.smoothed
        {
            self.has_rate = true;
            self.rate = HIGH_GAIN * self.window / trip.as_secs_f64().max(1e-6) * MARGIN;
        }
        let rate = gain * self.max_rate() * MARGIN;
        if rate > 0.0 && (self.is_full || rate > self.rate) {
            self.rate = rate;
        }
    }

    fn set_window(&mut self, ack: &Ack, gain: f64) {
        let (bytes, lost) = (ack.bytes as f64, ack.lost as f64);
        if lost > 0.0 {
            self.window = (self.window - lost).max(self.mss);
        }
        if ack.recovers && !self.recovers {
            // From now on what is delivered leaves again, for a round trip.
            self.conserves = true;
            self.round_ends = ack.delivered;
            self.window = ack.flight as f64 + bytes;
        } else if self.recovers && !ack.recovers {
            self.window = self.window.max(self.saved);
            self.conserves = false;
        }
        self.recovers = ack.recovers;
        if self.conserves {
            self.window = self.window.max(ack.flight as f64 + bytes);
        } else if bytes > 0.0 {
            let extra = match self.is_full {
                true => self.extra[0].max(self.extra[1]),
                false => 0.0,
            };
            let most = self.max_rate() * MAX_AGGREGATION.as_secs_f64();
            let target = self.target(gain) + extra.min(most);
            if self.is_full {
                self.window = (self.window + bytes).min(target);
            } else if self.window < target || (ack.delivered as f64) < self.initial * self.mss {
                self.window += bytes;
            }
        }
        self.window = self.window.max(MIN_WINDOW * self.mss);
        if self.mode == Mode::ProbeRoundTrip {
            self.window = self.window.min(MIN_WINDOW * self.mss);
        }
    }

    fn save(&mut self) {
        let is_low = self.recovers || self.mode == Mode::ProbeRoundTrip;
        self.saved = match is_low && self.saved > 0.0 {
            true => self.saved.max(self.window),
            false => self.window,
        };
    }

    /// A recovery begins.
    pub fn lose(&mut self) {
        self.save();
    }

    /// A time-out: `flight` bytes remain in flight.
    pub fn time_out(&mut self, flight: u64) {
        self.save();
        self.recovers = true;
        (self.full, self.full_count) = (0.0, 0);
        self.window = flight as f64 + self.mss;
    }

    /// A loss was none.
    pub fn undo(&mut self) {
        (self.full, self.full_count) = (0.0, 0);
        self.window = self.window.max(self.saved);
    }

    /// The first segment after an idle time leaves.
    pub fn restart(&mut self, now: Time) {
        self.restarts = true;
        self.epoch = (now, 0);
        if let Mode::ProbeRate(_) = self.mode {
            self.rate = self.max_rate() * MARGIN;
        }
    }
}
