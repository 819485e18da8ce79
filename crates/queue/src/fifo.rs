//! First in, first out, with limits in packets, bytes and time, and the step marking of DCTCP.
//!
//! - **Parameters:** `limit`, 1000 packets; `bytes`, none; `time`, none: a packet that has waited
//!   longer is dropped when its turn comes; `head_drop`, false: a full queue drops its oldest
//!   packet instead of the newest; `mark` and `ce_threshold`, none: see [`Config`].
//! - **Reasons:** `full`, `overlimit`, `expired`, `step`.
//! - **Differences:** in Linux `pfifo` counts packets, `bfifo` bytes, and `pfifo_head_drop` is a
//!   kind of its own; here they are keys of one kind. A limit of 0 holds nothing, as `pfifo limit
//!   0` does; the frame that is being sent is not in the queue. For the step, RFC 8257 section 3.1
//!   leaves the unit open: the DCTCP paper (Alizadeh and others, SIGCOMM 2010) marks by the packets
//!   in the queue when a packet arrives (`mark`), Linux's `ce_threshold` by the time in the queue
//!   when it leaves.

use crate::decision::{Backlog, Decisions, Reason, State};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use alloc::collections::VecDeque;
use node::{Size, Time};

/// Parameters of a FIFO.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Packets that may wait. Default 1000.
    pub limit: u32,
    /// Bytes that may wait; `None` for no limit in bytes. Default none.
    pub bytes: Option<Size>,
    /// Time that a packet may wait; `None` for no limit. A packet that waited longer is dropped
    /// when its turn comes. Default none.
    pub time: Option<Time>,
    /// Whether a full queue drops its oldest packets instead of the one that arrives. Default no.
    pub head_drop: bool,
    /// Packets in the queue above which an ECN-capable packet that arrives is marked: the threshold
    /// K of DCTCP (RFC 8257). Default none.
    pub mark: Option<u32>,
    /// Time in the queue above which an ECN-capable packet is marked when it leaves. Default none.
    pub ce_threshold: Option<Time>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limit: 1000,
            bytes: None,
            time: None,
            head_drop: false,
            mark: None,
            ce_threshold: None,
        }
    }
}

/// A FIFO.
#[derive(Debug)]
pub struct Fifo {
    config: Config,
    /// Whether a packet's time in the queue decides anything.
    watches_time: bool,
    packets: VecDeque<Packet>,
    ledger: Ledger,
}

impl Fifo {
    /// An empty FIFO.
    pub fn new(config: Config) -> Fifo {
        Fifo {
            watches_time: config.time.is_some() || config.ce_threshold.is_some(),
            config,
            packets: VecDeque::new(),
            ledger: Ledger::default(),
        }
    }

    /// Whether the queue, which the new packet is already counted in, exceeds a limit.
    #[inline]
    fn is_over(&self) -> bool {
        let Backlog { packets, bytes } = self.ledger.backlog;
        packets > self.config.limit.into()
            || self.config.bytes.is_some_and(|limit| bytes > limit.bytes())
    }

    /// Makes room for a packet, or drops it. Returns the packet if it has room.
    #[cold]
    fn make_room(&mut self, now: Time, packet: Packet, out: &mut Decisions) -> Option<Packet> {
        while self.is_over() {
            let oldest = match self.config.head_drop {
                true => self.packets.pop_front(),
                false => None,
            };
            match oldest {
                Some(oldest) => {
                    let why = (Reason::Overlimit, State::None);
                    self.ledger.drop(now, oldest, why, None, out);
                }
                None => {
                    let why = (Reason::Full, State::None);
                    self.ledger.drop(now, packet, why, None, out);
                    return None;
                }
            }
        }
        Some(packet)
    }

    /// `dequeue` where packets expire, or are marked, by their time in the queue.
    #[inline(never)]
    fn dequeue_by_time(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        loop {
            let mut packet = self.packets.pop_front()?;
            let sojourn = packet.sojourn(now);
            if let Some(threshold) = self.config.time.filter(|limit| sojourn > *limit) {
                let state = State::Threshold { sojourn, threshold };
                let why = (Reason::Expired, state);
                self.ledger.drop(now, packet, why, None, out);
                continue;
            }
            let exceeded = self.config.ce_threshold.filter(|limit| sojourn > *limit);
            if let Some(threshold) = exceeded.filter(|_| packet.facts.ecn.is_capable()) {
                let state = State::Threshold { sojourn, threshold };
                let why = (Reason::Step, state);
                self.ledger.mark(now, &mut packet, why, None, out);
            }
            self.ledger.send(&packet);
            return Some(packet);
        }
    }
}

impl Discipline for Fifo {
    fn enqueue(&mut self, now: Time, mut packet: Packet, out: &mut Decisions) {
        self.ledger.offer(now, &mut packet);
        if self.is_over() {
            match self.make_room(now, packet, out) {
                Some(kept) => packet = kept,
                None => return,
            }
        }
        if let Some(mark) = self.config.mark {
            // The packet itself does not count for the threshold, as in the paper's queue of a switch.
            let waiting = self.ledger.backlog.packets - 1;
            if waiting > mark.into() && packet.facts.ecn.is_capable() {
                let why = (Reason::Step, State::None);
                self.ledger.mark(now, &mut packet, why, None, out);
            }
        }
        self.packets.push_back(packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        if self.watches_time {
            return self.dequeue_by_time(now, out);
        }
        let packet = self.packets.pop_front()?;
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
