//! Scheduled departures on a port: a thread that sleeps to just before a time, spins until it, and
//! sends; and what that was worth.
//!
//! A departure is the moment at which the kernel gives the frame to the driver. Where the kernel tells of
//! it, the call that sends is made ahead by what lies between, at most [10 us](MOST_LEAD_NS): no frame
//! leaves earlier than asked by more than that, and hardly any by more than the call's own jitter.
//! Where it does not tell, the call is never early.
//!
//! Order is kept: a packet never overtakes one submitted before it, so one with a far departure holds
//! up all behind it (FORMATS section 3). Packets that are due together go out in one call.
//!
//! The error of a departure is the time of the call that sends it, and the lead, less the time asked for;
//! within a call for several packets it is taken to run evenly. Figures are given raw, and trimmed of
//! departures that fell into a pause: a time in which the spinning thread itself did not run, as
//! happens on virtual machines. Beside them stand the floor, which is what a loop that does nothing but
//! look at the clock would have been off by, and the errors of those departures that the kernel stamped.
//!
//! | part | what it does |
//! |---|---|
//! | `queue` | packets on their way to the thread |
//! | `waiter`, `nap` | sleeps and spins until a time; how much of each |
//! | `priority` | real-time priority and cores |
//! | `aim` | learns what lies between call and driver |
//! | `error`, `floor` | what departures were worth, and what the machine is worth |
//!
//! SO_TXTIME is not used: most queueing disciplines accept the option and ignore it, and the only
//! ones that honour it (`fq`, `etf`) are not on an interface unless somebody puts them there.

mod aim;
mod error;
mod floor;
mod nap;
mod priority;
mod queue;
mod waiter;

pub use aim::{Aim, MOST_NS as MOST_LEAD_NS};
pub use error::ErrorMeter;
pub use floor::Floor;
pub use priority::{Priority, attend, hurry};
pub use waiter::{Idle, Waiter};

use crate::clock::now_ns;
use crate::port::{PortError, Transmit, TxCounters};
use crate::{signal, thread};
use node::Time;
use node::outcome::TimingError;
use packet::Departure;
use packet::word::Tick;
use queue::{Chunk, Entry, Queue};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Packets that go out in one call.
const BATCH: usize = 64;
/// How long a stamp for a timer is waited for.
const MARK_STAMP_NS: u64 = 200_000;
/// After so many in a row that did not come, no more are waited for.
const SILENCE: u32 = 4;

/// A pacing thread at work on a port.
///
/// Dropped without [`finish`](Pacer::finish) it sends what it has, at its time, and blocks until then.
pub struct Pacer {
    tick: Tick,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<PaceReport>>,
}

#[derive(Default)]
struct Shared {
    queue: Queue,
    /// In ticks; 1 to 7 are in use.
    timers: [AtomicU64; 8],
    /// How often a timer was set, and how often by the kernel's stamp.
    marks: AtomicU64,
    stamped_marks: AtomicU64,
    /// The longest call that sent a mark, ns.
    longest_mark: AtomicU64,
    sent: AtomicU64,
    refused: AtomicU64,
    late: AtomicU64,
    past: AtomicU64,
}

/// A look at a pacing thread from elsewhere, while it works and afterwards.
#[derive(Clone)]
pub struct Watch(Arc<Shared>);

impl Watch {
    /// The port's timers, in ticks; number 0 is not in use.
    pub fn timers(&self) -> [u64; 8] {
        std::array::from_fn(|timer| self.0.timers[timer].load(Ordering::Acquire))
    }

    /// How often a timer was set.
    pub fn marks(&self) -> u64 {
        self.0.marks.load(Ordering::Acquire)
    }

    /// How often a timer was set by the kernel's stamp of when it gave the packet to the driver. The other
    /// times it is when the call began, and the port's usual latency.
    pub fn stamped_marks(&self) -> u64 {
        self.0.stamped_marks.load(Ordering::Relaxed)
    }

