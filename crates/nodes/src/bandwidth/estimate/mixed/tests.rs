//! Paths of stores with others' packets at one of them, and applications' packets of several mixes of lengths.

use crate::bandwidth::estimate::{Answer, Estimator, Observed, Packet, minprobe::MinProbe};
use crate::train::{rate, wire_bits};
use alloc::vec::Vec;
use node::random::Random;
use node::{Rate, Time};

/// A store with others' packets of 792 bytes at an even rate in front of its link of 10 Gb/s; picoseconds.
struct Store {
    free: f64,
    next: f64,
    gap: f64,
}

const BIT: f64 = 100.0;
const OTHERS: f64 = 6496.0;

impl Store {
    fn new(cross: f64, random: &mut Random) -> Store {
        let gap = match cross > 0.0 {
            true => OTHERS / cross * 1e12,
            false => f64::INFINITY,
        };
        Store {
            free: 0.0,
            next: if cross > 0.0 {
                random.unit() * gap
            } else {
                f64::INFINITY
            },
            gap,
        }
    }

    fn passes(&mut self, at: f64, bits: f64) -> f64 {
        let whole = at + bits * BIT;
        while self.next <= whole {
            self.free = self.free.max(self.next) + OTHERS * BIT;
            self.next += self.gap;
        }
        let begins = self.free.max(whole);
        self.free = begins + bits * BIT;
        begins
    }
}

/// Lengths with FCS, and how often each.
type Mix = &'static [(u16, u64)];
const IMIX: Mix = &[(64, 7), (594, 4), (1518, 1)];
const HALVES: Mix = &[(64, 1), (1518, 1)];
const EVEN: Mix = &[(64, 1), (400, 1), (792, 1), (1200, 1), (1518, 1)];

/// The answers to samples of a sweep in steps of 0.1 Gb/s, through stores of which the one at `busy` has `cross` Gb/s of others.
fn answers(
    mix: Mix,
    cross: f64,
    (stores, busy): (usize, usize),
    sweep: core::ops::RangeInclusive<u64>,
    samples: usize,
    seed: u64,
) -> Vec<Answer> {
    let mut random = Random::new(seed);
    let mut path: Vec<Store> = (0..stores)
        .map(|at| Store::new(if at == busy { cross * 1e9 } else { 0.0 }, &mut random))
        .collect();
    let all: u64 = mix.iter().map(|(_, weight)| weight).sum();
    let mut minprobe = MinProbe::new(Rate::TEN_GIGABIT);
    let mut at = 1e8;
    let mut sample = || {
        for step in sweep.clone() {
            let mut packets = Vec::new();
            for _ in 0..20 {
                let mut drawn = random.below(all);
                let size = mix.iter().find(|(_, weight)| {
                    let found = drawn < *weight;
                    drawn = drawn.saturating_sub(*weight);
                    found
                });
                let bits = wire_bits(usize::from(size.unwrap().0) - 4);
                let left = at as u64;
                let through = path.iter_mut();
                let came = through.fold(left as f64, |at, store| store.passes(at, bits as f64));
                packets.push(Packet {
                    left: Time::from_ps(left),
                    came: Some(Time::from_ps(came as u64 + 77_000_000_000)),
                    bits,
                });
                at += bits as f64 / (step as f64 * 1e8) * 1e12;
            }
            at += 1e7;
            minprobe.see(&Observed {
                rate: rate(step * 100_000_000),
                packets: &packets,
            });
        }
        at += 4e9;
        minprobe.answer()
    };
    (0..samples).map(|_| sample()).collect()
}

#[test]
fn what_is_free_is_found_by_packets_of_every_mix_at_every_rate_of_others() {
    for (name, mix) in [("IMIX", IMIX), ("halves", HALVES), ("even", EVEN)] {
        for cross in [1.015, 2.0, 3.039, 4.5, 6.078, 8.12] {
            let mut errors = Vec::new();
            for seed in 0..4 {
                let busy = seed as usize % 2;
                let answers = answers(mix, cross, (2, busy), 1..=96, 3, 71 * seed + 3);
                let found = answers.iter().filter_map(|answer| answer.estimate);
                errors.extend(found.map(|found| found.value / 1e9 - (10.0 - cross)));
            }
            let count = errors.len() as f64;
            let mean = errors.iter().sum::<f64>() / count.max(1.0);
            // Nearly all samples have an answer. The paper takes the mean of ten.
            assert!(errors.len() >= 10, "{name} {cross}: {errors:?}");
            assert!(mean.abs() < 0.3, "{name} {cross}: {mean} of {errors:?}");
        }
    }
}

#[test]
fn packets_that_only_delay_each_other_leave_no_estimate() {
    for (stores, mix) in [(1, IMIX), (2, HALVES), (3, EVEN)] {
        for seed in 0..3 {
            for answer in answers(mix, 0.0, (stores, 0), 1..=96, 2, seed) {
                assert_eq!(answer.estimate, None, "{}", answer.how);
            }
        }
    }
}

#[test]
fn below_the_lowest_rate_sent_there_is_no_estimate() {
    for (mix, cross) in [(IMIX, 8.12), (HALVES, 6.078), (EVEN, 7.0), (IMIX, 5.5)] {
        for seed in 0..3 {
            for answer in answers(mix, cross, (2, 0), 60..=96, 2, seed) {
                assert_eq!(answer.estimate, None, "{cross} {}", answer.how);
            }
        }
    }
}
