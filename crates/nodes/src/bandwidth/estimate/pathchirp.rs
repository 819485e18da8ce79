//! pathChirp: excursions of the queuing delay within a chirp, whose rates grow from packet to packet.
//!
//! Ribeiro, Riedi, Baraniuk, Navratil, Cottrell, "pathChirp: efficient available bandwidth estimation for network paths", PAM 2003, sections 3 and
//! 4: spread factor 1.2, decrease factor F = 1.5, busy period L = 5. A packet k in an excursion that ends, whose delay grows, says
//! that the available bandwidth is its own rate R_k; all others say the rate R_l at which the last excursion, that does not end, begins. The
//! estimate is the mean of what they say, weighted by the gaps.
//!
//! With a spread of 1.2 an available bandwidth above 4 Gb/s leaves fewer than L packets below a line rate of 10 Gb/s, and no
//! excursion that counts. So the spread is 1.05 here unless the trains say otherwise.

use super::{Answer, Estimator, Interval, Observed, Packet};
use alloc::format;
use alloc::vec::Vec;

/// The spread factor: of the rates of neighbouring packets. The paper's is 1.2.
pub const SPREAD: f64 = 1.05;
/// F: an excursion ends where the delay is the greatest within it over F.
pub const DECREASE: f64 = 1.5;
/// L: shorter excursions are chance.
pub const BUSY: usize = 5;

#[derive(Clone, Debug, Default)]
pub struct PathChirp {
    packets: Vec<Packet>,
}

impl Estimator for PathChirp {
    fn figure(&self) -> &'static str {
        "queuing delay [ns]"
    }

    fn see(&mut self, train: &Observed<'_>) {
        self.packets.extend(train.packets);
    }

    fn answer(&mut self) -> Answer {
        let packets = core::mem::take(&mut self.packets);
        let rate = match packets.first() {
            Some(_) => node::Rate::TEN_GIGABIT,
            None => return Answer::none("no packet was sent", Vec::new()),
        };
        let chirp = Observed {
            rate,
            packets: &packets,
        };
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
            .zip(&packets)
            .map(|(gap, packet)| packet.bits as f64 / gap * 1e12)
            .collect();
        let points = rates
            .iter()
            .zip(&delays)
            .map(|(rate, delay)| (*rate, delay / 1e3))
            .collect();
        let (said, last, excursions) = per_packet(&delays, &rates);
        let all: f64 = gaps.iter().sum();
        let value = said
            .iter()
            .zip(&gaps)
            .map(|(rate, gap)| rate * gap)
            .sum::<f64>()
            / all;
        let least = said.iter().copied().fold(f64::INFINITY, f64::min);
        let most = said.iter().copied().fold(0.0, f64::max);
        let how = match last {
            Some(_) => format!("{excursions} excursions, and one that did not end"),
            None => format!(
                "{excursions} excursions, all of which ended: the last rate stands for the others"
            ),
        };
        Answer {
            estimate: Some(Interval {
                value,
                low: least,
                high: most,
            }),
            how,
            points,
        }
    }
}

/// What each packet says, where the excursion begins that does not end, and how many ended.
fn per_packet(delays: &[f64], rates: &[f64]) -> (Vec<f64>, Option<usize>, usize) {
    let mut said: Vec<Option<f64>> = rates.iter().map(|_| None).collect();
    let (mut at, mut last, mut excursions) = (0, None, 0);
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
        match end {
            None => {
                // Chance, if it began with the last packets.
                last = (delays.len() - 1 - at >= BUSY).then_some(at);
                break;
            }
            Some(end) if end - at >= BUSY => {
                excursions += 1;
                for k in at..end.min(rates.len()) {
                    said[k] = (delays[k] <= delays[k + 1]).then_some(rates[k]);
                }
                at = end;
            }
            Some(end) => at = end,
        }
    }
    let others = rates[last.unwrap_or(rates.len() - 1)];
    let said = said.into_iter().map(|rate| rate.unwrap_or(others));
    (said.collect(), last, excursions)
}
