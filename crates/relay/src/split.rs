//! Splits TCP connections in two while a queue is long (004 section 3.2, after its reference 38): a proxy that neither end sees.
//!
//! - **Ports:** 2; what comes in by one goes out by the other.
//! - **Parameters:** `match`, every TCP connection: [rules](crate::rule), of which one must match its first segment; `bound`, 10 ms: a connection is split when
//!   the wait in one of the two output queues is at least that when its first segment comes; with 0 all are; `connections`, 1024: so many are split at once; `buffer`, 262,144 bytes
//!   in each direction of each half; `congestion`, `cubic`, `reno`, `bbr` or `none` (`dctcp` needs ECN); `mtu`, 1500; `timeout`, 60 s: after how long without a sign of an end it
//!   is given up; `idle`, 7440 s (RFC 5382): how long nothing need be said; `class`, 0: the class of the queueing discipline; `age`, 1 ms: how old
//!   may be what is known of the queues; `seed`.
//! - **Counters:** `packets`; `bytes`, without FCS; `split`: connections; `shortened`: times that one's segments were too long for the way; `unsplit`: those that were not, as the wait was short; `no_room`: those for which there was none;
//!   `open`: split ones at the end; `refused`: whose far end did not take them; `reset`: ended by a reset, or given up; `forth`, `back`: bytes passed on.
//! - **Drops:** `broken segment`; `old segment`: its timestamp says that others have come since it left (PAWS); `an error about no segment`: an ICMP error that is about none which is under way; `waits for the far end`: a first segment that came once more meanwhile.
//!
//! A short round trip makes TCP quick: to grow, and to recover from a loss. So each half has a congestion control and a memory of what may be
//! lost of its own, and a bounded buffer between them: what one end does not take is not acknowledged to the other for longer than
//! that, as its window closes. The node speaks to each end with the other's address. It first opens the connection to the far end, and
//! answers the near one when that has taken it. A half that ends, ends half of the other one; a reset resets it.
//!
//! A router's word that a segment was too long is for this node, which sends shorter ones from then on (RFC 1191, RFC 8201). An error about a first segment that has no answer yet goes on to
//! the near end, with the number of that end's own. Options of TCP but the segment size, the window's scale, selective acknowledgements and timestamps end here, as does ECN: each half is without. Timestamps (RFC 7323) a half has
//! if its end offers them; the far half only if the near end does, whose clock it shows on.
//!
//! A connection keeps its way for its life: what was not split when it began passes untouched, and so does all that is not TCP. An end
//! that acknowledges does so to this node: what the node has taken, and the far end has not, is lost if the node is.

mod errors;
mod pair;

use crate::backlog::Backlog;
use crate::rule::{Headers, Rule};
use crate::table::Table;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use errors::Error;
use hosts::endpoint::{Congestion, Ecn, SocketOptions, Stack};
use node::ConfigError;
use node::Statistics;
use node::event::Event;
use node::{Frame, Node, Out, Port, Properties, Time};
use packet::ethernet::EthernetView;
use packet::flow::FiveTuple;
use packet::ip::IpView;
use pair::Pair;

/// Maximum number of connections that can be split at a time.
pub const MAX_CONNECTIONS: usize = 16_384;
const TCP: u8 = 6;
/// Among the flags of a segment.
const SYN: u8 = 0x02;
const SYN_ACK_RST_FIN: u8 = 0x17;
/// Maximum number of passed first segments that are remembered, and for how long: a retransmission
/// already has its way.
const REMEMBERED: (usize, Time) = (65_536, Time::from_secs(120));

/// Configuration of the node.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Which connections may be split; empty: all.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub matching: Vec<Rule>,
    /// From which wait on they are; 0: always.
    pub bound: Time,
    /// How many at once, at most [`MAX_CONNECTIONS`].
    pub connections: usize,
    /// Bytes of each of the four buffers of a connection, 4,096 to 16 MiB.
    pub buffer: usize,
    /// What both halves do about congestion.
    pub congestion: Congestion,
    /// The longest packet that is sent, 1280 to 9000 bytes.
    pub mtu: usize,
    /// After how long without an answer an end is given up.
    pub timeout: Time,
    /// After how long without any segment a connection is given up.
    pub idle: Time,
    /// The class of the queueing discipline, see [`node::event::Queue::class`].
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::backlog::read_class")
    )]
    pub class: u32,
    /// How old facts may be.
    pub age: Time,
    /// Where initial sequence numbers come from.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            matching: Vec::new(),
            bound: Time::from_ms(10),
            connections: 1024,
            buffer: 262_144,
            congestion: Congestion::Cubic,
            mtu: 1500,
            timeout: Time::from_secs(60),
            idle: Time::from_secs(7440),
            class: 0,
            age: Time::from_ms(1),
            seed: 0,
        }
    }
}

