//! A policer: drops what exceeds a rate and a burst when it arrives, and delays nothing by itself.
//!
//! - **Parameters:** `rate`; `burst`, bytes; `child`, default a FIFO of 1000 packets.
//! - **Reasons:** `policed`; those of the child.
//!
//! tc's `police` is an action of a filter, not a discipline. Here it stands in front of a queue,
//! its `child`. It has one rate and two colours: the meter of RFC 2697 with an excess burst of 0.
//! Tokens are exact, as in [`tbf`](crate::tbf); Linux (`net/sched/act_police.c`) counts them in
//! nanoseconds at the rate.

use crate::Config as Any;
use crate::child::Child;
use crate::decision::{Backlog, Decisions, Reason, State};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use crate::segment::Segment;
use crate::tokens::{Bucket, tokens_of};
use alloc::boxed::Box;
use alloc::vec::Vec;
use node::{ConfigError, Rate, Size, Time};

/// Parameters of a policer.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Config {
    /// Rate of the tokens, bits a second, of packets as their length counts.
    pub rate: Rate,
    /// Bytes that may arrive at once, at least 1.
    pub burst: Size,
    /// Discipline of the packets that conform. Default a FIFO of 1000 packets.
    #[cfg_attr(feature = "serde", serde(default))]
    pub child: Option<Box<Any>>,
}

/// A policer and the queue after it.
#[derive(Debug)]
pub struct Policer {
    bucket: Bucket,
    child: Child,
    ledger: Ledger,
}

impl Policer {
    /// An empty queue, and a full bucket.
    ///
    /// # Errors
    /// For a value out of its range, here or in the child.
    pub fn new(config: &Config, seed: u64) -> Result<Policer, ConfigError> {
        if config.burst.bytes() == 0 {
            return Err(ConfigError::new("burst", "a bucket holds at least 1 byte"));
        }
        let fifo = Any::default();
        let child = config.child.as_deref().unwrap_or(&fifo);
        Ok(Policer {
            bucket: Bucket::new(config.rate, config.burst.bytes()),
            child: Child::new(child, seed, None)?,
            ledger: Ledger::default(),
        })
    }
}

impl Discipline for Policer {
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
        let tokens = self.bucket.tokens(now);
        let needed = tokens_of(packet.len.into());
        if tokens < needed {
            let why = (Reason::Policed, State::Tokens { tokens, needed });
            return self.ledger.drop(now, packet, why, None, out);
        }
        self.bucket.take(now, packet.len);
        self.child
            .enqueue(now, packet, segment, &mut self.ledger, out);
    }

    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        self.child.peek(now, &mut self.ledger, out)?;
        let packet = self.child.take()?;
        self.ledger.send(&packet);
        Some(packet)
    }

    fn next_time(&self, now: Time) -> Option<Time> {
        self.child.next_time(now)
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
