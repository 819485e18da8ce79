//! A tin of CAKE: fair queues, and a clock at the tin's rate.

use super::ack_filter::Filter;
use super::{Config, Isolation};
use crate::classify::spread;
use crate::codel::{Control, CountReuse, Law};
use crate::decision::{Backlog, Decisions, Reason, State};
use crate::ledger::Ledger;
use crate::lists::{List, Listed, Store};
use crate::packet::Packet;
use crate::segment::Segment;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use node::random::Random;
use node::{Rate, Time};

/// Queues of a tin, and counters of hosts in each direction.
const QUEUES: usize = 1024;
/// Longest packet of most lines, bytes: for targets and quanta.
const MTU: u32 = 1514;
const MIN_QUANTUM: u64 = 300;
/// Digits of a probability, for decisions.
const PROBABILITY_SHIFT: u32 = 8;
/// Growth of BLUE's probability with an overload, in 2^-32.
const INCREMENT: u32 = 1 << 24;
/// Its fall with an empty queue.
const DECREMENT: u32 = 1 << 20;

/// A virtual clock: when the next packet may leave at a rate, without rounding.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    rate: Rate,
    pub next: Time,
    /// Rest of a picosecond, in units of 1/rate.
    rest: u64,
}

impl Clock {
    pub fn new(rate: Rate) -> Clock {
        Clock {
            rate,
            next: Time::ZERO,
            rest: 0,
        }
    }

    /// Lets time pass in which nothing waited.
    pub fn catch_up(&mut self, now: Time) {
        if self.next < now {
            (self.next, self.rest) = (now, 0);
        }
    }

    /// Advances by a packet of `len` bytes.
    pub fn advance(&mut self, len: u64) {
        let (time, rest) = self.rate.time_of(len.saturating_mul(8), self.rest);
        self.next += time;
        self.rest = rest;
    }
}

#[derive(Clone, Debug, Default)]
struct Flow {
    list: List,
    control: Control,
    deficit: i64,
    is_listed: bool,
    /// Hosts of the packet that made it a listed queue.
    hosts: [u16; 2],
    /// Whether it counts for its hosts.
    is_bulk: bool,
    /// BLUE's drop probability, in 2^-32, and when it changed.
    blue: u32,
    blue_at: Time,
}

#[derive(Debug)]
pub struct Tin {
    isolation: Isolation,
    law: Law,
    quantum: u32,
    clock: Option<Clock>,
    perturbation: u64,
    flows: Vec<Flow>,
    /// Bulk flows of each source and each destination.
    bulk: [Vec<u32>; 2],
    store: Store,
    filter: Option<Filter>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// The queue that sent last.
    sender: u32,
    backlog: Backlog,
}

impl Tin {
    pub fn new(config: &Config, rate: Option<Rate>, perturbation: u64) -> Tin {
        let usual = Time::from_ps(config.rtt.as_ps() / 20);
        let packet = rate.map(|rate| rate.time_of(8 * u64::from(MTU), 0).0);
        let slow = packet.map_or(0, |time| time.as_ps().saturating_mul(3) / 2);
        let target = usual.max(Time::from_ps(slow));
        let quantum = rate.map_or(MTU.into(), |rate| rate.bits_per_second() / 8 / 4096);
        Tin {
            isolation: config.isolation,
            law: Law {
                target,
                interval: (config.rtt + (target - usual)).max(target * 2),
                ecn: true,
                ce_threshold: None,
                mtu: MTU,
                count_reuse: CountReuse::Delta,
            },
            quantum: quantum.clamp(MIN_QUANTUM, MTU.into()) as u32,
            clock: rate.map(Clock::new),
            perturbation,
            flows: vec![Flow::default(); QUEUES],
            bulk: [vec![0; QUEUES], vec![0; QUEUES]],
            store: Store::default(),
            filter: Filter::new(config.ack_filter),
            new: VecDeque::with_capacity(QUEUES),
            old: VecDeque::with_capacity(QUEUES),
            sender: 0,
            backlog: Backlog::default(),
        }
    }

    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Time by which the tin's clock is ahead.
    pub fn ahead(&self, now: Time) -> Time {
        let clock = self.clock.as_ref();
        clock.map_or(Time::ZERO, |clock| clock.next - now)
    }

