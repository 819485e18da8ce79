//! Unsolicited inbound SYNs, until it is clear whether they belong to a simultaneous open (RFC 5382
//! REQ-4).

use super::endpoint::Endpoint;
use alloc::collections::VecDeque;
use node::{Frame, Time};

/// Maximum number of SYNs that wait; further ones are dropped without an answer.
const MAX_HELD: usize = 256;
/// Maximum length of a frame with a SYN that waits, bytes.
const MAX_HELD_LEN: usize = 1_514;
/// Time for the inside host's own SYN.
const HOLD_TIMEOUT: Time = Time::from_secs(6);

#[derive(Debug)]
struct Held {
    until: Time,
    external: Endpoint,
    remote: Endpoint,
    frame: Frame,
}

/// SYNs that wait, oldest first.
#[derive(Debug, Default)]
pub(super) struct HeldSyns(VecDeque<Held>);

impl HeldSyns {
    /// Keeps a copy of a SYN, unless one of the connection waits already; whether it did.
    pub fn hold(&mut self, now: Time, external: Endpoint, remote: Endpoint, frame: &Frame) -> bool {
        let is_known = |held: &Held| (held.external, held.remote) == (external, remote);
        if self.0.len() >= MAX_HELD || frame.len() > MAX_HELD_LEN || self.0.iter().any(is_known) {
            return false;
        }
        let frame = frame.clone();
        let until = now + HOLD_TIMEOUT;
        self.0.push_back(Held {
            until,
            external,
            remote,
            frame,
        });
        true
    }

    /// Forgets the SYN of a connection that an inside host opens itself.
    pub fn forget(&mut self, external: Endpoint, remote: Endpoint) {
        self.0
            .retain(|held| (held.external, held.remote) != (external, remote));
    }

    /// The next SYN that has waited for 6 s.
    pub fn poll(&mut self, now: Time) -> Option<Frame> {
        let is_over = self.0.front().is_some_and(|held| held.until <= now);
        is_over.then(|| self.0.pop_front())?.map(|held| held.frame)
    }

    /// Time at which the next SYN's time is over.
    pub fn next(&self) -> Option<Time> {
        self.0.front().map(|held| held.until)
    }
}
