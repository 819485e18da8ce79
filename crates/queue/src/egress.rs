//! Frames that a queue discipline holds until the line is free.
//!
//! Without a discipline a port keeps order, and a frame's whole way is decided when it is offered
//! ([`Transmitter`](node::Transmitter)). A discipline decides as late as it can: a frame may be overtaken, marked or dropped until
//! it leaves. So it is an event of its own when the line takes the next frame. Worlds are the owners of an [`Egress`].

use crate::{Backlog, Decision, Decisions, Discipline, Facts, Packet, Reason, Segment, Verdict};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use node::event::{Interface, Queue};
use node::link::LinkCounters;
use node::outcome::Direction;
use node::{Frame, Time, When};

/// The queue discipline of one direction of a link.
///
/// It replaces the channel's FIFO. Frames wait in it until the line is free, so the decision which frame is next, dropped or marked
/// is made as late as possible.
pub struct PortQueue {
    /// The link's index in its graph.
    pub link: usize,
    /// The direction of the link.
    pub direction: Direction,
    /// Makes an empty queue, at the start and after the link has been taken down.
    pub make: Box<MakeDiscipline>,
    /// Called for each packet that arrives at the queue, leaves it, is dropped or is marked. Default none.
    pub see: Option<Box<SeeDiscipline>>,
}

/// Makes an empty queue discipline.
pub type MakeDiscipline = dyn Fn() -> Box<dyn Discipline> + Send;

/// Observer of the events in a queue discipline.
pub type SeeDiscipline = dyn FnMut(&QueueEvent<'_>) + Send;

/// An event in a queue discipline.
#[derive(Clone, Copy, Debug)]
pub enum QueueEvent<'a> {
    /// A packet arrives at the queue. Its fate follows, at once or later.
    Offered {
        /// When.
        at: Time,
        /// The packet.
        packet: &'a Packet,
        /// Its frame, padded, without FCS.
        frame: &'a Frame,
        /// Its TCP segment, if it has one and the discipline reads segments.
        segment: Option<&'a Segment>,
        /// When its first bit is to leave.
        when: When,
    },
    /// The link went down: all packets in the queue are lost, and it is replaced by a new one.
    Flushed {
        /// When.
        at: Time,
    },
    /// A packet was dropped or marked.
    Decided(&'a Decision),
    /// A packet left for the line.
    Sent {
        /// When it left the queue. Its preamble follows.
        at: Time,
        /// The packet.
        packet: &'a Packet,
        /// Packets and bytes that are left in the queue.
        backlog: Backlog,
    },
}

/// A direction's discipline, and the frames in it.
pub struct Egress {
    /// Makes an empty one.
    make: Box<MakeDiscipline>,
    discipline: Box<dyn Discipline>,
    reads_segments: bool,
    /// Frames that wait for their own time of departure, in the order in which the port was given them, and when each enters the
    /// queue. A port keeps order, so a frame enters not before its predecessors.
    early: VecDeque<(Time, Held)>,
    /// Frames in the discipline, by handle.
    held: Vec<Option<Held>>,
    vacant: Vec<u32>,
    decisions: Decisions,
    see: Option<Box<SeeDiscipline>>,
    counters: Counters,
}

/// A frame, and when its node wanted it to leave.
type Held = (Frame, When);

/// Totals of an [`Egress`] that the line does not count.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    /// Frames that were asked to leave in the past.
    late: u64,
    /// Frames that were dropped because the queue was full, and for other reasons.
    full: u64,
    early_drops: u64,
    /// Frames that carry CE by a decision of the queue.
    marked: u64,
    /// The most frames in the discipline.
    longest: u64,
    /// Frames that a link took with it when it went down, and their bytes.
    flushed: Backlog,
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Egress");
        shown.field("discipline", &self.discipline);
        shown.field("counters", &self.counters);
        shown.finish_non_exhaustive()
    }
}

impl Egress {
    /// An empty queue, with its observer.
    pub fn new(queue: PortQueue) -> Egress {
        let PortQueue { make, see, .. } = queue;
        let discipline = make();
        Egress {
            reads_segments: discipline.reads_segments(),
            discipline,
            make,
            early: VecDeque::new(),
            held: Vec::new(),
            vacant: Vec::new(),
            decisions: Vec::new(),
            see,
            counters: Counters::default(),
        }
    }

    /// Takes a padded frame and returns whether a frame is due to be enqueued now. It is enqueued one preamble before the requested
    /// departure, so that it is on time on a free line.
    pub fn accept(&mut self, now: Time, when: When, preamble: Time, frame: Frame) -> bool {
        let wanted = match when {
            When::Now => now,
            When::At(at) => {
                self.counters.late += u64::from(at < now);
                (at - preamble).max(now)
            }
        };
        let last = self.early.back().map_or(Time::ZERO, |(at, _)| *at);
        self.early.push_back((wanted.max(last), (frame, when)));
        self.early.front().is_some_and(|(at, _)| *at <= now)
    }

    /// Time of the next enqueue or dequeue, if the line is free from `free` on.
    pub fn next(&self, now: Time, free: Time) -> Option<Time> {
        let enters = self.early.front().map(|(at, _)| *at);
        let leaves = self.discipline.next_time(now.max(free));
        [enters, leaves].into_iter().flatten().min()
    }

