//! The contract of queue disciplines.

use crate::decision::{Backlog, Decisions};
use crate::ledger::Counters;
use crate::packet::Packet;
use crate::pause::Pauses;
use crate::segment::Segment;
use alloc::vec::Vec;
use core::fmt::Debug;
use node::Time;

/// A queue discipline: decides which packet leaves a port next, when, and which packets never do.
///
/// It has no clock and does no I/O. Rules for the caller: `now` never decreases from call to call;
/// a handle that a drop or a `dequeue` returned may be used again. Rules that every discipline
/// keeps: each packet that was offered is sent or dropped once, or is in the backlog; packets of
/// one flow leave in the order in which they arrived; no call panics, whatever the length of the
/// packet and the time; no call allocates in steady state; when `dequeue` has returned `None`,
/// [`next_time`](Discipline::next_time) of the same time is later or `None`.
pub trait Discipline: Debug + Send {
    /// Takes a packet at `now`. Drops and marks are appended to `out`; the packet itself may be
    /// among them.
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Decisions);

    /// As [`enqueue`](Discipline::enqueue), with the packet's TCP segment, if it has one. By default
    /// the segment is ignored; `enqueue` itself is a call without a segment.
    fn enqueue_segment(
        &mut self,
        now: Time,
        packet: Packet,
        segment: Option<&Segment>,
        out: &mut Decisions,
    ) {
        let _ = segment;
        self.enqueue(now, packet, out);
    }

    /// Whether the discipline decides by TCP segments, so that its owner must call
    /// [`enqueue_segment`](Discipline::enqueue_segment). It never changes. Default no.
    fn reads_segments(&self) -> bool {
        false
    }

    /// Gives the next packet to send at `now`, or `None` when none may leave now. Drops and marks
    /// are appended to `out`.
    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet>;

    /// Earliest time, not before `now`, at which `dequeue` must be called again; `None` while the
    /// backlog is empty.
    ///
    /// Without a shaper that is `now` whenever a packet waits. A packet that arrives may make it
    /// earlier.
    fn next_time(&self, now: Time) -> Option<Time>;

    /// The link's other end pauses priorities: a packet of [priority](crate::Facts::priority) `p`
    /// does not leave before `until[p]`. Replaces the values of earlier calls. Returns whether
    /// the discipline obeys; if not, its owner stops the whole line. Default no.
    fn pause(&mut self, until: &Pauses) -> bool {
        let _ = until;
        false
    }

    /// Appends the path of a packet's queue: its class in each classful discipline, from the outermost one inwards. A discipline
    /// with one queue, or with flow queues of its own such as FQ-CoDel's, appends nothing, which is the default.
    fn classes_of(&self, packet: &Packet, path: &mut Vec<u32>) {
        let _ = (packet, path);
    }

    /// Whether two packets have the same class in the first `depth` classful disciplines of their path. By default there are none,
    /// and they do.
    fn shares_queue(&self, a: &Packet, b: &Packet, depth: u32) -> bool {
        let _ = (a, b, depth);
        true
    }

    /// Packets and bytes that wait.
    fn backlog(&self) -> Backlog;

    /// Totals so far.
    fn counters(&self) -> Counters;
}
