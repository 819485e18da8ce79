//! What a path lets through at once before it holds a train to its rate: the depth of a token bucket, beside which pairs and chirps are too short.
//!
//! All methods take the tight link for a queue that is served at one rate. Shapers are token buckets: behind a pause they let through what they hold as fast as it comes (tbf(8), RFC 2697), and
//! packets are held up only behind that. A pair that fits is never pulled apart, a chirp's delays begin to grow at a rate that is too high, and a train of N packets seems to find
//! `depth / N` more than is free. From pairs and chirps this cannot be seen. So trains well above what is free are sent before. Behind its head such a train comes at the rate `C'` to which it is held. Where it left
//! much faster than that, gaps at its head are shorter by what passed at once; where it could not, its second half is a line `S = C' (t - t0)` on which the first packet of a queue lies, and behind a bucket it comes `depth / C'` too late for it.

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
/// So many times faster than it is held to, single gaps tell what passed at once. Kernels hold packets up by more than a bucket's depth now and then: a line through a whole train is off by that, its head hardly ever.
const ABOVE: f64 = 2.1;
/// A gap of a busy link is at least this share of the mean: `1 / (1 + others / train)`, where a train that is faster than the link by [`ABOVE`] sends more than others can.
const BUSY: f64 = 0.55;
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

/// What passed at once of a train so much faster than what it is held to that each gap tells it: up to the first one that is as long as a busy link makes it.
fn head(came: &[f64], bits: &[f64], held: f64) -> f64 {
    let mut passed = 0.0;
    for (pair, bits) in came.windows(2).zip(bits) {
        let share = (pair[1] - pair[0]) / (bits * held);
        let is_busy = share > BUSY;
        // What was left in a bucket shortens the last gap.
        if !is_busy || passed > 0.0 {
            passed += bits * (1.0 - share).max(0.0);
        }
        if is_busy {
            break;
        }
    }
    passed
}

/// The same of a train that is hardly faster: how far ahead of the line of its second half its first packet would have to be.
fn ahead(came: &[f64], bits: &[f64], half: usize) -> f64 {
    let (mut before, first) = (0.0, came[0]);
    let all = bits.iter().zip(came).map(|(bits, came)| {
        before += bits;
        (before - bits, came - first)
    });
    let line: Vec<(f64, f64)> = all.skip(half).collect();
    let count = line.len() as f64;
    let bits = line.iter().map(|(bits, _)| bits).sum::<f64>() / count;
    let time = line.iter().map(|(_, time)| time).sum::<f64>() / count;
    let (both, own) = line.iter().fold((0.0, 0.0), |(both, own), (b, t)| {
        (
            both + (b - bits) * (t - time),
            own + (b - bits) * (b - bits),
        )
    });
    bits - time * own / both
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
        let left = match train.packets {
            [first, .., last] => (last.left - first.left).as_ps() as f64,
            _ => return,
        };
        let bits: Vec<f64> = train
            .packets
            .iter()
            .map(|packet| packet.bits as f64)
            .collect();
        // Picoseconds a bit: as it left, and as it came behind its head. A pause of the machine makes a part slower, never faster.
        let slope =
            |from: usize, to: usize| (came[to] - came[from]) / bits[from..to].iter().sum::<f64>();
        let (half, last) = (came.len() / 2, came.len() - 1);
        let quarter = half.midpoint(last);
        let (left, held) = (
            left / bits[..last].iter().sum::<f64>(),
            slope(half, quarter).min(slope(quarter, last)),
        );
        if held > left * ABOVE {
            self.passed.push(head(&came, &bits, held));
        } else if held > left * (1.0 + HELD) {
            self.passed.push(ahead(&came, &bits, half));
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
