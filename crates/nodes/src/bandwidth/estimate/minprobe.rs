//! MinProbe's own: the rate at which the variance of queuing delays begins to rise.
//!
//! Paper 002 section 4.4.4, figure 4.18: "the turning point where the delay variance shows a significant trend of
//! increasing". How the point is found the paper does not say. Here: above the available bandwidth A the delays of a train grow
//! from packet to packet, by `L / R * (R - A) / C`; below they only jitter, up or down, as packets meet others. So of a
//! train's variance only that share counts which a growing line explains: over a sweep of R its root is flat and then rises
//! as `1 - A / R`, the steeper the slower the tight link, and never less than one of the capacity would; of all turning points A the one with the least squares is taken. Where that curve explains
//! less than half of what a flat line leaves, there is no trend, and no answer.
//!
//! Under bursty traffic a sample alone often has no trend. Then each rate's growth is replaced by the exponentially weighted average of the last [`SMOOTHED`] samples (figure
//! 4.22: "each data point was replaced by the weighted average of the five data points preceding").
//!
//! Packets of mixed lengths hold each other up where switches store them: short ones catch up with a long one, and delays grow without any others, by 0.2 of a bit for each bit near the
//! capacity. What a train does to itself is known: it is the way through as many stores as its slow trains show, alone. Where a queue is busy with others that does not add up. So for such trains the
//! delays of single packets decide, by what is to be expected of them (`mixed`).
//!
//! Where a queue is left over when a train comes that is slower than what is free, delays fall all through it, by `A / R - 1`: at a tenth of A nine times as steeply as they can ever grow. Such a train counts as one
//! without growth ([`DRAINED`]), or squares would be those of the drain.
//!
//! A train finds the queue as others left it, and only then adds to it: over its first packets delays grow towards their mean below A, too, which made
//! A too low by 0.1 of 9 Gb/s. So growth is that of the packets behind the first [`WARM_UP`].

use super::mixed::{Path, Train};
use super::turning::{Turning, turning};
use super::{Answer, Estimator, Observed, Packet, Spread};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use node::Rate;

/// The least share of the variance that a turning point has to explain.
pub const SIGNIFICANT: f64 = 0.5;
/// Section 4.4.4: each of a series is replaced by the weighted average of so many before it.
pub const SMOOTHED: usize = 5;
/// Packets at the head of a train whose delays do not count, at most a sixth of it.
pub const WARM_UP: usize = 2;
/// A train whose delays fall by more than so many packets' times met a queue that others, or the application itself, had left, and says that it was slower than what is free; not by how much.
/// Meetings with single packets make delays fall by less.
pub const DRAINED: f64 = 2.0;
/// The most switches that store packets which are looked for on a path.
const STORES: f64 = 16.0;

/// How delays grow within a train.
#[derive(Clone, Copy, Debug)]
struct Grown {
    rate: f64,
    /// By how much, over what they do through a link of the capacity which is busy with others.
    all: f64,
    /// Whether its packets had several lengths.
    mixed: bool,
}

#[derive(Clone, Debug)]
pub struct MinProbe {
    /// Above which no link's capacity is.
    capacity: f64,
    points: Vec<(f64, f64)>,
    growth: Vec<Grown>,
    lossy: usize,
    /// The growth of the last samples, the newest last.
    past: VecDeque<Vec<Grown>>,
    /// Trains of mixed lengths of this sample, and those of the last ones, the newest last.
    mixed: Vec<Train>,
    mixed_past: VecDeque<Vec<Train>>,
    /// How often packets are stored on the way, as trains of mixed lengths said that were no faster than half of the capacity: the sum, and of how many.
    stored: (f64, f64),
}

impl MinProbe {
    /// Of a path on which no link is faster than this: the rate of the sender's own line, or that of the tight link if it is known.
    pub fn new(capacity: Rate) -> MinProbe {
        MinProbe {
            capacity: capacity.bits_per_second() as f64,
            points: Vec::new(),
            growth: Vec::new(),
            lossy: 0,
            past: VecDeque::new(),
            mixed: Vec::new(),
            mixed_past: VecDeque::new(),
            stored: (0.0, 0.0),
        }
    }
}

