//! One thread for all departures of a world: whatever is due next, on any port, leaves next.

mod hand_over;

use super::lane::{Lane, Refused};
use crate::kernel::thread::lock;
use crate::port::pace::{BATCH, Call, Departures, Idle, Lead, Wanted};
use crate::port::{PortError, Transmit, TxCounters};
use ::capture::clock::now_ns;
use hand_over::Kept;
use node::outcome::TimingError;
use node::{Frame, StampId, Time};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Number of waiting frames from which nodes wait too while departures are late.
const CROWD: u64 = 65_536;
/// Interval at which a port that paces frames itself is polled for departures, ns.
const DEPARTURE_POLL_INTERVAL_NS: u64 = 1_000_000;
/// Maximum number of frames in flight; at 100 bytes each half a gigabyte.
const MAX_PENDING_FRAMES: u64 = 1 << 22;

/// A frame that is to leave.
pub struct Item {
    /// When, ns on the counter.
    pub at: u64,
    /// Those due at one time leave in this order.
    pub order: u64,
    /// The lane that it leaves by.
    pub lane: usize,
    /// The time from which its error counts, where a node asked for one.
    pub wanted: Option<Wanted>,
    /// By what its node asked when it leaves, and how long before `at` that counts.
    pub stamp: Option<(StampId, Time)>,
    pub frame: Frame,
}

/// A departure that a node asked for.
pub struct Stamp {
    /// By what.
    pub id: StampId,
    /// The lane that the frame left by.
    pub lane: usize,
    /// When it was given to the port, less what the link had had it for by then.
    pub at: Time,
}

impl Item {
    /// Whether it was not too late already when it was asked for.
    fn is_timely(&self) -> bool {
        self.wanted.is_none_or(|wanted| !wanted.late)
    }

    fn bytes(&self) -> &[u8] {
        &self.frame
    }
}

// `BinaryHeap` gives the greatest first, so the earliest is the greatest.
impl Ord for Item {
    fn cmp(&self, other: &Item) -> Ordering {
        (other.at, other.order, other.lane).cmp(&(self.at, self.order, self.lane))
    }
}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Item) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Item {}

/// What the thread of departures tells in the end.
#[derive(Debug, Default)]
pub struct ScheduleReport {
    /// The error of departures that nodes asked for at a time.
    pub timing: TimingError,
    /// Why a port was of no more use.
    pub trouble: Option<PortError>,
}

#[derive(Default)]
struct State {
    incoming: Vec<Item>,
    /// The earliest of those.
    earliest: u64,
    /// What the thread sleeps for: nothing later need wake it.
    asleep_for: u64,
    stop: bool,
}

/// Departures of all nodes, in the order of time.
pub struct Schedule {
    lanes: Vec<Lane>,
    state: Mutex<State>,
    changed: Condvar,
    /// As in [`State`], for a look without the lock.
    earliest: AtomicU64,
    waiting: AtomicU64,
    sent: AtomicU64,
    behind: AtomicBool,
    failed: AtomicBool,
    /// The counter at time zero, ns.
    start: AtomicU64,
    /// Frames that have left, by the node whose buffers they are.
    spent: Vec<Mutex<Vec<Frame>>>,
    /// Departures that nodes asked for, by node; and whether there are any at all.
    stamps: Vec<Mutex<Vec<Stamp>>>,
    any_stamps: Vec<AtomicBool>,
}

impl Schedule {
    /// Nothing to do yet, for so many nodes.
    pub fn new(lanes: Vec<Lane>, nodes: usize) -> Schedule {
        Schedule {
            lanes,
            state: Mutex::new(State {
                earliest: u64::MAX,
                ..State::default()
            }),
            changed: Condvar::new(),
            earliest: AtomicU64::new(u64::MAX),
            waiting: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            behind: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            start: AtomicU64::new(0),
            spent: (0..nodes).map(|_| Mutex::default()).collect(),
            stamps: (0..nodes).map(|_| Mutex::default()).collect(),
            any_stamps: (0..nodes).map(|_| AtomicBool::default()).collect(),
        }
    }

    /// Says when time zero is, ns on the counter.
    pub fn begin(&self, start: u64) {
        self.start.store(start, SeqCst);
    }

    /// The ways out.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The ways out, of a schedule that is no more used.
    pub fn into_lanes(self) -> Vec<Lane> {
        self.lanes
    }

