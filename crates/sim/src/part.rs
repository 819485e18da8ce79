//! A part of the graph, and the loop that lets happen what happens in it.
//!
//! A part has whole nodes, with the ends of links at their ports. What a node sends to one in another part goes into an outbox;
//! whoever runs the parts carries it over in time. What comes first at one time is decided by ranks that stem from the whole graph, so
//! that the parts together do the same as one part would.

mod below;
mod pauses;
mod queues;
mod split;

pub(crate) use split::Draft;

use crate::block::Passage;
use crate::block::messages::Message;
use crate::event_queue::{Due, EventQueue};
use crate::lane::{Arrival, Carried, OutOfOrder, Receiver, Sender, Transit};
use crate::{ClockTap, SimError};
use node::clock::Ticks;
use node::event::{Event, What};
use node::frame::MAX_FRAME_LEN;
use node::link::MIN_WIRE_FRAME_LEN;
use node::{Departure, Driver, Frame, Pool, Port, Refusal, Sublayer, Time, When};
use pauses::Buffered;
use queue::pause::Origin;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How much may happen without time moving before the run counts as stuck: a frame counts 1. A
/// burst of this many frames at one instant would fill the memory first.
const STUCK: u32 = 4_000_000;
/// Cost of a wake in this count: a million of them is too much.
const WAKE: u32 = 4;

/// The rank of links that go down or come up: before everything else at that time.
const CHANGES: u32 = 0;
/// The rank of the first end's idle block, after those of all arrivals: memory holds fewer ends.
const FILLS: u32 = 1 << 30;
/// The rank of the first node's alarm.
const ALARMS: u32 = 1 << 31;
/// The rank of the first end's queue discipline, after those of the alarms: simultaneous arrivals come first.
const QUEUES: u32 = 3 << 30;
/// The rank of a sample of the clocks: after everything else at that time.
const CLOCK_SAMPLES: u32 = u32::MAX;

/// The rank of arrivals in order, by the rank of the end that sent them; after them come those out
/// of order, then messages.
fn rank_of(end: u32) -> u32 {
    1 + 3 * end
}

/// A node, and the ends of links at its ports.
pub(crate) struct Member {
    pub driver: Driver,
    /// Its place in the graph.
    pub node: usize,
    /// Its place among all nodes, in the order of names.
    pub rank: u32,
    /// By port, the places of its sender and receiver; `None` for one without a link.
    pub ports: Vec<Option<(usize, usize)>>,
    pub lower: Option<Lower>,
}

/// What works below a node, and its clock.
pub(crate) struct Lower {
    pub sublayer: Box<dyn Sublayer>,
    pub ticks: Ticks,
}

/// Links that go down or come up: when, at which node and port.
pub(crate) type Change = (Time, usize, Port, bool);

/// A part of a graph.
// Neighbours are run by other threads.
#[repr(align(128))]
pub(crate) struct Part {
    index: usize,
    pub members: Vec<Member>,
    pub network: Network,
    /// The next is the last; nodes by their place here.
    changes: Vec<Change>,
    /// Who looks at the clocks.
    clocks: Option<ClockTap>,
    pub frames: u64,
    pub events: u64,
    /// How much has happened since time moved.
    stalled: u32,
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
    /// Sources: what is out of order, the receivers, the nodes' alarms, the changes, the looks at clocks, idle blocks of the senders,
    /// messages to the receivers, queue disciplines of the senders.
    queue: EventQueue,
    /// The buffers of all nodes: what a sink gives back, a generator takes.
    pool: Pool,
    /// The source of the first receiver's messages, behind those of the senders' idle blocks.
    first_message: usize,
    /// For each part, what goes there.
    pub outboxes: Vec<Vec<Transit>>,
    /// Frames out of order so far.
    numbered: u64,
    own: usize,
    /// Senders of ports with pauses, by rank.
    pausing: Vec<(u32, usize)>,
    /// The frame that a node is being given, when the port by which it arrived counts it.
    buffered: Option<Buffered>,
    /// Frames that leave buffers, while they are counted.
    freed: Vec<Origin>,
}

/// The source of all that is out of order; receiver `n` is source `n + 1`, behind those are the alarms, and the changes are last.
const OUT_OF_ORDER: usize = 0;

