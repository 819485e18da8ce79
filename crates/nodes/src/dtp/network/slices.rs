//! The walk by slices: some rounds of beacons, of all lanes, while nothing else is said.
//!
//! In a round each lane sends one beacon, in an order that was found when the slice began. The order need not be exact: what a beacon
//! changes in a device counts from the tick at which it comes, which is noted, and before that the cable has to be passed. So the order holds
//! until clocks that are as far off as may be have parted by half of the shortest cable; then the slice ends. What one device sends is always in order.
//!
//! A beacon can change something only if it is ahead of the local counter at the far end, which can be told by one number for each
//! lane, its [`mark`](Check::mark), as long as the number of ticks that the way takes stays the same. That changes when the phase of the two clocks passes a
//! tick. The phase is exact at both ends of a slice, and between them is within some picoseconds of the line from one to the other; where that does not tell, it is
//! computed for the beacon.

use super::super::hearing::{Hearing, Told};
use super::super::message::{HALF, Message};
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
/// Times are rounded to picoseconds, at four places.
const ROUNDED: f64 = 4.0 / 6_400.0;
const PS_A_TICK: u64 = 6_400;
/// When lanes send is told apart by so many picoseconds: less than a tick of any clock, so that two ticks of one device are never taken for one.
const WIDTH: u64 = 6_300;

/// What is asked of each beacon.
#[derive(Clone, Copy)]
struct Check {
    /// The sender's global counter with which a beacon would just change nothing.
    mark: u64,
    /// The device that sends.
    from: u32,
    /// The round from which on that has to be found anew.
    until: u32,
}

/// A lane over which beacons go, as far as it is needed to walk them: two cache lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Sending {
    /// Of the far end.
    hearing: Hearing,
    /// The tick at which the slice's first message leaves, and how far the receiver's clock is ahead of that tick when it comes, in ticks.
    first: u64,
    phase: f64,
    /// How that changes with each message, and one over it.
    slope: f64,
    inverse: f64,
    /// Which messages of the slice the FIFO holds.
    lots: u64,
    /// By how many ticks a message's number at the receiver is greater than at the sender, if it is not held; up to
    /// which message that is sure; and what the receiver has measured.
    way: i64,
    delay: i32,
    sure: u16,
    /// How many leave in this slice, and up to which one all were heard.
    messages: u8,
    done: u8,
    /// The one that is a BEACON-MSB.
    msb: u32,
    /// The device that receives.
    to: u32,
}

const _: () = assert!(size_of::<Sending>() == 128);

/// The rest of it.
#[derive(Clone, Copy)]
struct Line {
    lane: u32,
    from: u32,
    /// Nobody hears what is sent.
    deaf: bool,
    length: Time,
    /// When the slice's first message leaves.
    sent: Time,
    /// The number of that message, and of the walk's first.
    number: u64,
    began: u64,
}

pub struct Slices {
    interval: u64,
    rounds: u64,
    lines: Vec<Line>,
    /// In the order in which they send, and whose each is.
    sendings: Vec<Sending>,
    order: Vec<u32>,
    /// The next slice's, while it is walked: it may have to be walked again.
    next: (Vec<Sending>, Vec<u32>),
    /// Of those that are heard.
    checks: Vec<Check>,
    /// Where groups of at most 64 checks end, which send within so many picoseconds: so soon one changes nothing for the others but by
    /// devices for which something has come before, and those are looked at in any case.
    groups: Vec<u32>,
    together: u64,
    counters: Counters,
    /// As they were when the slice began.
    before: Counters,
    /// Counters' high halves that were told in this slice: by which line, at which tick, and the global counter.
    told: Vec<(u32, u64, u64)>,
    /// How many lanes send before each place in a round.
    places: Vec<u32>,
}

/// The global counters of devices.
#[derive(Clone, Default)]
struct Counters {
    global: Vec<u64>,
    /// The same; of devices for which there is something in `raises`, far from it, so that no check passes.
    shown: Vec<u64>,
    /// By device, what the counter is at least from a tick on.
    raises: Vec<Vec<(u64, u64)>>,
}

const HIDDEN: u64 = 1 << 62;

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
            self.shown[device] = self.global[device].wrapping_sub(HIDDEN);
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
        self.shown[device] = global.wrapping_sub(hidden);
    }
}