impl Estimator for MinProbe {
    fn figure(&self) -> &'static str {
        "variance of queuing delay [ns²]"
    }

    fn see(&mut self, train: &Observed<'_>) {
        // The proof of section 4.4.2 assumes that nothing is lost.
        if train.lost() > 0 || train.packets.len() < 2 {
            self.lossy += 1;
            return;
        }
        let rate = train.rate.bits_per_second() as f64;
        let delays = train.delays();
        self.points.push((rate, variance(&delays) / 1e6));
        let warm_up = WARM_UP.min(delays.len() / 6);
        let packets = &train.packets[warm_up..];
        let mut all = slope(packets, &delays[warm_up..]) * self.capacity / 1e12;
        let drained = all * (packets.len() as f64) < -DRAINED;
        if drained {
            all = 0.0;
        }
        let mixed = packets.iter().any(|packet| packet.bits != packets[0].bits);
        if mixed {
            if rate <= self.capacity / 2.0 {
                self.stored.0 += by_length(packets, &delays[warm_up..]) * self.capacity / 1e12;
                self.stored.1 += 1.0;
            }
            if !drained {
                self.mixed.push(Train::new(train.packets, &delays, warm_up));
            }
        }
        self.growth.push(Grown { rate, all, mixed });
    }

    fn answer(&mut self) -> Answer {
        let points = core::mem::take(&mut self.points);
        let lossy = core::mem::take(&mut self.lossy);
        let growth = core::mem::take(&mut self.growth);
        self.mixed_past.push_back(core::mem::take(&mut self.mixed));
        if self.mixed_past.len() > SMOOTHED {
            self.mixed_past.pop_front();
        }
        let turn =
            |points: &[(f64, f64)]| turning(points, 1.0, |rate, at| (1.0 - at / rate).max(0.0));
        let find = |growth: &[Grown]| {
            let points: Vec<_> = growth.iter().map(|it| (it.rate, it.all)).collect();
            turn(&points)
        };
        let mut found = find(&growth);
        let is_trend =
            |found: &Option<Turning>| found.is_some_and(|found| found.explained >= SIGNIFICANT);
        // Rates are the same in each sample, unless trains of it were lost.
        self.past.retain(|past| past.len() == growth.len());
        self.past.push_back(growth);
        let mut of = "";
        let mut looked = self.past.back().cloned().unwrap_or_default();
        if !is_trend(&found) && self.past.len() > 1 {
            let average = self.smoothed();
            let smooth = find(&average);
            if is_trend(&smooth) {
                (found, of) = (smooth, ", of the last samples' average");
                looked = average;
            }
        }
        if self.past.len() == SMOOTHED {
            self.past.pop_front();
        }
        let is_mixed = looked.iter().any(|it| it.mixed);
        if is_mixed && let Some(answer) = self.by_packets(&looked, &points) {
            return answer;
        }
        match found {
            None => Answer::none(
                format!(
                    "no turning point in {} trains, {lossy} more with losses",
                    points.len()
                ),
                points,
            ),
            Some(found) if found.explained < SIGNIFICANT => Answer::none(
                format!(
                    "no trend: a turning point explains {:.0} % of how delays grow",
                    100.0 * found.explained
                ),
                points,
            ),
            Some(found) if found.from_the_first => Answer::below(looked[0].rate, points),
            Some(found) => Answer {
                estimate: Some(Spread {
                    value: found.at,
                    low: found.low,
                    high: found.high,
                }),
                how: format!(
                    "a turning point that explains {:.1} % of how delays grow over {} trains{of}",
                    100.0 * found.explained,
                    points.len()
                ),
                points,
            },
        }
    }
}

impl MinProbe {
    /// Stores on the way, as far as slow trains of mixed lengths showed them.
    fn stores(&self) -> usize {
        libm::round(self.stored.0 / self.stored.1.max(1.0)).clamp(0.0, STORES) as usize
    }