/// Where a part's kinds of sources begin.
struct Sources {
    alarms: usize,
    changes: usize,
    looks: usize,
    fills: usize,
    messages: usize,
    queues: usize,
    count: usize,
}

impl Sources {
    fn new(members: usize, senders: usize, receivers: usize) -> Sources {
        let alarms = 1 + receivers;
        let changes = alarms + members;
        let fills = changes + 2;
        let messages = fills + senders;
        let queues = messages + receivers;
        Sources {
            alarms,
            changes,
            looks: changes + 1,
            fills,
            messages,
            queues,
            count: queues + senders,
        }
    }
}

impl Part {
    /// All of a graph, with nothing done yet.
    pub fn whole(draft: Draft, clocks: Option<ClockTap>) -> Part {
        let mut part = Part::at_rest((0, 1), draft, clocks);
        let (members, receivers) = (&part.members, &part.network.receivers);
        part.changes.sort_by_key(|&(at, member, port, _)| {
            let end = members[member].ports[port.index()];
            Reverse((at, end.map(|(_, receiver)| receivers[receiver].rank)))
        });
        for (index, member) in part.members.iter().enumerate() {
            part.network.ask_for_wake(index, member);
        }
        part.plan_change();
        part.begin_sublayers();
        part
    }

    /// Part `index` of so many, with nothing due.
    fn at_rest((index, parts): (usize, usize), draft: Draft, clocks: Option<ClockTap>) -> Part {
        let Draft {
            members,
            senders,
            receivers,
            changes,
        } = draft;
        let sources = Sources::new(members.len(), senders.len(), receivers.len());
        let pausing = pauses::senders(&senders);
        Part {
            index,
            network: Network {
                now: Time::ZERO,
                queue: EventQueue::new(sources.count),
                first_message: sources.messages,
                senders,
                receivers,
                out_of_order: BinaryHeap::new(),
                pool: Pool::default(),
                outboxes: (0..parts).map(|_| Vec::new()).collect(),
                numbered: 0,
                own: index,
                pausing,
                buffered: None,
                freed: Vec::new(),
            },
            members,
            changes,
            clocks,
            frames: 0,
            events: 0,
            stalled: 0,
            lot: Vec::with_capacity(1),
            active: 0,
        }
    }

    fn sources(&self) -> Sources {
        let Network {
            senders, receivers, ..
        } = &self.network;
        Sources::new(self.members.len(), senders.len(), receivers.len())
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
        match self.stalled > STUCK {
            true => Err(self.stuck()),
            false => Ok(true),
        }
    }

    #[cold]
    fn stuck(&self) -> SimError {
        SimError::Stuck {
            node: self.members[self.active].driver.name().into(),
            at: self.network.now,
        }
    }

    /// Moves time on, if that is later than now.
    #[inline]
    pub fn move_to(&mut self, time: Time) {
        if time > self.network.now {
            (self.network.now, self.stalled) = (time, 0);
        }
    }

    /// Wakes a node now, though it did not ask for it.
    pub fn wake(&mut self, member: usize) {
        self.call(member, |driver, now| driver.wake(now));
    }

    /// Takes both directions of a link down, or brings them up; how many frames are lost by that.
    pub fn set_link(&mut self, link: usize, up: bool) -> u64 {
        let mut lost = 0;
        for sender in 0..self.network.senders.len() {
            let receiver = self.network.senders[sender].to.1;
            let Receiver {
                lane, member, port, ..
            } = self.network.receivers[receiver];
            if lane / 2 != link {
                continue;
            }
            let cut = if up {
                0
            } else {
                self.network.cut(receiver) + self.network.flush(sender)
            };
            let sender = &mut self.network.senders[sender];
            (sender.is_down, sender.cut) = (!up, sender.cut + cut);
            lost += cut;
            self.link(member, port, up);
            let what = What::Link(up);
            self.call(member, |driver, at| {
                driver.event(at, &Event { at, port, what });
            });
        }
        lost
    }

    /// Takes what another part has sent.
    pub fn take(&mut self, sent: &mut Vec<Transit>) {
        for Transit { receiver, what } in sent.drain(..) {
            let here = (self.index, receiver);
            match what {
                Carried::Frame {
                    arrival,
                    out_of_order,
                } => self.network.transmit(here, arrival, out_of_order),
                Carried::Message(message) => self.network.transmit_message(here, message),
            }
        }
    }

