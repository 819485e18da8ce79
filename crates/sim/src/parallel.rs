//! Parts that run side by side, window by window.
//!
//! When the earliest event of all is at `t`, and nothing sent now arrives in another part within the lookahead `l`, every part may let happen
//! all before `t + l` without hearing of the others. Then frames change parts, and the next window begins. Each part does the same, in the
//! same order, as it would alone, whichever thread runs it.

use crate::SimError;
use crate::lane::Transit;
use crate::part::Part;
use crate::watcher::Watcher;
use node::Time;
use node::outcome::Finish;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// How often a thread looks for the next window before it sleeps, where each has a processor of its own.
const SPINS: u32 = 1 << 14;
/// Who had to sleep in a window of fewer events than this waited for a thread that had lost its processor.
const FEW: u64 = 1 << 8;
/// It runs all parts of so many windows, then the others are tried again: few at first, as a machine may have paused once; twice as many each time that
/// it happens again soon.
const ALONE: [usize; 2] = [1 << 5, 1 << 12];
/// Soon is within so many times as many windows.
const SOON: usize = 4;

/// Why threads stop waiting: one of them has panicked.
struct Broken;

/// A value with its own lines of the caches: what another thread writes next to it would take it from who reads it.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// What the parts tell each other for a window. There are two, used in turn: while one is read, the other is written.
struct Board {
    /// When something happens next in each part, or arrives from it, ps; MAX for never.
    next: Vec<Apart<AtomicU64>>,
    /// By the part that it is for. What one part has sent is in order; between parts there is none.
    mail: Vec<Apart<Mutex<Vec<Transit>>>>,
}

impl Board {
    fn new(parts: &[Part]) -> Board {
        Board {
            next: parts
                .iter()
                .map(|part| Apart(AtomicU64::new(ps(part))))
                .collect(),
            mail: parts.iter().map(|_| Apart::default()).collect(),
        }
    }

    /// When something happens next.
    fn first(&self) -> Time {
        let all = self.next.iter().map(|next| next.0.load(Ordering::Relaxed));
        Time::from_ps(all.min().unwrap_or(u64::MAX))
    }
}

fn ps(part: &Part) -> u64 {
    part.next().map_or(u64::MAX, Time::as_ps)
}

/// Locks what nobody leaves half done: who panics ends the run.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all threads share.
struct Shared<'a> {
    lookahead: Time,
    until: Time,
    parts: Vec<Apart<Mutex<&'a mut Part>>>,
    threads: usize,
    boards: [Board; 2],
    /// The window, counted from 0; who runs the last part of it begins the next.
    window: Apart<AtomicUsize>,
    /// In which window each part is to be run next: who counts it up runs it.
    claims: Vec<Apart<AtomicUsize>>,
    /// How many parts of this window are over, and what happened in them.
    over: Apart<AtomicUsize>,
    events: AtomicU64,
    /// Events of the window before.
    before: AtomicU64,
    /// To where this window goes, and all before it went, ps.
    last: AtomicU64,
    passed: AtomicU64,
    /// Asked to stop, and how it ended.
    stop: AtomicBool,
    failed: Mutex<Option<(usize, SimError)>>,
    outcome: OnceLock<Finish>,
    /// Which thread runs all parts, in the upper 16 bits, and before which window.
    alone: AtomicU64,
    /// For how many windows it did so last.
    length: AtomicUsize,
    spins: u32,
    broken: AtomicBool,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    next: Condvar,
}

/// The bits of a window, below those of a thread.
const WINDOW: u64 = (1 << 48) - 1;