    /// The queue of a key.
    fn queue_of(&self, key: u64) -> u32 {
        spread(self.perturbation, key, QUEUES as u32)
    }

    fn flow_of(&self, packet: &Packet) -> u32 {
        let facts = &packet.facts;
        let (source, destination) = (u64::from(facts.source), u64::from(facts.destination));
        let key = match self.isolation {
            Isolation::FlowBlind => 0,
            Isolation::SrcHost => source,
            Isolation::DstHost => destination,
            Isolation::Hosts => source << 32 | destination,
            _ => facts.flow.into(),
        };
        self.queue_of(key)
    }

    /// The quantum of a queue: divided by the bulk flows of its busier host.
    fn quantum_of(&self, flow: &Flow) -> i64 {
        let [source, destination] = flow.hosts;
        let source = self.bulk[0][usize::from(source)];
        let destination = self.bulk[1][usize::from(destination)];
        let load = match self.isolation {
            Isolation::DualSrcHost => source,
            Isolation::DualDstHost => destination,
            Isolation::TripleIsolate => source.max(destination),
            _ => 1,
        };
        i64::from((self.quantum / load.max(1)).max(1))
    }

    /// Counts a queue as one that always has packets, or no longer.
    fn set_bulk(&mut self, index: u32, is_bulk: bool) {
        let flow = &mut self.flows[index as usize];
        if flow.is_bulk == is_bulk {
            return;
        }
        flow.is_bulk = is_bulk;
        for (counts, host) in self.bulk.iter_mut().zip(flow.hosts) {
            let count = &mut counts[usize::from(host)];
            *count = if is_bulk { *count + 1 } else { *count - 1 };
        }
    }

    /// Takes a packet, and returns the index of its queue and its place in the store.
    pub fn enqueue(&mut self, now: Time, packet: Packet) -> (u32, u32) {
        if let Some(clock) = self.clock.as_mut().filter(|_| self.backlog.is_empty()) {
            clock.catch_up(now);
        }
        self.backlog.add(packet.len);
        let index = self.flow_of(&packet);
        let list = &mut self.flows[index as usize].list;
        let place = self.store.push(list, packet);
        if !self.flows[index as usize].is_listed {
            let hosts = [packet.facts.source, packet.facts.destination];
            let hosts = hosts.map(|host| self.queue_of(host.into()) as u16);
            self.flows[index as usize].hosts = hosts;
            let deficit = self.quantum_of(&self.flows[index as usize]);
            let flow = &mut self.flows[index as usize];
            flow.is_listed = true;
            flow.deficit = deficit;
            self.new.push_back(index);
        }
        (index, place)
    }

    /// Drops an ACK that the packet which [`enqueue`](Tin::enqueue) took makes unnecessary.
    pub fn filter(
        &mut self,
        now: Time,
        (index, place): (u32, u32),
        segment: Option<&Segment>,
        ledger: &mut Ledger,
        out: &mut Decisions,
    ) {
        let Some(filter) = &mut self.filter else {
            return;
        };
        filter.set(place, segment.copied());
        let list = &mut self.flows[index as usize].list;
        let Some(found) = filter.find(&self.store, list) else {
            return;
        };
        if let Some(packet) = self.store.remove_after(list, found.before) {
            self.backlog.remove(packet.len);
            let [own, later] = found.numbers;
            let why = (Reason::AckFilter, State::Superseded { own, later });
            ledger.drop(now, packet, why, Some(index), out);
        }
    }

    /// Bytes and index of the queue with the greatest backlog, the first of equals.
    pub fn fattest(&self) -> Option<(u64, u32)> {
        let bytes = |index: &u32| (self.flows[*index as usize].list.backlog.bytes, *index);
        let has_packets = |index: &&u32| !self.flows[**index as usize].list.backlog.is_empty();
        let listed = self.new.iter().chain(&self.old).filter(has_packets);
        listed
            .map(bytes)
            .max_by_key(|(bytes, index)| (*bytes, !index))
    }

