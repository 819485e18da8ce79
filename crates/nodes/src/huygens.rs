//! Coded probes, after Huygens (Geng et al., NSDI 2018): a clock that is set by many probes, of which those count that did not wait.
//!
//! - **Ports:** `ports`: 1, or 2 in line: what is no probe for this clock goes from one to the other, as through the card of a host;
//!   port 0 speaks.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `pairs_sent`, `pairs_heard`: both probes came; `pairs_answered`, as a server; `pairs_kept`: of those whose stamps are known at both
//!   ends, whose gap was the same at both, and `pairs_dropped`, by the code; `points_late`: told in another order than they left;
//!   `stamps_old`: of a probe that came before the clock was corrected, but was handled after it;
//!   `windows`: that gave a line; `windows_empty`: too little was kept; `windows_overlapping`: stamps contradict each other, as no line has
//!   all points on their sides, and the window is left out;
//!   `steps`: times that the clock was set; `clients_forgotten`: more than a server remembers.
//! - **Drops:** `no coded probe`; why a probe cannot be read; `for another type of clock`.
//!
//! Two probes leave a small gap apart. If it is still the same when they come, neither has waited in a queue, or both as long; else the pair is
//! given up. The server answers each pair by one of its own. Every probe tells the stamps of earlier pairs, so that no third message
//! disturbs the gap; departures are asked of the [world](node::event::What::Departed). Over a window, the line with the
//! greatest margin between what the two directions say is how far the clock is ahead and by how much it is faster
//! (`fit`). The first line sets the clock; others steer it, so that the offset is made up for within the next window.
//!
//! With `peers` a clock runs free, and a line is found for each of them, window by window ([`Mesh`]). What the pairs of a whole network have found
//! is held against each other around loops by [`mesh`]: the paper's third idea, its network effect.

mod fit;
pub mod mesh;
mod talk;

use crate::clock::measured::{Measured, in_64_bits};
use crate::clock::station::{Attachment, NETWORK, Station};
use crate::clock::{self, Clock, Local};
use crate::endpoint::{Endpoint, Peer};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::num::NonZeroU32;
use fit::{Line, Window};
use measure::clock::{ClockReading, ClockReport, Mesh, MeshPair};
use node::ConfigError;
use node::event::{Event, What};
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, StampId, Statistics, Time};
use packet::ethernet::Mac;
use packet::huygens::{PORT, Probe, Role, Stamps};
use talk::{Crossing, Talk};

/// Clients that a server remembers.
const CLIENTS: usize = 256;
/// Minimum number of probe pairs in each direction from which a line is fitted.
const MIN_POINTS: u64 = 4;
/// Maximum rate by which a clock is steered, a fraction: 1000 ppm.
const MAX_STEERING: f64 = 1e-3;
/// Number of windows without an answer after which the server is unreachable.
const UNREACHABLE_LIMIT: u32 = 3;
/// Maximum number of windows of a clock in a mesh that are reported, and of lines.
const MAX_REPORTED: usize = 1 << 16;
/// Between two questions for the MAC address of one of several peers.
const ASK_AGAIN: Time = Time::from_secs(1);

