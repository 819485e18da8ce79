//! Queue disciplines of a part's senders: frames enter, and leave when the line is free.

use super::{Network, Part, QUEUES};
use crate::event_queue::Due;
use node::{Frame, StampId, Time, When};

impl Part {
    /// A sender's queue discipline is due.
    pub(super) fn serve(&mut self, sender: usize) {
        // A discipline that never sends must not stop time either.
        self.stalled += 1;
        let now = self.network.serve(sender);
        let lane = &mut self.network.senders[sender];
        let (index, port) = (lane.member, lane.port);
        self.active = index;
        let earlier = lane.departed.take();
        let member = &mut self.members[index];
        for (at, id) in earlier.into_iter().chain(now) {
            member.driver.departs(at, port, id);
        }
        self.network.plan_queue(sender);
        self.network.ask_for_wake(index, member);
    }
}

impl Network {
    /// Gives a padded frame to a sender's queue discipline. Returns the departure if the frame leaves at once.
    pub(super) fn accept(&mut self, sender: usize, when: When, frame: Frame) -> Option<Time> {
        let lane = &mut self.senders[sender];
        let (preamble, id) = (lane.preamble(), frame.stamp());
        let origin = match self.buffered {
            Some(_) => self.keep(&frame),
            None => None,
        };
        let egress = self.senders[sender].egress.as_mut()?;
        let enters = egress.accept_from(self.now, when, preamble, frame, origin);
        let left = match enters {
            true => self.serve(sender),
            false => None,
        };
        let mut departed = None;
        match left {
            Some((at, known)) if Some(known) == id => departed = Some(at),
            // An earlier frame left instead; its node is told by the next event.
            Some(other) => self.senders[sender].departed = Some(other),
            None => {}
        }
        self.plan_queue(sender);
        departed
    }

    /// Enqueues the frames that are due, and sends one if the line is free. Returns its departure if its node asked for a timestamp.
    fn serve(&mut self, sender: usize) -> Option<(Time, StampId)> {
        let now = self.now;
        let lane = &mut self.senders[sender];
        let is_free = lane.free() <= now;
        let egress = lane.egress.as_mut()?;
        let pool = &mut self.pool;
        let left = egress.serve(now, is_free, &mut |frame| pool.give(frame));
        lane.show_backlog(now);
        self.free_buffers(sender);
        let (mut frame, when) = left?;
        let id = frame.take_stamp();
        match self.launch(sender, when, frame) {
            Ok(departed) => departed.zip(id),
            // Time is over.
            Err((_, frame)) => {
                self.pool.give(frame);
                None
            }
        }
    }

    /// Discards the frames in a sender's queue discipline and returns their number.
    pub(super) fn flush(&mut self, sender: usize) -> u64 {
        let Some(egress) = &mut self.senders[sender].egress else {
            return 0;
        };
        let lost = egress.flush(self.now, &mut |frame| self.pool.give(frame));
        self.senders[sender].show_backlog(self.now);
        self.free_buffers(sender);
        self.plan_queue(sender);
        lost
    }

    pub(super) fn plan_queue(&mut self, sender: usize) {
        let lane = &mut self.senders[sender];
        let next = match lane.departed.is_some() {
            true => Some(self.now),
            false => lane.next_in_queue(self.now),
        };
        let rank = QUEUES + lane.rank;
        let due = next.filter(|at| *at < Time::MAX).map(|at| Due {
            at: at.max(self.now),
            rank,
        });
        let source = self.first_message + self.receivers.len() + sender;
        self.queue.set(source, due);
    }
}