/// The node. See the [module](self).
pub struct Split {
    config: Config,
    stack: Stack,
    backlogs: [Backlog; 2],
    /// By the place of each, which may be used again when it has ended.
    pairs: Vec<Option<Box<Pair>>>,
    free: Vec<usize>,
    /// By the tuple of what the near end sends.
    index: BTreeMap<FiveTuple, usize>,
    due: BTreeSet<(Time, usize)>,
    unsplit: Table<()>,
    packets: u64,
    bytes: u64,
    count: Counts,
}

/// What became of connections.
#[derive(Default)]
struct Counts {
    split: u64,
    unsplit: u64,
    no_room: u64,
    shortened: u64,
    refused: u64,
    reset: u64,
    passed: [u64; 2],
}

impl Split {
    /// A new one.
    ///
    /// # Errors
    /// When a number is out of its range.
    pub fn new(config: Config) -> Result<Split, ConfigError> {
        let wrong = |key, reason| Err(ConfigError { key, reason });
        if config.connections > MAX_CONNECTIONS {
            return wrong("connections", format!("at most {MAX_CONNECTIONS}"));
        }
        if !(4096..=16 << 20).contains(&config.buffer) {
            return wrong("buffer", "from 4096 bytes to 16 MiB".into());
        }
        if !(1280..=9000).contains(&config.mtu) {
            return wrong("mtu", "from 1280 to 9000 bytes".into());
        }
        if config.congestion == Congestion::Dctcp {
            return wrong(
                "congestion",
                "dctcp needs ECN, which its halves do not have".into(),
            );
        }
        Ok(Split {
            stack: Stack::new(config.mtu, config.seed),
            backlogs: [Backlog::of_class(config.class); 2],
            pairs: Vec::new(),
            free: Vec::new(),
            index: BTreeMap::new(),
            due: BTreeSet::new(),
            unsplit: Table::new(REMEMBERED.0, REMEMBERED.1),
            config,
            packets: 0,
            bytes: 0,
            count: Counts::default(),
        })
    }

    fn options(&self) -> SocketOptions {
        SocketOptions {
            buffer: self.config.buffer,
            congestion: self.config.congestion,
            timeout: Some(self.config.timeout),
            ecn: Ecn::Off,
            ..SocketOptions::default()
        }
    }

    /// Whether a connection that begins now is to be split.
    fn pays(&self, now: Time) -> bool {
        let mut waits = self.backlogs.iter().filter_map(|backlog| backlog.wait(now));
        self.config.bound == Time::ZERO || waits.any(|wait| wait >= self.config.bound)
    }

    /// The first segment of a connection that is none yet; `false` when it is to pass.
    fn begin(
        &mut self,
        now: Time,
        port: Port,
        tuple: FiveTuple,
        frame: &Frame,
        out: &mut Out,
    ) -> bool {
        if self.unsplit.get(now, &tuple).is_some() {
            return false;
        }
        let room = self.index.len() < self.config.connections;
        let split = self.pays(now) && room;
        if !split {
            self.count.unsplit += u64::from(room);
            self.count.no_room += u64::from(!room);
            self.unsplit.put(now, tuple, ());
            return false;
        }
        let options = self.options();
        let Some(pair) = Pair::begin(&mut self.stack, now, port, tuple, frame, options) else {
            self.unsplit.put(now, tuple, ());
            return false;
        };
        self.count.split += 1;
        let pair = Some(Box::new(pair));
        let offsets = match self.free.pop() {
            Some(offsets) => {
                self.pairs[offsets] = pair;
                offsets
            }
            None => {
                self.pairs.push(pair);
                self.pairs.len() - 1
            }
        };
        self.index.insert(tuple, offsets);
        self.attend(now, offsets, out);
        true
    }

    /// Does what is to be done for a connection, notes when it is due again, and forgets it when it is over.
    fn attend(&mut self, now: Time, offsets: usize, out: &mut Out) {
        let Some(pair) = self.pairs[offsets].as_ref() else {
            return;
        };
        self.due.remove(&(pair.due, offsets));
        let options = self.options();
        let Some(pair) = self.pairs[offsets].as_mut() else {
            return;
        };
        let passed = pair.drive(&mut self.stack, now, options, &mut self.backlogs, out);
        for (sum, bytes) in self.count.passed.iter_mut().zip(passed) {
            *sum += bytes as u64;
        }
        if pair.is_over() {
            return self.forget(offsets);
        }
        pair.due = pair.due.min(pair.heard + self.config.idle);
        self.due.insert((pair.due, offsets));
    }

    fn forget(&mut self, offsets: usize) {
        if let Some(pair) = self.pairs[offsets].take() {
            self.due.remove(&(pair.due, offsets));
            self.index.remove(&pair.tuple);
            self.count.refused += u64::from(pair.is_refused());
            self.count.reset += u64::from(pair.is_reset());
            self.free.push(offsets);
        }
    }

