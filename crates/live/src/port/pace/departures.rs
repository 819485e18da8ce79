//! What a thread of departures does wherever its frames come from: waits until a time, gives frames to a port, and accounts for
//! what that was worth.

use super::{ErrorMeter, Idle, Lead, Waiter};
use crate::kernel::scheduling::real_time;
use crate::port::{PortError, Transmit};
use ::capture::clock::now_ns;
use node::Time;
use node::outcome::TimingError;

/// Frames that go out in one call.
pub const BATCH: usize = 64;

/// The time that a frame was asked to leave at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The time, ns.
    pub at: u64,
    /// Whether that was past when it was asked for.
    pub late: bool,
}

/// A call that gave frames to a port.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// When it began, ns.
    pub began: u64,
    /// How long it took, ns.
    pub took: u64,
    /// Frames that it was for.
    count: usize,
    /// Frames that are dealt with, from the first on: all, unless the port has ended.
    pub left: usize,
}

impl Call {
    /// When a frame of it left, ns. Within a call for several frames the time is taken to run evenly.
    pub fn left_at(&self, index: usize) -> u64 {
        self.began + self.took * index as u64 / self.count.max(1) as u64
    }
}

/// The waits and departures of one thread, on one port or on several.
#[derive(Default)]
pub struct Departures {
    waiter: Waiter,
    errors: ErrorMeter,
}

impl Departures {
    /// For this thread, which from now on has real-time priority and a core of its own where allowed.
    pub fn on_this_thread() -> Departures {
        Departures {
            waiter: Waiter::new(real_time()),
            errors: ErrorMeter::default(),
        }
    }

    /// How the thread waits.
    pub fn waiter(&mut self) -> &mut Waiter {
        &mut self.waiter
    }

    /// Waits until frames have to be given to the port for a departure at `at` ns. `None` when the wait was left.
    pub fn until(&mut self, at: u64, lead: u64, idle: &mut impl Idle) -> Option<u64> {
        self.waiter.until(at.saturating_sub(lead), idle)
    }

    /// Gives frames to the port, in order; `result` is told what came of each call of [`Transmit::send`]. Behind a fault that is no
    /// end of the port it goes on with the next frame. `together`: they are sent at one time.
    pub fn send(
        tx: &mut dyn Transmit,
        frames: &[&[u8]],
        together: bool,
        mut result: impl FnMut(Result<usize, PortError>),
    ) -> Call {
        let began = now_ns();
        let mut left = 0;
        while left < frames.len() {
            let rest = &frames[left..];
            let sent = match together {
                true => tx.send_together(rest),
                false => tx.send(rest),
            };
            match sent {
                Ok(sent) => {
                    left += sent;
                    result(Ok(sent));
                }
                Err(error) => {
                    let end = error.is_end();
                    result(Err(error));
                    if end {
                        break;
                    }
                    left += 1;
                }
            }
        }
        Call {
            began,
            took: now_ns() - began,
            count: frames.len(),
            left,
        }
    }

    /// Accounts for a call; `wanted` has for each frame that is dealt with when it was to leave. `stamped`: the kernel was asked to
    /// stamp the first.
    pub fn account(
        &mut self,
        call: &Call,
        tx: &mut dyn Transmit,
        lead: &mut Lead,
        stamped: bool,
        wanted: impl Iterator<Item = Option<Wanted>>,
    ) {
        let mut first = None;
        for (index, wanted) in wanted.take(call.left).enumerate() {
            let Some(Wanted { at, late }) = wanted else {
                continue;
            };
            first = first.or(Some(at).filter(|_| index == 0));
            let left = call.left_at(index) + lead.ns();
            self.errors.record(at, left, late, self.waiter.behind);
        }
        if stamped {
            lead.asked(first, call.began);
        }
        lead.look(tx, &mut self.errors);
    }

    /// Counts a departure that the port itself has told of, at `left` ns.
    pub fn record(&mut self, wanted: Wanted, left: u64) {
        self.errors.record(wanted.at, left, wanted.late, false);
    }

    /// What the departures were worth.
    pub fn timing(&self, lead: u64, method: &'static str) -> TimingError {
        TimingError {
            floor: self.waiter.floor(),
            lead: Time::from_ns(lead),
            real_time: self.waiter.real_time(),
            method,
            ..self.errors.report()
        }
    }
}
