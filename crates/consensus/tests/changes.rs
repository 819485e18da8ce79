//! Members that change under faults, on a busy machine: acceptors and replicas are added, removed
//! and replaced at random times, while messages are lost, members are killed, paused, cut off or
//! slow, and two coordinators take over from each other. After the last fault commands are answered
//! within a bounded time, and another change applies.
//!
//! Each seed is a run. `CHANGES_RUNS=1000 cargo test -p wireline-consensus --test behaviour changes`
//! does a thousand; `CHANGES_FROM=SEED CHANGES_RUNS=1` repeats one that failed.

use crate::busy::{Process, Seen, World, acceptor, clients, coordinator, mac, replica};
use crate::faults::number;
use consensus::Change;
use consensus::nodes::acceptor::Memory;
use consensus::nodes::proposer::{self, Proposer};
use consensus::store::Answer;
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Time of the last fault's end, of another change after that, and of the end of a run.
const CALM: Time = Time::from_secs(4);
const LAST: Time = Time::from_secs(6);
const END: Time = Time::from_secs(10);
/// Longest time without any answer, and longest wait of one operation, after the last fault: the
/// back-off of a client reaches 3.2 s.
const MAX_PAUSE: Time = Time::from_secs(3);
const MAX_WAIT: Time = Time::from_ms(3_500);
/// Fewest answers from then on.
const MIN_ANSWERED: u64 = 160;

const ACCEPTORS: usize = 5;
const REPLICAS: usize = 3;
const COORDINATORS: usize = 2;
const MEMBERS: usize = ACCEPTORS + COORDINATORS + REPLICAS;
const CLIENTS: usize = MEMBERS;
const OPERATOR: usize = MEMBERS + 1;
/// In some runs this acceptor, which stays a member, loses its memory at each start.
const FORGETFUL: u16 = 2;

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Killed, and started again after the time.
    Kill(usize),
    KillAll,
    Pause(usize),
    Cut(usize),
    /// Two acceptors are cut off.
    Two(usize, usize),
    Slow(usize),
    Change(Change),
}

impl Fault {
    fn random(random: &mut Random, forgets: bool) -> Fault {
        let one = random.below(MEMBERS as u64) as usize;
        let mut acceptor = || random.below(ACCEPTORS as u64) as usize;
        let two = (acceptor(), acceptor());
        match random.below(10) {
            0 | 1 => Fault::Kill(one),
            2 => Fault::Pause(one),
            3 => Fault::Cut(one),
            4 => Fault::Two(two.0, two.1),
            5 => Fault::KillAll,
            6 => Fault::Slow(one),
            _ => Fault::Change(change(random, forgets)),
        }
    }

    fn strike(self, world: &mut World, (now, until): (Time, Time), came: &Outcome) {
        let processes = &mut world.processes;
        match self {
            Fault::Kill(one) => processes[one].kill(until),
            Fault::KillAll => (processes[..MEMBERS].iter_mut()).for_each(|one| one.kill(until)),
            Fault::Pause(one) => processes[one].pause(now, until),
            Fault::Cut(one) => processes[one].cut(until),
            Fault::Two(one, other) => [one, other]
                .into_iter()
                .for_each(|away| processes[away].cut(until)),
            Fault::Slow(one) => processes[one].slow(until),
            Fault::Change(change) => {
                let operator = Operator::new(change, world.random.bits(), came);
                processes[OPERATOR].node = Box::new(operator);
                processes[OPERATOR].pause(now, now);
            }
        }
    }
}

/// A change of the members: of any acceptors while all have a memory, else to any three with the
/// forgetful one; and of replicas, one of which stays.
fn change(random: &mut Random, forgets: bool) -> Change {
    let (mut add, mut remove) = (random.below(32) as u8, random.below(32) as u8);
    if forgets {
        add = 1 << FORGETFUL;
        while add.count_ones() < 3 {
            add |= 1 << random.below(ACCEPTORS as u64);
        }
        remove = 0b1_1111;
    }
    let stays = 1 << random.below(REPLICAS as u64);
    let add_replicas = random.below(1 << REPLICAS) as u16 | stays;
    let remove_replicas = random.below(1 << REPLICAS) as u16 & !add_replicas;
    let acceptors = Change {
        add,
        remove: remove & !add,
        ..Change::default()
    };
    match random.below(3) {
        0 => acceptors,
        1 => Change {
            add: 0,
            remove: 0,
            add_replicas,
            remove_replicas,
            ..acceptors
        },
        _ => Change {
            add_replicas,
            remove_replicas,
            ..acceptors
        },
    }
}

