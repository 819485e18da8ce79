//! The walk by slices: some rounds of beacons, of all lanes, while nothing else is said.
//!
//! In a round each lane sends one beacon, in an order that was found when the slice began. The order need not be exact: what a beacon
//! changes in a device counts from the tick at which it comes, which is noted, and before that the cable has to be passed. So the order holds
//! until clocks that are as far off as may be have parted by half of the shortest cable; then the slice ends. What one device sends is always in order.
//!
//! A beacon can change something only if it is ahead of the local counter at the far end, which is told by one number for each lane, its
//! [`mark`](Check::mark), the phase of the two clocks, and whether the FIFO holds it. So there is one question without a branch for each beacon, and what it leaves is nearly
//! only what does move a counter. The phase is exact at both ends of a slice, and between them is within some picoseconds of the line from one to the other; where it is so near a
//! tick that this does not tell, it is computed for the beacon.

use super::super::hearing::{BeaconOutcome, Hearing};
use super::super::message::{HALF, Message, PAYLOAD};
use super::super::port::{MSB, difference};
use super::super::{Base, Device};
use super::{Lane, Network, low};
use alloc::vec;
use alloc::vec::Vec;
use node::clock::{TICK, Ticks};
use node::{Sublayer, Time};

/// A slice has at most so many rounds, and a message more: the lots of a lane are kept for 64 messages and more.
const ROUNDS: u64 = 60;
/// So far apart two clocks may be, and what is added to be safe.
const APART: f64 = 2.2e-4;
/// Bits of a tick's fraction in phases and marks. Marks so are compared modulo 2^44 ticks, 31 hours: counters that are in the range of each other are not
/// apart by that.
const POINT: u32 = 20;
const ONE: u64 = 1 << POINT;
/// Times are rounded to picoseconds, at four places, and what a phase changes by with each message to 2^-20 ticks.
const ROUNDED: f64 = 4.0 / 6_400.0 + (ROUNDS + 2) as f64 / ONE as f64;
const PS_A_TICK: u64 = 6_400;
/// When lanes send is told apart by so many picoseconds: less than a tick of any clock, so that two ticks of one device are never taken for one.
const WIDTH: u64 = 6_300;

/// What is asked of each beacon.
#[derive(Clone, Copy)]
struct Check {
    /// The sender's global counter with which the slice's first beacon would just change nothing, and how that changes with each message: ticks,
    /// with [`POINT`] bits of their fraction. It is the next whole tick that counts.
    mark: u64,
    slope: i32,
    /// The device that sends.
    from: u32,
    /// Which messages of the slice the FIFO holds.
    lots: u64,
}

/// A lane over which beacons go, as far as it is needed to walk them: two cache lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Sending {
    /// Of the far end.
    hearing: Hearing,
    /// The tick at which the slice's first message leaves, when that is, and how far the receiver's clock is ahead of that tick when it comes: ticks, with
    /// [`POINT`] bits of their fraction.
    first: u64,
    sent: Time,
    phase: i64,
    /// Of the cable.
    length: Time,
    /// The devices that send, and receive.
    from: u32,
    to: u32,
    /// The place of the rest.
    line: u32,
    /// What the receiver has measured.
    delay: i32,
    /// The message that is a BEACON-MSB.
    msb: u32,
    /// How many leave in this slice, and up to which one all were heard.
    messages: u8,
    done: u8,
    /// Nobody hears what is sent.
    deaf: bool,
}

const _: () = assert!(size_of::<Sending>() == 128);

/// The rest of it.
#[derive(Clone, Copy)]
struct Line {
    lane: u32,
    /// How many messages leave in this slice, and which of them the FIFO holds.
    messages: u8,
    lots: u64,
    /// The number of the slice's first message, and of the walk's first.
    number: u64,
    began: u64,
}

