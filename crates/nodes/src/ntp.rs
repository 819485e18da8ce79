//! The Network Time Protocol (RFC 5905): a client, a server, or both.
//!
//! - **Ports:** `ports`: 1, or 2 in line: what is no NTP for this clock goes from one to the other, as through the card of a host;
//!   port 0 speaks NTP.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `requests_sent`, `replies_received`, `requests_received`, `replies_sent`; `unanswered`: requests behind which another went
//!   before an answer came; `bogus`: answers to no request that is waited for; `unusable`: from a server that is not synchronised, or is
//!   itself a client of this clock; `kisses`: the server wants to be asked less often, or not at all; `used`: offsets that the clock filter let pass; `steps`: times that the clock was set; `poll_ps`: between requests at the end;
//!   `contradictions`: what bounds it could not all be true.
//! - **Drops:** `no NTP message`; why a message cannot be read; `for another type of clock`.
//!
//! Over UDP and IPv4, unauthenticated, one server. The exchange is RFC 5905 section 8: four stamps, the offset half of what the ways differ by. A
//! request's departure is asked of the [world](node::event::What::Departed), so that it counts when it really left; an
//! answer carries the time at which it was written, before it waited at the port. The clock filter takes the best of eight;
//! the discipline sets the clock once and slews it then. The clock is one of the node's own; nothing else is ever set.

mod discipline;
mod filter;

use crate::clock::found::Found;
use crate::clock::limits::Limits;
use crate::clock::measured::{Measured, in_64_bits};
use crate::clock::station::{Attachment, NETWORK, Station};
use crate::clock::{self, Clock, Local, interval};
use crate::endpoint::Peer;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::num::NonZeroU32;
use discipline::{Action, Discipline};
use filter::{Filter, PHI, Sample};
use measure::clock::ClockReading;
use node::ConfigError;
use node::event::{Event, What};
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, StampId, Statistics, Time};
use packet::ethernet::Mac;
use packet::ntp::{Header, Mode, PORT, Short, Timestamp, UNSYNCHRONISED};

/// Maximum stratum, the number of steps from a primary reference.
const MAX_STRATUM: u8 = 15;
/// Maximum distance of a server from its primary reference, ps (MAXDISP). A farther one is not
/// used.
const MAX_DISTANCE_PS: u64 = 16_000_000_000_000;

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
    /// Whom it asks; `None`: nobody, so that it is a reference itself.
    pub server: Option<Ipv4Addr>,
    /// The router that leads to the server, if it is no neighbour.
    pub gateway: Option<Ipv4Addr>,
    /// Of a reference: 1 to 15.
    pub stratum: u8,
    /// The least time between requests, as a power of two of a second: -7 to 17.
    pub min_poll: i8,
    /// The greatest.
    pub max_poll: i8,
    /// When the first request leaves.
    pub first: Time,
    /// Its own clock.
    pub clock: clock::Config,
    /// Whether it only measures, and is never set.
    pub free_running: bool,
    /// The clock is set, not slewed, by an offset beyond this that lasts for four intervals; `None`: only by the first.
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
            gateway: None,
            stratum: 1,
            min_poll: 6,
            max_poll: 10,
            first: Time::from_us(1),
            clock: clock::Config::default(),
            free_running: false,
            step_threshold: Some(Time::from_ms(128)),
            settle: Time::ZERO,
            seed: 0,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), ConfigError> {
        let fault = |key, reason: &str| Err(ConfigError::new(key, reason));
        if !(1..=MAX_STRATUM).contains(&self.stratum) {
            return fault("stratum", "1 to 15");
        }
        for (key, poll) in [("min_poll", self.min_poll), ("max_poll", self.max_poll)] {
            if !(-7..=17).contains(&poll) {
                return fault(key, "-7 to 17, a power of two of a second");
            }
        }
        if self.min_poll > self.max_poll {
            return fault("min_poll", "it is greater than `max_poll`");
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
    requests_sent: u64,
    replies_received: u64,
    requests_received: u64,
    replies_sent: u64,
    unanswered: u64,
    bogus: u64,
    unusable: u64,
    kisses: u64,
    used: u64,
    steps: u64,
}

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: u32,
    /// What an answer has to repeat.
    transmit: Timestamp,
    /// When it left, once that is known.
    left: Option<Local>,
    /// And on a clock that nobody had ever corrected.
    free: Local,
    /// The answer, if that is known before; when it came, and what the clock showed.
    answer: Option<(Header, Time, Local)>,
}

