//! Algorithm 3: DTP at one port.
//!
//! | transition | what happens |
//! |---|---|
//! | T0 | the link is up: the local counter becomes the global one, and an INIT goes out with it |
//! | T1 | an INIT comes: an INIT-ACK goes back with what it said |
//! | T2 | an INIT-ACK comes: half of the round trip less alpha is the delay; a BEACON-JOIN follows |
//! | T3 | it is time: a BEACON goes out with the global counter |
//! | T4 | a BEACON comes: the local counter becomes what that says, and the delay, if it was less |

use super::message::{HALF, Message, PAYLOAD};
use super::{Base, Config};
use alloc::format;
use node::Statistics;

/// A beacon that is off by more says nothing (section 4.5.2).
const RANGE: i64 = 8;
/// A round trip that takes longer is none: the longest cables are 5 us, 800 ticks, each way.
const LONGEST: u64 = 1 << 14;
/// An INIT that was not answered for so long is sent again.
const PATIENCE: u64 = 1 << 15;
/// Jumps are added up over so many ticks.
const WINDOW: u64 = 100_000;
/// A peer that makes the local counter jump by more in that time is faulty: a clock 200 ppm faster makes it jump by 20, and the delay
/// may come out 8 ticks differently at its two ends.
const MOST_JUMPS: u64 = 20 + 16;
/// So many beacons out of range, less those within, are too often.
const MOST_ASTRAY: u32 = 16;
/// A peer that has fallen behind, by so many beacons, did not hear a BEACON-JOIN.
const BEHIND: u32 = 6;
/// Every so many beacons the high half of the counter is told.
const MSB: u32 = 4_096;
/// Offsets that LOG messages tell are counted one by one up to so many ticks.
const LOGGED: usize = 8;

/// Figure D.26, and what a port is before and behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No link.
    Down,
    /// An INIT is to be sent.
    Init,
    /// It was sent at this tick.
    Sent(u64),
    /// The delay is known.
    Sync,
    /// The peer is faulty: nothing is said, and nothing heard, until the link goes down.
    GivenUp,
}

/// What a message has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Nothing,
    /// The local counter has moved.
    Local(Base),
    /// The global counter moves, however far that is.
    Join(Base),
}

/// What has happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    beacons_sent: u64,
    beacons_heard: u64,
    jumps: u64,
    greatest_jump: u64,
    joins: u64,
    out_of_range: u64,
    damaged: u64,
    given_up: u64,
    /// From `LOGGED` ticks behind, or more, to as many ahead.
    logged: [u64; 2 * LOGGED + 1],
}

impl Counters {
    pub fn add(&mut self, other: &Counters) {
        self.greatest_jump = self.greatest_jump.max(other.greatest_jump);
        for (sum, more) in [
            (&mut self.beacons_sent, other.beacons_sent),
            (&mut self.beacons_heard, other.beacons_heard),
            (&mut self.jumps, other.jumps),
            (&mut self.joins, other.joins),
            (&mut self.out_of_range, other.out_of_range),
            (&mut self.damaged, other.damaged),
            (&mut self.given_up, other.given_up),
        ] {
            *sum += more;
        }
        for (sum, more) in self.logged.iter_mut().zip(other.logged) {
            *sum += more;
        }
    }

    pub fn tell(&self, statistics: &mut Statistics) {
        for (name, value) in [
            ("dtp_beacons_sent", self.beacons_sent),
            ("dtp_beacons_heard", self.beacons_heard),
            ("dtp_jumps", self.jumps),
            ("dtp_greatest_jump", self.greatest_jump),
            ("dtp_joins", self.joins),
            ("dtp_out_of_range", self.out_of_range),
            ("dtp_damaged", self.damaged),
            ("dtp_given_up", self.given_up),
        ] {
            statistics.counter(name, value);
        }
        for (index, &count) in self.logged.iter().enumerate().filter(|(_, n)| **n > 0) {
            let name = match index.checked_sub(LOGGED) {
                Some(ahead) => format!("dtp_log_{ahead}"),
                None => format!("dtp_log_minus_{}", LOGGED - index),
            };
            statistics.counter(&name, count);
        }
    }
}

/// What is left to be sent of BEACON-MSB, BEACON-JOIN, BEACON-JOIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joining {
    No,
    Msb,
    /// The high half that was told, and how often the low one is still to be.
    Low(u64, u8),
}

