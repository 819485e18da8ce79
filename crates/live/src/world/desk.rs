//! What a node's answers go through: each frame that it sends is offered to its link, or to its port.

use super::host::Run;
use super::schedule::Item;
use crate::port::PortError;
use node::event::{Interface, Queue};
use node::frame::LONGEST;
use node::link::SHORTEST;
use node::{Departure, Driver, Frame, Pool, Port, Refusal, Time, Transmitter, When};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// Frames that are collected before they are sent at once.
const AT_ONCE: usize = 64;

/// What a node's answers go through.
pub struct Desk {
    /// Out of the ports, so that one of these can be read meanwhile.
    ways: Vec<Way>,
    /// Where among the ways each port of the node is; one without a link is beyond them.
    places: Vec<usize>,
    items: Vec<Item>,
    order: u64,
    spent: Vec<Frame>,
    /// What went wrong first with a port.
    pub trouble: Option<PortError>,
}

/// The sending side of a port.
struct Way {
    lane: usize,
    link: Option<Transmitter>,
    /// Whether a real wire is known to have no link. The kernel would take its frames and throw them away.
    down: bool,
    order: Order,
    /// Frames to be sent at once.
    at_once: Vec<Frame>,
    /// Whether frames were collected that wait.
    queued: bool,
}

impl Desk {
    /// For those of a node's `count` ports that are given here, each with the lane and the link that it sends by.
    pub fn new(
        count: usize,
        given: impl Iterator<Item = (Port, usize, Option<Transmitter>)>,
    ) -> Desk {
        let (mut ways, mut places) = (Vec::new(), vec![usize::MAX; count]);
        for (port, lane, link) in given {
            places[port.index()] = ways.len();
            ways.push(Way {
                lane,
                link,
                down: false,
                order: Order::default(),
                at_once: Vec::new(),
                queued: false,
            });
        }
        Desk {
            ways,
            places,
            items: Vec::new(),
            order: 0,
            spent: Vec::new(),
            trouble: None,
        }
    }

    /// The lane of each port, and what its link has done, where there is one.
    pub fn into_links(self) -> Vec<(usize, Option<Transmitter>)> {
        let ways = self.ways.into_iter();
        ways.map(|way| (way.lane, way.link)).collect()
    }

    /// What is to be told of a port's link to who sends by it; `None` for a port on a real wire.
    pub fn statistics(&mut self, port: usize, now: Time) -> Option<(Interface, Queue)> {
        Some(self.ways[port].link.as_mut()?.statistics(now))
    }

    /// Says whether a port on a real wire has a link.
    pub fn set_link(&mut self, port: usize, up: bool) {
        self.ways[port].down = !up;
    }

    /// Takes what the node has sent, at time `now`; the clock says `clock`.
    pub fn collect(&mut self, driver: &mut Driver, run: &Run, now: Time, clock: Time) {
        driver.hand_on(|departure| self.take(departure, run, now, clock));
    }

    fn take(
        &mut self,
        departure: Departure,
        run: &Run,
        now: Time,
        clock: Time,
    ) -> Result<(), Refusal> {
        let (when, mut frame) = (departure.when, departure.frame);
        let place = self.places.get(departure.port.index());
        let refusal = match place.map(|&place| self.ways.get_mut(place)) {
            None => Err(Refusal::NoSuchPort),
            Some(None) => Err(Refusal::NoLink),
            Some(_) if frame.len() > LONGEST => Err(Refusal::TooLong),
            Some(Some(way)) if way.down => Err(Refusal::NoLink),
            Some(_) if !run.schedule.has_room() => Err(Refusal::Crowd),
            Some(Some(way)) => {
                let lateness = match when {
                    When::At(at) => Some(clock - at),
                    When::Now => None,
                };
                match way.decide(run, now, clock, when, &mut frame) {
                    Decision::AtOnce => {
                        way.at_once.push(frame);
                        if way.at_once.len() >= AT_ONCE {
                            way.send_now(run, &mut self.trouble, &mut self.spent);
                        }
                        return Ok(());
                    }
                    Decision::At(at, second) => {
                        way.queued = true;
                        let ns = |at: Time| run.start + at.as_ps().div_ceil(1000);
                        let mut put = |at, wanted, frame| {
                            self.order += 1;
                            self.items.push(Item {
                                at: ns(at),
                                order: self.order,
                                lane: way.lane,
                                wanted,
                                frame,
                            });
                        };
                        if let Some(second) = second {
                            put(second, None, Frame::new(&frame));
                        }
                        let wanted = lateness.map(|by| (ns(at - by), by > Time::ZERO));
                        put(at, wanted, frame);
                        return Ok(());
                    }
                    Decision::Lost => Ok(()),
                    Decision::Never => Err(Refusal::Never),
                }
            }
        };
        self.spent.push(frame);
        refusal
    }

    /// Sets everything collected on its way, and takes buffers back.
    pub fn flush(&mut self, pool: &mut Pool, run: &Run, node: usize) {
        for way in &mut self.ways {
            way.send_now(run, &mut self.trouble, &mut self.spent);
            way.queued = false;
        }
        run.schedule.submit(&mut self.items);
        for frame in self.spent.drain(..) {
            pool.give(frame);
        }
        run.schedule.reclaim(node, &mut self.spent);
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
    /// It is sent at this time, and a copy at another.
    At(Time, Option<Time>),
    /// It does not arrive; the link has counted it.
    Lost,
    /// It would arrive after the end of time.
    Never,
}

impl Way {
    /// Sends what is to go at once.
    fn send_now(&mut self, run: &Run, trouble: &mut Option<PortError>, spent: &mut Vec<Frame>) {
        if !self.at_once.is_empty() {
            run.schedule.send_now(self.lane, &mut self.at_once, trouble);
            spent.append(&mut self.at_once);
        }
    }

    fn decide(
        &mut self,
        run: &Run,
        now: Time,
        clock: Time,
        when: When,
        frame: &mut Frame,
    ) -> Decision {
        let Some(link) = &mut self.link else {
            let asked = match when {
                When::Now => now,
                When::At(at) => at,
            };
            let at = self.order.place(now, clock, asked);
            let free = when == When::Now && at <= clock && !self.waits(run);
            return match free {
                true => Decision::AtOnce,
                false => Decision::At(at, None),
            };
        };
        // Woken ahead of time, the node may have sent something later than now already: a link takes
        // what it is offered in the order of time.
        let now = self.order.place(now, now, now);
        if frame.len() < SHORTEST {
            frame.resize(SHORTEST);
        }
        let flight = link.offer(now, when, frame.len());
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
            _ if when == When::Now && last_bit <= clock && second.is_none() && !self.waits(run) => {
                Decision::AtOnce
            }
            _ => Decision::At(last_bit, second),
        }
    }

    /// Whether a frame that was sent before has not left yet.
    fn waits(&self, run: &Run) -> bool {
        let waiting = &run.schedule.lanes()[self.lane].waiting;
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
