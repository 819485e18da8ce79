//! A part of the graph, and the loop that lets happen what happens in it.
//!
//! A part has whole nodes, with the ends of links at their ports. What a node sends to one in another part goes into an outbox;
//! whoever runs the parts carries it over in time. What comes first at one time is decided by ranks that stem from the whole graph, so
//! that the parts together do the same as one part would.

use crate::SimError;
use crate::event_queue::{Due, EventQueue};
use crate::lane::{Arrival, OutOfOrder, Passage, Receiver, Sender, Transit};
use node::event::{Event, What};
use node::frame::LONGEST;
use node::link::SHORTEST;
use node::{Departure, Driver, Frame, Pool, Port, Refusal, Tap, Time, When};
use std::collections::BinaryHeap;

/// How much may happen without time moving before the run counts as stuck: a frame counts 1. A
/// burst of this many frames at one instant would fill the memory first.
const STUCK: u32 = 4_000_000;
/// What a wake counts in this: a million of them is too much.
const WAKE: u32 = 4;

/// The rank of links that go down or come up: before everything else at that time.
const CHANGES: u64 = 0;
/// The rank of the first node's alarm, behind those of all lanes.
const ALARMS: u64 = 1 << 40;

/// The rank of what arrives by a lane in order; what is out of order comes behind it.
fn rank_of(lane: usize) -> u64 {
    1 + 2 * lane as u64
}

/// A node, and the ends of links at its ports.
pub(crate) struct Host {
    pub driver: Driver,
    /// Its place in the graph.
    pub node: usize,
    /// By port, the places of its sender and receiver; `None` for one without a link.
    pub ports: Vec<Option<(usize, usize)>>,
}

/// Links that go down or come up: when, at which node and port.
pub(crate) type Change = (Time, usize, Port, bool);

/// A part of a graph.
pub(crate) struct Part {
    /// Which one it is.
    index: usize,
    pub hosts: Vec<Host>,
    pub network: Network,
    /// The next is the last; nodes by their place here.
    changes: Vec<Change>,
    pub taps: Vec<Tap>,
    pub frames: u64,
    pub events: u64,
    /// How much has happened since time moved.
    standing: u32,
    /// The frame that a node is being given.
    lot: Vec<Frame>,
    /// The node that was woken, or has sent something, last: one that makes time stand still, if it does.
    active: usize,
}

/// Everything but the nodes: what is on its way, and what happens next.
pub(crate) struct Network {
    pub now: Time,
    pub senders: Vec<Sender>,
    pub receivers: Vec<Receiver>,
    pub out_of_order: BinaryHeap<OutOfOrder>,
    /// Sources: what is out of order, the receivers, the nodes' alarms, the changes.
    queue: EventQueue,
    /// The buffers of all nodes: what a sink gives back, a generator takes.
    pool: Pool,
    /// For each part, what goes there.
    pub outboxes: Vec<Vec<Transit>>,
    /// Frames out of order so far.
    numbered: u64,
    own: usize,
}

/// The source of all that is out of order; receiver `n` is source `n + 1`, behind those are the alarms, and the changes are last.
const OUT_OF_ORDER: usize = 0;

impl Part {
    /// Part `index` of so many, with nothing done yet.
    pub fn new(
        (index, parts): (usize, usize),
        hosts: Vec<Host>,
        (senders, receivers): (Vec<Sender>, Vec<Receiver>),
        mut changes: Vec<Change>,
        taps: Vec<Tap>,
    ) -> Part {
        changes.sort_by_key(|&(at, ..)| std::cmp::Reverse(at));
        let mut part = Part {
            index,
            network: Network {
                now: Time::ZERO,
                queue: EventQueue::new(1 + receivers.len() + hosts.len() + 1),
                senders,
                receivers,
                out_of_order: BinaryHeap::new(),
                pool: Pool::default(),
                outboxes: (0..parts).map(|_| Vec::new()).collect(),
                numbered: 0,
                own: index,
            },
            hosts,
            changes,
            taps,
            frames: 0,
            events: 0,
            standing: 0,
            lot: Vec::with_capacity(1),
            active: 0,
        };
        for (index, host) in part.hosts.iter().enumerate() {
            part.network.ask_for_wake(index, host);
        }
        part.plan_change();
        part
    }

    /// Which part it is.
    pub fn index(&self) -> usize {
        self.index
    }

