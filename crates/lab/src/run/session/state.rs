//! The state of a session's links between two steps, for a program that shows a network at work.

use super::{PING_TIMEOUT, Ping, SLICE, Session, SessionError};
use node::event::Queue;
use node::link::LinkCounters;
use node::outcome::{Direction, Outcome};
use node::{Frame, NodeId, Time};

/// One direction of a link now.
#[derive(Clone, Copy, Debug)]
pub struct LinkState {
    /// What it has done so far.
    pub counters: LinkCounters,
    /// Whether frames that are sent now can arrive.
    pub up: bool,
    /// Frames and bytes that wait to be sent.
    pub waiting: Queue,
}

/// A frame on a link.
#[derive(Clone, Copy, Debug)]
pub struct Flight<'a> {
    /// The link's index in the file.
    pub link: usize,
    /// The direction in which it travels.
    pub direction: Direction,
    /// Departure of its first bit. Later than now if it waits for the line.
    pub departs: Time,
    /// Time at which its receiver is informed: the arrival of the last bit that it needs.
    pub arrives: Time,
    /// Time that a bit is on the way.
    pub delay: Time,
    /// The frame.
    pub frame: &'a Frame,
}

impl Session<'_> {
    /// Runs toward a time, at most 4,096 events. Returns true if that time is reached, or the run is over.
    ///
    /// # Errors
    /// When that time is over, or time stands still.
    pub fn advance_part(&mut self, until: Time) -> Result<bool, SessionError> {
        let now = self.now();
        if until < now {
            return Err(SessionError::Past { now, wanted: until });
        }
        Ok(self.is_over() || self.sim.advance_to(until, SLICE)?)
    }

    /// End of the run by the lab's duration or that of the options.
    pub fn duration(&self) -> Option<Time> {
        self.duration
    }

    /// Whether nothing more will happen: the duration is reached, no event is left, or the run's tests are done.
    pub fn has_ended(&self) -> bool {
        self.is_over()
            || self.sim.next().is_none()
            || self.duration.is_some_and(|end| self.now() >= end)
    }

    /// Counters of nodes and links so far.
    pub fn outcome(&self) -> Outcome {
        self.sim.outcome()
    }

    /// Sends a ping now, and does not wait for its outcome, which [`ping_outcome`](Session::ping_outcome) returns. Returns false if the
    /// node has no route to the other. At most one may be on its way.
    ///
    /// # Errors
    /// When one of them cannot ping or be pinged.
    pub fn start_ping(&mut self, from: &str, to: &str) -> Result<bool, SessionError> {
        let (node, address) = self.ends(from, to)?;
        if let Some(address) = address {
            // The outcome of an earlier one is not that of this one.
            while self.pings.answer().is_some() {}
            self.pings.ask(node, address, ip::header::HOPS);
            self.sim.wake(NodeId(node));
        }
        Ok(address.is_some())
    }

    /// The outcome of a ping that started at this time, as far as the run has come; `None` while it is on its way.
    pub fn ping_outcome(&mut self, started: Time) -> Option<Ping> {
        let outcome = self.answered(started);
        let expired = self.now() >= started + PING_TIMEOUT || self.sim.next().is_none();
        outcome.or_else(|| expired.then_some(Ping::Silence))
    }

    /// Takes a link down, or brings it up, by its index in the file. Returns the number of frames lost with it.
    ///
    /// # Errors
    /// When there is no such link.
    pub fn set_link_by_number(&mut self, number: usize, up: bool) -> Result<u64, SessionError> {
        let links = &self.lab.links;
        if number >= links.len() {
            return Err(SessionError::NoLinkNumber(number, links.len()));
        }
        Ok(self.sim.set_link(number, up)?)
    }

    /// The state of each link, in the order of the file, by [`Direction::index`].
    pub fn link_states(&mut self) -> Vec<[LinkState; 2]> {
        let (queues, up) = (self.sim.queues(), self.sim.links_up());
        let counters = self.sim.outcome().links;
        let links = counters.iter().zip(up).zip(queues);
        links
            .map(|((counters, up), waiting)| {
                [0, 1].map(|way| LinkState {
                    counters: counters[way],
                    up: up[way],
                    waiting: waiting[way],
                })
            })
            .collect()
    }

    /// The frames that are on links or wait for a line, in no order. Those in queue disciplines are not among them.
    pub fn flights(&self) -> impl Iterator<Item = Flight<'_>> {
        self.sim.flights().map(|(link, direction, arrives, frame)| {
            let delay = self.lab.links[link].link.channels[direction.index()].delay;
            Flight {
                link,
                direction,
                departs: Time::from_ps(frame.arrived().as_ps().saturating_sub(delay.as_ps())),
                arrives,
                delay,
                frame,
            }
        })
    }
}
