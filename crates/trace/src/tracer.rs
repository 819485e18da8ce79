//! Traces the route to a target.
//!
//! - **Ports:** 1.
//! - **Parameters:** `target` and `source`, IP addresses of one version; `mac`, 02:00:00:00:00:01; `gateway`, none: the router to
//!   the target; without it the target is on the link. `protocol`, `udp`; or `tcp`, `icmp`. `algorithm`, `mda-lite`; or `mda`,
//!   `paris`: see [`discovery`](crate::discovery). `first_hop`, 1; `max_hops`, 30. `probes`, 3: to each interface in a round;
//!   `rounds`, 1. `attempts`, 2: how often a probe without an answer is sent while paths are looked for. `rate`, 20: maximum
//!   number of probes a second. `timeout`, 1 s. `alpha`, 0.05: probability of missing an interface after any of
//!   `branchings`, 1, branching points. `gap`, 5: silent hops in a row after which the search ends. `port`, 33434, with `tcp` 80. `identifier`, 0x5754;
//!   `start`, 1 us; `answers`, true: whether it answers for its source as the node `host` does.
//! - **Counters:** `sent`; `answered`; `lost`; `ignored`: answers that fit no outstanding probe; `hops`; `interfaces`; `links`;
//!   `per_packet`: hops after a load balancer that chooses packet by packet; `reached`, 1 when the target has answered;
//!   `incomplete`, 1 when a limit has cut the search short; `resolved`, 1 when the next hop's MAC address is known.
//! - **Tables:** `trace`: one line for each interface; `links`.
//!
//! Paths are looked for first; then each interface is probed again until it has had `probes` times `rounds` probes. A round trip is
//! from the departure of the probe's first bit to the arrival of the answer's.

mod config;
mod log;
mod outstanding;
mod statistics;
mod table;

pub use config::Config;
pub use log::Sent;
pub use statistics::InterfaceStats;

use crate::discovery::{Discovery, Plan, Probe};
use crate::graph::Graph;
use crate::probe::{Answer, Kind, Prober, Protocol};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::IpAddr;
use ip::header::{self, TCP};
use ip::icmp::Report;
use ip::{Interface, Received, discovery};
use log::Log;
use node::outcome::Table;
use node::{ConfigError, Frame, Node, Out, Port, Properties, Time};
use outstanding::{Outstanding, Waiting};
use packet::arp::Operation;
use packet::ethernet::ethertype;
use statistics::Results;

/// Time between two requests for the MAC address of the next hop.
const REQUEST_INTERVAL: Time = Time::from_secs(1);
/// Number of requests.
const MAX_REQUESTS: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Time of the next request for the next hop's MAC address, and the number of requests before it.
    Resolve(Time, u32),
    Trace,
    Over,
}

/// A probe to send, and how often it was sent before.
#[derive(Clone, Copy, Debug)]
struct Planned {
    probe: Probe,
    tries: u32,
    is_discovery: bool,
    /// Entry in the log of the attempt before.
    previous: Option<usize>,
}

/// The node. See the [module](self).
#[derive(Debug)]
pub struct Trace {
    config: Config,
    prober: Prober,
    discovery: Discovery,
    interface: Interface,
    next_hop: Option<[u8; 6]>,
    stage: Stage,
    /// The next probe may leave at this time.
    next_send: Time,
    /// Whether nothing can be sent before there are more results.
    is_idle: bool,
    outstanding: Outstanding,
    again: VecDeque<Planned>,
    results: Results,
    log: Log,
    scratch: Vec<u8>,
    sent: u64,
    answered: u64,
    lost: u64,
    ignored: u64,
    is_reached: bool,
}

