//! What all threads of a world know.

use super::schedule::Schedule;
use crate::kernel::wake::Wake;
use ::capture::clock::now_ns;
use node::Time;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What all threads of a world know.
pub struct Shared {
    /// The departures.
    pub schedule: Schedule,
    /// The counter at time zero, ns.
    pub start: u64,
    /// What happens later does not happen.
    pub until: Time,
    /// Set when the run ends; and readable from then on, for threads that sleep.
    stop: AtomicBool,
    over: Wake,
    /// Frames that nodes have dealt with.
    pub received: AtomicU64,
    /// Frames that came from something real.
    pub entered: AtomicU64,
    /// When each node wants to be woken, ps; MAX for not.
    pub wakes: Vec<AtomicU64>,
    /// When a node was called last, ps.
    active: AtomicU64,
    /// Ports that may still give frames.
    pub open: AtomicU64,
    /// Set when a port is of no more use.
    pub trouble: AtomicBool,
}

impl Shared {
    /// For this many nodes, of which nothing is known yet.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new(
        schedule: Schedule,
        nodes: usize,
        (start, until): (u64, Time),
        open: u64,
    ) -> io::Result<Shared> {
        Ok(Shared {
            schedule,
            start,
            until,
            stop: AtomicBool::new(false),
            over: Wake::new()?,
            received: AtomicU64::new(0),
            entered: AtomicU64::new(0),
            // Not yet asked: the run must not be taken for idle.
            wakes: (0..nodes).map(|_| AtomicU64::new(0)).collect(),
            active: AtomicU64::new(0),
            open: AtomicU64::new(open),
            trouble: AtomicBool::new(false),
        })
    }

    /// Ends the run: nodes' threads return soon, also those that sleep.
    pub fn end(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.over.call();
    }

    /// Whether the run has ended.
    pub fn has_ended(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// A node has just been called.
    pub fn set_active(&self, now: Time) {
        self.active.fetch_max(now.as_ps(), Ordering::Relaxed);
    }

    /// When a node was called last.
    pub fn active(&self) -> Time {
        Time::from_ps(self.active.load(Ordering::Relaxed))
    }

    /// A descriptor that is readable once the run has ended.
    pub fn over(&self) -> RawFd {
        self.over.as_raw_fd()
    }

    /// The time now; zero before the start.
    pub fn now(&self) -> Time {
        Time::from_ns(now_ns().saturating_sub(self.start))
    }
}
