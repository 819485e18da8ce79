//! Frames that a queue discipline holds until the line is free.
//!
//! Without a discipline a port keeps order, and a frame's whole way is decided when it is offered
//! ([`Transmitter`](node::Transmitter)). A discipline decides as late as it can: a frame may be overtaken, marked or dropped until
//! it leaves. So it is an event of its own when the line takes the next frame. Worlds are the owners of an [`Egress`].

use crate::pause::{self, Admission, Origin, Pause};
use crate::{Backlog, Decision, Decisions, Discipline, Facts, Packet, Reason, Segment, Verdict};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use node::event::{Interface, Queue};
use node::link::LinkCounters;
use node::outcome::Direction;
use node::{Frame, Time, When};
use packet::ethernet::Mac;

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
    /// Pauses that the port sends and obeys. Default neither.
    pub pause: pause::Port,
}

/// Source address of pause frames: links have no address of their own.
const PAUSE_SOURCE: Mac = Mac([0x02, 0, 0, 0, 0, 0]);

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
    /// Pauses at the port.
    Pause {
        /// When.
        at: Time,
        /// The event.
        event: pause::Event,
    },
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
    pause: Option<Box<Pausing>>,
    /// Frames that have left or were dropped, among those in other ports' buffers.
    freed: Vec<Origin>,
}

/// A frame, its requested departure time, and the port whose buffer it is in.
type Held = (Frame, When, Option<Origin>);