    /// How long the call took that sent a packet and set a timer, at most, ns.
    pub fn longest_mark_ns(&self) -> u64 {
        self.0.longest_mark.load(Ordering::Relaxed)
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

    /// Packets whose own stamp was past: see [`Pacer::as_stamped`].
    pub fn past(&self) -> u64 {
        self.0.past.load(Ordering::Relaxed)
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
    /// Packets whose own stamp was past, and which left at once: see [`Pacer::as_stamped`].
    pub past: u64,
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
    ///
    /// # Errors
    /// When the system has no room for one more.
    pub fn start(tx: Box<dyn Transmit>, tick: Tick) -> io::Result<Pacer> {
        let shared = Arc::new(Shared::default());
        let worker = Worker {
            shared: shared.clone(),
            aim: Aim::known(tx.known_latency()),
            tx,
            tick,
            waiter: Waiter::default(),
            errors: ErrorMeter::default(),
            report: PaceReport::default(),
            silent_marks: 0,
            ahead: Chunk::default(),
        };
        let thread = thread::spawn("pace", move || worker.run())?;
        Ok(Pacer {
            tick,
            shared,
            thread: Some(thread),
        })
    }

    /// The departure that a packet's own stamp asks for. A packet that was received and is handed on, as by a tunnel or a
    /// filter, has the time of its arrival there, which is past: it leaves at once, is counted as such, and is late for nothing.
    pub fn as_stamped(&self, departure: Departure) -> Departure {
        match departure {
            Departure::At(ticks) if ns_of(self.tick, ticks) < now_ns() => {
                self.shared.past.fetch_add(1, Ordering::Relaxed);
                Departure::Now
            }
            other => other,
        }
    }

    /// Puts a packet behind those submitted before it; waits while 12 MB or 12,288 packets wait already.
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
    aim: Aim,
    errors: ErrorMeter,
    report: PaceReport,
    /// Stamps for timers that did not come, in a row.
    silent_marks: u32,
    /// What comes behind the chunk in hand, taken while there was time: at its end a writer may hold the lock and not run.
    ahead: Chunk,
}

/// What the thread does while it waits.
struct Waiting<'a> {
    queue: &'a Queue,
    tx: &'a mut dyn Transmit,
    frame: &'a [u8],
}

impl Idle for Waiting<'_> {
    fn sleep(&mut self, time: Duration) -> bool {
        !signal::stop_requested() && self.queue.sleep(time)
    }

    fn warm(&mut self) {
        std::hint::black_box(
            self.frame
                .iter()
                .step_by(64)
                .fold(0, |sum, byte| sum ^ byte),
        );
        self.tx.warm();
    }
}

fn is_mark(entry: &Entry) -> bool {
    matches!(entry.departure, Departure::Mark(_))
}

