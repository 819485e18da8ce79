//! DOCSIS-PIE: the PIE of cable modems (RFC 8034), for the queue of one upstream service flow.
//!
//! - **Parameters:** `rate`, required; `limit`, 100 ms at `rate`, at least 6056 bytes; `target`,
//!   10 ms; `tupdate`, 16 ms; `alpha`, 4, and `beta`, 40: in 1/16 a second, as in
//!   [`pie`](crate::pie); `max_burst`, 142 ms; `burst_reset`, 1 s; `latency_low`, 5 ms;
//!   `latency_high`, 200 ms; `mean_packet`, 1024 bytes; `burst` and `peakrate`, none.
//! - **Reasons:** `full`, `pie`. The probability of a decision is that of the packet, by its length.
//!
//! The delay is the backlog over `rate`. A modem has a token bucket of two rates for it: with
//! `burst` and `peakrate` the bytes that its tokens cover leave at `peakrate`, and those behind them
//! at `rate` (RFC 8034 section 4.2). This queue counts the tokens by the packets that leave it, and
//! delays none: for the bucket itself, take it as the child of [`tbf`](crate::tbf) with the same
//! `rate`, `burst` and `peakrate`. Modems do not mark (section 4.7), so neither does this queue.
//!
//! The controller has three states (section 4.3, appendix A). While it is [`Activity::Inactive`]
//! nothing is dropped early; when the queue exceeds a third of `limit` it is
//! [`Activity::Quiescent`], and may drop. The first drop makes it [`Activity::Active`], and starts
//! `max_burst`, in which the probability stays 0 and nothing more is dropped early. When that is over
//! and all is quiet the state is `Quiescent` again, and after more than `burst_reset` of quiet
//! `Inactive`. Quiet is a delay below half of the target, twice, and a probability of 0.
//!
//! Probabilities are integers in 2^-40, rounded down. The probability changes at multiples of
//! `tupdate`; a change is calculated with the next packet, with the backlog of its own time.
//!
//! # Differences from RFC 8033
//! | subject | RFC 8033 | RFC 8034, and here |
//! |---|---|---|
//! | decay | factor 0.98 without delay (4.2) | factor 0.98 below `latency_low` (4.5) |
//! | growth | - | 0.02 more above `latency_high` (appendix A) |
//! | divisors | 2048 to 1 | 2048 to 1/32: 1/2 from a probability of 0.1 on, 1/8 from 1, 1/32 from 10 (4.4) |
//! | probability | at most 1 | at most 0.85 for 64 bytes: 13.6 times that of a mean packet (4.6) |
//! | packet length | optional | the probability grows with it, up to 0.85 (4.6) |
//! | burst allowance | at the start, and after each idle time (4.4) | after the first drop, by states (4.3) |
//! | probability in the allowance | goes on | 0 |
//! | safeguards | before a probability is added up | after it |

mod config;

pub use config::Config;

use crate::decision::{Backlog, Decisions, Reason, State};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use crate::tokens::{Account, tokens_of};
use alloc::collections::VecDeque;
use node::random::Random;
use node::{ConfigError, Rate, Size, Time};

/// A probability of 1.
const ONE: u64 = 1 << 40;
/// Maximum probability of a packet, and sum of probabilities since the last drop below which none
/// comes (RFC 8034 appendix A).
const PROB_LOW: u64 = ONE * 85 / 100;
/// From this sum on a drop comes for certain.
const PROB_HIGH: u64 = ONE * 85 / 10;
/// Length of the shortest packets, bytes.
const MIN_PACKET: u64 = 64;
/// Maximum mean length of packets, bytes.
const MAX_PACKET: u32 = 65_536;
/// Units of alpha and beta: 1/16, in picoseconds.
const UNIT: i128 = 16 * 1_000_000_000_000;
/// Maximum number of updates of one call: 17 minutes at the default interval.
const MAX_UPDATES: u64 = 1 << 16;
/// Minimum of the default limit, bytes: four long packets.
const MIN_LIMIT: u64 = 4 * 1514;
/// Divisors of the change of a probability below each bound, in 1/32 (RFC 8034 section 4.4).
const SCALES: [(u64, i128); 8] = [
    (ONE / 1_000_000, 32 * 2048),
    (ONE / 100_000, 32 * 512),
    (ONE / 10_000, 32 * 128),
    (ONE / 1_000, 32 * 32),
    (ONE / 100, 32 * 8),
    (ONE / 10, 32 * 2),
    (ONE, 16),
    (10 * ONE, 4),
];

/// State of the controller: how it treats a burst (RFC 8034 section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// Nothing is dropped early while the queue is below a third of its limit.
    #[default]
    Inactive,
    /// Packets may be dropped; the first drop starts the protection of a burst.
    Quiescent,
    /// A burst has had its first drop.
    Active,
}

