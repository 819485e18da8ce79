//! What a node's answers go through: each frame that it sends is offered to its link, or to its port.

use super::schedule::{Item, Stamp};
use super::shared::Shared;
use crate::port::PortError;
use crate::port::pace::Wanted;
use node::event::{Interface, Queue};
use node::frame::MAX_FRAME_LEN;
use node::link::MIN_WIRE_FRAME_LEN;
use node::link::{LinkCounters, PREAMBLE};
use node::{Departure, Driver, Frame, Pool, Port, Refusal, Time, Transmitter, When};
use queue::egress::Egress as Discipline;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// Frames that are collected before they are sent at once.
const AT_ONCE: usize = 64;

/// A link, and the queue discipline in front of it. A port on a real wire has no link.
pub type Line = (Option<Transmitter>, Option<Box<Discipline>>);

/// What a node's answers go through.
pub struct Egress {
    /// Out of the ports, so that one of these can be read meanwhile.
    ports: Vec<EgressPort>,
    /// Where among those each port of the node is; one without a link is beyond them.
    index: Vec<usize>,
    /// Departures that the node asked for and that have come.
    stamps: Vec<Stamp>,
    items: Vec<Item>,
    order: u64,
    spent: Vec<Frame>,
    /// Buffers for duplicates, and how many were taken and have not come back.
    copies: Pool,
    taken: usize,
    /// What went wrong first with a port.
    pub trouble: Option<PortError>,
}

/// The sending side of a port.
struct EgressPort {
    number: Port,
    lane: usize,
    link: Option<Transmitter>,
    /// The queue discipline in front of the link, and the time up to which it has been served.
    discipline: Option<(Box<Discipline>, Time)>,
    /// Whether a real wire is known to have no link. The kernel would take its frames and throw them away.
    down: bool,
    order: Order,
    /// Frames to be sent at once.
    at_once: Vec<Frame>,
    /// Whether frames were collected that wait.
    queued: bool,
}

impl Egress {
    /// For those of a node's `count` ports that are given here, each with the lane and the link that it sends by, and the link's queue
    /// discipline.
    pub fn new(count: usize, given: impl Iterator<Item = (Port, usize, Line)>) -> Egress {
        let (mut ports, mut index) = (Vec::new(), vec![usize::MAX; count]);
        for (port, lane, (link, discipline)) in given {
            index[port.index()] = ports.len();
            ports.push(EgressPort {
                number: port,
                lane,
                link,
                discipline: discipline.map(|discipline| (discipline, Time::ZERO)),
                down: false,
                order: Order::default(),
                at_once: Vec::new(),
                queued: false,
            });
        }
        Egress {
            ports,
            index,
            stamps: Vec::new(),
            items: Vec::new(),
            order: 0,
            spent: Vec::new(),
            copies: Pool::default(),
            taken: 0,
            trouble: None,
        }
    }

    /// The lane of each port, and what its link has done, where there is one.
    pub fn link_counters(&self) -> Vec<(usize, Option<LinkCounters>)> {
        let ports = self.ports.iter();
        ports.map(|port| (port.lane, port.counters())).collect()
    }

    /// Time at which a queue discipline is due, of all ports; [`Time::MAX`] for not until something is sent.
    pub fn next_due(&self) -> Time {
        let due = self.ports.iter().filter_map(EgressPort::next_due);
        due.min().unwrap_or(Time::MAX)
    }

    /// Lets the disciplines send what is due by a time that has come, and returns whether any was due.
    pub fn serve(&mut self, shared: &Shared, until: Time) -> bool {
        let mut any = false;
        for place in 0..self.ports.len() {
            any |= self.serve_port(place, shared, until);
        }
        any
    }

    fn serve_port(&mut self, place: usize, shared: &Shared, until: Time) -> bool {
        let mut any = false;
        while let Some(at) = self.ports[place].next_due().filter(|at| *at <= until) {
            any = true;
            let (port, spent) = (&mut self.ports[place], &mut self.spent);
            let Some((mut frame, when)) = port.dequeue(at, spent) else {
                continue;
            };
            // Its time was decided by the discipline.
            match port.fly(shared, at, until, when, &mut frame) {
                Decision::Lost | Decision::Never => self.spent.push(frame),
                decision => self.launch(place, shared, decision, None, frame),
            }
        }
        any
    }

