//! Coupled dual queue for low latency, low loss and scalable throughput: DualPI2 (RFC 9332 appendix
//! A).
//!
//! - **Parameters:** `limit`, 10000 packets; `target`, 15 ms; `tupdate`, 16 ms; `alpha`, 0.16 Hz,
//!   and `beta`, 3.2 Hz; `coupling`, 2; `step_thresh`, 800 us, and `range`, 400 us: the ramp of the
//!   low-latency queue's own marking; `min_qlen_step`, 0; `min_backlog`, 0 bytes;
//!   `classic_protection`, 10 percent.
//! - **Reasons:** `full`, `coupled`, `step`: a mark that the ramp alone decided.
//! - **Flow** of a decision: 0 is the classic queue, 1 the low-latency queue, in which ECT(1) and
//!   CE wait.
//!
//! Probabilities are integers in 2^-40, rounded down. There are no random numbers: `recur` adds
//! probabilities up and acts whenever the sum exceeds 1 (appendix A.1). The base probability
//! changes at multiples of `tupdate`, calculated with the next packet from the delays of its own
//! time.
//!
//! Scheduler: weighted round robin by bytes. While both queues wait, a low-latency packet adds
//! `classic_protection` per cent of its bytes to a credit, a classic one takes the rest of the
//! hundred; the classic queue has its turn while the credit is above 0. The credit is 0 whenever
//! one of them is empty.
//!
//! # Differences between the sources
//! | subject | RFC 9332 | Linux (`net/sched/sch_dualpi2.c`) | ns-3 (`DualPi2QueueDisc` of the L4S branch) | here |
//! |---|---|---|---|---|
//! | decision | `recur`, or random numbers (A.1) | random, two numbers for the square | random | `recur` |
//! | low-latency marking | ramp from 800 us over 400 us (A.1) | step at 1 ms | step at 1 ms | ramp; `range = 0` is a step |
//! | slow links | the ramp begins after the time of a packet on the slowest link (A.1, `Th_len`) | `min_qlen_step`: for packets that found more than 0 in the queue | - | as Linux |
//! | short queues | no exception | the controller's probabilities do not apply while less than two frames are left | - | `min_backlog` |
//! | scheduler | any with conditional priority: time-shifted FIFO or weighted round robin (4.1.3) | weighted, 10 % | weighted DRR | weighted, as above |
//! | delay of the controller | classic queue; with the overload code the greater (A.1, A.2) | the greater | classic queue | the greater |
//! | overload | drops by p_C in both queues from p_C = 1/k^2 on (A.2) | the same, or drops at the limit only | drops | as the RFC |
//! | when a packet is dropped | on dequeue | on dequeue, or on enqueue | on dequeue | on dequeue |
//! | limit | bytes: 250 ms of the line | packets, 10000 | packets or bytes | packets |

use crate::decision::{Backlog, Decisions, Reason, State};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::{Ecn, Packet};
use alloc::collections::VecDeque;
use node::{ConfigError, Size, Time};

/// A probability of 1.
const ONE: u64 = 1 << 40;
/// Units of the gains: 2^-32 Hz.
const HERTZ: f64 = 4_294_967_296.0;
/// From the unit of gains and picoseconds to that of probabilities.
const SECOND: i128 = 1_000_000_000_000;
/// Maximum number of updates of one call: 17 minutes at the default interval.
const MAX_UPDATES: u64 = 1 << 16;
const CLASSIC: u32 = 0;
const LOW_LATENCY: u32 = 1;

/// Parameters of DualPI2.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Packets that may wait in both queues. Default 10000.
    pub limit: u32,
    /// Delay that the controller aims at in the classic queue. Default 15 ms.
    pub target: Time,
    /// Time between updates of the base probability. Default 16 ms.
    pub tupdate: Time,
    /// Integral gain, Hz, 0 to 4096. Default 0.16.
    pub alpha: f64,
    /// Proportional gain, Hz, 0 to 4096. Default 3.2.
    pub beta: f64,
    /// Coupling factor k between the two probabilities, 1 to 255. Default 2.
    pub coupling: u32,
    /// Time in the low-latency queue from which on packets are marked. Default 800 us.
    pub step_thresh: Time,
    /// Time over which that probability grows to 1; 0 for a step. Default 400 us.
    pub range: Time,
    /// The ramp applies to packets that found more than this number of packets in the low-latency
    /// queue. On a slow link a packet waits long behind a single one. Default 0.
    pub min_qlen_step: u32,
    /// Bytes: a packet that leaves less than this in both queues is neither dropped nor marked by
    /// the controller, only by the ramp. Default 0; in Linux two frames, 3028.
    pub min_backlog: Size,
    /// Share of the line that the classic queue has at least, percent, 0 to 99; 0 for strict
    /// priority of the low-latency queue. Default 10.
    pub classic_protection: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limit: 10_000,
            target: Time::from_ms(15),
            tupdate: Time::from_ms(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2,
            step_thresh: Time::from_us(800),
            range: Time::from_us(400),
            min_qlen_step: 0,
            min_backlog: Size::from_bytes(0),
            classic_protection: 10,
        }
    }
}