/// A DOCSIS-PIE queue. Names of the variables are those of RFC 8034.
#[derive(Debug)]
pub struct DocsisPie {
    config: Config,
    limit: u64,
    bucket: Option<Bucket>,
    packets: VecDeque<Packet>,
    ledger: Ledger,
    random: Random,
    accu_prob: u64,
    controller: Controller,
    /// Updates so far: the last was at this multiple of `tupdate`.
    updates: u64,
}

/// Tokens of the modem's bucket, and the rate of the bytes that they cover.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: Account,
    peakrate: Rate,
}

/// State that an update changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Controller {
    drop_prob: u64,
    qdelay_old: Time,
    burst_allowance: Time,
    activity: Activity,
    /// Updates of quiet.
    quiet: u64,
}

impl DocsisPie {
    /// An empty queue. The same seed gives the same drops.
    ///
    /// # Errors
    /// For a value out of its range.
    pub fn new(config: Config, seed: u64) -> Result<DocsisPie, ConfigError> {
        if config.tupdate == Time::ZERO {
            return Err(ConfigError::new("tupdate", "an interval is above 0"));
        }
        for (key, weight) in [("alpha", config.alpha), ("beta", config.beta)] {
            if weight > 65_536 {
                return Err(ConfigError::new(key, "a weight is at most 65536: 4096 Hz"));
            }
        }
        if !(1..=MAX_PACKET).contains(&config.mean_packet) {
            let reason = "a packet has 1 to 65536 bytes";
            return Err(ConfigError::new("mean_packet", reason));
        }
        let bucket = match (config.burst, config.peakrate) {
            (None, None) => None,
            (Some(burst), Some(peakrate)) => {
                if peakrate <= config.rate {
                    let reason = "the peak rate is above the rate";
                    return Err(ConfigError::new("peakrate", reason));
                }
                let tokens = Account::new(config.rate, burst);
                Some(Bucket { tokens, peakrate })
            }
            (Some(_), None) => {
                let reason = "a burst leaves at a peak rate: add peakrate";
                return Err(ConfigError::new("burst", reason));
            }
            (None, Some(_)) => {
                let reason = "a peak rate is for the bytes of a burst: add burst";
                return Err(ConfigError::new("peakrate", reason));
            }
        };
        let usual = (config.rate.bits_per_second() / 80).max(MIN_LIMIT);
        Ok(DocsisPie {
            limit: config.limit.map_or(usual, Size::bytes),
            bucket,
            packets: VecDeque::new(),
            ledger: Ledger::default(),
            random: Random::new(seed),
            accu_prob: 0,
            controller: Controller::default(),
            updates: 0,
            config,
        })
    }

    /// Delay of the backlog at a time (RFC 8034 section 4.2).
    fn qdelay(&self, at: Time) -> Time {
        let bytes = self.ledger.backlog.bytes;
        let delay = |bits: u128, rate: Rate| {
            let time = bits / u128::from(rate.bits_per_second());
            Time::from_ps(u64::try_from(time).unwrap_or(u64::MAX))
        };
        let waiting = tokens_of(bytes);
        let Some(bucket) = &self.bucket else {
            return delay(waiting, self.config.rate);
        };
        let covered = waiting.min(bucket.tokens.tokens(at).max(0) as u128);
        delay(covered, bucket.peakrate) + delay(waiting - covered, self.config.rate)
    }

    /// Makes all updates that are due by `now`. Nothing has arrived or left since the last of them.
    fn update(&mut self, now: Time) {
        let interval = self.config.tupdate.as_ps();
        let due = now.as_ps() / interval;
        self.updates = self.updates.max(due.saturating_sub(MAX_UPDATES));
        while self.updates < due {
            self.updates += 1;
            let at = Time::from_ps(self.updates * interval);
            let before = self.controller;
            self.controller.update(&self.config, self.qdelay(at));
            let is_still = |bucket: Bucket| bucket.tokens.is_full(at);
            if before == self.controller && self.bucket.is_none_or(is_still) {
                self.updates = due;
            }
        }
    }

