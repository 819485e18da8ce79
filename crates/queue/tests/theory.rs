//! Queues whose means are known: with 100 seeds, 90 to 99 of the 95 % intervals must hold the true
//! value.

use node::Time;
use node::random::Random;
use queue::{Config, Decisions, Facts, Packet, fifo, prio};

const SEEDS: u64 = 100;
const BATCHES: usize = 20;
const BATCH: usize = 1_000;
/// Mean service time in bytes; a byte takes 1 ns.
const SERVICE: f64 = 100_000.0;
/// Student's t for 19 degrees of freedom, two-sided 95 %.
const T: f64 = 2.093;

fn exponential(random: &mut Random, mean: f64) -> f64 {
    -random.unit().ln() * mean
}

/// Waits of the packets in order of departure, in service times, or that each was lost, for a load
/// and a service distribution.
fn run(
    config: &Config,
    seed: u64,
    load: f64,
    service: impl Fn(&mut Random) -> f64,
    mut see: impl FnMut(&Packet, Option<f64>),
) {
    let mut queue = config.build(seed).unwrap();
    let mut random = Random::new(seed);
    let mut out = Decisions::new();
    let (mut arrives, mut free) = (0.0, Time::ZERO);
    for handle in 0..((BATCHES + 2) * BATCH) as u32 {
        arrives += exponential(&mut random, SERVICE / load);
        let at = Time::from_ns(arrives as u64);
        while let Some(leaves) = queue.next_time(free).filter(|next| *next <= at) {
            let packet = queue.dequeue(leaves, &mut out).unwrap();
            free = leaves + Time::from_ns(packet.len.into());
            let wait = packet.sojourn(leaves).as_ns() as f64 / SERVICE;
            see(&packet, Some(wait));
        }
        let facts = Facts {
            priority: random.below(2) as u8,
            ..Facts::default()
        };
        let len = service(&mut random).min(4e9) as u32;
        // A line that is idle serves at once.
        if queue.backlog().is_empty() {
            free = free.max(at);
        }
        queue.enqueue(at, Packet::new(handle, len, facts), &mut out);
        for decision in out.drain(..) {
            see(&decision.packet, None);
        }
    }
}

/// Whether the interval of the batches' means holds a value.
fn holds(values: &[f64], truth: f64) -> bool {
    // The first batch is warm-up.
    let len = values.len() / (BATCHES + 1);
    let batches = values[len..].chunks_exact(len).take(BATCHES);
    let means: Vec<f64> = batches
        .map(|batch| batch.iter().sum::<f64>() / len as f64)
        .collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (means.len() - 1) as f64 / means.len() as f64).sqrt();
    (mean - truth).abs() <= T * deviation
}

/// Counts the seeds whose interval holds.
fn check(name: &str, truth: f64, values: impl Fn(u64) -> Vec<f64>) {
    let held = (0..SEEDS)
        .filter(|seed| holds(&values(*seed), truth))
        .count();
    println!("{name}: {held} of {SEEDS} intervals hold {truth:.4}");
    assert!((90..=99).contains(&held), "{name}: {held}");
}

fn fifo(limit: u32) -> Config {
    Config::Fifo(fifo::Config {
        limit,
        ..fifo::Config::default()
    })
}

fn waits(config: &Config, seed: u64, load: f64, service: impl Fn(&mut Random) -> f64) -> Vec<f64> {
    let mut waits = Vec::new();
    run(config, seed, load, service, |_, wait| waits.extend(wait));
    waits
}

#[test]
fn waits_of_m_d_1_and_m_m_1_are_those_of_pollaczek_and_khinchin() {
    let queue = fifo(u32::MAX);
    let load = 0.6;
    check("M/D/1 mean wait", load / (2.0 * (1.0 - load)), |seed| {
        waits(&queue, seed, load, |_| SERVICE)
    });
    let exponential = |random: &mut Random| exponential(random, SERVICE);
    check("M/M/1 mean wait", load / (1.0 - load), |seed| {
        waits(&queue, seed, load, exponential)
    });
    // Distribution: Erlang's, below one service time 1 - (1 - rho) exp(rho t).
    check(
        "M/D/1 waits above 0.5",
        1.0 - (1.0 - load) * (0.5 * load).exp(),
        |seed| {
            let waits = waits(&queue, seed, load, |_| SERVICE).into_iter();
            waits.map(|wait| f64::from(wait > 0.5)).collect()
        },
    );
    // Distribution: a packet waits longer than t with probability rho exp(-(1 - rho) t).
    check(
        "M/M/1 waits above 2",
        load * (-2.0 * (1.0 - load)).exp(),
        |seed| {
            let waits = waits(&queue, seed, load, exponential).into_iter();
            waits.map(|wait| f64::from(wait > 2.0)).collect()
        },
    );
}

#[test]
fn loss_and_waits_of_m_m_1_k_are_those_of_its_states() {
    let (load, capacity) = (0.8_f64, 5);
    let truth = (1.0 - load) * load.powi(capacity) / (1.0 - load.powi(capacity + 1));
    // One packet is on the line.
    let queue = fifo(capacity as u32 - 1);
    check("M/M/1/5 loss", truth, |seed| {
        let mut lost = Vec::new();
        let service = |random: &mut Random| exponential(random, SERVICE);
        run(&queue, seed, load, service, |_, wait| {
            lost.push(f64::from(wait.is_none()));
        });
        lost
    });
    // Of those that are not lost each waits for the packets that it finds.
    let found = |n: i32| (1.0 - load) * load.powi(n) / (1.0 - load.powi(capacity + 1));
    let mean = (0..capacity).map(|n| f64::from(n) * found(n)).sum::<f64>() / (1.0 - truth);
    check("M/M/1/5 mean wait", mean, |seed| {
        let service = |random: &mut Random| exponential(random, SERVICE);
        waits(&queue, seed, load, service)
    });
}

#[test]
fn waits_of_two_priorities_are_those_of_cobham() {
    let load = 0.7;
    let queue = Config::Prio(prio::Config {
        bands: vec![fifo(u32::MAX); 2],
        priomap: vec![0, 1],
        ..prio::Config::default()
    });
    // Half of the load is of each; the residual service time of M/M/1 is the load.
    let high = load / (1.0 - load / 2.0);
    for (priority, truth) in [(0, high), (1, high / (1.0 - load))] {
        check(&format!("priority {priority} mean wait"), truth, |seed| {
            let mut waits = Vec::new();
            let service = |random: &mut Random| exponential(random, SERVICE);
            run(&queue, seed, load, service, |packet, wait| {
                waits.extend(wait.filter(|_| packet.facts.priority == priority));
            });
            waits
        });
    }
}
