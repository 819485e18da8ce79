//! What a clock says, when, and what it makes of when that left.

use super::best::TimeProperties;
use super::port::{Asked, State};
use super::{Counters, Mechanism, Parent, Ptp, Transport, scaled, unscaled};
use crate::clock::{Local, interval};
use alloc::format;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use node::{Out, Port, StampId, Statistics, Time};
use packet::ptp::{Announce, Body, Message, Over, PortIdentity, TWO_STEP, Timestamp};

/// Maximum number of departures that each port waits for.
const MAX_PENDING_DEPARTURES: usize = 64;
/// A clock of its own is none of TAI, so that the seconds by which that is ahead of UTC since 2017 mean nothing here.
const OWN_TIME: TimeProperties = TimeProperties {
    utc_offset: 37,
    flags: 0,
};

/// Purpose of a departure request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// For its Follow_Up.
    Sync { port: usize, sequence: u16 },
    /// For the delay.
    Ask { port: usize, sequence: u16 },
    /// For what follows the answer to a peer.
    PeerAnswer {
        port: usize,
        sequence: u16,
        requester: PortIdentity,
        correction: i64,
    },
}

/// What departures are waited for.
#[derive(Clone, Debug)]
pub(super) struct Stamps {
    /// By number, as far as there is room: older ones are forgotten.
    asked: Vec<(u32, Option<Purpose>)>,
    last: u32,
}

impl Stamps {
    pub fn new(ports: usize) -> Stamps {
        Stamps {
            asked: alloc::vec![(0, None); MAX_PENDING_DEPARTURES * ports.max(1)],
            last: 0,
        }
    }

    fn ask(&mut self, purpose: Purpose) -> StampId {
        self.last = self.last % (i32::MAX as u32) + 1;
        let place = self.last as usize % self.asked.len();
        self.asked[place] = (self.last, Some(purpose));
        StampId(NonZeroU32::new(self.last).expect("it is at least 1"))
    }

    fn take(&mut self, id: u32) -> Option<Purpose> {
        let place = id as usize % self.asked.len();
        let (number, purpose) = &mut self.asked[place];
        purpose.take_if(|_| *number == id)
    }
}

impl Ptp {
    /// Sends a message by a port.
    fn send(&mut self, port: usize, message: &Message, why: Option<Purpose>, out: &mut Out) {
        let over = match self.config.transport {
            Transport::Ethernet => Over::Ethernet,
            Transport::Udp => Over::Udp(self.config.address),
        };
        self.scratch.clear();
        message.build_frame(self.config.mac, over, &mut self.scratch);
        let mut frame = out.frame();
        frame.extend(&self.scratch);
        if let Some(why) = why {
            frame.ask_for_stamp(self.stamps.ask(why));
        }
        self.counters.sent[usize::from(message.body.kind())] += 1;
        out.send(Port(port as u16), frame);
    }

    fn own_message(&self, port: usize, sequence: u16, body: Body) -> Message {
        let source = PortIdentity {
            clock: self.identity,
            port: port as u16 + 1,
        };
        Message::new(self.config.domain, source, sequence, body)
    }

    /// When something is to be said next, or decided.
    pub(super) fn next_message(&self) -> Option<Time> {
        Some(self.due.first()).filter(|&at| at < Time::MAX)
    }

    /// What a port is about has changed: it may want to be woken at another time.
    pub(super) fn settle(&mut self, port: usize) {
        let (side, peer) = (&self.sides[port], self.config.delay == Mechanism::Peer);
        let own = match side.state {
            State::Master => side.next_announce.min(side.next_sync),
            State::Slave if peer => Time::MAX,
            State::Slave => side.next_ask,
            State::Listening if self.transparent.is_some() => Time::MAX,
            State::Listening | State::Passive => side.alone_from,
        };
        let own = if peer { own.min(side.next_ask) } else { own };
        let expiry = side.foreigns.next_expiry().unwrap_or(Time::MAX);
        self.due.set(port, own.min(expiry));
    }

    /// The first port from this one on that is due and of which something is so.
    fn due_port(
        &self,
        mut from: usize,
        now: Time,
        so: impl Fn(&super::Side) -> bool,
    ) -> Option<usize> {
        loop {
            let port = self.due.port(from, now)?;
            if so(&self.sides[port]) {
                return Some(port);
            }
            from = port + 1;
        }
    }

    /// Says what is due.
    pub(super) fn speak(&mut self, now: Time, out: &mut Out) {
        let expired = |side: &super::Side| {
            let expiry = side.foreigns.next_expiry();
            let alone = matches!(side.state, State::Listening | State::Passive);
            expiry.is_some_and(|at| at <= now) || alone && side.alone_from <= now
        };
        if self.due_port(0, now, expired).is_some() {
            self.decide(now);
            let holds = self.announce_holds(self.config.log_announce_interval);
            let mut from = 0;
            while let Some(port) = self.due_port(from, now, expired) {
                self.sides[port].alone_from = now + holds;
                self.settle(port);
                from = port + 1;
            }
        }
        let mut from = 0;
        while let Some(port) = self.due.port(from, now) {
            let side = &self.sides[port];
            let (state, peer) = (side.state, self.config.delay == Mechanism::Peer);
            let asks = peer || state == State::Slave && side.synced.is_some();
            if state == State::Master && side.next_announce <= now {
                self.announce(now, port, out);
            }
            if state == State::Master && self.sides[port].next_sync <= now {
                self.sync(now, port, out);
            }
            if (peer || state == State::Slave) && self.sides[port].next_ask <= now {
                self.ask(now, port, asks, out);
            }
            self.settle(port);
            from = port + 1;
        }
    }

