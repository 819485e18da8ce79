//! One direction of a delay box at work.

use super::lag::Lags;
use super::loss::{Events, Losses};
use super::queued::Queued;
use super::served::Served;
use super::spec::Spec;
use super::{LIMIT, QUEUE};
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Ordering;
use node::random::{Random, split_mix};
use node::{Frame, Out, Port, Time};
use packet::ecn;

/// A frame that waits; others may still overtake it.
#[derive(Debug)]
struct Held {
    due: Time,
    /// Those due at one time leave in the order in which they came.
    order: u64,
    /// It need not wait for `due`, which is past for every clock.
    at_once: bool,
    frame: Frame,
}

// `BinaryHeap` gives the greatest first, so the earliest is the greatest.
impl Ord for Held {
    fn cmp(&self, other: &Held) -> Ordering {
        (other.due, other.order).cmp(&(self.due, self.order))
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Held {}

/// What a direction has done, in frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub packets: u64,
    /// Of those, without FCS.
    pub bytes: u64,
    pub lost: u64,
    /// Dropped for want of room.
    pub dropped: u64,
    pub marked: u64,
    pub duplicated: u64,
    pub corrupted: u64,
    /// Sent at once.
    pub reordered: u64,
    /// The most that were under way.
    pub most_held: usize,
}

#[derive(Debug)]
pub struct Line {
    to: Port,
    random: Random,
    lags: Lags,
    losses: Losses,
    ecn: bool,
    duplicates: Events,
    corruptions: Events,
    /// Which are sent at once, the gap, and how many were not since the last.
    reorder: Option<(Events, u64)>,
    waited: u64,
    /// A rate without a queue discipline, and one with it.
    rate: Option<Served>,
    queued: Option<Queued>,
    slots: Option<Slots>,
    limit: usize,
    /// No frame that comes later is due less than this behind its arrival; MAX: none is due before
    /// one that came earlier.
    least: Time,
    held: BinaryHeap<Held>,
    order: u64,
    /// Departures of frames that are handed over but have not left yet, in order.
    leaving: VecDeque<Time>,
    counts: Counts,
}

/// Slots at work.
#[derive(Debug)]
struct Slots {
    wait: Lags,
    packets: u64,
    bytes: u64,
    next: Time,
    packets_left: u64,
    bytes_left: u64,
}

impl Line {
    /// An empty line that leads to `to`; `place` parts its luck from other lines' of one seed.
    pub fn new(spec: &Spec, to: Port, place: u64) -> Line {
        let seed = split_mix(spec.seed.unwrap_or(0), 2 * place);
        let lags = Lags::new(&spec.delay, seed ^ 1);
        let (rate, queued) = match (spec.rate, &spec.queue) {
            (Some(shaping), Some(queue)) => {
                let served = Served::new(shaping, None);
                (None, Some(Queued::new(queue, served, seed ^ 3)))
            }
            (Some(shaping), None) => {
                let most = spec.limit.is_none().then_some(QUEUE);
                (Some(Served::new(shaping, most)), None)
            }
            (None, _) => (None, None),
        };
        let least = match (&spec.reorder, &rate) {
            (Some(_), _) => Time::ZERO,
            (None, Some(_)) => Time::MAX,
            (None, None) => lags.least(),
        };
        let slots = spec.slot.as_ref().map(|slot| {
            let any = |most: u64| if most == 0 { u64::MAX } else { most };
            Slots {
                wait: Lags::new(&slot.wait, seed ^ 2),
                packets: any(slot.packets),
                bytes: any(slot.bytes),
                next: Time::ZERO,
                packets_left: any(slot.packets),
                bytes_left: any(slot.bytes),
            }
        });
        Line {
            to,
            random: Random::new(seed),
            lags,
            losses: Losses::new(&spec.loss),
            ecn: spec.ecn,
            duplicates: Events::new(spec.duplicate),
            corruptions: Events::new(spec.corrupt),
            reorder: spec
                .reorder
                .map(|reorder| (Events::new(reorder.chance), reorder.gap)),
            waited: 0,
            rate,
            queued,
            slots,
            limit: spec.limit.map_or(LIMIT, |limit| limit as usize),
            least,
            held: BinaryHeap::new(),
            order: 0,
            leaving: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    pub fn frame(&mut self, now: Time, mut frame: Frame, out: &mut Out) {
        self.counts.packets += 1;
        self.counts.bytes += frame.len() as u64;
        while self.leaving.front().is_some_and(|&at| at <= now) {
            self.leaving.pop_front();
        }
        let arrived = frame.arrived();
        let copied = self.duplicates.next(&mut self.random);
        self.counts.duplicated += u64::from(copied);
        // As in netem, of a frame that is both copied and lost one remains.
        match (copied, self.is_lost(&mut frame)) {
            (false, true) => out.drop(frame, "lost"),
            (true, true) | (false, false) => self.pass(now, frame, out),
            (true, false) => {
                let mut copy = out.copy(&frame);
                self.pass(now, frame, out);
                match self.is_lost(&mut copy) {
                    true => out.drop(copy, "lost"),
                    false => self.pass(now, copy, out),
                }
            }
        }
        // Whatever comes next has arrived no earlier.
        let sure = match self.least {
            Time::MAX => Time::MAX,
            least => arrived + least,
        };
        self.release(now.max(sure), out);
    }

    /// It is the time that [`next_wake`](Line::next_wake) asked for, or another.
    pub fn wake(&mut self, now: Time, out: &mut Out) {
        self.release(now, out);
    }

    /// When the next frame is due.
    pub fn next_wake(&self) -> Option<Time> {
        let held = self.held.peek().map(|held| held.due);
        let queued = self.queued.as_ref().and_then(Queued::next);
        held.into_iter().chain(queued).min()
    }

    /// Frames that no world has been given yet.
    pub fn held(&self) -> usize {
        self.held.len() + self.queued.as_ref().map_or(0, Queued::waiting)
    }

    pub fn under_way(&self) -> usize {
        self.held() + self.leaving.len()
    }

    /// Totals of the direction so far.
    pub fn counts(&self) -> Counts {
        let marked = self.queued.as_ref().map_or(0, Queued::marked);
        Counts {
            marked: self.counts.marked + marked,
            ..self.counts
        }
    }

    fn is_lost(&mut self, frame: &mut Frame) -> bool {
        if !self.losses.next(&mut self.random) {
            return false;
        }
        if self.ecn && ecn::mark(frame) {
            self.counts.marked += 1;
            return false;
        }
        self.counts.lost += 1;
        true
    }

    /// Finds out when a frame is to leave.
    fn pass(&mut self, now: Time, mut frame: Frame, out: &mut Out) {
        if self.corruptions.next(&mut self.random) && !frame.is_empty() {
            self.counts.corrupted += 1;
            let bit = self.random.below(8 * frame.len() as u64);
            frame[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        if self.under_way() >= self.limit {
            self.counts.dropped += 1;
            out.drop(frame, "delay line full");
            return;
        }
        let (due, at_once) = if self.is_reordered() {
            self.counts.reordered += 1;
            self.waited = 0;
            (now, true)
        } else {
            let arrived = frame.arrived();
            let Some(lag) = self.lags.next(&mut self.random, arrived) else {
                self.counts.lost += 1;
                out.drop(frame, "lost");
                return;
            };
            let ready = arrived + lag;
            let due = match &mut self.rate {
                None => Some(ready),
                Some(served) => served.through(ready, frame.len()),
            };
            let Some(due) = due else {
                self.counts.dropped += 1;
                out.drop(frame, "queue of the rate full");
                return;
            };
            self.waited += 1;
            let is_free = self.rate.is_none() && self.queued.is_none();
            match is_free && self.lags.is_nothing() {
                true => (now, true),
                false => (due, false),
            }
        };
        self.order += 1;
        self.held.push(Held {
            due,
            order: self.order,
            at_once,
            frame,
        });
        self.counts.most_held = self.counts.most_held.max(self.under_way());
    }

    /// As in netem: once the gap is over, by lot.
    fn is_reordered(&mut self) -> bool {
        match &mut self.reorder {
            Some((events, gap)) if self.waited + 1 >= *gap => events.next(&mut self.random),
            _ => false,
        }
    }

    /// Hands over all frames that are due by `until`: none that is still to come is due before them.
    fn release(&mut self, until: Time, out: &mut Out) {
        while self.held.peek().is_some_and(|held| held.due <= until) {
            let Some(held) = self.held.pop() else { return };
            if let Some(queued) = &mut self.queued {
                // Nothing that is still to come enters before it.
                queued.enter(held.due, held.frame);
                continue;
            }
            let (departure, at_once) = match &mut self.slots {
                None => (held.due, held.at_once),
                Some(slots) => (
                    slots.place(held.due, held.frame.len(), &mut self.random),
                    false,
                ),
            };
            self.leaving.push_back(departure);
            match at_once {
                true => out.send(self.to, held.frame),
                false => out.send_at(self.to, departure, held.frame),
            }
        }
        let Some(queued) = &mut self.queued else {
            return;
        };
        let mut dropped = |frame| {
            self.counts.dropped += 1;
            out.drop(frame, "dropped by the queue discipline");
        };
        let mut through = Vec::new();
        queued.serve(until, &mut through, &mut dropped);
        for (at, frame) in through {
            let departure = match &mut self.slots {
                None => at,
                Some(slots) => slots.place(at, frame.len(), &mut self.random),
            };
            self.leaving.push_back(departure);
            out.send_at(self.to, departure, frame);
        }
    }
}

impl Slots {
    /// The slot in which a frame leaves that is due at `due`, not before those placed earlier.
    fn place(&mut self, due: Time, len: usize, random: &mut Random) -> Time {
        if self.next < due {
            // No slot is due before it: the next one begins to be waited for now.
            self.open(due, random);
        }
        let at = self.next;
        self.packets_left = self.packets_left.saturating_sub(1);
        self.bytes_left = self.bytes_left.saturating_sub(len as u64);
        if self.packets_left == 0 || self.bytes_left == 0 {
            self.open(at, random);
        }
        at
    }

    fn open(&mut self, from: Time, random: &mut Random) {
        let wait = self.wait.next(random, from).unwrap_or(Time::ZERO);
        self.next = from + wait;
        self.packets_left = self.packets;
        self.bytes_left = self.bytes;
    }
}
