//! The Precision Time Protocol (IEEE 1588-2019): an ordinary, a boundary or a transparent clock, two-step.
//!
//! - **Ports:** `ports`. Of an ordinary clock port 0 speaks PTP; with a second one it is in line: what is no PTP goes from one to the
//!   other, as through the card of a host. A boundary clock speaks PTP at each port, and is a switch for all else; a
//!   transparent clock is a switch that tells how long PTP's messages were inside.
//! - **Parameters:** see [`Config`].
//! - **Counters:** of messages sent and received by type; `foreign`: of masters that are not the own; `unmatched`: a Follow_Up or an answer
//!   without what it belongs to; `lost_follow_ups`: a Sync came before the Follow_Up of the last; `delays`: found; `steps`: times that the
//!   clock was set; `masters`: changes of the master; of a transparent clock `corrected`, `uncorrected`, `withheld`.
//! - **Drops:** `no PTP message`; why a message cannot be read; `of another domain`; `of another standard`; `of this clock itself`;
//!   `for another type of clock`; and those of [`switch`].
//! - **Paper:** 002 section 4.5.4, figures 4.31 d to f.
//!
//! The clock is one of its own, which runs as its oscillator and the servo have it; nothing else is ever set. A stamp is when the first bit of
//! a message left or came, exact where the world is: what a departure was is asked of the [world](node::event::What::Departed). Delays
//! are taken to be the same both ways, as PTP does: half of what they differ by is an offset that it cannot see.

mod best;
mod due;
mod message;
mod port;
mod transparent;

use crate::ConfigError;
use crate::clock::measured::{Measured, in_64_bits};
use crate::clock::servo::{Action, Servo};
use crate::clock::{self, Clock, Local, interval};
use crate::switch::{self, Switch};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use best::{DataSet, TimeProperties};
use core::net::Ipv4Addr;
use due::Due;
use message::Stamps;
use node::event::{Event, What};
use node::outcome::{ClockReading, ClockReport};
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;
use packet::ptp::{self, Announce, Body, ClockIdentity, Message, PortIdentity, Quality};
use port::{Side, State};
use transparent::Transparent;

/// What a clock does with PTP's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Type {
    /// It is a master or a slave at one port.
    #[default]
    Ordinary,
    /// It is a slave at one of its ports, and a master at others.
    Boundary,
    /// It passes them on, and tells how long they were inside.
    Transparent,
}

/// Whether it may be a master, or a slave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Role {
    /// As the best master clock algorithm finds.
    #[default]
    Auto,
    /// Always a master, whoever else there is.
    Master,
    /// Never a master.
    Slave,
}

/// How the delay is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Mechanism {
    /// A slave asks its master.
    #[default]
    EndToEnd,
    /// Each end of a link asks the other.
    Peer,
}

/// What carries the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Transport {
    #[default]
    Ethernet,
    Udp,
}

