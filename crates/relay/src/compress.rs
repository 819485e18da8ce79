//! Compresses packets while they would wait anyway, and restores them: adaptive packet compression (004 section 5.2).
//!
//! - **Ports:** 2. What comes in by port 0, plain, goes out by port 1 to the far node, compressed if it pays; what comes in by port 1
//!   goes out by port 0, restored if it was compressed.
//! - **Parameters:** `mode`, adaptive: or always, or never; `algorithm`, auto: `lz4`, `zstd`, `zstd-dictionary`, or for each flow what
//!   pays; `level`, 1, of zstd; `dictionary`, none: a file; `protocol`, 253; `cuttable`, true; `rate`, as told of the queue: B; `ratio`, learned: R; `cost`
//!   and `cost_per_byte`, learned: C; `flows`, 4096, that are learned of; `keepalive`, 250 ms: how often the far node is asked whether it is there, 0: never; `class`, 0: of the queueing discipline; `age`, 1 ms: how old
//!   facts may be.
//! - **Counters:** `packets` and `bytes`, without FCS, by port 0; `compressed`; `compressed_bytes`, of those before, and `saved_bytes`;
//!   `not_worth`: the wait was too short; `overload`: the processor was 10 ms behind; `incompressible`: they would not have become shorter, and `tried`, how many of those were tried;
//!   `untouched`, see [`encapsulation`]; `silent`: the far node did not answer; `asked`, and `answered`, whether it is there; for each algorithm how many it compressed; `evicted`, flows that others
//!   took the place of; `returned`, packets by port 1; `restored`, and `restored_bytes`, of those, restored;
//!   `mended`, ICMP errors that quoted a compressed packet, and now quote it as it was.
//! - **Drops:** packets from port 1: see [`Fault`].
//! - **Paper:** 004 section 5.2.
//!
//! A packet is compressed if W >= C - (1 - R) S / B: if the time that it would wait in the output queue, and what being shorter saves
//! on the link, are at least the time that compressing takes. S is the frame's size. W is what waits by the last fact, less what has left
//! since, and what this node has sent since: a fact is old by the time that it is read, and nobody else knows of the packets just sent.
//!
//! C and R are given, or learned for each flow and each of four classes of sizes, as means over some eight packets. A flow whose packets do
//! not become shorter is left in peace after three, and tried again after 64 packets, then 128, and so on up to 16,384. With `auto` the
//! algorithm is the one with the greatest saving (1 - R) S / B - max(0, C - W); each 512th packet has another one tried.
//!
//! Where work takes time, in a live world, C is measured by the world's stopwatch. Where it takes none, in simulated time, a `cost` that is
//! given passes: packets are compressed one after the other, and leave when that is done, in order.

mod config;
mod flows;
mod keepalive;

pub use config::{Choice, Config, Mode};

use crate::backlog::Backlog;
use crate::codec::{Algorithm, Codec, CodecError};
use crate::encapsulation::{
    self, Fault, Offsets, Untouched, encapsulate, is_marked, locate, repair_quote, restore,
};
use alloc::string::ToString;
use alloc::vec::Vec;
use flows::{Flows, Known};
use keepalive::{Keepalive, Message};
use node::ConfigError;
use node::event::Event;
use node::{Frame, Node, Out, Port, Properties, Rate, Statistics, Time};

/// The plain side.
const PLAIN: Port = Port(0);
/// Where the far node is.
const FAR: Port = Port(1);
/// Minimum number of bytes after the IP header that can become shorter.
const MIN_COMPRESSED_LEN: usize = encapsulation::MAX_HEADER_LEN + 16;

/// Maximum time that packets wait for a processor whose work takes simulated time; later ones are
/// not compressed.
const MAX_QUEUE_DELAY: Time = Time::from_ms(10);

/// The node. See the [module](self).
#[derive(Debug)]
pub struct Compress {
    config: Config,
    codec: Codec,
    flows: Flows,
    backlog: Backlog,
    keepalive: Keepalive,
    /// When the processor has done what it was given, in a world where work takes no time.
    busy_until: Time,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    packets: u64,
    bytes: u64,
    compressed: u64,
    compressed_bytes: u64,
    saved_bytes: u64,
    not_worth: u64,
    overload: u64,
    incompressible: u64,
    tried: u64,
    untouched: u64,
    silent: u64,
    by: [u64; Algorithm::ALL.len()],
    returned: u64,
    restored: u64,
    restored_bytes: u64,
    mended: u64,
}

/// What is to be done with a packet.
enum Plan {
    Compress(Algorithm),
    /// The wait is too short.
    NotWorth,
    /// It would not become shorter.
    Incompressible,
}

