//! CoDel: controlled delay, by the time that packets spend in the queue (RFC 8289).
//!
//! - **Parameters:** `limit`, 1000 packets; `target`, 5 ms; `interval`, 100 ms; `ecn`, false;
//!   `ce_threshold`, none; `mtu`, 1514 bytes; `count_reuse`, `delta`.
//! - **Reasons:** `full`, `codel`, `step`.
//!
//! The control law is `drop_next = t + interval / sqrt(count)`, calculated exactly: the integer
//! square root of `interval^2 / count` in picoseconds.
//!
//! # Differences between the sources
//! | subject | RFC 8289 | Linux (`net/sched/sch_codel.c`, `include/net/codel_impl.h`) | ns-3 (`CoDelQueueDisc`) | here |
//! |---|---|---|---|---|
//! | drop rate on re-entry | `count - lastcount` if above 1 and within 16 intervals (5.6) | the same | the same | `count_reuse = "delta"`; `"minus_two"`, within one interval, is that of the article (Nichols and Jacobson, ACM Queue 2012); `"none"` starts at 1 |
//! | clock | exact | units of 1024 ns, 32 bits | units of 1024 ns, 32 bits | picoseconds |
//! | square root | exact | Newton steps on 16 bits, so early counts are off by percents | as Linux | exact integers |
//! | "queue is nearly empty" | backlog after the packet left it is at most one MTU (5.5) | the same, MTU of the device | less than `MinBytes`, 1500 | `mtu` |
//! | `ecn` | not in the pseudocode | marks, counts as a drop, and ends the call | the same, but the next drop counts from now | as Linux |
//! | `ce_threshold` | - | marks ECN-capable packets above it, also those that CoDel marked | only with `UseEcn`, and no packet twice | as Linux |
//! | drop at `first_above_time` itself | yes | one clock unit later | one clock unit later | yes |

use crate::decision::{Backlog, Decisions, Reason, State};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use alloc::collections::VecDeque;
use node::{ConfigError, Time};

/// Intervals within which a new dropping state starts with the drop rate of the last one (RFC 8289
/// section 5.6).
const REUSE_INTERVALS: u64 = 16;

/// How a dropping state that follows another one soon finds its first drop count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum CountReuse {
    /// Drops of the last dropping state beyond its own first count, within 16 intervals: RFC 8289
    /// and Linux.
    #[default]
    Delta,
    /// The last count less 2, within one interval: the article of 2012.
    MinusTwo,
    /// Always 1.
    None,
}

/// Parameters of CoDel's control law, for one queue or each of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Law {
    /// Acceptable minimum delay of the queue.
    pub target: Time,
    /// Time in which the minimum must be seen: about a worst-case round trip.
    pub interval: Time,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Time in the queue above which ECN-capable packets are marked, whatever CoDel's state.
    pub ce_threshold: Option<Time>,
    /// Bytes: a queue that holds no more than this after the packet has left it is not controlled.
    pub mtu: u32,
    /// The first count of a dropping state that follows another one soon.
    pub count_reuse: CountReuse,
}

impl Law {
    /// Finds values that make no sense.
    ///
    /// # Errors
    /// For a target or interval of 0, and a target that is not below the interval.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.interval == Time::ZERO {
            return Err(ConfigError::new("interval", "an interval is above 0"));
        }
        if self.target >= self.interval {
            let reason = "the target is less than the interval: 5 to 10 % of it";
            return Err(ConfigError::new("target", reason));
        }
        Ok(())
    }
}

/// Packets in the order in which a queue gives them, as far as CoDel needs it.
pub(crate) trait Source {
    /// Takes the next packet out.
    fn pop(&mut self) -> Option<Packet>;
    /// Bytes that are left.
    fn bytes(&self) -> u64;
}

/// CoDel's variables of one queue. Names are those of RFC 8289.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    first_above: Option<Time>,
    drop_next: Time,
    pub count: u32,
    last_count: u32,
    dropping: bool,
}

impl Control {
    /// When the next drop is due that follows one at `from`.
    fn next_after(&self, from: Time, law: &Law) -> Time {
        let interval = u128::from(law.interval.as_ps());
        let square = interval * interval / u128::from(self.count.max(1));
        from + Time::from_ps(square.isqrt() as u64)
    }

