//! A graph that is being run: in one part, or in several side by side.

use crate::block::BlockLink;
use crate::lane::{Carrier, Receiver, Sender};
use crate::part::{Change, Lower, Member, Part};
use crate::partition::Partition;
use crate::watcher::Watcher;
use crate::{Options, SimError, adaptive};
use node::clock::Ticks;
use node::link::{LinkCounters, seed_of};
use node::outcome::{Finish, Statistics, Table};
use node::{Driver, Frame, Graph, Level, NodeId, Oscillator, Outcome, Tap, Time, Transmitter};
use std::collections::BTreeMap;

/// Between two looks at whether the run shall stop, in events: few, as an experiment that is over may go on with next to
/// nothing, such as keeping a connection up.
const LOOK: u64 = 16;
/// Between two words on how far the run has come, in events.
const REPORT: u64 = 4_096;

/// A graph that is being run.
pub struct Sim {
    pub(crate) parts: Vec<Part>,
    pub(crate) lookahead: Time,
    adaptive: bool,
    /// The part that each node is in, and its place there.
    places: Vec<(usize, usize)>,
    links: usize,
    until: Time,
    watcher: Watcher,
    finish: Finish,
}

/// What will be a part.
#[derive(Default)]
struct Draft {
    members: Vec<Member>,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    changes: Vec<Change>,
    taps: Vec<Tap>,
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
        let mut sublayers = sublayers(&mut graph)?;
        let mut drafts: Vec<Draft> = (0..partition.parts).map(|_| Draft::default()).collect();
        let mut places = Vec::with_capacity(graph.members.len());
        for (node, member) in graph.members.into_iter().enumerate() {
            let part = partition.part[node];
            let members = &mut drafts[part].members;
            places.push((part, members.len()));
            let driver = Driver::new(member);
            members.push(Member {
                ports: vec![None; driver.properties().ports],
                driver,
                node,
                lower: sublayers.remove(&node),
            });
        }
        // The part and place of each lane's sender and receiver.
        let mut lanes = Vec::with_capacity(2 * links);
        for (index, link) in graph.links.into_iter().enumerate() {
            let ends = link.ends;
            let mut at_end = [[0; 2]; 2];
            for (direction, channel) in link.channels.into_iter().enumerate() {
                let (from, to) = (ends[direction], ends[1 - direction]);
                let ((here, sending), (there, member)) = (places[from.node.0], places[to.node.0]);
                // Who would receive sees that nothing can come.
                let seen = channel.changes();
                let seen = seen.map(|(at, up)| (at, member, to.port, up));
                drafts[there].changes.extend(seen);
                let needs = drafts[there].members[member].driver.properties().needs;
                let seed = seed_of(options.seed, index, direction);
                let carrier = match channel.level.clone() {
                    Level::Frame => Carrier::Frames(Transmitter::new(channel, seed)),
                    Level::Block(clocks) => {
                        let every = options.every_block;
                        let mut link = BlockLink::new(channel, &clocks, seed, every);
                        if drafts[here].members[sending].lower.is_some() {
                            link.carry_messages(seed);
                        }
                        Carrier::Blocks(Box::new(link))
                    }
                };
                let receiver = drafts[there].receivers.len();
                drafts[there].receivers.push(Receiver {
                    lane: 2 * index + direction,
                    member,
                    port: to.port,
                    flying: Default::default(),
                    messages: Default::default(),
                    landed: Default::default(),
                    tapped: false,
                });
                let sender = drafts[here].senders.len();
                drafts[here].senders.push(Sender {
                    lane: 2 * index + direction,
                    member: sending,
                    port: from.port,
                    asked: None,
                    carrier,
                    needs: needs.unwrap_or(usize::MAX),
                    to: (there, receiver),
                    watcher: None,
                    is_down: false,
                    cut: 0,
                });
                lanes.push([(here, sender), (there, receiver)]);
                at_end[direction][0] = sender;
                at_end[1 - direction][1] = receiver;
            }
            for (end, [sender, receiver]) in ends.into_iter().zip(at_end) {
                let (part, member) = places[end.node.0];
                let member = &mut drafts[part].members[member];
                member.ports[end.port.index()] = Some((sender, receiver));
            }
        }
        let lane = |link: usize, direction: usize| {
            let lane = link
                .checked_mul(2)
                .and_then(|lane| lanes.get(lane + direction));
            lane.copied().ok_or(SimError::NoSuchLink { link, links })
        };
        for tap in options.taps {
            let [_, (part, receiver)] = lane(tap.link, tap.direction.index())?;
            drafts[part].receivers[receiver].tapped = true;
            drafts[part].taps.push(tap);
        }
        for tap in options.bits {
            let [(part, sender), _] = lane(tap.link, tap.direction.index())?;
            match &mut drafts[part].senders[sender].carrier {
                Carrier::Frames(_) => return Err(SimError::NoBlocks { link: tap.link }),
                Carrier::Blocks(blocks) => blocks.show(tap.see),
            }
        }
        for tap in options.queues {
            let [(part, sender), _] = lane(tap.link, tap.direction.index())?;
            drafts[part].senders[sender].watcher = Some(tap.see);
        }
        let count = drafts.len();
        let drafts = drafts.into_iter().enumerate();
        let parts = drafts.map(|(index, draft)| {
            let ends = (draft.senders, draft.receivers);
            Part::new(
                (index, count),
                draft.members,
                ends,
                draft.changes,
                draft.taps,
                options.clocks.clone(),
            )
        });
        Ok(Sim {
            parts: parts.collect(),
            lookahead: partition.lookahead,
            adaptive: options.adaptive,
            places,
            links,
            until: options.until.unwrap_or(Time::MAX),
            watcher: Watcher {
                stop: options.stop,
                progress: options.progress,
                passed: options.passed,
            },
            finish: Finish::Idle,
        })
    }

    /// In how many parts it runs, each on a thread of its own.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// When time stands still.
    pub fn advance(&mut self) -> Result<(), SimError> {
        let result = match &mut self.parts[..] {
            [whole] => run(whole, self.until, &mut self.watcher),
            parts => {
                let span = (self.lookahead, self.until);
                adaptive::run(parts, span, &mut self.watcher, self.adaptive)
            }
        };
        let result = result.map(|finish| self.finish = finish);
        self.settle();
        result
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
        let networks = self.parts.iter().map(|part| &part.network);
        networks.flat_map(|network| {
            let in_order = network.receivers.iter().flat_map(|end| &end.flying);
            let others = network.out_of_order.iter().map(|frame| &frame.arrival);
            in_order.chain(others).map(|arrival| &arrival.frame)
        })
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
                *counters = LinkCounters {
                    delivered: counters.delivered,
                    in_flight: counters.in_flight,
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

/// Runs all in one part to the end; why it ended.
fn run(whole: &mut Part, until: Time, watcher: &mut Watcher) -> Result<Finish, SimError> {
    loop {
        if whole.events.is_multiple_of(LOOK)
            && let Some(next) = whole.next().filter(|next| *next <= until)
        {
            if watcher.is_over() {
                return Ok(Finish::Stopped);
            }
            if whole.events.is_multiple_of(REPORT) {
                // At that time more may come; all before it has happened.
                watcher.report(next - Time::from_ps(1), until);
            }
        }
        if !whole.step(until)? {
            return Ok(match whole.next() {
                None => Finish::Idle,
                Some(_) => Finish::Duration,
            });
        }
    }
}