pub struct Slices {
    interval: u64,
    rounds: u64,
    lines: Vec<Line>,
    /// In the order in which they send.
    sendings: Vec<Sending>,
    /// The next slice's, while it is walked: it may have to be walked again.
    next: Vec<Sending>,
    /// Of those that are heard.
    checks: Vec<Check>,
    /// Where groups of at most 64 checks end, which send within so many picoseconds: so soon one changes nothing for the others but by
    /// devices for which something has come before, and those are looked at in any case.
    groups: Vec<u32>,
    together: u64,
    /// Messages that are a BEACON-MSB, by their round and the place of who sends them: the next is the last.
    msbs: Vec<(u32, u32)>,
    counters: Counters,
    /// As they were when the slice began.
    before: Counters,
    /// Beacons that have moved a local counter, and for which no peer was charged yet: those that
    /// come before them may not have been walked. `kept` of them are from earlier slices.
    charges: Vec<Charge>,
    kept: usize,
    /// The global counters as the charges so far have moved them.
    charged: Vec<u64>,
    /// Counters' high halves that were told in this slice: by which of `next`, at which tick, and the global counter.
    told: Vec<(u32, u64, u64)>,
    /// How many lanes send before each place in a round.
    places: Vec<u32>,
}

/// A beacon that has moved a local counter.
#[derive(Clone, Copy)]
struct Charge {
    /// The device that receives the beacon, the line it arrives on, and the device's tick.
    to: u32,
    line: u32,
    at: u64,
    /// Where it has moved the local counter.
    local: u64,
}

/// The global counters of devices.
#[derive(Clone, Default)]
struct Counters {
    global: Vec<u64>,
    /// The same, as marks are; of devices for which there is something in `raises`, far from it, so that no check passes.
    shown: Vec<u64>,
    /// By device, what the counter is at least from a tick on.
    raises: Vec<Vec<(u64, u64)>>,
}

const HIDDEN: u64 = 1 << 63;

impl Counters {
    fn become_like(&mut self, other: &Counters) {
        self.global.clone_from(&other.global);
        self.shown.clone_from(&other.shown);
        self.raises.clone_from(&other.raises);
    }

    #[inline]
    fn raise_at(&mut self, device: usize, tick: u64, to: u64) {
        if to.wrapping_sub(self.global[device]) as i64 > 0 {
            self.raises[device].push((tick, to));
            self.shown[device] = self.global[device] << POINT ^ HIDDEN;
        }
    }

    /// Lets happen what has come up to a tick.
    fn settle(&mut self, device: usize, tick: u64) {
        let global = &mut self.global[device];
        self.raises[device].retain(|&(at, to)| {
            if at <= tick && to.wrapping_sub(*global) as i64 > 0 {
                *global = to;
            }
            at > tick
        });
        let hidden = if self.raises[device].is_empty() {
            0
        } else {
            HIDDEN
        };
        self.shown[device] = *global << POINT ^ hidden;
    }
}

/// Something comes up in a slice that is not for it.
struct Unusual;