/// Pauses of a port.
#[derive(Debug)]
struct Pausing {
    port: pause::Port,
    /// End of a pause of the whole line.
    line_until: Time,
}

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
        let PortQueue {
            make, see, pause, ..
        } = queue;
        let is_pausing = pause.ingress.is_some() || pause.gate.is_some();
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
            pause: is_pausing.then(|| {
                Box::new(Pausing {
                    port: pause,
                    line_until: Time::ZERO,
                })
            }),
            freed: Vec::new(),
        }
    }

    /// Takes a padded frame and returns whether a frame is due to be enqueued now. It is enqueued one preamble before the requested
    /// departure, so that it is on time on a free line.
    pub fn accept(&mut self, now: Time, when: When, preamble: Time, frame: Frame) -> bool {
        self.accept_from(now, when, preamble, frame, None)
    }

    /// As [`accept`](Egress::accept), for a frame that is in a port's buffer. [`freed`](Egress::freed) returns its origin.
    pub fn accept_from(
        &mut self,
        now: Time,
        when: When,
        preamble: Time,
        frame: Frame,
        origin: Option<Origin>,
    ) -> bool {
        let wanted = match when {
            When::Now => now,
            When::At(at) => {
                self.counters.late += u64::from(at < now);
                (at - preamble).max(now)
            }
        };
        let last = self.early.back().map_or(Time::ZERO, |(at, _)| *at);
        self.early
            .push_back((wanted.max(last), (frame, when, origin)));
        self.early.front().is_some_and(|(at, _)| *at <= now)
    }

    /// Time of the next enqueue or dequeue, if the line is free from `free` on.
    pub fn next(&self, now: Time, free: Time) -> Option<Time> {
        let enters = self.early.front().map(|(at, _)| *at);
        let from = now.max(free);
        let Some(Pausing { port, line_until }) = self.pause.as_deref() else {
            let leaves = self.discipline.next_time(from);
            return [enters, leaves].into_iter().flatten().min();
        };
        let leaves = self.discipline.next_time(from.max(*line_until));
        let asks = port.ingress.as_ref().and_then(|ingress| ingress.next(now));
        let gate = port.gate.as_ref();
        let changes = gate.and_then(|gate| gate.next(!self.discipline.backlog().is_empty()));
        let asks = asks.map(|at| at.max(from));
        [enters, leaves, asks, changes].into_iter().flatten().min()
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
        if self.pause.is_some() {
            self.apply_pauses(now);
            left = is_free.then(|| self.ask(now)).flatten();
        }
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
    fn take(&mut self, now: Time, spent: &mut impl FnMut(Frame)) -> Option<(Frame, When)> {
        if self.pause.as_ref().is_some_and(|own| own.line_until > now) {
            return None;
        }
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
        let (frame, when, _) = self.release(packet.handle)?;
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
                    if let Some(Some((frame, ..))) = self.held.get_mut(handle as usize) {
                        packet::ecn::mark(frame);
                    }
                }
                Verdict::Dropped => {
                    let full = matches!(decision.reason, Reason::Full | Reason::Overlimit);
                    self.counters.full += u64::from(full);
                    self.counters.early_drops += u64::from(!full);
                    if let Some((frame, ..)) = self.release(handle) {
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
        self.freed.extend(held.2);
        Some(held)
    }

    /// Takes the origins of frames [from a buffer](Egress::accept_from) that have left or were
    /// dropped.
    pub fn freed(&mut self) -> impl Iterator<Item = Origin> {
        self.freed.drain(..)
    }

    /// Applies received pauses.
    fn apply_pauses(&mut self, now: Time) {
        let Some(Pausing { port, line_until }) = self.pause.as_deref_mut() else {
            return;
        };
        let Some(gate) = &mut port.gate else {
            return;
        };
        let mut report = |event| {
            if let Some(see) = &mut self.see {
                see(&QueueEvent::Pause { at: now, event });
            }
        };
        // Ended waits are evaluated first, with the previous pauses.
        let frames_wait = !self.discipline.backlog().is_empty();
        let storms = gate.storms(now, frames_wait);
        let stormy = (0..8u8).filter(|priority| storms & 1 << priority != 0);
        stormy.for_each(|priority| report(pause::Event::Storm { priority }));
        if let Some(until) = gate.apply(now) {
            let is_kept = gate.is_by_priority() && self.discipline.pause(&until);
            *line_until = match is_kept {
                true => Time::ZERO,
                false => gate.line_until(),
            };
            report(pause::Event::Paused(until));
        }
    }

    /// The pause frame that is due.
    fn ask(&mut self, now: Time) -> Option<(Frame, When)> {
        let ingress = self.pause.as_mut()?.port.ingress.as_mut()?;
        let pause = ingress.poll(now)?;
        self.report(now, pause::Event::Asked(pause));
        let mut bytes = Vec::with_capacity(packet::ethernet::MIN_WIRE_FRAME_LEN);
        pause.build(PAUSE_SOURCE, &mut bytes);
        Some((Frame::new(&bytes), When::Now))
    }

    fn report(&mut self, at: Time, event: pause::Event) {
        if let Some(see) = &mut self.see {
            see(&QueueEvent::Pause { at, event });
        }
    }

    /// Whether the port sends or obeys pauses: each frame that arrives by it must be passed to [`arrive`](Egress::arrive).
    pub fn is_pausing(&self) -> bool {
        self.pause.is_some()
    }

    /// Handles a frame that arrived by the port. Returns its admission and priority if it is for the node; `None` for MAC control
    /// frames.
    pub fn arrive(&mut self, now: Time, frame: &[u8]) -> Option<(Admission, u8)> {
        let port = &mut self.pause.as_mut()?.port;
        if let Some(read) = Pause::of(frame) {
            match (read, &mut port.gate) {
                (Ok(pause), Some(gate)) => gate.hear(now, pause),
                (Ok(_), None) | (Err(_), _) => self.report(now, pause::Event::Unknown),
            }
            return None;
        }
        let Some(ingress) = &port.ingress else {
            return Some((Admission::Uncounted, 0));
        };
        let (priority, len) = (Facts::of(frame).priority % 8, frame.len() as u32);
        let admission = ingress.admit(priority, len);
        if admission == Admission::Overflow {
            self.report(now, pause::Event::Overflow { priority, len });
        }
        Some((admission, priority))
    }

    /// Counts a copy that waits at another port of the node, of a frame of this priority and length that arrived by the port. `slot`
    /// is that of an earlier copy. Returns the slot. The owner calls [`forget`](Egress::forget) for each copy, and once when the
    /// node has sent all copies.
    pub fn keep(&mut self, now: Time, priority: u8, len: u32, slot: Option<u32>) -> Option<u32> {
        let own = self.pause.as_mut();
        let ingress = own.and_then(|own| own.port.ingress.as_mut())?;
        let slot = ingress.add(priority, len, slot);
        let waiting = ingress.bytes(priority);
        self.report(now, pause::Event::Arrived { waiting });
        Some(slot)
    }

    /// Releases a copy of the frame in `slot`, which has left or was dropped; also called once after the node has sent all copies.
    pub fn forget(&mut self, slot: u32) {
        let own = self.pause.as_mut();
        if let Some(ingress) = own.and_then(|own| own.port.ingress.as_mut()) {
            ingress.remove(slot);
        }
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
        for (frame, _, origin) in early.chain(held) {
            self.freed.extend(origin);
            spent(frame);
        }
        self.vacant.clear();
        self.discipline = (self.make)();
        if let Some(Pausing { port, line_until }) = self.pause.as_deref_mut() {
            port.ingress.iter_mut().for_each(|own| own.restart());
            port.gate.iter_mut().for_each(|own| own.restart());
            *line_until = Time::ZERO;
        }
        packets
    }

    /// Frames that wait, and their bytes: in the discipline, and for their own time.
    pub fn waiting(&self) -> Backlog {
        let mut waiting = self.discipline.backlog();
        for (_, (frame, ..)) in &self.early {
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
        all.map(|(frame, ..)| frame)
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
