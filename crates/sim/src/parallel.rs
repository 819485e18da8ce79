//! Parts that run side by side, each as far as its neighbours let it.
//!
//! Nothing that a part sends arrives in a neighbour within the lookahead of the links between them. So who knows up to which time each neighbour
//! has come may let happen all before that and the lookahead, without hearing of the neighbour (conservative synchronisation: Chandy and Misra
//! 1979, Bryant 1977; here a neighbour's time is read where it stands, and no null messages are sent). Each part does the same, in the same order, as it
//! would alone, whichever thread runs it.
//!
//! Parts that have nothing to do would still have to follow each other step by step to the next event. So time goes in epochs, of one
//! lookahead where little happens and of many where much does; when all parts have come to the end of one, the next begins at the earliest event of all.

use crate::SimError;
use crate::lane::Transit;
use crate::part::Part;
use crate::partition::Partition;
use crate::watcher::Watcher;
use node::Time;
use node::outcome::Finish;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// Number of polls of a thread before it sleeps, where each thread has a processor of its own.
const SPINS: u32 = 1 << 13;
/// Number of polls of a thread before it takes a part from another one.
const POLLS_BEFORE_STEAL: u32 = 1 << 6;
/// Maximum length of an epoch, in lookaheads.
const MAX_EPOCH: u64 = 64;
/// Minimum number of events for each lookahead that makes the next epoch longer.
const MIN_GROWTH_EVENTS: u64 = 64;
/// Maximum number of events in a lookahead at which a sleep means that another thread has lost its
/// processor.
const MAX_PREEMPTED_EVENTS: u64 = 1 << 8;
/// Numbers of lookaheads for which one thread runs all parts before the others are tried again: few
/// at first, as a machine may have paused once, then twice as many each time that it happens again
/// soon.
const ALONE: [u64; 2] = [1 << 5, 1 << 12];
/// Multiple of that number within which a repetition is soon.
const SOON: u64 = 4;

/// A value with its own lines of the caches: what another thread writes next to it would take it from who reads it.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// Locks state that is never left inconsistent: a thread that panics ends the run.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A part, for the thread that runs it now.
struct State<'a> {
    part: &'a mut Part,
    /// Where what others have sent is while it is taken.
    inbox: Vec<Transit>,
    /// When the first of what it has sent arrives behind the end of the epoch, ps.
    beyond: u64,
    /// Events in this epoch.
    events: u64,
}

/// A part, and what others see of it.
struct Slot<'a> {
    state: Apart<Mutex<State<'a>>>,
    /// What was sent to it. What one part has sent is in order; between parts there is none.
    mail: Apart<Mutex<Vec<Transit>>>,
    /// All before this has happened in it, and what it has sent then is in the mail, ps.
    reached: Apart<AtomicU64>,
    /// The thread that runs it.
    owner: AtomicUsize,
    /// Its neighbours, and the lookahead from there, ps.
    neighbours: Vec<(usize, u64)>,
}

/// What is told at the end of an epoch.
struct Epoch {
    /// How many parts have come to the end, and how many events there were.
    over: usize,
    events: u64,
    /// When something happens next, ps; MAX for never.
    first: u64,
    /// Of how many lookaheads it is, and how many there were before.
    span: u64,
    spans: u64,
    /// Which thread wants to run all parts; after how many lookaheads that ended or will end, and how long it was.
    wish: Option<usize>,
    until: u64,
    length: u64,
    failed: Option<(Time, usize, SimError)>,
}

/// What all threads share.
struct Shared<'a> {
    slots: Vec<Slot<'a>>,
    threads: usize,
    /// ps.
    lookahead: u64,
    until: Time,
    /// Where the epoch ends, ps: the parts let happen what is before. All before it has happened when a later one is there.
    end: Apart<AtomicU64>,
    passed: AtomicU64,
    epoch: Apart<Mutex<Epoch>>,
    /// Asked to stop, and how it ended.
    stop: AtomicBool,
    outcome: OnceLock<Finish>,
    /// Whether one thread runs all parts.
    alone: AtomicBool,
    spins: u32,
    broken: AtomicBool,
    asleep: Apart<AtomicUsize>,
    lock: Mutex<()>,
    next: Condvar,
}