    fn announce(&mut self, now: Time, port: usize, out: &mut Out) {
        let (set, properties) = match self.parent {
            Some(Parent { set, time, .. }) => (set, time),
            None => (self.own_set(), OWN_TIME),
        };
        let announce = Announce {
            utc_offset: properties.utc_offset,
            priority1: set.priority1,
            quality: set.quality,
            priority2: set.priority2,
            grandmaster: set.grandmaster,
            steps_removed: match self.parent {
                Some(_) => set.steps_removed + 1,
                None => 0,
            },
            time_source: 0xA0,
        };
        let log = self.config.log_announce_interval;
        let side = &mut self.sides[port];
        let sequence = side.announces;
        side.announces = sequence.wrapping_add(1);
        side.next_announce = now + interval(log);
        let time = stamp(self.clock.read(now)).0;
        let body = Body::Announce(time, announce);
        let message = Message {
            flags: properties.flags,
            log_interval: log,
            ..self.own_message(port, sequence, body)
        };
        self.send(port, &message, None, out);
    }

    fn sync(&mut self, now: Time, port: usize, out: &mut Out) {
        let log = self.config.log_sync_interval;
        let side = &mut self.sides[port];
        let sequence = side.syncs;
        side.syncs = sequence.wrapping_add(1);
        side.next_sync = now + interval(log);
        let time = stamp(self.clock.read(now)).0;
        let message = Message {
            flags: TWO_STEP,
            log_interval: log,
            ..self.own_message(port, sequence, Body::Sync(time))
        };
        self.send(port, &message, Some(Purpose::Sync { port, sequence }), out);
    }

    /// Asks about the delay, if there is somebody to ask.
    fn ask(&mut self, now: Time, port: usize, asks: bool, out: &mut Out) {
        let peer = self.config.delay == Mechanism::Peer;
        let mean = interval(self.config.log_delay_interval).as_ps();
        // Slaves of one master shall not ask all at once (clause 9.5.11.2): up to twice the mean, evenly.
        let wait = match peer {
            true => mean,
            false => 1 + self.random.below(2 * mean),
        };
        let side = &mut self.sides[port];
        side.next_ask = now + Time::from_ps(wait);
        if !asks {
            return;
        }
        let sequence = side.asks;
        side.asks = sequence.wrapping_add(1);
        side.asked = Some(Asked {
            sequence,
            left: None,
            free: 0,
            answer: None,
            came: None,
            forth: side.synced.map_or(0, |synced| synced.forth),
        });
        let body = match peer {
            true => Body::PdelayReq(Timestamp::default()),
            false => Body::DelayReq(Timestamp::default()),
        };
        let message = self.own_message(port, sequence, body);
        self.send(port, &message, Some(Purpose::Ask { port, sequence }), out);
    }

    /// Something has left of which that was asked.
    pub(super) fn departed(&mut self, id: u32, at: Time, out: &mut Out) {
        let (left, free) = (self.clock.read(at), self.clock.free(at));
        match self.stamps.take(id) {
            None => {}
            Some(Purpose::Sync { port, sequence }) => {
                let (time, rest) = stamp(left);
                let message = Message {
                    correction: scaled(rest),
                    log_interval: self.config.log_sync_interval,
                    ..self.own_message(port, sequence, Body::FollowUp(time))
                };
                self.send(port, &message, None, out);
            }
            Some(Purpose::Ask { port, sequence }) => {
                if let Some(asked) = self.sides[port].asked.as_mut()
                    && asked.sequence == sequence
                {
                    (asked.left, asked.free) = (Some(left), free);
                    self.find_delay(port);
                }
            }
            Some(Purpose::PeerAnswer {
                port,
                sequence,
                requester,
                correction,
            }) => {
                let (time, rest) = stamp(left);
                let body = Body::PdelayRespFollowUp(time, requester);
                let message = Message {
                    correction: correction.saturating_add(scaled(rest)),
                    ..self.own_message(port, sequence, body)
                };
                self.send(port, &message, None, out);
            }
        }
    }

    /// A slave asks when its question came.
    pub(super) fn answer_delay(
        &mut self,
        _now: Time,
        port: usize,
        at: Time,
        message: &Message,
        out: &mut Out,
    ) {
        if self.sides[port].state != State::Master || self.config.delay == Mechanism::Peer {
            return;
        }
        let (time, rest) = stamp(self.clock.read(at));
        let answer = Message {
            // What is less than a nanosecond is added to the time by being taken off the correction.
            correction: message.correction.saturating_sub(scaled(rest)),
            log_interval: self.config.log_delay_interval,
            ..self.own_message(
                port,
                message.sequence,
                Body::DelayResp(time, message.source),
            )
        };
        self.send(port, &answer, None, out);
    }