impl Compress {
    /// A new one, with the bytes of the `dictionary`; empty if there is none.
    ///
    /// # Errors
    /// For a value out of its range, or a dictionary that is none or has not been read.
    pub fn new(config: Config, dictionary: &[u8]) -> Result<Compress, ConfigError> {
        config.check()?;
        if config.dictionary.is_some() && dictionary.is_empty() {
            let reason = "the file is empty, or has not been read".into();
            let key = "dictionary";
            return Err(ConfigError { key, reason });
        }
        let codec = Codec::new(config.level, dictionary).map_err(|error| ConfigError {
            key: match error {
                CodecError::Level => "level",
                _ => "dictionary",
            },
            reason: error.to_string(),
        })?;
        Ok(Compress {
            codec,
            flows: Flows::new(config.flows),
            backlog: Backlog::of_class(config.class).with_rate(config.rate),
            keepalive: Keepalive::new(config.keepalive),
            config,
            busy_until: Time::ZERO,
            counts: Counts::default(),
        })
    }

    /// From the plain side: compresses, if it pays.
    fn outbound(&mut self, now: Time, mut frame: Frame, out: &mut Out) {
        self.counts.packets += 1;
        self.counts.bytes += frame.len() as u64;
        // The processor does one packet after the other, and a port keeps order.
        let start = now.max(self.busy_until);
        let mut done = start;
        if self.config.mode != Mode::Never {
            match eligible(&frame, &self.config) {
                None => self.counts.untouched += 1,
                Some(_) if start - now > MAX_QUEUE_DELAY => self.counts.overload += 1,
                Some(offsets) => done = self.compress(start, &mut frame, &offsets, out),
            }
        }
        self.backlog.send_at(now, done, frame.len());
        match done > now {
            true => out.send_at(FAR, done, frame),
            false => out.send(FAR, frame),
        }
    }

    /// Compresses a packet if it pays, and tells when that is done.
    fn compress(
        &mut self,
        start: Time,
        frame: &mut Frame,
        offsets: &Offsets,
        out: &mut Out,
    ) -> Time {
        let before = frame.len();
        let hash = packet::flow::hash(frame);
        let algorithm = match self.plan(start, hash, before) {
            Plan::Compress(algorithm) => algorithm,
            Plan::NotWorth => {
                self.counts.not_worth += 1;
                return start;
            }
            Plan::Incompressible => {
                self.counts.incompressible += 1;
                return start;
            }
        };
        let protocol = self.config.protocol;
        if let Some(number) = self.keepalive.question(start) {
            let asks = keepalive::packet(frame, offsets, protocol, Message::Question(number), out);
            out.send(FAR, asks);
        }
        if !self.keepalive.is_there(start) {
            self.counts.silent += 1;
            return start;
        }
        let began = out.stopwatch();
        let saved = encapsulate(frame, offsets, protocol, algorithm, &mut self.codec);
        let took = out
            .stopwatch()
            .zip(began)
            .map(|(ended, began)| ended - began);
        if let Some(took) = took {
            self.flows.learn_cost(algorithm, before, took);
        }
        let known = self.flows.known(hash, before);
        known.learn(algorithm, before, before - saved.unwrap_or(0), took);
        match saved {
            Some(saved) => {
                self.counts.compressed += 1;
                self.counts.compressed_bytes += before as u64;
                self.counts.saved_bytes += saved as u64;
                self.counts.by[algorithm as usize] += 1;
            }
            None => {
                self.counts.incompressible += 1;
                self.counts.tried += 1;
            }
        }
        match took {
            // The time has passed already.
            Some(_) => start,
            None => {
                self.busy_until = start + self.given_cost(before).unwrap_or_default();
                self.busy_until
            }
        }
    }

    /// C, if it was given.
    fn given_cost(&self, len: usize) -> Option<Time> {
        let base = self.config.cost?;
        Some(base + self.config.cost_per_byte * len as u64)
    }

