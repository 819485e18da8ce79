//! What a path lets through at once before it holds a train to its rate: the depth of a token bucket, beside which pairs and chirps are too short.
//!
//! All methods take the tight link for a queue that is served at one rate. Shapers are token buckets: behind a pause they let through what they hold as fast as it comes (tbf(8), RFC 2697), and
//! packets are held up only behind that. A pair that fits is never pulled apart, a chirp's delays begin to grow at a rate that is too high, and a train of N packets seems to find
//! `depth / N` more than is free. From pairs and chirps this cannot be seen. So trains well above what is free are sent before: behind its head packets arrive along a line, `S = C' (t - t0)`, whose rate `C'` is
//! that to which the train is held; on a queue the first packet lies on it, and behind a bucket it comes `depth / C'` too late for it.

use super::{Answer, Estimator, Observed};
use crate::train::{Gap, Rates, Trains};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use node::Rate;

/// Trains of a check, and packets of each. Packets of others that a train meets by chance move it by less than one of them; the mean of so many is off by some tenth of a packet.
pub const TRAINS: u32 = 8;
pub const PACKETS: u32 = 100;
/// How far off a method may be by what passes at once.
pub const ALLOWED: f64 = 0.04;
/// A train is held up if it comes by so much slower than it left.
const HELD: f64 = 0.02;
/// Above a mean that is so many standard errors from nothing there is a bucket, and no chance.
const ERRORS: f64 = 2.0;

/// What a check sends, at a rate that is above what is free.
pub fn trains(rate: Rate) -> Trains {
    Trains {
        packets: PACKETS,
        rates: Rates::Same {
            rate,
            trains: TRAINS,
        },
        // What a train leaves in a queue has drained then, at a ninth of its rate or more.
        gap: Gap::Packets(9 * PACKETS),
        distance: Gap::Packets(9 * PACKETS),
    }
}

/// A check, as it sees its trains.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// Of each train that came whole and was held up, what passed at once before, bits; less than nothing where it found a queue.
    passed: Vec<f64>,
    /// Trains that came whole.
    whole: usize,
}

impl Check {
    /// What passes at once, bits: what is no chance of it. `None`: no train came whole.
    pub fn burst(&self) -> Option<f64> {
        if self.whole == 0 {
            return None;
        }
        let count = self.passed.len() as f64;
        let mean = self.passed.iter().sum::<f64>() / count.max(1.0);
        let squares = self.passed.iter().map(|bits| (bits - mean) * (bits - mean));
        let error = libm::sqrt(squares.sum::<f64>() / (count - 1.0).max(1.0) / count.max(1.0));
        Some(match count >= 2.0 && mean > ERRORS * error {
            true => mean,
            false => 0.0,
        })
    }

    /// Why trains like these, of packets of so many bits, have no answer on this path; `None`: they may have one.
    pub fn why(&self, trains: &Trains, bits: u64) -> Option<String> {
        let burst = self.burst()?;
        let off = off(burst / bits as f64, trains);
        if off <= ALLOWED {
            return None;
        }
        let kb = burst / 8e3;
        Some(match trains.packets {
            1 => format!(
                "the path lets {kb:.1} kB through at once: a chirp's delays would begin to grow too late, at a rate {:.0} % above what is free",
                100.0 * off.min(9.99)
            ),
            2 => {
                format!(
                    "the path lets {kb:.1} kB through at once, and pulls no pair apart that fits"
                )
            }
            packets => format!(
                "the path lets {kb:.1} kB through at once: to trains of {packets} packets up to {:.0} % more would seem free; {} would do",
                100.0 * off,
                libm::ceil(burst / bits as f64 / ALLOWED)
            ),
        })
    }
}

/// By which part of itself what is free seems more to such trains where `packets` of theirs pass at once.
fn off(packets: f64, trains: &Trains) -> f64 {
    if trains.packets > 1 {
        return packets / f64::from(trains.packets);
    }
    // A chirp: delays grow from the rate on at which what was too fast, counted from the middle of its rates, exceeds that.
    let rates = || {
        (0..)
            .map_while(|index| trains.rate(index))
            .map(|rate| rate.bits_per_second() as f64)
    };
    let Some(free) = rates().nth(rates().count() / 2) else {
        return 0.0;
    };
    let mut over = 0.0;
    let seen = rates().filter(|rate| *rate > free).find(|rate| {
        over += 1.0 - free / rate;
        over > packets
    });
    seen.map_or(f64::INFINITY, |rate| match packets > 0.0 {
        true => rate / free - 1.0,
        false => 0.0,
    })
}

impl Estimator for Check {
    fn figure(&self) -> &'static str {
        "bits that passed at once"
    }

    fn see(&mut self, train: &Observed<'_>) {
        let came: Vec<f64> = train
            .packets
            .iter()
            .filter_map(|packet| Some(packet.came?.as_ps() as f64))
            .collect();
        if train.packets.len() < 8 || came.len() < train.packets.len() {
            return;
        }
        self.whole += 1;
        let (first, half) = (came[0], came.len() / 2);
        let mut before = 0.0;
        let line: Vec<(f64, f64)> = train
            .packets
            .iter()
            .zip(&came)
            .map(|(packet, came)| {
                before += packet.bits as f64;
                (before - packet.bits as f64, came - first)
            })
            .skip(half)
            .collect();
        let count = line.len() as f64;
        let bits = line.iter().map(|(bits, _)| bits).sum::<f64>() / count;
        let time = line.iter().map(|(_, time)| time).sum::<f64>() / count;
        let (both, own) = line.iter().fold((0.0, 0.0), |(both, own), (b, t)| {
            (
                both + (b - bits) * (t - time),
                own + (b - bits) * (b - bits),
            )
        });
        // Picoseconds a bit, as it came and as it left.
        let slope = both / own;
        let left = match train.packets {
            [first, .., last] => {
                (last.left - first.left).as_ps() as f64 / (before - last.bits as f64)
            }
            _ => return,
        };
        if slope > left * (1.0 + HELD) {
            self.passed.push(bits - time / slope);
        }
    }

    fn answer(&mut self) -> Answer {
        let how = format!(
            "{} of {} trains were held up",
            self.passed.len(),
            self.whole
        );
        Answer::none(how, Vec::new())
    }
}