impl Worker {
    fn run(mut self) -> PaceReport {
        self.waiter = Waiter::new(hurry());
        let mut chunk = Chunk::default();
        while self.take(&mut chunk) {
            self.waiter.accompany(self.shared.queue.writer());
            let mut next = 0;
            while next < chunk.entries().len() && self.report.error.is_none() {
                match self.depart(&chunk, next) {
                    Some(behind) => next = behind,
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
        if let Err(error) = self.tx.finish() {
            self.report.error.get_or_insert(error);
        }
        self.report.unsent += (self.ahead.entries().len() + self.shared.queue.close()) as u64;
        self.report.real_time = self.waiter.real_time();
        self.report.timing = TimingError {
            floor: self.waiter.floor(),
            lead: Time::from_ns(self.aim.lead()),
            real_time: self.waiter.real_time(),
            method: self.tx.method(),
            ..self.errors.report()
        };
        self.report.pauses = self.waiter.pauses;
        self.report.longest_pause_ns = self.waiter.longest_pause;
        self.report.past = self.shared.past.load(Ordering::Relaxed);
        self.report.port = self.tx.counters();
        self.report
    }

    /// The next packets, waiting for them; `false` when nothing more will come.
    fn take(&mut self, chunk: &mut Chunk) -> bool {
        if self.ahead.entries().is_empty() {
            return self.shared.queue.take(chunk);
        }
        chunk.clear();
        std::mem::swap(chunk, &mut self.ahead);
        true
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

    /// Gets the packet at `index` ready, waits until it has to be given to the port, and sends it with those
    /// behind it that are due as well; returns what is next, or `None` when it is not to leave any more.
    fn depart(&mut self, chunk: &Chunk, index: usize) -> Option<usize> {
        let entries = &chunk.entries()[index..];
        let (frame, lead) = (chunk.frame(index), self.aim.lead());
        let wanted = self.wanted(entries[0].departure);
        let next = self.next(entries).saturating_sub(lead);
        let timely = wanted.is_some_and(|wanted| wanted >= entries[0].asked);
        let stamped = timely && self.aim.ask(&mut *self.tx);
        // What a timer is to hold is the real departure, so that its packet is always stamped.
        let may = is_mark(&entries[0]) && self.silent_marks < SILENCE;
        let marked = may && self.tx.ask_for_stamp();
        self.tx.prepare(frame);
        let mut waiting = Waiting {
            queue: &self.shared.queue,
            tx: &mut *self.tx,
            frame,
        };
        let at = wanted.unwrap_or(0).saturating_sub(lead);
        let now = self.waiter.until(at, &mut waiting)?;
        // From here to the call lies nothing that could be done before.
        let (began, count, left);
        if now < next {
            began = now_ns();
            (count, left) = (1, self.send(&[frame]));
        } else {
            let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
            count = self.due(entries, now + lead);
            for (offset, frame) in frames[..count].iter_mut().enumerate() {
                *frame = chunk.frame(index + offset);
            }
            began = now_ns();
            left = self.send(&frames[..count]);
        }
        let took = now_ns() - began;
        if let Departure::Mark(timer) = entries[0].departure {
            let stamp = marked.then(|| self.stamp_of_mark(began)).flatten();
            let ticks = self
                .tick
                .count(u128::from(stamp.unwrap_or(began + lead)) * 1000);
            self.shared.timers[usize::from(timer.number())].store(ticks, Ordering::Release);
            let stamped = &self.shared.stamped_marks;
            stamped.fetch_add(stamp.is_some().into(), Ordering::Relaxed);
            self.shared.longest_mark.fetch_max(took, Ordering::Relaxed);
            self.shared.marks.fetch_add(1, Ordering::Release);
        }
        for (offset, entry) in entries[..left].iter().enumerate() {
            if let Some(wanted) = self.wanted(entry.departure) {
                let at = began + lead + took * offset as u64 / count as u64;
                let late = wanted < entry.asked;
                self.shared.late.fetch_add(late.into(), Ordering::Relaxed);
                self.errors.record(wanted, at, late, self.waiter.behind);
            }
        }
        if stamped {
            self.aim.asked(wanted, began);
        }
        self.aim.look(&mut *self.tx, &mut self.errors);
        if self.ahead.entries().is_empty() {
            self.shared.queue.try_take(&mut self.ahead);
        }
        Some(index + left)
    }

    /// The kernel's stamp of a packet whose call began at `began`, if it comes soon: drivers mostly
    /// stamp within the call.
    fn stamp_of_mark(&mut self, began: u64) -> Option<u64> {
        let end = now_ns() + MARK_STAMP_NS;
        loop {
            // Looked for at least once behind the end: the thread may have stood still meanwhile.
            let last = now_ns() > end;
            match self.tx.take_stamp() {
                // An older one is of another packet.
                Some(stamp) if stamp >= began => {
                    self.silent_marks = 0;
                    return Some(stamp);
                }
                None if last => break,
                _ => std::hint::spin_loop(),
            }
        }
        self.silent_marks += 1;
        None
    }

    /// The time from which on more than the first packet is due; `u64::MAX` for never.
    fn next(&self, entries: &[Entry]) -> u64 {
        match entries {
            // A mark goes alone, so that its time is its own and those behind it know it.
            [first, ..] if is_mark(first) => u64::MAX,
            [_, second, ..] if !is_mark(second) => self.wanted(second.departure).unwrap_or(0),
            _ => u64::MAX,
        }
    }

    /// How many packets, from the first on, are due at this time.
    fn due(&self, entries: &[Entry], time: u64) -> usize {
        let more = entries[1..].iter().take(BATCH - 1).take_while(|entry| {
            !is_mark(entry) && self.wanted(entry.departure).is_none_or(|at| at <= time)
        });
        1 + more.count()
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