/// One of the two queues.
#[derive(Debug, Default)]
struct Queue {
    /// Each with whether the ramp applies to it.
    packets: VecDeque<(Packet, bool)>,
    /// Sum of probabilities since the last signal.
    sum: u64,
}

impl Queue {
    /// Time of the oldest packet in the queue, 0 without one.
    fn time(&self, now: Time) -> Time {
        let oldest = self.packets.front();
        oldest.map_or(Time::ZERO, |(packet, _)| packet.sojourn(now))
    }

    /// Whether it is a packet's turn that one in `1 / likelihood` gets.
    #[inline]
    fn recur(&mut self, likelihood: u64) -> bool {
        self.sum += likelihood.min(ONE);
        let signals = self.sum > ONE;
        if signals {
            self.sum -= ONE;
        }
        signals
    }
}

/// DualPI2. Names of the variables are those of RFC 9332: `base` is p'.
#[derive(Debug)]
pub struct DualPi2 {
    config: Config,
    alpha: i128,
    beta: i128,
    classic: Queue,
    low_latency: Queue,
    base: u64,
    previous: Time,
    /// Updates so far: the last was at this multiple of `tupdate`.
    updates: u64,
    /// When the next update is due.
    next_update: Time,
    credit: i64,
    ledger: Ledger,
}

impl DualPi2 {
    /// Empty queues.
    ///
    /// # Errors
    /// For a value out of its range.
    pub fn new(config: Config) -> Result<DualPi2, ConfigError> {
        if config.tupdate == Time::ZERO {
            return Err(ConfigError::new("tupdate", "an interval is above 0"));
        }
        for (key, gain) in [("alpha", config.alpha), ("beta", config.beta)] {
            if !(0.0..=4096.0).contains(&gain) {
                return Err(ConfigError::new(key, "a gain is 0 to 4096 Hz"));
            }
        }
        if !(1..=255).contains(&config.coupling) {
            let reason = "the coupling factor is 1 to 255";
            return Err(ConfigError::new("coupling", reason));
        }
        if !(0..=99).contains(&config.classic_protection) {
            let reason = "the share of the classic queue is 0 to 99 percent";
            return Err(ConfigError::new("classic_protection", reason));
        }
        Ok(DualPi2 {
            // A power of two times the number: exact.
            alpha: (config.alpha * HERTZ) as i128,
            beta: (config.beta * HERTZ) as i128,
            classic: Queue::default(),
            low_latency: Queue::default(),
            base: 0,
            previous: Time::ZERO,
            updates: 0,
            next_update: config.tupdate,
            credit: 0,
            ledger: Ledger::default(),
            config,
        })
    }

    /// Makes all updates that are due by `now`. Nothing has arrived or left since the last of them.
    #[inline]
    fn update(&mut self, now: Time) {
        if now >= self.next_update {
            self.update_late(now);
        }
    }

    #[cold]
    fn update_late(&mut self, now: Time) {
        let due = now.as_ps() / self.config.tupdate.as_ps();
        self.updates = self.updates.max(due.saturating_sub(MAX_UPDATES));
        while self.updates < due {
            self.updates += 1;
            let at = self.config.tupdate * self.updates;
            let delay = self.classic.time(at).max(self.low_latency.time(at));
            let ps = |time: Time| i128::from(time.as_ps());
            let sum = self.alpha * (ps(delay) - ps(self.config.target))
                + self.beta * (ps(delay) - ps(self.previous));
            let change = (sum << 8).div_euclid(SECOND);
            let base = i128::from(self.base) + change;
            self.base = base.clamp(0, ONE.into()) as u64;
            self.previous = delay;
        }
        self.next_update = self.config.tupdate * due.saturating_add(1);
    }

