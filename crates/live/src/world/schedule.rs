//! One thread for all departures of a world: whatever is due next, on any port, leaves next.

use crate::clock::now_ns;
use crate::pace::{Aim, ErrorMeter, Idle, Waiter, hurry};
use crate::port::{PortError, Transmit, TxCounters};
use node::Refusal;
use node::outcome::TimingError;
use node::{Channel, Frame, Tap, Time};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Frames that go out in one call.
const BATCH: usize = 64;
/// Behind time and with so many frames waiting, nodes are kept waiting too.
const CROWD: u64 = 65_536;
/// Frames that may be under way at all; at 100 bytes each half a gigabyte.
const MOST: u64 = 1 << 22;

/// A frame that is to leave.
pub struct Item {
    /// When, ns on the counter.
    pub at: u64,
    /// Those due at one time leave in this order.
    pub order: u64,
    /// The lane that it leaves by.
    pub lane: usize,
    /// The time from which its error counts, ns, where a node asked for one; and whether that was past
    /// when it asked.
    pub wanted: Option<(u64, bool)>,
    /// The frame.
    pub frame: Frame,
}

impl Item {
    /// Whether it was not too late already when it was asked for.
    fn is_timely(&self) -> bool {
        self.wanted.is_none_or(|(_, late)| !late)
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

/// A way out, shared by the thread of departures and its node's own thread.
pub struct Lane {
    /// The port.
    pub tx: Mutex<Box<dyn Transmit>>,
    /// The node whose buffers the frames come from.
    pub owner: usize,
    /// Frames of this lane that wait for their time.
    pub waiting: AtomicU64,
    /// Frames that the port would not take: because of themselves, for want of a link, and because its queue was full.
    pub refused: [AtomicU64; 3],
    /// Set when the port is of no more use.
    pub dead: AtomicBool,
    /// For a lane that leads to something real, where no node's thread sees what arrives.
    pub exit: Option<Mutex<Exit>>,
}

/// Why a port would not take a frame.
#[derive(Clone, Copy)]
pub enum Refused {
    /// The frame is not for this port: it is too long, mostly.
    Itself,
    /// There is no link.
    NoLink,
    /// The queue of the interface has no room.
    Full,
}

impl Refused {
    /// All of them, with the words for a node's drops.
    pub const ALL: [(Refused, &str); 3] = [
        (Refused::Itself, "refused by the port"),
        (Refused::NoLink, Refusal::NoLink.reason()),
        (Refused::Full, "sent by a port whose queue was full"),
    ];

    fn of(error: &PortError) -> Refused {
        match error {
            PortError::Full { .. } => Refused::Full,
            error if error.is_no_link() => Refused::NoLink,
            _ => Refused::Itself,
        }
    }
}

/// Where frames leave the world for something real.
pub struct Exit {
    /// Who looks at what arrives there.
    pub taps: Vec<Tap>,
    /// The link that frames come by.
    pub link: Channel,
    /// Frames that have left.
    pub frames: u64,
}

impl Exit {
    /// Shows frames that are there at `now`.
    fn show<'a>(&mut self, now: Time, frames: impl Iterator<Item = &'a mut Frame>) {
        for frame in frames {
            self.frames += 1;
            let duration = super::host::time_on(&self.link, frame.len());
            frame.set_arrived(now - duration);
            for tap in &mut self.taps {
                (tap.see)(now, frame);
            }
        }
    }
}

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
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is whole after every single step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.waiting() < MOST
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
        for frames in frames.chunks(BATCH) {
            let mut slices: [&[u8]; BATCH] = [&[]; BATCH];
            for (slice, frame) in slices.iter_mut().zip(frames) {
                *slice = frame;
            }
            self.send(lane, &mut **tx, &slices[..frames.len()], trouble);
        }
        drop(tx);
        if let Some(exit) = &self.lanes[lane].exit {
            let now = Time::from_ns(now_ns().saturating_sub(self.start.load(Relaxed)));
            lock(exit).show(now, frames.iter_mut());
        }
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
        let mut waiter = Waiter::new(hurry());
        // What arrives before it has left makes delays that nobody can use.
        let mut aims: Vec<Aim> = self.lanes.iter().map(|_| Aim::cautious()).collect();
        let mut errors = ErrorMeter::default();
        while self.take(&mut heap) {
            let (at, lane) = heap
                .peek()
                .map_or((u64::MAX, 0), |item: &Item| (item.at, item.lane));
            let ahead = |lane: usize, aims: &[Aim]| aims.get(lane).map_or(0, Aim::lead);
            let early = at.saturating_sub(ahead(lane, &aims));
            let timely = heap.peek().is_some_and(Item::is_timely);
            let mut waiting = Waiting {
                schedule: self,
                at,
                lane,
                aim: aims.get_mut(lane).filter(|_| timely),
                stamped: false,
            };
            let waited = waiter.until(early, &mut waiting);
            let mut stamped = waiting.stamped;
            let Some(now) = waited else { continue };
            self.behind.store(now > at + 1_000_000, Relaxed);
            let due = |item: &Item, aims: &[Aim]| item.at <= now + ahead(item.lane, aims);
            while let Some(first) = heap.peek().filter(|item| due(item, &aims)) {
                let lane = first.lane;
                while batch.len() < BATCH
                    && let Some(item) = heap.peek_mut()
                    && due(&item, &aims)
                    && item.lane == lane
                {
                    batch.push(std::collections::binary_heap::PeekMut::pop(item));
                }
                let (aim, paused) = (&mut aims[lane], waiter.behind);
                let expected = std::mem::take(&mut stamped);
                self.leave(
                    lane,
                    &mut batch,
                    &mut report,
                    &mut errors,
                    (aim, expected),
                    paused,
                );
            }
        }
        for lane in &self.lanes {
            if let Err(error) = lock(&lane.tx).finish() {
                report.trouble.get_or_insert(error);
            }
        }
        let leads = aims.iter().map(Aim::lead);
        let lane = self.lanes.first();
        report.timing = TimingError {
            floor: waiter.floor(),
            lead: Time::from_ns(leads.max().unwrap_or(0)),
            real_time: waiter.real_time(),
            method: lane.map_or("", |lane| lock(&lane.tx).method()),
            ..errors.report()
        };
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

