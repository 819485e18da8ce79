//! When which probe leaves.

use super::{Message, Plan, Prober, Train};
use crate::bandwidth::estimate::{Packet, burst};
use crate::endpoint::Peer;
use crate::train::{Begins, Rates, Trains, Walk};
use alloc::vec::Vec;
use node::random::Random;
use node::{Out, Port, Rate, Time};
use packet::ethernet::Mac;

/// How far ahead of its departure a probe is given to the world, and how many are at once.
const AHEAD: Time = Time::from_us(100);
const BATCH: usize = 32;
/// Between two questions for the next hop's address, and how often it is asked for.
const ASK_AGAIN: Time = Time::from_secs(1);
const QUESTIONS: u32 = 5;

/// Where a prober is in what it sends.
pub(super) struct Sending {
    stage: Stage,
    /// Of the next hop, once it is known.
    /// Whether the check is still to be over, which is before all samples.
    is_checking: bool,
    mac: Option<Mac>,
    walk: Option<Walk>,
    /// The method whose turn it is, and how often all had theirs.
    turn: usize,
    round: u64,
    /// The number of the next probe.
    next: u64,
    /// When the last probe left.
    last: Time,
    /// When the next train of an adaptive sample may leave.
    earliest: Time,
    /// When the next batch is to be made.
    wake_at: Option<Time>,
    random: Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Ask for the next hop's address, so many times having been asked.
    Resolve(u32),
    /// Begin a sample with a probe that leaves at this time.
    Begin(Time),
    /// The next probe of a train leaves at this time.
    Send(Time),
    /// The next train depends on what comes back.
    Listen,
    /// All is sent, or the next hop does not answer.
    Over,
}

impl Sending {
    pub fn new(start: Time, seed: u64, is_checking: bool) -> Sending {
        Sending {
            stage: Stage::Resolve(0),
            is_checking,
            mac: None,
            walk: None,
            turn: 0,
            round: 0,
            next: 0,
            last: start,
            earliest: start,
            wake_at: Some(start),
            random: Random::new(seed),
        }
    }

    pub fn is_resolved(&self) -> bool {
        self.mac.is_some()
    }

    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    pub fn next_wake(&self) -> Option<Time> {
        self.wake_at
    }

    /// The next hop has answered.
    pub fn resolved(&mut self, now: Time) {
        if let Stage::Resolve(_) = self.stage {
            self.wake_at = Some(now);
        }
    }

    /// The next train of an adaptive sample.
    pub fn again(&mut self, now: Time, trains: Trains, rate: Rate) {
        self.walk = Walk::new(alone(trains, rate), self.random.bits());
        self.go_on(Stage::Send, self.earliest.max(now));
    }

    /// An adaptive sample is over.
    pub fn next_sample(&mut self, now: Time, plans: &[Plan]) {
        let Plan { trains, bits, .. } = &plans[self.turn];
        let rate = self.walk.as_ref().map_or(Rate::TEN_GIGABIT, Walk::rate);
        let distance = trains.distance.time(rate, *bits, &mut self.random);
        self.pass_on(plans);
        self.go_on(Stage::Begin, (self.last + distance).max(now));
    }

    fn go_on(&mut self, stage: fn(Time) -> Stage, at: Time) {
        self.stage = stage(at);
        self.wake_at = Some(at - AHEAD);
    }

    /// It is the next method's turn.
    fn pass_on(&mut self, plans: &[Plan]) {
        self.turn += 1;
        if self.turn == plans.len() {
            (self.turn, self.round) = (0, self.round + 1);
        }
    }
}

/// One train of a sample that goes on when that has come.
fn alone(trains: Trains, rate: Rate) -> Trains {
    Trains {
        rates: Rates::Same { rate, trains: 1 },
        ..trains
    }
}

