//! Many switches that do nothing but ask: how fast is a controller?
//!
//! Each switch has stations, which it makes known first. After that it tells the controller of packets between them: in
//! latency mode the next one when the last is answered, in throughput mode as many as the channel takes. An answer
//! is a flow-mod or a packet-out that takes the packet along, by its buffer or by its bytes; each packet counts once,
//! so that a controller gains nothing by answering twice.
//!
//! - **Ports:** 1, a control channel, on which it opens as many connections as it has switches.
//! - **Counters:** `packet_ins`; `answers`; `repeated`: answers to what was answered before, or never asked; `lost`: packets without an
//!   answer for a second, in latency mode.
//! - **Paper:** 003 section 3.8.1 and table 3.3.

mod fairness;
mod station;
#[cfg(test)]
mod tests;

pub use fairness::{Fairness, Summary};

use crate::channel::{Channels, Event, Peer, Settings};
use crate::fault::Fault;
use crate::handshake::Handshake;
use crate::message::{
    Answer, Config as SwitchConfig, Description, ErrorMessage, Features, Message, MultipartReply,
    Query, capabilities, decode,
};
use crate::version::Version;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use alloc::vec::Vec;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use station::{Outstanding, Template, answered, descriptions};

const PORT: Port = Port(0);
/// Bytes that are kept on their way to the controller, in throughput mode: as the original has it.
const AHEAD: usize = 64 << 10;
/// Time after which a packet counts as lost in latency mode.
const LOST: Time = Time::from_secs(1);
/// Interval between two checks for lost packets.
const LOSS_CHECK_INTERVAL: Time = Time::from_ms(50);
/// Timeout until all switches are ready.
const READY_TIMEOUT: Time = Time::from_secs(20);
/// Time that a controller of 1.3 has to request a switch's ports, once it knows its features: not
/// all do.
const GRACE: Time = Time::from_secs(1);
/// Time that the stations' own packets may go without an answer.
const SETTLING: Time = Time::from_secs(2);

/// How packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One at a time from each switch.
    Latency,
    /// As many as the channel takes.
    Throughput,
}

/// What a benchmark is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The version that the switches speak.
    pub version: Version,
    /// How packets are sent.
    pub mode: Mode,
    /// Switches, 1 to 4096.
    pub switches: u32,
    /// Stations of each switch, 1 to 16,777,215.
    pub macs: u32,
    /// Rounds that are not counted.
    pub warmup: u32,
    /// Rounds that are.
    pub loops: u32,
    /// How long a round is.
    pub round: Time,
    /// The number of the first switch.
    pub first_datapath: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            version: Version::V10,
            mode: Mode::Latency,
            switches: 16,
            macs: 100,
            warmup: 1,
            loops: 16,
            round: Time::from_secs(1),
            first_datapath: 1,
        }
    }
}

/// A round that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Its number, from 0 on; those that are not counted have their own.
    pub number: u32,
    /// Whether it is not counted.
    pub warmup: bool,
    /// How long it was.
    pub length: Time,
    /// Answers, by switch.
    pub answers: Vec<u64>,
}

/// What the benchmark tells while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All switches are connected and known, and their stations have spoken.
    Ready(Time),
    /// A round is over.
    Round(Round),
    /// That was the last one.
    Finished,
    /// It cannot go on.
    Failed(String),
}

/// Who is told.
pub type ProgressSink = dyn FnMut(Progress) + Send;

/// Where the benchmark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Switches connect.
    Connecting,
    /// Stations make themselves known, since then.
    Settling(Time),
    /// A round, since then.
    Round(u32, Time),
    Over,
}

struct Switch {
    peer: Option<Peer>,
    version: Option<Version>,
    ready: bool,
    /// When it has said what it is.
    introduced: Option<Time>,
    asked: Outstanding,
    /// The station that sends next.
    next: u32,
    /// Answers in this round.
    answers: u64,
    /// In latency mode: when the packet was sent that is not answered.
    since: Option<Time>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    packet_ins: u64,
    answers: u64,
    repeated: u64,
    lost: u64,
}