/// Configuration of a clock.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// 1, or 2 in line.
    pub ports: u16,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its MAC address.
    pub mac: Mac,
    /// Whose time it wants; `None`: it has the time, and answers.
    pub server: Option<Ipv4Addr>,
    /// Against whom else it is measured, while it runs free: a clock of a mesh; one that asks nobody itself has none. `None`: of no mesh.
    pub peers: Option<Vec<Ipv4Addr>>,
    /// The router that leads to the server, if it is no neighbour.
    pub gateway: Option<Ipv4Addr>,
    /// Between the two probes of a pair: 0 to 1 ms.
    pub gap: Time,
    /// A pair whose gap came out otherwise by more than this is given up: at most the gap. Stamps of both ends are in it.
    pub epsilon: Time,
    /// Between pairs in the mean, random so that they do not keep step with something else: at least twice the gap.
    pub interval: Time,
    /// Over which a line is fitted: at least ten intervals.
    pub window: Time,
    /// When the first pair leaves.
    pub first: Time,
    /// Its own clock.
    pub clock: clock::Config,
    /// Whether it only measures, and is never set.
    pub free_running: bool,
    /// The clock is set again, not steered, by an offset beyond this; `None`: only by the first line.
    pub step_threshold: Option<Time>,
    /// Offsets before count for nothing but the trace.
    pub settle: Time,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ports: 1,
            address: Ipv4Addr::new(198, 18, 0, 1),
            mac: Mac([2, 0, 0, 0, 0, 1]),
            server: None,
            peers: None,
            gateway: None,
            gap: Time::from_us(10),
            epsilon: Time::from_ns(25),
            interval: Time::from_us(500),
            window: Time::from_secs(2),
            first: Time::from_us(1),
            clock: clock::Config::default(),
            free_running: false,
            step_threshold: Some(Time::from_ms(1)),
            settle: Time::ZERO,
            seed: 0,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), ConfigError> {
        let fault = |key, reason: &str| Err(ConfigError::new(key, reason));
        if self.gap == Time::ZERO || self.gap > Time::from_ms(1) {
            return fault("gap", "more than 0, and at most 1 ms");
        }
        if self.epsilon > self.gap {
            return fault("epsilon", "it is longer than `gap`");
        }
        if self.interval < self.gap * 2 || self.interval > Time::from_secs(60) {
            return fault("interval", "at least twice `gap`, and at most 60 s");
        }
        let peers = self.peers.as_deref().unwrap_or_default();
        if self.peers.is_some() && self.server.is_some() {
            return fault("peers", "a clock that is set by a `server` is in no mesh");
        }
        let twice = |(place, peer)| peers[..place].contains(peer) || *peer == self.address;
        if peers.iter().enumerate().any(twice) {
            return fault("peers", "others, each once");
        }
        if self.interval < self.gap * 2 * peers.len() as u64 {
            return fault("interval", "at least twice `gap` for each of `peers`");
        }
        if self.window < self.interval * 10 || self.window > Time::from_secs(3600) {
            return fault("window", "at least ten times `interval`, and at most 1 h");
        }
        self.attachment().check()
    }

    fn attachment(&self) -> Attachment {
        Attachment {
            ports: self.ports,
            mac: self.mac,
            address: self.address,
            server: self.server,
            gateway: self.gateway,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    pairs_sent: u64,
    pairs_heard: u64,
    pairs_answered: u64,
    pairs_kept: u64,
    pairs_dropped: u64,
    points_late: u64,
    stamps_old: u64,
    windows: u64,
    windows_empty: u64,
    windows_overlapping: u64,
    steps: u64,
    clients_forgotten: u64,
}

/// What the last line came to.
#[derive(Clone, Copy, Debug)]
struct Found {
    at: Time,
    /// Before its correction.
    offset: Local,
    /// What of it was left to be steered.
    left: Local,
    /// How far the truth may be from the offset, picoseconds.
    bound: u64,
    delay: f64,
}

/// Who is asked: the server, or a peer.
#[derive(Debug)]
struct Asked {
    whom: Ipv4Addr,
    talk: Talk,
    window: Window,
    /// Before, nobody is asked again who has its address.
    again: Time,
    /// Whether there was a line.
    found: bool,
}

/// A clock.
#[derive(Debug)]
pub struct Huygens {
    config: Config,
    station: Station,
    clock: Clock,
    /// The last pair that it sent, to whomever: not 0.
    number: u32,
    asked: Vec<Asked>,
    /// Whose turn is next.
    turn: usize,
    window_ends: Time,
    /// Windows since the last one in which the server was heard.
    unheard: u32,
    clients: Vec<(Peer, Talk)>,
    locked: bool,
    /// Before, it was set or steered otherwise.
    corrected: Time,
    /// How it is steered once an offset is made up for.
    evenly: f64,
    found: Option<Found>,
    mesh: Option<Box<Mesh>>,
    measured: Measured,
    counters: Counters,
    random: Random,
}

impl Asked {
    /// Pairs whose stamps are known at both ends now: one that went to the server, and one that came from there.
    fn take(&mut self, crossings: [Option<Crossing>; 2], epsilon: Time, counters: &mut Counters) {
        let [there, here] = crossings;
        for (crossing, own_left) in [(there, true), (here, false)] {
            let Some(crossing) = crossing else { continue };
            if u64::from(crossing.off()) > epsilon.as_ps() {
                counters.pairs_dropped += 1;
                continue;
            }
            counters.pairs_kept += 1;
            let Crossing { left, came } = crossing;
            let second = |stamps: Stamps| stamps.first + Local::from(stamps.gap);
            let probes = [(left.first, came.first), (second(left), second(came))];
            for (left, came) in probes {
                let taken = match own_left {
                    true => self.window.at_least(left, left - came),
                    false => self.window.at_most(came, came - left),
                };
                counters.points_late += u64::from(!taken);
            }
        }
    }

    /// The line of a window that is over, whose points may be so many picoseconds on their wrong side.
    fn close(&mut self, slack: f64, counters: &mut Counters) -> Option<Line> {
        let window = core::mem::take(&mut self.window);
        let enough = window.points.iter().all(|&points| points >= 2 * MIN_POINTS);
        let Some(line) = enough.then(|| window.line()).flatten() else {
            counters.windows_empty += 1;
            return None;
        };
        // Nothing bounds such a line: it would correct the clock by what is known to be wrong.
        if line.margin + slack < 0.0 {
            counters.windows_overlapping += 1;
            return None;
        }
        counters.windows += 1;
        self.found = true;
        Some(line)
    }
}

impl Huygens {
    /// A clock that has not asked anybody.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(config: Config) -> Result<Huygens, ConfigError> {
        config.check()?;
        let asked = config.server.iter();
        let asked = asked.chain(config.peers.iter().flatten());
        let asked = asked.map(|&whom| Asked {
            whom,
            talk: Talk::default(),
            window: Window::default(),
            again: Time::ZERO,
            found: false,
        });
        let mut station = Station::new(config.attachment(), PORT, config.first);
        if config.peers.iter().flatten().next().is_some() {
            station.next = Some(config.first);
        }
        let mesh = config.peers.as_ref().map(|_| {
            Box::new(Mesh {
                address: config.address,
                shown: Vec::new(),
                pairs: Vec::new(),
                left_out: 0,
            })
        });
        Ok(Huygens {
            station,
            clock: config.clock.make()?,
            number: 0,
            asked: asked.collect(),
            turn: 0,
            mesh,
            window_ends: config.first + config.window,
            unheard: 0,
            clients: Vec::new(),
            locked: false,
            corrected: Time::ZERO,
            evenly: 0.0,
            found: None,
            measured: Measured::default(),
            counters: Counters::default(),
            random: Random::new(config.seed),
            config,
        })
    }

    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        let none = "no coded probe";
        if let Some((peer, frame, place)) = self.station.take(now, port, frame, none, out) {
            match Probe::parse(&frame[place]) {
                Ok(probe) => self.probe(now, peer, frame, &probe, out),
                Err(error) => out.drop(frame, error.0),
            }
        }
    }

    fn probe(&mut self, now: Time, peer: Peer, frame: Frame, probe: &Probe, out: &mut Out) {
        if frame.arrived() < self.corrected {
            self.counters.stamps_old += 1;
            return out.done(frame);
        }
        let at = self.clock.read(frame.arrived());
        match probe.role {
            Role::Client => {
                out.done(frame);
                let client = self.client(peer);
                if self.clients[client].1.arrived(probe, at) {
                    self.counters.pairs_heard += 1;
                    self.counters.pairs_answered += 1;
                    let pair = self.next_pair();
                    let (peer, talk) = &mut self.clients[client];
                    talk.begin(pair);
                    send_pair(
                        &mut self.station.endpoint,
                        self.config.gap,
                        now,
                        *peer,
                        talk,
                        Role::Server,
                        out,
                    );
                }
            }
            Role::Server => {
                let known = |asked: &&mut Asked| asked.whom == peer.address;
                let Some(asked) = self.asked.iter_mut().find(known) else {
                    return out.drop(frame, "for another type of clock");
                };
                out.done(frame);
                self.unheard = 0;
                let crossings = asked.talk.crossings(probe);
                let whole = asked.talk.arrived(probe, at);
                let (epsilon, counters) = (self.config.epsilon, &mut self.counters);
                counters.pairs_heard += u64::from(whole);
                asked.take(crossings, epsilon, counters);
            }
        }
    }

    /// The place of a client among those that are known; the one that was heard first makes room.
    fn client(&mut self, peer: Peer) -> usize {
        let same = |known: &Peer| known.address == peer.address && known.port == peer.port;
        let known = self.clients.iter().position(|(known, _)| same(known));
        if let Some(known) = known {
            self.clients[known].0 = peer;
            return known;
        }
        if self.clients.len() == CLIENTS {
            self.clients.remove(0);
            self.counters.clients_forgotten += 1;
        }
        self.clients.push((peer, Talk::default()));
        self.clients.len() - 1
    }

    fn next_pair(&mut self) -> u32 {
        // Twice of it and one more is the name of a departure.
        self.number = self.number % (i32::MAX as u32 - 1) + 1;
        self.number
    }

    /// Sends a pair to whose turn it is, and gives the turn to the next.
    fn ask(&mut self, now: Time, out: &mut Out) {
        let alone = self.asked.len() == 1;
        let turn = self.turn;
        self.turn = (turn + 1) % self.asked.len();
        let asked = &mut self.asked[turn];
        let mut peer = None;
        if alone || now >= asked.again || self.station.knows(asked.whom) {
            asked.again = now + ASK_AGAIN;
            peer = self.station.find(asked.whom, now, out);
        }
        let interval = self.config.interval.as_ps() / self.asked.len() as u64;
        let mut wait = || {
            let wait = interval / 2 + self.random.below(interval + 1);
            Some(now + Time::from_ps(wait).max(self.config.gap * 2))
        };
        let Some(peer) = peer else {
            if !alone {
                // Others need not wait until it is found.
                self.station.next = wait();
            }
            return;
        };
        self.station.next = wait();
        if self.counters.pairs_sent == 0 && self.mesh.is_none() {
            self.window_ends = now + self.config.window;
        }
        let pair = self.next_pair();
        let talk = &mut self.asked[turn].talk;
        talk.begin(pair);
        send_pair(
            &mut self.station.endpoint,
            self.config.gap,
            now,
            peer,
            talk,
            Role::Client,
            out,
        );
        self.counters.pairs_sent += 1;
    }

    /// A window is over.
    fn close(&mut self, now: Time) {
        self.window_ends = now + self.config.window;
        self.unheard = self.unheard.saturating_add(1);
        if let Some(mesh) = self
            .mesh
            .as_mut()
            .filter(|mesh| mesh.shown.len() < MAX_REPORTED)
        {
            mesh.shown.push((now, self.clock.read(now)));
        }
        let slack = self.slack();
        for index in 0..self.asked.len() {
            let Some(line) = self.asked[index].close(slack, &mut self.counters) else {
                // What was to be made up for is made up for.
                if self.clock.steered() != self.evenly {
                    self.steer(now, self.evenly);
                }
                continue;
            };
            match &mut self.mesh {
                None => self.correct(now, &line),
                Some(mesh) if mesh.pairs.len() < MAX_REPORTED => mesh.pairs.push(MeshPair {
                    closed: now,
                    with: self.asked[index].whom,
                    at_ps: line.at,
                    ahead_ps: line.offset,
                    faster_ppt: libm::round(line.faster * 1e12) as i64,
                }),
                Some(mesh) => mesh.left_out += 1,
            }
        }
    }

    fn correct(&mut self, now: Time, line: &Line) {
        self.clock.advance(now);
        // The world's time at which the clock showed what the line is of; it ran at an even rate since.
        let (_, shown, rate) = self.clock.reading();
        let back = (shown - line.at).max(0);
        let at = now - Time::from_ps((back as f64 / (1.0 + rate)) as u64).min(now);
        let error = self.clock.error(at);
        let settled = (self.locked || self.config.free_running) && at >= self.config.settle;
        let bound = self.bound_of(line);
        let whole = bound.saturating_add(line.offset.unsigned_abs() as u64);
        self.measured
            .add(at, line.offset, error, Some(whole), settled);
        let offset = line.offset + libm::round(line.faster * back as f64) as Local;
        let mut found = Found {
            at,
            offset: line.offset,
            left: offset,
            bound,
            delay: line.margin,
        };
        if !self.config.free_running {
            let beyond = |most: Time| offset.abs() > Local::from(most.as_ps());
            let far = self.config.step_threshold.is_some_and(beyond);
            self.evenly = (self.clock.steered() - line.faster).clamp(-MAX_STEERING, MAX_STEERING);
            if !self.locked || far {
                self.clock.step(-offset);
                self.counters.steps += 1;
                self.locked = true;
                found.left = 0;
                self.steer(now, self.evenly);
            } else {
                let slew = offset as f64 / self.config.window.as_ps() as f64;
                self.steer(now, self.evenly - slew);
            }
        }
        self.found = Some(found);
    }

    /// From now on the clock runs faster by this fraction. What was stamped before tells nothing of it as it runs then.
    fn steer(&mut self, now: Time, faster: f64) {
        self.clock
            .steer(now, faster.clamp(-MAX_STEERING, MAX_STEERING));
        let asked = self.asked.iter_mut().map(|asked| &mut asked.talk);
        let clients = self.clients.iter_mut().map(|(_, talk)| talk);
        asked.chain(clients).for_each(Talk::forget);
        self.corrected = now;
    }

    /// Whether windows go by.
    fn has_windows(&self) -> bool {
        self.mesh.is_some() || self.counters.pairs_sent > 0
    }

    /// The state of the clock as a whole, for reports.
    fn state(&self) -> String {
        if self.mesh.is_some() {
            let found = self.asked.iter().filter(|asked| asked.found).count();
            let all = self.asked.len();
            return format!("free running, measured against {found} of {all} peers");
        }
        let Some(server) = self.config.server else {
            return String::from("server");
        };
        let word = match (self.config.free_running, self.locked) {
            _ if self.counters.pairs_sent == 0 => "not found",
            _ if self.unheard >= UNREACHABLE_LIMIT => "unreachable",
            (true, _) => "free running",
            (false, true) => "locked",
            (false, false) => "unlocked",
        };
        format!("client of {server}, {word}")
    }

    /// What stamps are off, and how far a rate that changes takes a clock off a chord of the window, picoseconds.
    fn slack(&self) -> f64 {
        let seconds = self.config.window.as_secs_f64();
        let bent = self.config.clock.wander * 1e6 * seconds * seconds / 8.0;
        bent + self.config.clock.tick.as_ps() as f64
    }

    /// How far the truth may be from a line: to the hulls, and what points may be on their wrong side.
    fn bound_of(&self, line: &Line) -> u64 {
        libm::ceil(line.bound + self.slack()) as u64
    }

    fn bound(&self) -> Option<u64> {
        if self.config.server.is_none() {
            return Some(0);
        }
        let found = self.found?;
        let left = found.left.unsigned_abs() as u64;
        Some(found.bound.saturating_add(left))
    }

    fn reading(&self) -> ClockReading {
        let (at, shown_ps, rate) = self.clock.reading();
        ClockReading {
            at,
            shown_ps,
            rate_ppt: libm::round(rate * 1e12) as i64,
            follows: self.found.is_some() && self.unheard < UNREACHABLE_LIMIT,
            offsets: self.counters.windows,
            offset: self.found.map(|found| (found.at, in_64_bits(found.offset))),
            bound_ps: self.bound(),
            ahead_of_utc_s: 0,
            steps: self.counters.steps,
        }
    }
}

