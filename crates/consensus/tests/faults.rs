//! The nodes under loss, duplication, delay, reordering, partitions, processes that are killed and start again with and without memory, two
//! coordinators at once, and clocks that run at other rates: what clients saw is linearizable, and once faults stop, every client is answered.
//!
//! A seed is a run. Many: `PAXOS_RUNS=10000 cargo test -p wireline-consensus --test behaviour faults -- --nocapture`; one that failed:
//! `PAXOS_FROM=SEED PAXOS_RUNS=1`.

use crate::memory::Disk;
use consensus::acceptor::Cell;
use consensus::nodes::acceptor::{AcceptorNode, Memory};
use consensus::nodes::client::ClientNode;
use consensus::nodes::coordinator::CoordinatorNode;
use consensus::nodes::proposer::Proposer;
use consensus::nodes::replica::Replica;
use consensus::nodes::{acceptor, client, coordinator, proposer, replica};
use consensus::{Change, Command, Configuration, Instance, Key, Kind, Message, Sequencer, Value};
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

const WINDOW: usize = 16;
/// Where a message is in a frame.
const MESSAGE: usize = 42;
/// When faults stop, and when a run is given up.
const CALM: Time = Time::from_ms(80);
const END: Time = Time::from_ms(2_000);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    None,
    /// An acceptor votes below what it promised, and refuses above.
    Comparison,
    /// An acceptor does not keep what it voted for.
    VoteForgotten,
    /// One acceptor is a quorum.
    QuorumOfOne,
    /// An acceptor that lost its registers takes part at once.
    AdmittedAtOnce,
    /// An acceptor answers before its changes are durable.
    AnswersTooSoon,
    /// A coordinator uses a change of the members when a client asks for it.
    UsedBeforeDecided,
    /// A coordinator and a replica count votes by the old members after a change.
    OldQuorum,
}

/// A node whose process is killed at times, and started again at once.
struct Process<N> {
    node: N,
    start: Box<dyn Fn() -> N + Send>,
    /// The last first.
    kills: Vec<Time>,
}

impl<N: Node> Process<N> {
    fn new(mut kills: Vec<Time>, start: impl Fn() -> N + Send + 'static) -> Process<N> {
        kills.sort_by(|a, b| b.cmp(a));
        Process {
            node: start(),
            start: Box::new(start),
            kills,
        }
    }
}

impl<N: Node> Node for Process<N> {
    fn properties(&self) -> Properties {
        self.node.properties()
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        self.node.frames(now, port, frames, out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if self.kills.pop_if(|at| *at <= now).is_some() {
            self.node = (self.start)();
        }
        self.node.wake(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let kill = self.kills.last().copied();
        self.node.next_wake().into_iter().chain(kill).min()
    }

    fn statistics(&self) -> Statistics {
        self.node.statistics()
    }
}

/// An acceptor with a mistake.
struct Mistaken(AcceptorNode, Mistake);

impl Node for Mistaken {
    delegate!(properties wake next_wake statistics);

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        let promised = self.0.acceptor.promised;
        let mut above = false;
        if self.1 == Mistake::Comparison
            && let Ok(message) = Message::parse(&frames[0][MESSAGE..])
            && matches!(message.kind, Kind::Phase1A | Kind::Phase2A)
        {
            above = message.round > promised && promised != 0;
            self.0.acceptor.promised = message.round + u64::from(above);
        }
        self.0.frames(now, port, frames, out);
        if above {
            self.0.acceptor.promised = promised;
        }
        if self.1 == Mistake::VoteForgotten {
            self.0.acceptor.cells.fill(Cell::default());
        }
    }
}

/// A coordinator with a mistake.
struct MistakenCoordinator(CoordinatorNode, Mistake);

impl Node for MistakenCoordinator {
    delegate!(properties wake next_wake statistics);

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        let message = Message::parse(&frames[0][MESSAGE..]).ok();
        let message = message.unwrap_or(Message::new(Kind::Response));
        let (members, change) = (&message.value.value, Change::decode(&message.value.value));
        if self.1 == Mistake::OldQuorum && Configuration::decode(members).is_some() {
            frames.clear();
            return;
        }
        if self.1 == Mistake::UsedBeforeDecided
            && message.kind == Kind::Request
            && let Some(change) = change
        {
            let granted = Change {
                granted: true,
                ..change
            };
            let known = *self.0.coordinator.configuration();
            let at_once = known.changed(granted, Instance::MAX, 0);
            let mut at_once = at_once.unwrap_or(known);
            (at_once.since, at_once.from) = (0, 0);
            self.0.coordinator.learn(1, &at_once, &mut Vec::new());
        }
        self.0.frames(now, port, frames, out);
    }
}