    /// Drops the oldest packet of a queue because the whole is too long.
    pub fn drop_head(&mut self, now: Time, index: u32, ledger: &mut Ledger, out: &mut Decisions) {
        let flow = &mut self.flows[index as usize];
        let bytes = flow.list.backlog.bytes;
        let Some(packet) = self.store.pop(&mut flow.list) else {
            return;
        };
        self.backlog.remove(packet.len);
        if now - flow.blue_at > self.law.target {
            flow.blue = flow.blue.saturating_add(INCREMENT);
            flow.blue_at = now;
        }
        let why = (Reason::Overlimit, State::Fattest { bytes });
        ledger.drop(now, packet, why, Some(index), out);
    }

    pub fn dequeue(
        &mut self,
        now: Time,
        random: &mut Random,
        ledger: &mut Ledger,
        out: &mut Decisions,
    ) -> Option<Packet> {
        let mut without_credit = 0;
        loop {
            let is_new = !self.new.is_empty();
            let index = *self.new.front().or(self.old.front())?;
            let flow = &mut self.flows[index as usize];
            if flow.deficit <= 0 {
                self.move_to_old(index, is_new);
                let quantum = self.quantum_of(&self.flows[index as usize]);
                self.flows[index as usize].deficit += quantum;
                without_credit += 1;
                if without_credit == self.new.len() + self.old.len() + 1 {
                    self.skip_rounds();
                }
                continue;
            }
            without_credit = 0;
            let before = flow.list.backlog;
            let mut source = Listed {
                store: &mut self.store,
                list: &mut flow.list,
            };
            let accounts = (&mut *ledger, Some(index));
            let packet = flow
                .control
                .dequeue(now, &self.law, &mut source, accounts, out);
            self.backlog.packets -= before.packets - flow.list.backlog.packets;
            self.backlog.bytes -= before.bytes - flow.list.backlog.bytes;
            let Some(packet) = packet else {
                if flow.blue > 0 && now - flow.blue_at > self.law.target {
                    flow.blue = flow.blue.saturating_sub(DECREMENT);
                    flow.blue_at = now;
                }
                match is_new {
                    true => self.move_to_old(index, true),
                    false => {
                        self.old.pop_front();
                        flow.is_listed = false;
                        self.set_bulk(index, false);
                    }
                }
                continue;
            };
            if flow.blue > 0 {
                let number = (random.bits() >> 32) as u32;
                if number < flow.blue {
                    let state = State::Probability {
                        probability: u64::from(flow.blue) << PROBABILITY_SHIFT,
                        delay: packet.sojourn(now),
                        random: Some(u64::from(number) << PROBABILITY_SHIFT),
                    };
                    ledger.drop(now, packet, (Reason::Blue, state), Some(index), out);
                    continue;
                }
            }
            self.sender = index;
            return Some(packet);
        }
    }

    /// Moves the first queue to the end of the old list.
    fn move_to_old(&mut self, index: u32, is_new: bool) {
        match is_new {
            true => self.new.pop_front(),
            false => self.old.pop_front(),
        };
        self.old.push_back(index);
        self.set_bulk(index, true);
    }

    /// Gives each queue the credits of the rounds in which none of them can send.
    fn skip_rounds(&mut self) {
        let missing = |index: &u32| {
            let flow = &self.flows[*index as usize];
            -flow.deficit / self.quantum_of(flow)
        };
        let Some(rounds) = self
            .old
            .iter()
            .map(missing)
            .min()
            .filter(|rounds| *rounds > 0)
        else {
            return;
        };
        for place in 0..self.old.len() {
            let index = self.old[place] as usize;
            let quantum = self.quantum_of(&self.flows[index]);
            self.flows[index].deficit += rounds * quantum;
        }
    }

    /// The packet that `dequeue` gave is on the line, with this length.
    pub fn sent(&mut self, now: Time, len: u64) {
        self.flows[self.sender as usize].deficit -= len as i64;
        let Some(clock) = &mut self.clock else {
            return;
        };
        if clock.next <= now {
            return clock.advance(len);
        }
        // A tin that is ahead of its clock borrows: no more than one packet.
        let after = now + clock.rate.time_of(len.saturating_mul(8), 0).0;
        if clock.next < after {
            (clock.next, clock.rest) = (after, 0);
        }
    }
}
