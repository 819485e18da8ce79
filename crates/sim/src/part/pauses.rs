//! PAUSE and PFC of a part's ports: frames that arrive, and the buffers that they are in.

use super::{Network, Part};
use crate::lane::Sender;
use node::{Frame, Time};
use queue::pause::{Admission, Origin};

/// A frame in the receive buffer of its port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffered {
    /// The port, by the rank of its sender.
    port: u32,
    priority: u8,
    len: u32,
    /// Time of its arrival, which identifies it.
    arrived: Time,
    /// Its slot, once a copy of it is sent on.
    slot: Option<u32>,
}

/// The senders of ports with pauses, by rank.
pub(super) fn senders(all: &[Sender]) -> Vec<(u32, usize)> {
    let pausing = all.iter().enumerate().filter(|(_, sender)| {
        let egress = sender.egress.as_ref();
        egress.is_some_and(|egress| egress.is_pausing())
    });
    let mut pausing: Vec<_> = pausing
        .map(|(index, sender)| (sender.rank, index))
        .collect();
    pausing.sort_unstable();
    pausing
}

impl Part {
    /// Handles a frame that arrived at a port with pauses. Returns whether it was a pause frame.
    #[cold]
    pub(super) fn arrive(&mut self, receiver: usize) -> bool {
        let network = &mut self.network;
        let (member, port) = (
            network.receivers[receiver].member,
            network.receivers[receiver].port,
        );
        let ends = self.members[member].ports[port.index()];
        let (Some((sender, _)), Some(frame)) = (ends, self.lot.first()) else {
            return false;
        };
        let lane = &mut network.senders[sender];
        let Some(egress) = &mut lane.egress else {
            return false;
        };
        let arrived = egress.arrive(network.now, frame);
        let passes = match arrived {
            Some((Admission::Uncounted, _)) => true,
            Some((Admission::Counted, priority)) => {
                network.buffered = Some(Buffered {
                    port: lane.rank,
                    priority,
                    len: frame.len() as u32,
                    arrived: frame.arrived(),
                    slot: None,
                });
                true
            }
            Some((Admission::Overflow, _)) => {
                network.receivers[receiver].landed.dropped += 1;
                false
            }
            None => false,
        };
        if !passes {
            self.lot
                .drain(..)
                .for_each(|frame| network.pool.give(frame));
            network.plan_queue(sender);
        }
        !passes
    }
}

impl Network {
    /// Counts a frame that a node sends on, and returns the buffer that it is in.
    pub(super) fn keep(&mut self, frame: &Frame) -> Option<Origin> {
        let Buffered {
            port,
            priority,
            len,
            arrived,
            slot,
        } = self.buffered?;
        if frame.arrived() != arrived {
            return None;
        }
        let sender = self.pausing_at(port)?;
        let egress = self.senders[sender].egress.as_mut()?;
        let slot = egress.keep(self.now, priority, len, slot)?;
        self.buffered.as_mut()?.slot = Some(slot);
        self.plan_queue(sender);
        Some(Origin { port, slot })
    }

    /// A node has sent all copies of a frame. Some of them may have left already.
    #[cold]
    pub(super) fn all_sent(&mut self, Buffered { port, slot, .. }: Buffered) {
        let (Some(slot), Some(sender)) = (slot, self.pausing_at(port)) else {
            return;
        };
        if let Some(egress) = &mut self.senders[sender].egress {
            egress.forget(slot);
            self.plan_queue(sender);
        }
    }

    /// Returns the bytes that have left a sender's queue to the buffers that they were in.
    pub(super) fn free_buffers(&mut self, sender: usize) {
        if self.pausing.is_empty() {
            return;
        }
        let mut freed = std::mem::take(&mut self.freed);
        if let Some(egress) = &mut self.senders[sender].egress {
            freed.extend(egress.freed());
        }
        for Origin { port, slot } in freed.drain(..) {
            let Some(port) = self.pausing_at(port) else {
                continue;
            };
            if let Some(egress) = &mut self.senders[port].egress {
                egress.forget(slot);
                self.plan_queue(port);
            }
        }
        self.freed = freed;
    }

    fn pausing_at(&self, rank: u32) -> Option<usize> {
        let place = self.pausing.binary_search_by_key(&rank, |(rank, _)| *rank);
        place.ok().map(|place| self.pausing[place].1)
    }
}