    /// Sends a batch, measures it, and gives its buffers back.
    fn leave(
        &self,
        lane: usize,
        batch: &mut Vec<Item>,
        report: &mut ScheduleReport,
        errors: &mut ErrorMeter,
        (aim, stamped): (&mut Aim, bool),
        paused: bool,
    ) {
        let mut tx = lock(&self.lanes[lane].tx);
        let began;
        if let [item] = &batch[..] {
            began = now_ns();
            self.send(lane, &mut **tx, &[&item.frame], &mut report.trouble);
        } else {
            let mut slices: [&[u8]; BATCH] = [&[]; BATCH];
            for (slice, item) in slices.iter_mut().zip(batch.iter()) {
                *slice = &item.frame;
            }
            began = now_ns();
            self.send(lane, &mut **tx, &slices[..batch.len()], &mut report.trouble);
        }
        let took = now_ns() - began;
        if stamped && batch.len() == 1 {
            aim.asked(batch[0].wanted.map(|(wanted, _)| wanted), began);
        }
        aim.look(&mut **tx, errors);
        drop(tx);
        if let Some(exit) = &self.lanes[lane].exit {
            let now = Time::from_ns(began.saturating_sub(self.start.load(Relaxed)));
            lock(exit).show(now, batch.iter_mut().map(|item| &mut item.frame));
        }
        let count = batch.len() as u64;
        let mut spent = lock(&self.spent[self.lanes[lane].owner]);
        for (place, item) in batch.drain(..).enumerate() {
            if let Some((wanted, late)) = item.wanted {
                let left = began + aim.lead() + took * place as u64 / count;
                errors.record(wanted, left, late, paused);
            }
            spent.push(item.frame);
        }
        drop(spent);
        self.lanes[lane].waiting.fetch_sub(count, SeqCst);
        self.waiting.fetch_sub(count, SeqCst);
    }

    fn send(
        &self,
        lane: usize,
        tx: &mut dyn Transmit,
        frames: &[&[u8]],
        trouble: &mut Option<PortError>,
    ) {
        let mut done = 0;
        if self.lanes[lane].dead.load(Relaxed) {
            done = frames.len();
            self.lanes[lane].refused[Refused::NoLink as usize].fetch_add(done as u64, SeqCst);
        }
        while done < frames.len() {
            match tx.send(&frames[done..]) {
                Ok(sent) => {
                    done += sent;
                    // What leaves the world is received by nobody in it.
                    if self.lanes[lane].exit.is_none() {
                        self.sent.fetch_add(sent as u64, SeqCst);
                    }
                }
                Err(error) => {
                    let Lane { refused, dead, .. } = &self.lanes[lane];
                    let (kind, mut lost) = (Refused::of(&error), 1);
                    if error.is_end() {
                        lost = frames.len() - done;
                        dead.store(true, SeqCst);
                        // A reader that has seen enough wants the end; any other fault is that of the port alone.
                        let all = || self.lanes.iter().all(|lane| lane.dead.load(SeqCst));
                        if matches!(error, PortError::Ended { .. }) || all() {
                            self.failed.store(true, SeqCst);
                        }
                        trouble.get_or_insert(error);
                    }
                    refused[kind as usize].fetch_add(lost as u64, SeqCst);
                    done += lost;
                }
            }
        }
    }
}

/// What the thread of departures does while it waits.
struct Waiting<'a> {
    schedule: &'a Schedule,
    /// The departure that it waits for, and by which lane that goes.
    at: u64,
    lane: usize,
    /// To ask for a stamp of it, if it is fit for that; and whether that was done.
    aim: Option<&'a mut Aim>,
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
            if let Some(aim) = self.aim.take() {
                self.stamped = aim.ask(&mut **tx);
            }
            tx.warm();
        }
    }
}