/// What is known of the server that the clock is set by.
#[derive(Clone, Copy, Debug)]
struct System {
    stratum: u8,
    leap: u8,
    /// To the primary reference and back, picoseconds.
    root_delay: u64,
    /// How far off this clock was besides when it was set, picoseconds.
    root_dispersion: f64,
    delay: Local,
    /// When, and what the clock showed.
    at: Time,
    set: Local,
}

/// A clock.
#[derive(Debug)]
pub struct Ntp {
    config: Config,
    station: Station,
    clock: Clock,
    /// How fine its stamps are, picoseconds, and as a power of two of a second.
    precision: (f64, i8),
    filter: Filter,
    discipline: Discipline,
    asked: Option<Asked>,
    /// Requests so far: by which departures are known.
    number: u32,
    /// Whether each of the last 8 requests was answered, the last in the lowest bit.
    reach: u8,
    system: Option<System>,
    /// How far it may be ahead of its server, if nobody had corrected it.
    limits: Limits,
    found: Option<Found>,
    measured: Measured,
    counters: Counters,
    random: Random,
}

impl Ntp {
    /// A clock that has not asked anybody.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(config: Config) -> Result<Ntp, ConfigError> {
        config.check()?;
        // A quarter of a nanosecond is what a message holds.
        let tick = config.clock.tick.as_ps().max(233) as f64;
        let exponent = libm::ceil(libm::log2(tick * 1e-12)) as i8;
        Ok(Ntp {
            station: Station::new(config.attachment(), PORT, config.first),
            clock: config.clock.make()?,
            precision: (tick, exponent),
            filter: Filter::default(),
            discipline: Discipline::new(config.step_threshold, config.min_poll, config.max_poll),
            asked: None,
            number: 0,
            reach: 0,
            system: None,
            limits: Limits::new(config.clock.wander),
            found: None,
            measured: Measured::default(),
            counters: Counters::default(),
            random: Random::new(config.seed),
            config,
        })
    }

    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        let none = "no NTP message";
        if let Some((peer, frame, place)) = self.station.take(now, port, frame, none, out) {
            match Header::parse(&frame[place]) {
                Ok(header) => self.message(now, peer, frame, &header, out),
                Err(error) => out.drop(frame, error.0),
            }
        }
    }

    fn message(&mut self, now: Time, peer: Peer, frame: Frame, header: &Header, out: &mut Out) {
        let at = frame.arrived();
        match header.mode {
            Mode::Client => {
                out.done(frame);
                self.counters.requests_received += 1;
                self.answer(now, at, peer, header, out);
            }
            Mode::Server if self.config.server == Some(peer.address) => {
                out.done(frame);
                self.answered(at, header);
            }
            _ => out.drop(frame, "for another type of clock"),
        }
    }

    /// Answers a request (section 9.2).
    fn answer(&mut self, now: Time, at: Time, peer: Peer, header: &Header, out: &mut Out) {
        let came = Timestamp::since_1970(self.clock.read(at));
        let mut reply = Header {
            leap: 0,
            version: header.version,
            mode: Mode::Server,
            stratum: self.config.stratum,
            poll: header.poll,
            precision: self.precision.1,
            root_delay: Short::default(),
            root_dispersion: Short::default(),
            reference: *b"LOCL",
            set: came,
            origin: header.transmit,
            receive: came,
            transmit: Timestamp::since_1970(self.clock.read(now)),
        };
        match (self.config.server, &self.system) {
            (None, _) => {}
            (Some(server), Some(system)) => {
                reply.leap = system.leap;
                reply.stratum = system.stratum;
                reply.root_delay = Short::of_ps(system.root_delay);
                reply.root_dispersion = Short::of_ps(self.root_dispersion(system, now) as u64);
                reply.reference = server.octets();
                reply.set = Timestamp::since_1970(system.set);
            }
            (Some(_), None) => {
                (reply.leap, reply.stratum) = (UNSYNCHRONISED, 0);
                (reply.reference, reply.set) = (*b"INIT", Timestamp::default());
            }
        }
        self.counters.replies_sent += 1;
        let endpoint = &mut self.station.endpoint;
        let frame = endpoint.datagram(peer, None, out, |out| reply.build(out));
        out.send(NETWORK, frame);
    }

    fn root_dispersion(&self, system: &System, now: Time) -> f64 {
        system.root_dispersion + PHI * (now - system.at).as_ps() as f64
    }

    /// Sends a request.
    fn ask(&mut self, now: Time, server: Peer, out: &mut Out) {
        let action = self.discipline.tick();
        self.act(now, action);
        self.counters.unanswered += u64::from(self.asked.is_some());
        self.reach <<= 1;
        self.number = self.number % (i32::MAX as u32) + 1;
        let shown = self.clock.read(now);
        let transmit = Timestamp::since_1970(shown);
        let synchronised = self.system.is_some();
        let request = Header {
            leap: if synchronised { 0 } else { UNSYNCHRONISED },
            version: 4,
            mode: Mode::Client,
            stratum: self.system.map_or(0, |system| system.stratum),
            poll: self.discipline.poll,
            precision: self.precision.1,
            root_delay: Short::default(),
            root_dispersion: Short::default(),
            reference: [0; 4],
            set: Timestamp::default(),
            origin: Timestamp::default(),
            receive: Timestamp::default(),
            transmit,
        };
        self.asked = Some(Asked {
            number: self.number,
            transmit,
            left: None,
            free: 0,
            answer: None,
        });
        let id = StampId(NonZeroU32::new(self.number).expect("it is at least 1"));
        let endpoint = &mut self.station.endpoint;
        let frame = endpoint.datagram(server, Some(id), out, |out| request.build(out));
        out.send(NETWORK, frame);
        self.counters.requests_sent += 1;
        // Clients that began at the same time shall not stay together: up to a 16th earlier or later.
        let poll = interval(self.discipline.poll).as_ps();
        let wait = poll - poll / 16 + self.random.below(poll / 8 + 1);
        self.station.next = Some(now + Time::from_ps(wait));
    }

    /// An answer has come.
    fn answered(&mut self, at: Time, header: &Header) {
        self.counters.replies_received += 1;
        let came = self.clock.read(at);
        let waited = self
            .asked
            .as_mut()
            .filter(|asked| asked.transmit == header.origin && asked.answer.is_none());
        let Some(asked) = waited else {
            self.counters.bogus += 1;
            return;
        };
        asked.answer = Some((*header, at, came));
        self.exchanged();
    }

    /// The exchange is over, if all of its four stamps are known.
    fn exchanged(&mut self) {
        let Some(Asked {
            left: Some(left),
            free,
            answer: Some((header, at, came)),
            ..
        }) = self.asked
        else {
            return;
        };
        self.asked = None;
        self.reach |= 1;
        if header.stratum == 0 && header.leap != UNSYNCHRONISED {
            self.kissed(&header.reference);
            return;
        }
        let root = (header.root_delay.as_ps() / 2).saturating_add(header.root_dispersion.as_ps());
        let loops = header.stratum > 1 && header.reference == self.config.address.octets();
        let stratum = header.stratum >= 1 && header.stratum < MAX_STRATUM;
        let timeless = header.transmit == Timestamp::default();
        let far = root >= MAX_DISTANCE_PS;
        if header.leap == UNSYNCHRONISED || !stratum || timeless || loops || far {
            self.counters.unusable += 1;
            return;
        }
        let receive = header.receive.near(left);
        let transmit = header.transmit.near(came);
        let theirs = libm::exp2(f64::from(header.precision)) * 1e12;
        // The request came after it had left, and so did the answer.
        let corrected = came - self.clock.free(at);
        let fine = self.precision.0 as Local;
        self.limits.at_least(free, free - receive - fine);
        let ahead = came - corrected - transmit + fine;
        self.limits.at_most(came - corrected, ahead);
        let sample = Sample {
            at,
            corrected,
            // How far this clock is ahead: RFC 5905 has it the other way round.
            offset: ((left - receive) + (came - transmit)) / 2,
            delay: ((came - left) - (transmit - receive)).max(self.precision.0 as Local),
            dispersion: self.precision.0 + theirs + PHI * (came - left) as f64,
        };
        let Some(estimate) = self.filter.add(sample, self.precision.0) else {
            return;
        };
        self.counters.used += 1;
        let Sample {
            at: then,
            offset,
            delay,
            ..
        } = estimate.best;
        let span = self.limits.span(came - corrected);
        let (error, root) = (self.clock.error(at), Local::from(root));
        let span = span.map(|span| span.shifted(corrected).widened(root));
        let bound = span.map(|span| span.from(0));
        let own = estimate.dispersion + estimate.jitter + offset.abs() as f64;
        self.system = Some(System {
            stratum: header.stratum + 1,
            leap: header.leap,
            root_delay: header.root_delay.as_ps().saturating_add(delay as u64),
            root_dispersion: header.root_dispersion.as_ps() as f64 + own,
            delay,
            at,
            set: came,
        });
        let settled = self.discipline.is_synchronised() || self.config.free_running;
        let settled = settled && then >= self.config.settle;
        // What it has come to by now: the clock was corrected since, and ran on.
        let ran = (at - then).as_ps() as f64 * self.limits.faster;
        let offset_now = offset + corrected - estimate.best.corrected + ran as Local;
        self.measured.add(at, offset_now, error, bound, settled);
        self.found = Some(Found::new(at, offset_now, span));
        if !self.config.free_running {
            let action = self.discipline.update(then, offset, estimate.jitter);
            self.act(at, action);
        }
    }

    /// A kiss of death (section 7.4).
    fn kissed(&mut self, code: &[u8; 4]) {
        self.counters.kisses += 1;
        match code {
            b"DENY" | b"RSTR" => self.station.next = None,
            b"RATE" => self.discipline.ask_less(),
            _ => {}
        }
    }

    fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Wait => {}
            Action::Step(by, faster) => {
                self.clock.steer(now, faster);
                self.clock.step(by);
                self.counters.steps += 1;
                if let Some(found) = &mut self.found {
                    found.stepped(by);
                }
                self.asked = None;
                self.filter.forget();
            }
            Action::Steer(faster) => self.clock.steer(now, faster),
        }
    }

    /// What the clock shows, and what that is worth.
    fn reading(&self) -> ClockReading {
        let (at, shown_ps, rate) = self.clock.reading();
        let found = self.found.as_ref();
        ClockReading {
            at,
            shown_ps,
            rate_ppt: libm::round(rate * 1e12) as i64,
            follows: found.is_some() && self.reach > 0,
            offsets: self.counters.used,
            offset: found.map(|found| (found.at, in_64_bits(found.offset))),
            bound_ps: match self.config.server {
                None => Some(0),
                Some(_) => found.and_then(Found::bound),
            },
            ahead_of_utc_s: 0,
            steps: self.counters.steps,
        }
    }

    /// The state of the clock as a whole, for reports.
    fn state(&self) -> String {
        let Some(server) = self.config.server else {
            return format!("server of stratum {}", self.config.stratum);
        };
        let word = match (self.config.free_running, self.reach) {
            (_, 0) if self.counters.requests_sent == 0 => "not found",
            (_, 0) => "unreachable",
            (true, _) => "free running",
            (false, _) => self.discipline.word(),
        };
        format!("client of {server}, {word}")
    }
}