/// Sends the pair that a conversation has begun.
fn send_pair(
    endpoint: &mut Endpoint,
    gap: Time,
    now: Time,
    to: Peer,
    talk: &Talk,
    role: Role,
    out: &mut Out,
) {
    for second in [false, true] {
        let name = 2 * talk.leaving() + u32::from(second);
        let id = StampId(NonZeroU32::new(name).expect("a pair's number is at least 1"));
        let probe = talk.probe(role, second);
        let frame = endpoint.datagram(to, Some(id), out, |out| probe.build(out));
        match second {
            false => out.send(NETWORK, frame),
            true => out.send_at(NETWORK, now + gap, frame),
        }
    }
}

impl Node for Huygens {
    fn properties(&self) -> Properties {
        self.station.properties()
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.clock.advance(now);
        if self.has_windows() && now >= self.window_ends {
            self.close(now);
        }
        if self.station.next.is_some_and(|next| now >= next) {
            self.ask(now, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let window = self.has_windows().then_some(self.window_ends);
        self.station.next.into_iter().chain(window).min()
    }

    fn event(&mut self, _now: Time, event: &Event, _out: &mut Out) {
        let What::Departed(id) = event.what else {
            return;
        };
        let (pair, second) = (id.0.get() / 2, id.0.get() % 2 == 1);
        let left = self.clock.read(event.at);
        let clients = self.clients.iter_mut().map(|(_, talk)| talk);
        let asked = self.asked.iter_mut().map(|asked| &mut asked.talk);
        let mut talks = asked.chain(clients);
        if let Some(talk) = talks.find(|talk| talk.leaving() == pair) {
            talk.departed(second, left);
        }
    }

    fn statistics(&self) -> Statistics {
        let counters = &self.counters;
        let mut counts = Statistics::from([
            ("pairs_sent", counters.pairs_sent),
            ("pairs_heard", counters.pairs_heard),
            ("pairs_answered", counters.pairs_answered),
            ("pairs_kept", counters.pairs_kept),
            ("pairs_dropped", counters.pairs_dropped),
            ("points_late", counters.points_late),
            ("stamps_old", counters.stamps_old),
            ("windows", counters.windows),
            ("windows_empty", counters.windows_empty),
            ("windows_overlapping", counters.windows_overlapping),
            ("steps", counters.steps),
            ("clients_forgotten", counters.clients_forgotten),
        ]);
        let delay = self.found.map(|it| libm::round(it.delay) as Local);
        let (state, reading) = (self.state(), Some(self.reading()));
        let report = self
            .measured
            .report("huygens", state, delay, &self.clock, reading);
        counts.extensions.insert(ClockReport {
            mesh: self.mesh.clone(),
            ..report
        });
        counts
    }
}
