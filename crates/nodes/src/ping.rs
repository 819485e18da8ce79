//! Asks "are you there?" and measures how long the answer takes: ICMP echo over IPv4 and IPv6, ARP, neighbour
//! discovery.
//!
//! - **Ports:** 1.
//! - **Parameters:** `target` and `source`, IP addresses of one version; `mac`, 02:00:00:00:00:01: its own;
//!   `method`, `echo`, or `neighbour`: ARP or a neighbour solicitation; `gateway`, none: whose MAC address leads
//!   to the target; `destination`, none: that MAC address, which else is asked for first; `count`, none: how many
//!   probes; `interval`, 1 s, between departures, 0: the next when the last was answered, or 10 ms later; `size`,
//!   56: bytes behind the ICMP header; `mtu`, 1500: the longest IP packet, above which a probe leaves in fragments; `ttl`, 64; `identifier`, 0x5750; `timeout`, 1 s: an answer that takes
//!   longer is late; `start`, 1 us; `answers`, true: whether it answers for its source as the
//!   node `host` does.
//! - **Counters:** `sent`; `answered`, late ones too; `lost`: so far not answered; `late`; `duplicates`;
//!   `unreachable`: told so by somebody on the way; `resolved`, 1 when the next hop's MAC address is known;
//!   `rtt_min_ps`, `rtt_mean_ps`, `rtt_median_ps`, `rtt_p99_ps`, `rtt_max_ps`, `rtt_sd_ps`, `rtt_jitter_ps`.
//!
//! A round trip is from the departure of the request's first bit to the arrival of the answer's. The departure
//! is the one asked for, exact where the world is; one that has measured it says so by
//! [`departed`](Ping::departed). The answer to ARP or to neighbour discovery does not say which request it is for: it is
//! taken to be for the last that had left when it came and had no answer.

mod message;
mod statistics;

pub use statistics::Statistics;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::IpAddr;
use ip::fragments::{self, Fragment, Reassembly};
use ip::{Interface, Received};
use message::{Messages, Reply};
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Time};
use packet::ethernet::Mac;

/// Probes that an answer is still known of; sequence numbers have 16 bits.
const WINDOW: usize = 1 << 15;
/// How long an answer is waited for before the next probe, with an interval of 0.
const FLOOD: Time = Time::from_ms(10);
/// Between two questions for the MAC address of the next hop.
const ASK_AGAIN: Time = Time::from_secs(1);
/// How often it is asked for.
const QUESTIONS: u32 = 5;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Method {
    /// ICMP or ICMPv6 echo.
    #[default]
    Echo,
    /// ARP or neighbour solicitation.
    Neighbour,
}

/// What a pinger is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Who is asked.
    pub target: IpAddr,
    /// Who asks.
    pub source: IpAddr,
    /// Its own MAC address.
    pub mac: Mac,
    /// What is asked.
    pub method: Method,
    /// Whose MAC address leads to the target; `None`: its own.
    pub gateway: Option<IpAddr>,
    /// The MAC address of the next hop; `None`: it is asked for.
    pub destination: Option<Mac>,
    /// How many probes; `None`: without end.
    pub count: Option<u64>,
    /// Between departures; 0: as fast as answers come.
    pub interval: Time,
    /// Bytes behind the ICMP header.
    pub size: usize,
    /// The longest IP packet that leaves in one piece, in bytes.
    pub mtu: usize,
    /// Hops that a probe may take.
    pub ttl: u8,
    /// By which its answers are known.
    pub identifier: u16,
    /// An answer that takes longer is late.
    pub timeout: Time,
    /// When it begins.
    pub start: Time,
    /// Whether it answers for its source address.
    pub answers: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            target: [198, 18, 0, 2].into(),
            source: [198, 18, 0, 1].into(),
            mac: Mac([2, 0, 0, 0, 0, 1]),
            method: Method::Echo,
            gateway: None,
            destination: None,
            count: None,
            interval: Time::from_secs(1),
            size: 56,
            mtu: 1500,
            ttl: 64,
            identifier: 0x5750,
            timeout: Time::from_secs(1),
            start: Time::from_us(1),
            answers: true,
        }
    }
}

/// An answer that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The probe's number, from 0.
    pub number: u64,
    /// When its first bit left.
    pub departed: Time,
    /// When the first bit of the answer arrived.
    pub arrived: Time,
    /// The hops that the answer might still have taken; 0 for ARP.
    pub hop_limit: u8,
    /// Bytes of the answer's frame.
    pub bytes: usize,
    /// Whether the probe was answered before.
    pub duplicate: bool,
    /// Whether it took longer than the timeout.
    pub late: bool,
}