/// What a clock is made from. The logarithms are those of seconds to the base 2, as in linuxptp.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// What it does with messages.
    pub clock_type: Type,
    /// 1 to 4096.
    pub ports: u16,
    pub role: Role,
    pub delay: Mechanism,
    pub transport: Transport,
    /// Its address, with `transport` `udp`.
    pub address: Ipv4Addr,
    /// Its MAC address, from which its identity is made.
    pub mac: Mac,
    /// Messages of other domains are none of its business.
    pub domain: u8,
    /// By which masters are compared first: the lower, the better.
    pub priority1: u8,
    /// By which they are compared after their quality.
    pub priority2: u8,
    /// What its time is worth: 6 for a primary reference, 248 by default.
    pub class: u8,
    /// Between announcements: -3 to 4.
    pub log_announce_interval: i8,
    /// Announcements that may be missing: 2 to 255.
    pub announce_timeout: u8,
    /// Between Syncs of a master: -7 to 4.
    pub log_sync_interval: i8,
    /// Between questions about the delay, in the mean: -7 to 5.
    pub log_delay_interval: i8,
    /// Questions about the delay of which the median counts: 1 to 1000.
    pub delay_filter: usize,
    /// Its own clock.
    pub clock: clock::Config,
    /// Whether it only measures, and is never set.
    pub free_running: bool,
    /// Beyond this offset the clock is set, not steered, also when it was set before; `None`: never again.
    pub step_threshold: Option<Time>,
    /// Of the servo: 0 to 1.
    pub proportional: f64,
    /// Of the servo: 0 to 1.
    pub integral: f64,
    /// Offsets before count for nothing but the trace.
    pub settle: Time,
    /// What the switch in it is like; its `ports` are those of the clock.
    pub switch: switch::Config,
    /// What is drawn by lot comes from this.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            clock_type: Type::Ordinary,
            ports: 1,
            role: Role::Auto,
            delay: Mechanism::EndToEnd,
            transport: Transport::Ethernet,
            address: Ipv4Addr::new(198, 18, 0, 1),
            mac: Mac([2, 0, 0, 0, 0, 1]),
            domain: 0,
            priority1: 128,
            priority2: 128,
            class: 248,
            log_announce_interval: 0,
            announce_timeout: 3,
            log_sync_interval: 0,
            log_delay_interval: 0,
            delay_filter: 10,
            clock: clock::Config::default(),
            free_running: false,
            step_threshold: None,
            proportional: 0.7,
            integral: 0.3,
            settle: Time::ZERO,
            switch: switch::Config::default(),
            seed: 0,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), ConfigError> {
        let within = |key, value: f64, least: f64, most: f64| match (least..=most).contains(&value)
        {
            true => Ok(()),
            false => Err(ConfigError::new(key, format!("{least} to {most}"))),
        };
        within("ports", self.ports.into(), 1.0, 4096.0)?;
        if self.clock_type == Type::Ordinary && self.ports > 2 {
            let reason = "an ordinary clock has 1 port, or 2 in line";
            return Err(ConfigError::new("ports", reason));
        }
        let announce = self.log_announce_interval.into();
        within("log_announce_interval", announce, -3.0, 4.0)?;
        within("announce_timeout", self.announce_timeout.into(), 2.0, 255.0)?;
        within(
            "log_sync_interval",
            self.log_sync_interval.into(),
            -7.0,
            4.0,
        )?;
        within(
            "log_delay_interval",
            self.log_delay_interval.into(),
            -7.0,
            5.0,
        )?;
        within("delay_filter", self.delay_filter as f64, 1.0, 1000.0)?;
        within("proportional", self.proportional, 0.0, 1.0)?;
        within("integral", self.integral, 0.0, 1.0)?;
        if self.mac.is_group() {
            return Err(ConfigError::new(
                "mac",
                "a clock's own address is no group's",
            ));
        }
        if self.switch.seed != 0 {
            let reason = "`seed` of the clock is that of the switch in it, too";
            return Err(ConfigError::new("switch", reason));
        }
        Ok(())
    }

    /// How many ports speak PTP; a transparent clock's only of the delay of their links.
    fn speaking(&self) -> usize {
        match self.clock_type {
            Type::Ordinary => 1,
            Type::Boundary => self.ports.into(),
            Type::Transparent if self.delay == Mechanism::Peer => self.ports.into(),
            Type::Transparent => 0,
        }
    }
}

/// Messages by type, and what went wrong with them.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    sent: [u64; 16],
    received: [u64; 16],
    foreign: u64,
    unmatched: u64,
    lost_follow_ups: u64,
    delays: u64,
    steps: u64,
    masters: u64,
}

/// Its master, as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parent {
    set: DataSet,
    time: TimeProperties,
    port: usize,
}

/// An offset from the master.
#[derive(Clone, Copy, Debug)]
struct Found {
    at: Time,
    /// As it was measured.
    offset: Local,
    /// What of it was not made up for at once.
    left: Local,
    /// How far the truth may be from it.
    uncertain: Local,
}

