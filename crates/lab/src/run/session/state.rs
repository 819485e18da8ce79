//! State of a session's links and frames between two steps, for programs that display a network.

use super::{PING_TIMEOUT, Ping, SLICE, Session, SessionError};
use node::event::Queue;
use node::link::LinkCounters;
use node::outcome::{Direction, Outcome};
use node::{Frame, Time};

/// Current state of one direction of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkState {
    /// Counters since the start.
    pub counters: LinkCounters,
    /// Whether frames that are sent now can arrive.
    pub up: bool,
    /// Frames and bytes in the queue.
    pub waiting: Queue,
}

/// A frame on a link.
#[derive(Clone, Copy, Debug)]
pub struct Flight<'a> {
    /// The link's index in the file.
    pub link: usize,
    /// The direction in which it travels.
    pub direction: Direction,
    /// Departure of its first bit; in the future while it waits for the line.
    pub departs: Time,
    /// Time at which its receiver is informed: the arrival of the last bit that it needs.
    pub arrives: Time,
    /// Propagation delay of the link.
    pub delay: Time,
    /// The frame.
    pub frame: &'a Frame,
}

impl Session<'_> {
    /// Processes at most 4,096 events up to `until`. Returns true if `until` is reached, or the run has ended.
    ///
    /// # Errors
    /// When `until` is in the past, or the simulation makes no progress in time.
    pub fn advance_part(&mut self, until: Time) -> Result<bool, SessionError> {
        let now = self.now();
        if until < now {
            return Err(SessionError::Past { now, wanted: until });
        }
        Ok(self.is_over() || self.sim.advance_to(until, SLICE)?)
    }

    /// Duration of the run, from the options or else from the lab.
    pub fn duration(&self) -> Option<Time> {
        self.duration
    }

    /// Whether the run has ended: the duration is reached, no event is left, or all tests are complete.
    pub fn has_ended(&self) -> bool {
        self.is_over()
            || self.sim.next().is_none()
            || self.duration.is_some_and(|end| self.now() >= end)
    }

    /// Counters of nodes and links since the start.
    pub fn outcome(&self) -> Outcome {
        self.sim.outcome()
    }

    /// Sends a ping without waiting: [`ping_outcome`](Session::ping_outcome) returns its outcome. Returns false if the node has no
    /// route to the other one. Only one ping may be on its way at a time.
    ///
    /// # Errors
    /// When one of them cannot ping or be pinged.
    pub fn start_ping(&mut self, from: &str, to: &str) -> Result<bool, SessionError> {
        let (node, address) = self.ends(from, to)?;
        if let Some(address) = address {
            // Discard late answers to earlier pings.
            while self.pings.answer().is_some() {}
            self.ask(node, address, ip::header::HOPS);
        }
        Ok(address.is_some())
    }

    /// Outcome of the ping that was sent at this time; `None` while it is on its way.
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

    /// State of each link, in the order of the file, by [`Direction::index`]. `outcome` is that of [`outcome`](Session::outcome) now.
    pub fn link_states(&mut self, outcome: &Outcome) -> Vec<[LinkState; 2]> {
        let links = outcome.links.iter();
        let links = links.zip(self.sim.links_up()).zip(self.sim.queues());
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

    /// The frames that are on links or wait for a line, in no order. Frames in queue disciplines are left out.
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
