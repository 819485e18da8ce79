//! Scheduled departures on a port: a thread that sleeps to just before a time, spins until it, and
//! sends; and what that was worth.
//!
//! Never earlier than asked. Order is kept: a packet never overtakes one submitted before it, so
//! one with a far departure holds up all behind it (FORMATS section 3). Packets that are due
//! together go out in one call.
//!
//! The error of a departure is the time of the call that sends it less the time asked for; within a
//! call for several packets it is taken to run evenly. Figures are given raw, and trimmed of
//! departures that fell into a pause: a time in which the spinning thread itself did not run, as
//! happens on virtual machines.
//!
//! SO_TXTIME is not used: most queueing disciplines accept the option and ignore it, and the only
//! ones that honour it (`fq`, `etf`) are not on an interface unless somebody puts them there.

mod error;
mod queue;
mod waiter;

pub use error::ErrorMeter;
pub use waiter::{Waiter, attend, hurry};

use crate::clock::now_ns;
use crate::port::{PortError, Transmit, TxCounters};
use crate::signal;
use node::outcome::TimingError;
use packet::Departure;
use packet::word::Tick;
use queue::{Chunk, Queue};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Packets that go out in one call.
const BATCH: usize = 64;

/// A pacing thread at work on a port.
///
/// Dropped without [`finish`](Pacer::finish) it sends what it has, at its time, and blocks until then.
pub struct Pacer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<PaceReport>>,
}

#[derive(Default)]
struct Shared {
    queue: Queue,
    /// In ticks; 1 to 7 are in use.
    timers: [AtomicU64; 8],
    sent: AtomicU64,
    refused: AtomicU64,
    late: AtomicU64,
}

/// A look at a pacing thread from elsewhere, while it works and afterwards.
#[derive(Clone)]
pub struct Watch(Arc<Shared>);

impl Watch {
    /// The port's timers, in ticks; number 0 is not in use.
    pub fn timers(&self) -> [u64; 8] {
        std::array::from_fn(|timer| self.0.timers[timer].load(Ordering::Acquire))
    }

    /// Packets that the port has taken.
    pub fn sent(&self) -> u64 {
        self.0.sent.load(Ordering::Relaxed)
    }

    /// Packets that the port would not take.
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// Packets whose departure was past already when it was asked for.
    pub fn late(&self) -> u64 {
        self.0.late.load(Ordering::Relaxed)
    }
}

/// What a pacing thread has done.
#[derive(Debug, Default)]
pub struct PaceReport {
    /// Packets that the port has taken.
    pub sent: u64,
    /// Packets that the port would not take: too long, or too short.
    pub refused: u64,
    /// What was wrong with the first of those.
    pub refusal: Option<PortError>,
    /// Packets not sent because somebody asked for the end before their time, or the port went away.
    pub unsent: u64,
    /// The error of departures asked for at a time.
    pub timing: TimingError,
    /// Whether the thread had real-time priority.
    pub real_time: bool,
    /// Pauses of the machine that the thread noticed.
    pub pauses: u64,
    /// The longest of those, ns.
    pub longest_pause_ns: u64,
    /// Why the port could not go on, if it could not.
    pub error: Option<PortError>,
    /// The port's own counters.
    pub port: TxCounters,
}

/// The pacing thread takes nothing any more; its report says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the port takes no more packets")]
pub struct Stopped;

impl Pacer {
    /// Starts the thread. Words count in `tick`.
    pub fn start(tx: Box<dyn Transmit>, tick: Tick) -> Pacer {
        let shared = Arc::new(Shared::default());
        let worker = Worker {
            shared: shared.clone(),
            tx,
            tick,
            waiter: Waiter::default(),
            errors: ErrorMeter::default(),
            report: PaceReport::default(),
        };
        let thread = std::thread::Builder::new()
            .name("pace".into())
            .spawn(move || worker.run())
            .expect("the system has room for one more thread");
        Pacer {
            shared,
            thread: Some(thread),
        }
    }

    /// Puts a packet behind those submitted before it; waits while 8 MB or 8,192 packets wait already.
    ///
    /// # Errors
    /// When the port has gone away.
    pub fn submit(&self, departure: Departure, frame: &[u8]) -> Result<(), Stopped> {
        match self.shared.queue.put(departure, now_ns(), frame) {
            true => Ok(()),
            false => Err(Stopped),
        }
    }

    /// Puts packets behind those submitted before them, at the cost of one wake-up for all; waits as
    /// [`submit`](Pacer::submit) does.
    ///
    /// # Errors
    /// When the port has gone away; how many packets it has taken before is in the report.
    pub fn submit_all<'a>(
        &self,
        packets: impl IntoIterator<Item = (Departure, &'a [u8])>,
    ) -> Result<(), Stopped> {
        match self.shared.queue.put_all(now_ns(), packets) {
            true => Ok(()),
            false => Err(Stopped),
        }
    }

    /// The port's timers, in ticks; number 0 is not in use.
    pub fn timers(&self) -> [u64; 8] {
        self.watch().timers()
    }

    /// For whoever looks on from another thread.
    pub fn watch(&self) -> Watch {
        Watch(self.shared.clone())
    }