/// A benchmark as a node.
pub struct Cbench {
    config: Config,
    channels: Channels,
    handshake: Handshake,
    template: Template,
    switches: Vec<Switch>,
    /// The switch of a connection, by [`Peer::index`].
    by_peer: Vec<usize>,
    phase: Phase,
    due: Time,
    now: Time,
    counters: Counters,
    tell: Box<ProgressSink>,
}

impl Cbench {
    /// One that begins as soon as it is woken.
    pub fn new(config: Config, tell: Box<ProgressSink>) -> Cbench {
        let config = Config {
            switches: config.switches.clamp(1, 4096),
            macs: config.macs.clamp(1, (1 << 24) - 1),
            round: config.round.max(Time::from_ms(1)),
            ..config
        };
        let channels = Channels::new(Settings {
            connections: config.switches as usize,
            hold: usize::MAX,
            ..Settings::default()
        });
        let switch = |_| Switch {
            peer: None,
            version: None,
            ready: false,
            introduced: None,
            asked: Outstanding::new(),
            next: 0,
            answers: 0,
            since: None,
        };
        Cbench {
            channels,
            handshake: Handshake::new(&[config.version]),
            template: Template::new(config.version),
            switches: (0..config.switches).map(switch).collect(),
            by_peer: Vec::new(),
            phase: Phase::Connecting,
            due: Time::ZERO,
            now: Time::ZERO,
            counters: Counters::default(),
            tell,
            config,
        }
    }

    fn work(&mut self, mut batch: crate::channel::Batch, out: &mut Out) {
        while let Some(event) = batch.next(&mut self.channels) {
            match event {
                Event::Message(peer, bytes) => self.message(peer, bytes),
                Event::Opened(peer) => self.opened(peer),
                Event::Closed(peer, reason) => {
                    let begun = self.phase != Phase::Connecting;
                    if begun && self.phase != Phase::Over {
                        let index = self.by_peer.get(peer.index()).copied().unwrap_or(0);
                        self.fail(format!("switch {index}: {reason}"));
                    }
                }
            }
        }
        if matches!(self.phase, Phase::Settling(_) | Phase::Round(..)) {
            self.fill();
        }
        self.channels.finish(batch, out);
    }

    fn fail(&mut self, why: String) {
        self.phase = Phase::Over;
        (self.tell)(Progress::Failed(why));
    }

    fn opened(&mut self, peer: Peer) {
        let Some(index) = self.switches.iter().position(|one| one.peer.is_none()) else {
            return;
        };
        if self.by_peer.len() <= peer.index() {
            self.by_peer.resize(peer.index() + 1, 0);
        }
        self.by_peer[peer.index()] = index;
        self.switches[index].peer = Some(peer);
        if let Some(buffer) = self.channels.buffer(peer) {
            self.handshake.hello(0, buffer);
        }
    }

    fn message(&mut self, peer: Peer, bytes: &[u8]) {
        let Some(&index) = self.by_peer.get(peer.index()) else {
            return;
        };
        let switch = &mut self.switches[index];
        let Some(version) = switch.version else {
            return self.greeting(peer, index, bytes);
        };
        // Flow-mods and packet-outs, by far the most of all, are not read but for what they answer.
        if bytes[1] != 13 && bytes[1] != 14 {
            return self.request(peer, index, version, bytes);
        }
        let Some(id) = answered(version, bytes) else {
            return;
        };
        if !switch.asked.take(id) {
            self.counters.repeated += 1;
            return;
        }
        self.counters.answers += 1;
        switch.answers += 1;
        switch.since = None;
        if self.config.mode == Mode::Latency && matches!(self.phase, Phase::Round(..)) {
            self.ask(index);
        }
    }

    fn greeting(&mut self, peer: Peer, index: usize, bytes: &[u8]) {
        match self.handshake.receive(bytes) {
            Ok(Some((version, _))) => {
                self.switches[index].version = Some(version);
                self.channels.agreed(peer, version.wire());
            }
            Ok(None) => {}
            Err(failure) => self.fail(format!("switch {index}: {failure}")),
        }
    }