    /// The answer by the delays of single packets: of this sample, else of the last ones together. `None` on a path whose
    /// delays the model does not explain: one without stores, or with a tight link that is slower than the capacity.
    fn by_packets(&self, looked: &[Grown], points: &[(f64, f64)]) -> Option<Answer> {
        let rates = || looked.iter().map(|it| it.rate);
        let lowest = rates().fold(f64::INFINITY, f64::min);
        let highest = rates().fold(0.0, f64::max);
        let path = Path {
            capacity: self.capacity,
            stores: self.stores(),
        };
        if self.stored.1 == 0.0 {
            let how = "packets of mixed lengths delay each other in stores, whose number only trains below half of the capacity show: send slower trains too";
            return Some(Answer::none(how, points.to_vec()));
        }
        if path.stores == 0 {
            return None;
        }
        let newest = self.mixed_past.len().saturating_sub(1);
        let find = |samples: usize| {
            let samples = self.mixed_past.iter().skip(samples);
            let trains: Vec<&Train> = samples.flatten().collect();
            path.find(&trains, lowest, highest)
        };
        let (mut found, mut of) = (find(newest), "");
        if found.is_none() && newest > 0 {
            (found, of) = (find(0), ", of the last samples together");
        }
        let points = points.to_vec();
        Some(match found {
            Some(found) if found.explained < SIGNIFICANT => return None,
            Some(found) if found.low <= lowest => Answer::below(lowest, points),
            Some(found) => Answer {
                estimate: Some(Spread {
                    value: found.at,
                    low: found.low,
                    high: found.high,
                }),
                how: format!(
                    "expected delays of packets of mixed lengths explain {:.1} % of how delays vary over {} trains{of}",
                    100.0 * found.explained,
                    points.len()
                ),
                points,
            },
            None => {
                let how = "delays grow no more than packets of mixed lengths make each other wait: others leave no trend";
                Answer::none(how, points)
            }
        })
    }

    /// The growth of the last samples, rate by rate, each sample with half of the next one's weight.
    fn smoothed(&self) -> Vec<Grown> {
        let mut series: Vec<f64> = Vec::with_capacity(self.past.len());
        let mut average = |place: usize, of: fn(&Grown) -> f64| {
            series.clear();
            series.extend(self.past.iter().map(|past| of(&past[place])));
            smoothed(&series).last().copied().unwrap_or(0.0)
        };
        let newest = self.past.back().map_or(&[][..], Vec::as_slice);
        let grown = |(place, it): (usize, &Grown)| Grown {
            rate: it.rate,
            all: average(place, |it| it.all),
            mixed: it.mixed,
        };
        newest.iter().enumerate().map(grown).collect()
    }
}

fn variance(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum::<f64>()
        / count
}

/// By how much delays grow with each bit that the train has sent before, picoseconds.
///
/// Packets of other lengths take longer through every switch that stores them. So what a packet's own bits explain of its delay, and of its place, is left out:
/// sizes may be mixed (figure 4.20).
fn slope(packets: &[Packet], delays: &[f64]) -> f64 {
    let sizes: Vec<f64> = packets.iter().map(|packet| packet.bits as f64).collect();
    let mut before = 0.0;
    let places: Vec<f64> = sizes
        .iter()
        .map(|bits| {
            before += bits;
            before - bits
        })
        .collect();
    let sizes = beside(sizes, None);
    let places = beside(places, Some(&sizes));
    let delays = beside(delays.to_vec(), Some(&sizes));
    let own = product(&places, &places);
    if own > 0.0 {
        product(&places, &delays) / own
    } else {
        0.0
    }
}

/// By how much longer packets with more bits are under way, picoseconds a bit.
fn by_length(packets: &[Packet], delays: &[f64]) -> f64 {
    let sizes = beside(
        packets.iter().map(|packet| packet.bits as f64).collect(),
        None,
    );
    let own = product(&sizes, &sizes);
    if own > 0.0 {
        product(&sizes, delays) / own
    } else {
        0.0
    }
}

/// What is left of values less their mean, and less what others explain of them.
fn beside(mut values: Vec<f64>, others: Option<&[f64]>) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter_mut().for_each(|value| *value -= mean);
    let Some(others) = others else {
        return values;
    };
    let own = product(others, others);
    // All are of one length.
    if own > 0.5 {
        let share = product(&values, others) / own;
        let pairs = values.iter_mut().zip(others);
        pairs.for_each(|(value, other)| *value -= share * other);
    }
    values
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// Replaces each of a series by the exponentially weighted average of itself and those before it, [`SMOOTHED`] in all; each weighs half
/// of the next. For estimates under bursty traffic (figure 4.22).
pub fn smoothed(series: &[f64]) -> Vec<f64> {
    let average = |end: usize| {
        let window = &series[(end + 1).saturating_sub(SMOOTHED)..=end];
        let (sum, weights) = window.iter().fold((0.0, 0.0), |(sum, weights), value| {
            (sum / 2.0 + value, weights / 2.0 + 1.0)
        });
        sum / weights
    };
    (0..series.len()).map(average).collect()
}