/// A port.
#[derive(Clone, Debug)]
pub struct Side {
    alpha: u64,
    interval: u64,
    log_interval: Option<u64>,
    state: State,
    local: Base,
    delay: i64,
    /// An answer to be sent, and since when.
    answer: Option<(u64, u64)>,
    joining: Joining,
    beacon_at: u64,
    log_at: u64,
    beacons_to_msb: u32,
    /// The high half of the peer's counter.
    peer_high: Option<u64>,
    /// A BEACON-JOIN that waits for the second one.
    half_joined: Option<Base>,
    /// Since when jumps are added up, and the sum.
    jumped: (u64, u64),
    astray: u32,
    behind: u32,
    pub counters: Counters,
}

impl Side {
    pub fn new(config: &Config) -> Side {
        Side {
            alpha: config.alpha.into(),
            interval: config.beacon.into(),
            log_interval: config.log.map(u64::from),
            state: State::Down,
            local: Base::default(),
            delay: 0,
            answer: None,
            joining: Joining::No,
            beacon_at: 0,
            log_at: 0,
            beacons_to_msb: MSB,
            peer_high: None,
            half_joined: None,
            jumped: (0, 0),
            astray: 0,
            behind: 0,
            counters: Counters::default(),
        }
    }

    pub fn is_up(&self) -> bool {
        self.state != State::Down
    }

    pub fn delay(&self) -> Option<i64> {
        (self.state == State::Sync).then_some(self.delay)
    }

    pub fn down(&mut self) {
        self.state = State::Down;
        (self.answer, self.joining) = (None, Joining::No);
    }

    /// T0.
    pub fn up(&mut self, tick: u64, global: Base) {
        self.state = State::Init;
        self.local = global;
        (self.answer, self.joining) = (None, Joining::No);
        (self.peer_high, self.half_joined) = (None, None);
        (self.jumped, self.astray, self.behind) = ((tick, 0), 0, 0);
    }

    /// The global counter has moved by a BEACON-JOIN; it is passed on by ports that it did not come by.
    pub fn join(&mut self, global: Base, pass_on: bool) {
        self.local = global;
        if pass_on && self.state == State::Sync {
            self.joining = Joining::Msb;
        }
    }

    pub fn due(&self) -> Option<u64> {
        let soon = self.answer.is_some() || self.joining != Joining::No;
        match self.state {
            State::Down | State::GivenUp => None,
            _ if soon => Some(0),
            State::Init => Some(0),
            State::Sent(at) => Some(at + PATIENCE),
            State::Sync => {
                let log = self.log_interval.map_or(u64::MAX, |_| self.log_at);
                Some(self.beacon_at.min(log))
            }
        }
    }

    pub fn fill(&mut self, tick: u64, global: Base) -> Option<Message> {
        let low = |base: Base| base.at(tick) as u64 & PAYLOAD;
        let high = (global.at(tick) >> HALF) as u64;
        if let Some((counter, since)) = self.answer.take() {
            return Some(Message::InitAck(counter.wrapping_add(tick - since)));
        }
        match self.state {
            State::Init => return Some(self.ask(tick)),
            State::Sent(at) if tick >= at + PATIENCE => return Some(self.ask(tick)),
            State::Sync => {}
            State::Down | State::GivenUp | State::Sent(_) => return None,
        }
        match self.joining {
            Joining::Low(told, left) if told == high => {
                self.joining = match left {
                    1 => Joining::No,
                    _ => Joining::Low(told, left - 1),
                };
                return Some(Message::BeaconJoin(low(global)));
            }
            // The low half has wrapped since, or nothing was told yet.
            Joining::Low(..) | Joining::Msb => {
                self.joining = Joining::Low(high, 2);
                return Some(Message::BeaconMsb(high));
            }
            Joining::No => {}
        }
        if tick >= self.beacon_at {
            self.beacon_at = tick + self.interval;
            self.beacons_to_msb -= 1;
            if self.beacons_to_msb == 0 {
                self.beacons_to_msb = MSB;
                return Some(Message::BeaconMsb(high));
            }
            self.counters.beacons_sent += 1;
            return Some(Message::Beacon(low(global)));
        }
        let interval = self.log_interval.filter(|_| tick >= self.log_at)?;
        self.log_at = tick + interval;
        Some(Message::Log(low(global)))
    }

    fn ask(&mut self, tick: u64) -> Message {
        self.state = State::Sent(tick);
        Message::Init(self.local.at(tick) as u64 & PAYLOAD)
    }

