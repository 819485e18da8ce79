//! A line whose rate changes over time: a cell's schedule, a trace, an outage.
//!
//! - **Parameters:** `rates`, pairs of a time and the rate from then on, the first at 0; `repeat`, none: the time after which they
//!   begin again; `child`, any discipline, a FIFO of 1000 packets.
//! - **Reasons:** those of the child.
//!
//! A packet is taken out of the child when the line is free, and leaves when its last bit has been sent: the integral of the rate, exactly, rounded up
//! to a picosecond. So the discipline stands for a line of its own, and the link behind it is to be fast. An outage is a rate of 1 b/s.
//!
//! # Differences
//! Mahimahi's traces (Netravali and others, 2015) are times at which 1500 bytes may leave. Of such a trace the rate in each millisecond is the number of its lines times
//! 12 Mb/s: here a packet leaves within the millisecond, and not at its beginning.

use crate::Config as Any;
use crate::child::Child;
use crate::decision::{Backlog, Decisions};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use crate::segment::Segment;
use alloc::boxed::Box;
use alloc::vec::Vec;
use node::{ConfigError, Rate, Time};

/// Picoseconds in a second.
const SECOND: u128 = 1_000_000_000_000;

/// Parameters of a line whose rate changes.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Config {
    /// Rates, each from a time on: the first from 0, in order of time.
    pub rates: Vec<(Time, Rate)>,
    /// Time after which they begin again. Default never.
    #[cfg_attr(feature = "serde", serde(default))]
    pub repeat: Option<Time>,
    /// Discipline of the packets that wait. Default a FIFO of 1000 packets.
    #[cfg_attr(feature = "serde", serde(default))]
    pub child: Option<Box<Any>>,
}

/// A line whose rate changes.
#[derive(Debug)]
pub struct Varying {
    rates: Vec<(Time, Rate)>,
    repeat: Option<Time>,
    /// Units of a whole repetition: bits a second times picoseconds.
    cycle: u128,
    child: Child,
    /// When the packet that the child holds for the line has been sent.
    finish: Time,
    ledger: Ledger,
}

impl Varying {
    /// An idle line.
    ///
    /// # Errors
    /// For rates that are not in order of time from 0 on, a repetition before the last of them, and errors of the child.
    pub fn new(config: &Config, seed: u64) -> Result<Varying, ConfigError> {
        let rates = &config.rates;
        let starts_at_zero = rates.first().is_some_and(|(at, _)| *at == Time::ZERO);
        if !starts_at_zero || !rates.is_sorted_by(|(a, _), (b, _)| a < b) {
            let reason =
                "rates are pairs of a time and a rate, in order of time; the first time is 0";
            return Err(ConfigError::new("rates", reason));
        }
        let last = rates.last().map_or(Time::ZERO, |(at, _)| *at);
        if config.repeat.is_some_and(|repeat| repeat <= last) {
            let reason = "the rates begin again after the time of the last";
            return Err(ConfigError::new("repeat", reason));
        }
        let fifo = Any::default();
        let child = config.child.as_deref().unwrap_or(&fifo);
        let mut line = Varying {
            rates: rates.clone(),
            repeat: config.repeat,
            cycle: 0,
            child: Child::new(child, seed, None)?,
            finish: Time::ZERO,
            ledger: Ledger::default(),
        };
        if config.repeat.is_some() {
            line.cycle = (0..rates.len()).filter_map(|n| line.units(n)).sum();
        }
        Ok(line)
    }

    /// End of a stretch of constant rate, within a repetition.
    fn end(&self, index: usize) -> Option<Time> {
        match self.rates.get(index + 1) {
            Some((at, _)) => Some(*at),
            None => self.repeat,
        }
    }

    /// Units that a stretch can carry; `None` without an end.
    fn units(&self, index: usize) -> Option<u128> {
        let (at, rate) = self.rates[index];
        let length = self.end(index)? - at;
        Some(u128::from(rate.bits_per_second()) * u128::from(length.as_ps()))
    }

    /// When `len` bytes have been sent that begin at `from`.
    fn finish(&self, from: Time, len: u32) -> Time {
        let mut left = 8 * u128::from(len) * SECOND;
        let mut passed = from.as_ps();
        let mut at = match self.repeat {
            Some(repeat) => from.as_ps() % repeat.as_ps(),
            None => from.as_ps(),
        };
        loop {
            let index = self.rates.partition_point(|(start, _)| start.as_ps() <= at) - 1;
            let rate = u128::from(self.rates[index].1.bits_per_second());
            let until = self.end(index).map(|end| end.as_ps() - at);
            let fits = until.is_none_or(|until| rate * u128::from(until) >= left);
            let Some(until) = until.filter(|_| !fits) else {
                let ps = left.div_ceil(rate);
                return Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX).saturating_add(passed));
            };
            left -= rate * u128::from(until);
            (at, passed) = (at + until, passed.saturating_add(until));
            if let Some(repeat) = self.repeat.filter(|repeat| at >= repeat.as_ps()) {
                at = 0;
                // Whole repetitions that do not suffice; each has some units, as every rate is above 0.
                let whole = (left - 1) / self.cycle;
                left -= whole * self.cycle;
                let ps = whole.saturating_mul(repeat.as_ps().into());
                passed = passed.saturating_add(u64::try_from(ps).unwrap_or(u64::MAX));
            }
            if passed == u64::MAX {
                return Time::MAX;
            }
        }
    }

    /// Gives the line the next packet, if it has none.
    fn start(&mut self, now: Time, out: &mut Decisions) {
        if self.child.held().is_some() {
            return;
        }
        if let Some(packet) = self.child.peek(now, &mut self.ledger, out) {
            let len = packet.len;
            self.finish = self.finish(now, len);
        }
    }
}

impl Discipline for Varying {
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
        self.child
            .enqueue(now, packet, segment, &mut self.ledger, out);
        self.start(now, out);
    }

    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        self.start(now, out);
        if self.child.held().is_none() || self.finish > now {
            return None;
        }
        let packet = self.child.take()?;
        self.ledger.send(&packet);
        let from = out.len();
        self.start(now, out);
        // The packet leaves in this call.
        self.child.count(&packet, &mut out[from..]);
        Some(packet)
    }

    fn next_time(&self, now: Time) -> Option<Time> {
        match self.child.held() {
            Some(_) => Some(self.finish.max(now)),
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
