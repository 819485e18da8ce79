//! A graph that is being run: in one part, or in several side by side.

use crate::block::BlockLink;
use crate::lane::{Carrier, Receiver, Sender};
use crate::parallel;
use crate::part::{Draft, Lower, Member, Part};
use crate::partition::Partition;
use crate::watcher::Watcher;
use crate::{Options, SimError};
use node::clock::Ticks;
use node::event::Queue;
use node::link::LinkCounters;
use node::outcome::{Direction, Finish, Statistics, Table};
use node::{Driver, End, Frame, Graph, Level, NodeId, Oscillator, Outcome, Time, Transmitter};
use queue::egress::Egress;
use std::collections::BTreeMap;

/// Number of events between two checks whether the run must stop.
const STOP_CHECK_EVENTS: u64 = 16;
/// Interval of simulated time between two such checks. An experiment that is over may go on with
/// few events, such as an echo every five seconds, and ends before the next one.
const STOP_CHECK_INTERVAL: Time = Time::from_ms(1);
/// Between two words on how far the run has come, in events.
const REPORT: u64 = 4_096;
/// Minimum number of events in a lookahead for which several threads pay.
const MIN_PARALLEL_EVENTS: u64 = 64;

/// A graph that is being run.
pub struct Sim {
    /// One, or those that it is cut into.
    parts: Vec<Part>,
    /// How it is cut, or may be.
    partition: Partition,
    /// See [`Options`].
    whole_for: u64,
    threads: usize,
    /// The part that each node is in, and its place there.
    places: Vec<(usize, usize)>,
    links: usize,
    until: Time,
    watcher: Watcher,
    finish: Finish,
}