    /// Lets the first event of a source happen.
    #[inline]
    fn happen(&mut self, source: usize) {
        let alarms = 1 + self.network.receivers.len();
        if source > alarms + self.members.len() {
            return self.below(source - alarms - self.members.len() - 1);
        }
        if source == alarms + self.members.len() {
            let (_, member, port, up) = self.changes.pop().expect("due, so there is one");
            self.plan_change();
            self.link(member, port, up);
            let what = What::Link(up);
            return self.call(member, |driver, at| {
                driver.event(at, &Event { at, port, what });
            });
        }
        if source >= alarms {
            let member = source - alarms;
            self.network.queue.set(source, None);
            self.stalled += WAKE;
            self.active = member;
            return self.call(member, |driver, now| driver.wake(now));
        }
        let receiver = self.network.land(source, &mut self.lot);
        let Receiver {
            member,
            port,
            ref mut taps,
            ..
        } = self.network.receivers[receiver];
        for see in taps {
            see(self.network.now, &self.lot[0]);
        }
        self.frames += 1;
        self.stalled += 1;
        if self.network.receivers[receiver].is_pausing && self.arrive(receiver) {
            return;
        }
        let mut lot = std::mem::take(&mut self.lot);
        self.call(member, |driver, now| driver.frames(now, port, &mut lot));
        self.lot = lot;
        if let Some(buffered) = self.network.buffered.take() {
            self.network.all_sent(buffered);
        }
    }

    /// Notes when the next link goes down or up.
    fn plan_change(&mut self) {
        let source = self.sources().changes;
        let next = self.changes.last().map(|&(at, ..)| at);
        let rank = CHANGES;
        self.network
            .queue
            .set(source, next.map(|at| Due { at, rank }));
    }

