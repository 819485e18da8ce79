//! The Precision Time Protocol (IEEE 1588-2019): an ordinary, a boundary or a transparent clock, two-step.
//!
//! - **Ports:** `ports`. Of an ordinary clock port 0 speaks PTP; with a second one it is in line: what is no PTP goes from one to the
//!   other, as through the card of a host. A boundary clock speaks PTP at each port, and is a switch for all else; a
//!   transparent clock is a switch that tells how long PTP's messages were inside.
//! - **Parameters:** see [`Config`].
//! - **Counters:** of messages sent and received by type; `foreign`: of masters that are not the own; `unmatched`: a Follow_Up or an answer
//!   without what it belongs to; `lost_follow_ups`: a Sync came before the Follow_Up of the last; `delays`: found; `steps`: times that the
//!   clock was set; `masters`: changes of the master; `contradictions`: what bounds it could not all be true, so that a rate changed by
//!   more than `clock.wander`, or the master was set; of a transparent clock `corrected`, `uncorrected`, `withheld`.
//! - **Drops:** `no PTP message`; why a message cannot be read; `of another domain`; `of another standard`; `of this clock itself`;
//!   `for another type of clock`; and those of [`switch`].
//! - **Paper:** 002 section 4.5.4, figures 4.31 d to f.
//!
//! The clock is one of its own, which runs as its oscillator and the servo have it; nothing else is ever set. A stamp is when the first bit of
//! a message left or came, exact where the world is: what a departure was is asked of the [world](node::event::What::Departed). Delays
//! are taken to be the same both ways, as PTP does: half of what they differ by is an offset that it cannot see.

mod best;
mod config;
mod due;
mod message;
mod port;
mod slave;
mod transparent;

pub use config::{Config, Mechanism, Role, Transport, Type};

use crate::clock::found::Found;
use crate::clock::limits::Limits;
use crate::clock::measured::Measured;
use crate::clock::servo::Servo;
use crate::clock::station::ENDLESS;
use crate::clock::{Clock, Local, interval};
use crate::switch::{self, Switch};
use alloc::format;
use alloc::vec::Vec;
use best::{DataSet, TimeProperties};
use due::Due;
use message::Stamps;
use node::ConfigError;
use node::event::{Event, What};
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ptp::{self, Announce, Body, ClockIdentity, Message, PortIdentity, Quality};
use port::{Side, State};
use transparent::Transparent;

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
    /// How far it may be ahead of its master, if nobody had corrected it.
    limits: Limits,
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
            limits: Limits::new(config.clock.wander),
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
            Body::FollowUp(time) => self.followed(port, message, local(time)),
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
            self.limits.clear();
            // Alone it still knows how far it was from its master; of another one it knows nothing.
            if parent.is_some() {
                self.found = None;
            }
        }
        self.parent = parent;
        (0..self.sides.len()).for_each(|port| self.settle(port));
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
            endless: self.next_message().map(|_| ENDLESS),
            forwards: switch.is_some_and(|switch| switch.forwards),
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
        message::tell(&self.counters, self.limits.contradictions, &mut counts);
        if let Some(transparent) = &self.transparent {
            counts.counter("corrected", transparent.corrected);
            counts.counter("uncorrected", transparent.uncorrected);
            counts.counter("withheld", transparent.withheld);
        }
        let parent = self.parent.as_ref();
        let delay = parent.and_then(|parent| self.sides[parent.port].delays.value());
        let (state, reading) = (self.state(), self.reading());
        let report = self
            .measured
            .report("ptp", state, delay, &self.clock, reading);
        counts.extensions.insert(report);
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