    /// What is to be told of a port's link to who sends by it; `None` for a port on a real wire.
    pub fn statistics(&mut self, port: usize, now: Time) -> Option<(Interface, Queue)> {
        let port = &mut self.ports[port];
        let (mut interface, mut queue) = port.link.as_mut()?.statistics(now);
        if let Some((discipline, _)) = &port.discipline {
            discipline.add_to_statistics(&mut interface, &mut queue);
        }
        Some((interface, queue))
    }

    /// Says whether a port on a real wire has a link.
    pub fn set_link(&mut self, port: usize, up: bool) {
        self.ports[port].down = !up;
    }

    /// Takes what the node has sent, at time `now`; the clock says `clock`.
    pub fn collect(&mut self, driver: &mut Driver, shared: &Shared, now: Time, clock: Time) {
        // A frame that leaves a discipline later comes after the frames that the node sends now.
        self.serve(shared, now.min(clock));
        driver.hand_on(|departure| {
            self.take(departure, shared, now, clock)?;
            // It is told when it has left.
            Ok(None)
        });
    }

    fn take(
        &mut self,
        departure: Departure,
        shared: &Shared,
        now: Time,
        clock: Time,
    ) -> Result<(), Refusal> {
        let (when, mut frame) = (departure.when, departure.frame);
        let place = self.index.get(departure.port.index());
        let refusal = match place.map(|&place| self.ports.get_mut(place)) {
            None => Err(Refusal::NoSuchPort),
            Some(None) => Err(Refusal::NoLink),
            Some(_) if frame.len() > MAX_FRAME_LEN => Err(Refusal::TooLong),
            Some(Some(port)) if port.down => Err(Refusal::NoLink),
            Some(_) if !shared.schedule.has_room() => Err(Refusal::Crowd),
            Some(Some(port)) if port.discipline.is_some() => {
                if when == When::At(Time::MAX) {
                    Err(Refusal::Never)
                } else {
                    port.enqueue(now, when, frame);
                    let place = self.index[departure.port.index()];
                    self.serve_port(place, shared, now.min(clock));
                    return Ok(());
                }
            }
            Some(Some(port)) => {
                let lateness = match when {
                    When::At(at) => Some(clock - at),
                    When::Now => None,
                };
                match port.decide(shared, now, clock, when, &mut frame) {
                    Decision::Lost => Ok(()),
                    Decision::Never => Err(Refusal::Never),
                    decision => {
                        let place = self.index[departure.port.index()];
                        self.launch(place, shared, decision, lateness, frame);
                        return Ok(());
                    }
                }
            }
        };
        self.spent.push(frame);
        refusal
    }

    /// Sets a frame on its way that arrives; `lateness` is by how much its node was late for the time that it asked for.
    fn launch(
        &mut self,
        place: usize,
        shared: &Shared,
        decision: Decision,
        lateness: Option<Time>,
        mut frame: Frame,
    ) {
        let port = &mut self.ports[place];
        let Decision::At(at, second, ahead) = decision else {
            port.at_once.push(frame);
            if port.at_once.len() >= AT_ONCE {
                port.send_now(shared, &mut self.trouble, &mut self.spent);
            }
            return;
        };
        port.queued = true;
        let stamp = frame.take_stamp().map(|id| (id, ahead));
        let ns = |at: Time| shared.start + at.as_ps().div_ceil(1000);
        let mut put = |at, wanted, stamp, frame| {
            self.order += 1;
            self.items.push(Item {
                at: ns(at),
                order: self.order,
                lane: port.lane,
                wanted,
                stamp,
                frame,
            });
        };
        if let Some(second) = second {
            self.taken += 1;
            put(second, None, None, self.copies.take_with(&frame));
        }
        let wanted = lateness.map(|by| Wanted {
            at: ns(at - by),
            late: by > Time::ZERO,
        });
        put(at, wanted, stamp, frame);
    }