    /// The next packet, and whether it may be dropped (RFC 8289 section 5.5).
    #[inline]
    fn next(&mut self, now: Time, law: &Law, source: &mut impl Source) -> Option<(Packet, bool)> {
        let Some(packet) = source.pop() else {
            self.first_above = None;
            return None;
        };
        if packet.sojourn(now) < law.target || source.bytes() <= law.mtu.into() {
            self.first_above = None;
            return Some((packet, false));
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + law.interval);
                Some((packet, false))
            }
            Some(first_above) => Some((packet, now >= first_above)),
        }
    }

    fn state(&self, now: Time, packet: &Packet) -> (Reason, State) {
        let state = State::Codel {
            sojourn: packet.sojourn(now),
            dropping: self.dropping,
            count: self.count,
            drop_next: self.drop_next,
        };
        (Reason::Codel, state)
    }

    /// The next packet to send (RFC 8289 section 5.6). Packets that CoDel drops are gone from
    /// `source`. The caller enters the packet as sent.
    #[inline]
    pub fn dequeue(
        &mut self,
        now: Time,
        law: &Law,
        source: &mut impl Source,
        (ledger, flow): (&mut Ledger, Option<u32>),
        out: &mut Decisions,
    ) -> Option<Packet> {
        let next = self.next(now, law, source);
        let packet = match next {
            Some((packet, false)) => {
                self.dropping = false;
                Some(packet)
            }
            None => {
                self.dropping = false;
                None
            }
            Some((packet, true)) => self.drop(now, law, packet, source, (ledger, flow), out),
        };
        let mut packet = packet?;
        if let Some(threshold) = law.ce_threshold {
            let sojourn = packet.sojourn(now);
            if sojourn > threshold && packet.facts.ecn.is_capable() {
                let state = State::Threshold { sojourn, threshold };
                ledger.mark(now, &mut packet, (Reason::Step, state), flow, out);
            }
        }
        Some(packet)
    }

    /// A packet that may be dropped: drops as many as are due, and gives the first that may go.
    #[cold]
    fn drop(
        &mut self,
        now: Time,
        law: &Law,
        mut packet: Packet,
        source: &mut impl Source,
        (ledger, flow): (&mut Ledger, Option<u32>),
        out: &mut Decisions,
    ) -> Option<Packet> {
        if !self.dropping {
            let why = self.state(now, &packet);
            let marks = law.ecn && packet.facts.ecn.is_capable();
            let next = match marks {
                true => {
                    ledger.mark(now, &mut packet, why, flow, out);
                    Some(packet)
                }
                false => {
                    ledger.drop(now, packet, why, flow, out);
                    self.next(now, law, source).map(|(packet, _)| packet)
                }
            };
            self.dropping = true;
            self.enter(now, law);
            return next;
        }
        while now >= self.drop_next {
            let why = self.state(now, &packet);
            self.count = self.count.saturating_add(1);
            if law.ecn && packet.facts.ecn.is_capable() {
                ledger.mark(now, &mut packet, why, flow, out);
                self.drop_next = self.next_after(self.drop_next, law);
                return Some(packet);
            }
            ledger.drop(now, packet, why, flow, out);
            match self.next(now, law, source) {
                Some((next, true)) => {
                    packet = next;
                    self.drop_next = self.next_after(self.drop_next, law);
                }
                next => {
                    self.dropping = false;
                    return next.map(|(packet, _)| packet);
                }
            }
        }
        Some(packet)
    }

    /// The first count and drop time of a dropping state.
    fn enter(&mut self, now: Time, law: &Law) {
        // `drop_next` may still be ahead: then the last drop was less than an interval ago, and the
        // difference is 0.
        let since = now - self.drop_next;
        let count = match law.count_reuse {
            CountReuse::Delta if since < law.interval * REUSE_INTERVALS => {
                self.count.saturating_sub(self.last_count)
            }
            CountReuse::MinusTwo if since < law.interval => self.count.saturating_sub(2),
            _ => 1,
        };
        self.count = count.max(1);
        self.drop_next = self.next_after(now, law);
        self.last_count = self.count;
    }
}

/// Parameters of a CoDel queue.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Packets that may wait. Default 1000.
    pub limit: u32,
    /// Acceptable minimum delay. Default 5 ms.
    pub target: Time,
    /// Time in which the minimum must be seen. Default 100 ms.
    pub interval: Time,
    /// Whether ECN-capable packets are marked instead of dropped. Default no.
    pub ecn: bool,
    /// Time in the queue above which ECN-capable packets are marked. Default none.
    pub ce_threshold: Option<Time>,
    /// Bytes that may wait without control. Default 1514.
    pub mtu: u32,
    /// The first count of a dropping state that follows another one soon. Default `delta`.
    pub count_reuse: CountReuse,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limit: 1000,
            target: Time::from_ms(5),
            interval: Time::from_ms(100),
            ecn: false,
            ce_threshold: None,
            mtu: 1514,
            count_reuse: CountReuse::Delta,
        }
    }
}

impl Config {
    fn law(&self) -> Law {
        Law {
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
            mtu: self.mtu,
            count_reuse: self.count_reuse,
        }
    }
}

/// Packets of a single queue, and their bytes.
#[derive(Debug, Default)]
struct Single {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Source for Single {
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.len);
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A CoDel queue.
#[derive(Debug)]
pub struct Codel {
    limit: u32,
    law: Law,
    control: Control,
    queue: Single,
    ledger: Ledger,
}

impl Codel {
    /// An empty queue.
    ///
    /// # Errors
    /// For a target or an interval that make no sense.
    pub fn new(config: &Config) -> Result<Codel, ConfigError> {
        let law = config.law();
        law.check()?;
        Ok(Codel {
            limit: config.limit,
            law,
            control: Control::default(),
            queue: Single::default(),
            ledger: Ledger::default(),
        })
    }
}

impl Discipline for Codel {
    fn enqueue(&mut self, now: Time, mut packet: Packet, out: &mut Decisions) {
        self.ledger.offer(now, &mut packet);
        if self.ledger.backlog.packets > self.limit.into() {
            let why = (Reason::Full, State::None);
            return self.ledger.drop(now, packet, why, None, out);
        }
        self.queue.bytes += u64::from(packet.len);
        self.queue.packets.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        let accounts = (&mut self.ledger, None);
        let packet = self
            .control
            .dequeue(now, &self.law, &mut self.queue, accounts, out)?;
        self.ledger.send(&packet);
        Some(packet)
    }

    fn next_time(&self, now: Time) -> Option<Time> {
        (!self.queue.packets.is_empty()).then_some(now)
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog
    }

    fn counters(&self) -> Counters {
        self.ledger.counters
    }
}
