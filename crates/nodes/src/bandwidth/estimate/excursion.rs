//! Excursions of the queuing delay within a chirp: what pathChirp and ASSOLO read off one.
//!
//! Ribeiro, Riedi, Baraniuk, Navratil, Cottrell, "pathChirp: efficient available bandwidth estimation for network paths", PAM 2003, sections 3 and
//! 4. An excursion begins where the delay grows, and ends where it has fallen to its greatest over F. A packet k in an excursion that ends, whose delay
//! grows, says that the available bandwidth is its own rate R_k; all others say the rate R_l at which the last excursion, that does not end, begins. The
//! estimate is the mean of what they say, weighted by the gaps.
//!
//! An excursion that stays has to be one of a queue: from where it begins, at R_l, delays grow by at least half of what a link of the capacity would make of all that comes
//! faster than R_l. Kernels' stamps are off by more than the first gaps of a chirp add, and without this the first of them that was early was where the excursion began.
//!
//! Where no excursion stays, no rate of the chirp was too high. The paper takes the last rate then; here there is no answer, since it is a lower bound.
//! Where the one that stays begins within the first L packets, no rate was seen to be low enough: the lowest rates are an upper bound, and no answer either.

use super::{Answer, Observed, Packet, Spread};
use alloc::format;
use alloc::vec::Vec;
use node::Rate;

/// F: an excursion ends where the delay is the greatest within it over F. The paper's is 1.5, with which a queue that falls by a third is held to be empty. At
/// 10 Gb/s one to three packets of a chirp pass between two of the others, and the queue falls by as much behind each of those: excursions end one by one until
/// the rate is 1.5 Gb/s above what is free. (That the tool says too much at high rates was found by Shriram et al., PAM 2005, too.)
pub const DECREASE: f64 = 6.0;
/// L: shorter excursions are chance.
pub const BUSY: usize = 5;

/// The share of the growth at the capacity that an excursion which stays has at least.
pub const GROWTH: f64 = 0.5;

/// What the chirp says, of a path on which no link is faster than this.
pub(super) fn read(packets: &[Packet], capacity: Rate) -> Answer {
    let rate = capacity;
    let chirp = Observed { rate, packets };
    let lost = chirp.lost();
    if lost > 0 || packets.len() < BUSY + 2 {
        let how = format!("a chirp of {} packets, {lost} of them lost", packets.len());
        return Answer::none(how, Vec::new());
    }
    let delays = chirp.delays();
    let gaps: Vec<f64> = packets
        .windows(2)
        .map(|pair| (pair[1].left - pair[0].left).as_ps() as f64)
        .collect();
    let rates: Vec<f64> = gaps
        .iter()
        .zip(packets)
        .map(|(gap, packet)| packet.bits as f64 / gap * 1e12)
        .collect();
    let points = rates
        .iter()
        .zip(&delays)
        .map(|(rate, delay)| (*rate, delay / 1e3))
        .collect();
    let Excursions { said, stays, ended } = excursions(&delays, &rates, |at| {
        let capacity = capacity.bits_per_second() as f64;
        let above = rates[at..].iter().zip(&gaps[at..]);
        above
            .map(|(rate, gap)| gap * (rate - rates[at]) / capacity)
            .sum()
    });
    let Some(stays) = stays else {
        return Answer::none("no excursion stays: no rate was too high", points);
    };
    if stays < BUSY {
        return Answer::below(rates[stays], points);
    }
    let said = || said.iter().map(|rate| rate.unwrap_or(rates[stays]));
    let all: f64 = gaps.iter().sum();
    let value = said().zip(&gaps).map(|(rate, gap)| rate * gap).sum::<f64>() / all;
    Answer {
        estimate: Some(Spread {
            value,
            low: said().fold(f64::INFINITY, f64::min),
            high: said().fold(0.0, f64::max),
        }),
        how: format!("{ended} excursions that ended, and one that stayed"),
        points,
    }
}

struct Excursions {
    /// What packets in excursions that ended say.
    said: Vec<Option<f64>>,
    /// Where the one begins that does not end.
    stays: Option<usize>,
    /// How many ended that are not chance.
    ended: usize,
}

/// `growth` is by how much delays grow at the capacity from a packet on.
fn excursions(delays: &[f64], rates: &[f64], growth: impl Fn(usize) -> f64) -> Excursions {
    let mut found = Excursions {
        said: rates.iter().map(|_| None).collect(),
        stays: None,
        ended: 0,
    };
    let mut at = 0;
    while at < rates.len() {
        if delays[at + 1] <= delays[at] {
            at += 1;
            continue;
        }
        let mut greatest = 0.0_f64;
        let end = (at + 1..delays.len()).find(|&k| {
            let above = delays[k] - delays[at];
            greatest = greatest.max(above);
            above < greatest / DECREASE
        });
        let Some(end) = end else {
            // Chance, if it began with the last packets.
            if delays.len() - 1 - at < BUSY {
                break;
            }
            let grown = delays.last().map_or(0.0, |last| last - delays[at]);
            if grown >= GROWTH * growth(at) {
                found.stays = Some(at);
                break;
            }
            at += 1;
            continue;
        };
        if end - at >= BUSY {
            found.ended += 1;
            for k in at..end.min(rates.len()) {
                found.said[k] = (delays[k] <= delays[k + 1]).then_some(rates[k]);
            }
        }
        at = end;
    }
    found
}
