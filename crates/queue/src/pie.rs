//! PIE: proportional integral controller enhanced (RFC 8033). That of cable modems (RFC 8034) is
//! [`docsis_pie`](crate::docsis_pie).
//!
//! - **Parameters:** `limit`, 1000 packets; `target`, 15 ms; `tupdate`, 15 ms; `alpha`, 2, and
//!   `beta`, 20: in 1/16 a second, as tc has them; `max_burst`, 150 ms; `ecn`, false; `bytemode`,
//!   false; `mean_packet`, 1024 bytes; `rate`, none.
//! - **Reasons:** `full`, `pie`.
//!
//! Probabilities are integers in 2^-40, rounded down. The probability changes at multiples of
//! `tupdate`; a change is calculated with the next packet, with the delay of its own time.
//!
//! # Differences between the sources
//! | subject | RFC 8033 | Linux (`net/sched/sch_pie.c`) | ns-3 (`PieQueueDisc`) | here |
//! |---|---|---|---|---|
//! | delay | departure rate or timestamps (4.3, 5.2) | timestamp of the last packet that left; the rate on request | rate or timestamps | timestamp, or the backlog over a known `rate` |
//! | decay without delay | factor 0.98 (4.2) | 1 - 1/64 | 0.98 | 0.98 |
//! | delay above 250 ms | - | probability grows by 0.02 | - | - |
//! | growth from 0.1 on | at most 0.02 (5.5) | the same | the same | the same |
//! | safeguard by size | 2 mean packets | 2 MTUs | 2 packets, or 2 mean packets | 2 mean packets |
//! | de-randomisation | 0.85 and 8.5 (5.4) | the same | off by default | the same |
//! | ECN | marks below a probability of 0.1 (5.1) | the same | the same | the same |
//! | byte mode | by the mean packet | by the MTU | by the mean packet | by the mean packet, at most 0.85, as RFC 8034 section 4.6 has it |
//! | burst allowance | `MAX_BURST` at once, and after each idle time (4.4) | the same | starts with the first packet; the probability stays 0 meanwhile; again after 1.5 s | RFC |
//! | `MAX_BURST` | 150 ms | 150 ms | 15 ms | 150 ms |

use crate::decision::{Backlog, Decisions, Reason, State};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use alloc::collections::VecDeque;
use node::random::Random;
use node::{ConfigError, Rate, Time};

/// A probability of 1.
const ONE: u64 = 1 << 40;
/// Below this sum of probabilities since the last drop none comes (RFC 8033 section 5.4).
const PROB_LOW: u64 = ONE * 85 / 100;
/// From this sum on one comes for certain.
const PROB_HIGH: u64 = ONE * 85 / 10;
/// Drop probability from which on ECN-capable packets are dropped, too (RFC 8033 section 5.1).
const MAX_MARK: u64 = ONE / 10;
/// Units of alpha and beta: tc's 1/16, in picoseconds.
const UNIT: i128 = 16 * 1_000_000_000_000;
/// Maximum number of updates of one call: 16 minutes at the default interval.
const MAX_UPDATES: u64 = 1 << 16;
/// Divisors of the change of a probability below each bound (RFC 8033 section 4.2).
const SCALES: [(u64, i128); 6] = [
    (ONE / 1_000_000, 2048),
    (ONE / 100_000, 512),
    (ONE / 10_000, 128),
    (ONE / 1_000, 32),
    (ONE / 100, 8),
    (ONE / 10, 2),
];

/// Parameters of PIE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Packets that may wait. Default 1000.
    pub limit: u32,
    /// Delay that the controller aims at. Default 15 ms.
    pub target: Time,
    /// Time between updates of the probability. Default 15 ms.
    pub tupdate: Time,
    /// Weight of the deviation from the target, in 1/16 a second. Default 2, which is 0.125 Hz.
    pub alpha: u32,
    /// Weight of the trend of the delay, in 1/16 a second. Default 20, which is 1.25 Hz.
    pub beta: u32,
    /// Time of a burst in which nothing is dropped. Default 150 ms.
    pub max_burst: Time,
    /// Whether ECN-capable packets are marked instead of dropped while the probability is below
    /// 0.1. Default no.
    pub ecn: bool,
    /// Whether the probability of a packet grows with its length. Default no.
    pub bytemode: bool,
    /// Mean length of packets, bytes. Default 1024.
    pub mean_packet: u32,
    /// The line's rate, by which the delay comes from the backlog. Default none: the delay is that
    /// of the last packet that left.
    pub rate: Option<Rate>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limit: 1000,
            target: Time::from_ms(15),
            tupdate: Time::from_ms(15),
            alpha: 2,
            beta: 20,
            max_burst: Time::from_ms(150),
            ecn: false,
            bytemode: false,
            mean_packet: 1024,
            rate: None,
        }
    }
}

/// A PIE queue. Names of the variables are those of RFC 8033.
#[derive(Debug)]
pub struct Pie {
    config: Config,
    packets: VecDeque<Packet>,
    ledger: Ledger,
    random: Random,
    drop_prob: u64,
    accu_prob: u64,
    burst_allowance: Time,
    qdelay: Time,
    qdelay_old: Time,
    /// Updates so far: the last was at this multiple of `tupdate`.
    updates: u64,
}