/// Runs parts until nothing is left to happen, the time is up, or the watcher says so; why it ended.
///
/// # Errors
/// When time stands still.
pub(crate) fn run(
    parts: &mut [Part],
    threads: usize,
    lookahead: Time,
    until: Time,
    watcher: &mut Watcher,
) -> Result<Finish, SimError> {
    let threads = threads.min(parts.len());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let boards = [Board::new(parts), Board::new(parts)];
    let claims = parts.iter().map(|_| Apart::default()).collect();
    // More may happen at the time of what happened last.
    let now = parts.iter().map(|part| part.network.now.as_ps()).max();
    let passed = now.unwrap_or_default().saturating_sub(1);
    let shared = Shared {
        lookahead,
        until,
        parts: parts
            .iter_mut()
            .map(|part| Apart(Mutex::new(part)))
            .collect(),
        boards,
        window: Apart::default(),
        threads,
        claims,
        over: Apart::default(),
        events: AtomicU64::new(0),
        before: AtomicU64::new(0),
        last: AtomicU64::new(0),
        passed: AtomicU64::new(passed),
        stop: AtomicBool::new(false),
        failed: Mutex::new(None),
        outcome: OnceLock::new(),
        alone: AtomicU64::new(0),
        length: AtomicUsize::new(ALONE[0]),
        spins: if processors >= threads { SPINS } else { 1 },
        broken: AtomicBool::new(false),
        asleep: AtomicUsize::new(0),
        lock: Mutex::new(()),
        next: Condvar::new(),
    };
    shared.plan(0);
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
    // The thread that watches may have seen the end before it has told of the last window.
    watcher.report(Time::from_ps(shared.passed.into_inner()), until);
    // What was under way when it ended stays so.
    let board = &shared.boards[shared.window.0.into_inner() % 2];
    for (part, mail) in shared.parts.into_iter().zip(&board.mail) {
        let part = part.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        part.take(&mut lock(&mail.0));
    }
    match lock(&shared.failed).take() {
        Some((_, error)) => Err(error),
        None => Ok(shared.outcome.into_inner().unwrap_or(Finish::Stopped)),
    }
}

