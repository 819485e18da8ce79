//! What all threads of a world know.

use super::schedule::Schedule;
use crate::kernel::clock::now_ns;
use node::Time;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// What all threads of a world know.
pub struct Shared {
    /// The departures.
    pub schedule: Schedule,
    /// The counter at time zero, ns.
    pub start: u64,
    /// What happens later does not happen.
    pub until: Time,
    /// Set when the run ends.
    pub stop: AtomicBool,
    /// Frames that nodes have dealt with.
    pub received: AtomicU64,
    /// Frames that came from something real.
    pub entered: AtomicU64,
    /// When each node wants to be woken, ps; MAX for not.
    pub wakes: Vec<AtomicU64>,
    /// Ports that may still give frames.
    pub open: AtomicU64,
    /// Set when a port is of no more use.
    pub trouble: AtomicBool,
}

impl Shared {
    /// The time now; zero before the start.
    pub fn now(&self) -> Time {
        Time::from_ns(now_ns().saturating_sub(self.start))
    }
}
