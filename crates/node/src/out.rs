//! What a node asks the world to do.

use crate::{Frame, Pool, Port, Ticket, Time};
use alloc::vec::{Drain, Vec};

/// When a frame is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// As soon as the port is free.
    Now,
    /// Its first bit at this time; if that is past, at once, counted as late.
    At(Time),
}

/// A frame that a node has sent.
#[derive(Debug)]
pub struct Departure {
    /// Which of the node's ports it leaves by.
    pub port: Port,
    /// When it is to leave.
    pub when: When,
    /// The frame.
    pub frame: Frame,
}

/// Where a node puts what it wants done; owned by the world, one for each node.
///
/// Order within a port is kept: a frame never overtakes one that was sent before it on the same
/// port (FORMATS section 3).
#[derive(Debug, Default)]
pub struct Out {
    pool: Pool,
    sends: Vec<Departure>,
    drops: Vec<(&'static str, u64)>,
    ended: Vec<Ticket>,
    stopwatch: Option<fn() -> Time>,
}

impl Out {
    /// Sends `frame` by `port` as soon as the port is free.
    pub fn send(&mut self, port: Port, frame: Frame) {
        self.sends.push(Departure {
            port,
            when: When::Now,
            frame,
        });
    }

    /// Sends `frame` so that its first bit leaves `port` at `at`.
    pub fn send_at(&mut self, port: Port, at: Time, frame: Frame) {
        self.sends.push(Departure {
            port,
            when: When::At(at),
            frame,
        });
    }

    /// Gives `frame` up, and counts it under `reason`: a short noun phrase such as `no such vlan`.
    pub fn drop(&mut self, frame: Frame, reason: &'static str) {
        self.done(frame);
        self.add_drops(reason, 1);
    }

    /// Gives back a frame that has served its purpose, such as one that a capture has recorded.
    pub fn done(&mut self, frame: Frame) {
        self.ended.extend(frame.ticket());
        self.pool.give(frame);
    }

    /// An empty frame to fill.
    pub fn frame(&mut self) -> Frame {
        self.pool.take()
    }

    /// A copy of `frame`, for another port; it keeps the time of arrival, and the question when it leaves.
    pub fn copy(&mut self, frame: &Frame) -> Frame {
        let mut copy = self.pool.take_with(frame);
        copy.set_arrived(frame.arrived());
        if let Some(id) = frame.stamp() {
            copy.ask_for_stamp(id);
        }
        copy
    }

    /// A reading of a stopwatch, for a node that learns what its own work costs; `None` in a world where work takes no
    /// time, such as simulated time. Two readings in one call are worth their difference, and nothing else.
    pub fn stopwatch(&self) -> Option<Time> {
        self.stopwatch.map(|read| read())
    }

    /// Gives nodes a [stopwatch](Out::stopwatch): for the world, if work takes time there.
    pub fn set_stopwatch(&mut self, read: fn() -> Time) {
        self.stopwatch = Some(read);
    }

    /// Takes the tickets of frames that were given up, for a world that gave them any.
    pub fn ended(&mut self) -> Drain<'_, Ticket> {
        self.ended.drain(..)
    }

    /// Takes what was sent, in the order it was: for the world.
    pub fn sends(&mut self) -> Drain<'_, Departure> {
        self.sends.drain(..)
    }

    /// How many frames were dropped, by reason, in the order in which the reasons came up.
    pub fn drops(&self) -> &[(&'static str, u64)] {
        &self.drops
    }

    /// Exchanges the buffers in reserve with those of a node inside of this one, before its call and after it, and gives it the
    /// stopwatch.
    pub fn lend(&mut self, inner: &mut Out) {
        core::mem::swap(&mut self.pool, &mut inner.pool);
        inner.stopwatch = self.stopwatch;
    }

    /// Takes over the drops of a node inside of this one, and the tickets of frames that it gave up.
    pub fn take_over(&mut self, inner: &mut Out) {
        self.ended.append(&mut inner.ended);
        for (reason, count) in inner.drops.drain(..) {
            self.add_drops(reason, count);
        }
    }

    fn add_drops(&mut self, reason: &'static str, more: u64) {
        match self.drops.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += more,
            None => self.drops.push((reason, more)),
        }
    }

    /// The buffers in reserve: for the world, to take arriving frames from and give sent ones to.
    pub fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
}
