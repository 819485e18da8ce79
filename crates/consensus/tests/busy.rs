//! A group on a busy machine: each frame costs a member processing time, so messages queue at its
//! socket. Members are killed, paused, partitioned and slowed down.

use crate::memory::Disk;
use consensus::history::Entry;
use consensus::nodes::acceptor::{self, AcceptorNode, Memory};
use consensus::nodes::client::{self, ClientNode};
use consensus::nodes::coordinator::{self, CoordinatorNode};
use consensus::nodes::replica::{self, Replica};
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::Mac;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Maximum length of a member's receive queue, and of a batch, in frames.
const QUEUE: usize = 4096;
const BATCH: usize = 64;
/// Timeout of a client.
const AGAIN: Time = Time::from_ms(50);
/// How many times slower a slow member is.
const SLOWER: u64 = 6;

type Start = Box<dyn Fn() -> Box<dyn Node>>;

/// A process.
pub struct Process {
    pub node: Box<dyn Node>,
    start: Start,
    out: Out,
    /// Waiting frames, each with its time of arrival.
    queue: VecDeque<(Time, Frame)>,
    /// End of its current work or of its pause.
    free: Time,
    /// End of its partition.
    cut: Time,
    /// End of a time in which it works more slowly.
    slow: Time,
}

impl Process {
    pub fn new(start: impl Fn() -> Box<dyn Node> + 'static) -> Process {
        Process {
            node: start(),
            start: Box::new(start),
            out: Out::default(),
            queue: VecDeque::new(),
            free: Time::ZERO,
            cut: Time::ZERO,
            slow: Time::ZERO,
        }
    }

    /// Kills it. It starts again at `until`.
    pub fn kill(&mut self, until: Time) {
        self.node = (self.start)();
        self.queue.clear();
        self.free = until;
    }

    /// Stops it until then.
    pub fn pause(&mut self, now: Time, until: Time) {
        self.free = self.free.max(now).max(until);
    }

    /// Cuts it off from all others until then.
    pub fn cut(&mut self, until: Time) {
        self.cut = until;
    }

    /// Has it work more slowly until then.
    pub fn slow(&mut self, until: Time) {
        self.slow = until;
    }

    /// Time of its next action.
    fn next(&self) -> Option<Time> {
        let arrived = self.queue.front().map(|(at, _)| *at);
        let due = arrived.into_iter().chain(self.node.next_wake()).min();
        due.map(|due| due.max(self.free))
    }

    /// Handles the frames and the wake-up that are due. Returns the frames it sends, and the number handled.
    fn act(&mut self, now: Time) -> (Vec<Frame>, u64) {
        let arrived = self.queue.iter().take(BATCH);
        let count = arrived.take_while(|(at, _)| *at <= now).count();
        let mut frames: Vec<Frame> = self.queue.drain(..count).map(|(_, frame)| frame).collect();
        if count > 0 {
            self.node.frames(now, Port(0), &mut frames, &mut self.out);
        }
        if self.node.next_wake().is_some_and(|at| at <= now) {
            self.node.wake(now, &mut self.out);
        }
        let sent: Vec<Frame> = self.out.sends().map(|sent| sent.frame).collect();
        let handled = (count + sent.len()) as u64;
        (sent, handled)
    }
}

/// Processes that hear each other.
pub struct World {
    pub processes: Vec<Process>,
    /// Time that a process needs for a frame.
    pub cost: Time,
    /// Part of the frames that are lost until `calm`.
    pub loss: f64,
    pub calm: Time,
    pub random: Random,
}

impl World {
    /// Runs until `end`. `strike` does what is due at a time, if anything is, and says so.
    pub fn run(&mut self, end: Time, mut strike: impl FnMut(&mut World, Time) -> bool) {
        loop {
            let next = self.processes.iter().enumerate();
            let next = next.filter_map(|(number, process)| Some((process.next()?, number)));
            let (now, number) = next.min().unwrap();
            if strike(self, now) {
                continue;
            }
            if now > end {
                return;
            }
            self.act(number, now);
        }
    }