impl Answer {
    pub fn rtt(&self) -> Time {
        self.arrived - self.departed
    }
}

/// A probe that may be answered.
#[derive(Clone, Copy, Debug)]
struct Probe {
    departed: Time,
    answered: bool,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Ask for the next hop's address at this time, so many times having been asked.
    Resolve(Time, u32),
    /// Send a probe at this time.
    Send(Time),
    /// Wait for answers until then.
    Wait(Time),
    /// Nothing.
    Over,
}

pub struct Ping {
    config: Config,
    messages: Messages,
    interface: Option<Interface>,
    next_hop: Option<[u8; 6]>,
    stage: Stage,
    sent: u64,
    probes: VecDeque<Probe>,
    scratch: Vec<u8>,
    last: Option<Answer>,
    unreachable: u64,
    statistics: Statistics,
    reassembly: Reassembly,
}

impl Ping {
    /// A pinger.
    ///
    /// # Errors
    /// For addresses of two versions, or a size that does not fit into a packet.
    pub fn new(config: Config) -> Result<Ping, ConfigError> {
        let messages = Messages::new(&config)?;
        let interface = config.answers.then(|| {
            Interface::new(ip::Config {
                mac: config.mac.0,
                addresses: [config.source.into()].into(),
                udp_echo: false,
                mtu: config.mtu,
                // The machine may have the address too, with ports of its own.
                refuses: false,
                ..ip::Config::default()
            })
        });
        let resolves = config.method == Method::Echo && config.destination.is_none();
        Ok(Ping {
            messages,
            interface,
            next_hop: config.destination.map(|mac| mac.0),
            stage: match resolves {
                true => Stage::Resolve(config.start, 0),
                false => Stage::Send(config.start),
            },
            sent: 0,
            probes: VecDeque::new(),
            scratch: Vec::new(),
            last: None,
            unreachable: 0,
            statistics: Statistics::default(),
            reassembly: Reassembly::default(),
            config,
        })
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Probes that were answered by a message that the target is not to be reached.
    pub fn unreachable(&self) -> u64 {
        self.unreachable
    }

    /// Whether the next hop is known, or need not be.
    pub fn is_resolved(&self) -> bool {
        self.next_hop.is_some() || self.config.method == Method::Neighbour
    }

    /// The answer that the last call brought.
    pub fn take_answer(&mut self) -> Option<Answer> {
        self.last.take()
    }

    /// Whether nothing is left to be done or waited for.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// The last probe really left at `at`.
    pub fn departed(&mut self, at: Time) {
        if let Some(probe) = self.probes.back_mut() {
            probe.departed = at;
        }
    }

    fn resolve(&mut self, now: Time, asked: u32, out: &mut Out) {
        if asked >= QUESTIONS {
            self.stage = Stage::Over;
            return;
        }
        self.scratch.clear();
        self.messages.question(&mut self.scratch);
        let mut frame = out.frame();
        frame.extend(&self.scratch);
        out.send(Port(0), frame);
        self.stage = Stage::Resolve(now + ASK_AGAIN, asked + 1);
    }

    fn probe(&mut self, at: Time, out: &mut Out) {
        self.scratch.clear();
        let to = self.next_hop.unwrap_or_default();
        self.messages.probe(self.sent as u16, to, &mut self.scratch);
        let mut frame = out.frame();
        frame.extend(&self.scratch);
        let mut first = true;
        fragments::cut(
            frame,
            self.config.mtu,
            self.sent as u32,
            out,
            |frame, out| match core::mem::take(&mut first) {
                true => out.send_at(Port(0), at, frame),
                false => out.send(Port(0), frame),
            },
        );
        self.sent += 1;
        if self.probes.len() == WINDOW {
            self.probes.pop_front();
        }
        self.probes.push_back(Probe {
            departed: at,
            answered: false,
        });
        self.stage = match self.config.count {
            Some(count) if self.sent >= count => Stage::Wait(at + self.config.timeout),
            _ if self.config.interval == Time::ZERO => Stage::Send(at + FLOOD),
            _ => Stage::Send(at + self.config.interval),
        };
    }

    /// An answer to the probe with these low bits of its number; `None`: to the last that had left when it came and had no answer, as
    /// an answer that took longer than the interval was taken for one to the probe behind.
    fn answered(&mut self, now: Time, sequence: Option<u16>, frame: &Frame, hop_limit: u8) {
        let Some(newest) = self.sent.checked_sub(1) else {
            return;
        };
        let back = match sequence {
            Some(sequence) => usize::from((newest as u16).wrapping_sub(sequence)),
            None => {
                let came = frame.arrived();
                let later = |probe: &&Probe| probe.departed > came;
                let last = self.probes.iter().rev().take_while(later).count();
                let waits =
                    |probe: &Probe| !probe.answered && came - probe.departed <= self.config.timeout;
                let open = self.probes.iter().rev().skip(last).position(waits);
                last + open.unwrap_or(0)
            }
        };
        let Some(place) = self.probes.len().checked_sub(back + 1) else {
            return;
        };
        let Some(probe) = self.probes.get_mut(place) else {
            return;
        };
        let mut answer = Answer {
            number: newest - back as u64,
            departed: probe.departed,
            arrived: frame.arrived(),
            hop_limit,
            bytes: frame.len(),
            duplicate: probe.answered,
            late: false,
        };
        answer.late = answer.rtt() > self.config.timeout;
        probe.answered = true;
        self.statistics.count(&answer);
        self.last = Some(answer);
        match self.stage {
            Stage::Send(_) if self.config.interval == Time::ZERO && back == 0 => {
                self.stage = Stage::Send(now);
            }
            Stage::Wait(_) if self.statistics.answered >= self.sent => self.stage = Stage::Over,
            _ => {}
        }
    }

    fn frame(&mut self, now: Time, frame: Frame, out: &mut Out) {
        let own = frame.first_chunk() == Some(&self.config.mac.0);
        let fragment = Fragment::read(&frame)
            .filter(|fragment| own && fragment.destination() == self.config.source);
        let whole = match fragment {
            Some(fragment) => self.reassembly.take(now, fragment, frame, out),
            None => Some(frame),
        };
        let Some(frame) = whole else { return };
        match self.messages.parse(&frame) {
            Reply::NextHop(mac) if self.next_hop.is_none() => {
                self.next_hop = Some(mac);
                if matches!(self.stage, Stage::Resolve(..)) {
                    self.stage = Stage::Send(now);
                }
            }
            Reply::Answer(sequence, hop_limit) => {
                self.answered(now, sequence, &frame, hop_limit);
            }
            Reply::Unreachable => self.unreachable += 1,
            _ => {
                if let Some(interface) = &mut self.interface {
                    match interface.handle_frame(now, frame, out) {
                        Received::Packet(frame, _) | Received::Other(frame) => out.done(frame),
                        Received::Consumed => {}
                    }
                    return;
                }
            }
        }
        out.done(frame);
    }
}

impl Node for Ping {
    fn properties(&self) -> Properties {
        let is_endless = self.config.count.is_none();
        Properties {
            endless: is_endless.then_some("asks without `count`"),
            ..Properties::of(1)
        }
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.reassembly.wake(now, out, |_, _| {});
        match self.stage {
            Stage::Resolve(at, asked) if at <= now => self.resolve(now, asked, out),
            Stage::Send(at) if at <= now => self.probe(at.max(now), out),
            Stage::Wait(at) if at <= now => self.stage = Stage::Over,
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let next = match self.stage {
            Stage::Resolve(at, _) | Stage::Send(at) | Stage::Wait(at) => Some(at),
            // A fragment that waits is for no probe any more.
            Stage::Over => return None,
        };
        next.into_iter().chain(self.reassembly.next_wake()).min()
    }

    fn statistics(&self) -> node::Statistics {
        let mut counts = node::Statistics::default();
        let statistics = &self.statistics;
        counts.counter("sent", self.sent);
        counts.counter("answered", statistics.answered);
        counts.counter("lost", self.sent - statistics.answered);
        counts.counter("late", statistics.late);
        counts.counter("duplicates", statistics.duplicates);
        counts.counter("unreachable", self.unreachable);
        counts.counter("resolved", u64::from(self.is_resolved()));
        counts.counter("rtt_min_ps", statistics.rtt.min());
        counts.counter("rtt_mean_ps", statistics.mean() as u64);
        counts.counter("rtt_median_ps", statistics.rtt.value_at(1, 2));
        counts.counter("rtt_p99_ps", statistics.rtt.value_at(99, 100));
        counts.counter("rtt_max_ps", statistics.rtt.max());
        counts.counter("rtt_sd_ps", statistics.sd() as u64);
        counts.counter("rtt_jitter_ps", statistics.jitter() as u64);
        counts
    }
}
