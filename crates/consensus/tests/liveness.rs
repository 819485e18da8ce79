//! A group on a machine that is busy: each frame costs a member time, so that messages wait in
//! front of it, as datagrams do in front of a process. Members are killed, paused and cut off;
//! after the last fault the group has to answer within a bounded time.
//!
//! The other random faults have members that take no time, where any number of repeated questions
//! is free. Here they take time that answers need: a member that asks again while the answer waits
//! in its own queue makes that queue longer.
//!
//! Each seed is a run. `LIVENESS_RUNS=1000 cargo test -p wireline-consensus --test behaviour
//! liveness` does a thousand; `LIVENESS_FROM=SEED LIVENESS_RUNS=1` repeats one that failed.

use crate::faults::number;
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

/// Time of the last fault's end, and of the end of a run.
const CALM: Time = Time::from_secs(3);
const END: Time = Time::from_secs(7);
/// Longest time without any answer, and longest wait of one operation, after faults have ended.
const MAX_PAUSE: Time = Time::from_secs(2);
const MAX_WAIT: Time = Time::from_ms(3_500);
/// Fewest answers from then on: a third of what members have time for.
const MIN_ANSWERED: u64 = 160;
/// Frames that wait in front of a member at most, and frames of one call.
const QUEUE: usize = 4096;
const BATCH: usize = 64;
/// Timeout of a client.
const AGAIN: Time = Time::from_ms(50);

const ACCEPTORS: usize = 3;
const MEMBERS: usize = ACCEPTORS + 4;
const CLIENTS: usize = MEMBERS;

type Start = Box<dyn Fn() -> Box<dyn Node>>;

/// A process.
struct Process {
    node: Box<dyn Node>,
    start: Start,
    out: Out,
    /// Waiting frames, each with its time of arrival.
    queue: VecDeque<(Time, Frame)>,
    /// End of its current work or of its pause.
    free: Time,
    /// End of its partition.
    cut: Time,
}