impl Network {
    /// Goes on by slices, if there are only beacons, and for some time.
    pub(super) fn begin_slices(&mut self, to: Time) -> Option<Slices> {
        if !self.devices.iter().all(Device::is_plain) || self.events.raises() {
            return None;
        }
        let now = self.now;
        let mut sendings = Vec::new();
        let mut lines = Vec::new();
        let mut intervals = None;
        let (mut shortest, mut longest) = (Time::MAX, Time::ZERO);
        for lane in &self.lanes {
            (shortest, longest) = (shortest.min(lane.delay), longest.max(lane.delay));
        }
        let limit = self.limit(to, longest);
        let mut counters = Counters {
            global: self
                .devices
                .iter()
                .map(|device| low(device.global))
                .collect(),
            shown: Vec::new(),
            raises: vec![Vec::new(); self.devices.len()],
        };
        let shown = counters.global.iter().map(|global| global << POINT);
        counters.shown = shown.collect();
        let mut highs = Vec::new();
        let mut charges = Vec::new();
        let charged = counters.global.clone();
        for (index, lane) in self.lanes.iter().enumerate() {
            let side =
                |(device, port): (usize, node::Port)| &self.devices[device].sides[port.index()];
            let (sender, receiver) = (side(lane.from), side(lane.to));
            let mut heard = receiver.hearing();
            let steady = receiver.steady();
            if steady.is_none() && !receiver.is_silent() {
                return None;
            }
            for flight in steady.iter().flat_map(|_| &lane.flying) {
                match Message::decode(flight.bits) {
                    Ok(Some(Message::Beacon(counter))) => {
                        let own = heard.local.at(flight.tick) as u64;
                        let ahead = difference(counter, own) + receiver.delay().unwrap_or(0);
                        match heard.beacon_on_credit(ahead) {
                            BeaconOutcome::Nothing => {}
                            BeaconOutcome::Moved => {
                                charges.push(Charge {
                                    to: lane.to.0 as u32,
                                    line: lines.len() as u32,
                                    at: flight.tick,
                                    local: low(heard.local),
                                });
                                counters.raise_at(lane.to.0, flight.tick, low(heard.local))
                            }
                            BeaconOutcome::Astray
                            | BeaconOutcome::FellBehind
                            | BeaconOutcome::Faulty => return None,
                        }
                    }
                    Ok(Some(Message::BeaconMsb(high))) => highs.push((lane.to, high)),
                    _ => return None,
                }
            }
            if sender.is_silent() {
                // What it may have said before is not followed any further.
                if !lane.flying.is_empty() {
                    return None;
                }
                continue;
            }
            let own = sender.steady()?;
            let (first, sent) = lane.planned?;
            if *intervals.get_or_insert(sender.interval()) != sender.interval() {
                return None;
            }
            sendings.push(Sending {
                hearing: heard,
                first,
                sent,
                phase: 0,
                length: lane.delay,
                from: lane.from.0 as u32,
                to: lane.to.0 as u32,
                line: lines.len() as u32,
                delay: steady.map_or(0, |steady| steady.delay as i32),
                msb: own.to_msb - 1,
                messages: 0,
                done: 0,
                deaf: steady.is_none(),
            });
            lines.push(Line {
                lane: index as u32,
                messages: 0,
                lots: 0,
                number: lane.lots.messages,
                began: lane.lots.messages,
            });
        }
        let interval = intervals?;
        let ticks = shortest.as_ps() / PS_A_TICK;
        let rounds = ((ticks / 2) as f64 / (interval as f64 * APART)) as u64;
        let longer = |at: Time| at > now + Time::from_ps(4 * interval * PS_A_TICK);
        if ticks < 4 || rounds == 0 || !longer(limit) {
            return None;
        }
        for sending in &mut sendings {
            (_, sending.phase) = sending.comes(sending.first, &mut self.ticks);
        }
        for (to, high) in highs {
            self.side(to).told_high(high);
        }
        for lane in &mut self.lanes {
            lane.flying.clear();
        }
        self.events = Default::default();
        Some(Slices {
            interval,
            rounds: rounds.min(ROUNDS),
            next: sendings.clone(),
            sendings,
            lines,
            checks: Vec::new(),
            groups: Vec::new(),
            // As much more as clocks part within a slice, and it is still less than the shortest cable.
            together: shortest.as_ps() / 4,
            msbs: Vec::new(),
            before: counters.clone(),
            counters,
            kept: charges.len(),
            charges,
            charged,
            told: Vec::new(),
            places: Vec::new(),
        })
    }

    /// Until when there are only beacons, as far as is known: what leaves before has come before the next link goes down or comes up.
    fn limit(&self, to: Time, longest: Time) -> Time {
        let change = self.changes.last().map_or(Time::MAX, |change| change.0);
        let on_its_way = longest.as_ps() + 4 * PS_A_TICK;
        to.min(Time::from_ps(change.as_ps().saturating_sub(on_its_way)))
    }

