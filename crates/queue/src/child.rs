//! A discipline in another one, whose next packet can be looked at.

use crate::Config;
use crate::decision::{Decision, Decisions};
use crate::discipline::Discipline;
use crate::ledger::Ledger;
use crate::packet::Packet;
use crate::segment::Segment;
use alloc::boxed::Box;
use alloc::vec::Vec;
use node::{ConfigError, Time};

/// A child. The packet that its parent has looked at is out of the child's own queue, as in Linux:
/// a discipline such as CoDel decided on it then, not when it leaves. A limit of the child does not
/// count it, and the backlog of a decision does.
#[derive(Debug)]
pub(crate) struct Child {
    queue: Box<dyn Discipline>,
    held: Option<Packet>,
    /// Index among the parent's children, where there are several.
    class: Option<u32>,
}

impl Child {
    pub fn new(config: &Config, seed: u64, class: Option<u32>) -> Result<Child, ConfigError> {
        Ok(Child {
            queue: config.build(seed)?,
            held: None,
            class,
        })
    }

    /// Whether the child decides by TCP segments.
    pub fn reads_segments(&self) -> bool {
        self.queue.reads_segments()
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_none() && self.queue.backlog().is_empty()
    }

    /// Offers a packet that the parent's ledger has already.
    pub fn enqueue(
        &mut self,
        now: Time,
        packet: Packet,
        segment: Option<&Segment>,
        ledger: &mut Ledger,
        out: &mut Decisions,
    ) {
        let from = out.len();
        self.queue.enqueue_segment(now, packet, segment, out);
        ledger.adopt(out, from, self.class);
        if let Some(held) = self.held {
            self.count(&held, &mut out[from..]);
        }
    }

    /// Counts a packet that is out of the child's own queue, and not yet on the line, in the backlogs of decisions in the same
    /// queue.
    pub fn count(&self, packet: &Packet, decisions: &mut [Decision]) {
        for decision in decisions {
            if self.shares_queue(packet, &decision.packet, decision.depth) {
                decision.backlog.add(packet.len);
            }
        }
    }

    /// Whether two packets of this child have the same path, to a depth that counts the child's own class.
    pub fn shares_queue(&self, a: &Packet, b: &Packet, depth: u32) -> bool {
        let own = u32::from(self.class.is_some());
        depth <= own || self.queue.shares_queue(a, b, depth - own)
    }

    /// Appends the path of a packet of this child.
    pub fn classes_of(&self, packet: &Packet, path: &mut Vec<u32>) {
        path.extend(self.class);
        self.queue.classes_of(packet, path);
    }

    /// The packet that [`take`](Child::take) gives next; `None` when the child has none that may
    /// leave now.
    pub fn peek(&mut self, now: Time, ledger: &mut Ledger, out: &mut Decisions) -> Option<&Packet> {
        if self.held.is_none() {
            let from = out.len();
            self.held = self.queue.dequeue(now, out);
            ledger.adopt(out, from, self.class);
        }
        self.held.as_ref()
    }

    /// The packet that was looked at, if there is one.
    pub fn held(&self) -> Option<&Packet> {
        self.held.as_ref()
    }

    /// Takes the packet that was looked at.
    pub fn take(&mut self) -> Option<Packet> {
        self.held.take()
    }

    pub fn next_time(&self, now: Time) -> Option<Time> {
        match self.held {
            Some(_) => Some(now),
            None => self.queue.next_time(now),
        }
    }
}