/// Something comes up in a slice that is not for it.
struct Unusual;

impl Network {
    /// Goes on by slices, if there are only beacons, and for some time.
    pub(super) fn begin_slices(&mut self, to: Time) -> Option<Slices> {
        if !self.devices.iter().all(Device::is_plain) {
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
        counters.shown = counters.global.clone();
        let mut highs = Vec::new();
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
                        match heard.beacon(flight.tick, ahead) {
                            Told::Nothing => {}
                            Told::Moved => {
                                counters.raise_at(lane.to.0, flight.tick, low(heard.local))
                            }
                            Told::FellBehind | Told::Faulty => return None,
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
                phase: 0.0,
                slope: 0.0,
                inverse: 0.0,
                lots: 0,
                way: 0,
                delay: steady.map_or(0, |steady| steady.delay as i32),
                sure: 0,
                messages: 0,
                done: 0,
                msb: own.to_msb - 1,
                to: lane.to.0 as u32,
            });
            lines.push(Line {
                lane: index as u32,
                from: lane.from.0 as u32,
                deaf: steady.is_none(),
                length: lane.delay,
                sent,
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
        for (sending, line) in sendings.iter_mut().zip(&lines) {
            (_, sending.phase) = line.comes(sending.first, sending.to, &mut self.ticks);
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
            order: (0..sendings.len() as u32).collect(),
            next: (sendings.clone(), vec![0; sendings.len()]),
            sendings,
            lines,
            checks: Vec::new(),
            groups: Vec::new(),
            // As much more as clocks part within a slice, and it is still less than the shortest cable.
            together: shortest.as_ps() / 4,
            before: counters.clone(),
            counters,
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
        for (sending, &line) in slices.sendings.iter().zip(&slices.order) {
            let line = &slices.lines[line as usize];
            let lane = &mut self.lanes[line.lane as usize];
            let (from, to) = (lane.from, lane.to);
            let sent = line.number - line.began;
            lane.lots.messages = line.number;
            lane.planned = Some((sending.first, line.sent));
            if sent > 0 {
                let last = sending.first - slices.interval;
                lane.free = last + 1;
                self.side(from).has_sent(sent, last);
            }
            if !line.deaf {
                self.side(to).has_heard(sending.hearing);
            }
            let due = self.devices[from.0].due(from.1);
            self.lanes[line.lane as usize].asked = due;
            self.events.fill(line.sent, line.lane as usize);
        }
        for (device, raises) in slices.counters.raises.iter().enumerate() {
            let global = self.devices[device].global;
            for &(tick, to) in raises {
                let base = global.plus(to.wrapping_sub(low(global)) as i64);
                self.events
                    .raise(self.ticks[device].when(tick), device, base);
            }
        }
    }
}

impl Line {
    /// When a message leaves, and how far the receiver's clock is ahead of its tick when it comes, in ticks.
    fn comes(&self, tick: u64, to: u32, ticks: &mut [Ticks]) -> (Time, f64) {
        let sent = ticks[self.from as usize].when(tick);
        let (at, rest) = ticks[to as usize].split(sent + self.length);
        let ahead = at.wrapping_sub(tick) as i64;
        (sent, ahead as f64 + rest as f64 / TICK as f64)
    }

    /// The number of ticks on the way.
    #[cold]
    fn way(&self, tick: u64, to: u32, ticks: &mut [Ticks]) -> i64 {
        let sent = ticks[self.from as usize].when(tick);
        let at = ticks[to as usize].next(sent + self.length);
        at.wrapping_sub(tick) as i64
    }
}

impl Sending {
    /// Finds the number of ticks on the way anew, for a message; whether that is sure, from the line between the slice's ends.
    #[inline]
    fn cross(&mut self, message: u32, margin: f64) -> bool {
        let phase = self.phase + self.slope * f64::from(message);
        let way = ceil(phase);
        let above = way as f64 - phase;
        self.way = way;
        let room = if self.slope > 0.0 { above } else { 1.0 - above };
        let more = ((room - margin) * self.inverse).min(250.0) as u32;
        self.sure = (message + more.max(1)) as u16;
        above >= margin && above <= 1.0 - margin
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

/// The least integer that is not less: `no_std` has none of floats.
fn ceil(x: f64) -> i64 {
    let whole = x as i64;
    whole + i64::from((whole as f64) < x)
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
        self.told.clear();
        // How far the phase may be off the line between its two ends: an eighth of what the square of the time makes of the change of rates.
        let more = Time::from_ps(2 * self.interval * PS_A_TICK);
        let seconds = (end - now + more).as_ps() as f64 / 1e12;
        let bent = 2.0 * *steepest * 1e-6 * seconds * seconds / 8.0 / 6.4e-9;
        let margin = ROUNDED + 1.1 * bent;
        let last: Vec<u64> = ticks.iter_mut().map(|ticks| ticks.at(end)).collect();
        self.plan(now, &last, lanes);
        let ends = self.find_phases(ticks);
        let rounds = self.next.0.iter().map(|sending| sending.messages).max();
        for round in 0..u32::from(rounds.unwrap_or(0)) {
            let mut begin = 0;
            for group in 0..self.groups.len() {
                let end = self.groups[group] as usize;
                let mut wanted = self.wanted(begin..end, round);
                work.looked_at += u64::from(wanted.count_ones());
                while wanted != 0 {
                    let place = begin + wanted.trailing_zeros() as usize;
                    wanted &= wanted - 1;
                    self.look(place, round, margin, ticks)?;
                }
                begin = end;
            }
        }
        core::mem::swap(&mut self.sendings, &mut self.next.0);
        core::mem::swap(&mut self.order, &mut self.next.1);
        for ((sending, &line), (sent, phase)) in self.sendings.iter_mut().zip(&self.order).zip(ends)
        {
            let line = &mut self.lines[line as usize];
            let messages = sending.messages;
            work.beacons += u64::from(messages);
            if line.deaf && sending.msb < messages.into() {
                sending.msb += MSB;
            }
            if !line.deaf {
                sending.catch_up(messages);
            }
            sending.msb -= u32::from(messages);
            sending.first += u64::from(messages) * self.interval;
            sending.phase = phase;
            line.sent = sent;
            line.number += u64::from(messages);
        }
        for &(line, tick, global) in &self.told {
            let line = &self.lines[line as usize];
            let base = devices[line.from as usize].global;
            let told = base.plus(global.wrapping_sub(low(base)) as i64).at(tick);
            let (device, port) = lanes[line.lane as usize].to;
            devices[device].sides[port.index()].told_high((told >> HALF) as u64);
        }
        Ok(())
    }

    /// Which checks of a group do not tell that their beacon changes nothing: the first in the lowest bit. All are asked before one is looked at, without a
    /// branch that could not be foreseen.
    #[inline]
    fn wanted(&self, group: core::ops::Range<usize>, round: u32) -> u64 {
        let checks = self.checks[group].iter().enumerate();
        checks.fold(0, |wanted, (index, check)| {
            let shown = self.counters.shown[check.from as usize];
            let behind = check.mark.wrapping_sub(shown);
            let known = (behind < 8) & (round < check.until);
            wanted | u64::from(!known) << index
        })
    }

    /// Finds what leaves up to the last tick of each device, and brings it into order.
    fn plan(&mut self, now: Time, last: &[u64], lanes: &mut [Lane]) {
        let interval = self.interval;
        let places = ((interval + interval / 64 + 2) * PS_A_TICK / WIDTH) as usize;
        self.places.clear();
        self.places.resize(places + 2, 0);
        // Those that send nothing, or to nobody, come last.
        let place = |line: &Line, messages: u8| {
            let place = (line.sent - now).as_ps() / WIDTH;
            match messages == 0 || line.deaf {
                true => places,
                false => place.min(places as u64 - 1) as usize,
            }
        };
        for (sending, &line) in self.sendings.iter_mut().zip(&self.order) {
            let line = &self.lines[line as usize];
            let messages = match last[line.from as usize].checked_sub(sending.first) {
                Some(more) => more / interval + 1,
                None => 0,
            };
            sending.messages = messages as u8;
            self.places[place(line, sending.messages) + 1] += 1;
        }
        for place in 1..self.places.len() {
            self.places[place] += self.places[place - 1];
        }
        let heard = self.places[places] as usize;
        let none = Check {
            mark: 0,
            from: 0,
            until: 0,
        };
        self.checks.clear();
        self.checks.resize(heard, none);
        for (sending, &index) in self.sendings.iter().zip(&self.order) {
            let line = &self.lines[index as usize];
            let at = &mut self.places[place(line, sending.messages)];
            let to = *at as usize;
            *at += 1;
            let mut sending = *sending;
            let lots = &mut lanes[line.lane as usize].lots;
            sending.lots = lots.next_held(line.number, sending.messages);
            (sending.sure, sending.done) = (0, 0);
            self.next.0[to] = sending;
            self.next.1[to] = index;
            if let Some(check) = self.checks.get_mut(to) {
                check.from = line.from;
            }
        }
        self.groups.clear();
        let (mut begun, mut least, mut most) = (0, u64::MAX, 0);
        for to in 0..heard {
            // Within a place of the order any may be the first.
            let sent = (self.lines[self.next.1[to] as usize].sent - now).as_ps();
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

    /// Finds how phases change in the next slice; when, and in which phase, the first messages behind it leave.
    fn find_phases(&mut self, ticks: &mut [Ticks]) -> Vec<(Time, f64)> {
        let (sendings, order) = (&mut self.next.0, &self.next.1);
        let find = |(sending, &line): (&mut Sending, &u32)| {
            let line = &self.lines[line as usize];
            let messages = sending.messages;
            if messages == 0 {
                return (line.sent, sending.phase);
            }
            let behind = sending.first + u64::from(messages) * self.interval;
            let (sent, phase) = line.comes(behind, sending.to, ticks);
            sending.slope = (phase - sending.phase) / f64::from(messages);
            let steep = sending.slope.max(-sending.slope);
            sending.inverse = 1.0 / steep.max(1e-12);
            (sent, phase)
        };
        sendings.iter_mut().zip(order).map(find).collect()
    }

    /// A beacon that may change something.
    fn look(
        &mut self,
        place: usize,
        round: u32,
        margin: f64,
        ticks: &mut [Ticks],
    ) -> Result<(), Unusual> {
        let (sending, check) = (&mut self.next.0[place], &mut self.checks[place]);
        if round >= sending.messages.into() {
            return Ok(());
        }
        let tick = sending.first + u64::from(round) * self.interval;
        let from = check.from as usize;
        if self.counters.shown[from] != self.counters.global[from] {
            self.counters.settle(from, tick);
        }
        if round >= sending.sure.into() && !sending.cross(round, margin) {
            let line = &self.lines[self.next.1[place] as usize];
            sending.way = line.way(tick, sending.to, ticks);
            sending.sure = round as u16 + 1;
        }
        let global = self.counters.global[from];
        let way = (sending.way - i64::from(sending.delay)) as u64;
        let mark = low(sending.hearing.local).wrapping_add(way);
        let ahead = global.wrapping_sub(mark) as i64;
        let lots = sending.lots >> round;
        (check.mark, check.until) = (mark, u32::from(sending.sure).min(sending.msb));
        if round == sending.msb {
            sending.catch_up(round as u8);
            (sending.done, sending.msb) = (round as u8 + 1, round + MSB);
            self.told.push((self.next.1[place], tick, global));
            check.until = sending.sure.into();
        } else if ahead == 1 && lots & 1 == 1 {
            // It is held, and so nothing; and so are the next until one is not.
            check.mark = check.mark.wrapping_add(1);
            check.until = check.until.min(round + lots.trailing_ones());
        } else if !(-7..=0).contains(&ahead) {
            let held = lots & 1;
            sending.catch_up(round as u8);
            sending.done = round as u8 + 1;
            let at = (tick as i64 + sending.way) as u64 + held;
            match sending.hearing.beacon(at, ahead - held as i64) {
                Told::Nothing => {}
                Told::Moved => {
                    let local = low(sending.hearing.local);
                    check.mark = local.wrapping_add(way);
                    self.counters.raise_at(sending.to as usize, at, local);
                }
                Told::FellBehind | Told::Faulty => return Err(Unusual),
            }
        }
        Ok(())
    }

    /// As if the slice had not been walked.
    fn forget(&mut self) {
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