impl Process {
    fn new(start: impl Fn() -> Box<dyn Node> + 'static) -> Process {
        Process {
            node: start(),
            start: Box::new(start),
            out: Out::default(),
            queue: VecDeque::new(),
            free: Time::ZERO,
            cut: Time::ZERO,
        }
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

/// Clients, with what they saw.
struct Watched(ClientNode, Arc<Mutex<Vec<Entry>>>);

impl Node for Watched {
    delegate!(properties frames wake next_wake);

    fn statistics(&self) -> Statistics {
        *self.1.lock().unwrap() = self.0.history().entries.clone();
        self.0.statistics()
    }
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Killed, and started again after the time.
    Kill(usize),
    KillAll,
    Pause(usize),
    Cut(usize),
    /// Two acceptors are cut off.
    Majority(usize),
}

impl Fault {
    fn random(random: &mut Random) -> Fault {
        let one = random.below(MEMBERS as u64) as usize;
        match random.below(6) {
            0 | 1 => Fault::Kill(one),
            2 => Fault::Pause(one),
            3 => Fault::Cut(one),
            4 => Fault::Majority(one),
            _ => Fault::KillAll,
        }
    }
}

fn strike(processes: &mut [Process], fault: Fault, now: Time, until: Time) {
    let kill = |process: &mut Process| {
        process.node = (process.start)();
        process.queue.clear();
        process.free = until;
    };
    match fault {
        Fault::Kill(one) => kill(&mut processes[one]),
        Fault::KillAll => processes[..MEMBERS].iter_mut().for_each(kill),
        Fault::Pause(one) => processes[one].free = processes[one].free.max(now).max(until),
        Fault::Cut(one) => processes[one].cut = until,
        Fault::Majority(one) => {
            for away in [one, one + 1] {
                processes[away % ACCEPTORS].cut = until;
            }
        }
    }
}

fn group(random: &mut Random, seen: &Arc<Mutex<Vec<Entry>>>) -> Vec<Process> {
    let mac = |number: u8| Mac([2, 0, 0, 0, 0, number]);
    let mut processes = Vec::new();
    for id in 0..ACCEPTORS as u16 {
        let config = acceptor::Config {
            mac: mac(id as u8),
            id,
            ..Default::default()
        };
        let disk = Disk::default();
        processes.push(Process::new(move || {
            let node = AcceptorNode::new(config.clone()).unwrap();
            Box::new(
                node.keep_in(Box::new(disk.clone()), Memory::All, 1)
                    .unwrap(),
            )
        }));
    }
    // The timers of members on hosts.
    for identity in 1..=2 {
        let config = coordinator::Config {
            mac: mac(9 + identity as u8),
            identity,
            replicas: 2,
            lease: Time::from_ms(300),
            retry: Time::from_ms(20),
            absence: Time::from_secs(2),
            ..Default::default()
        };
        let disk = Disk::default();
        processes.push(Process::new(move || {
            let node = CoordinatorNode::new(config.clone()).unwrap();
            Box::new(node.keep_in(Box::new(disk.clone())).unwrap())
        }));
    }
    for id in 0..2 {
        let config = replica::Config {
            mac: mac(20 + id as u8),
            id,
            report: Time::from_ms(10),
            idle_report: Time::from_ms(200),
            ..Default::default()
        };
        let disk = Disk::default();
        processes.push(Process::new(move || {
            let node = Replica::new(config.clone()).unwrap();
            Box::new(node.keep_in(Box::new(disk.clone())).unwrap())
        }));
    }
    let config = client::Config {
        mac: mac(30),
        clients: 24,
        count: 40_000,
        timeout: AGAIN,
        seed: random.bits(),
        ..Default::default()
    };
    let seen = seen.clone();
    processes.push(Process::new(move || {
        Box::new(Watched(
            ClientNode::new(config.clone()).unwrap(),
            seen.clone(),
        ))
    }));
    processes
}

/// Operations of the clients in a run.
#[derive(Debug, PartialEq)]
struct Seen {
    linearizable: bool,
    answered: u64,
    /// Longest time without an answer, after faults have ended.
    pause: Time,
    /// Longest wait for the answer to an operation, from when faults have ended.
    wait: Time,
}

fn run(seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let seen = Arc::default();
    let mut processes = group(&mut random, &seen);
    // Of a debug build on a machine with other work: the load of these clients leaves half of it.
    let cost = Time::from_us(300 + random.below(300));
    let mut faults = Vec::new();
    let mut at = Time::from_ms(300);
    while at < CALM {
        let until = (at + Time::from_ms(50 + random.below(1_000))).min(CALM);
        faults.push((at, until, Fault::random(&mut random)));
        at = until + Time::from_ms(random.below(400));
    }
    let mut faults = VecDeque::from(faults);
    loop {
        let next = processes.iter().enumerate();
        let next = next.filter_map(|(number, process)| Some((process.next()?, number)));
        let (mut now, number) = next.min().unwrap();
        if let Some((at, until, fault)) = faults.pop_front_if(|(at, ..)| *at <= now) {
            strike(&mut processes, fault, at, until);
            continue;
        }
        if now > END {
            break;
        }
        let (sent, handled) = processes[number].act(now);
        now += Time::from_ps(cost.as_ps() * handled);
        processes[number].free = now;
        for frame in &sent {
            for to in 0..processes.len() {
                let away = processes[number].cut.max(processes[to].cut) > now;
                let receiver = &mut processes[to];
                if !away && receiver.queue.len() < QUEUE {
                    let at = now + Time::from_us(50 + random.below(100));
                    // One link after the other: in order.
                    let at = receiver.queue.back().map_or(at, |(last, _)| at.max(*last));
                    receiver.queue.push_back((at, Frame::new(frame)));
                }
            }
        }
    }
    let statistics = processes[CLIENTS].node.statistics();
    if std::env::var_os("LIVENESS_RUNS").is_some() {
        for process in &processes {
            eprintln!("{:?}", process.node.statistics().counters);
        }
    }
    let seen = seen.lock().unwrap();
    let mut answers: Vec<Time> = seen
        .iter()
        .filter_map(|entry| Some(Time::from_ps(entry.answered?.0)))
        .filter(|at| *at > CALM)
        .collect();
    answers.sort();
    let ends = answers.iter().copied().chain([END]);
    let begins = [CALM].into_iter().chain(answers.iter().copied());
    let waits = seen.iter().map(|entry| {
        let end = entry.answered.map_or(END, |(at, _)| Time::from_ps(at));
        end - Time::from_ps(entry.asked).max(CALM).min(end)
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

#[test]
fn a_busy_group_answers_within_a_bounded_time_once_faults_have_ended() {
    let from = number("LIVENESS_FROM").unwrap_or(0);
    let to = from + number("LIVENESS_RUNS").unwrap_or(4);
    let mut failed = Vec::new();
    for seed in from..to {
        let seen = run(seed);
        println!("seed {seed}: {seen:?}");
        let is_slow = seen.answered < MIN_ANSWERED;
        if !seen.linearizable || is_slow || seen.pause > MAX_PAUSE || seen.wait > MAX_WAIT {
            failed.push((seed, seen));
        }
    }
    assert!(
        failed.is_empty(),
        "LIVENESS_FROM=SEED LIVENESS_RUNS=1 with {failed:#?}"
    );
}