impl Sim {
    /// Makes everything ready; no node has been called.
    ///
    /// # Errors
    /// When the graph or a tap is wrong.
    pub fn new(mut graph: Graph, options: Options) -> Result<Sim, SimError> {
        graph.check().map_err(SimError::Graph)?;
        let partition = Partition::of(&graph, options.threads);
        let links = graph.links.len();
        let seeds =
            (0..links).map(|link| [0, 1].map(|way| graph.link_seed(options.seed, link, way)));
        let seeds: Vec<[u64; 2]> = seeds.collect();
        let ranks = Ranks::of(&graph);
        let mut sublayers = sublayers(&mut graph)?;
        let mut draft = Draft::default();
        for (node, member) in graph.members.into_iter().enumerate() {
            let driver = Driver::new(member);
            draft.members.push(Member {
                ports: vec![None; driver.properties().ports],
                driver,
                node,
                rank: ranks.nodes[node],
                lower: sublayers.remove(&node),
            });
        }
        let places = (0..draft.members.len()).map(|place| (0, place)).collect();
        for (index, link) in graph.links.into_iter().enumerate() {
            let ends = link.ends;
            let mut at_end = [[0; 2]; 2];
            for (direction, channel) in link.channels.into_iter().enumerate() {
                let (from, to) = (ends[direction], ends[1 - direction]);
                let (sending, member) = (from.node.0, to.node.0);
                // Who would receive sees that nothing can come.
                let seen = channel.changes();
                let seen = seen.map(|(at, up)| (at, member, to.port, up));
                draft.changes.extend(seen);
                let needs = draft.members[member].driver.properties().needs;
                let seed = seeds[index][direction];
                let carrier = match channel.level.clone() {
                    Level::Frame => Carrier::Frames(Transmitter::new(channel, seed)),
                    Level::Block(clocks) => {
                        let every = options.every_block;
                        let mut link = BlockLink::new(channel, &clocks, seed, every);
                        if draft.members[sending].lower.is_some() {
                            link.carry_messages(seed);
                        }
                        Carrier::Blocks(Box::new(link))
                    }
                };
                let receiver = draft.receivers.len();
                draft.receivers.push(Receiver {
                    lane: 2 * index + direction,
                    rank: ranks.ends[&from],
                    member,
                    port: to.port,
                    flying: Default::default(),
                    messages: Default::default(),
                    landed: Default::default(),
                    is_pausing: false,
                    taps: Vec::new(),
                });
                let sender = draft.senders.len();
                draft.senders.push(Sender {
                    rank: ranks.ends[&from],
                    member: sending,
                    port: from.port,
                    asked: None,
                    carrier,
                    needs: needs.unwrap_or(usize::MAX),
                    to: (0, receiver),
                    egress: None,
                    departed: None,
                    watcher: None,
                    is_down: false,
                    cut: 0,
                });
                at_end[direction][0] = sender;
                at_end[1 - direction][1] = receiver;
            }
            for (end, [sender, receiver]) in ends.into_iter().zip(at_end) {
                let member = &mut draft.members[end.node.0];
                member.ports[end.port.index()] = Some((sender, receiver));
            }
        }
        // The ends of a link's directions have the numbers of their lanes.
        let lane = |link: usize, direction: Direction| match link < links {
            true => Ok(2 * link + direction.index()),
            false => Err(SimError::NoSuchLink { link, links }),
        };
        for tap in options.taps {
            let receiver = lane(tap.link, tap.direction)?;
            draft.receivers[receiver].taps.push(tap.see);
        }
        for tap in options.bits {
            let sender = lane(tap.link, tap.direction)?;
            match &mut draft.senders[sender].carrier {
                Carrier::Frames(_) => return Err(SimError::NoBlocks { link: tap.link }),
                Carrier::Blocks(blocks) => blocks.show(tap.see),
            }
        }
        for tap in options.queues {
            let sender = lane(tap.link, tap.direction)?;
            draft.senders[sender].watcher = Some(tap.see);
        }
        for queue in options.disciplines {
            let sender = lane(queue.link, queue.direction)?;
            let egress = Egress::new(queue);
            if egress.is_pausing() {
                // The ends of a link have neighbouring numbers.
                draft.receivers[sender ^ 1].is_pausing = true;
                draft.senders[sender ^ 1].needs = usize::MAX;
            }
            draft.senders[sender].egress = Some(Box::new(egress));
        }
        let mut sim = Sim {
            parts: vec![Part::whole(draft, options.clocks)],
            partition,
            whole_for: options.whole_for,
            threads: options.threads,
            places,
            links,
            until: options.until.unwrap_or(Time::MAX),
            watcher: Watcher {
                stop: options.stop,
                progress: options.progress,
                passed: options.passed,
            },
            finish: Finish::Idle,
        };
        if sim.whole_for == 0 {
            sim.cut();
        }
        Ok(sim)
    }

    /// Goes on in several parts, if the graph can be cut.
    fn cut(&mut self) {
        let Partition { part, parts, .. } = &self.partition;
        if *parts > 1
            && let Some(whole) = self.parts.pop()
        {
            (self.parts, self.places) = whole.split(part, *parts);
        }
    }

    /// In how many parts it runs.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// When time stands still.
    pub fn advance(&mut self) -> Result<(), SimError> {
        let result = self.run();
        let result = result.map(|finish| self.finish = finish);
        self.settle();
        result
    }

    /// Runs to the end, first in one part, then in several if that pays; why it ended.
    fn run(&mut self) -> Result<Finish, SimError> {
        if let [whole] = &mut self.parts[..] {
            let watcher = &mut self.watcher;
            if self.partition.parts == 1 {
                let finish = run(whole, self.until, watcher, |_, _| false)?;
                return Ok(finish.expect("nothing else ends it"));
            }
            let mut gauge = Gauge::new(self.partition.lookahead, self.whole_for);
            let pays = |at, events| gauge.pays(at, events);
            if let Some(finish) = run(whole, self.until, watcher, pays)? {
                return Ok(finish);
            }
            self.cut();
        }
        let (parts, watcher) = (&mut self.parts, &mut self.watcher);
        parallel::run(parts, self.threads, &self.partition, self.until, watcher)
    }

