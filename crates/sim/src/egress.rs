//! Frames that a queue discipline holds until the line is free.
//!
//! Without a discipline a port keeps order, and a frame's whole way is decided when it is offered
//! ([`Transmitter`](node::Transmitter)). A discipline decides as late as it can: a frame may be overtaken, marked or dropped until
//! it leaves. So it is an event of its own when the line takes the next frame.

use crate::{MakeDiscipline, QueueEvent, SeeDiscipline};
use node::{Frame, Pool, StampId, Time, When};
use queue::{Backlog, Decisions, Discipline, Facts, Packet, Reason, Verdict};
use std::collections::VecDeque;

/// A direction's discipline, and the frames in it.
pub(crate) struct Egress {
    /// Makes an empty one.
    make: Box<MakeDiscipline>,
    discipline: Box<dyn Discipline>,
    /// Frames that wait for their own time of departure, in the order in which the port was given them, and when each enters the
    /// queue. A port keeps order, so a frame enters not before its predecessors.
    early: VecDeque<(Time, Held)>,
    /// Frames in the discipline, by handle.
    held: Vec<Option<Held>>,
    vacant: Vec<u32>,
    decisions: Decisions,
    see: Option<Box<SeeDiscipline>>,
    counters: Counters,
    /// Departure of an earlier frame that left while its node was sending another one, with the timestamp request.
    pub departed: Option<(Time, StampId)>,
}

/// A frame, and when its node wanted it to leave.
type Held = (Frame, When);

/// Totals of an [`Egress`] that the line does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Frames that were asked to leave in the past.
    pub late: u64,
    /// Frames that were dropped because the queue was full, and for other reasons.
    pub full: u64,
    pub early_drops: u64,
    /// Frames that carry CE by a decision of the queue.
    pub marked: u64,
    /// The most frames in the discipline.
    pub longest: u64,
    /// Frames that a link took with it when it went down, and their bytes.
    pub flushed: Backlog,
}

impl Egress {
    pub fn new(make: Box<MakeDiscipline>, see: Option<Box<SeeDiscipline>>) -> Egress {
        Egress {
            discipline: make(),
            make,
            early: VecDeque::new(),
            held: Vec::new(),
            vacant: Vec::new(),
            decisions: Vec::new(),
            see,
            counters: Counters::default(),
            departed: None,
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

    /// Enqueues the next frame that is due and returns whether there was one. Dropped frames go to the pool.
    pub fn admit(&mut self, now: Time, pool: &mut Pool) -> bool {
        let Some((_, held)) = self.early.pop_front_if(|(at, _)| *at <= now) else {
            return false;
        };
        let handle = self.vacant.pop().unwrap_or_else(|| {
            self.held.push(None);
            (self.held.len() - 1) as u32
        });
        let packet = Packet::new(handle, held.0.len() as u32, Facts::of(&held.0));
        if let Some(see) = &mut self.see {
            see(&QueueEvent::Offered {
                at: now,
                packet: &packet,
                frame: &held.0,
                when: held.1,
            });
        }
        self.held[handle as usize] = Some(held);
        self.discipline.enqueue(now, packet, &mut self.decisions);
        self.settle(pool);
        self.counters.longest = self.counters.longest.max(self.discipline.backlog().packets);
        true
    }

    /// The frame that leaves now, if one may, and when it is to.
    pub fn take(&mut self, now: Time, pool: &mut Pool) -> Option<Held> {
        let packet = self.discipline.dequeue(now, &mut self.decisions);
        self.settle(pool);
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
    fn settle(&mut self, pool: &mut Pool) {
        let decisions = std::mem::take(&mut self.decisions);
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
                        pool.give(frame);
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
    pub fn flush(&mut self, now: Time, pool: &mut Pool) -> u64 {
        if let Some(see) = &mut self.see {
            see(&QueueEvent::Flushed { at: now });
        }
        let Backlog { packets, bytes } = self.waiting();
        self.counters.flushed.packets += packets;
        self.counters.flushed.bytes += bytes;
        let early = self.early.drain(..).map(|(_, held)| held);
        let held = self.held.drain(..).flatten();
        early.chain(held).for_each(|(frame, _)| pool.give(frame));
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

    pub fn counters(&self) -> Counters {
        self.counters
    }
}
