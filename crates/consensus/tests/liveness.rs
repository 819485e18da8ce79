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

use crate::busy::{Process, Seen, World, acceptor, clients, coordinator, replica};
use crate::faults::number;
use consensus::nodes::acceptor::Memory;
use node::Time;
use node::random::Random;
use std::collections::VecDeque;
use std::sync::Arc;

/// Time of the last fault's end, and of the end of a run.
const CALM: Time = Time::from_secs(3);
const END: Time = Time::from_secs(7);
/// Longest time without any answer, and longest wait of one operation, after faults have ended.
const MAX_PAUSE: Time = Time::from_secs(2);
const MAX_WAIT: Time = Time::from_ms(3_500);
/// Fewest answers from then on: a third of what members have time for.
const MIN_ANSWERED: u64 = 160;

const WINDOW: usize = 1024;
const ACCEPTORS: usize = 3;
const MEMBERS: usize = ACCEPTORS + 4;
const CLIENTS: usize = MEMBERS;

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
    match fault {
        Fault::Kill(one) => processes[one].kill(until),
        Fault::KillAll => (processes[..MEMBERS].iter_mut()).for_each(|one| one.kill(until)),
        Fault::Pause(one) => processes[one].pause(now, until),
        Fault::Cut(one) => processes[one].cut(until),
        Fault::Majority(one) => {
            for away in [one, one + 1] {
                processes[away % ACCEPTORS].cut(until);
            }
        }
    }
}

fn run(seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let seen = Arc::default();
    let mut processes: Vec<Process> = (0..ACCEPTORS as u16)
        .map(|id| acceptor(id, WINDOW, Memory::All))
        .collect();
    processes.extend((1..=2).map(|identity| coordinator(identity, WINDOW)));
    processes.extend((0..2).map(|id| replica(id, WINDOW)));
    processes.push(clients(random.bits(), &seen));
    // Of a debug build on a machine with other work: the load of these clients leaves half of it.
    let cost = Time::from_us(300 + random.below(300));
    let mut faults = VecDeque::new();
    let mut at = Time::from_ms(300);
    while at < CALM {
        let until = (at + Time::from_ms(50 + random.below(1_000))).min(CALM);
        faults.push_back((at, until, Fault::random(&mut random)));
        at = until + Time::from_ms(random.below(400));
    }
    let mut world = World {
        processes,
        cost,
        loss: 0.0,
        calm: CALM,
        random,
    };
    world.run(END, |world, now| {
        let due = faults.pop_front_if(|(at, ..)| *at <= now);
        if let Some((at, until, fault)) = due {
            strike(&mut world.processes, fault, at, until);
        }
        due.is_some()
    });
    if std::env::var_os("LIVENESS_RUNS").is_some() {
        for process in &world.processes {
            eprintln!("{:?}", process.node.statistics().counters);
        }
    }
    Seen::of(&world.processes[CLIENTS], &seen, (CALM, END))
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
