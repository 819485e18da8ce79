//! Scheduled departures on a port: a thread that sleeps to just before a time, spins until it, and
//! sends; and what that was worth.
//!
//! A departure is the moment at which the kernel gives the frame to the driver. Where the kernel
//! reports it, the send call is made early by the time between both, at most
//! [10 us](MAX_LEAD_NS): no frame leaves earlier than requested by more than that, and hardly any
//! by more than the call's own jitter. Where it does not report it, the call is never early.
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
//! | `departures` | what every thread of departures does; that of a graph is another |
//! | `worker` | the thread |
//! | `queue` | packets on their way to it |
//! | `waiter`, `sleep` | sleeps and spins until a time; how much of each |
//! | `lead` | learns what lies between call and driver |
//! | `rate` | the rate at which packets left |
//! | `error`, `floor` | what departures were worth, and what the machine is worth |
//!
//! SO_TXTIME is not used: most queueing disciplines accept the option and ignore it, and the only
//! ones that honour it (`fq`, `etf`) are not on an interface unless somebody puts them there.

mod departures;
mod error;
mod floor;
mod lead;
mod queue;
mod rate;
mod sleep;
mod waiter;
mod worker;

pub use departures::{BATCH, Call, Departures, Wanted};
pub use error::ErrorMeter;
pub use floor::Floor;
pub use lead::{Lead, MAX_LEAD_NS};
pub use rate::SendRate;
pub use waiter::{Idle, Waiter};

use crate::kernel::thread;
use crate::port::{PortError, Transmit, TxCounters};
use ::capture::clock::now_ns;
use node::outcome::TimingError;
use packet::{Departure, Tick};
use queue::Queue;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use worker::{Worker, ns_of};

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
    /// The rate at which it took them.
    pub rate: SendRate,
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
        let worker = Worker::new(tx, tick, shared.clone());
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

#[cfg(test)]
mod tests;