    /// Enqueues the frames that are due, and takes one if the line is free: the frame that leaves now, and when it is to. A frame that
    /// leaves makes room for one that arrives at the same time. Frames that are dropped go to `spent`.
    pub fn serve(
        &mut self,
        now: Time,
        is_free: bool,
        spent: &mut impl FnMut(Frame),
    ) -> Option<(Frame, When)> {
        let mut left = None;
        loop {
            if is_free && left.is_none() {
                left = self.take(now, spent);
            }
            if !self.admit(now, spent) {
                return left;
            }
        }
    }

    /// Enqueues the next frame that is due and returns whether there was one.
    fn admit(&mut self, now: Time, spent: &mut impl FnMut(Frame)) -> bool {
        let Some((_, held)) = self.early.pop_front_if(|(at, _)| *at <= now) else {
            return false;
        };
        let handle = self.vacant.pop().unwrap_or_else(|| {
            self.held.push(None);
            (self.held.len() - 1) as u32
        });
        let packet = Packet::new(handle, held.0.len() as u32, Facts::of(&held.0));
        let segment = self.reads_segments.then(|| Segment::of(&held.0)).flatten();
        if let Some(see) = &mut self.see {
            see(&QueueEvent::Offered {
                at: now,
                packet: &packet,
                frame: &held.0,
                segment: segment.as_ref(),
                when: held.1,
            });
        }
        self.held[handle as usize] = Some(held);
        let decisions = &mut self.decisions;
        self.discipline
            .enqueue_segment(now, packet, segment.as_ref(), decisions);
        self.settle(spent);
        self.counters.longest = self.counters.longest.max(self.discipline.backlog().packets);
        true
    }

    /// The frame that leaves now, if one may, and when it is to.
    fn take(&mut self, now: Time, spent: &mut impl FnMut(Frame)) -> Option<Held> {
        let packet = self.discipline.dequeue(now, &mut self.decisions);
        self.settle(spent);
        let packet = packet?;
        if let Some(see) = &mut self.see {
            see(&QueueEvent::Sent {
                at: now,
                packet: &packet,
                backlog: self.discipline.backlog(),
            });
        }
        let (frame, when) = self.release(packet.handle)?;
        let when = match when {
            When::At(at) if at > now => when,
            _ => When::Now,
        };
        Some((frame, when))
    }

    /// Carries out the discipline's decisions.
    fn settle(&mut self, spent: &mut impl FnMut(Frame)) {
        let decisions = core::mem::take(&mut self.decisions);
        for decision in &decisions {
            if let Some(see) = &mut self.see {
                see(&QueueEvent::Decided(decision));
            }
            let handle = decision.packet.handle;
            match decision.verdict {
                Verdict::Marked => {
                    self.counters.marked += 1;
                    if let Some(Some((frame, _))) = self.held.get_mut(handle as usize) {
                        packet::ecn::mark(frame);
                    }
                }
                Verdict::Dropped => {
                    let full = matches!(decision.reason, Reason::Full | Reason::Overlimit);
                    self.counters.full += u64::from(full);
                    self.counters.early_drops += u64::from(!full);
                    if let Some((frame, _)) = self.release(handle) {
                        spent(frame);
                    }
                }
            }
        }
        self.decisions = decisions;
        self.decisions.clear();
    }

    fn release(&mut self, handle: u32) -> Option<Held> {
        let held = self.held.get_mut(handle as usize)?.take()?;
        self.vacant.push(handle);
        Some(held)
    }

    /// Discards all frames, as the link goes down, and replaces the discipline by an empty one. Returns the number of frames.
    pub fn flush(&mut self, now: Time, spent: &mut impl FnMut(Frame)) -> u64 {
        if let Some(see) = &mut self.see {
            see(&QueueEvent::Flushed { at: now });
        }
        let Backlog { packets, bytes } = self.waiting();
        self.counters.flushed.packets += packets;
        self.counters.flushed.bytes += bytes;
        let early = self.early.drain(..).map(|(_, held)| held);
        let held = self.held.drain(..).flatten();
        early.chain(held).for_each(|(frame, _)| spent(frame));
        self.vacant.clear();
        self.discipline = (self.make)();
        packets
    }

    /// Frames that wait, and their bytes: in the discipline, and for their own time.
    pub fn waiting(&self) -> Backlog {
        let mut waiting = self.discipline.backlog();
        for (_, (frame, _)) in &self.early {
            waiting.add(frame.len() as u32);
        }
        waiting
    }

    /// Frames and bytes in the discipline.
    pub fn backlog(&self) -> Backlog {
        self.discipline.backlog()
    }

    /// Frames that wait, in no order.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        let early = self.early.iter().map(|(_, held)| held);
        let all = self.held.iter().flatten().chain(early);
        all.map(|(frame, _)| frame)
    }

    /// Adds what the line does not count to its totals.
    pub fn add_to(&self, line: &mut LinkCounters) {
        let (waiting, own) = (self.waiting(), &self.counters);
        line.sent += waiting.packets + own.flushed.packets;
        line.bytes += waiting.bytes + own.flushed.bytes;
        line.queue_full += own.full;
        line.dropped_early += own.early_drops;
        line.marked += own.marked;
        line.late += own.late;
        line.longest_queue = line.longest_queue.max(own.longest);
    }

    /// Adds its backlog and drops to what the line tells its node.
    pub fn add_to_statistics(&self, interface: &mut Interface, queue: &mut Queue) {
        let (waiting, own) = (self.waiting(), &self.counters);
        queue.packets = waiting.packets as u32;
        queue.bytes = waiting.bytes;
        queue.dropped += own.full + own.early_drops;
        interface.sent.dropped = queue.dropped;
    }
}
