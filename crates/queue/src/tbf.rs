//! Token bucket filter: a shaper with a burst, and with a second bucket for the peak rate.
//!
//! - **Parameters:** `rate`; `burst`, bytes that may leave at once; `limit`, 1 MB, or `child`, any
//!   discipline; `peakrate`, none, with `mtu`, 1514 bytes, as its burst.
//! - **Reasons:** `too long`, for a packet that a bucket never covers; those of the child, `full`
//!   without one.
//!
//! Tokens are exact: a packet leaves in the first picosecond in which both buckets cover it. Over
//! every time `t` no more than `rate * t + burst` leaves.
//!
//! # Differences
//! Linux (`net/sched/sch_tbf.c`) counts tokens in nanoseconds at the rate, with a rounded multiplier,
//! and cuts packets that are too long where they are chains of segments. ns-3 (`TbfQueueDisc`)
//! rounds tokens to whole bytes at each packet, and lets a packet that is too long wait forever.
//! Linux takes the packet from the child when it looks at it, as here.

use crate::child::Child;
use crate::decision::{Backlog, Decisions, Reason, State};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use crate::segment::Segment;
use crate::tokens::{Bucket, tokens_of};
use crate::{Config as Any, fifo};
use alloc::boxed::Box;
use alloc::vec::Vec;
use node::{ConfigError, Rate, Size, Time};

/// Parameters of a token bucket filter.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Config {
    /// Rate of the tokens, bits a second, of packets as their length counts.
    pub rate: Rate,
    /// Bytes that may leave at once, at least 1.
    pub burst: Size,
    /// Bytes that may wait, where there is no `child`. Default 1 MB.
    #[cfg_attr(feature = "serde", serde(default = "limit"))]
    pub limit: Size,
    /// Rate that no burst exceeds. Default none.
    #[cfg_attr(feature = "serde", serde(default))]
    pub peakrate: Option<Rate>,
    /// Bytes that may leave at once at the peak rate: at least the longest packet. Default 1514.
    #[cfg_attr(feature = "serde", serde(default = "mtu"))]
    pub mtu: Size,
    /// Discipline of the packets that wait. Default a FIFO of `limit` bytes.
    #[cfg_attr(feature = "serde", serde(default))]
    pub child: Option<Box<Any>>,
}

fn limit() -> Size {
    Size::from_bytes(1_000_000)
}

fn mtu() -> Size {
    Size::from_bytes(1514)
}

impl Config {
    /// A rate and a burst; all else by default.
    pub fn new(rate: Rate, burst: Size) -> Config {
        Config {
            rate,
            burst,
            limit: limit(),
            peakrate: None,
            mtu: mtu(),
            child: None,
        }
    }
}

/// A FIFO that is limited in bytes alone.
pub(crate) fn bytes_fifo(limit: Size) -> Any {
    Any::Fifo(fifo::Config {
        limit: u32::MAX,
        bytes: Some(limit),
        ..fifo::Config::default()
    })
}

/// A token bucket filter.
#[derive(Debug)]
pub struct Tbf {
    bucket: Bucket,
    peak: Option<Bucket>,
    child: Child,
    ledger: Ledger,
}

impl Tbf {
    /// An empty queue, and full buckets.
    ///
    /// # Errors
    /// For a value out of its range, here or in the child.
    pub fn new(config: &Config, seed: u64) -> Result<Tbf, ConfigError> {
        for (key, size) in [("burst", config.burst), ("mtu", config.mtu)] {
            if size.bytes() == 0 {
                return Err(ConfigError::new(key, "a bucket holds at least 1 byte"));
            }
        }
        if config.peakrate.is_some_and(|peak| peak <= config.rate) {
            let reason = "the peak rate is above the rate";
            return Err(ConfigError::new("peakrate", reason));
        }
        let fifo = bytes_fifo(config.limit);
        let child = config.child.as_deref().unwrap_or(&fifo);
        Ok(Tbf {
            bucket: Bucket::new(config.rate, config.burst.bytes()),
            peak: config
                .peakrate
                .map(|rate| Bucket::new(rate, config.mtu.bytes())),
            child: Child::new(child, seed, None)?,
            ledger: Ledger::default(),
        })
    }

    /// When both buckets cover a packet.
    fn time_of(&self, now: Time, len: u32) -> Time {
        let peak = self.peak.as_ref().map(|peak| peak.time_of(now, len));
        self.bucket.time_of(now, len).max(peak.unwrap_or(now))
    }
}

impl Discipline for Tbf {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Decisions) {
        self.enqueue_segment(now, packet, None, out);
    }

    fn reads_segments(&self) -> bool {
        self.child.reads_segments()
    }

    fn enqueue_segment(
        &mut self,
        now: Time,
        mut packet: Packet,
        segment: Option<&Segment>,
        out: &mut Decisions,
    ) {
        self.ledger.offer(now, &mut packet);
        let mut buckets = [Some(&self.bucket), self.peak.as_ref()]
            .into_iter()
            .flatten();
        if let Some(bucket) = buckets.find(|bucket| !bucket.can_hold(packet.len)) {
            let state = State::Tokens {
                tokens: bucket.tokens(now),
                needed: tokens_of(packet.len.into()),
            };
            let why = (Reason::TooLong, state);
            return self.ledger.drop(now, packet, why, None, out);
        }
        self.child
            .enqueue(now, packet, segment, &mut self.ledger, out);
    }

    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        let len = self.child.peek(now, &mut self.ledger, out)?.len;
        if self.time_of(now, len) > now {
            return None;
        }
        self.bucket.take(now, len);
        if let Some(peak) = &mut self.peak {
            peak.take(now, len);
        }
        let packet = self.child.take()?;
        self.ledger.send(&packet);
        Some(packet)
    }

    fn next_time(&self, now: Time) -> Option<Time> {
        match self.child.held() {
            Some(packet) => Some(self.time_of(now, packet.len)),
            None => self.child.next_time(now),
        }
    }

    fn classes_of(&self, packet: &Packet, path: &mut Vec<u32>) {
        self.child.classes_of(packet, path);
    }

    fn shares_queue(&self, a: &Packet, b: &Packet, depth: u32) -> bool {
        self.child.shares_queue(a, b, depth)
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog
    }

    fn counters(&self) -> Counters {
        self.ledger.counters
    }
}