    pub fn take(&mut self, tick: u64, global: Base, bits: u64) -> Heard {
        if matches!(self.state, State::Down | State::GivenUp) {
            return Heard::Nothing;
        }
        let message = match Message::decode(bits) {
            Ok(Some(message)) => message,
            Ok(None) => return Heard::Nothing,
            Err(_) => {
                self.counters.damaged += 1;
                return Heard::Nothing;
            }
        };
        match (message, self.state) {
            // T1.
            (Message::Init(counter), _) => self.answer = Some((counter, tick)),
            (Message::InitAck(counter), State::Sent(_)) => self.measured(tick, counter),
            (Message::Beacon(counter), State::Sync) => return self.beacon(tick, counter),
            (Message::BeaconJoin(counter), State::Sync) => {
                return self.asked_to_join(tick, global, counter);
            }
            (Message::BeaconMsb(high), State::Sync) => {
                (self.peer_high, self.half_joined) = (Some(high), None);
            }
            (Message::Log(counter), State::Sync) => {
                let own = global.at(tick) as u64;
                let behind = difference(own, counter).saturating_sub(self.delay);
                let most = LOGGED as i64;
                self.counters.logged[(behind.clamp(-most, most) + most) as usize] += 1;
            }
            _ => {}
        }
        Heard::Nothing
    }

    /// T2.
    fn measured(&mut self, tick: u64, counter: u64) {
        let round = (self.local.at(tick) as u64).wrapping_sub(counter) & PAYLOAD;
        if round > LONGEST {
            self.counters.damaged += 1;
            return;
        }
        self.delay = (round as i64 - self.alpha as i64).div_euclid(2);
        self.state = State::Sync;
        self.joining = Joining::Msb;
        (self.beacon_at, self.log_at) = (tick, tick + self.log_interval.unwrap_or(0));
    }

    /// T4.
    fn beacon(&mut self, tick: u64, counter: u64) -> Heard {
        self.counters.beacons_heard += 1;
        let own = self.local.at(tick) as u64;
        let ahead = difference(counter, own).saturating_add(self.delay);
        if ahead.abs() > RANGE {
            self.counters.out_of_range += 1;
            if ahead > 0 {
                self.astray += 1;
                if self.astray > MOST_ASTRAY {
                    self.give_up();
                }
            } else {
                self.behind += 1;
                if self.behind >= BEHIND {
                    (self.behind, self.joining) = (0, Joining::Msb);
                }
            }
            return Heard::Nothing;
        }
        (self.astray, self.behind) = (self.astray.saturating_sub(1), 0);
        if ahead <= 0 {
            return Heard::Nothing;
        }
        if tick - self.jumped.0 > WINDOW {
            self.jumped = (tick, 0);
        }
        self.jumped.1 += ahead as u64;
        if self.jumped.1 > MOST_JUMPS {
            self.give_up();
            return Heard::Nothing;
        }
        self.counters.jumps += 1;
        self.counters.greatest_jump = self.counters.greatest_jump.max(ahead as u64);
        self.local = self.local.plus(ahead);
        Heard::Local(self.local)
    }

    fn asked_to_join(&mut self, tick: u64, global: Base, counter: u64) -> Heard {
        let Some(high) = self.peer_high else {
            return Heard::Nothing;
        };
        let counter = u128::from(high) << HALF | u128::from(counter);
        let told = Base::of(counter, tick).plus(self.delay);
        let agrees = |first: Base| told.ahead_of(first).abs() <= 2;
        if !self.half_joined.take().is_some_and(agrees) {
            self.half_joined = Some(told);
            return Heard::Nothing;
        }
        match told.ahead_of(global) {
            ahead if ahead > RANGE.into() => {
                self.counters.joins += 1;
                Heard::Join(told)
            }
            // The peer does not know yet how far this end is.
            ahead if ahead < (-RANGE).into() => {
                self.joining = Joining::Msb;
                Heard::Nothing
            }
            _ if told.ahead_of(self.local) > 0 => {
                self.local = told;
                Heard::Local(told)
            }
            _ => Heard::Nothing,
        }
    }

    fn give_up(&mut self) {
        self.counters.given_up += 1;
        self.state = State::GivenUp;
        (self.answer, self.joining) = (None, Joining::No);
    }
}

/// By how much one half of a counter is ahead of another.
fn difference(one: u64, other: u64) -> i64 {
    const REST: u32 = u64::BITS - HALF;
    (one.wrapping_sub(other) << REST) as i64 >> REST
}