impl Prober {
    /// Gives the world the next probes, as far as they are within sight.
    pub(super) fn send(&mut self, now: Time, out: &mut Out) {
        if self.sending.wake_at.is_none_or(|at| now < at) {
            return;
        }
        self.sending.wake_at = None;
        if let Stage::Resolve(asked) = self.sending.stage {
            self.resolve(now, asked, out);
        }
        let mut first = None;
        for _ in 0..BATCH {
            let at = match self.sending.stage {
                Stage::Begin(at) if at <= now + AHEAD => at,
                Stage::Send(at) if at <= now + AHEAD => at,
                _ => break,
            };
            let at = at.max(now);
            if matches!(self.sending.stage, Stage::Begin(_)) && !self.begin() {
                self.sending.stage = Stage::Over;
                break;
            }
            first.get_or_insert(at);
            self.probe(at, out);
        }
        // One batch is on its way while the next one is made.
        if let Stage::Begin(next) | Stage::Send(next) = self.sending.stage {
            let in_sight = next - AHEAD;
            let wake = first.map_or(in_sight, |first| in_sight.max(first));
            self.sending.wake_at = Some(wake);
        }
    }

    fn resolve(&mut self, now: Time, asked: u32, out: &mut Out) {
        let hop = self.config.gateway.unwrap_or(self.config.target);
        self.sending.mac = self.endpoint.resolve(Port(0), hop, out);
        if self.sending.mac.is_some() {
            self.sending.stage = Stage::Begin(now);
        } else if asked < QUESTIONS {
            self.sending.stage = Stage::Resolve(asked + 1);
            self.sending.wake_at = Some(now + ASK_AGAIN);
        } else {
            self.sending.stage = Stage::Over;
        }
    }

    /// Begins a sample, if there is another one.
    fn begin(&mut self) -> bool {
        let sending = &mut self.sending;
        if sending.round >= self.config.samples {
            return false;
        }
        let plan = &mut self.plans[sending.turn];
        let trains = match plan.trains.rates {
            _ if sending.is_checking => Some(burst::trains(self.config.capacity)),
            Rates::Adaptive => plan.sample.next().map(|rate| alone(plan.trains, rate)),
            _ => Some(plan.trains),
        };
        sending.walk = trains.and_then(|trains| Walk::new(trains, sending.random.bits()));
        sending.walk.is_some()
    }

    /// Sends a probe that leaves at a time, and finds when the next one does.
    fn probe(&mut self, at: Time, out: &mut Out) {
        let sending = &mut self.sending;
        let plan = &self.plans[sending.turn];
        let (Some(mac), Some(walk)) = (sending.mac, &mut sending.walk) else {
            return;
        };
        let rate = walk.rate();
        let (next, begins) = walk.next(at, plan.bits);
        let is_sent = |train: &Train| train.deadline.is_some();
        if self.trains.back().is_none_or(is_sent) {
            self.trains.push_back(Train {
                plan: sending.turn,
                is_check: sending.is_checking,
                rate,
                first: sending.next,
                packets: self.spare.pop().unwrap_or_default(),
                missing: 0,
                deadline: None,
                is_last: false,
            });
        }
        if let Some(train) = self.trains.back_mut() {
            train.packets.push(Packet {
                left: at,
                came: None,
                bits: plan.bits,
            });
            train.missing += 1;
            if begins != Begins::Packet {
                train.deadline = Some(at + self.config.timeout);
                train.is_last = begins == Begins::Sample;
            }
        }
        let peer = Peer {
            address: self.config.target,
            mac,
            port: self.config.port,
        };
        let message = Message {
            session: self.config.session,
            sequence: sending.next as u32,
            came: None,
        };
        let length = plan.payload;
        let frame = self
            .endpoint
            .datagram(peer, None, out, |out: &mut Vec<u8>| {
                let end = out.len() + length;
                message.build(out);
                out.resize(end, 0);
            });
        out.send_at(Port(0), at, frame);
        self.counters.sent += 1;
        (sending.next, sending.last) = (sending.next + 1, at);
        sending.stage = match (begins, plan.trains.rates) {
            (Begins::Packet | Begins::Train, _) => Stage::Send(next),
            (Begins::Sample, _) if core::mem::take(&mut sending.is_checking) => Stage::Begin(next),
            (Begins::Sample, Rates::Adaptive) => {
                let gap = plan.trains.gap;
                sending.earliest = at + gap.time(rate, plan.bits, &mut sending.random);
                Stage::Listen
            }
            (Begins::Sample, _) => {
                sending.pass_on(&self.plans);
                Stage::Begin(next)
            }
        };
    }
}