    /// When something happens next; `None` when nothing is left to happen.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.network.queue.first().map(|(due, _)| due.at)
    }

    /// Lets the next event happen, if there is one up to a time; whether there was.
    ///
    /// # Errors
    /// When time stands still.
    #[inline]
    pub fn step(&mut self, until: Time) -> Result<bool, SimError> {
        let Some((due, source)) = self
            .network
            .queue
            .first()
            .filter(|(due, _)| due.at <= until)
        else {
            return Ok(false);
        };
        self.move_to(due.at);
        self.events += 1;
        self.happen(source);
        match self.standing > STUCK {
            true => Err(self.stuck()),
            false => Ok(true),
        }
    }

    #[cold]
    fn stuck(&self) -> SimError {
        SimError::Stuck {
            node: self.hosts[self.active].driver.name().into(),
            at: self.network.now,
        }
    }

    /// Moves time on, if that is later than now.
    #[inline]
    pub fn move_to(&mut self, time: Time) {
        if time > self.network.now {
            (self.network.now, self.standing) = (time, 0);
        }
    }

    /// Wakes a node now, though it did not ask for it.
    pub fn wake(&mut self, host: usize) {
        self.call(host, |driver, now| driver.wake(now));
    }

    /// Takes what another part has sent.
    pub fn take(&mut self, sent: &mut Vec<Transit>) {
        for transit in sent.drain(..) {
            let Transit {
                receiver,
                at,
                frame,
                errors,
                out_of_order,
            } = transit;
            let here = (self.index, receiver);
            self.network.transmit(here, at, frame, errors, out_of_order);
        }
    }

    /// Lets the first event of a source happen.
    #[inline]
    fn happen(&mut self, source: usize) {
        let alarms = 1 + self.network.receivers.len();
        if source == alarms + self.hosts.len() {
            let (_, host, port, up) = self.changes.pop().expect("due, so there is one");
            self.plan_change();
            let what = What::Link(up);
            return self.call(host, |driver, at| {
                driver.event(at, &Event { at, port, what });
            });
        }
        if source >= alarms {
            let host = source - alarms;
            self.network.queue.set(source, None);
            self.standing += WAKE;
            self.active = host;
            return self.call(host, |driver, now| driver.wake(now));
        }
        let receiver = self.network.land(source, &mut self.lot);
        let Receiver {
            lane,
            host,
            port,
            tapped,
            ..
        } = self.network.receivers[receiver];
        if tapped {
            let here = |tap: &&mut Tap| 2 * tap.link + tap.direction.index() == lane;
            for tap in self.taps.iter_mut().filter(here) {
                (tap.see)(self.network.now, &self.lot[0]);
            }
        }
        self.frames += 1;
        self.standing += 1;
        let mut lot = std::mem::take(&mut self.lot);
        self.call(host, |driver, now| driver.frames(now, port, &mut lot));
        self.lot = lot;
    }

    /// Notes when the next link goes down or up.
    fn plan_change(&mut self) {
        let source = 1 + self.network.receivers.len() + self.hosts.len();
        let next = self.changes.last().map(|&(at, ..)| at);
        let rank = CHANGES;
        self.network
            .queue
            .set(source, next.map(|at| Due { at, rank }));
    }

    /// Calls a node, and does what it answers.
    #[inline]
    fn call(&mut self, index: usize, call: impl FnOnce(&mut Driver, Time)) {
        let (host, network) = (&mut self.hosts[index], &mut self.network);
        let driver = &mut host.driver;
        std::mem::swap(&mut network.pool, driver.out().pool());
        if driver.statistics_are_due(network.now) {
            network.tell_statistics(driver, &host.ports);
        }
        call(driver, network.now);
        std::mem::swap(&mut network.pool, driver.out().pool());
        let (ports, active) = (&host.ports, &mut self.active);
        driver.hand_on(|Departure { port, when, frame }| {
            *active = index;
            let sent = match ports.get(port.index()) {
                None => Err((Refusal::NoSuchPort, frame)),
                Some(None) => Err((Refusal::NoLink, frame)),
                Some(_) if frame.len() > LONGEST => Err((Refusal::TooLong, frame)),
                Some(&Some((sender, _))) if frame.len() > network.senders[sender].longest() => {
                    Err((Refusal::TooLongForBlocks, frame))
                }
                Some(&Some((sender, _))) => network.send(sender, when, frame),
            };
            sent.map_err(|(refusal, frame)| {
                network.pool.give(frame);
                refusal
            })
        });
        network.ask_for_wake(index, host);
    }
}