    /// What a controller wants to know of a switch before it deals with its packets.
    fn request(&mut self, peer: Peer, index: usize, version: Version, bytes: &[u8]) {
        let (header, message) = match decode(bytes) {
            Ok(read) => read,
            Err(wrong) => {
                let xid = wrong.header.map_or(0, |header| header.xid);
                return self.say(peer, version, xid, &wrong.message(version));
            }
        };
        let xid = header.xid;
        let ports = descriptions(index as u32);
        match message {
            Message::FeaturesRequest => {
                let features = Features {
                    datapath_id: self.config.first_datapath + index as u64,
                    n_buffers: 1 << 18,
                    n_tables: 1,
                    auxiliary_id: 0,
                    capabilities: capabilities::FLOW_STATS,
                    // Output, in 1.0.
                    actions: u32::from(version == Version::V10),
                    ports: match version {
                        Version::V10 => (&ports[..]).into(),
                        Version::V13 => crate::list::List::EMPTY,
                    },
                };
                self.say(peer, version, xid, &Message::FeaturesReply(features));
                let now = self.now;
                self.switches[index].introduced.get_or_insert(now);
                if version == Version::V10 {
                    self.switches[index].ready = true;
                }
            }
            Message::GetConfigRequest => {
                let config = SwitchConfig {
                    flags: 0,
                    miss_send_len: u16::MAX,
                };
                self.say(peer, version, xid, &Message::GetConfigReply(config));
            }
            Message::BarrierRequest => self.say(peer, version, xid, &Message::BarrierReply),
            Message::RoleRequest(role) => {
                self.say(peer, version, xid, &Message::RoleReply(role));
            }
            Message::MultipartRequest(request) => {
                let body = match request.body {
                    Query::Description => Answer::Description(Description::default()),
                    Query::PortDescription => {
                        self.switches[index].ready = true;
                        Answer::PortDescription((&ports[..]).into())
                    }
                    Query::Flow(_) => Answer::Flow(crate::list::List::EMPTY),
                    Query::Table => Answer::Table(crate::list::List::EMPTY),
                    Query::PortStats(_) => Answer::PortStats(crate::list::List::EMPTY),
                    _ => {
                        let fault = Fault::BadMultipart;
                        let quoted = &bytes[..bytes.len().min(crate::message::QUOTED)];
                        let error = ErrorMessage::new(version, fault, quoted);
                        return self.say(peer, version, xid, &Message::Error(error));
                    }
                };
                let reply = MultipartReply { more: false, body };
                self.say(peer, version, xid, &Message::MultipartReply(reply));
            }
            _ => {}
        }
    }

    fn say(&mut self, peer: Peer, version: Version, xid: u32, message: &Message<'_>) {
        if let Some(buffer) = self.channels.buffer(peer) {
            // What has no form in a version is not asked for in it.
            let _ = message.encode(version, xid, buffer);
        }
    }

    /// Tells of one more packet.
    fn ask(&mut self, index: usize) {
        let switch = &mut self.switches[index];
        let Some(peer) = switch.peer else { return };
        let Some(buffer) = self.channels.buffer(peer) else {
            return;
        };
        let from = switch.next;
        switch.next = (from + 1) % self.config.macs;
        let id = switch.asked.put();
        self.template
            .between(index as u32, from, self.config.macs, id, buffer);
        switch.since = Some(self.now);
        self.counters.packet_ins += 1;
    }

    /// Sends as far ahead as the mode allows.
    fn fill(&mut self) {
        let throughput = self.config.mode == Mode::Throughput;
        let settling = matches!(self.phase, Phase::Settling(_));
        for index in 0..self.switches.len() {
            let Some(peer) = self.switches[index].peer else {
                continue;
            };
            if settling {
                // Each station speaks once.
                while self.switches[index].next < self.config.macs
                    && self.channels.backlog(peer) < AHEAD
                {
                    let switch = &mut self.switches[index];
                    let id = switch.asked.put();
                    if let Some(buffer) = self.channels.buffer(peer) {
                        self.template.alone(index as u32, switch.next, id, buffer);
                    }
                    switch.next += 1;
                }
            } else if throughput {
                let ahead = self.channels.backlog(peer);
                let room = AHEAD.saturating_sub(ahead) / self.template.length();
                for _ in 0..room {
                    self.ask(index);
                }
            }
        }
    }