    /// Sends what was collected, and takes buffers back.
    pub fn flush(&mut self, driver: &mut Driver, shared: &Shared, node: usize) {
        let pool = driver.out().pool();
        for port in &mut self.ports {
            port.send_now(shared, &mut self.trouble, &mut self.spent);
            port.queued = false;
        }
        shared.schedule.submit(&mut self.items);
        for frame in self.spent.drain(..) {
            match self.taken.checked_sub(1) {
                Some(left) => {
                    self.taken = left;
                    self.copies.give(frame);
                }
                None => pool.give(frame),
            }
        }
        shared.schedule.reclaim(node, &mut self.spent);
        if shared.schedule.take_stamps(node, &mut self.stamps) {
            for stamp in self.stamps.drain(..) {
                let mut ports = self.ports.iter();
                if let Some(port) = ports.find(|port| port.lane == stamp.lane) {
                    driver.departs(stamp.at, port.number, stamp.id);
                }
            }
        }
    }
}

/// The order within a port: nothing leaves before what was sent before it.
///
/// A node that was woken ahead of time has sent at a time that is still to come. What it sends
/// meanwhile, because a frame arrived, was sent before that, and need not wait for it.
#[derive(Debug, Default)]
struct Order {
    /// When the last frame leaves that was sent up to now.
    last: Time,
    /// Frames sent ahead of time: when they count as sent, and when the last of those leaves.
    ahead: VecDeque<(Time, Time)>,
}

impl Order {
    /// When a frame leaves that is sent at `now`, while the clock says `clock`, to leave at `asked`.
    fn place(&mut self, now: Time, clock: Time, asked: Time) -> Time {
        while let Some((_, leaves)) = self.ahead.pop_front_if(|(sent, _)| *sent <= clock.min(now)) {
            self.last = self.last.max(leaves);
        }
        let before = self.ahead.back().filter(|_| now > clock);
        let at = asked
            .max(self.last)
            .max(before.map_or(Time::ZERO, |&(_, leaves)| leaves));
        match now > clock {
            true => self.ahead.push_back((now, at)),
            false => self.last = at,
        }
        at
    }
}

/// What becomes of a frame.
enum Decision {
    /// It is sent without waiting for anything.
    AtOnce,
    /// It is sent at this time, and a copy at another; its first bit has left the port, as the link has it, so long before.
    At(Time, Option<Time>, Time),
    /// It does not arrive; the link has counted it.
    Lost,
    /// It would arrive after the end of time.
    Never,
}

impl EgressPort {
    /// Sends what is to go at once.
    fn send_now(
        &mut self,
        shared: &Shared,
        trouble: &mut Option<PortError>,
        spent: &mut Vec<Frame>,
    ) {
        if !self.at_once.is_empty() {
            shared
                .schedule
                .send_now(self.lane, &mut self.at_once, trouble);
            spent.append(&mut self.at_once);
        }
    }

    fn decide(
        &mut self,
        shared: &Shared,
        now: Time,
        clock: Time,
        when: When,
        frame: &mut Frame,
    ) -> Decision {
        if self.link.is_none() {
            let asked = match when {
                When::Now => now,
                When::At(at) => at,
            };
            let at = self.order.place(now, clock, asked);
            let free = when == When::Now && at <= clock && !self.waits(shared);
            return match free {
                true => Decision::AtOnce,
                false => Decision::At(at, None, Time::ZERO),
            };
        }
        // Woken ahead of time, the node may have sent something later than now already: a link takes
        // what it is offered in the order of time.
        let now = self.order.place(now, now, now);
        self.fly(shared, now, clock, when, frame)
    }