impl Network {
    /// Tells a node of what it acts by.
    fn tell_statistics(&mut self, driver: &mut Driver, ports: &[Option<(usize, usize)>]) {
        let at = self.now;
        for (port, ends) in ports.iter().enumerate() {
            // A port without a link has nothing to be known of.
            let Some((sender, receiver)) = *ends else {
                continue;
            };
            let (mut interface, queue) = self.senders[sender].statistics(at);
            interface.received = self.receivers[receiver].landed;
            for what in [What::Interface(interface), What::Queue(queue)] {
                let port = Port(port as u16);
                driver.event(at, &Event { at, port, what });
            }
        }
    }

    /// Takes the first frame that is due from a source, and tells which receiver's it is.
    #[inline]
    fn land(&mut self, source: usize, lot: &mut Vec<Frame>) -> usize {
        if source == OUT_OF_ORDER {
            let OutOfOrder {
                receiver, arrival, ..
            } = self.out_of_order.pop().expect("due, so there is one");
            self.receivers[receiver].count(&arrival);
            lot.push(arrival.frame);
            self.queue.set(source, self.first_out_of_order());
            return receiver;
        }
        let receiver = &mut self.receivers[source - 1];
        let arrival = receiver.flying.pop_front().expect("due, so there is one");
        receiver.count(&arrival);
        lot.push(arrival.frame);
        let rank = rank_of(receiver.lane);
        let next = receiver.flying.front();
        let next = next.map(|next| Due { at: next.at, rank });
        self.queue.set(source, next);
        source - 1
    }

    fn first_out_of_order(&self) -> Option<Due> {
        let first = self.out_of_order.peek()?;
        let (at, rank, _) = first.order;
        Some(Due { at, rank })
    }

    /// Gives a frame to a sender, which decides everything else about its way.
    fn send(
        &mut self,
        sender: usize,
        when: When,
        mut frame: Frame,
    ) -> Result<(), (Refusal, Frame)> {
        if frame.len() < SHORTEST {
            frame.resize(SHORTEST);
        }
        let lane = &mut self.senders[sender];
        let passage = lane.offer(self.now, when, &mut frame);
        let Some((passage, first_bit)) = passage.and_then(|p| Some((p, p.flight.arrived?))) else {
            // The queue was full, or it is lost on the way: the lane has counted it.
            self.pool.give(frame);
            return Ok(());
        };
        let Passage { flight, told } = passage;
        if first_bit + flight.duration == Time::MAX {
            return Err((Refusal::Never, frame));
        }
        let out_of_order = first_bit != flight.departed + lane.channel().delay;
        let ((part, receiver), errors) = (lane.to, lane.bit_errors());
        let mut second = None;
        if let Some(again) = flight.duplicate {
            let mut copy = self.pool.take_with(&frame);
            copy.set_arrived(again);
            second = Some((again + (told - first_bit), copy));
        }
        frame.set_arrived(first_bit);
        self.transmit((part, receiver), told, frame, errors, out_of_order);
        if let Some((told, copy)) = second {
            self.transmit((part, receiver), told, copy, errors, true);
        }
        Ok(())
    }

    /// A frame is on its way to a receiver, of which it may be out of order.
    #[inline]
    fn transmit(
        &mut self,
        (part, receiver): (usize, usize),
        at: Time,
        frame: Frame,
        errors: u64,
        out_of_order: bool,
    ) {
        if part != self.own {
            self.outboxes[part].push(Transit {
                receiver,
                at,
                frame,
                errors,
                out_of_order,
            });
            return;
        }
        let Receiver { flying, lane, .. } = &mut self.receivers[receiver];
        let rank = rank_of(*lane);
        let arrival = Arrival { at, frame, errors };
        if !out_of_order {
            if flying.is_empty() {
                self.queue.set(1 + receiver, Some(Due { at, rank }));
            }
            flying.push_back(arrival);
            return;
        }
        self.numbered += 1;
        self.out_of_order.push(OutOfOrder {
            receiver,
            order: (at, rank + 1, self.numbered),
            arrival,
        });
        let first = self.first_out_of_order();
        self.queue.set(OUT_OF_ORDER, first);
    }

    /// Notes when a node wants to be woken.
    fn ask_for_wake(&mut self, index: usize, host: &Host) {
        let source = 1 + self.receivers.len() + index;
        let wish = host.driver.next_wake().map(|at| at.max(self.now));
        let wish = wish.filter(|&at| at < Time::MAX);
        if wish != self.queue.due(source).map(|due| due.at) {
            let rank = ALARMS + host.node as u64;
            self.queue.set(source, wish.map(|at| Due { at, rank }));
        }
    }
}