    /// The answer to such a question.
    pub(super) fn delay_answered(
        &mut self,
        port: usize,
        message: &Message,
        came: Local,
        requester: PortIdentity,
    ) {
        let own = self.own_message(port, 0, Body::Other(0)).source;
        // Others' answers come by too.
        if requester != own || !self.is_from_parent(port, message) {
            return;
        }
        let asked = self.sides[port].asked.as_mut();
        match asked.filter(|asked| asked.sequence == message.sequence && asked.answer.is_none()) {
            Some(asked) => {
                asked.answer = Some(came - unscaled(message.correction));
                self.find_delay(port);
            }
            None => self.counters.unmatched += 1,
        }
    }

    /// The other end of a link asks.
    pub(super) fn answer_peer(&mut self, port: usize, at: Time, message: &Message, out: &mut Out) {
        if self.config.delay == Mechanism::EndToEnd {
            return;
        }
        let (time, rest) = stamp(self.clock.read(at));
        let (sequence, requester) = (message.sequence, message.source);
        let answer = Message {
            flags: TWO_STEP,
            correction: scaled(-rest),
            ..self.own_message(port, sequence, Body::PdelayResp(time, requester))
        };
        let why = Purpose::PeerAnswer {
            port,
            sequence,
            requester,
            correction: message.correction,
        };
        self.send(port, &answer, Some(why), out);
    }

    /// Its answer.
    pub(super) fn peer_answered(
        &mut self,
        port: usize,
        at: Time,
        message: &Message,
        came: Local,
        requester: PortIdentity,
    ) {
        let own = self.own_message(port, 0, Body::Other(0)).source;
        let arrived = self.clock.read(at);
        let asked = self.sides[port].asked.as_mut();
        let asked = asked.filter(|asked| {
            requester == own && asked.sequence == message.sequence && asked.came.is_none()
        });
        let Some(asked) = asked else {
            self.counters.unmatched += 1;
            return;
        };
        asked.came = Some((arrived, message.source));
        let correction = unscaled(message.correction);
        match message.flags & TWO_STEP {
            // One step: the time inside is in the correction.
            0 => asked.answer = Some(correction),
            // Half of it: the departure comes later.
            _ => asked.forth = correction - came,
        }
        self.find_delay(port);
    }

    /// When that answer left.
    pub(super) fn peer_followed(
        &mut self,
        port: usize,
        message: &Message,
        left: Local,
        requester: PortIdentity,
    ) {
        let own = self.own_message(port, 0, Body::Other(0)).source;
        let asked = self.sides[port].asked.as_mut();
        let asked = asked.filter(|asked| {
            let same = asked.came.is_some_and(|(_, from)| from == message.source);
            requester == own && asked.sequence == message.sequence && same
        });
        let Some(asked) = asked else {
            self.counters.unmatched += 1;
            return;
        };
        asked.answer = Some(left + asked.forth + unscaled(message.correction));
        self.find_delay(port);
    }

    /// Takes the delay, if all of its exchange is there.
    fn find_delay(&mut self, port: usize) {
        let side = &mut self.sides[port];
        let asked = side.asked;
        let found = match self.config.delay {
            Mechanism::EndToEnd => side.end_to_end(),
            Mechanism::Peer => side.peer(),
        };
        self.counters.delays += u64::from(found.is_some());
        if let (Some(Asked { free, answer, .. }), Some(_)) = (asked, found)
            && self.config.delay == Mechanism::EndToEnd
            && let Some(answer) = answer
        {
            self.heard_by_master(free, answer);
        }
    }
}

/// A time on the clock as a message has it, and what is less than a nanosecond of it. Before its epoch there is no time.
fn stamp(time: Local) -> (Timestamp, Local) {
    let time = time.max(0);
    let ns = time / 1_000;
    let stamp = Timestamp {
        seconds: (ns / 1_000_000_000) as u64,
        nanoseconds: (ns % 1_000_000_000) as u32,
    };
    (stamp, time % 1_000)
}

/// Tells the counters, those of messages as far as there were any.
pub(super) fn tell(counters: &Counters, contradictions: u64, into: &mut Statistics) {
    let ways = [("sent", &counters.sent), ("received", &counters.received)];
    for kind in [0x0, 0x8, 0x1, 0x9, 0x2, 0x3, 0xA, 0xB, 0xC, 0xD] {
        let name = Body::Other(kind).name().to_ascii_lowercase();
        for (way, counts) in ways {
            let count = counts[usize::from(kind)];
            if count > 0 {
                into.counter(&format!("{name}_{way}"), count);
            }
        }
    }
    into.counter("foreign", counters.foreign);
    into.counter("unmatched", counters.unmatched);
    into.counter("lost_follow_ups", counters.lost_follow_ups);
    into.counter("delays", counters.delays);
    into.counter("steps", counters.steps);
    into.counter("masters", counters.masters);
    into.counter("contradictions", contradictions);
}