    /// Walks the next slice, or ends the walk by slices.
    pub(super) fn walk_slice(&mut self, mut slices: Slices, to: Time) {
        let longest = self.lanes.iter().map(|lane| lane.delay).max();
        let limit = self.limit(to, longest.unwrap_or_default());
        if limit <= self.now {
            return self.end_slices(slices);
        }
        let rounds = Time::from_ps(slices.rounds * slices.interval * PS_A_TICK);
        let end = limit.min(self.now + rounds);
        self.work.slices += 1;
        match slices.walk(self.now, end, self) {
            Ok(()) => {
                self.now = end;
                self.slices = Some(slices);
            }
            Err(Unusual) => {
                self.work.walked_again += 1;
                slices.forget();
                self.end_slices(slices);
                while self.now < end {
                    self.walk_events(end);
                }
            }
        }
    }

    /// Goes on by events.
    pub(super) fn end_slices(&mut self, slices: Slices) {
        for (device, base) in slices.globals(&self.devices).into_iter().enumerate() {
            self.devices[device].global = base;
        }
        for sending in &slices.sendings {
            let line = &slices.lines[sending.line as usize];
            let lane = &mut self.lanes[line.lane as usize];
            let (from, to) = (lane.from, lane.to);
            let sent = line.number - line.began;
            lane.lots.messages = line.number;
            lane.planned = Some((sending.first, sending.sent));
            if sent > 0 {
                let last = sending.first - slices.interval;
                lane.free = last + 1;
                self.side(from).has_sent(sent, last);
            }
            if !sending.deaf {
                self.side(to).has_heard(sending.hearing);
            }
            let due = self.devices[from.0].due(from.1);
            self.lanes[line.lane as usize].asked = due;
            self.events.fill(sending.sent, line.lane as usize);
        }
        let mut raise = |device: usize, tick: u64, to: u64, debt| {
            let global = self.devices[device].global;
            let base = global.plus(to.wrapping_sub(low(global)) as i64);
            let at = self.ticks[device].when(tick);
            self.events.raise(at, device, base, debt);
        };
        for (device, raises) in slices.counters.raises.iter().enumerate() {
            for &(tick, to) in raises {
                let is_charge = |charge: &Charge| {
                    (charge.to as usize, charge.at, charge.local) == (device, tick, to)
                };
                if !slices.charges.iter().any(is_charge) {
                    raise(device, tick, to, None);
                }
            }
        }
        for charge in &slices.charges {
            let (device, port) = self.lanes[slices.lines[charge.line as usize].lane as usize].to;
            raise(device, charge.at, charge.local, Some((port, charge.at)));
        }
    }
}

impl Sending {
    /// When a message leaves, and how far the receiver's clock is ahead of its tick when it comes: ticks, with [`POINT`] bits of their fraction.
    fn comes(&self, tick: u64, ticks: &mut [Ticks]) -> (Time, i64) {
        const PART: u64 = TICK as u64 >> POINT;
        let sent = ticks[self.from as usize].when(tick);
        let (at, rest) = ticks[self.to as usize].split(sent + self.length);
        let ahead = (at.wrapping_sub(tick) << POINT) | (rest / PART);
        (sent, ahead as i64)
    }

    /// The number of ticks on the way.
    #[cold]
    fn way(&self, tick: u64, ticks: &mut [Ticks]) -> i64 {
        let sent = ticks[self.from as usize].when(tick);
        let at = ticks[self.to as usize].next(sent + self.length);
        at.wrapping_sub(tick) as i64
    }

    /// See [`Check::mark`], for a phase.
    #[inline]
    fn mark(&self, phase: i64) -> u64 {
        let told = low(self.hearing.local).wrapping_sub(self.delay as u64);
        (told << POINT).wrapping_add(phase as u64)
    }

    /// Counts the beacons that were not looked at before this message.
    #[inline]
    fn catch_up(&mut self, message: u8) {
        let beacons = message - self.done;
        if beacons > 0 {
            self.hearing.heard_in_range(beacons.into());
        }
        self.done = message;
    }
}

/// Whether a phase is so far from a whole tick that the line which it was taken from tells the next one.
#[inline]
fn is_sure(phase: u64, margin: u64) -> bool {
    phase.wrapping_add(margin) % ONE >= 2 * margin
}

