//! The walk by events: each message leaves and comes as on an idle link of blocks.

use super::super::Base;
use super::{Flight, Network, is_down};
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use node::{Port, Sublayer, Time};

/// At least so many events are between two looks at whether there are only beacons.
const AT_ONCE: u32 = 512;
/// No block leaves earlier: a block is filled two ticks behind its beginning.
const FIRST: u64 = 2;
/// The rank of the first lane's idle block, behind those of all that comes.
const FILLS: u32 = 1 << 31;

/// What is to happen, by time and rank.
#[derive(Default)]
pub struct Events {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
    /// Global counters that move by what was heard while the walk was by slices: when, where, and the base.
    raises: alloc::vec::Vec<(Time, usize, Base, Option<Debt>)>,
}

/// By which port, and at which tick, a beacon came for which its peer is still to be charged.
pub type Debt = (Port, u64);

impl Events {
    pub fn raise(&mut self, at: Time, device: usize, base: Base, debt: Option<Debt>) {
        self.raises.push((at, device, base, debt));
        self.raises.sort_by_key(|&(at, ..)| Reverse(at));
        self.heap.push(Reverse((at, 0)));
    }

    /// Whether global counters are still to move.
    pub fn raises(&self) -> bool {
        !self.raises.is_empty()
    }

    pub fn fill(&mut self, at: Time, lane: usize) {
        self.heap.push(Reverse((at, FILLS + lane as u32)));
    }
}

impl Network {
    /// All links come up, those that are down at the beginning too: that comes next.
    pub(super) fn begin(&mut self) {
        for device in 0..self.devices.len() {
            for port in 0..self.out[device].len() {
                if self.out[device][port].is_some() {
                    self.devices[device].link(0, Port(port as u16), true);
                }
            }
            self.ask_all(device);
        }
    }

    /// Lets happen what happens up to a time; not all of it where it may go on by slices.
    pub(super) fn walk_events(&mut self, to: Time) {
        let mut done = 0;
        loop {
            let event = self.events.heap.peek().map(|Reverse((at, _))| *at);
            let change = self.changes.last().map(|&(at, ..)| at);
            let Some(next) = [event, change].into_iter().flatten().min() else {
                break;
            };
            // Messages may overtake each other by a tick; then one is due in the past.
            if next > to {
                break;
            }
            if next > self.now && done >= AT_ONCE {
                return;
            }
            self.now = self.now.max(next);
            self.work.events += 1;
            done += 1;
            if change == Some(next) {
                if let Some((at, device, port, up)) = self.changes.pop() {
                    let tick = self.ticks[device].at(at);
                    self.devices[device].link(tick, port, up);
                    self.ask_all(device);
                }
                continue;
            }
            match self.events.heap.pop() {
                Some(Reverse((_, 0))) => match self.events.raises.pop() {
                    Some((_, device, base, Some((port, tick)))) => {
                        self.devices[device].raise_by(port, tick, base);
                    }
                    Some((_, device, base, None)) => self.devices[device].raise(base),
                    None => {}
                },
                Some(Reverse((at, rank))) if rank >= FILLS => {
                    self.fill((rank - FILLS) as usize, at)
                }
                Some(Reverse((_, rank))) => self.hear(rank as usize - 1),
                None => {}
            }
        }
        self.now = to;
    }

    fn fill(&mut self, index: usize, at: Time) {
        let lane = &mut self.lanes[index];
        // It may have been planned anew since.
        let Some((tick, _)) = lane.planned.filter(|planned| planned.1 == at) else {
            return;
        };
        lane.planned = None;
        lane.free = tick + 1;
        let bits = self.devices[lane.from.0].fill(tick, lane.from.1);
        if bits != 0 {
            let held = lane.lots.held(lane.lots.messages);
            lane.lots.messages += 1;
            let arrived = at + lane.delay;
            let ticks = &mut self.ticks[lane.to.0];
            let tick = ticks.next(arrived) + held;
            if !is_down(&lane.down, at, arrived) {
                let at = ticks.when(tick);
                lane.flying.push_back(Flight { at, tick, bits });
                if lane.flying.len() == 1 {
                    self.events.heap.push(Reverse((at, 1 + index as u32)));
                }
            }
        }
        self.ask(index, true);
    }

    fn hear(&mut self, index: usize) {
        let lane = &mut self.lanes[index];
        let (device, port) = lane.to;
        let Some(Flight { tick, bits, .. }) = lane.flying.pop_front() else {
            return;
        };
        if let Some(next) = lane.flying.front() {
            self.events.heap.push(Reverse((next.at, 1 + index as u32)));
        }
        self.devices[device].take(tick, port, bits);
        self.ask_all(device);
    }

    fn ask_all(&mut self, device: usize) {
        for port in 0..self.out[device].len() {
            if let Some(lane) = self.out[device][port] {
                self.ask(lane, false);
            }
        }
    }

    /// Notes when a sender next has a block to fill: anew, or if it has changed its mind.
    fn ask(&mut self, index: usize, anew: bool) {
        let lane = &mut self.lanes[index];
        let (device, port) = lane.from;
        let due = self.devices[device].due(port);
        if due == lane.asked && !anew {
            return;
        }
        lane.asked = due;
        let ticks = &mut self.ticks[device];
        lane.planned = due.map(|tick| {
            let this = ticks.at(self.now);
            // A tick that has begun is over.
            let this = this + u64::from(ticks.when(this) < self.now);
            let tick = tick.max(this).max(lane.free).max(FIRST);
            (tick, ticks.when(tick))
        });
        if let Some((_, at)) = lane.planned {
            self.events.fill(at, index);
        }
    }
}
