//! Trains of packets of mixed lengths: the available bandwidth whose expected delays fit best.
//!
//! Where much is free, packets of mixed lengths delay each other in stores by more than others' packets delay them, and a
//! single number of a train, its growth, does not separate the two. Its delays do, packet by packet: the train alone is
//! known exactly, and each bandwidth left by others, of packets of a length, at one of the stores, has delays that are to be
//! expected. The bandwidth, the length and the store with the least squares are taken.
//!
//! Others' traffic is first taken for a fluid, which finds the store and the bandwidth, up to 0.4 of 9 Gb/s too low: a meeting
//! with one packet looks like growth. So then packets of some lengths are tried, with delays averaged over all
//! moments at which the train may meet them.

use super::Packet;
use alloc::vec;
use alloc::vec::Vec;

/// Lengths of others' packets that are tried, bits on the wire: of 400, 792 and 1518 bytes with FCS.
const LENGTHS: [f64; 3] = [8.0 * 420.0, 8.0 * 812.0, 8.0 * 1538.0];
/// Moments of a meeting over which delays are averaged.
const PHASES: u32 = 16;
/// Bandwidths between the lowest and the highest rate of a sweep that are tried.
const STEPS: u32 = 48;
/// Bandwidths around the fluid's that are tried with packets, to either side.
const AROUND: u32 = 6;
/// Steps within one of those that are tried at the end, to either side.
const FINE: i32 = 4;
/// The F distribution's 95 % point for 1 and many degrees of freedom. A train counts as one degree, as the delays of its
/// packets depend on each other.
const F: f64 = 4.0;

/// A train that came whole.
#[derive(Clone, Debug)]
pub(super) struct Train {
    /// Since the first left, picoseconds.
    left: Vec<f64>,
    bits: Vec<f64>,
    /// Above the first one's, picoseconds.
    delays: Vec<f64>,
    /// Packets at its head that do not count.
    warm_up: usize,
}

impl Train {
    /// Packets, and how much longer than the first each was on its way.
    pub fn new(packets: &[Packet], delays: &[f64], warm_up: usize) -> Train {
        let first = packets.first().map_or(0, |packet| packet.left.as_ps());
        let left = packets.iter();
        Train {
            left: left
                .map(|packet| packet.left.as_ps().saturating_sub(first) as f64)
                .collect(),
            bits: packets.iter().map(|packet| packet.bits as f64).collect(),
            delays: delays.to_vec(),
            warm_up,
        }
    }

    /// The squares of what `expected` leaves of the delays; a delay that all packets share is none.
    fn squares(&self, expected: &[f64]) -> f64 {
        let rest = || {
            let pairs = self.delays.iter().zip(expected);
            pairs
                .map(|(seen, expected)| seen - expected)
                .skip(self.warm_up)
        };
        let mean = rest().sum::<f64>() / rest().count().max(1) as f64;
        rest().map(|rest| (rest - mean) * (rest - mean)).sum()
    }
}

/// A path of stores whose links all have one capacity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Bits a second.
    pub capacity: f64,
    /// Links that store packets.
    pub stores: usize,
}

/// Others' traffic at one store.
#[derive(Clone, Copy, Debug)]
struct Others {
    store: usize,
    /// Bits a second that they leave.
    left: f64,
    /// Bits of each of their packets; `None`: a fluid.
    length: Option<f64>,
}

/// The best bandwidth, and the range of those that fit as well by the scatter alone, bits a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub at: f64,
    pub low: f64,
    pub high: f64,
    /// The share of the trains' squares that it explains.
    pub explained: f64,
}

impl Path {
    /// The bandwidth between `from` and `to` that fits the trains; `None` where others leave no trend, or the best is the
    /// last of them.
    pub fn find(&self, trains: &[&Train], from: f64, to: f64) -> Option<Found> {
        if trains.len() < 5 || self.stores == 0 || to <= from {
            return None;
        }
        let step = (to - from) / f64::from(STEPS);
        let fluid = |store| {
            (0..=STEPS).map(move |n| Others {
                store,
                left: from + step * f64::from(n),
                length: None,
            })
        };
        let mut tried = Vec::new();
        let best = self.least(trains, (0..self.stores).flat_map(fluid), &mut tried)?;
        tried.retain(|(others, _)| others.store == best.0.store);
        let around = |length: f64| {
            let begin = best.0.left - step * f64::from(AROUND);
            (0..=2 * AROUND).map(move |n| Others {
                left: begin + step * f64::from(n),
                length: Some(length),
                ..best.0
            })
        };
        let within = |others: &Others| (from..=to).contains(&others.left);
        let packets = LENGTHS.into_iter().flat_map(around).filter(within);
        let mut by_length = Vec::new();
        let coarse = match self.least(trains, packets, &mut by_length) {
            Some(found) if found.1 < best.1 => {
                tried = by_length;
                tried.retain(|(others, _)| others.length == found.0.length);
                found
            }
            _ => best,
        };
        let fine = (-FINE..=FINE).map(|n| Others {
            left: coarse.0.left + step * f64::from(n) / f64::from(FINE + 1),
            ..coarse.0
        });
        let (found, least) = self.least(trains, fine.filter(within), &mut tried)?;
        let count = trains.len() as f64;
        let scatter = F / (count - 3.0).max(1.0);
        let alone = self.squares(trains, None);
        if alone <= least * (1.0 + scatter) || found.left >= to - step {
            return None;
        }
        let bound = least * (1.0 + scatter);
        let near = tried.iter().filter(|(_, squares)| *squares <= bound);
        let near = near.map(|(others, _)| others.left);
        let flat: f64 = trains
            .iter()
            .map(|train| train.squares(&vec![0.0; train.bits.len()]))
            .sum();
        Some(Found {
            at: found.left,
            low: near.clone().fold(found.left, f64::min),
            high: near.fold(found.left, f64::max),
            explained: 1.0 - least / flat.max(f64::MIN_POSITIVE),
        })
    }

