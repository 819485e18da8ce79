//! Time on a channel: dialling, dialling again, echo requests, and giving up.

use super::connection::Stage;
use super::{Batch, Channels, Reason};
use alloc::vec::Vec;
use node::{Port, Time};
use packet::segment::{ANSWER, Kind};

/// Maximum interval between two dials, in units of the first one.
const MAX_BACKOFF: u64 = 8;
/// Maximum number of connections that are dialled.
pub const MAX_DIALLED: usize = 4096;

/// A connection that this side is to have.
#[derive(Clone, Copy, Debug)]
pub struct Dialled {
    port: Port,
    id: u32,
    /// When to dial next; `None` while there is a connection, or an attempt.
    at: Option<Time>,
    /// Wait after a failure.
    wait: Time,
}

impl Channels {
    /// Has a connection opened from this side, by the next [`wake`](Channels::wake), and again whenever it is lost.
    /// Its number is `id`; the far end may have others on the same port. At most 4096 are dialled, others are not.
    pub fn dial(&mut self, port: Port, id: u32) {
        if self.dialled.len() < MAX_DIALLED {
            let wait = self.settings.redial;
            self.dialled.push(Dialled {
                port,
                id,
                at: Some(Time::ZERO),
                wait,
            });
            self.due = Time::ZERO;
        }
    }

    /// When [`wake`](Channels::wake) is to be called.
    pub fn next_wake(&self) -> Option<Time> {
        match self.events.is_empty() {
            true => Some(self.due).filter(|&due| due < Time::MAX),
            false => Some(Time::ZERO),
        }
    }

    /// Does what the time has come for. The batch is to be walked and finished as one of a
    /// [`frame`](Channels::frame).
    pub fn wake(&mut self, now: Time) -> Batch {
        self.now = self.now.max(now);
        if self.due > self.now {
            return Batch::of_events(None);
        }
        let now = self.now;
        self.due = Time::MAX;
        for index in 0..self.dialled.len() {
            self.dial_if_due(index, now);
        }
        let slots: Vec<u32> = self.by_id.values().copied().collect();
        for slot in slots {
            self.watch(slot, now);
        }
        Batch::of_events(None)
    }

    fn dial_if_due(&mut self, index: usize, now: Time) {
        let dialled = &mut self.dialled[index];
        let (port, id) = (dialled.port, dialled.id);
        match dialled.at {
            None => return,
            Some(at) if at > now => return self.due = self.due.min(at),
            Some(_) => dialled.at = None,
        }
        // The far end may have been quicker.
        if self.by_id.contains_key(&(port, id)) {
            return;
        }
        match self.enter(port, id, Stage::Dialled) {
            Some(slot) => {
                // From 1 on, and around: 0 is an open without a number.
                self.attempts = self.attempts % (ANSWER - 1) + 1;
                self.connections[slot as usize].attempt = self.attempts;
                self.note(port, Kind::Open, id, self.attempts, "");
            }
            None => self.lost(port, id),
        }
    }

    /// Looks after one connection.
    fn watch(&mut self, slot: u32, now: Time) {
        let peer = self.peer(slot);
        let (idle, patience) = (self.settings.idle, self.settings.patience);
        let connection = &mut self.connections[slot as usize];
        let (waits_for, due) = match (connection.stage, connection.asked) {
            (Stage::Free, _) => return,
            (Stage::Dialled, _) => ("the open", connection.heard + patience),
            (Stage::Greeting, _) => ("the hello", connection.began + patience),
            (Stage::Up, Some(asked)) => ("an echo request", asked + patience),
            (Stage::Up, None) if connection.heard + idle > now => {
                return self.due = self.due.min(connection.heard + idle);
            }
            (Stage::Up, None) => {
                connection.asked = Some(now);
                let version = connection.version;
                let outbox = connection.outbox();
                outbox.extend_from_slice(&[version, 2, 0, 8, 0, 0, 0, 0]);
                self.mark(slot);
                return self.due = self.due.min(now + patience);
            }
        };
        match due > now {
            true => self.due = self.due.min(due),
            false => self.drop_connection(peer, Reason::Silent(waits_for), true),
        }
    }

    /// A connection came about: the next failure is the first one again.
    pub(super) fn redialled(&mut self, port: Port, id: u32) {
        for dialled in &mut self.dialled {
            if (dialled.port, dialled.id) == (port, id) {
                dialled.wait = self.settings.redial;
            }
        }
    }

    /// A connection is over: if this side is to have it, it is dialled again after a while.
    pub(super) fn lost(&mut self, port: Port, id: u32) {
        for dialled in &mut self.dialled {
            if (dialled.port, dialled.id) == (port, id) {
                let at = self.now + dialled.wait;
                dialled.at = Some(at);
                dialled.wait = (dialled.wait * 2).min(self.settings.redial * MAX_BACKOFF);
                self.due = self.due.min(at);
            }
        }
    }
}