    /// Calls a node, and does what it answers.
    #[inline]
    fn call(&mut self, index: usize, call: impl FnOnce(&mut Driver, Time)) {
        let (member, network) = (&mut self.members[index], &mut self.network);
        let driver = &mut member.driver;
        std::mem::swap(&mut network.pool, driver.out().pool());
        if driver.statistics_are_due(network.now) {
            network.tell_statistics(driver, &member.ports);
        }
        call(driver, network.now);
        std::mem::swap(&mut network.pool, driver.out().pool());
        let (ports, active) = (&member.ports, &mut self.active);
        driver.hand_on(|Departure { port, when, frame }| {
            *active = index;
            let sent = match ports.get(port.index()) {
                None => Err((Refusal::NoSuchPort, frame)),
                Some(None) => Err((Refusal::NoLink, frame)),
                Some(_) if frame.len() > MAX_FRAME_LEN => Err((Refusal::TooLong, frame)),
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
        network.ask_for_wake(index, member);
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
        let rank = rank_of(receiver.rank);
        let next = receiver.flying.front();
        let next = next.map(|next| Due { at: next.at, rank });
        self.queue.set(source, next);
        source - 1
    }

    /// Takes all frames off their way to a receiver; how many there were.
    fn cut(&mut self, receiver: usize) -> u64 {
        self.receivers[receiver].messages.clear();
        self.plan_message(receiver);
        let flying = std::mem::take(&mut self.receivers[receiver].flying);
        self.queue.set(1 + receiver, None);
        let late = std::mem::take(&mut self.out_of_order).into_iter();
        let (late, others): (Vec<_>, Vec<_>) = late.partition(|frame| frame.receiver == receiver);
        self.out_of_order = others.into();
        self.queue.set(OUT_OF_ORDER, self.first_out_of_order());
        let late = late.into_iter().map(|frame| frame.arrival);
        let lost: Vec<Arrival> = flying.into_iter().chain(late).collect();
        let count = lost.len() as u64;
        lost.into_iter()
            .for_each(|arrival| self.pool.give(arrival.frame));
        count
    }

    fn first_out_of_order(&self) -> Option<Due> {
        let first = self.out_of_order.peek()?;
        let (at, rank, _) = first.order;
        Some(Due { at, rank })
    }

    /// Gives a frame to a sender, which decides everything else about its way, and tells when it leaves, if it does.
    fn send(
        &mut self,
        sender: usize,
        when: When,
        mut frame: Frame,
    ) -> Result<Option<Time>, (Refusal, Frame)> {
        if frame.len() < MIN_WIRE_FRAME_LEN {
            frame.resize(MIN_WIRE_FRAME_LEN);
        }
        if self.senders[sender].egress.is_some() {
            if when == When::At(Time::MAX) {
                return Err((Refusal::Never, frame));
            }
            return Ok(self.accept(sender, when, frame));
        }
        self.launch(sender, when, frame)
    }

    /// Gives a frame to the line of a sender, which decides everything else about its way, and tells when it leaves, if it does.
    fn launch(
        &mut self,
        sender: usize,
        when: When,
        mut frame: Frame,
    ) -> Result<Option<Time>, (Refusal, Frame)> {
        frame.take_stamp();
        let lane = &mut self.senders[sender];
        let passage = lane.offer(self.now, when, &mut frame);
        if let (true, None, Some(passage)) = (lane.watcher.is_some(), &lane.egress, &passage) {
            lane.show_queue(self.now, passage.flight.departed);
        }
        let departed = passage.map(|passage| passage.flight.departed);
        if lane.is_down {
            let alive = passage.filter(|passage| passage.flight.arrived.is_some());
            // What the channel has lost by itself is counted there.
            let copies = alive.map_or(0, |passage| {
                1 + u64::from(passage.flight.duplicate.is_some())
            });
            lane.cut += copies;
            self.pool.give(frame);
            return Ok(departed);
        }
        let Some((passage, first_bit)) = passage.and_then(|p| Some((p, p.flight.arrived?))) else {
            // The queue was full, or it is lost on the way: the lane has counted it.
            self.pool.give(frame);
            return Ok(departed);
        };
        let Passage { flight, delivered } = passage;
        if first_bit + flight.duration == Time::MAX {
            return Err((Refusal::Never, frame));
        }
        let out_of_order = first_bit != flight.departed + lane.channel().delay;
        let (to, errors) = (lane.to, lane.bit_errors());
        let mut second = None;
        if let Some(again) = flight.duplicate {
            let mut copy = self.pool.take_with(&frame);
            copy.set_arrived(again);
            second = Some((again + (delivered - first_bit), copy));
        }
        frame.set_arrived(first_bit);
        let arrival = |at, frame| Arrival { at, frame, errors };
        self.transmit(to, arrival(delivered, frame), out_of_order);
        if let Some((delivered, copy)) = second {
            self.transmit(to, arrival(delivered, copy), true);
        }
        Ok(departed)
    }

    /// A frame is on its way to a receiver: in order and within this part, but for few.
    #[inline]
    fn transmit(&mut self, to: (usize, usize), arrival: Arrival, out_of_order: bool) {
        let (part, receiver) = to;
        if out_of_order || part != self.own {
            return self.transmit_otherwise(to, arrival, out_of_order);
        }
        let Receiver { flying, rank, .. } = &mut self.receivers[receiver];
        if flying.is_empty() {
            let (at, rank) = (arrival.at, rank_of(*rank));
            self.queue.set(1 + receiver, Some(Due { at, rank }));
        }
        flying.push_back(arrival);
    }

    #[inline(never)]
    fn transmit_otherwise(
        &mut self,
        (part, receiver): (usize, usize),
        arrival: Arrival,
        out_of_order: bool,
    ) {
        if part != self.own {
            let what = Carried::Frame {
                arrival,
                out_of_order,
            };
            return self.outboxes[part].push(Transit { receiver, what });
        }
        self.numbered += 1;
        let rank = rank_of(self.receivers[receiver].rank) + 1;
        self.out_of_order.push(OutOfOrder {
            receiver,
            order: (arrival.at, rank, self.numbered),
            arrival,
        });
        let first = self.first_out_of_order();
        self.queue.set(OUT_OF_ORDER, first);
    }

    /// Notes when a node wants to be woken.
    fn ask_for_wake(&mut self, index: usize, member: &Member) {
        let source = 1 + self.receivers.len() + index;
        let wake_at = member.driver.next_wake().map(|at| at.max(self.now));
        let wake_at = wake_at.filter(|&at| at < Time::MAX);
        if wake_at != self.queue.due(source).map(|due| due.at) {
            let rank = ALARMS + member.rank;
            self.queue.set(source, wake_at.map(|at| Due { at, rank }));
        }
    }
}