impl Slices {
    /// Walks all that leaves behind a time, up to another.
    fn walk(&mut self, now: Time, end: Time, network: &mut Network) -> Result<(), Unusual> {
        let Network {
            ticks,
            lanes,
            devices,
            work,
            steepest,
            ..
        } = network;
        self.before.become_like(&self.counters);
        self.kept = self.charges.len();
        self.told.clear();
        // How far the phase may be off the line between its two ends: an eighth of what the square of the time makes of the change of rates.
        let more = Time::from_ps(2 * self.interval * PS_A_TICK);
        let seconds = (end - now + more).as_ps() as f64 / 1e12;
        let bent = 2.0 * *steepest * 1e-6 * seconds * seconds / 8.0 / 6.4e-9;
        let margin = ((ROUNDED + 1.1 * bent) * ONE as f64) as u64 + 1;
        let last: Vec<u64> = ticks.iter_mut().map(|ticks| ticks.at(end)).collect();
        self.plan(now, &last, lanes);
        let ends = self.find_phases(ticks);
        let rounds = self.next.iter().map(|sending| sending.messages).max();
        for round in 0..u32::from(rounds.unwrap_or(0)) {
            let mut begin = 0;
            for group in 0..self.groups.len() {
                let end = self.groups[group] as usize;
                let mut wanted = self.wanted(begin..end, round, margin);
                let msb = |&mut (at, place): &mut (u32, u32)| at == round && (place as usize) < end;
                while let Some((_, place)) = self.msbs.pop_if(msb) {
                    wanted |= 1 << (place as usize - begin);
                }
                work.looked_at += u64::from(wanted.count_ones());
                while wanted != 0 {
                    let place = begin + wanted.trailing_zeros() as usize;
                    wanted &= wanted - 1;
                    self.look(place, round, margin, ticks)?;
                }
                begin = end;
            }
        }
        self.charge(&last)?;
        core::mem::swap(&mut self.sendings, &mut self.next);
        for (sending, (sent, phase)) in self.sendings.iter_mut().zip(ends) {
            let messages = sending.messages;
            work.beacons += u64::from(messages);
            if sending.deaf && sending.msb < messages.into() {
                sending.msb += MSB;
            }
            if !sending.deaf {
                sending.catch_up(messages);
            }
            sending.msb -= u32::from(messages);
            sending.first += u64::from(messages) * self.interval;
            (sending.sent, sending.phase) = (sent, phase);
        }
        for line in &mut self.lines {
            line.number += u64::from(line.messages);
        }
        for &(place, tick, global) in &self.told {
            let Sending { from, line, .. } = self.sendings[place as usize];
            let base = devices[from as usize].global;
            let told = base.plus(global.wrapping_sub(low(base)) as i64).at(tick);
            let (device, port) = lanes[self.lines[line as usize].lane as usize].to;
            devices[device].sides[port.index()].told_high((told >> HALF) as u64);
        }
        Ok(())
    }

    /// Which checks of a group do not tell that their beacon changes nothing: the first in the lowest bit. All are asked before one is looked at, without a
    /// branch that could not be foreseen.
    #[inline]
    fn wanted(&self, group: core::ops::Range<usize>, round: u32, margin: u64) -> u64 {
        let checks = &self.checks[group];
        let wanted = checks.iter().fold(0, |wanted, check| {
            let shown = self.counters.shown[check.from as usize];
            let turned = i64::from(check.slope) * i64::from(round);
            let mark = check.mark.wrapping_add(turned as u64);
            let held = (check.lots >> round & 1) << POINT;
            let room = mark.wrapping_sub(shown).wrapping_add(held + ONE - 1);
            let known = (room < 8 * ONE) & is_sure(mark, margin);
            wanted >> 1 | u64::from(!known) << 63
        });
        wanted >> (64 - checks.len())
    }

