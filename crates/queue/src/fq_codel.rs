//! FlowQueue-CoDel: a queue for each flow, deficit round robin among them, CoDel in each (RFC
//! 8290).
//!
//! - **Parameters:** `limit`, 10240 packets; `memory_limit`, 32 MiB of packets; `flows`, 1024
//!   queues; `quantum`, 1514 bytes; `target`, 5 ms; `interval`, 100 ms; `ecn`, true;
//!   `ce_threshold`, none; `mtu`, 1514 bytes; `drop_batch`, 64; `count_reuse`.
//! - **Reasons:** `overlimit`, with the flow that had the greatest backlog; `codel`; `step`.
//!
//! The flow of a packet is its five-tuple's hash, mixed with a number that depends on the seed,
//! scaled to `flows`. Packets that are not IP share a queue.
//!
//! # Differences between the sources
//! | subject | RFC 8290 | Linux (`net/sched/sch_fq_codel.c`) | ns-3 (`FqCoDelQueueDisc`) | here |
//! |---|---|---|---|---|
//! | overload drops | half the packets of the fattest queue, at most 64, from its head (4.1) | until half of its bytes are gone, at most `drop_batch` | as Linux | RFC; rounded up |
//! | CoDel after them | unchanged | `count` grows by the number dropped | unchanged | unchanged |
//! | memory | - | `memory_limit` counts kernel buffers | - | counts packet lengths, and drops until it is kept |
//! | new queue that empties | to the end of the old list (4.2) | removed at once if the old list is empty | to the end of the old list | RFC; the departures are the same |
//! | hash | perturbed | `skb_get_hash`, not perturbed by the discipline | perturbed | perturbed by the seed |
//! | `limit` default | 10240 | 10240 | 10240 | 10240 |

use crate::classify::spread;
use crate::codel::{Control, CountReuse, Law};
use crate::decision::{Backlog, Decisions, Reason, State};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::lists::{List, Listed, Store};
use crate::packet::Packet;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use node::random::Random;
use node::{ConfigError, Size, Time};

/// Parameters of FQ-CoDel.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Packets that may wait in all queues. Default 10240.
    pub limit: u32,
    /// Bytes that may wait in all queues. Default 32 MiB.
    pub memory_limit: Size,
    /// Queues, 1..=65536. Default 1024.
    pub flows: u32,
    /// Bytes that a queue may send in a round, at least 1. Default 1514.
    pub quantum: u32,
    /// Acceptable minimum delay of a queue. Default 5 ms.
    pub target: Time,
    /// Time in which the minimum must be seen. Default 100 ms.
    pub interval: Time,
    /// Whether ECN-capable packets are marked instead of dropped. Default yes.
    pub ecn: bool,
    /// Time in the queue above which ECN-capable packets are marked. Default none.
    pub ce_threshold: Option<Time>,
    /// Bytes that may wait in a queue without control. Default 1514.
    pub mtu: u32,
    /// Maximum number of packets that one overload drops, at least 1. Default 64.
    pub drop_batch: u32,
    /// The first count of a dropping state that follows another one soon. Default `delta`.
    pub count_reuse: CountReuse,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limit: 10_240,
            memory_limit: Size::from_bytes(32 << 20),
            flows: 1024,
            quantum: 1514,
            target: Time::from_ms(5),
            interval: Time::from_ms(100),
            ecn: true,
            ce_threshold: None,
            mtu: 1514,
            drop_batch: 64,
            count_reuse: CountReuse::Delta,
        }
    }
}

/// The queue of a flow.
#[derive(Clone, Debug, Default)]
struct Flow {
    list: List,
    control: Control,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// Whether it is in the list of new queues or in that of old ones.
    is_listed: bool,
}

/// FQ-CoDel.
#[derive(Debug)]
pub struct FqCodel {
    config: Config,
    law: Law,
    perturbation: u64,
    flows: Vec<Flow>,
    store: Store,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    ledger: Ledger,
}