    /// A packet that is no segment; `Some` when it is to pass.
    fn other(&mut self, now: Time, mut frame: Frame, out: &mut Out) -> Option<Frame> {
        if self.index.is_empty() {
            return Some(frame);
        }
        let Some(error) = Error::read(&frame) else {
            return Some(frame);
        };
        let (to_far, tuple) = match self.index.contains_key(&error.tuple) {
            true => (true, error.tuple),
            false => (false, reverse(&error.tuple)),
        };
        let Some(&offsets) = self.index.get(&tuple) else {
            return Some(frame);
        };
        let pair = self.pairs[offsets].as_mut()?;
        let number = pair.unanswered().filter(|_| to_far);
        match (error.mtu, number) {
            (Some(mtu), _) if pair.too_big(to_far, error.sequence, mtu) => {
                self.count.shortened += 1;
                self.attend(now, offsets, out);
                out.done(frame);
                None
            }
            (None, Some(number)) => {
                error.quote(&mut frame, number);
                Some(frame)
            }
            // About nothing that is under way: of no use to an end that has not sent it.
            _ => {
                out.drop(frame, "an error about no segment");
                None
            }
        }
    }

    /// The connection of a segment, and whether the near end sent it.
    fn find(&self, port: Port, tuple: &FiveTuple) -> Option<(usize, bool)> {
        if let Some(offsets) = self.index.get(tuple) {
            let pair = self.pairs[*offsets].as_ref()?;
            return (pair.near == port).then_some((*offsets, true));
        }
        let offsets = *self.index.get(&reverse(tuple))?;
        let pair = self.pairs[offsets].as_ref()?;
        (pair.near != port).then_some((offsets, false))
    }

    /// A segment; `Some` when it is to pass.
    fn segment(
        &mut self,
        now: Time,
        port: Port,
        headers: Headers,
        flags: u8,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let tuple = headers.tuple;
        let first = flags & SYN_ACK_RST_FIN == SYN;
        let mut found = self.find(port, &tuple);
        if let Some((offsets, true)) = found
            && first
            && self.pairs[offsets]
                .as_ref()
                .is_some_and(|pair| pair.is_resting())
        {
            // The same ports for a new connection.
            self.forget(offsets);
            found = None;
        }
        let Some((offsets, from_near)) = found else {
            let matching = &self.config.matching;
            let meant = matching.is_empty() || matching.iter().any(|rule| rule.matches(&headers));
            if first && meant && self.begin(now, port, tuple, &frame, out) {
                out.done(frame);
                return None;
            }
            return Some(frame);
        };
        let pair = self.pairs[offsets].as_mut()?;
        pair.heard = now;
        match pair.segment(
            &mut self.stack,
            now,
            from_near,
            &frame,
            &mut self.backlogs,
            out,
        ) {
            Ok(()) => {
                self.attend(now, offsets, out);
                out.done(frame);
            }
            Err(reason) => out.drop(frame, reason),
        }
        None
    }
}

/// Of what goes the other way.
fn reverse(tuple: &FiveTuple) -> FiveTuple {
    FiveTuple {
        source: tuple.destination,
        destination: tuple.source,
        protocol: tuple.protocol,
        source_port: tuple.destination_port,
        destination_port: tuple.source_port,
    }
}

/// The flags of the segment in an untagged frame that is not a fragment.
fn flags_of(frame: &[u8]) -> Option<u8> {
    let ethernet = EthernetView::new(frame).ok()?;
    let ip = IpView::new_any_length(ethernet.ethertype(), ethernet.payload()).ok()?;
    ip.payload()
        .get(13)
        .copied()
        .filter(|_| ip.protocol() == TCP)
}

impl Node for Split {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: Some(self.config.age),
            ..Properties::of(2)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.packets += 1;
            self.bytes += frame.len() as u64;
            let headers = Headers::read(&frame).filter(|headers| {
                let ports = (headers.tuple.source_port, headers.tuple.destination_port);
                headers.tuple.protocol == TCP && ports.0 != 0 && ports.1 != 0
            });
            let passes = match (headers, flags_of(&frame)) {
                (Some(headers), Some(flags)) => self.segment(now, port, headers, flags, frame, out),
                _ => self.other(now, frame, out),
            };
            if let Some(frame) = passes {
                let leaves = Port(1 - port.0);
                self.backlogs[leaves.index()].send(now, frame.len());
                out.send(leaves, frame);
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        while let Some(&(due, offsets)) = self.due.first()
            && due <= now
        {
            let idle = self.config.idle;
            if let Some(pair) = self.pairs[offsets].as_mut()
                && now >= pair.heard + idle
            {
                pair.abort();
            }
            self.attend(now, offsets, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.due
            .first()
            .map(|(due, _)| *due)
            .filter(|due| *due < Time::MAX)
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        if let Some(backlog) = self.backlogs.get_mut(event.port.index()) {
            backlog.update(event);
        }
    }

    fn statistics(&self) -> Statistics {
        let count = &self.count;
        let mut statistics = Statistics::from([
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("split", count.split),
            ("unsplit", count.unsplit),
            ("no_room", count.no_room),
            ("shortened", count.shortened),
            ("open", self.index.len() as u64),
            ("refused", count.refused),
            ("reset", count.reset),
            ("forth", count.passed[0]),
            ("back", count.passed[1]),
        ]);
        for pair in self.pairs.iter().flatten() {
            pair.flows(&mut |flow| statistics.flows.push(flow));
        }
        statistics
    }
}