    /// Finds what leaves up to the last tick of each device, and brings it into order.
    fn plan(&mut self, now: Time, last: &[u64], lanes: &mut [Lane]) {
        let interval = self.interval;
        let places = ((interval + interval / 64 + 2) * PS_A_TICK / WIDTH) as usize;
        self.places.clear();
        self.places.resize(places + 2, 0);
        // Those that send nothing, or to nobody, come last.
        let place = |sending: &Sending| {
            let place = (sending.sent - now).as_ps() / WIDTH;
            match sending.messages == 0 || sending.deaf {
                true => places,
                false => place.min(places as u64 - 1) as usize,
            }
        };
        for sending in &mut self.sendings {
            let messages = match last[sending.from as usize].checked_sub(sending.first) {
                Some(more) => more / interval + 1,
                None => 0,
            };
            sending.messages = messages as u8;
            self.lines[sending.line as usize].messages = messages as u8;
            self.places[place(sending) + 1] += 1;
        }
        // Lanes lie in this order.
        for line in &mut self.lines {
            let lots = &mut lanes[line.lane as usize].lots;
            line.lots = lots.next_held(line.number, line.messages);
        }
        for place in 1..self.places.len() {
            self.places[place] += self.places[place - 1];
        }
        let heard = self.places[places] as usize;
        let none = Check {
            mark: 0,
            slope: 0,
            from: 0,
            lots: 0,
        };
        self.msbs.clear();
        self.checks.clear();
        self.checks.resize(heard, none);
        for sending in &self.sendings {
            let at = &mut self.places[place(sending)];
            let to = *at as usize;
            *at += 1;
            self.next[to] = Sending {
                done: 0,
                ..*sending
            };
            if let Some(check) = self.checks.get_mut(to) {
                check.from = sending.from;
                check.lots = self.lines[sending.line as usize].lots;
                if sending.msb < sending.messages.into() {
                    self.msbs.push((sending.msb, to as u32));
                }
            }
        }
        self.msbs
            .sort_unstable_by_key(|&msb| core::cmp::Reverse(msb));
        self.groups.clear();
        let (mut begun, mut least, mut most) = (0, u64::MAX, 0);
        for to in 0..heard {
            // Within a place of the order any may be the first.
            let sent = (self.next[to].sent - now).as_ps();
            (least, most) = (sent.min(least), sent.max(most));
            if to > begun && (most - least > self.together || to - begun == 64) {
                self.groups.push(to as u32);
                (begun, least, most) = (to, sent, sent);
            }
        }
        if heard > 0 {
            self.groups.push(heard as u32);
        }
    }

    /// Finds the marks of the next slice, and how they change; when, and in which phase, the first messages behind it leave.
    fn find_phases(&mut self, ticks: &mut [Ticks]) -> Vec<(Time, i64)> {
        let mut ends = Vec::with_capacity(self.next.len());
        for (place, sending) in self.next.iter().enumerate() {
            let messages = i64::from(sending.messages);
            if messages == 0 {
                ends.push((sending.sent, sending.phase));
                continue;
            }
            let behind = sending.first + messages as u64 * self.interval;
            let (sent, phase) = sending.comes(behind, ticks);
            if let Some(check) = self.checks.get_mut(place) {
                check.mark = sending.mark(sending.phase);
                check.slope = ((phase - sending.phase) / messages) as i32;
            }
            ends.push((sent, phase));
        }
        ends
    }