    /// When something happens next; `None` when nothing is left to happen.
    pub fn next(&self) -> Option<Time> {
        self.parts.iter().filter_map(Part::next).min()
    }

    /// The time.
    pub fn now(&self) -> Time {
        let times = self.parts.iter().map(|part| part.network.now);
        times.max().unwrap_or_default()
    }

    /// Lets happen what is due up to a time, at most so many events; whether that was all. Then it is that time. For whoever
    /// keeps the simulation to another clock: it has to be in [one part](Options::threads).
    ///
    /// # Errors
    /// When time stands still.
    pub fn advance_to(&mut self, time: Time, most: u32) -> Result<bool, SimError> {
        let [whole] = &mut self.parts[..] else {
            return Err(SimError::Parts);
        };
        for _ in 0..most {
            if !whole.step(time)? {
                whole.move_to(time);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Wakes a member of the graph now, though it did not ask for it: something outside of the graph has happened.
    pub fn wake(&mut self, member: NodeId) {
        let (part, member) = self.places[member.0];
        self.parts[part].wake(member);
    }

    /// Takes a link down now, or brings it up, beside what its channels plan, and tells the nodes at its ends. What is on its way
    /// or waits to leave when a link goes down is lost, as is what is given to it until it is up; how many frames those are now.
    ///
    /// # Errors
    /// When the simulation is not in [one part](Options::threads).
    pub fn set_link(&mut self, link: usize, up: bool) -> Result<u64, SimError> {
        match &mut self.parts[..] {
            [whole] => Ok(whole.set_link(link, up)),
            _ => Err(SimError::Parts),
        }
    }

    /// Whether each direction of each link is up now: nobody has taken it down, and its channel does not plan that.
    pub fn links_up(&self) -> Vec<[bool; 2]> {
        let mut up = vec![[true; 2]; self.links];
        for part in &self.parts {
            for sender in &part.network.senders {
                let (there, receiver) = sender.to;
                let lane = self.parts[there].network.receivers[receiver].lane;
                up[lane / 2][lane % 2] = sender.is_up(part.network.now);
            }
        }
        up
    }

    /// What a member of the graph tells of itself, as it is now.
    pub fn statistics(&self, member: NodeId) -> Statistics {
        let (part, member) = self.places[member.0];
        self.parts[part].members[member].driver.statistics()
    }

    /// Sends a command to the sublayer of a member of the graph, and returns its answer; `None` without a sublayer.
    pub fn command(&mut self, member: NodeId, line: &str) -> Option<Result<String, String>> {
        let (part, member) = self.places[member.0];
        self.parts[part].command(member, line)
    }

    /// The tables of a member of the graph.
    pub fn tables(&self, member: NodeId) -> Vec<Table> {
        let (part, member) = self.places[member.0];
        self.parts[part].members[member].driver.tables(self.now())
    }

    /// Ends a run that was advanced by hand.
    pub fn end(&mut self, finish: Finish) {
        self.finish = finish;
        self.settle();
    }

    fn settle(&mut self) {
        let now = match self.finish {
            Finish::Duration => self.until,
            _ => self.now(),
        };
        for part in &mut self.parts {
            part.move_to(now);
            for sender in &mut part.network.senders {
                sender.settle(now);
            }
        }
    }

    /// The frames that are on their way, or wait to leave: those that [`in_flight`](LinkCounters::in_flight) counts, in no order.
    pub fn in_flight(&self) -> impl Iterator<Item = &Frame> {
        let senders = self.parts.iter().flat_map(|part| &part.network.senders);
        let waiting = senders.filter_map(|end| end.egress.as_ref());
        let waiting = waiting.flat_map(|egress| egress.frames());
        self.flights().map(|(.., frame)| frame).chain(waiting)
    }

    /// The frames on links, in no order: the link, the direction, the time at which the receiving node is informed, and the frame.
    /// Frames that wait for the line are among them, frames in a queue discipline are not: their departure is not known yet.
    pub fn flights(&self) -> impl Iterator<Item = (usize, Direction, Time, &Frame)> {
        self.parts.iter().flat_map(|part| {
            let network = &part.network;
            let receivers = network.receivers.iter();
            let in_order = receivers.flat_map(|end| end.flying.iter().map(|one| (end.lane, one)));
            let others = network.out_of_order.iter().map(|one| {
                let lane = network.receivers[one.receiver].lane;
                (lane, &one.arrival)
            });
            in_order.chain(others).map(|(lane, arrival)| {
                let way = Direction::BOTH[lane % 2];
                (lane / 2, way, arrival.at, &arrival.frame)
            })
        })
    }

    /// Current queue of each link, by [`Direction::index`]: frames in a queue discipline, or waiting for the line.
    pub fn queues(&mut self) -> Vec<[Queue; 2]> {
        let mut queues = vec![[Queue::default(); 2]; self.links];
        let lanes = |part: &Part| -> Vec<(usize, usize)> {
            let senders = part.network.senders.iter();
            senders.map(|sender| sender.to).collect()
        };
        let to: Vec<Vec<(usize, usize)>> = self.parts.iter().map(lanes).collect();
        for (part, to) in to.into_iter().enumerate() {
            for (sender, (there, receiver)) in to.into_iter().enumerate() {
                let lane = self.parts[there].network.receivers[receiver].lane;
                let network = &mut self.parts[part].network;
                let (_, queue) = network.senders[sender].statistics(network.now);
                queues[lane / 2][lane % 2] = queue;
            }
        }
        queues
    }

    /// What has come of it so far.
    pub fn outcome(&self) -> Outcome {
        let member = |&(part, place): &(usize, usize)| {
            let member = &self.parts[part].members[place];
            let mut outcome = member.driver.outcome();
            if let Some(lower) = &member.lower {
                outcome
                    .counters
                    .extend(lower.sublayer.statistics().counters);
            }
            outcome
        };
        let mut links = vec![[LinkCounters::default(); 2]; self.links];
        for part in &self.parts {
            let mut others = vec![0; part.network.receivers.len()];
            for frame in &part.network.out_of_order {
                others[frame.receiver] += 1;
            }
            for (receiver, others) in part.network.receivers.iter().zip(others) {
                let counters = &mut links[receiver.lane / 2][receiver.lane % 2];
                counters.delivered = Some(receiver.landed.packets);
                counters.in_flight = Some(receiver.flying.len() as u64 + others);
            }
        }
        for part in &self.parts {
            for sender in &part.network.senders {
                let (there, receiver) = sender.to;
                let lane = self.parts[there].network.receivers[receiver].lane;
                let counters = &mut links[lane / 2][lane % 2];
                let waiting = sender.egress.as_ref();
                let waiting = waiting.map_or(0, |egress| egress.waiting().packets);
                *counters = LinkCounters {
                    delivered: counters.delivered,
                    in_flight: counters.in_flight.map(|flying| flying + waiting),
                    ..sender.counters()
                };
            }
        }
        Outcome {
            nodes: self.places.iter().map(member).collect(),
            links,
            ended: self.now(),
            finish: self.finish,
            frames: self.parts.iter().map(|part| part.frames).sum(),
            events: self.parts.iter().map(|part| part.events).sum(),
            stamps: "exact",
            timing: None,
        }
    }
}

/// The order of what happens at one time: alarms by the names of their nodes, arrivals by the names and ports of the nodes that
/// sent them. So it does not depend on the order in which nodes and links were made, nor on other nodes and links.
struct Ranks {
    /// By place in the graph.
    nodes: Vec<u32>,
    /// Of the ends of links.
    ends: BTreeMap<End, u32>,
}

impl Ranks {
    fn of(graph: &Graph) -> Ranks {
        let mut order: Vec<usize> = (0..graph.members.len()).collect();
        order.sort_by_key(|&node| &graph.members[node].name);
        let mut nodes = vec![0; order.len()];
        for (rank, node) in (0..).zip(order) {
            nodes[node] = rank;
        }
        let mut ends: Vec<End> = graph.links.iter().flat_map(|link| link.ends).collect();
        ends.sort_by_key(|end| (nodes[end.node.0], end.port));
        let ends = ends.into_iter().zip(0..).collect();
        Ranks { nodes, ends }
    }
}

/// Takes the sublayers out of a graph, each with the clock that all of its node's links at the level of blocks have there.
///
/// # Errors
/// When they have different ones.
fn sublayers(graph: &mut Graph) -> Result<BTreeMap<usize, Lower>, SimError> {
    let mut found = BTreeMap::new();
    for (NodeId(node), sublayer) in std::mem::take(&mut graph.sublayers) {
        let ends = graph
            .links
            .iter()
            .flat_map(|link| link.ends.iter().zip(&link.channels));
        let own = ends.filter(|(end, _)| end.node.0 == node);
        let clocks = own.filter_map(|(_, channel)| match &channel.level {
            Level::Block(clocks) => Some(&clocks.sender),
            Level::Frame => None,
        });
        let clocks: Vec<&Oscillator> = clocks.collect();
        if clocks.windows(2).any(|pair| pair[0] != pair[1]) {
            let node = graph.members[node].name.clone();
            return Err(SimError::TwoClocks { node });
        }
        if let Some(clock) = clocks.first() {
            let ticks = Ticks::new(clock);
            found.insert(node, Lower { sublayer, ticks });
        }
    }
    Ok(found)
}

/// Whether several threads would pay. Both numbers that it goes by are of the simulation, so that each run comes to the same.
struct Gauge {
    lookahead: Time,
    /// When the lookahead ends that began with an event.
    end: Time,
    /// How many of them there were since the event `since`, and when to count up.
    spans: u64,
    since: u64,
    look: u64,
}

impl Gauge {
    /// Takes a first look after so many events.
    fn new(lookahead: Time, look: u64) -> Gauge {
        Gauge {
            lookahead,
            end: Time::ZERO,
            spans: 0,
            since: 0,
            look,
        }
    }

    /// Counts an event, with which there have been so many.
    #[inline]
    fn pays(&mut self, at: Time, events: u64) -> bool {
        if at >= self.end {
            self.end = at + self.lookahead;
            self.spans += 1;
        }
        if events < self.look {
            return false;
        }
        let pays = events - self.since >= self.spans * MIN_PARALLEL_EVENTS;
        (self.since, self.look, self.spans) = (events, 4 * self.look, 0);
        pays
    }
}

/// Runs all in one part to the end, or until `is_enough`, asked after each event with its time and number; why it ended.
fn run(
    whole: &mut Part,
    until: Time,
    watcher: &mut Watcher,
    mut is_enough: impl FnMut(Time, u64) -> bool,
) -> Result<Option<Finish>, SimError> {
    let mut looked = whole.network.now;
    loop {
        if let Some(next) = whole.next().filter(|next| *next <= until)
            && (whole.events.is_multiple_of(STOP_CHECK_EVENTS)
                || next - looked >= STOP_CHECK_INTERVAL)
        {
            looked = next;
            if watcher.is_over() {
                return Ok(Some(Finish::Stopped));
            }
            if whole.events.is_multiple_of(REPORT) {
                // At that time more may come; all before it has happened.
                watcher.report(next - Time::from_ps(1), until);
            }
        }
        if !whole.step(until)? {
            return Ok(Some(match whole.next() {
                None => Finish::Idle,
                Some(_) => Finish::Duration,
            }));
        }
        if is_enough(whole.network.now, whole.events) {
            return Ok(None);
        }
    }
}