    fn act(&mut self, number: usize, now: Time) {
        let sender = &mut self.processes[number];
        let (sent, handled) = sender.act(now);
        let times = if now < sender.slow { SLOWER } else { 1 };
        let now = now + Time::from_ps(self.cost.as_ps() * handled * times);
        sender.free = now;
        let cut = sender.cut;
        for frame in &sent {
            for receiver in &mut self.processes {
                let away = cut.max(receiver.cut) > now;
                let is_lossy = self.loss > 0.0 && now < self.calm;
                let is_lost = is_lossy && self.random.chance(self.loss);
                if !away && !is_lost && receiver.queue.len() < QUEUE {
                    let at = now + Time::from_us(50 + self.random.below(100));
                    // One link after the other: in order.
                    let at = receiver.queue.back().map_or(at, |(last, _)| at.max(*last));
                    receiver.queue.push_back((at, Frame::new(frame)));
                }
            }
        }
    }
}

/// A MAC address by its last byte.
pub fn mac(number: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, number])
}

/// An acceptor that keeps its memory, or only the number of its starts.
pub fn acceptor(id: u16, window: usize, memory: Memory) -> Process {
    let config = acceptor::Config {
        mac: mac(id as u8),
        id,
        window,
        ..Default::default()
    };
    let disk = Disk::default();
    Process::new(move || {
        let node = AcceptorNode::new(config.clone()).unwrap();
        Box::new(node.keep_in(Box::new(disk.clone()), memory, 1).unwrap())
    })
}

/// A coordinator with the timers of members on hosts.
pub fn coordinator(identity: u16, window: usize) -> Process {
    let config = coordinator::Config {
        mac: mac(9 + identity as u8),
        identity,
        replicas: 2,
        window,
        lease: Time::from_ms(300),
        retry: Time::from_ms(20),
        absence: Time::from_secs(2),
        ..Default::default()
    };
    let disk = Disk::default();
    Process::new(move || {
        let node = CoordinatorNode::new(config.clone()).unwrap();
        Box::new(node.keep_in(Box::new(disk.clone())).unwrap())
    })
}

/// A replica with the timers of members on hosts.
pub fn replica(id: u16, window: usize) -> Process {
    let config = replica::Config {
        mac: mac(20 + id as u8),
        id,
        window,
        report: Time::from_ms(10),
        idle_report: Time::from_ms(500),
        ..Default::default()
    };
    let disk = Disk::default();
    Process::new(move || {
        let node = Replica::new(config.clone()).unwrap();
        Box::new(node.keep_in(Box::new(disk.clone())).unwrap())
    })
}

/// 24 clients, which note what they see.
pub fn clients(seed: u64, seen: &Arc<Mutex<Vec<Entry>>>) -> Process {
    let config = client::Config {
        mac: mac(30),
        clients: 24,
        count: 40_000,
        timeout: AGAIN,
        seed,
        ..Default::default()
    };
    let seen = seen.clone();
    Process::new(move || {
        Box::new(Watched(
            ClientNode::new(config.clone()).unwrap(),
            seen.clone(),
        ))
    })
}

/// Clients, with what they saw.
struct Watched(ClientNode, Arc<Mutex<Vec<Entry>>>);

impl Node for Watched {
    delegate!(properties frames wake next_wake);

    fn statistics(&self) -> Statistics {
        *self.1.lock().unwrap() = self.0.history().entries.clone();
        self.0.statistics()
    }
}

/// Operations of the clients in a run.
#[derive(Debug, PartialEq)]
pub struct Seen {
    pub linearizable: bool,
    pub answered: u64,
    /// Longest time without an answer, after faults have ended.
    pub pause: Time,
    /// Longest wait for the answer to an operation, from when faults have ended.
    pub wait: Time,
}

impl Seen {
    /// The clients' history from `calm` to `end`.
    pub fn of(clients: &Process, entries: &Mutex<Vec<Entry>>, (calm, end): (Time, Time)) -> Seen {
        let statistics = clients.node.statistics();
        let seen = entries.lock().unwrap();
        let mut answers: Vec<Time> = seen
            .iter()
            .filter_map(|entry| Some(Time::from_ps(entry.answered?.0)))
            .filter(|at| *at > calm)
            .collect();
        answers.sort();
        let ends = answers.iter().copied().chain([end]);
        let begins = [calm].into_iter().chain(answers.iter().copied());
        let waits = seen.iter().map(|entry| {
            let answered = entry.answered.map_or(end, |(at, _)| Time::from_ps(at));
            answered - Time::from_ps(entry.asked).max(calm).min(answered)
        });
        Seen {
            linearizable: statistics.get("linearizable") == Some(1),
            answered: answers.len() as u64,
            pause: ends
                .zip(begins)
                .map(|(end, begin)| end - begin)
                .max()
                .unwrap(),
            wait: waits.max().unwrap(),
        }
    }
}