/// Runs parts until nothing is left to happen, the time is up, or the watcher says so; why it ended.
///
/// # Errors
/// When time stands still.
pub(crate) fn run(
    parts: &mut [Part],
    threads: usize,
    partition: &Partition,
    until: Time,
    watcher: &mut Watcher,
) -> Result<Finish, SimError> {
    let threads = threads.min(parts.len());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let first = parts.iter().filter_map(Part::next).min();
    // More may happen at the time of what happened last.
    let now = parts.iter().map(|part| part.network.now.as_ps()).max();
    let now = now.unwrap_or_default();
    let slot = |(part, neighbours): (_, &Vec<(usize, Time)>)| Slot {
        state: Apart(Mutex::new(State {
            part,
            inbox: Vec::new(),
            beyond: u64::MAX,
            events: 0,
        })),
        mail: Apart::default(),
        reached: Apart(AtomicU64::new(now)),
        owner: AtomicUsize::new(0),
        neighbours: neighbours
            .iter()
            .map(|&(part, least)| (part, least.as_ps()))
            .collect(),
    };
    let shared = Shared {
        slots: parts
            .iter_mut()
            .zip(&partition.neighbours)
            .map(slot)
            .collect(),
        threads,
        lookahead: partition.lookahead.as_ps(),
        until,
        end: Apart(AtomicU64::new(now)),
        passed: AtomicU64::new(now.saturating_sub(1)),
        epoch: Apart(Mutex::new(Epoch {
            over: 0,
            events: 0,
            first: first.map_or(u64::MAX, Time::as_ps),
            span: 1,
            spans: 0,
            wish: None,
            until: 0,
            length: ALONE[0],
            failed: None,
        })),
        stop: AtomicBool::new(false),
        outcome: OnceLock::new(),
        alone: AtomicBool::new(false),
        spins: if processors >= threads { SPINS } else { 1 },
        broken: AtomicBool::new(false),
        asleep: Apart::default(),
        lock: Mutex::new(()),
        next: Condvar::new(),
    };
    shared.give_back();
    shared.plan(&mut lock(&shared.epoch.0));
    std::thread::scope(|scope| {
        let here = &shared;
        let others: Vec<_> = (1..threads)
            .map(|thread| scope.spawn(move || here.work(thread, None)))
            .collect();
        here.work(0, Some(watcher));
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    // The thread that watches may have seen the end before it has told of the last epoch.
    watcher.report(Time::from_ps(shared.passed.into_inner()), until);
    // What was under way when it ended stays so.
    for slot in shared.slots {
        let state = slot.state.0.into_inner();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.part.take(&mut lock(&slot.mail.0));
    }
    match lock(&shared.epoch.0).failed.take() {
        Some((.., error)) => Err(error),
        None => Ok(shared.outcome.into_inner().unwrap_or(Finish::Stopped)),
    }
}

impl Shared<'_> {
    /// One thread's work; one of them watches for all.
    fn work(&self, thread: usize, mut watcher: Option<&mut Watcher>) {
        let _guard = Guard(self);
        let (mut looks, mut seen) = (0, 0);
        while self.outcome.get().is_none() && !self.broken.load(Ordering::Relaxed) {
            let end = self.end.0.load(Ordering::Acquire);
            if let Some(watcher) = watcher.as_deref_mut()
                && end != seen
            {
                seen = end;
                let passed = Time::from_ps(self.passed.load(Ordering::Acquire));
                watcher.report(passed, self.until);
                if watcher.is_over() {
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
            let mut advanced = false;
            for (index, slot) in self.slots.iter().enumerate() {
                if slot.owner.load(Ordering::Relaxed) == thread {
                    advanced |= self.advance(index, end, None);
                }
            }
            looks += 1;
            if advanced || looks % POLLS_BEFORE_STEAL == 0 && self.steal(thread, end) {
                looks = 0;
                self.wake();
            } else if looks < self.spins {
                std::hint::spin_loop();
            } else {
                self.sleep(thread);
                looks = 0;
            }
        }
    }

    /// Up to which time a part may let things happen, and whether that is more than has happened.
    fn bound(&self, slot: &Slot, end: u64) -> Option<u64> {
        // Of a part that has come to the end, or further, nothing is asked.
        let reached = slot.reached.0.load(Ordering::Relaxed);
        if reached >= end {
            return None;
        }
        let bounds = slot.neighbours.iter().map(|&(neighbour, least)| {
            let there = &self.slots[neighbour].reached.0;
            there.load(Ordering::Acquire).saturating_add(least)
        });
        let bound = bounds.fold(end, u64::min);
        (bound > reached).then_some(bound)
    }

    /// Runs a part as far as its neighbours let it, for its owner or a new one; whether it got anywhere. It begins the next epoch if this was the last part
    /// of one.
    fn advance(&self, own: usize, end: u64, new_owner: Option<usize>) -> bool {
        let slot = &self.slots[own];
        let Some(bound) = self.bound(slot, end) else {
            return false;
        };
        // Another thread may have it in hand, or have had it.
        let Ok(mut state) = slot.state.0.try_lock() else {
            return false;
        };
        if bound <= slot.reached.0.load(Ordering::Acquire) {
            return false;
        }
        // This part is not at the end of its epoch, and nobody else can bring it there: the next one, which has owners of its own, cannot have begun.
        if let Some(thread) = new_owner {
            slot.owner.store(thread, Ordering::Relaxed);
        }
        let State {
            part,
            inbox,
            beyond,
            events,
        } = &mut *state;
        std::mem::swap(inbox, &mut lock(&slot.mail.0));
        part.take(inbox);
        let last = Time::from_ps(bound - 1);
        let result = loop {
            match part.step(last) {
                Ok(true) => *events += 1,
                other => break other,
            }
        };
        for (sent, other) in part.network.outboxes.iter_mut().zip(&self.slots) {
            if !sent.is_empty() {
                let arrivals = sent.iter().map(|transit| transit.at().as_ps());
                let late = arrivals.filter(|at| *at >= end);
                *beyond = late.fold(*beyond, u64::min);
                lock(&other.mail.0).append(sent);
            }
        }
        // Who has failed is not waited for.
        let failed = result.err().map(|error| (part.network.now, own, error));
        let reached = if failed.is_some() { end } else { bound };
        slot.reached.0.store(reached, Ordering::Release);
        if reached == end {
            let next = part.next().map_or(u64::MAX, Time::as_ps);
            let next = next.min(std::mem::replace(beyond, u64::MAX));
            let events = std::mem::take(events);
            drop(state);
            let mut epoch = lock(&self.epoch.0);
            epoch.over += 1;
            epoch.events += events;
            epoch.first = epoch.first.min(next);
            // Of several the first one is told, whoever found it first.
            let first = epoch.failed.take().into_iter().chain(failed);
            epoch.failed = first.min_by_key(|&(at, part, _)| (at, part));
            if epoch.over == self.slots.len() {
                self.plan(&mut epoch);
            }
        }
        true
    }

    /// Takes the part of another thread that is furthest behind, of those that can go on and that nobody has in hand; whether there was one.
    fn steal(&self, thread: usize, end: u64) -> bool {
        if self.alone.load(Ordering::Relaxed) {
            return false;
        }
        let others = self.slots.iter().enumerate();
        let others = others.filter(|(_, slot)| slot.owner.load(Ordering::Relaxed) != thread);
        let ready = others
            .filter(|(_, slot)| self.bound(slot, end).is_some() && slot.state.0.try_lock().is_ok());
        let last = ready.min_by_key(|(_, slot)| slot.reached.0.load(Ordering::Relaxed));
        last.is_some_and(|(index, _)| self.advance(index, end, Some(thread)))
    }

    /// Gives each thread as many parts, which are neighbours.
    fn give_back(&self) {
        let parts = self.slots.len();
        for thread in 0..self.threads {
            let own = thread * parts / self.threads..(thread + 1) * parts / self.threads;
            for slot in &self.slots[own] {
                slot.owner.store(thread, Ordering::Relaxed);
            }
        }
    }

    /// Decides whether one thread runs all parts, when an epoch with so many events is over; whether that is another thing than before.
    fn assign(&self, epoch: &mut Epoch, events: u64) -> bool {
        let wish = epoch.wish.take();
        if let Some(thread) = wish.filter(|_| events < MAX_PREEMPTED_EVENTS * epoch.span) {
            let soon = epoch.spans < epoch.until + SOON * epoch.length;
            epoch.length = match soon {
                true => (2 * epoch.length).min(ALONE[1]),
                false => ALONE[0],
            };
            epoch.until = epoch.spans + epoch.length;
            for slot in &self.slots {
                slot.owner.store(thread, Ordering::Relaxed);
            }
            self.alone.store(true, Ordering::Relaxed);
        } else {
            let alone = self.alone.load(Ordering::Relaxed);
            if alone && epoch.spans < epoch.until {
                return false;
            }
            // A thread that was late may have none any more.
            self.give_back();
            self.alone.store(false, Ordering::Relaxed);
            return alone;
        }
        true
    }

    /// Begins the next epoch, or says that there is none.
    fn plan(&self, epoch: &mut Epoch) {
        let before = self.end.0.load(Ordering::Relaxed);
        let first = std::mem::replace(&mut epoch.first, u64::MAX);
        let events = std::mem::take(&mut epoch.events);
        epoch.over = 0;
        self.passed
            .store(before.saturating_sub(1), Ordering::Release);
        let outcome = if epoch.failed.is_some() {
            Finish::Stopped
        } else if first == u64::MAX {
            Finish::Idle
        } else if first > self.until.as_ps() {
            Finish::Duration
        } else if self.stop.load(Ordering::Relaxed) {
            Finish::Stopped
        } else {
            epoch.spans += epoch.span;
            let changed = self.assign(epoch, events);
            epoch.span = match events >= MIN_GROWTH_EVENTS * epoch.span {
                true => MAX_EPOCH.min(2 * epoch.span),
                false => 1.max(epoch.span / 2),
            };
            if first >= before.saturating_add(self.lookahead) {
                for slot in &self.slots {
                    slot.reached.0.store(first, Ordering::Relaxed);
                }
            }
            let length = self.lookahead.saturating_mul(epoch.span);
            let until = self.until.as_ps().saturating_add(1);
            let end = first.saturating_add(length).min(until);
            self.end.0.store(end, Ordering::Release);
            if changed {
                self.notify();
            }
            return;
        };
        // It ends once.
        let _ = self.outcome.set(outcome);
        self.notify();
    }

    /// Whether a thread's own parts can go on, or it is over.
    fn goes_on(&self, thread: usize) -> bool {
        let end = self.end.0.load(Ordering::Acquire);
        let own = |slot: &&Slot| slot.owner.load(Ordering::Relaxed) == thread;
        self.outcome.get().is_some()
            || self.broken.load(Ordering::Relaxed)
            || self
                .slots
                .iter()
                .filter(own)
                .any(|slot| self.bound(slot, end).is_some())
    }

    /// Waits until there is something to do. Who sleeps gets a processor soon after it is woken; who yields gets it when all other programs of a busy machine
    /// have had theirs.
    fn sleep(&self, thread: usize) {
        // Either this sees what another part has reached, or who ran that sees that somebody sleeps.
        self.asleep.0.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let mut held = lock(&self.lock);
        let mut is_idle = false;
        while !self.goes_on(thread) {
            is_idle |= self.alone.load(Ordering::Relaxed);
            held = self.next.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        drop(held);
        self.asleep.0.fetch_sub(1, Ordering::Relaxed);
        // Another thread may have lost its processor with a part in hand: for a while it shall have none.
        if !is_idle {
            lock(&self.epoch.0).wish = Some(thread);
        }
    }

    /// Wakes those who sleep, after parts have got on.
    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.0.load(Ordering::Relaxed) > 0 && !self.alone.load(Ordering::Relaxed) {
            self.notify();
        }
    }

    fn notify(&self) {
        // Who has looked and does not sleep yet holds the lock.
        drop(lock(&self.lock));
        self.next.notify_all();
    }
}

/// Ends all threads' waiting if one panics.
struct Guard<'a, 'b>(&'a Shared<'b>);

impl Drop for Guard<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
            self.0.notify();
        }
    }
}