    /// Decides.
    fn plan(&mut self, start: Time, hash: u32, len: usize) -> Plan {
        let all = match self.config.algorithm {
            Choice::One(algorithm) => &[algorithm][..],
            Choice::Auto if self.codec.dictionary().is_none() => &Algorithm::ALL[..2],
            Choice::Auto => &Algorithm::ALL,
        };
        if self.config.mode == Mode::Always && all.len() == 1 {
            return Plan::Compress(all[0]);
        }
        let (wait, rate) = match (self.backlog.wait(start), self.backlog.rate()) {
            (Some(wait), Some(rate)) => (wait, rate),
            // Nothing is known of the output: only what is done always is done.
            _ if self.config.mode == Mode::Always => (Time::MAX, Rate::TEN_GIGABIT),
            _ => return Plan::NotWorth,
        };
        let wait = match self.config.mode {
            Mode::Always => Time::MAX,
            _ => wait,
        };
        // S / B, in picoseconds.
        let whole = rate.time_of(8 * len as u64, 0).0.as_ps() as f64;
        let (given_ratio, given_cost) = (self.config.ratio, self.given_cost(len));
        let known = self.flows.known(hash, len);
        // What is saved, in picoseconds: W >= C - (1 - R) S / B holds if it is not below zero.
        let saving = |known: &Known, algorithm| {
            let ratio = given_ratio.unwrap_or_else(|| known.ratio(algorithm));
            let cost = given_cost.unwrap_or_else(|| known.cost(algorithm));
            (1.0 - ratio) * whole - (cost - wait).as_ps() as f64
        };
        let mut best = (all[0], saving(known, all[0]));
        for &algorithm in &all[1..] {
            let saving = saving(known, algorithm);
            if saving > best.1 {
                best = (algorithm, saving);
            }
        }
        if best.1 < 0.0 {
            return Plan::NotWorth;
        }
        if given_ratio.is_none() && known.is_quiet() {
            return Plan::Incompressible;
        }
        if all.len() > 1 && known.explores() {
            // The one that was tried last is the least known: they take turns.
            let at = all.iter().position(|&other| other == best.0).unwrap_or(0);
            let other = all[(at + 1 + usize::from(hash as u8 & 1)) % all.len()];
            let cost = given_cost.unwrap_or_else(|| known.cost(other));
            if (cost - wait).as_ps() as f64 <= whole {
                return Plan::Compress(other);
            }
        }
        Plan::Compress(best.0)
    }

    /// From the far side: restores.
    fn inbound(&mut self, mut frame: Frame, out: &mut Out) {
        self.counts.returned += 1;
        let offsets = match locate(&frame) {
            Ok(offsets)
                if offsets.protocol() == self.config.protocol && is_marked(&frame, &offsets) =>
            {
                offsets
            }
            Err(Untouched::Fragment(offsets))
                if offsets.protocol() == self.config.protocol && is_marked(&frame, &offsets) =>
            {
                out.drop(frame, Fault::Fragment.reason());
                return;
            }
            found => {
                if let Ok(offsets) = found
                    && repair_quote(&mut frame, &offsets, self.config.protocol)
                {
                    self.counts.mended += 1;
                }
                out.send(PLAIN, frame);
                return;
            }
        };
        match keepalive::read(offsets.bytes(&frame)) {
            Some(Message::Question(number)) => {
                let said = Message::Answer(number);
                let answer = keepalive::packet(&frame, &offsets, self.config.protocol, said, out);
                out.send(FAR, answer);
                return out.done(frame);
            }
            Some(Message::Answer(number)) => {
                return match self.keepalive.confirm(number) {
                    true => out.done(frame),
                    false => out.drop(frame, "an answer to no question"),
                };
            }
            None => {}
        }
        match restore(&mut frame, &offsets, &mut self.codec) {
            Ok(_) => {
                self.counts.restored += 1;
                self.counts.restored_bytes += frame.len() as u64;
                out.send(PLAIN, frame);
            }
            Err(fault) => out.drop(frame, fault.reason()),
        }
    }
}

/// Where the packet is that may be compressed, if the frame has any.
fn eligible(frame: &[u8], config: &Config) -> Option<Offsets> {
    let offsets = locate(frame).ok()?;
    let goes = offsets.len() >= MIN_COMPRESSED_LEN
        && offsets.protocol() != config.protocol
        && !offsets.stays()
        && (config.cuttable || !offsets.is_cuttable());
    goes.then_some(offsets)
}

impl Node for Compress {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: (self.config.mode == Mode::Adaptive).then_some(self.config.age),
            ..Properties::of(2)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            match port {
                PLAIN => self.outbound(now, frame, out),
                _ => self.inbound(frame, out),
            }
        }
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        if event.port == FAR {
            self.backlog.update(event);
        }
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        let counts = &self.counts;
        statistics.counter("packets", counts.packets);
        statistics.counter("bytes", counts.bytes);
        statistics.counter("compressed", counts.compressed);
        statistics.counter("compressed_bytes", counts.compressed_bytes);
        statistics.counter("saved_bytes", counts.saved_bytes);
        statistics.counter("not_worth", counts.not_worth);
        statistics.counter("overload", counts.overload);
        statistics.counter("incompressible", counts.incompressible);
        statistics.counter("tried", counts.tried);
        statistics.counter("untouched", counts.untouched);
        statistics.counter("silent", counts.silent);
        statistics.counter("asked", self.keepalive.asked);
        statistics.counter("answered", self.keepalive.answered);
        for (algorithm, count) in ["lz4", "zstd", "zstd_dictionary"].iter().zip(counts.by) {
            statistics.counter(algorithm, count);
        }
        statistics.counter("evicted", self.flows.evicted);
        statistics.counter("returned", counts.returned);
        statistics.counter("restored", counts.restored);
        statistics.counter("restored_bytes", counts.restored_bytes);
        statistics.counter("mended", counts.mended);
        statistics
    }
}