/// A replica that counts votes by the members that it began with.
struct OldReplica(Replica, bool);

impl Node for OldReplica {
    delegate!(properties wake next_wake statistics);

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        if self.1 {
            self.0.learner.configure(Configuration::of(3));
        }
        self.0.frames(now, port, frames, out);
    }
}

/// A node that begins later.
struct Later<N>(N, Time);

impl<N: Node> Node for Later<N> {
    delegate!(properties frames wake statistics);

    fn next_wake(&self) -> Option<Time> {
        self.0.next_wake().map(|at| at.max(self.1))
    }
}

/// Changes of a group whose acceptors are 0, 1 and 2 at first, of five that there are: one or two
/// of them are replaced, and come back.
fn changes(random: &mut Random) -> Vec<Value> {
    let (old, new) = match random.below(2) {
        0 => (1 << random.below(3), 0b01000),
        _ => (0b111 & !(1 << random.below(3)), 0b11000),
    };
    // Whole sets, so that a refused change leaves no smaller set.
    let to = |acceptors: u8| Change {
        add: acceptors,
        remove: !acceptors,
        ..Change::default()
    };
    let first = 0b111;
    let all = [
        to(first & !old | new),
        to(first),
        to(first | new),
        to(first),
    ];
    all[..2 + random.below(3) as usize]
        .iter()
        .map(|change| change.encode())
        .collect()
}

/// A switch that orders requests, as the P4 program does: it changes the message that it has, and sends it on.
struct Switch {
    sequencer: Sequencer,
    /// When it starts again, and with which number; the host that hands over to it knows the first alone.
    restart: Option<(Time, u16)>,
    ordered: u64,
}

impl Node for Switch {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for mut frame in frames.drain(..) {
            let message: Option<Message<Command>> = Message::parse(&frame[MESSAGE..]).ok();
            match message.and_then(|message| self.sequencer.step(&message)) {
                Some(asked) => {
                    let mut bytes = frame[..MESSAGE].to_vec();
                    // No checksum, which UDP may do without.
                    bytes[40..MESSAGE].fill(0);
                    asked.build(&mut bytes);
                    frame.copy_from_slice(&bytes);
                    out.send(port, frame);
                    self.ordered += 1;
                }
                None => out.done(frame),
            }
        }
    }

    fn wake(&mut self, now: Time, _: &mut Out) {
        if let Some((_, number)) = self.restart.take_if(|(at, _)| *at <= now) {
            self.sequencer = Sequencer::new(number, WINDOW as u64);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.restart.map(|(at, _)| at)
    }

    fn statistics(&self) -> Statistics {
        [("ordered", self.ordered)].into()
    }
}

/// A node with a clock of its own.
struct Member {
    node: Box<dyn Node>,
    out: Out,
    /// Thousandths of the true rate.
    rate: u64,
    /// When it can be reached.
    cut: Vec<(Time, Time)>,
    /// On which side of the partition it is.
    side: bool,
}

impl Member {
    fn local(&self, at: Time) -> Time {
        Time::from_ps(at.as_ps() / 1000 * self.rate)
    }

    fn wakes(&self) -> Option<Time> {
        let local = self.node.next_wake()?.as_ps();
        Some(Time::from_ps(local.div_ceil(self.rate) * 1000))
    }
}

