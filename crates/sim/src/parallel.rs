//! Parts that run side by side, window by window.
//!
//! When the earliest event of all is at `t`, and nothing sent now arrives in another part within the lookahead `l`, every part may let happen
//! all before `t + l` without hearing of the others. Then frames change parts, and the next window begins. Each part does the same, in the
//! same order, as it would alone.

use crate::SimError;
use crate::lane::Transit;
use crate::part::Part;
use crate::watcher::Watcher;
use node::Time;
use node::outcome::Finish;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How often a thread looks for the others before it sleeps, where each has a processor of its own.
const SPINS: u32 = 1 << 12;

/// Why threads stop waiting: one of them has panicked.
struct Broken;

/// Where threads wait for each other. Windows are short, so they look before they sleep. Who sleeps gets a processor soon after it is
/// woken; who yields gets it when all other programs of a busy machine have had theirs.
struct Barrier {
    threads: usize,
    spins: u32,
    waiting: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    next: Condvar,
}

impl Barrier {
    /// For so many threads, at most `processors` of which run at one time.
    fn new(threads: usize, processors: usize) -> Barrier {
        Barrier {
            threads,
            spins: if processors >= threads { SPINS } else { 1 },
            waiting: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            lock: Mutex::new(()),
            next: Condvar::new(),
        }
    }

    fn wait(&self) -> Result<(), Broken> {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.round.fetch_add(1, Ordering::SeqCst);
            self.wake();
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Relaxed) {
                return Err(Broken);
            }
            spins += 1;
            match spins < self.spins {
                true => std::hint::spin_loop(),
                false => self.sleep(round),
            }
        }
        Ok(())
    }

    /// Sleeps while it is this round.
    fn sleep(&self, round: usize) {
        // Either this sees the new round, or who began it sees that somebody sleeps.
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.round.load(Ordering::SeqCst) == round && !self.broken.load(Ordering::SeqCst) {
            held = self.next.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes those who sleep, after the round has changed or the barrier has broken.
    fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            // Who has looked and does not sleep yet holds the lock.
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.next.notify_all();
        }
    }
}

/// Breaks the barrier if its thread panics, so that no other waits for ever.
struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
            self.0.wake();
        }
    }
}

/// What the threads tell each other for a window. There are two, used in turn: while one is read, the other is written, so that one
/// meeting for each window is enough.
struct Board {
    /// When something happens next in each part, or arrives from it, ps; MAX for never.
    next: Vec<AtomicU64>,
    /// By the part that it is for, and the one that it is from.
    mail: Vec<Vec<Mutex<Vec<Transit>>>>,
    stop: AtomicBool,
    failed: AtomicBool,
}

impl Board {
    fn new(parts: &[Part]) -> Board {
        let count = parts.len();
        Board {
            next: parts.iter().map(|part| AtomicU64::new(ps(part))).collect(),
            mail: (0..count)
                .map(|_| (0..count).map(|_| Mutex::default()).collect())
                .collect(),
            stop: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// When something happens next.
    fn first(&self) -> Time {
        let all = self.next.iter().map(|next| next.load(Ordering::Relaxed));
        Time::from_ps(all.min().unwrap_or(u64::MAX))
    }
}

fn ps(part: &Part) -> u64 {
    part.next().map_or(u64::MAX, Time::as_ps)
}

/// What all threads share.
struct Shared {
    lookahead: Time,
    until: Time,
    barrier: Barrier,
    boards: [Board; 2],
}

/// Runs parts until nothing is left to happen, the time is up, or the watcher says so; why it ended.
///
/// # Errors
/// When time stands still.
pub(crate) fn run(
    parts: &mut [Part],
    lookahead: Time,
    until: Time,
    watcher: &mut Watcher,
) -> Result<Finish, SimError> {
    let count = parts.len();
    let shared = &Shared {
        lookahead,
        until,
        barrier: Barrier::new(
            count,
            std::thread::available_parallelism().map_or(1, usize::from),
        ),
        boards: [Board::new(parts), Board::new(parts)],
    };
    let (first, others) = parts.split_first_mut().expect("at least one part");
    let ended: Vec<Result<Finish, SimError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = others
            .iter_mut()
            .map(|part| scope.spawn(move || shared.work(part, None)))
            .collect();
        let own = shared.work(first, Some(watcher));
        let joined = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        std::iter::once(own).chain(joined).collect()
    });
    let mut finish = Finish::Idle;
    for end in ended {
        finish = end?;
    }
    Ok(finish)
}

impl Shared {
    /// One thread's work; one of them watches for all.
    fn work(&self, part: &mut Part, mut watcher: Option<&mut Watcher>) -> Result<Finish, SimError> {
        let _guard = Guard(&self.barrier);
        let own = part.index();
        let [mut read, mut write] = self.boards.each_ref();
        loop {
            let first = read.first();
            if first == Time::MAX {
                return Ok(Finish::Idle);
            }
            if first > self.until {
                return Ok(Finish::Duration);
            }
            if read.stop.load(Ordering::Relaxed) {
                return Ok(Finish::Stopped);
            }
            // All before the end of the window, and nothing at it.
            let end = first + self.lookahead;
            let last = (end - Time::from_ps(1)).min(self.until);
            let mut result = Ok(true);
            while let Ok(true) = result {
                result = part.step(last);
            }
            let sent = part.network.outboxes.iter().flatten();
            let sent = sent.map(|transit| transit.at().as_ps()).min();
            let next = ps(part).min(sent.unwrap_or(u64::MAX));
            write.next[own].store(next, Ordering::Relaxed);
            for (to, mail) in write.mail.iter().enumerate().filter(|(to, _)| *to != own) {
                let mut mail = mail[own].lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::swap(&mut *mail, &mut part.network.outboxes[to]);
            }
            if result.is_err() {
                write.failed.store(true, Ordering::Relaxed);
            }
            if let Some(watcher) = watcher.as_deref_mut()
                && watcher.is_over()
            {
                write.stop.store(true, Ordering::Relaxed);
            }
            // One that has panicked brings that up itself.
            let met = self.barrier.wait();
            result?;
            if met.is_err() || write.failed.load(Ordering::Relaxed) {
                return Ok(Finish::Stopped);
            }
            for mail in &write.mail[own] {
                part.take(&mut mail.lock().unwrap_or_else(PoisonError::into_inner));
            }
            if let Some(watcher) = watcher.as_deref_mut() {
                watcher.report(last, self.until);
            }
            (read, write) = (write, read);
        }
    }
}