    /// Waits until everything submitted has left at its time, or somebody has asked for the end; then
    /// what is not due yet stays unsent, and is counted.
    pub fn finish(mut self) -> PaceReport {
        self.end(false)
    }

    /// Ends now: what is not due yet stays unsent, and is counted.
    pub fn stop(mut self) -> PaceReport {
        self.end(true)
    }

    fn end(&mut self, at_once: bool) -> PaceReport {
        self.shared.queue.finish(at_once);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => PaceReport::default(),
        }
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        if self.thread.is_some() && !std::thread::panicking() {
            self.end(false);
        }
    }
}

/// The counter's time at which it has reached so many ticks, rounded up: never early.
fn ns_of(tick: Tick, ticks: u64) -> u64 {
    u64::try_from(tick.ps(ticks).div_ceil(1000)).unwrap_or(u64::MAX)
}

/// The thread's side.
struct Worker {
    shared: Arc<Shared>,
    tx: Box<dyn Transmit>,
    tick: Tick,
    waiter: Waiter,
    errors: ErrorMeter,
    report: PaceReport,
}

impl Worker {
    fn run(mut self) -> PaceReport {
        self.report.real_time = hurry();
        let mut chunk = Chunk::default();
        while self.shared.queue.take(&mut chunk) {
            let mut next = 0;
            while next < chunk.entries().len() && self.report.error.is_none() {
                match self.wait(&chunk, next) {
                    Some(now) => next = self.leave(&chunk, next, now),
                    None => break,
                }
            }
            if let Err(error) = self.tx.flush() {
                self.report.error.get_or_insert(error);
            }
            let left = chunk.entries().len() - next;
            self.report.unsent += left as u64;
            if left > 0 || self.report.error.is_some() {
                break;
            }
        }
        self.report.unsent += self.shared.queue.close() as u64;
        self.report.timing = self.errors.report();
        self.report.pauses = self.waiter.pauses;
        self.report.longest_pause_ns = self.waiter.longest_pause;
        self.report.port = self.tx.counters();
        self.report
    }

    /// When a packet is wanted to leave, in ns; `None` for at once. Behind a mark that is not sent yet
    /// the answer is not final.
    fn wanted(&self, departure: Departure) -> Option<u64> {
        match departure {
            Departure::Now | Departure::Mark(_) => None,
            Departure::At(ticks) => Some(ns_of(self.tick, ticks)),
            Departure::After(timer, ticks) => {
                let timer = self.shared.timers[usize::from(timer.number())].load(Ordering::Acquire);
                Some(ns_of(self.tick, timer).saturating_add(ns_of(self.tick, ticks)))
            }
        }
    }

    /// Waits for a packet's departure; `None` when it is not to leave any more.
    fn wait(&mut self, chunk: &Chunk, index: usize) -> Option<u64> {
        let at = self.wanted(chunk.entries()[index].departure).unwrap_or(0);
        let queue = &self.shared.queue;
        let sleep = |nap| !signal::stop_requested() && queue.sleep(nap);
        self.waiter.until(at, sleep, || false)
    }

    /// Sends the packet at `first`, and those behind it that are due as well; returns what is next.
    fn leave(&mut self, chunk: &Chunk, first: usize, now: u64) -> usize {
        let entries = &chunk.entries()[first..];
        let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
        let mut count = 0;
        for (offset, entry) in entries.iter().take(BATCH).enumerate() {
            let mark = matches!(entry.departure, Departure::Mark(_));
            let due = self.wanted(entry.departure).is_none_or(|at| at <= now);
            // A mark goes alone, so that its time is its own and those behind it know it.
            if offset > 0 && (mark || !due) {
                break;
            }
            frames[offset] = chunk.frame(first + offset);
            count = offset + 1;
            if mark {
                break;
            }
        }
        let began = now_ns();
        if let Departure::Mark(timer) = entries[0].departure {
            let ticks = self.tick.count(u128::from(began) * 1000);
            self.shared.timers[usize::from(timer.number())].store(ticks, Ordering::Release);
        }
        let left = self.send(&frames[..count]);
        let took = now_ns() - began;
        for (offset, entry) in entries[..left].iter().enumerate() {
            if let Some(wanted) = self.wanted(entry.departure) {
                let at = began + took * offset as u64 / count as u64;
                let late = wanted < entry.asked;
                self.shared.late.fetch_add(late.into(), Ordering::Relaxed);
                self.errors.record(wanted, at, late, self.waiter.behind);
            }
        }
        first + left
    }

    /// Sends all of them; returns how many are dealt with, which is all unless the port went away.
    fn send(&mut self, frames: &[&[u8]]) -> usize {
        let mut done = 0;
        while done < frames.len() {
            match self.tx.send(&frames[done..]) {
                Ok(sent) => {
                    done += sent;
                    self.report.sent += sent as u64;
                    self.shared.sent.store(self.report.sent, Ordering::Relaxed);
                }
                Err(error) if error.is_end() => {
                    self.report.error = Some(error);
                    break;
                }
                Err(error) => {
                    done += 1;
                    self.report.refused += 1;
                    self.shared
                        .refused
                        .store(self.report.refused, Ordering::Relaxed);
                    self.report.refusal.get_or_insert(error);
                }
            }
        }
        done
    }
}

#[cfg(test)]
mod tests;