/// All nodes on one wire.
struct World {
    members: Vec<Member>,
    /// What arrives: when, in which order, at which node.
    flying: BTreeMap<(Time, u64), (usize, Frame)>,
    count: u64,
    random: Random,
    loss: f64,
    twice: f64,
    delay: u64,
    partitions: Vec<(Time, Time)>,
}

impl World {
    fn is_cut(&self, from: usize, to: usize, now: Time) -> bool {
        let during = |times: &[(Time, Time)]| times.iter().any(|(a, b)| (*a..*b).contains(&now));
        let (one, other) = (&self.members[from], &self.members[to]);
        during(&one.cut)
            || during(&other.cut)
            || (one.side != other.side && during(&self.partitions))
    }

    fn send(&mut self, from: usize, now: Time) {
        let frames: Vec<Frame> = self.members[from]
            .out
            .sends()
            .map(|sent| sent.frame)
            .collect();
        let stormy = now < CALM;
        for frame in frames {
            for to in (0..self.members.len()).filter(|to| *to != from) {
                let lost = self.is_cut(from, to, now) || (stormy && self.random.chance(self.loss));
                let copies = match lost {
                    true => 0,
                    false => 1 + u64::from(stormy && self.random.chance(self.twice)),
                };
                for _ in 0..copies {
                    let most = if stormy { self.delay } else { 50 };
                    let delay = Time::from_us(5 + self.random.below(most));
                    self.count += 1;
                    let copy = Frame::new(&frame);
                    self.flying.insert((now + delay, self.count), (to, copy));
                }
            }
        }
    }

    /// Until nothing happens any more that matters.
    fn run(&mut self, is_over: impl Fn(&World) -> bool) -> Time {
        loop {
            let wakes = self.members.iter().enumerate();
            let wakes = wakes.filter_map(|(number, member)| Some((member.wakes()?, number)));
            let (wake, number) = wakes.min().unwrap_or((Time::MAX, 0));
            let arrives = self
                .flying
                .first_key_value()
                .map_or(Time::MAX, |(key, _)| key.0);
            let now = wake.min(arrives);
            if now > END || (now > CALM && is_over(self)) {
                return now;
            }
            let number = match arrives <= wake {
                true => {
                    let Some((_, (to, frame))) = self.flying.pop_first() else {
                        return now;
                    };
                    let member = &mut self.members[to];
                    let local = member.local(now);
                    member
                        .node
                        .frames(local, Port(0), &mut vec![frame], &mut member.out);
                    to
                }
                false => {
                    let member = &mut self.members[number];
                    let local = member.local(now);
                    member.node.wake(local, &mut member.out);
                    number
                }
            };
            self.send(number, now);
        }
    }
}

/// What came of a run.
#[derive(Debug, PartialEq)]
enum Verdict {
    Good,
    /// What clients saw cannot be.
    NotLinearizable,
    /// Replicas have decided differently.
    Conflict,
    /// So many operations were not answered.
    Unanswered(u64),
}

fn stretch(random: &mut Random) -> (Time, Time) {
    let from = Time::from_us(random.below(70_000));
    (from, from + Time::from_us(random.below(30_000)))
}

/// When a process is killed: less than `most` times.
fn kills(random: &mut Random, most: u64) -> Vec<Time> {
    let count = random.below(most);
    (0..count)
        .map(|_| Time::from_us(random.below(80_000)))
        .collect()
}