impl Pie {
    /// An empty queue. The same seed gives the same drops.
    ///
    /// # Errors
    /// For a value out of its range.
    pub fn new(config: Config, seed: u64) -> Result<Pie, ConfigError> {
        if config.tupdate == Time::ZERO {
            return Err(ConfigError::new("tupdate", "an interval is above 0"));
        }
        for (key, weight) in [("alpha", config.alpha), ("beta", config.beta)] {
            if weight > 65_536 {
                return Err(ConfigError::new(key, "a weight is at most 65536: 4096 Hz"));
            }
        }
        if config.mean_packet == 0 {
            let reason = "a packet has at least 1 byte";
            return Err(ConfigError::new("mean_packet", reason));
        }
        Ok(Pie {
            packets: VecDeque::new(),
            ledger: Ledger::default(),
            random: Random::new(seed),
            drop_prob: 0,
            accu_prob: 0,
            burst_allowance: config.max_burst,
            qdelay: Time::ZERO,
            qdelay_old: Time::ZERO,
            updates: 0,
            config,
        })
    }

    /// Delay of the queue now.
    fn current_qdelay(&self) -> Time {
        match self.config.rate {
            Some(rate) => {
                rate.time_of(self.ledger.backlog.bytes.saturating_mul(8), 0)
                    .0
            }
            None => self.qdelay,
        }
    }

    /// Makes all updates that are due by `now`. Nothing has arrived or left since the last of them.
    fn update(&mut self, now: Time) {
        let due = now.as_ps() / self.config.tupdate.as_ps();
        let first = due.saturating_sub(MAX_UPDATES);
        self.updates = self.updates.max(first);
        while self.updates < due {
            self.updates += 1;
            let before = (self.drop_prob, self.qdelay_old, self.burst_allowance);
            self.calculate_drop_prob();
            if before == (self.drop_prob, self.qdelay_old, self.burst_allowance) {
                self.updates = due;
            }
        }
    }

    /// RFC 8033 sections 4.2, 4.4 and 5.5.
    fn calculate_drop_prob(&mut self) {
        let qdelay = self.current_qdelay();
        let ps = |time: Time| i128::from(time.as_ps());
        let deviation = ps(qdelay) - ps(self.config.target);
        let trend = ps(qdelay) - ps(self.qdelay_old);
        let sum = i128::from(self.config.alpha) * deviation + i128::from(self.config.beta) * trend;
        let scale = SCALES.iter().find(|(bound, _)| self.drop_prob < *bound);
        let scale = scale.map_or(1, |(_, divisor)| *divisor);
        let mut change = (sum * i128::from(ONE)).div_euclid(UNIT * scale);
        if self.drop_prob >= ONE / 10 {
            change = change.min(i128::from(ONE / 50));
        }
        let sum = i128::from(self.drop_prob) + change;
        let mut drop_prob = sum.clamp(0, ONE.into()) as u64;
        if qdelay == Time::ZERO && self.qdelay_old == Time::ZERO {
            drop_prob = drop_prob * 98 / 100;
        }
        self.drop_prob = drop_prob;
        self.burst_allowance = self.burst_allowance - self.config.tupdate;
        let is_short = |delay: Time| delay * 2 < self.config.target;
        if drop_prob == 0 && is_short(qdelay) && is_short(self.qdelay_old) {
            self.burst_allowance = self.config.max_burst;
        }
        self.qdelay_old = qdelay;
    }

    /// Whether a packet that arrives is dropped or marked, and by which random number (RFC 8033
    /// sections 4.1 and 5.4).
    fn drop_early(&mut self, packet: &Packet, waiting: u64) -> Option<Option<u64>> {
        if self.burst_allowance > Time::ZERO
            || (self.qdelay_old * 2 < self.config.target && self.drop_prob < ONE / 5)
            || waiting <= 2 * u64::from(self.config.mean_packet)
        {
            return None;
        }
        let mut probability = self.drop_prob;
        if self.config.bytemode {
            let scaled = u128::from(probability) * u128::from(packet.len)
                / u128::from(self.config.mean_packet);
            probability = scaled.min(PROB_LOW.into()) as u64;
        }
        if self.drop_prob == 0 {
            self.accu_prob = 0;
        }
        self.accu_prob += probability;
        if self.accu_prob < PROB_LOW {
            return None;
        }
        if self.accu_prob >= PROB_HIGH {
            return Some(None);
        }
        let random = self.random.bits() >> 24;
        (random < probability).then_some(Some(random))
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, now: Time, mut packet: Packet, out: &mut Decisions) {
        self.update(now);
        let waiting = self.ledger.backlog;
        self.ledger.offer(now, &mut packet);
        if waiting.packets >= self.config.limit.into() {
            self.accu_prob = 0;
            let why = (Reason::Full, State::None);
            return self.ledger.drop(now, packet, why, None, out);
        }
        if let Some(random) = self.drop_early(&packet, waiting.bytes) {
            self.accu_prob = 0;
            let state = State::Probability {
                probability: self.drop_prob,
                delay: self.qdelay_old,
                random,
            };
            let why = (Reason::Pie, state);
            if self.config.ecn && packet.facts.ecn.is_capable() && self.drop_prob < MAX_MARK {
                self.ledger.mark(now, &mut packet, why, None, out);
            } else {
                return self.ledger.drop(now, packet, why, None, out);
            }
        }
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, _: &mut Decisions) -> Option<Packet> {
        self.update(now);
        let packet = self.packets.pop_front()?;
        self.ledger.send(&packet);
        self.qdelay = match self.packets.is_empty() {
            true => Time::ZERO,
            false => packet.sojourn(now),
        };
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