    /// Whether a packet that arrives is dropped, by which probability, and by which random number
    /// (RFC 8034 appendix A).
    fn drop_early(&mut self, packet: &Packet, waiting: u64) -> Option<(u64, Option<u64>)> {
        let controller = &mut self.controller;
        if controller.burst_allowance > Time::ZERO {
            return None;
        }
        if controller.drop_prob == 0 {
            self.accu_prob = 0;
        }
        if controller.activity == Activity::Inactive {
            if u128::from(waiting) * 3 < self.limit.into() {
                return None;
            }
            controller.activity = Activity::Quiescent;
        }
        let mean = self.config.mean_packet;
        let scaled = u128::from(controller.drop_prob) * u128::from(packet.len) / u128::from(mean);
        let probability = scaled.min(PROB_LOW.into()) as u64;
        self.accu_prob = self.accu_prob.saturating_add(probability);
        let is_short = controller.qdelay_old * 2 < self.config.target;
        if (is_short && controller.drop_prob < ONE / 5) || waiting <= 2 * u64::from(mean) {
            return None;
        }
        if self.accu_prob < PROB_LOW {
            return None;
        }
        if self.accu_prob >= PROB_HIGH {
            return Some((probability, None));
        }
        let random = self.random.bits() >> 24;
        (random < probability).then_some((probability, Some(random)))
    }
}

impl Controller {
    /// The update of each interval, at a delay of the queue (RFC 8034 appendix A).
    fn update(&mut self, config: &Config, qdelay: Time) {
        if self.burst_allowance > Time::ZERO {
            self.drop_prob = 0;
        } else {
            self.drop_prob = self.next_prob(config, qdelay);
        }
        self.burst_allowance = self.burst_allowance - config.tupdate;
        let is_short = |delay: Time| delay * 2 < config.target;
        let is_quiet = is_short(qdelay)
            && is_short(self.qdelay_old)
            && self.drop_prob == 0
            && self.burst_allowance == Time::ZERO;
        (self.activity, self.quiet) = match self.activity {
            Activity::Inactive => (Activity::Inactive, 0),
            Activity::Quiescent if !is_quiet => (Activity::Quiescent, 0),
            Activity::Quiescent => {
                let quiet = self.quiet + 1;
                match quiet > config.burst_reset.as_ps() / config.tupdate.as_ps() {
                    true => (Activity::Inactive, 0),
                    false => (Activity::Quiescent, quiet),
                }
            }
            Activity::Active if is_quiet => (Activity::Quiescent, 0),
            Activity::Active => (Activity::Active, 0),
        };
        self.qdelay_old = qdelay;
    }

    fn next_prob(&self, config: &Config, qdelay: Time) -> u64 {
        let ps = |time: Time| i128::from(time.as_ps());
        let deviation = ps(qdelay) - ps(config.target);
        let trend = ps(qdelay) - ps(self.qdelay_old);
        let sum = i128::from(config.alpha) * deviation + i128::from(config.beta) * trend;
        let scale = SCALES.iter().find(|(bound, _)| self.drop_prob < *bound);
        let scale = scale.map_or(1, |(_, divisor)| *divisor);
        let mut change = (sum * (32 * i128::from(ONE))).div_euclid(UNIT * scale);
        if self.drop_prob >= ONE / 10 {
            change = change.min(i128::from(ONE / 50));
        }
        let mut drop_prob = i128::from(self.drop_prob) + change;
        if qdelay < config.latency_low && self.qdelay_old < config.latency_low {
            drop_prob = (drop_prob * 98).div_euclid(100);
        } else if qdelay > config.latency_high {
            drop_prob += i128::from(ONE / 50);
        }
        let most = u128::from(PROB_LOW) * u128::from(config.mean_packet) / u128::from(MIN_PACKET);
        drop_prob.clamp(0, most as i128) as u64
    }
}

impl Discipline for DocsisPie {
    fn enqueue(&mut self, now: Time, mut packet: Packet, out: &mut Decisions) {
        self.update(now);
        let waiting = self.ledger.backlog.bytes;
        self.ledger.offer(now, &mut packet);
        if self.ledger.backlog.bytes > self.limit {
            self.accu_prob = 0;
            let why = (Reason::Full, State::None);
            return self.ledger.drop(now, packet, why, None, out);
        }
        let Some((probability, random)) = self.drop_early(&packet, waiting) else {
            return self.packets.push_back(packet);
        };
        self.accu_prob = 0;
        let controller = &mut self.controller;
        if controller.activity == Activity::Quiescent {
            controller.activity = Activity::Active;
            controller.burst_allowance = self.config.max_burst;
        }
        let state = State::Probability {
            probability,
            delay: controller.qdelay_old,
            random,
        };
        self.ledger
            .drop(now, packet, (Reason::Pie, state), None, out);
    }

    fn dequeue(&mut self, now: Time, _: &mut Decisions) -> Option<Packet> {
        self.update(now);
        let packet = self.packets.pop_front()?;
        if let Some(bucket) = &mut self.bucket {
            bucket.tokens.charge(now, packet.len);
        }
        self.ledger.send(&packet);
        Some(packet)
    }

    fn next_time(&self, now: Time) -> Option<Time> {
        (!self.packets.is_empty()).then_some(now)
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog
    }

    fn counters(&self) -> Counters {
        self.ledger.counters
    }
}