    /// A beacon that may change something.
    fn look(
        &mut self,
        place: usize,
        round: u32,
        margin: u64,
        ticks: &mut [Ticks],
    ) -> Result<(), Unusual> {
        let (sending, check) = (&mut self.next[place], &mut self.checks[place]);
        if round >= sending.messages.into() {
            return Ok(());
        }
        let tick = sending.first + u64::from(round) * self.interval;
        let from = check.from as usize;
        if self.counters.shown[from] != self.counters.global[from] << POINT {
            self.counters.settle(from, tick);
        }
        let global = self.counters.global[from];
        if round == sending.msb {
            sending.catch_up(round as u8);
            (sending.done, sending.msb) = (round as u8 + 1, round + MSB);
            self.told.push((place as u32, tick, global));
            return Ok(());
        }
        let phase = sending.phase + i64::from(check.slope) * i64::from(round);
        let way = match is_sure(phase as u64, margin) {
            true => (phase + (ONE as i64 - 1)) >> POINT,
            false => sending.way(tick, ticks),
        };
        let held = check.lots >> round & 1;
        let mark = low(sending.hearing.local).wrapping_add((way - i64::from(sending.delay)) as u64);
        let ahead = global.wrapping_sub(mark).wrapping_sub(held) as i64;
        if (-7..=0).contains(&ahead) {
            return Ok(());
        }
        let beacon = Message::Beacon(global.wrapping_add(tick) & PAYLOAD);
        let ahead = ahead - i64::from(beacon.is_told_less());
        sending.catch_up(round as u8);
        sending.done = round as u8 + 1;
        let at = (tick as i64 + way) as u64 + held;
        match sending.hearing.beacon_on_credit(ahead) {
            BeaconOutcome::Nothing => {}
            BeaconOutcome::Moved => {
                check.mark = sending.mark(sending.phase);
                let (to, local) = (sending.to, low(sending.hearing.local));
                let line = sending.line;
                self.charges.push(Charge {
                    to,
                    line,
                    at,
                    local,
                });
                self.counters.raise_at(to as usize, at, local);
            }
            BeaconOutcome::Astray | BeaconOutcome::FellBehind | BeaconOutcome::Faulty => {
                return Err(Unusual);
            }
        }
        Ok(())
    }

    /// Charges peers for the beacons up to the last tick of each device; all of these are known.
    fn charge(&mut self, last: &[u64]) -> Result<(), Unusual> {
        let is_due = |charge: &Charge| charge.at <= last[charge.to as usize];
        let mut due: Vec<Charge> = self.charges.iter().copied().filter(is_due).collect();
        if due.is_empty() {
            return Ok(());
        }
        due.sort_unstable_by_key(|charge| (charge.to, charge.at));
        let mut places = vec![0; self.lines.len()];
        for (place, sending) in self.next.iter().enumerate() {
            places[sending.line as usize] = place;
        }
        let mut moved = Vec::new();
        let same_tick = |one: &Charge, other: &Charge| (one.to, one.at) == (other.to, other.at);
        for charges in due.chunk_by(same_tick) {
            let to = charges[0].to;
            let before = match moved.last() {
                Some(&(device, global)) if device == to => global,
                _ => self.charged[to as usize],
            };
            let mut global = before;
            for charge in charges {
                let leads = charge.local.wrapping_sub(before) as i64;
                let hearing = &mut self.next[places[charge.line as usize]].hearing;
                if hearing.charge(charge.at, leads) {
                    return Err(Unusual);
                }
                if charge.local.wrapping_sub(global) as i64 > 0 {
                    global = charge.local;
                }
            }
            moved.push((to, global));
        }
        for (device, global) in moved {
            self.charged[device as usize] = global;
        }
        self.charges.retain(|charge| !is_due(charge));
        Ok(())
    }

    /// As if the slice had not been walked.
    fn forget(&mut self) {
        self.charges.truncate(self.kept);
        self.counters.become_like(&self.before);
    }

    fn globals(&self, devices: &[Device]) -> Vec<Base> {
        let counters = self.counters.global.iter().zip(devices);
        let base = |(&now, device): (&u64, &Device)| {
            let by = now.wrapping_sub(low(device.global)) as i64;
            device.global.plus(by)
        };
        counters.map(base).collect()
    }

    /// The counters of all devices, at these ticks.
    pub fn counters(&mut self, devices: &[Device], ticks: impl Iterator<Item = u64>) -> Vec<u128> {
        let ticks: Vec<u64> = ticks.collect();
        for (device, &tick) in ticks.iter().enumerate() {
            self.counters.settle(device, tick);
        }
        let bases = self.globals(devices).into_iter().zip(ticks).zip(devices);
        let counter = |((base, tick), device): ((Base, u64), &Device)| match device.running {
            true => base.at(tick),
            false => 0,
        };
        bases.map(counter).collect()
    }
}
