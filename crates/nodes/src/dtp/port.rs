//! Algorithm 3: DTP at one port.
//!
//! | transition | what happens |
//! |---|---|
//! | T0 | the link is up: the local counter becomes the global one, and an INIT goes out with the oscillator's ticks |
//! | T1 | an INIT comes: an INIT-ACK goes back with what it said |
//! | T2 | an INIT-ACK comes: half of the round trip less alpha is the delay; a BEACON-JOIN follows |
//! | T3 | it is time: a BEACON goes out with the global counter |
//! | T4 | a BEACON comes: the local counter becomes what that says, and the delay, if it was less |

use super::hearing::{BeaconOutcome, Hearing, RANGE, WIDE_RANGE};
use super::message::{HALF, Message, PAYLOAD};
use super::rule::{Estimate, Rule};
use super::{Base, Config};
use alloc::format;
use node::Statistics;

/// Maximum round trip, ticks. The longest cables take 5 us, 800 ticks, in each direction.
const MAX_ROUND_TRIP: u64 = 1 << 14;
/// Timeout of an INIT, ticks, after which it is sent again.
const INIT_TIMEOUT: u64 = 1 << 15;
/// Ticks beyond a round trip in which a beacon ahead out of range counts once: until then the peer
/// may not have heard how far this end is, and its BEACON-JOIN may be under way, however often
/// beacons come.
const ANSWERS_WITHIN: u64 = 64;
/// Number of beacons between two reports of the high half of the counter.
pub const MSB: u32 = 4_096;
/// Ticks after a join during which a device announces its counter to a peer that seems to be behind,
/// for rules other than the maximum.
const WINDOW: u64 = 100_000;
/// Maximum number of joins in [`JOINS_WITHIN`] ticks for rules other than the maximum. A peer that
/// causes more takes the counter along, by more than its slew. Just after a link comes up, the
/// counters of a whole network may arrive one after the other.
const MAX_JOINS: u32 = 4;
/// Length of that window, ticks.
const JOINS_WITHIN: u64 = 1_000_000;
/// Maximum offset in LOG messages that has a counter of its own, ticks.
const LOGGED: usize = 8;

/// States of figure D.26, and of a port before and after them.
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
    /// There is a new estimate of how far the peer is ahead.
    Estimate,
    /// The global counter moves, however far that is.
    Join(Base),
}

/// What has happened, but for the beacons that were heard.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    beacons_sent: u64,
    joins: u64,
    damaged: u64,
    given_up: u64,
    /// From `LOGGED` ticks behind, or more, to as many ahead.
    logged: [u64; 2 * LOGGED + 1],
}

