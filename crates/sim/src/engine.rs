//! The loop.

use crate::agenda::{Agenda, Due};
use crate::block::BlockLink;
use crate::lane::{Arrival, Lane, Passage, Stray, Way};
use crate::{Options, SimError};
use node::event::{Event, What};
use node::frame::LONGEST;
use node::link::{LinkCounters, SHORTEST, seed_of};
use node::outcome::{Direction, Finish};
use node::{
    Departure, Driver, Frame, Graph, Level, Member, NodeId, Outcome, Pool, Port, Refusal, Tap,
    Time, Transmitter, When,
};
use std::collections::BinaryHeap;

/// How much may happen without time moving before the run counts as stuck: a frame counts 1. A
/// burst of this many frames at one instant would fill the memory first.
const STUCK: u32 = 4_000_000;
/// What a wake counts in this: a million of them is too much.
const WAKE: u32 = 4;
/// In place of the lane of a port without a link.
const NOWHERE: usize = usize::MAX;
/// Between two looks at whether the run shall stop, in events: few, as an experiment that is over may go on with next to
/// nothing, such as keeping a connection up.
const LOOK: u64 = 16;
/// Between two words on how far the run has come, in events.
const TELL: u64 = 4_096;

/// A node, and what belongs to it.
struct Host {
    driver: Driver,
    /// The lane that each port sends by; [`NOWHERE`] for one without a link.
    lanes: Vec<usize>,
}

/// A graph that is being run.
pub struct Sim {
    hosts: Vec<Host>,
    taps: Vec<Tap>,
    air: Air,
    /// Links that go down or up: when, at which node and port; the next is the last.
    changes: Vec<(Time, usize, Port, bool)>,
    until: Time,
    stop: Option<Box<dyn Fn() -> bool + Send>>,
    progress: Option<fn(Time, Option<Time>)>,
    frames: u64,
    events: u64,
    /// How much has happened since time moved.
    standing: u32,
    finish: Finish,
}

/// Everything but the nodes: what is on its way, and what happens next.
struct Air {
    now: Time,
    /// Lane `2 * link + direction`.
    lanes: Vec<Lane>,
    strays: BinaryHeap<Stray>,
    /// Sources: the strays, the lanes, the nodes' alarms.
    agenda: Agenda,
    /// The buffers of all nodes: what a sink gives back, a generator takes.
    pool: Pool,
    /// Events caused so far.
    caused: u64,
}

/// The source of all strays; lane `n` is source `n + 1`, behind the lanes are the alarms, and behind those is the list of links
/// that go down or up.
const STRAYS: usize = 0;