impl Trace {
    /// A tracer that begins at `start`.
    ///
    /// # Errors
    /// For addresses of two versions, and for numbers out of range.
    pub fn new(config: Config) -> Result<Trace, ConfigError> {
        config.check()?;
        let interface = Interface::new(ip::Config {
            mac: config.mac.0,
            addresses: [config.source.into()].into(),
            udp_echo: false,
            ..ip::Config::default()
        });
        let default_port = match config.protocol {
            Protocol::Tcp => 80,
            Protocol::Udp | Protocol::Icmp => 33_434,
        };
        Ok(Trace {
            prober: Prober {
                source: config.source,
                target: config.target,
                protocol: config.protocol,
                identifier: config.identifier,
                port: config.port.unwrap_or(default_port),
            },
            discovery: Discovery::new(Plan {
                algorithm: config.algorithm,
                first: config.first_hop,
                last: config.max_hops,
                alpha: config.share(),
                phi: 2,
                gap: config.gap,
            }),
            interface,
            next_hop: None,
            stage: Stage::Resolve(config.start, 0),
            next_send: config.start,
            is_idle: false,
            outstanding: Outstanding::default(),
            again: VecDeque::new(),
            results: Results::default(),
            log: Log::default(),
            scratch: Vec::new(),
            sent: 0,
            answered: 0,
            lost: 0,
            ignored: 0,
            is_reached: false,
            config,
        })
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Interfaces and links found so far.
    pub fn graph(&self) -> &Graph {
        self.discovery.graph()
    }

    /// The search, with its limits.
    pub fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// Results of an interface: a vertex of the hop of a TTL, by its index.
    pub fn interface_stats(&self, ttl: u8, vertex: usize) -> InterfaceStats {
        self.results.of(ttl, vertex)
    }

    /// Keeps each probe and its answer for archives, at most `limit`; call it before the first probe.
    pub fn keep_log(&mut self, limit: usize) {
        self.log = Log::new(limit);
    }

    /// The probes that were kept, in the order of departure.
    pub fn log(&self) -> &[Sent] {
        self.log.entries()
    }

    /// Number of probes beyond the log's limit.
    pub fn left_out(&self) -> u64 {
        self.log.left_out()
    }

    /// Builds its probes.
    pub fn prober(&self) -> &Prober {
        &self.prober
    }

    /// Number of probes sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Number of answers that fit no outstanding probe.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Whether the next hop's MAC address is known.
    pub fn is_resolved(&self) -> bool {
        self.next_hop.is_some()
    }

    /// Whether the target has answered.
    pub fn is_reached(&self) -> bool {
        self.is_reached
    }

    /// Whether no probe is left to send or outstanding.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// The last probe really left at `at`.
    pub fn departed(&mut self, at: Time) {
        let entry = self.outstanding.departed(at);
        self.log.departed(entry, at);
    }

    fn hop_address(&self) -> IpAddr {
        self.config.gateway.unwrap_or(self.config.target)
    }

    fn resolve(&mut self, now: Time, asked: u32, out: &mut Out) {
        if asked >= MAX_REQUESTS {
            self.stage = Stage::Over;
            return;
        }
        self.scratch.clear();
        let hop = self.hop_address();
        let source = self.config.source;
        discovery::request(self.config.mac.0, source, hop, None, &mut self.scratch);
        let mut frame = out.frame();
        frame.extend(&self.scratch);
        out.send(Port(0), frame);
        self.stage = Stage::Resolve(now + REQUEST_INTERVAL, asked + 1);
    }

    /// The next probe to send, if there is one now.
    fn plan(&mut self) -> Option<Planned> {
        if self.outstanding.is_full() {
            return None;
        }
        if let Some(planned) = self.again.pop_front() {
            return Some(planned);
        }
        if let Some(probe) = self.discovery.poll_probe() {
            return Some(Planned {
                probe,
                tries: 0,
                is_discovery: true,
                previous: None,
            });
        }
        if !self.discovery.is_over() {
            return None;
        }
        let goal = u64::from(self.config.probes) * u64::from(self.config.rounds);
        let probe = self.results.next(self.discovery.graph(), goal)?;
        Some(Planned {
            probe,
            tries: 0,
            is_discovery: false,
            previous: None,
        })
    }

    fn send(&mut self, now: Time, out: &mut Out) {
        let Some(planned) = self.plan() else {
            self.is_idle = true;
            let is_done = self.discovery.is_over() && self.outstanding.is_empty();
            if is_done && self.again.is_empty() {
                self.stage = Stage::Over;
            }
            return;
        };
        let number = self.outstanding.add(Waiting {
            probe: planned.probe,
            tries: planned.tries + 1,
            is_discovery: planned.is_discovery,
            entry: None,
            departed: now,
            deadline: now + self.config.timeout,
        });
        let entry = self.log.add(
            (planned.probe, planned.is_discovery),
            (planned.tries, planned.previous),
            number,
            now,
        );
        self.outstanding.logged(entry);
        let mut frame = out.frame();
        let Probe { ttl, flow, .. } = planned.probe;
        self.prober.build(flow, ttl, number, &mut frame);
        frame[..6].copy_from_slice(&self.next_hop.unwrap_or_default());
        frame[6..12].copy_from_slice(&self.config.mac.0);
        out.send_at(Port(0), now, frame);
        self.sent += 1;
        self.next_send = now + self.config.interval();
    }

    fn expire(&mut self, now: Time) {
        while let Some(waiting) = self.outstanding.expired(now) {
            self.is_idle = false;
            self.lost += 1;
            let Waiting {
                probe,
                tries,
                entry,
                ..
            } = waiting;
            if !waiting.is_discovery {
                let vertex = self.results.expected(self.discovery.graph(), probe);
                self.results.lost(probe.ttl, vertex, 1);
                self.log.result(entry, vertex, None);
            } else if tries < self.config.attempts {
                self.again.push_back(Planned {
                    probe,
                    tries,
                    is_discovery: true,
                    previous: entry,
                });
            } else {
                self.discovery.handle_timeout(probe);
                let vertex = self.results.expected(self.discovery.graph(), probe);
                self.results.lost(probe.ttl, vertex, tries);
                self.log.result(entry, vertex, None);
            }
        }
    }

    /// Takes an answer, unless it fits no outstanding probe.
    fn answer(&mut self, answer: &Answer, arrived: Time) {
        let by_number = self.outstanding.take(answer.number, answer.flow);
        let found = by_number.or_else(|| {
            let second = answer.second_number?;
            self.outstanding.take(second, answer.flow)
        });
        let Some(waiting) = found else {
            self.ignored += 1;
            return;
        };
        self.is_idle = false;
        self.answered += 1;
        self.is_reached |= answer.kind == Kind::Target;
        let Waiting { probe, tries, .. } = waiting;
        if waiting.is_discovery {
            let is_end = answer.kind != Kind::TimeExceeded;
            self.discovery.handle_answer(probe, answer.from, is_end);
        }
        let graph = self.discovery.graph();
        let hop = graph.hop(probe.ttl);
        let found = hop.and_then(|hop| {
            let mut all = hop.vertices.iter();
            all.position(|one| one.address == Some(answer.from))
        });
        if !waiting.is_discovery && found != self.results.expected(graph, probe) {
            self.discovery.saw_other_path(probe.ttl);
        }
        let rtt = arrived - waiting.departed;
        self.results.lost(probe.ttl, found, tries - 1);
        self.results.answered(probe.ttl, found, rtt, answer);
        let logged = Some((arrived, *answer));
        self.log.result(waiting.entry, found, logged);
    }

    /// The MAC address of the next hop, if a frame shows it.
    fn hear_next_hop(&self, frame: &[u8]) -> Option<[u8; 6]> {
        let kind = u16::from_be_bytes([*frame.get(12)?, *frame.get(13)?]);
        let hop = self.hop_address();
        if kind == ethertype::ARP {
            let arp = discovery::read_arp(frame)?;
            let ours = arp.operation == Operation::Reply && IpAddr::V4(arp.sender) == hop;
            return ours.then_some(arp.sender_mac.0);
        }
        let packet = header::read(frame).filter(|packet| header::is_valid(frame, packet))?;
        match discovery::Message::read(frame, &packet)? {
            discovery::Message::Advertisement { target, mac, .. } if IpAddr::V6(target) == hop => {
                // Without the option the sender is the one.
                mac.or_else(|| frame.get(6..12)?.try_into().ok())
            }
            _ => None,
        }
    }

    fn frame(&mut self, now: Time, frame: Frame, out: &mut Out) {
        let for_us = frame.first_chunk::<6>();
        if !for_us.is_some_and(|to| *to == self.config.mac.0 || to[0] & 1 == 1) {
            return out.done(frame);
        }
        if let (None, Some(mac)) = (self.next_hop, self.hear_next_hop(&frame)) {
            self.next_hop = Some(mac);
            if matches!(self.stage, Stage::Resolve(..)) {
                self.stage = Stage::Trace;
                self.next_send = self.next_send.max(now);
            }
        }
        if !self.config.answers {
            if let Some(packet) = header::read(&frame)
                && packet.destination == self.config.source
                && header::is_valid(&frame, &packet)
            {
                self.packet(&frame, &packet);
            }
            return out.done(frame);
        }
        match self.interface.handle_frame(now, frame, out) {
            Received::Packet(frame, packet) => {
                self.packet(&frame, &packet);
                // A connection that the target has accepted is reset.
                match packet.protocol == TCP {
                    true => self.interface.unclaimed(now, frame, &packet, out),
                    false => out.done(frame),
                }
            }
            Received::Other(frame) => out.done(frame),
            Received::Consumed => {}
        }
    }

    fn packet(&mut self, frame: &Frame, packet: &header::Packet) {
        match self.prober.read(frame, packet) {
            Some(answer) => self.answer(&answer, frame.arrived()),
            None => self.ignored += u64::from(Report::read(frame, packet).is_some()),
        }
    }
}

impl Node for Trace {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.interface.poll_transmit(now, out);
        match self.stage {
            Stage::Resolve(at, asked) if at <= now => self.resolve(now, asked, out),
            Stage::Trace => {
                self.expire(now);
                if self.next_send <= now && !self.is_idle {
                    self.send(now, out);
                }
            }
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let next = match self.stage {
            Stage::Resolve(at, _) => Some(at),
            Stage::Trace => {
                let send = (!self.is_idle).then_some(self.next_send);
                send.into_iter().chain(self.outstanding.deadline()).min()
            }
            Stage::Over => None,
        };
        next.into_iter().chain(self.interface.poll_timeout()).min()
    }

    fn statistics(&self) -> node::Statistics {
        let graph = self.discovery.graph();
        let (mut hops, mut interfaces, mut links, mut per_packet) = (0, 0, 0, 0);
        for (ttl, hop) in graph.hops() {
            hops += 1;
            let answer = hop.vertices.iter().filter(|one| one.address.is_some());
            interfaces += answer.count() as u64;
            links += graph.links(ttl).len() as u64;
            per_packet += u64::from(hop.per_packet);
        }
        node::Statistics::from([
            ("sent", self.sent),
            ("answered", self.answered),
            ("lost", self.lost),
            ("ignored", self.ignored),
            ("hops", hops),
            ("interfaces", interfaces),
            ("links", links),
            ("per_packet", per_packet),
            ("reached", self.is_reached.into()),
            ("incomplete", self.discovery.is_incomplete().into()),
            ("resolved", self.is_resolved().into()),
        ])
    }

    fn tables(&self, _: Time) -> Vec<Table> {
        table::tables(self)
    }
}
