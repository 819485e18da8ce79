//! A rate behind a queue discipline.

use super::served::Served;
use super::spec::Discipline;
use alloc::boxed::Box;
use alloc::vec::Vec;
use node::link::LinkCounters;
use node::outcome::Direction;
use node::{Frame, Time, When};
use queue::egress::{Egress, PortQueue};

/// A queue discipline, and the rate at which frames leave it.
#[derive(Debug)]
pub struct Queued {
    egress: Egress,
    served: Served,
    /// Time up to which it has been served.
    now: Time,
}

impl Queued {
    pub fn new(queue: &Discipline, served: Served, seed: u64) -> Queued {
        let config = queue.config.clone();
        Queued {
            egress: Egress::new(PortQueue {
                link: 0,
                direction: Direction::Forth,
                make: Box::new(move || {
                    config
                        .build(seed)
                        .expect("parameters were checked when they were read")
                }),
                see: None,
                pause: Default::default(),
            }),
            served,
            now: Time::ZERO,
        }
    }

    /// A frame enters the queue at a time, not before those that entered earlier.
    pub fn enter(&mut self, at: Time, frame: Frame) {
        let at = at.max(self.now);
        self.egress.accept(at, When::Now, Time::ZERO, frame);
    }

    /// Time of the next event.
    pub fn next(&self) -> Option<Time> {
        self.egress.next(self.now, self.served.free())
    }

    /// Lets everything happen that is due by `until`. Frames that leave are appended to `through`, each with the time at which its last bit has
    /// passed.
    pub fn serve(
        &mut self,
        until: Time,
        through: &mut Vec<(Time, Frame)>,
        dropped: &mut impl FnMut(Frame),
    ) {
        while let Some(at) = self.next().filter(|at| *at <= until) {
            self.now = at;
            let is_free = self.served.free() <= at;
            let Some((frame, _)) = self.egress.serve(at, is_free, dropped) else {
                continue;
            };
            // Without a limit of its own the rate takes every frame.
            let passed = self.served.through(at, frame.len()).unwrap_or(at);
            through.push((passed, frame));
        }
    }

    /// Frames in the queue.
    pub fn waiting(&self) -> usize {
        self.egress.waiting().packets as usize
    }

    /// Frames that carry CE by a decision of the discipline.
    pub fn marked(&self) -> u64 {
        let mut counters = LinkCounters::default();
        self.egress.add_to(&mut counters);
        counters.marked
    }
}