impl Sim {
    /// Makes everything ready; no node has been called.
    ///
    /// # Errors
    /// When the graph or a tap is wrong.
    pub fn new(graph: Graph, options: Options) -> Result<Sim, SimError> {
        graph.check().map_err(SimError::Graph)?;
        let links = graph.links.len();
        let mut hosts: Vec<Host> = graph.members.into_iter().map(Host::new).collect();
        let mut lanes = Vec::with_capacity(2 * links);
        let mut changes = Vec::new();
        for (index, link) in graph.links.into_iter().enumerate() {
            for (direction, channel) in link.channels.into_iter().enumerate() {
                let (from, to) = (link.ends[direction], link.ends[1 - direction]);
                hosts[from.node.0].lanes[from.port.index()] = lanes.len();
                // Who would receive sees that nothing can come.
                let seen = channel.changes();
                changes.extend(seen.map(|(at, up)| (at, to.node.0, to.port, up)));
                let seed = seed_of(options.seed, index, direction);
                let way = match channel.level.clone() {
                    Level::Frame => Way::Frames(Transmitter::new(channel, seed)),
                    Level::Block(clocks) => {
                        let every = options.every_block;
                        let link = BlockLink::new(channel, &clocks, seed, every);
                        Way::Blocks(Box::new(link))
                    }
                };
                let needs = hosts[to.node.0].driver.properties().needs;
                lanes.push(Lane {
                    way,
                    node: to.node.0,
                    port: to.port,
                    needs: needs.unwrap_or(usize::MAX),
                    flying: Default::default(),
                    landed: 0,
                    tapped: false,
                });
            }
        }
        for tap in &options.taps {
            let link = tap.link;
            let lane = lanes.get_mut(lane_of(link, tap.direction));
            lane.ok_or(SimError::NoSuchLink { link, links })?.tapped = true;
        }
        for tap in options.bits {
            let link = tap.link;
            let lane = lanes.get_mut(lane_of(link, tap.direction));
            match &mut lane.ok_or(SimError::NoSuchLink { link, links })?.way {
                Way::Frames(_) => return Err(SimError::NoBlocks { link }),
                Way::Blocks(blocks) => blocks.show(tap.see),
            }
        }
        changes.sort_by_key(|&(at, ..)| std::cmp::Reverse(at));
        let mut sim = Sim {
            air: Air {
                now: Time::ZERO,
                agenda: Agenda::new(1 + lanes.len() + hosts.len() + 1),
                lanes,
                strays: BinaryHeap::new(),
                pool: Pool::default(),
                caused: 0,
            },
            hosts,
            changes,
            taps: options.taps,
            until: options.until.unwrap_or(Time::MAX),
            stop: options.stop,
            progress: options.progress,
            frames: 0,
            events: 0,
            standing: 0,
            finish: Finish::Idle,
        };
        for (index, host) in sim.hosts.iter().enumerate() {
            sim.air.ask_for_wake(index, &host.driver);
        }
        sim.plan_change();
        Ok(sim)
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// When time stands still.
    pub fn advance(&mut self) -> Result<(), SimError> {
        let result = self.run();
        self.settle();
        result
    }

    /// When something happens next; `None` when nothing is left to happen.
    pub fn next(&self) -> Option<Time> {
        self.air.agenda.first().map(|(due, _)| due.at)
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.air.now
    }

    /// Lets happen what is due up to a time, at most so many events; whether that was all. Then it is that time. For whoever
    /// keeps the simulation to another clock.
    ///
    /// # Errors
    /// When time stands still.
    pub fn advance_to(&mut self, time: Time, most: u32) -> Result<bool, SimError> {
        for _ in 0..most {
            match self.air.agenda.first() {
                Some((due, source)) if due.at <= time => self.one(due.at, source)?,
                _ => {
                    if time > self.air.now {
                        (self.air.now, self.standing) = (time, 0);
                    }
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Wakes a member of the graph now, though it did not ask for it: something outside of the graph has happened.
    pub fn wake(&mut self, member: NodeId) {
        self.call(member.0, |driver, now| driver.wake(now));
    }

    /// Ends a run that was advanced by hand.
    pub fn end(&mut self, finish: Finish) {
        self.finish = finish;
        self.settle();
    }

    fn settle(&mut self) {
        let now = self.air.now;
        for lane in &mut self.air.lanes {
            lane.settle(now);
        }
    }

    fn run(&mut self) -> Result<(), SimError> {
        while let Some((due, source)) = self.air.agenda.first() {
            if due.at > self.until {
                self.air.now = self.until;
                self.finish = Finish::Duration;
                break;
            }
            if self.events.is_multiple_of(LOOK) {
                if self.stop.as_ref().is_some_and(|stop| stop()) {
                    self.finish = Finish::Stopped;
                    break;
                }
                if let Some(progress) = self.progress
                    && self.events.is_multiple_of(TELL)
                {
                    progress(due.at, Some(self.until).filter(|until| *until < Time::MAX));
                }
            }
            self.one(due.at, source)?;
        }
        Ok(())
    }

    /// Lets the next event happen.
    fn one(&mut self, at: Time, source: usize) -> Result<(), SimError> {
        if at > self.air.now {
            self.air.now = at;
            self.standing = 0;
        }
        self.events += 1;
        let host = self.happen(source);
        match self.standing > STUCK {
            true => Err(SimError::Stuck {
                node: self.hosts[host].driver.name().into(),
                at: self.air.now,
            }),
            false => Ok(()),
        }
    }

    /// What has come of it so far.
    pub fn outcome(&self) -> Outcome {
        let mut strays = vec![0; self.air.lanes.len()];
        for stray in &self.air.strays {
            strays[stray.lane] += 1;
        }
        let count = |lane: usize| {
            let counted = &self.air.lanes[lane];
            LinkCounters {
                delivered: Some(counted.landed),
                in_flight: Some(counted.flying.len() as u64 + strays[lane]),
                ..counted.counters()
            }
        };
        Outcome {
            nodes: self
                .hosts
                .iter()
                .map(|host| host.driver.outcome())
                .collect(),
            links: (0..self.air.lanes.len() / 2)
                .map(|link| [2 * link, 2 * link + 1].map(count))
                .collect(),
            ended: self.air.now,
            finish: self.finish,
            frames: self.frames,
            events: self.events,
            stamps: "exact",
            timing: None,
        }
    }

    /// Lets the first event of a source happen, and tells which node it called.
    fn happen(&mut self, source: usize) -> usize {
        let alarms = 1 + self.air.lanes.len();
        if source == alarms + self.hosts.len() {
            let (_, host, port, up) = self.changes.pop().expect("due, so there is one");
            self.plan_change();
            let what = What::Link(up);
            self.call(host, |driver, at| {
                driver.event(at, &Event { at, port, what })
            });
            return host;
        }
        if source >= alarms {
            let host = source - alarms;
            self.air.agenda.set(source, None);
            self.standing += WAKE;
            self.call(host, |driver, now| driver.wake(now));
            return host;
        }
        let (lane_index, frame) = self.air.land(source);
        let lane = &mut self.air.lanes[lane_index];
        lane.landed += 1;
        let (host, port) = (lane.node, lane.port);
        if lane.tapped {
            let here = |tap: &&mut Tap| lane_of(tap.link, tap.direction) == lane_index;
            for tap in self.taps.iter_mut().filter(here) {
                (tap.see)(self.air.now, &frame);
            }
        }
        self.frames += 1;
        self.standing += 1;
        self.call(host, |driver, now| driver.frame(now, port, frame));
        host
    }

    /// Notes when the next link goes down or up.
    fn plan_change(&mut self) {
        let source = 1 + self.air.lanes.len() + self.hosts.len();
        let next = self.changes.last().map(|&(at, ..)| at);
        self.air.caused += 1;
        let order = self.air.caused;
        self.air
            .agenda
            .set(source, next.map(|at| Due { at, order }));
    }

    /// Calls a node, and does what it answers.
    fn call(&mut self, index: usize, call: impl FnOnce(&mut Driver, Time)) {
        let Host { driver, lanes } = &mut self.hosts[index];
        std::mem::swap(&mut self.air.pool, driver.out().pool());
        if driver.statistics_are_due(self.air.now) {
            tell_statistics(driver, lanes, &mut self.air);
        }
        call(driver, self.air.now);
        std::mem::swap(&mut self.air.pool, driver.out().pool());
        let air = &mut self.air;
        driver.hand_on(|Departure { port, when, frame }| {
            let sent = match lanes.get(port.index()) {
                None => Err((Refusal::NoSuchPort, frame)),
                Some(&NOWHERE) => Err((Refusal::NoLink, frame)),
                Some(_) if frame.len() > LONGEST => Err((Refusal::TooLong, frame)),
                Some(&lane) if frame.len() > air.lanes[lane].longest() => {
                    Err((Refusal::TooLongForBlocks, frame))
                }
                Some(&lane) => air.send(lane, when, frame),
            };
            sent.map_err(|(refusal, frame)| {
                air.pool.give(frame);
                refusal
            })
        });
        air.ask_for_wake(index, driver);
    }
}

/// Tells a node of what it acts by.
fn tell_statistics(driver: &mut Driver, lanes: &[usize], air: &mut Air) {
    let at = air.now;
    for (port, &lane) in lanes.iter().enumerate() {
        // A port without a link has nothing to be known of.
        let Some((mut interface, queue)) = air.lanes.get_mut(lane).map(|lane| lane.statistics(at))
        else {
            continue;
        };
        interface.received = air.lanes[lane ^ 1].delivered();
        for what in [What::Interface(interface), What::Queue(queue)] {
            let port = Port(port as u16);
            driver.event(at, &Event { at, port, what });
        }
    }
}

impl Air {
    /// Takes the first frame that is due from a source, and tells which lane it is on.
    fn land(&mut self, source: usize) -> (usize, Frame) {
        let (lane, arrival, next) = if source == STRAYS {
            let stray = self.strays.pop().expect("due, so there is one");
            let next = self.strays.peek().map(|next| next.arrival.due);
            (stray.lane, stray.arrival, next)
        } else {
            let flying = &mut self.lanes[source - 1].flying;
            let arrival = flying.pop_front().expect("due, so there is one");
            (source - 1, arrival, flying.front().map(|next| next.due))
        };
        self.agenda.set(source, next);
        (lane, arrival.frame)
    }

    /// Gives a frame to a lane, which decides everything else about its way.
    fn send(&mut self, lane: usize, when: When, mut frame: Frame) -> Result<(), (Refusal, Frame)> {
        if frame.len() < SHORTEST {
            frame.resize(SHORTEST);
        }
        let passage = self.lanes[lane].offer(self.now, when, &mut frame);
        let Some((passage, first_bit)) = passage.and_then(|p| Some((p, p.flight.arrived?))) else {
            // The queue was full, or it is lost on the way: the lane has counted it.
            self.pool.give(frame);
            return Ok(());
        };
        let Passage { flight, told } = passage;
        if first_bit + flight.duration == Time::MAX {
            return Err((Refusal::Never, frame));
        }
        let held_up = first_bit != flight.departed + self.lanes[lane].channel().delay;
        let second = flight.duplicate.map(|again| {
            let mut copy = self.pool.take_with(&frame);
            copy.set_arrived(again);
            (copy, again + (told - first_bit))
        });
        frame.set_arrived(first_bit);
        let arrival = self.arrival(told, frame);
        if held_up {
            self.stray(lane, arrival);
        } else {
            let flying = &mut self.lanes[lane].flying;
            if flying.is_empty() {
                self.agenda.set(1 + lane, Some(arrival.due));
            }
            flying.push_back(arrival);
        }
        if let Some((copy, told)) = second {
            let arrival = self.arrival(told, copy);
            self.stray(lane, arrival);
        }
        Ok(())
    }

    fn arrival(&mut self, at: Time, frame: Frame) -> Arrival {
        self.caused += 1;
        let order = self.caused;
        Arrival {
            due: Due { at, order },
            frame,
        }
    }

    fn stray(&mut self, lane: usize, arrival: Arrival) {
        self.strays.push(Stray { arrival, lane });
        let first = self.strays.peek().map(|first| first.arrival.due);
        self.agenda.set(STRAYS, first);
    }

    /// Notes when a node wants to be woken; a wish that stays the same keeps its place in the order.
    fn ask_for_wake(&mut self, host: usize, node: &Driver) {
        let source = 1 + self.lanes.len() + host;
        let wish = node.next_wake().map(|at| at.max(self.now));
        let wish = wish.filter(|&at| at < Time::MAX);
        if wish != self.agenda.due(source).map(|due| due.at) {
            self.caused += 1;
            let order = self.caused;
            self.agenda.set(source, wish.map(|at| Due { at, order }));
        }
    }
}

impl Host {
    fn new(member: Member) -> Host {
        let driver = Driver::new(member);
        Host {
            lanes: vec![NOWHERE; driver.properties().ports],
            driver,
        }
    }
}

fn lane_of(link: usize, direction: Direction) -> usize {
    link.saturating_mul(2).saturating_add(direction.index())
}
