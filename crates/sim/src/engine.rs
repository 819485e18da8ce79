//! A graph that is being run: in one part, or in several side by side.

use crate::block::BlockLink;
use crate::lane::{Carrier, Receiver, Sender};
use crate::parallel;
use crate::part::{Change, Host, Part};
use crate::partition::Partition;
use crate::{Options, SimError};
use node::link::{LinkCounters, seed_of};
use node::outcome::Finish;
use node::{Driver, Graph, Level, NodeId, Outcome, Tap, Time, Transmitter};

/// Between two looks at whether the run shall stop, in events: few, as an experiment that is over may go on with next to
/// nothing, such as keeping a connection up.
const LOOK: u64 = 16;
/// Between two words on how far the run has come, in events.
const TELL: u64 = 4_096;

/// Who looks at a run from outside.
pub(crate) struct Watcher {
    stop: Option<Box<dyn Fn() -> bool + Send>>,
    progress: Option<fn(Time, Option<Time>)>,
    passed: Option<Box<dyn FnMut(Time) + Send>>,
}

impl Watcher {
    /// Tells that all up to a time has happened.
    pub fn tell(&mut self, time: Time, until: Time) {
        if let Some(passed) = &mut self.passed {
            passed(time);
        }
        if let Some(progress) = self.progress {
            progress(time, Some(until).filter(|until| *until < Time::MAX));
        }
    }

    /// Whether the run shall stop.
    pub fn is_over(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop())
    }
}

/// A graph that is being run.
pub struct Sim {
    parts: Vec<Part>,
    lookahead: Time,
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
    hosts: Vec<Host>,
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
    pub fn new(graph: Graph, options: Options) -> Result<Sim, SimError> {
        graph.check().map_err(SimError::Graph)?;
        let partition = Partition::of(&graph, options.threads);
        let links = graph.links.len();
        let mut drafts: Vec<Draft> = (0..partition.parts).map(|_| Draft::default()).collect();
        let mut places = Vec::with_capacity(graph.members.len());
        for (node, member) in graph.members.into_iter().enumerate() {
            let part = partition.part[node];
            let hosts = &mut drafts[part].hosts;
            places.push((part, hosts.len()));
            let driver = Driver::new(member);
            hosts.push(Host {
                ports: vec![None; driver.properties().ports],
                driver,
                node,
            });
        }
        // The part and place of each lane's sender and receiver.
        let mut lanes = Vec::with_capacity(2 * links);
        for (index, link) in graph.links.into_iter().enumerate() {
            let ends = link.ends;
            let mut at_end = [[0; 2]; 2];
            for (direction, channel) in link.channels.into_iter().enumerate() {
                let (from, to) = (ends[direction], ends[1 - direction]);
                let ((here, _), (there, host)) = (places[from.node.0], places[to.node.0]);
                // Who would receive sees that nothing can come.
                let seen = channel.changes();
                let seen = seen.map(|(at, up)| (at, host, to.port, up));
                drafts[there].changes.extend(seen);
                let needs = drafts[there].hosts[host].driver.properties().needs;
                let seed = seed_of(options.seed, index, direction);
                let carrier = match channel.level.clone() {
                    Level::Frame => Carrier::Frames(Transmitter::new(channel, seed)),
                    Level::Block(clocks) => {
                        let every = options.every_block;
                        let link = BlockLink::new(channel, &clocks, seed, every);
                        Carrier::Blocks(Box::new(link))
                    }
                };
                let receiver = drafts[there].receivers.len();
                drafts[there].receivers.push(Receiver {
                    lane: 2 * index + direction,
                    host,
                    port: to.port,
                    flying: Default::default(),
                    landed: Default::default(),
                    tapped: false,
                });
                let sender = drafts[here].senders.len();
                drafts[here].senders.push(Sender {
                    carrier,
                    needs: needs.unwrap_or(usize::MAX),
                    to: (there, receiver),
                });
                lanes.push([(here, sender), (there, receiver)]);
                at_end[direction][0] = sender;
                at_end[1 - direction][1] = receiver;
            }
            for (end, [sender, receiver]) in ends.into_iter().zip(at_end) {
                let (part, host) = places[end.node.0];
                let host = &mut drafts[part].hosts[host];
                host.ports[end.port.index()] = Some((sender, receiver));
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
        let count = drafts.len();
        let drafts = drafts.into_iter().enumerate();
        let parts = drafts.map(|(index, draft)| {
            let ends = (draft.senders, draft.receivers);
            Part::new((index, count), draft.hosts, ends, draft.changes, draft.taps)
        });
        Ok(Sim {
            parts: parts.collect(),
            lookahead: partition.lookahead,
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
            parts => parallel::run(parts, self.lookahead, self.until, &mut self.watcher),
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
        let (part, host) = self.places[member.0];
        self.parts[part].wake(host);
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

    /// What has come of it so far.
    pub fn outcome(&self) -> Outcome {
        let host = |&(part, place): &(usize, usize)| self.parts[part].hosts[place].driver.outcome();
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
            nodes: self.places.iter().map(host).collect(),
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

/// Runs all in one part to the end; why it ended.
fn run(whole: &mut Part, until: Time, watcher: &mut Watcher) -> Result<Finish, SimError> {
    loop {
        if whole.events.is_multiple_of(LOOK)
            && let Some(next) = whole.next().filter(|next| *next <= until)
        {
            if watcher.is_over() {
                return Ok(Finish::Stopped);
            }
            if whole.events.is_multiple_of(TELL) {
                // At that time more may come; all before it has happened.
                watcher.tell(next - Time::from_ps(1), until);
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