    /// The traffic with the least squares; all that were tried are added to `tried`.
    fn least(
        &self,
        trains: &[&Train],
        all: impl Iterator<Item = Others>,
        tried: &mut Vec<(Others, f64)>,
    ) -> Option<(Others, f64)> {
        let begin = tried.len();
        tried.extend(all.map(|others| (others, self.squares(trains, Some(others)))));
        let new = tried[begin..].iter().copied();
        new.min_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// The squares that the expected delays leave of all trains'.
    fn squares(&self, trains: &[&Train], others: Option<Others>) -> f64 {
        let (mut expected, mut at) = (Vec::new(), Vec::new());
        let squares = trains.iter().map(|train| {
            expected.clear();
            expected.resize(train.bits.len(), 0.0);
            match others {
                Some(Others {
                    length: Some(length),
                    store,
                    left,
                }) => {
                    let gap = length / (self.capacity - left).max(1.0) * 1e12;
                    for phase in 0..PHASES {
                        let share = (f64::from(phase) + 0.5) / f64::from(PHASES);
                        self.through(train, &mut at, store, |full, own| {
                            self.meet(full, own, length, gap, share);
                        });
                        add(&mut expected, &at, &train.left, f64::from(PHASES));
                    }
                }
                _ => {
                    let (store, left) = others.map_or((0, self.capacity), |it| (it.store, it.left));
                    self.through(train, &mut at, store, |full, own| {
                        self.flow(full, own, left / self.capacity);
                    });
                    add(&mut expected, &at, &train.left, 1.0);
                }
            }
            train.squares(&expected)
        });
        squares.sum()
    }

    /// When each packet of a train begins to leave the last store. `busy` is the store with others: from when packets
    /// are there whole to when they begin to leave.
    fn through(
        &self,
        train: &Train,
        at: &mut Vec<f64>,
        store: usize,
        busy: impl Fn(&mut [f64], &[f64]),
    ) {
        at.clear();
        at.extend_from_slice(&train.left);
        for number in 0..self.stores {
            let times = at.iter_mut().zip(&train.bits);
            times.for_each(|(at, bits)| *at += self.time(*bits));
            match number == store {
                true => busy(at, &train.bits),
                false => self.flow(at, &train.bits, 1.0),
            }
        }
    }

    /// Picoseconds that bits take.
    fn time(&self, bits: f64) -> f64 {
        bits / self.capacity * 1e12
    }

    /// A store whose link has a share of its capacity to spare, the rest an even flow of others.
    fn flow(&self, at: &mut [f64], bits: &[f64], spare: f64) {
        let (mut waits, mut before) = (0.0_f64, f64::INFINITY);
        let mut own = 0.0;
        for (at, bits) in at.iter_mut().zip(bits) {
            if before.is_finite() {
                waits = (waits + own - (*at - before) * spare).max(0.0);
            }
            (before, own) = (*at, self.time(*bits));
            *at += waits;
        }
    }

    /// A store that packets of others pass, one in a gap, the first a share of a gap before the train.
    fn meet(&self, at: &mut [f64], bits: &[f64], length: f64, gap: f64, share: f64) {
        let mut next = at.first().copied().unwrap_or(0.0) - gap * share;
        let mut free = f64::NEG_INFINITY;
        for (at, bits) in at.iter_mut().zip(bits) {
            while next <= *at {
                free = free.max(next) + self.time(length);
                next += gap;
            }
            *at = at.max(free);
            free = *at + self.time(*bits);
        }
    }
}

/// Adds a part of how long packets were on their way.
fn add(sum: &mut [f64], at: &[f64], left: &[f64], parts: f64) {
    let times = at.iter().zip(left).map(|(at, left)| (at - left) / parts);
    sum.iter_mut()
        .zip(times)
        .for_each(|(sum, time)| *sum += time);
}

#[cfg(test)]
mod tests;