    /// The low-latency queue's own marking probability.
    fn ramp(&self, sojourn: Time) -> u64 {
        let above = (sojourn - self.config.step_thresh).as_ps();
        let range = self.config.range.as_ps();
        match above {
            0 => 0,
            above if above >= range => ONE,
            above => (u128::from(above) * u128::from(ONE) / u128::from(range)) as u64,
        }
    }

    /// Takes the next packet by weighted round robin: with whether the ramp applies, and its queue.
    #[inline]
    fn next(&mut self) -> Option<((Packet, bool), u32)> {
        let waits = [&self.classic, &self.low_latency].map(|queue| !queue.packets.is_empty());
        let share = i64::from(self.config.classic_protection);
        match waits {
            [true, true] if self.credit <= 0 => {
                let packet = self.low_latency.packets.pop_front()?;
                self.credit += share * i64::from(packet.0.len);
                Some((packet, LOW_LATENCY))
            }
            [true, true] => {
                let packet = self.classic.packets.pop_front()?;
                self.credit -= (100 - share) * i64::from(packet.0.len);
                Some((packet, CLASSIC))
            }
            [is_classic, _] => {
                self.credit = 0;
                let (queue, index) = match is_classic {
                    true => (&mut self.classic, CLASSIC),
                    false => (&mut self.low_latency, LOW_LATENCY),
                };
                Some((queue.packets.pop_front()?, index))
            }
        }
    }

    /// Drops or marks a packet by the probabilities; `None` when it is dropped.
    #[inline]
    fn decide(
        &mut self,
        now: Time,
        (mut packet, has_ramp): (Packet, bool),
        index: u32,
        out: &mut Decisions,
    ) -> Option<Packet> {
        let coupling = u64::from(self.config.coupling);
        let left = self.ledger.backlog.bytes - u64::from(packet.len);
        let is_small = left < self.config.min_backlog.bytes();
        let base = if is_small { 0 } else { self.base };
        let squared = (u128::from(base) * u128::from(base) / u128::from(ONE)) as u64;
        let is_overload = squared >= ONE / (coupling * coupling);
        let sojourn = packet.sojourn(now);
        let (reason, probability, drops, marks);
        if index == LOW_LATENCY {
            let own = if has_ramp { self.ramp(sojourn) } else { 0 };
            let coupled = coupling * base;
            drops = is_overload && self.low_latency.recur(squared);
            (reason, probability) = match own > coupled {
                true if !drops => (Reason::Step, own),
                _ if drops => (Reason::Coupled, squared),
                _ => (Reason::Coupled, coupled),
            };
            marks = !drops && self.low_latency.recur(own.max(coupled));
        } else {
            (reason, probability) = (Reason::Coupled, squared);
            let signals = self.classic.recur(squared);
            drops = signals && (is_overload || packet.facts.ecn == Ecn::NotEct);
            marks = signals && !drops;
        }
        let state = State::Coupled {
            base: self.base,
            probability,
            sojourn,
            low_latency: index == LOW_LATENCY,
        };
        if drops {
            self.ledger
                .drop(now, packet, (reason, state), Some(index), out);
            return None;
        }
        if marks {
            self.ledger
                .mark(now, &mut packet, (reason, state), Some(index), out);
        }
        Some(packet)
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, now: Time, mut packet: Packet, out: &mut Decisions) {
        self.update(now);
        self.ledger.offer(now, &mut packet);
        let is_low_latency = packet.facts.ecn.is_l4s();
        if self.ledger.backlog.packets > self.config.limit.into() {
            let why = (Reason::Full, State::None);
            let index = if is_low_latency { LOW_LATENCY } else { CLASSIC };
            return self.ledger.drop(now, packet, why, Some(index), out);
        }
        let queue = match is_low_latency {
            true => &mut self.low_latency,
            false => &mut self.classic,
        };
        let has_ramp = queue.packets.len() > self.config.min_qlen_step as usize;
        queue.packets.push_back((packet, has_ramp));
    }

    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        self.update(now);
        loop {
            let (packet, index) = self.next()?;
            if let Some(packet) = self.decide(now, packet, index, out) {
                self.ledger.send(&packet);
                return Some(packet);
            }
        }
    }

    fn next_time(&self, now: Time) -> Option<Time> {
        (!self.ledger.backlog.is_empty()).then_some(now)
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog
    }

    fn counters(&self) -> Counters {
        self.ledger.counters
    }
}