/// The counters of all ports of a device.
pub fn tell(sides: &[Side], statistics: &mut Statistics) {
    let sum = |count: fn(&Side) -> u64| sides.iter().map(count).sum::<u64>();
    let greatest = sides.iter().map(|side| side.hearing.greatest_jump.into());
    for (name, value) in [
        ("dtp_beacons_sent", sum(|side| side.counters.beacons_sent)),
        ("dtp_beacons_heard", sum(|side| side.hearing.heard)),
        ("dtp_jumps", sum(|side| side.hearing.jumps)),
        ("dtp_greatest_jump", greatest.max().unwrap_or(0)),
        ("dtp_joins", sum(|side| side.counters.joins)),
        ("dtp_out_of_range", sum(|side| side.hearing.out_of_range)),
        ("dtp_damaged", sum(|side| side.counters.damaged)),
        ("dtp_given_up", sum(|side| side.counters.given_up)),
    ] {
        statistics.counter(name, value);
    }
    for index in 0..=2 * LOGGED {
        let count: u64 = sides.iter().map(|side| side.counters.logged[index]).sum();
        if count > 0 {
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
    rule: Rule,
    alpha: u64,
    interval: u64,
    log_interval: Option<u64>,
    state: State,
    /// Whether the device's counter follows the one of this port.
    followed: bool,
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
    /// When the delay was measured, or the global counter moved by a BEACON-JOIN.
    joined_at: u64,
    /// From when on a beacon that is astray counts.
    astray_at: u64,
    estimate: Estimate,
    /// Since when BEACON-JOINs that moved the counter are counted, and how many there were.
    joins: (u64, u32),
    hearing: Hearing,
    counters: Counters,
}

impl Side {
    pub fn new(config: &Config) -> Side {
        Side {
            rule: config.rule,
            alpha: config.alpha().into(),
            interval: config.beacon.into(),
            log_interval: config.log.map(u64::from),
            state: State::Down,
            followed: true,
            delay: 0,
            answer: None,
            joining: Joining::No,
            beacon_at: 0,
            log_at: 0,
            beacons_to_msb: MSB,
            peer_high: None,
            half_joined: None,
            joined_at: 0,
            astray_at: 0,
            estimate: Estimate::default(),
            joins: (0, 0),
            hearing: Hearing::default(),
            counters: Counters::default(),
        }
    }

    pub fn is_up(&self) -> bool {
        self.state != State::Down
    }

    pub fn is_followed(&self) -> bool {
        self.followed
    }

    pub fn set_followed(&mut self, followed: bool) {
        self.followed = followed;
    }

    pub fn delay(&self) -> Option<i64> {
        (self.state == State::Sync).then_some(self.delay)
    }

    /// The state by its name in figure D.26.
    pub fn state(&self) -> &'static str {
        match self.state {
            State::Down => "DOWN",
            State::Init => "INIT",
            State::Sent(_) => "SENT",
            State::Sync => "SYNC",
            State::GivenUp => "GIVEN UP",
        }
    }

    /// Sets the beacon interval in ticks from now on.
    pub fn set_interval(&mut self, tick: u64, interval: u64) {
        self.interval = interval;
        self.beacon_at = self.beacon_at.min(tick + interval);
    }

    /// The local counter.
    pub fn local(&self) -> Base {
        self.hearing.local
    }

    pub fn heard(&self) -> u64 {
        self.hearing.heard
    }

    pub fn sent(&self) -> u64 {
        self.counters.beacons_sent
    }

    pub fn out_of_range(&self) -> u64 {
        self.hearing.out_of_range
    }

    pub fn damaged(&self) -> u64 {
        self.counters.damaged
    }

    pub fn down(&mut self) {
        self.state = State::Down;
        (self.answer, self.joining) = (None, Joining::No);
    }

    /// T0.
    pub fn up(&mut self, tick: u64, global: Base) {
        self.state = State::Init;
        (self.answer, self.joining) = (None, Joining::No);
        (self.peer_high, self.half_joined) = (None, None);
        self.estimate.take();
        self.hearing.begin(tick, global);
    }

    /// The global counter has moved by a BEACON-JOIN; it is passed on by ports that it did not come by.
    pub fn join(&mut self, tick: u64, global: Base, pass_on: bool) {
        self.hearing.local = global;
        self.joined_at = tick;
        self.estimate.take();
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
            State::Sent(at) => Some(at + INIT_TIMEOUT),
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
            State::Sent(at) if tick >= at + INIT_TIMEOUT => return Some(self.ask(tick)),
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
        Message::Init(tick & PAYLOAD)
    }

    /// Takes a message at a tick. The global counter is `global` now, and was `began` before
    /// messages of the same tick moved it.
    pub fn take(&mut self, tick: u64, [global, began]: [Base; 2], bits: u64) -> Heard {
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
            (Message::Beacon(counter), State::Sync) if self.rule == Rule::Maximum => {
                return self.beacon(tick, began, counter);
            }
            (Message::Beacon(counter), State::Sync) => return self.weigh(tick, global, counter),
            (Message::BeaconJoin(counter), State::Sync) => {
                return self.asked_to_join(tick, global, counter);
            }
            (Message::BeaconMsb(high), State::Sync) => {
                self.told_high(high);
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

    /// T2. The round trip is timed by the oscillator's ticks: a counter may be moved meanwhile, by
    /// a BEACON-JOIN at another port.
    fn measured(&mut self, tick: u64, counter: u64) {
        let round = tick.wrapping_sub(counter) & PAYLOAD;
        if round > MAX_ROUND_TRIP {
            self.counters.damaged += 1;
            return;
        }
        self.delay = (round as i64 - self.alpha as i64).div_euclid(2);
        self.state = State::Sync;
        self.joining = Joining::Msb;
        (self.joined_at, self.joins) = (tick, (tick + WINDOW, 0));
        self.astray_at = tick;
        (self.beacon_at, self.log_at) = (tick, tick + self.log_interval.unwrap_or(0));
    }

    /// T4.
    ///
    /// The global counter may have gone on by other ports without this one's local counter. A peer
    /// that has followed is then out of range of the local counter, which takes the global one
    /// first: a device synchronises the local counters of its ports (4.5.2).
    fn beacon(&mut self, tick: u64, global: Base, counter: u64) -> Heard {
        let delay = self.delay;
        let ahead = |own: Base| difference(counter, own.at(tick) as u64).saturating_add(delay);
        let mut ahead_by = ahead(self.hearing.local);
        if ahead_by > RANGE {
            self.hearing.local = global;
            ahead_by = ahead(global);
        }
        // A peer that does not move the device's counter is charged with the jumps of the local one.
        let leads = match self.followed {
            true => ahead(global),
            false => ahead_by,
        };
        match self.hearing.beacon(tick, ahead_by, leads) {
            BeaconOutcome::Nothing => {}
            BeaconOutcome::Moved => return Heard::Local(self.hearing.local),
            // This tells a peer that is ahead how far this end is; the peer answers by its own
            // BEACON-JOIN.
            BeaconOutcome::Astray => {
                if self.astray(tick) {
                    self.joining = Joining::Msb;
                }
            }
            BeaconOutcome::FellBehind => self.joining = Joining::Msb,
            BeaconOutcome::Faulty => self.give_up(),
        }
        Heard::Nothing
    }

    /// Whether it counts, and the peer was not given up.
    fn astray(&mut self, tick: u64) -> bool {
        if tick < self.astray_at {
            return false;
        }
        self.astray_at = tick + 2 * self.delay.max(0) as u64 + ANSWERS_WITHIN;
        let given_up = self.hearing.count_astray();
        if given_up {
            self.give_up();
        }
        !given_up
    }

    /// In the place of T4 where the device does not follow the maximum.
    ///
    /// A peer that falls behind is told to join only by who has joined itself not long ago, and may not have been heard: else whose counter jumps would
    /// take the network along.
    fn weigh(&mut self, tick: u64, global: Base, counter: u64) -> Heard {
        let ahead = difference(counter, global.at(tick) as u64).saturating_add(self.delay);
        let range = match self.rule {
            Rule::Gradient => WIDE_RANGE,
            Rule::Maximum | Rule::Average => RANGE,
        };
        match self.hearing.weigh(ahead, range) {
            Ok(()) => {
                self.estimate.add(ahead);
                return Heard::Estimate;
            }
            Err(BeaconOutcome::FellBehind) if tick.saturating_sub(self.joined_at) < WINDOW => {
                self.joining = Joining::Msb;
            }
            Err(BeaconOutcome::Astray) => {
                self.astray(tick);
            }
            Err(_) => {}
        }
        Heard::Nothing
    }

    /// How far the peer is ahead by the beacons since this was asked last, in sixteenths of a tick.
    pub fn take_estimate(&mut self) -> Option<i64> {
        self.estimate.take()
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
            ahead if ahead > RANGE.into() && self.joins_too_often(tick) => {
                self.give_up();
                Heard::Nothing
            }
            ahead if ahead > RANGE.into() => {
                self.counters.joins += 1;
                Heard::Join(told)
            }
            // The peer does not know yet how far this end is.
            ahead if ahead < (-RANGE).into() => {
                self.joining = Joining::Msb;
                Heard::Nothing
            }
            _ if self.rule == Rule::Maximum && told.ahead_of(self.hearing.local) > 0 => {
                self.hearing.local = told;
                Heard::Local(told)
            }
            _ => Heard::Nothing,
        }
    }

    /// A beacon that has moved the local counter led the device's by `leads` ticks; whether the peer
    /// is given up for it.
    pub fn charge(&mut self, tick: u64, leads: i64) -> bool {
        let given_up = self.state == State::Sync && self.hearing.charge(tick, leads);
        if given_up {
            self.hearing.jumps -= 1;
            self.give_up();
        }
        given_up
    }

    fn joins_too_often(&mut self, tick: u64) -> bool {
        if self.rule == Rule::Maximum || tick < self.joins.0 {
            return false;
        }
        if tick - self.joins.0 > JOINS_WITHIN {
            self.joins = (tick, 0);
        }
        self.joins.1 += 1;
        self.joins.1 > MAX_JOINS
    }

    fn give_up(&mut self) {
        self.counters.given_up += 1;
        self.state = State::GivenUp;
        (self.answer, self.joining) = (None, Joining::No);
    }
}

/// A port that does nothing but send beacons, and hear them.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    pub delay: i64,
    /// So many messages from now one is a BEACON-MSB; 1 for the next.
    pub to_msb: u32,
}

impl Side {
    /// From one beacon to the next, ticks.
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// Whether it says nothing at all, until its link goes down or comes up.
    pub fn is_silent(&self) -> bool {
        matches!(self.state, State::Down | State::GivenUp)
    }

    /// How it goes on, if that is by beacons alone.
    pub fn steady(&self) -> Option<Steady> {
        let alone = self.state == State::Sync
            && self.answer.is_none()
            && self.joining == Joining::No
            && self.log_interval.is_none();
        alone.then_some(Steady {
            delay: self.delay,
            to_msb: self.beacons_to_msb,
        })
    }

    /// While it was steady it has sent so many messages, the last at this tick, as [`fill`](Side::fill) would have.
    pub fn has_sent(&mut self, messages: u64, last: u64) {
        let to_msb = u64::from(self.beacons_to_msb);
        let every = u64::from(MSB);
        let msbs = (messages + every - to_msb) / every;
        self.counters.beacons_sent += messages - msbs;
        self.beacons_to_msb = (to_msb + msbs * every - messages) as u32;
        self.beacon_at = last + self.interval;
    }

    /// The peer has told the high half of its counter.
    pub fn told_high(&mut self, high: u64) {
        (self.peer_high, self.half_joined) = (Some(high), None);
    }

    pub fn hearing(&self) -> Hearing {
        self.hearing
    }

    /// What came of beacons that it has heard while it was steady.
    pub fn has_heard(&mut self, hearing: Hearing) {
        self.hearing = hearing;
    }
}

/// By how much one half of a counter is ahead of another.
pub fn difference(one: u64, other: u64) -> i64 {
    const REST: u32 = u64::BITS - HALF;
    (one.wrapping_sub(other) << REST) as i64 >> REST
}