    /// What each port has sent.
    pub fn counters(&self) -> Vec<TxCounters> {
        self.lanes
            .iter()
            .map(|lane| lock(&lane.tx).counters())
            .collect()
    }

    /// Frames that wait for their time.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(SeqCst)
    }

    /// Frames that have left.
    pub fn sent(&self) -> u64 {
        self.sent.load(SeqCst)
    }

    /// Whether a port is of no more use.
    pub fn failed(&self) -> bool {
        self.failed.load(SeqCst)
    }

    /// Whether there is room for more frames; waits while departures are behind time anyway.
    pub fn has_room(&self) -> bool {
        while self.behind.load(Relaxed) && self.waiting() > CROWD && !lock(&self.state).stop {
            std::thread::park_timeout(Duration::from_micros(100));
        }
        self.waiting() < MAX_PENDING_FRAMES
    }

    /// Takes all of `items`.
    pub fn submit(&self, items: &mut Vec<Item>) {
        let Some(earliest) = items.iter().map(|item| item.at).min() else {
            return;
        };
        self.waiting.fetch_add(items.len() as u64, SeqCst);
        for item in items.iter() {
            self.lanes[item.lane].waiting.fetch_add(1, SeqCst);
        }
        let mut state = lock(&self.state);
        state.incoming.append(items);
        if earliest < state.earliest {
            state.earliest = earliest;
            self.earliest.store(earliest, SeqCst);
            if earliest < state.asleep_for {
                self.changed.notify_one();
            }
        }
    }

    /// Sends frames that are not to wait, in order, from the thread of their node. Only while none of
    /// the lane [waits](Lane::waiting).
    pub fn send_now(&self, lane: usize, frames: &mut [Frame], trouble: &mut Option<PortError>) {
        let mut tx = lock(&self.lanes[lane].tx);
        for frames in frames.chunks_mut(BATCH) {
            let call = self.send(lane, &mut **tx, frames, true, |frame| frame, trouble);
            let stamps = frames.iter_mut().map(|frame| frame.take_stamp());
            let stamps = stamps.map(|id| Some((id?, Time::ZERO)));
            self.stamp(lane, &call, stamps);
        }
        drop(tx);
        if let Some(exit) = &self.lanes[lane].exit {
            lock(exit).show(self.since_start(now_ns()), frames.iter_mut());
        }
    }

    /// Notes of the frames of a call, in order, when those left of which somebody asked that.
    fn stamp(
        &self,
        lane: usize,
        call: &Call,
        frames: impl Iterator<Item = Option<(StampId, Time)>>,
    ) {
        let asked = frames.enumerate().take(call.left);
        for (index, (id, ahead)) in asked.filter_map(|(index, stamp)| Some((index, stamp?))) {
            let at = self.since_start(call.left_at(index)) - ahead;
            let node = self.lanes[lane].owner;
            lock(&self.stamps[node]).push(Stamp { id, lane, at });
            self.any_stamps[node].store(true, SeqCst);
        }
    }

    /// Takes the departures that a node asked for, as far as they have come; whether there are any.
    pub fn take_stamps(&self, node: usize, into: &mut Vec<Stamp>) -> bool {
        let any = self.any_stamps[node].load(Relaxed);
        if any {
            self.any_stamps[node].store(false, SeqCst);
            into.append(&mut lock(&self.stamps[node]));
        }
        any
    }

    /// Gives back the buffers of a node.
    pub fn reclaim(&self, node: usize, into: &mut Vec<Frame>) {
        std::mem::swap(&mut *lock(&self.spent[node]), into);
    }

    /// Ends the thread of departures; what is not due stays.
    pub fn stop(&self) {
        lock(&self.state).stop = true;
        self.earliest.store(0, SeqCst);
        self.changed.notify_all();
    }

    /// The thread of departures.
    pub fn run(&self) -> ScheduleReport {
        let mut report = ScheduleReport::default();
        let (mut heap, mut batch) = (BinaryHeap::new(), Vec::with_capacity(BATCH));
        let mut departures = match self.lanes.iter().all(|lane| lane.timekeeper.is_some()) {
            true => Departures::default(),
            false => Departures::on_this_thread(),
        };
        // What arrives before it has left makes delays that nobody can use.
        let lead = |lane: &Lane| lane.timekeeper.map(|keeper| keeper.ahead.as_nanos() as u64);
        let leads = self.lanes.iter().map(lead);
        let mut leads: Vec<Lead> = leads
            .map(|ahead| ahead.map_or_else(Lead::cautious, Lead::fixed))
            .collect();
        let mut kept = Kept::new(self.lanes.len());
        while self.take(&mut heap) {
            if heap.is_empty() && kept.is_empty() {
                self.rest();
                continue;
            }
            let first: Option<&Item> = heap.peek();
            let timely = first.is_some_and(Item::is_timely);
            let (mut at, lane) = first.map_or((u64::MAX, 0), |item| (item.at, item.lane));
            if self.settle(
                &mut kept,
                &mut departures,
                &mut report.trouble,
                Duration::ZERO,
            ) {
                at = at.min(now_ns() + DEPARTURE_POLL_INTERVAL_NS);
            }
            let lead = leads.get(lane).map_or(0, Lead::ns);
            let mut waiting = Waiting {
                schedule: self,
                at,
                lane,
                lead: leads.get_mut(lane).filter(|_| timely),
                stamped: false,
            };
            let waited = departures.until(at, lead, &mut waiting);
            let mut stamped = waiting.stamped;
            let Some(now) = waited else { continue };
            self.behind.store(now > at + 1_000_000, Relaxed);
            let due = |item: &Item, leads: &[Lead]| item.at <= now + leads[item.lane].ns();
            while let Some(first) = heap.peek().filter(|item| due(item, &leads)) {
                let lane = first.lane;
                while batch.len() < BATCH
                    && let Some(item) = heap.peek_mut()
                    && due(&item, &leads)
                    && item.lane == lane
                {
                    batch.push(PeekMut::pop(item));
                }
                let stamped = std::mem::take(&mut stamped);
                let trouble = &mut report.trouble;
                if self.lanes[lane].timekeeper.is_some() {
                    self.hand_over(lane, &mut batch, &mut kept, trouble);
                    continue;
                }
                self.leave(
                    lane,
                    &mut batch,
                    &mut departures,
                    &mut leads[lane],
                    stamped,
                    trouble,
                );
            }
        }
        self.settle_all(&mut kept, &mut departures, &mut report.trouble);
        for lane in &self.lanes {
            if let Err(error) = lock(&lane.tx).finish() {
                report.trouble.get_or_insert(error);
            }
        }
        let lead = leads.iter().map(Lead::ns).max().unwrap_or(0);
        let method = self
            .lanes
            .first()
            .map_or("", |lane| lock(&lane.tx).method());
        report.timing = departures.timing(lead, method);
        report
    }

    /// Takes what has come in; `false` at the end.
    fn take(&self, heap: &mut BinaryHeap<Item>) -> bool {
        let mut state = lock(&self.state);
        heap.extend(state.incoming.drain(..));
        state.earliest = u64::MAX;
        if !state.stop {
            self.earliest.store(u64::MAX, SeqCst);
        }
        !state.stop
    }

    /// Sleeps until something comes in, or the end.
    fn rest(&self) {
        let mut state = lock(&self.state);
        state.asleep_for = u64::MAX;
        let idle = |state: &mut State| !state.stop && state.earliest == u64::MAX;
        let slept = self.changed.wait_while(state, idle);
        state = slept.unwrap_or_else(PoisonError::into_inner);
        state.asleep_for = 0;
    }

    /// Sleeps, unless something earlier has come in; says whether to go on waiting for `at`.
    fn sleep(&self, at: u64, nap: Duration) -> bool {
        let mut state = lock(&self.state);
        if state.stop || state.earliest < at {
            return false;
        }
        state.asleep_for = at;
        let slept = self.changed.wait_timeout(state, nap);
        let (mut state, _) = slept.unwrap_or_else(PoisonError::into_inner);
        state.asleep_for = 0;
        !state.stop && state.earliest >= at
    }

    /// Sends a batch, accounts for it, and gives its buffers back.
    fn leave(
        &self,
        lane: usize,
        batch: &mut Vec<Item>,
        departures: &mut Departures,
        lead: &mut Lead,
        stamped: bool,
        trouble: &mut Option<PortError>,
    ) {
        let mut tx = lock(&self.lanes[lane].tx);
        let together = batch.iter().all(|item| item.at == batch[0].at);
        let call = self.send(lane, &mut **tx, batch, together, Item::bytes, trouble);
        let alone = batch.len() == 1;
        let wanted = batch.iter().map(|item| item.wanted);
        departures.account(&call, &mut **tx, lead, stamped && alone, wanted);
        drop(tx);
        self.stamp(lane, &call, batch.iter().map(|item| item.stamp));
        if let Some(exit) = &self.lanes[lane].exit {
            let now = self.since_start(call.began);
            lock(exit).show(now, batch.iter_mut().map(|item| &mut item.frame));
        }
        self.give_back(lane, batch);
    }

    /// Gives the buffers of frames that have left back.
    fn give_back(&self, lane: usize, batch: &mut Vec<Item>) {
        let count = batch.len() as u64;
        let frames = batch.drain(..).map(|item| item.frame);
        lock(&self.spent[self.lanes[lane].owner]).extend(frames);
        self.lanes[lane].waiting.fetch_sub(count, SeqCst);
        self.waiting.fetch_sub(count, SeqCst);
    }

    /// Gives at most [`BATCH`] frames to the port of a lane, and counts what it does not take. `together`: they are sent at one time.
    fn send<T>(
        &self,
        index: usize,
        tx: &mut dyn Transmit,
        frames: &[T],
        together: bool,
        bytes: fn(&T) -> &[u8],
        trouble: &mut Option<PortError>,
    ) -> Call {
        let lane = &self.lanes[index];
        // One frame needs no list: writing a cold one would take as long as all else between the wait and the call.
        let (alone, mut slices): ([&[u8]; 1], [&[u8]; BATCH]);
        let all: &[&[u8]] = match frames {
            [frame] => {
                alone = [bytes(frame)];
                &alone
            }
            frames => {
                slices = [&[]; BATCH];
                for (slice, frame) in slices.iter_mut().zip(frames) {
                    *slice = bytes(frame);
                }
                &slices[..frames.len()]
            }
        };
        let frames = match lane.dead.load(Relaxed) {
            true => {
                lane.refuse(Refused::NoLink, all.len());
                &[]
            }
            false => all,
        };
        let call = Departures::send(tx, frames, together, |result| match result {
            // What leaves the world is received by nobody in it.
            Ok(sent) if lane.exit.is_none() => {
                self.sent.fetch_add(sent as u64, SeqCst);
            }
            Ok(_) => {}
            Err(error) => self.refused(lane, error, trouble),
        });
        lane.refuse(Refused::Itself, frames.len() - call.left);
        call
    }

    /// A frame that a port did not take.
    fn refused(&self, lane: &Lane, error: PortError, trouble: &mut Option<PortError>) {
        if !error.is_end() {
            return lane.refuse(Refused::of(&error), 1);
        }
        lane.dead.store(true, SeqCst);
        // A reader that has seen enough wants the end; any other fault is that of the port alone.
        let all = || self.lanes.iter().all(|lane| lane.dead.load(SeqCst));
        if matches!(error, PortError::Ended { .. }) || all() {
            self.failed.store(true, SeqCst);
        }
        trouble.get_or_insert(error);
    }

    /// The time of the world at a time of the counter, ns.
    fn since_start(&self, ns: u64) -> Time {
        Time::from_ns(ns.saturating_sub(self.start.load(Relaxed)))
    }
}

/// What the thread of departures does while it waits.
struct Waiting<'a> {
    schedule: &'a Schedule,
    /// The departure that it waits for, and by which lane that goes.
    at: u64,
    lane: usize,
    /// To ask for a stamp of it, if it is fit for that; and whether that was done.
    lead: Option<&'a mut Lead>,
    stamped: bool,
}

impl Idle for Waiting<'_> {
    fn sleep(&mut self, time: Duration) -> bool {
        self.schedule.sleep(self.at, time)
    }

    fn leave(&mut self) -> bool {
        self.schedule.earliest.load(Relaxed) < self.at
    }

    fn warm(&mut self) {
        // Its node's thread may be sending: then all is warm.
        if let Some(Ok(mut tx)) = self
            .schedule
            .lanes
            .get(self.lane)
            .map(|lane| lane.tx.try_lock())
        {
            if let Some(lead) = self.lead.take() {
                self.stamped = lead.ask(&mut **tx);
            }
            tx.warm();
        }
    }
}
