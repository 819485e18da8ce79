//! RED: random early detection by an average queue length (Floyd and Jacobson 1993), gentle and
//! adaptive.
//!
//! - **Parameters:** `limit`, 400 kB; `min`, 30 kB; `max`, 90 kB; `probability`, 0.02; `wlog`, 9:
//!   the weight of a sample is 2^-wlog; `avpkt`, 1000 bytes, and `bandwidth`, 10 Mb/s: packets that
//!   could have left while the queue was empty; `gentle`, true; `wait`, false; `adaptive`, false,
//!   every `interval`, 500 ms; `ecn`, false; `harddrop`, false.
//! - **Reasons:** `full`, `red early`, `red forced`.
//!
//! The average is an integer in 2^-16 bytes, probabilities in 2^-32, both rounded down. While the
//! queue is empty the average falls as if small packets had left it, one each `avpkt / bandwidth`,
//! exactly.
//!
//! # Differences between the sources
//! | subject | papers | Linux (`net/sched/sch_red.c`, `include/net/red.h`) | ns-3 (`RedQueueDisc`) | here |
//! |---|---|---|---|---|
//! | weight | any; 0.002 | 2^-W from tc's `burst` | any; 0.002, or from the rate | 2^-`wlog`; 9 is 0.00195 |
//! | drops between `min` and `max` | `pb / (1 - count pb)` (1993, section 4) | `count pb` against one number for each drop (1993, section 7) | the first, with `wait` | the first; `wait` on request |
//! | above `max` | all; gentle to twice `max` (Floyd 2000) | all | gentle | gentle; `gentle = false` for all |
//! | ECN above `max` | drop (RFC 3168 section 7) | mark, unless `harddrop` | drop, unless `UseHardDrop` is false | as Linux |
//! | idle queue | `(1 - w)^m` | a table of shifts | `(1 - w)^m` in floating point | `m` exact steps |
//! | adaptive | every 0.5 s (Floyd, Gummadi, Shenker 2001) | a timer of 0.5 s | with the packet after 0.5 s, once | all multiples of `interval` |

use crate::decision::{Backlog, Decisions, Reason, State};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use alloc::collections::VecDeque;
use node::random::Random;
use node::{ConfigError, Rate, Size, Time};

/// A probability of 1.
const ONE: u64 = 1 << 32;
/// Binary digits of the average below a byte.
const DIGITS: u32 = 16;
/// Maximum length in bytes of a threshold: the average fits into 63 bits.
const MAX_BYTES: u64 = 1 << 45;

/// Parameters of RED.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Bytes that may wait. Default 400 kB.
    pub limit: Size,
    /// Average length from which on packets are dropped at random. Default 30 kB.
    pub min: Size,
    /// Average length at which the probability is `probability`. Default 90 kB.
    pub max: Size,
    /// Maximum probability below `max`, above 0 and at most 1. Default 0.02.
    pub probability: f64,
    /// Exponent of the weight of a sample, 1..=16. Default 9: 1/512.
    pub wlog: u32,
    /// Mean packet length, bytes. Default 1000.
    pub avpkt: u32,
    /// Rate at which the queue empties. Default 10 Mb/s.
    pub bandwidth: Rate,
    /// Whether the probability grows on from `max` to twice `max`, instead of being 1 there.
    /// Default yes.
    pub gentle: bool,
    /// Whether drops are at least `1 / pb` packets apart, as in ns-2 and ns-3. Default no.
    pub wait: bool,
    /// Whether the maximum probability adapts, so that the average stays between the thresholds.
    /// Default no.
    pub adaptive: bool,
    /// Time between two adaptations. Default 500 ms.
    pub interval: Time,
    /// Whether ECN-capable packets are marked instead of dropped. Default no.
    pub ecn: bool,
    /// Whether they are dropped even so when the drop is certain. Default no.
    pub harddrop: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limit: Size::from_bytes(400_000),
            min: Size::from_bytes(30_000),
            max: Size::from_bytes(90_000),
            probability: 0.02,
            wlog: 9,
            avpkt: 1000,
            bandwidth: const {
                match Rate::from_bits_per_second(10_000_000) {
                    Some(rate) => rate,
                    None => unreachable!(),
                }
            },
            gentle: true,
            wait: false,
            adaptive: false,
            interval: Time::from_ms(500),
            ecn: false,
            harddrop: false,
        }
    }
}

/// A RED queue.
#[derive(Debug)]
pub struct Red {
    config: Config,
    packets: VecDeque<Packet>,
    ledger: Ledger,
    random: Random,
    /// Average length, in 2^-16 bytes.
    average: u64,
    /// The thresholds, in 2^-16 bytes.
    min: u64,
    max: u64,
    max_probability: u64,
    /// Packets since the last drop or mark; `None` below the lower threshold.
    count: Option<u32>,
    /// When the queue became empty.
    empty_since: Option<Time>,
    /// Time of a mean packet on the line.
    packet_time: Time,
    /// Adaptations so far: the last was at this multiple of the interval.
    adaptations: u64,
}

/// RED's choice for a packet.
enum Choice {
    Keep,
    Early(u64, u32, Option<u32>),
    Forced,
}