fn run(seed: u64, mistake: Mistake) -> Verdict {
    let mut random = Random::new(seed);
    let mac = |number: u8| Mac([2, 0, 0, 0, 0, number]);
    let mut nodes: Vec<Box<dyn Node>> = Vec::new();
    // One acceptor has no stored state; a second one would lose the quorum. The others are killed and have it.
    let forgetful = random.below(3) as u16;
    // Mistakes about members show only in runs with changes.
    let about_members = matches!(mistake, Mistake::UsedBeforeDecided | Mistake::OldQuorum);
    // In a third of the runs the last one is auxiliary.
    let auxiliaries = usize::from(random.below(3) == 0 && !about_members);
    // In half of the runs a switch orders requests for each coordinator, and in some of these it starts again.
    let has_switches = random.below(2) == 0 && !about_members;
    // In half of the others the group has a key, which switches have not.
    let key = Key::parse(&"5a".repeat(16)).filter(|_| !has_switches && random.below(2) == 0);
    // In half of the groups without both, the members change; acceptors 3 and 4 are there from the
    // start.
    let can_change = !has_switches && auxiliaries == 0;
    let changes = match can_change && (random.below(2) == 0 || about_members) {
        true => changes(&mut random),
        false => Vec::new(),
    };
    for id in 0..if changes.is_empty() { 3 } else { 5 } {
        let kills = match id == forgetful {
            true => (0..random.below(3))
                .map(|n| Time::from_us(random.below(40_000) + n * 40_000))
                .collect(),
            false => kills(&mut random, 5),
        };
        let config = acceptor::Config {
            mac: mac(id as u8),
            id,
            auxiliary: auxiliaries > 0 && id == 2,
            key,
            window: WINDOW,
            ..Default::default()
        };
        let memory = match id == forgetful {
            true => Memory::Starts,
            false => Memory::All,
        };
        let disk = Disk::default();
        nodes.push(Box::new(Process::new(kills, move || {
            let node = AcceptorNode::new(config.clone()).unwrap();
            let disk = match mistake {
                Mistake::AdmittedAtOnce => Disk::default(),
                Mistake::AnswersTooSoon => disk.late(),
                _ => disk.clone(),
            };
            let node = node.keep_in(Box::new(disk), memory, 1).unwrap();
            Mistaken(node, mistake)
        })));
    }
    // One replica may lose its store, if it is not the only one that is waited for: what both lack is lost.
    let empties = random.below(4) as u16;
    let absence = Time::from_ms(if empties < 2 { 10_000 } else { 5 });
    for identity in 1..=2 {
        let switch = if has_switches { 10 + identity } else { 0 };
        let config = coordinator::Config {
            mac: mac(9 + identity as u8),
            identity,
            auxiliaries,
            replicas: 2,
            lease: Time::from_ms(3),
            window: WINDOW,
            absence,
            switch,
            key,
            ..Default::default()
        };
        let disk = Disk::default();
        nodes.push(Box::new(Process::new(kills(&mut random, 3), move || {
            let made = CoordinatorNode::new(config.clone()).unwrap();
            let mut made = made.keep_in(Box::new(disk.clone())).unwrap();
            if mistake == Mistake::QuorumOfOne {
                made.coordinator.quorum = Some(1);
            }
            let mistake = match identity {
                1 => mistake,
                _ => Mistake::None,
            };
            MistakenCoordinator(made, mistake)
        })));
        if has_switches {
            let restart = Time::from_us(random.below(80_000));
            nodes.push(Box::new(Switch {
                sequencer: Sequencer::new(switch, WINDOW as u64),
                restart: (random.below(3) == 0).then_some((restart, switch + 10)),
                ordered: 0,
            }));
        }
    }
    for id in 0..2 {
        let restarts = match id == empties {
            true => vec![Time::from_us(random.below(80_000))],
            false => Vec::new(),
        };
        let config = replica::Config {
            mac: mac(20 + id as u8),
            key,
            id,
            window: WINDOW,
            restarts,
            ..Default::default()
        };
        let disk = Disk::default();
        nodes.push(Box::new(Process::new(kills(&mut random, 3), move || {
            let made = Replica::new(config.clone()).unwrap();
            let mut made = made.keep_in(Box::new(disk.clone())).unwrap();
            if mistake == Mistake::QuorumOfOne {
                made.learner.quorum = Some(1);
            }
            OldReplica(made, mistake == Mistake::OldQuorum && id == 0)
        })));
    }
    let clients = nodes.len();
    let config = client::Config {
        mac: mac(30),
        clients: 4,
        count: 12,
        keys: 2,
        pause: Time::from_us(random.below(8_000)),
        seed: random.bits(),
        key,
        nonce: (random.below(2) == 0).then(|| u128::from(random.bits()) << 64),
        ..Default::default()
    };
    nodes.push(Box::new(ClientNode::new(config).unwrap()));
    let changing = nodes.len();
    let all_changes = changes.len() as u64;
    if !changes.is_empty() {
        let config = proposer::Config {
            mac: mac(40),
            key,
            nonce: u128::from(random.bits()),
            timeout: Time::from_ms(5),
            ..Default::default()
        };
        let asks = Proposer::new(config, changes, Box::new(|_| {})).unwrap();
        let from = Time::from_us(1 + random.below(60_000));
        nodes.push(Box::new(Later(asks, from)));
    }
    let members = nodes.into_iter().enumerate().map(|(number, node)| Member {
        node,
        out: Out::default(),
        // One wire, one clock: that of the clients tells what came before what.
        rate: if number == clients {
            1000
        } else {
            800 + random.below(400)
        },
        cut: (0..random.below(3)).map(|_| stretch(&mut random)).collect(),
        side: random.below(2) == 0,
    });
    let members = members.collect();
    let mut world = World {
        members,
        flying: BTreeMap::new(),
        count: 0,
        loss: random.unit() * 0.2,
        twice: random.unit() * 0.2,
        delay: random.below(4_000) + 20,
        partitions: (0..random.below(3)).map(|_| stretch(&mut random)).collect(),
        random,
    };
    let counter = |member: &Member, name: &str| member.node.statistics().get(name).unwrap_or(0);
    let asked = u64::from(4 * 12u32);
    world.run(|world| {
        world.members[clients..]
            .iter()
            .all(|one| one.wakes().is_none())
    });
    let statistics = world.members[clients].node.statistics();
    let conflicts: u64 = world
        .members
        .iter()
        .map(|member| counter(member, "conflicts"))
        .sum();
    let changed = world.members.get(changing);
    let changed = changed.map_or(0, |member| counter(member, "answered"));
    let left = asked - statistics.get("answered").unwrap_or(0) + all_changes - changed;
    if mistake == Mistake::None && left > 0 {
        for member in &world.members {
            eprintln!("{:?}", member.node.statistics().counters);
        }
    }
    if statistics.get("linearizable") != Some(1) {
        Verdict::NotLinearizable
    } else if conflicts > 0 {
        Verdict::Conflict
    } else if left > 0 {
        Verdict::Unanswered(left)
    } else {
        Verdict::Good
    }
}

pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

#[test]
fn faults_break_nothing_and_once_they_stop_all_is_decided() {
    let from = number("PAXOS_FROM").unwrap_or(0);
    let to = from + number("PAXOS_RUNS").unwrap_or(100);
    let next = AtomicU64::new(from);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= to {
                        return;
                    }
                    let verdict = run(seed, Mistake::None);
                    assert_eq!(
                        verdict,
                        Verdict::Good,
                        "with PAXOS_FROM={seed} PAXOS_RUNS=1"
                    );
                }
            });
        }
    });
    println!("{} runs, all linearizable, all decided", to - from);
}

#[test]
fn seeded_mistakes_are_found_by_faults() {
    for mistake in [
        Mistake::Comparison,
        Mistake::VoteForgotten,
        Mistake::QuorumOfOne,
        Mistake::AdmittedAtOnce,
        Mistake::AnswersTooSoon,
        Mistake::UsedBeforeDecided,
        Mistake::OldQuorum,
    ] {
        // That the group stops is a mistake found as well.
        let wrong =
            |seed: u64| Some((seed, run(seed, mistake))).filter(|run| run.1 != Verdict::Good);
        let found = (0..300).find_map(wrong);
        let (seed, verdict) = found.unwrap_or_else(|| panic!("{mistake:?} was not found"));
        println!("{mistake:?}: found by seed {seed}: {verdict:?}");
    }
}

#[test]
fn a_seed_repeats_its_run() {
    let mut runs = (0..2).map(|_| run(7, Mistake::VoteForgotten));
    assert_eq!(runs.next(), runs.next());
}