    /// Offers a frame to the link.
    fn fly(
        &mut self,
        shared: &Shared,
        now: Time,
        clock: Time,
        when: When,
        frame: &mut Frame,
    ) -> Decision {
        if frame.len() < MIN_WIRE_FRAME_LEN {
            frame.resize(MIN_WIRE_FRAME_LEN);
        }
        let link = self.link.as_mut();
        let flight = link.and_then(|link| link.offer(now, when, frame.len()));
        let Some((flight, first_bit)) = flight.and_then(|flight| Some((flight, flight.arrived?)))
        else {
            return Decision::Lost;
        };
        // A frame is there when its last bit is, so that is when the kernel shall have it.
        let last_bit = first_bit + flight.duration;
        let second = flight
            .duplicate
            .map(|first_bit| first_bit + flight.duration);
        match last_bit {
            Time::MAX => Decision::Never,
            // On a link on which it takes no time it is there now: another thread would only cost some.
            _ if when == When::Now
                && last_bit <= clock
                && second.is_none()
                && !self.waits(shared) =>
            {
                Decision::AtOnce
            }
            _ => Decision::At(last_bit, second, last_bit - flight.departed),
        }
    }

    /// Gives a frame to the queue discipline, at `now` or, where that has been served beyond it, then.
    fn enqueue(&mut self, now: Time, when: When, mut frame: Frame) {
        let (Some(link), Some((discipline, served))) = (&self.link, &mut self.discipline) else {
            return;
        };
        if frame.len() < MIN_WIRE_FRAME_LEN {
            frame.resize(MIN_WIRE_FRAME_LEN);
        }
        let preamble = link.time_of(PREAMBLE);
        discipline.accept(now.max(*served), when, preamble, frame);
    }

    /// When the queue discipline is due.
    fn next_due(&self) -> Option<Time> {
        let (discipline, served) = self.discipline.as_ref()?;
        discipline.next(*served, self.free()?)
    }

    /// Time from which the line can carry the preamble of another frame.
    fn free(&self) -> Option<Time> {
        let link = self.link.as_ref()?;
        Some(link.free_at() - link.time_of(PREAMBLE))
    }

    /// The frame that leaves the queue discipline at a time, if one does.
    fn dequeue(&mut self, at: Time, spent: &mut Vec<Frame>) -> Option<(Frame, When)> {
        let is_free = self.free()? <= at;
        let (discipline, served) = self.discipline.as_mut()?;
        *served = at;
        discipline.serve(at, is_free, &mut |frame| spent.push(frame))
    }

    /// Totals of the link, with those of its queue discipline.
    fn counters(&self) -> Option<LinkCounters> {
        let mut counters = self.link.as_ref()?.counters();
        if let Some((discipline, _)) = &self.discipline {
            discipline.add_to(&mut counters);
        }
        Some(counters)
    }

    /// Whether a frame that was sent before has not left yet.
    fn waits(&self, shared: &Shared) -> bool {
        let waiting = &shared.schedule.lanes()[self.lane].waiting;
        self.queued || waiting.load(Ordering::SeqCst) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_need_not_wait_for_one_that_counts_as_sent_later() {
        let us = Time::from_us;
        let mut order = Order::default();
        // Woken at 500 us for 1000 us, the node sends two frames for then.
        assert_eq!(order.place(us(1_000), us(500), us(1_000)), us(1_000));
        assert_eq!(order.place(us(1_000), us(500), us(1_000)), us(1_000));
        // One arrives at 600 us and goes on at once; the next must not overtake that one.
        assert_eq!(order.place(us(600), us(600), us(620)), us(620));
        assert_eq!(order.place(us(601), us(601), us(601)), us(620));
        // What is sent once that time has come stands behind all.
        assert_eq!(order.place(us(1_000), us(1_000), us(900)), us(1_000));
    }

    #[test]
    fn frames_sent_ahead_of_time_keep_their_order() {
        let us = Time::from_us;
        let mut order = Order::default();
        assert_eq!(order.place(us(1_000), us(500), us(1_300)), us(1_300));
        assert_eq!(order.place(us(1_100), us(600), us(1_100)), us(1_300));
        assert_eq!(order.place(us(1_200), us(1_200), us(1_200)), us(1_300));
    }
}