/// Result of the last change that was asked for.
type Outcome = Arc<Mutex<Option<Changed>>>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Changed {
    Applied,
    Refused,
}

/// Does what `wire paxos members` does: asks for a change, and then for the members until it applies.
struct Operator(Proposer, Outcome);

impl Operator {
    fn new(change: Change, nonce: u64, came: &Outcome) -> Operator {
        *came.lock().unwrap() = None;
        let config = proposer::Config {
            mac: mac(40),
            nonce: u128::from(nonce),
            timeout: Time::from_ms(100),
            ..Default::default()
        };
        let questions = std::iter::repeat_n(Change::default().encode(), 1 << 12);
        let values = std::iter::once(change.encode()).chain(questions).collect();
        let noted = came.clone();
        let tell = move |answer: proposer::Answered| {
            let Some(Answer::Members(members)) = Answer::decode(&answer.answer) else {
                return;
            };
            let mut came = noted.lock().unwrap();
            match members.refused {
                Some(_) => *came = Some(Changed::Refused),
                None if !members.pending => *came = came.or(Some(Changed::Applied)),
                None => {}
            }
        };
        Operator(
            Proposer::new(config, values, Box::new(tell)).unwrap(),
            came.clone(),
        )
    }

    fn is_over(&self) -> bool {
        self.1.lock().unwrap().is_some()
    }
}

impl Node for Operator {
    delegate!(properties wake statistics);

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        match self.is_over() {
            true => frames.clear(),
            false => self.0.frames(now, port, frames, out),
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.0.next_wake().filter(|_| !self.is_over())
    }
}

fn run(seed: u64) -> (Seen, Option<Changed>) {
    let mut random = Random::new(seed);
    let seen = Arc::default();
    let window = [16, 64, 256][random.below(3) as usize];
    let forgets = random.below(3) == 0;
    let mut processes: Vec<Process> = (0..ACCEPTORS as u16)
        .map(|id| match forgets && id == FORGETFUL {
            true => acceptor(id, window, Memory::Starts),
            false => acceptor(id, window, Memory::All),
        })
        .collect();
    processes.extend((1..=COORDINATORS as u16).map(|identity| coordinator(identity, window)));
    processes.extend((0..REPLICAS as u16).map(|id| replica(id, window)));
    processes.push(clients(random.bits(), &seen));
    processes.push(Process::new(|| {
        Box::new(Proposer::new(proposer::Config::default(), Vec::new(), Box::new(|_| {})).unwrap())
    }));
    let cost = Time::from_us(100 + random.below(200));
    let mut faults = VecDeque::new();
    let mut at = Time::from_ms(300);
    while at < CALM {
        let until = (at + Time::from_ms(50 + random.below(1_000))).min(CALM);
        faults.push_back((at, until, Fault::random(&mut random, forgets)));
        at += Time::from_ms(random.below(700));
    }
    faults.push_back((LAST, LAST, Fault::Change(change(&mut random, forgets))));
    let mut world = World {
        processes,
        cost,
        loss: random.unit() * 0.05,
        calm: CALM,
        random,
    };
    let came = Outcome::default();
    let is_one = std::env::var_os("CHANGES_FROM").is_some();
    world.run(END, |world, now| {
        let due = faults.pop_front_if(|(at, ..)| *at <= now);
        if let Some((at, until, fault)) = due {
            if is_one {
                eprintln!("{at} to {until}: {fault:?}, before: {came:?}");
            }
            fault.strike(world, (at.max(now), until), &came);
        }
        due.is_some()
    });
    if is_one {
        for process in &world.processes {
            eprintln!("{:?}", process.node.statistics().counters);
        }
    }
    let came = *came.lock().unwrap();
    (
        Seen::of(&world.processes[CLIENTS], &seen, (CALM, END)),
        came,
    )
}

#[test]
fn a_group_whose_members_change_answers_within_a_bounded_time_once_faults_have_ended() {
    let from = number("CHANGES_FROM").unwrap_or(0);
    let to = from + number("CHANGES_RUNS").unwrap_or(10);
    let mut failed = Vec::new();
    for seed in from..to {
        let (seen, came) = run(seed);
        println!("seed {seed}: {seen:?} {came:?}");
        let is_slow = seen.answered < MIN_ANSWERED;
        let is_late = seen.pause > MAX_PAUSE || seen.wait > MAX_WAIT;
        if !seen.linearizable || is_slow || is_late || came.is_none() {
            failed.push((seed, seen, came));
        }
    }
    assert!(
        failed.is_empty(),
        "CHANGES_FROM=SEED CHANGES_RUNS=1 with {failed:#?}"
    );
}