impl FqCodel {
    /// Empty queues. The seed perturbs the hash.
    ///
    /// # Errors
    /// For a value out of its range.
    pub fn new(config: Config, seed: u64) -> Result<FqCodel, ConfigError> {
        if !(1..=65_536).contains(&config.flows) {
            return Err(ConfigError::new("flows", "there are 1 to 65536 queues"));
        }
        if config.quantum == 0 {
            return Err(ConfigError::new("quantum", "a quantum is at least 1 byte"));
        }
        if config.drop_batch == 0 {
            let reason = "an overload drops at least 1 packet";
            return Err(ConfigError::new("drop_batch", reason));
        }
        let law = Law {
            target: config.target,
            interval: config.interval,
            ecn: config.ecn,
            ce_threshold: config.ce_threshold,
            mtu: config.mtu,
            count_reuse: config.count_reuse,
        };
        law.check()?;
        let flows = config.flows as usize;
        Ok(FqCodel {
            law,
            perturbation: Random::new(seed).bits(),
            flows: vec![Flow::default(); flows],
            store: Store::default(),
            new: VecDeque::with_capacity(flows),
            old: VecDeque::with_capacity(flows),
            ledger: Ledger::default(),
            config,
        })
    }

    /// The queue of a packet.
    fn flow_of(&self, packet: &Packet) -> u32 {
        spread(
            self.perturbation,
            packet.facts.flow.into(),
            self.config.flows,
        )
    }

    /// Drops from the head of the queue with the greatest backlog (RFC 8290 section 4.1).
    #[cold]
    fn drop_from_fattest(&mut self, now: Time, out: &mut Decisions) {
        // A queue of packets without a byte may lose, an empty one may not.
        let has_packets = |index: &u32| !self.flows[*index as usize].list.backlog.is_empty();
        let listed = self
            .new
            .iter()
            .chain(&self.old)
            .copied()
            .filter(has_packets);
        let weight = |index: &u32| (self.flows[*index as usize].list.backlog.bytes, !index);
        let Some(fattest) = listed.max_by_key(weight) else {
            return;
        };
        let list = &mut self.flows[fattest as usize].list;
        let half = list.backlog.packets.div_ceil(2);
        for _ in 0..half.min(self.config.drop_batch.into()) {
            let bytes = list.backlog.bytes;
            let Some(packet) = self.store.pop(list) else {
                return;
            };
            let why = (Reason::Overlimit, State::Fattest { bytes });
            self.ledger.drop(now, packet, why, Some(fattest), out);
        }
    }

    /// Gives each queue the credits of the rounds in which none of them can send.
    fn skip_rounds(&mut self) {
        let quantum = i64::from(self.config.quantum);
        let missing = |index: &u32| -self.flows[*index as usize].deficit / quantum;
        if let Some(rounds) = self
            .old
            .iter()
            .map(missing)
            .min()
            .filter(|rounds| *rounds > 0)
        {
            for index in &self.old {
                self.flows[*index as usize].deficit += rounds * quantum;
            }
        }
    }
}

impl Discipline for FqCodel {
    fn enqueue(&mut self, now: Time, mut packet: Packet, out: &mut Decisions) {
        self.ledger.offer(now, &mut packet);
        let index = self.flow_of(&packet);
        let flow = &mut self.flows[index as usize];
        self.store.push(&mut flow.list, packet);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.deficit = self.config.quantum.into();
            self.new.push_back(index);
        }
        while self.ledger.backlog.packets > self.config.limit.into()
            || self.ledger.backlog.bytes > self.config.memory_limit.bytes()
        {
            self.drop_from_fattest(now, out);
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        let mut without_credit = 0;
        loop {
            let is_new = !self.new.is_empty();
            let index = *self.new.front().or(self.old.front())?;
            let flow = &mut self.flows[index as usize];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum);
                if is_new {
                    self.new.pop_front();
                } else {
                    self.old.pop_front();
                }
                self.old.push_back(index);
                without_credit += 1;
                if without_credit == self.new.len() + self.old.len() + 1 {
                    // After a packet of many quanta.
                    self.skip_rounds();
                }
                continue;
            }
            let mut source = Listed {
                store: &mut self.store,
                list: &mut flow.list,
            };
            let accounts = (&mut self.ledger, Some(index));
            match flow
                .control
                .dequeue(now, &self.law, &mut source, accounts, out)
            {
                Some(packet) => {
                    flow.deficit -= i64::from(packet.len);
                    self.ledger.send(&packet);
                    return Some(packet);
                }
                // A flow with packets now and then would always be new if it left the lists here.
                None if is_new => {
                    self.new.pop_front();
                    self.old.push_back(index);
                }
                None => {
                    self.old.pop_front();
                    flow.is_listed = false;
                }
            }
            without_credit = 0;
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