/// A clock.
#[derive(Debug)]
pub struct Ptp {
    config: Config,
    identity: ClockIdentity,
    clock: Clock,
    servo: Servo,
    sides: Vec<Side>,
    due: Due,
    parent: Option<Parent>,
    switch: Option<Switch>,
    transparent: Option<Transparent>,
    stamps: Stamps,
    measured: Measured,
    /// The last offset from the master that it has.
    found: Option<Found>,
    /// How many it has found.
    offsets: u64,
    counters: Counters,
    random: Random,
    scratch: Vec<u8>,
    lot: Vec<Frame>,
}

impl Ptp {
    /// A clock that knows of no other.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(config: Config) -> Result<Ptp, ConfigError> {
        config.check()?;
        let own_switch = match config.ports {
            1 => None,
            ports => {
                let config = switch::Config {
                    ports,
                    seed: config.seed,
                    ..config.switch.clone()
                };
                Some(Switch::new(config)?)
            }
        };
        let transparent = config.clock_type == Type::Transparent;
        let holds = interval(config.log_announce_interval) * u64::from(config.announce_timeout);
        let start = Time::from_us(1);
        let alone_from = match config.role {
            Role::Master => start,
            _ => start + holds,
        };
        let side = Side::new(start, alone_from, config.delay_filter);
        let threshold = config.step_threshold.map(|time| Local::from(time.as_ps()));
        let ports = config.speaking();
        let mut ptp = Ptp {
            identity: ClockIdentity::of(config.mac),
            clock: config.clock.make()?,
            servo: Servo::new(config.proportional, config.integral, threshold),
            sides: alloc::vec![side; ports],
            due: Due::new(ports),
            parent: None,
            switch: own_switch,
            transparent: transparent.then(|| Transparent::new(config.ports)),
            stamps: Stamps::new(ports),
            measured: Measured::default(),
            found: None,
            offsets: 0,
            counters: Counters::default(),
            random: Random::new(config.seed),
            scratch: Vec::new(),
            lot: Vec::with_capacity(1),
            config,
        };
        (0..ports).for_each(|port| ptp.settle(port));
        Ok(ptp)
    }

    /// What is no business of PTP.
    fn pass(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        match &mut self.switch {
            Some(switch) => {
                self.lot.push(frame);
                switch.frames(now, port, &mut self.lot, out);
            }
            None => out.drop(frame, "no PTP message"),
        }
    }

    fn frame(&mut self, now: Time, port: Port, mut frame: Frame, out: &mut Out) {
        let place = ptp::find(&frame);
        let speaks = self.transparent.is_some() || port.index() < self.sides.len();
        let Some(place) = place.filter(|_| speaks) else {
            return self.pass(now, port, frame, out);
        };
        let message = match Message::parse(&frame[place.0..]) {
            Ok(message) => message,
            Err(error) => return out.drop(frame, error.0),
        };
        let at = frame.arrived();
        let peer = message.body.is_peer();
        if let (Some(transparent), false) = (&mut self.transparent, peer) {
            match message.body {
                Body::Sync(_) | Body::DelayReq(_) => {
                    let delay = self.sides.get(port.index());
                    let link = delay.and_then(|side| side.delays.value()).unwrap_or(0);
                    let came = (self.clock.read(at), link);
                    let id = transparent.enter(&message, port, came, out);
                    frame.ask_for_stamp(id);
                    return self.pass(now, port, frame, out);
                }
                Body::FollowUp(_) | Body::DelayResp(..) => {
                    return transparent.general(&message, frame, place, port, out);
                }
                _ => return self.pass(now, port, frame, out),
            }
        }
        let wrong = if message.domain != self.config.domain {
            Some("of another domain")
        } else if message.sdo != 0 {
            Some("of another standard")
        } else if message.source.clock == self.identity {
            Some("of this clock itself")
        } else if port.index() >= self.sides.len() {
            Some("for another type of clock")
        } else {
            None
        };
        if let Some(reason) = wrong {
            return out.drop(frame, reason);
        }
        self.counters.received[usize::from(message.body.kind())] += 1;
        out.done(frame);
        self.message(now, port.index(), at, &message, out);
    }

    fn message(&mut self, now: Time, port: usize, at: Time, message: &Message, out: &mut Out) {
        match message.body {
            Body::Announce(_, announce) => self.announced(now, port, message, &announce),
            Body::Sync(time) => self.synced(port, at, message, local(time)),
            Body::FollowUp(time) => self.followed(now, port, message, local(time)),
            Body::DelayReq(_) => self.answer_delay(now, port, at, message, out),
            Body::DelayResp(time, requester) => {
                self.delay_answered(port, message, local(time), requester);
            }
            Body::PdelayReq(_) => self.answer_peer(port, at, message, out),
            Body::PdelayResp(time, requester) => {
                self.peer_answered(port, at, message, local(time), requester);
            }
            Body::PdelayRespFollowUp(time, requester) => {
                self.peer_followed(port, message, local(time), requester);
            }
            Body::Other(_) => {}
        }
    }

    /// Somebody says that he is a master.
    fn announced(&mut self, now: Time, port: usize, message: &Message, announce: &Announce) {
        if announce.steps_removed >= 255 || announce.grandmaster == self.identity {
            return;
        }
        let holds = self.announce_holds(message.log_interval);
        let side = &mut self.sides[port];
        side.foreigns.hear(now, message, announce, holds);
        side.alone_from = now + holds;
        self.decide(now);
    }

    /// How long an announcement holds: as the sender says how often they come, within what is usual.
    fn announce_holds(&self, log_interval: i8) -> Time {
        let own = self.config.log_announce_interval;
        let told = if (-3..=4).contains(&log_interval) {
            log_interval
        } else {
            own
        };
        interval(told.max(own)) * u64::from(self.config.announce_timeout)
    }

    /// What this clock says of itself.
    fn own_set(&self) -> DataSet {
        DataSet {
            priority1: self.config.priority1,
            quality: Quality {
                class: match self.config.role {
                    Role::Slave => 255,
                    _ => self.config.class,
                },
                accuracy: 0xFE,
                variance: 0xFFFF,
            },
            priority2: self.config.priority2,
            grandmaster: self.identity,
            steps_removed: 0,
            sender: PortIdentity {
                clock: self.identity,
                port: 0,
            },
        }
    }

    /// The state decision algorithm (clause 9.3.3).
    fn decide(&mut self, now: Time) {
        if self.transparent.is_some() {
            return;
        }
        let (own, role) = (self.own_set(), self.config.role);
        for side in &mut self.sides {
            side.foreigns.expire(now);
        }
        let heard = self.sides.iter().enumerate();
        let heard = heard.filter_map(|(port, side)| Some((side.foreigns.best()?, port)));
        let best = heard.min_by_key(|((set, _), port)| (*set, *port));
        let better = |set: &DataSet| match role {
            Role::Master => false,
            Role::Slave => true,
            Role::Auto => self.config.class > 127 && *set < own,
        };
        let parent = best.filter(|((set, _), _)| better(set));
        let parent = parent.map(|((set, time), port)| Parent { set, time, port });
        for (port, side) in self.sides.iter_mut().enumerate() {
            let heard = side.foreigns.best();
            let state = match (role, &parent, heard) {
                (Role::Master, ..) => State::Master,
                (_, Some(parent), _) if parent.port == port => State::Slave,
                (Role::Slave, ..) => State::Listening,
                (_, Some(parent), Some((set, _)))
                    if set.is_worse_by_topology(&parent.set, self.identity) =>
                {
                    State::Passive
                }
                (_, Some(_), _) => State::Master,
                // A clock of class 127 or below is no slave, and silent where it is not the best.
                (_, None, Some((set, _))) if set < own => State::Passive,
                (_, None, Some(_)) => State::Master,
                (_, None, None) if now >= side.alone_from || side.state == State::Master => {
                    State::Master
                }
                (_, None, None) => State::Listening,
            };
            if state == side.state {
                continue;
            }
            side.state = state;
            side.forget();
            if self.config.delay == Mechanism::EndToEnd {
                side.delays.clear();
                side.next_ask = now;
            }
            if state == State::Master {
                (side.next_announce, side.next_sync) = (now, now);
            }
        }
        let sender = |parent: Option<Parent>| parent.map(|parent| parent.set.sender);
        if sender(parent) != sender(self.parent) {
            self.counters.masters += 1;
            self.servo.reset();
            // Alone it still knows how far it was from its master; of another one it knows nothing.
            if parent.is_some() {
                self.found = None;
            }
        }
        self.parent = parent;
        (0..self.sides.len()).for_each(|port| self.settle(port));
    }

    /// A Sync from its master.
    fn synced(&mut self, port: usize, at: Time, message: &Message, left: Local) {
        if !self.is_from_parent(port, message) {
            return;
        }
        let side = &mut self.sides[port];
        let heard = port::Heard {
            sequence: message.sequence,
            at,
            came: self.clock.read(at),
            correction: unscaled(message.correction),
        };
        self.counters.lost_follow_ups += u64::from(side.heard.take().is_some());
        match message.flags & ptp::TWO_STEP {
            0 => self.offset(port, heard, left, message.log_interval),
            _ => side.heard = Some(heard),
        }
    }

    /// When the last one left.
    fn followed(&mut self, _now: Time, port: usize, message: &Message, left: Local) {
        if !self.is_from_parent(port, message) {
            return;
        }
        match self.sides[port].followed(message) {
            Some(mut heard) => {
                heard.correction += unscaled(message.correction);
                self.offset(port, heard, left, message.log_interval);
            }
            None => self.counters.unmatched += 1,
        }
    }

    fn is_from_parent(&mut self, port: usize, message: &Message) -> bool {
        let sender = self.parent.map(|parent| parent.set.sender);
        let own = self.sides[port].state == State::Slave && sender == Some(message.source);
        self.counters.foreign += u64::from(!own);
        own
    }

    /// A Sync whose both ends are known: the offset, if the delay is known too, and what is done about it.
    fn offset(&mut self, port: usize, heard: port::Heard, left: Local, log_interval: i8) {
        let side = &mut self.sides[port];
        let forth = heard.came - left - heard.correction;
        side.synced = Some(port::Synced { forth });
        let Some(delay) = side.delays.value() else {
            return;
        };
        // Each way takes some time: a Sync came after it was sent, and the last question was heard after it was asked. So the two hold
        // the offset between them, whatever the ways are like.
        let last = side.delays.last().unwrap_or(delay);
        let uncertain = delay.max(2 * last - delay);
        let (at, offset) = (heard.at, forth - delay);
        let settled = self.servo.is_locked() || self.config.free_running;
        let settled = settled && at >= self.config.settle;
        let error = self.clock.error(at);
        self.measured.add(at, offset, error, settled);
        self.offsets += 1;
        self.found = Some(Found {
            at,
            offset,
            left: offset,
            uncertain,
        });
        if self.config.free_running {
            return;
        }
        let own = self.config.log_sync_interval;
        let log = if (-7..=4).contains(&log_interval) {
            log_interval
        } else {
            own
        };
        let seconds = interval(log).as_secs_f64();
        match self.servo.sample(offset, heard.came, seconds) {
            Action::Wait => {}
            Action::Step(by, faster) => {
                self.clock.step(by);
                self.clock.steer(at, faster);
                self.counters.steps += 1;
                self.sides.iter_mut().for_each(Side::forget);
                if let Some(found) = &mut self.found {
                    found.left += by;
                }
            }
            Action::Steer(faster) => self.clock.steer(at, faster),
        }
    }

    /// What the clock shows, and what that is worth.
    fn reading(&self) -> Option<ClockReading> {
        if self.transparent.is_some() {
            return None;
        }
        let (at, shown_ps, rate) = self.clock.reading();
        let found = self.found.as_ref();
        let own =
            self.parent.is_none() && self.sides.iter().all(|side| side.state == State::Master);
        // Between peers no question is held against the master's clock: a Sync may have taken longer than all that was measured.
        let held = self.config.delay == Mechanism::EndToEnd;
        let found_bound = |found: &Found| {
            let bound = found.left.unsigned_abs() + found.uncertain.unsigned_abs();
            u64::try_from(bound).unwrap_or(u64::MAX)
        };
        let ahead_of_utc = self.parent.map(|parent| parent.time.ahead_of_utc());
        Some(ClockReading {
            at,
            shown_ps,
            rate_ppt: libm::round(rate * 1e12) as i64,
            follows: self.parent.is_some(),
            offsets: self.offsets,
            offset: found.map(|found| (found.at, in_64_bits(found.offset))),
            bound_ps: match own {
                true => Some(0),
                false => found.filter(|_| held).map(found_bound),
            },
            ahead_of_utc_s: ahead_of_utc.unwrap_or(0),
            steps: self.counters.steps,
        })
    }

    /// The state of the clock as a whole, for reports.
    fn state(&self) -> alloc::string::String {
        match (&self.parent, self.config.clock_type) {
            (_, Type::Transparent) => "transparent".into(),
            (Some(parent), _) => {
                let word = match self.config.free_running {
                    true => "free running",
                    false => self.servo.word(),
                };
                format!("slave of {}, {word}", parent.set.sender.clock)
            }
            (None, Type::Ordinary) => self.sides[0].state.word().into(),
            (None, _) => "master".into(),
        }
    }
}

