//! A port whose queue discipline chooses the class of a frame by its OpenFlow queue.
//!
//! The port sends one frame after the other at its own rate, as one with least rates does, so what waits is in the discipline and not
//! in the link behind the port.

use super::{Queue, bits};
use alloc::boxed::Box;
use alloc::vec::Vec;
use node::{Frame, Rate, Time};
use queue::{Decisions, Discipline, Facts, Packet, Segment, Verdict};

#[derive(Debug)]
pub(super) struct Disciplined {
    discipline: Box<dyn Discipline>,
    /// Frames in the discipline, by handle.
    held: Vec<Option<Frame>>,
    vacant: Vec<u32>,
    decisions: Decisions,
    /// Frames that were dropped, until the port takes them.
    lost: Vec<Frame>,
    rate: Rate,
    /// Time at which the last frame has left, and the missing part of a picosecond.
    free_at: Time,
    carry: u64,
}

impl Disciplined {
    /// An empty discipline in front of a wire of this rate.
    pub fn new(discipline: Box<dyn Discipline>, rate: Rate) -> Disciplined {
        Disciplined {
            discipline,
            held: Vec::new(),
            vacant: Vec::new(),
            decisions: Decisions::new(),
            lost: Vec::new(),
            rate,
            free_at: Time::ZERO,
            carry: 0,
        }
    }

    /// Takes a frame for a queue, of which `all` has the counters.
    pub fn offer(&mut self, now: Time, frame: Frame, number: u32, all: &mut [Queue]) {
        let handle = self.vacant.pop().unwrap_or_else(|| {
            self.held.push(None);
            (self.held.len() - 1) as u32
        });
        let facts = Facts {
            queue: number,
            ..Facts::of(&frame)
        };
        let packet = Packet::new(handle, frame.len() as u32, facts);
        let is_read = self.discipline.reads_segments();
        let segment = is_read.then(|| Segment::of(&frame)).flatten();
        self.held[handle as usize] = Some(frame);
        let (discipline, decisions) = (&mut self.discipline, &mut self.decisions);
        discipline.enqueue_segment(now, packet, segment.as_ref(), decisions);
        self.settle(all);
    }

    /// The next frame that may leave by now.
    pub fn next(&mut self, now: Time, all: &mut [Queue]) -> Option<Frame> {
        if self.free_at > now {
            return None;
        }
        let packet = self.discipline.dequeue(now, &mut self.decisions);
        self.settle(all);
        let packet = packet?;
        let frame = self.release(packet.handle)?;
        if let Some(queue) = find(all, packet.facts.queue) {
            queue.packets += 1;
            queue.bytes += frame.len() as u64;
        }
        let (time, carry) = self.rate.time_of(bits(&frame), self.carry);
        (self.free_at, self.carry) = (self.free_at.max(now) + time, carry);
        Some(frame)
    }

    /// When a frame that waits may leave.
    pub fn next_wake(&self) -> Option<Time> {
        self.discipline.next_time(self.free_at)
    }

    /// A frame that the discipline has dropped.
    pub fn lost(&mut self) -> Option<Frame> {
        self.lost.pop()
    }

    /// Removes all waiting frames, and continues with another, empty discipline.
    pub fn drain(&mut self, empty: Box<dyn Discipline>) -> impl Iterator<Item = Frame> {
        self.discipline = empty;
        self.vacant.clear();
        self.held.drain(..).flatten().chain(self.lost.drain(..))
    }

    /// Carries out the discipline's decisions.
    fn settle(&mut self, all: &mut [Queue]) {
        let mut decisions = core::mem::take(&mut self.decisions);
        for decision in decisions.drain(..) {
            let packet = decision.packet;
            match decision.verdict {
                Verdict::Marked => {
                    if let Some(Some(frame)) = self.held.get_mut(packet.handle as usize) {
                        packet::ecn::mark(frame);
                    }
                }
                Verdict::Dropped => {
                    if let Some(queue) = find(all, packet.facts.queue) {
                        queue.errors += 1;
                    }
                    let frame = self.release(packet.handle);
                    self.lost.extend(frame);
                }
            }
        }
        self.decisions = decisions;
    }

    fn release(&mut self, handle: u32) -> Option<Frame> {
        let frame = self.held.get_mut(handle as usize)?.take()?;
        self.vacant.push(handle);
        Some(frame)
    }
}

fn find(all: &mut [Queue], number: u32) -> Option<&mut Queue> {
    all.iter_mut().find(|queue| queue.number == number)
}