impl Red {
    /// An empty queue. The same seed gives the same drops.
    ///
    /// # Errors
    /// For a value out of its range.
    pub fn new(config: Config, seed: u64) -> Result<Red, ConfigError> {
        let (min, max) = (config.min.bytes(), config.max.bytes());
        if min >= max || max > MAX_BYTES {
            let reason = "`max` is above `min`, and at most 32 TiB";
            return Err(ConfigError::new("max", reason));
        }
        if !(config.probability > 0.0 && config.probability <= 1.0) {
            let reason = "a probability is above 0 and at most 1";
            return Err(ConfigError::new("probability", reason));
        }
        if !(1..=16).contains(&config.wlog) {
            return Err(ConfigError::new("wlog", "the exponent is 1 to 16"));
        }
        if config.avpkt == 0 {
            return Err(ConfigError::new("avpkt", "a packet has at least 1 byte"));
        }
        if config.interval == Time::ZERO {
            return Err(ConfigError::new("interval", "an interval is above 0"));
        }
        let packet_time = config.bandwidth.time_of(8 * u64::from(config.avpkt), 0).0;
        Ok(Red {
            packets: VecDeque::new(),
            ledger: Ledger::default(),
            random: Random::new(seed),
            average: 0,
            min: min << DIGITS,
            max: max << DIGITS,
            // A power of two times the number: exact.
            max_probability: (config.probability * ONE as f64) as u64,
            count: None,
            empty_since: Some(Time::ZERO),
            packet_time: packet_time.max(Time::from_ps(1)),
            adaptations: 0,
            config,
        })
    }

    /// One sample of the average.
    fn sample(&mut self, bytes: u64) {
        let length = (bytes.min(MAX_BYTES * 2) << DIGITS) as i64;
        let average = self.average as i64;
        self.average = (average + ((length - average) >> self.config.wlog)) as u64;
    }

    fn update_average(&mut self, now: Time, waiting: u64) {
        match self.empty_since {
            None => self.sample(waiting),
            Some(since) => {
                let packets = (now - since).as_ps() / self.packet_time.as_ps();
                for _ in 0..packets {
                    if self.average == 0 {
                        break;
                    }
                    self.sample(0);
                }
            }
        }
    }

    /// Floyd, Gummadi and Shenker 2001, figure 1. The average does not change between two packets.
    fn adapt(&mut self, now: Time) {
        let due = now.as_ps() / self.config.interval.as_ps();
        while self.adaptations < due {
            self.adaptations += 1;
            let before = self.max_probability;
            let fifth = (self.max - self.min) / 5;
            let (low, high) = (self.min + 2 * fifth, self.min + 3 * fifth);
            if self.average > high && before <= ONE / 2 {
                self.max_probability += (ONE / 100).min(before / 4);
            } else if self.average < low && before >= ONE / 100 {
                self.max_probability = before * 9 / 10;
            }
            if before == self.max_probability {
                self.adaptations = due;
            }
        }
    }

    fn choose(&mut self) -> Choice {
        let end = if self.config.gentle {
            2 * self.max
        } else {
            self.max
        };
        if self.average < self.min {
            self.count = None;
            return Choice::Keep;
        }
        if self.average >= end {
            self.count = Some(0);
            return Choice::Forced;
        }
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        self.count = Some(count);
        let share = |part: u64, above: u64, of: u64| {
            (u128::from(part) * u128::from(above) / u128::from(of)) as u64
        };
        let probability = if self.average < self.max {
            share(
                self.max_probability,
                self.average - self.min,
                self.max - self.min,
            )
        } else {
            let rest = ONE - self.max_probability;
            self.max_probability + share(rest, self.average - self.max, self.max)
        };
        let random = (self.random.bits() >> 32) as u32;
        let passed = u128::from(count) * u128::from(probability);
        let one = u128::from(ONE);
        let whole = match self.config.wait {
            true if passed < one => return Choice::Keep,
            true => 2 * one,
            false => one,
        };
        // The probability is `probability / (whole - passed)`.
        let is_certain = passed >= whole;
        let number = (!is_certain).then_some(random);
        if is_certain || u128::from(random) * (whole - passed) < u128::from(probability) << 32 {
            self.count = Some(0);
            return Choice::Early(probability, count, number);
        }
        Choice::Keep
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, now: Time, mut packet: Packet, out: &mut Decisions) {
        if self.config.adaptive {
            self.adapt(now);
        }
        let waiting = self.ledger.backlog.bytes;
        self.update_average(now, waiting);
        self.empty_since = self.packets.is_empty().then_some(now);
        self.ledger.offer(now, &mut packet);
        let average = self.average >> DIGITS;
        let decided = match self.choose() {
            Choice::Keep => None,
            Choice::Early(probability, count, random) => {
                let state = State::Red {
                    average,
                    probability,
                    count,
                    random,
                };
                Some((Reason::RedEarly, state, true))
            }
            Choice::Forced => {
                let state = State::Red {
                    average,
                    probability: ONE,
                    count: 0,
                    random: None,
                };
                Some((Reason::RedForced, state, !self.config.harddrop))
            }
        };
        if let Some((reason, state, may_mark)) = decided {
            let why = (reason, state);
            if !(self.config.ecn && may_mark && packet.facts.ecn.is_capable()) {
                return self.ledger.drop(now, packet, why, None, out);
            }
            self.ledger.mark(now, &mut packet, why, None, out);
        }
        if self.ledger.backlog.bytes > self.config.limit.bytes() {
            let why = (Reason::Full, State::None);
            return self.ledger.drop(now, packet, why, None, out);
        }
        self.empty_since = None;
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, _: &mut Decisions) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.ledger.send(&packet);
        if self.packets.is_empty() {
            self.empty_since = Some(now);
        }
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