impl Node for Ptp {
    fn properties(&self) -> Properties {
        let switch = self.switch.as_ref().map(Node::properties);
        Properties {
            may_lack_links: self.config.ports > 1,
            needs: switch.and_then(|switch| switch.needs),
            ..Properties::of(self.config.ports.into())
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.clock.advance(now);
        self.speak(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.next_message()
    }

    fn event(&mut self, _now: Time, event: &Event, out: &mut Out) {
        if let What::Departed(id) = event.what {
            let id = id.0.get();
            match &mut self.transparent {
                Some(transparent) if id & transparent::MARK != 0 => {
                    transparent.left(id, event.port, event.at, &self.clock, out);
                }
                _ => self.departed(id, event.at, out),
            }
        }
    }

    fn statistics(&self) -> Statistics {
        let mut counts = Statistics::default();
        message::tell(&self.counters, &mut counts);
        if let Some(transparent) = &self.transparent {
            counts.counter("corrected", transparent.corrected);
            counts.counter("uncorrected", transparent.uncorrected);
            counts.counter("withheld", transparent.withheld);
        }
        let parent = self.parent.as_ref();
        let delay = parent.and_then(|parent| self.sides[parent.port].delays.value());
        counts.clock = Some(Box::new(ClockReport {
            protocol: "ptp",
            state: self.state(),
            offset: self.measured.offset(),
            error: self.measured.error(),
            // However unequal both ways are, neither is shorter than nothing.
            bound_ps: delay.map(|delay| in_64_bits(delay).unsigned_abs()),
            delay_ps: delay.map(in_64_bits),
            steered_ppt: libm::round(self.clock.steered() * 1e12) as i64,
            trace: self.measured.trace().into(),
            reading: self.reading(),
        }));
        counts
    }
}

/// A time in a message, picoseconds.
fn local(time: ptp::Timestamp) -> Local {
    Local::from(time.seconds) * 1_000_000_000_000 + Local::from(time.nanoseconds) * 1_000
}

/// A correction, picoseconds: rounded down.
fn unscaled(correction: i64) -> Local {
    (Local::from(correction) * 1_000) >> 16
}

/// Picoseconds as a correction, rounded down; what it does not hold is as much as it does.
fn scaled(time: Local) -> i64 {
    let scaled = (time << 16).div_euclid(1_000);
    i64::try_from(scaled).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX })
}