impl Shared<'_> {
    /// One thread's work; one of them watches for all.
    fn work(&self, thread: usize, mut watcher: Option<&mut Watcher>) {
        let _guard = Guard(self);
        let mut window = 0;
        while self.outcome.get().is_none() {
            for part in self.turns(thread) {
                if self.claims[part].0.load(Ordering::Relaxed) != window {
                    continue;
                }
                let claim = self.claims[part].0.compare_exchange(
                    window,
                    window + 1,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                if claim.is_ok() {
                    self.part(thread, part, window);
                }
            }
            if let Some(watcher) = watcher.as_deref_mut()
                && watcher.is_over()
            {
                self.stop.store(true, Ordering::Relaxed);
            }
            let Ok(next) = self.wait(thread, window) else {
                return;
            };
            window = next;
            if let Some(watcher) = watcher.as_deref_mut() {
                let passed = Time::from_ps(self.passed.load(Ordering::Acquire));
                watcher.report(passed, self.until);
            }
        }
    }

    /// The parts in the order in which a thread looks at them: its own, which are neighbours, then what others have left, from behind, as they begin in front.
    fn turns(&self, thread: usize) -> impl Iterator<Item = usize> + use<> {
        let (parts, threads) = (self.parts.len(), self.threads);
        let own = move |thread: usize| thread * parts / threads..(thread + 1) * parts / threads;
        let others = (1..threads).map(move |turn| (thread + turn) % threads);
        own(thread).chain(others.flat_map(move |other| own(other).rev()))
    }

    /// Runs a part through a window, and begins the next one if it was the last.
    fn part(&self, thread: usize, own: usize, window: usize) {
        let mut part = lock(&self.parts[own].0);
        let (read, write) = (&self.boards[window % 2], &self.boards[(window + 1) % 2]);
        part.take(&mut lock(&read.mail[own].0));
        let last = Time::from_ps(self.last.load(Ordering::Acquire));
        let (mut result, mut events) = (Ok(true), 0);
        while let Ok(true) = result {
            result = part.step(last);
            events += 1;
        }
        let sent = part.network.outboxes.iter().flatten();
        let sent = sent.map(|transit| transit.at().as_ps()).min();
        let next = ps(&part).min(sent.unwrap_or(u64::MAX));
        write.next[own].0.store(next, Ordering::Relaxed);
        for (sent, mail) in part.network.outboxes.iter_mut().zip(&write.mail) {
            if !sent.is_empty() {
                lock(&mail.0).append(sent);
            }
        }
        if let Err(error) = result {
            // Of several the same one is told, whoever was first.
            let mut failed = lock(&self.failed);
            if failed.as_ref().is_none_or(|(other, _)| own < *other) {
                *failed = Some((own, error));
            }
        }
        self.events.fetch_add(events, Ordering::Relaxed);
        drop(part);
        if self.over.0.fetch_add(1, Ordering::AcqRel) + 1 == self.parts.len() {
            self.over.0.store(0, Ordering::Relaxed);
            let events = self.events.swap(0, Ordering::Relaxed);
            self.before.store(events, Ordering::Relaxed);
            self.passed
                .store(self.last.load(Ordering::Relaxed), Ordering::Release);
            self.plan(window + 1);
            self.window.0.store(window + 1, Ordering::SeqCst);
            self.wake(thread, window + 1);
        }
    }

    /// To where a window goes, or that there is none.
    fn plan(&self, window: usize) {
        let first = self.boards[window % 2].first();
        let outcome = if lock(&self.failed).is_some() {
            Finish::Stopped
        } else if first == Time::MAX {
            Finish::Idle
        } else if first > self.until {
            Finish::Duration
        } else if self.stop.load(Ordering::Relaxed) {
            Finish::Stopped
        } else {
            // All before the end of the window, and nothing at it.
            let last = (first + self.lookahead - Time::from_ps(1)).min(self.until);
            self.last.store(last.as_ps(), Ordering::Release);
            return;
        };
        // A window is planned once.
        let _ = self.outcome.set(outcome);
    }

    /// Whether a thread takes part in a window.
    fn takes_part(&self, thread: usize, window: usize) -> bool {
        let alone = self.alone.load(Ordering::SeqCst);
        window >= (alone & WINDOW) as usize
            || alone >> 48 == thread as u64
            || self.outcome.get().is_some()
    }

    /// The next window that a thread takes part in. Windows are short, so it looks before it sleeps. Who sleeps gets a processor soon after it is
    /// woken; who yields gets it when all other programs of a busy machine have had theirs.
    fn wait(&self, thread: usize, window: usize) -> Result<usize, Broken> {
        let (mut spins, mut slept) = (0, false);
        loop {
            let next = self.window.0.load(Ordering::SeqCst);
            if next != window && self.takes_part(thread, next) {
                // Another thread has lost its processor with a part in hand: for a while it shall have none.
                if slept && self.before.load(Ordering::Relaxed) < FEW {
                    self.go_alone(thread, next);
                }
                return Ok(next);
            }
            if self.broken.load(Ordering::Relaxed) {
                return Err(Broken);
            }
            spins += 1;
            if spins < self.spins {
                std::hint::spin_loop();
                continue;
            }
            // Either this sees the new window, or who began it sees that somebody sleeps.
            slept |= next == window;
            self.asleep.fetch_add(1, Ordering::SeqCst);
            let mut held = lock(&self.lock);
            loop {
                let next = self.window.0.load(Ordering::SeqCst);
                let goes_on = next != window && self.takes_part(thread, next);
                if goes_on || self.broken.load(Ordering::SeqCst) {
                    break;
                }
                held = self.next.wait(held).unwrap_or_else(PoisonError::into_inner);
            }
            drop(held);
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Lets a thread run all parts, from a window on.
    fn go_alone(&self, thread: usize, window: usize) {
        let ended = (self.alone.load(Ordering::SeqCst) & WINDOW) as usize;
        let before = self.length.load(Ordering::Relaxed);
        let length = match window < ended + SOON * before {
            true => (2 * before).min(ALONE[1]),
            false => ALONE[0],
        };
        self.length.store(length, Ordering::Relaxed);
        let until = (window + length) as u64 & WINDOW;
        self.alone
            .store((thread as u64) << 48 | until, Ordering::SeqCst);
    }

    /// Wakes those who sleep, after a thread has begun a window that is not its own alone.
    fn wake(&self, thread: usize, window: usize) {
        let is_alone = {
            let alone = self.alone.load(Ordering::SeqCst);
            window < (alone & WINDOW) as usize && alone >> 48 == thread as u64
        };
        if (!is_alone || self.outcome.get().is_some()) && self.asleep.load(Ordering::SeqCst) > 0 {
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