impl Node for Ntp {
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
        if let Some(server) = self.station.due(now, out) {
            self.ask(now, server, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.station.next
    }

    fn event(&mut self, _now: Time, event: &Event, _out: &mut Out) {
        if let What::Departed(id) = event.what {
            let (left, free) = (self.clock.read(event.at), self.clock.free(event.at));
            let asked = self.asked.as_mut();
            if let Some(asked) = asked.filter(|asked| asked.number == id.0.get()) {
                (asked.left, asked.free) = (Some(left), free);
                self.exchanged();
            }
        }
    }

    fn statistics(&self) -> Statistics {
        let counters = &self.counters;
        let poll = interval(self.discipline.poll);
        let mut counts = Statistics::from([
            ("requests_sent", counters.requests_sent),
            ("replies_received", counters.replies_received),
            ("requests_received", counters.requests_received),
            ("replies_sent", counters.replies_sent),
            ("unanswered", counters.unanswered),
            ("bogus", counters.bogus),
            ("unusable", counters.unusable),
            ("kisses", counters.kisses),
            ("used", counters.used),
            ("steps", counters.steps),
            ("poll_ps", poll.as_ps()),
            ("contradictions", self.limits.contradictions),
        ]);
        // One way, as other clocks have it.
        let delay = self.system.map(|system| system.delay / 2);
        let (state, reading) = (self.state(), Some(self.reading()));
        let report = self
            .measured
            .report("ntp", state, delay, &self.clock, reading);
        counts.extensions.insert(report);
        counts
    }
}