    fn settled(&self) -> bool {
        let all = |switch: &Switch| switch.next >= self.config.macs && switch.asked.open() == 0;
        self.switches.iter().all(all)
    }

    fn begin_round(&mut self, number: u32) {
        self.phase = Phase::Round(number, self.now);
        for index in 0..self.switches.len() {
            self.switches[index].answers = 0;
        }
    }

    /// Goes on when the time has come.
    fn advance(&mut self) {
        let now = self.now;
        match self.phase {
            Phase::Connecting => {
                let waited = |since: Option<Time>| since.is_some_and(|at| at + GRACE <= now);
                let known = |switch: &Switch| switch.ready || waited(switch.introduced);
                if self.switches.iter().all(known) {
                    self.phase = Phase::Settling(now);
                    self.due = now;
                } else if now >= READY_TIMEOUT {
                    let ready = self.switches.iter().filter(|switch| known(switch)).count();
                    let all = self.switches.len();
                    self.fail(format!(
                        "the controller has taken up {ready} of {all} switches within {READY_TIMEOUT}"
                    ));
                } else {
                    self.due = now + Time::from_ms(10);
                }
            }
            Phase::Settling(since) => {
                if self.settled() || now >= since + SETTLING {
                    (self.tell)(Progress::Ready(now));
                    self.switches.iter_mut().for_each(|switch| switch.next = 0);
                    self.begin_round(0);
                    if self.config.mode == Mode::Latency {
                        (0..self.switches.len()).for_each(|index| self.ask(index));
                    }
                    self.due = now + LOSS_CHECK_INTERVAL.min(self.config.round);
                } else {
                    self.due = now + Time::from_ms(10);
                }
            }
            Phase::Round(number, since) => {
                let end = since + self.config.round;
                if now < end {
                    self.ask_again();
                    self.due = end.min(now + LOSS_CHECK_INTERVAL);
                    return;
                }
                let warmup = number < self.config.warmup;
                let answers = self.switches.iter().map(|switch| switch.answers);
                let round = Round {
                    number: number - if warmup { 0 } else { self.config.warmup },
                    warmup,
                    length: now - since,
                    answers: answers.collect(),
                };
                (self.tell)(Progress::Round(round));
                if number + 1 < self.config.warmup + self.config.loops {
                    self.begin_round(number + 1);
                    self.due = now + LOSS_CHECK_INTERVAL.min(self.config.round);
                } else {
                    self.phase = Phase::Over;
                    (self.tell)(Progress::Finished);
                }
            }
            Phase::Over => {}
        }
    }

    /// In latency mode a switch whose packet was not answered sends another.
    fn ask_again(&mut self) {
        if self.config.mode != Mode::Latency {
            return;
        }
        for index in 0..self.switches.len() {
            let since = self.switches[index].since;
            if since.is_some_and(|since| since + LOST <= self.now) {
                self.counters.lost += 1;
                self.ask(index);
            }
        }
    }
}

impl Node for Cbench {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, _port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.now = self.now.max(now);
            let batch = self.channels.frame(self.now, PORT, frame);
            self.work(batch, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if self.now == Time::ZERO && self.due == Time::ZERO && self.by_peer.is_empty() {
            for id in 0..self.config.switches.min(crate::channel::MAX_DIALLED as u32) {
                self.channels.dial(PORT, id);
            }
        }
        self.now = self.now.max(now);
        let batch = self.channels.wake(self.now);
        if self.now >= self.due {
            self.advance();
        }
        self.work(batch, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let own = (self.phase != Phase::Over).then_some(self.due);
        own.into_iter().chain(self.channels.next_wake()).min()
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        let own = &self.counters;
        for (name, count) in [
            ("packet_ins", own.packet_ins),
            ("answers", own.answers),
            ("repeated", own.repeated),
            ("lost", own.lost),
        ] {
            statistics.counter(name, count);
        }
        statistics
    }
}
