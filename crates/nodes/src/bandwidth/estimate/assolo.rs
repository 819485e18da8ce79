//! ASSOLO: excursions (see `excursion.rs`) within a chirp whose rates are close to each other in the middle of the range, and a filter over estimates.
//!
//! Goldoni, Rossi, Torelli, "Assolo, a new method for available bandwidth estimation", ICIMP 2009; what the paper's abstract leaves open is as in the authors' tool
//! 0.9. Its chirp is reflected and exponential ([REACH](crate::train::Rates::Reach)): to both sides of the middle of the range rates differ by `e * (high - low) / 2`,
//! then by so many times that, the factor from step to step being the spread. A chirp is read as pathChirp's.
//!
//! Estimates pass a vertical-horizontal filter: of the last [`FILTERED`] the greatest less the least, over the sum of the steps between them, is the share V that is
//! one movement and not noise. The new value is `V / 3` of the old one, and the rest of this estimate.

use super::{Answer, Estimator, Observed, Packet, excursion};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use node::Rate;

/// e: the step next to the middle, of half the range. The tool's is 5 %, with the spread of 1.2: no more than nine rates on each side.
pub const STEP: f64 = 0.01;
/// The factor from step to step.
pub const SPREAD: f64 = 1.02;
/// Estimates that the filter looks at.
pub const FILTERED: usize = 11;

#[derive(Clone, Debug)]
pub struct Assolo {
    capacity: Rate,
    packets: Vec<Packet>,
    estimates: VecDeque<f64>,
    filtered: Option<f64>,
}

impl Assolo {
    /// Of a path on which no link is faster than this.
    pub fn new(capacity: Rate) -> Assolo {
        Assolo {
            capacity,
            packets: Vec::new(),
            estimates: VecDeque::new(),
            filtered: None,
        }
    }

    /// The filter's next value.
    pub(super) fn filter(&mut self, estimate: f64) -> f64 {
        self.estimates.push_back(estimate);
        if self.estimates.len() > FILTERED {
            self.estimates.pop_front();
        }
        let values = || self.estimates.iter().copied();
        let range = values().fold(0.0, f64::max) - values().fold(f64::INFINITY, f64::min);
        let steps: f64 = values()
            .zip(values().skip(1))
            .map(|(a, b)| (b - a).abs())
            .sum();
        let old = match range > 0.0 {
            true => range / steps / 3.0,
            false => 0.5,
        };
        let value = match self.filtered {
            Some(before) => old * before + (1.0 - old) * estimate,
            None => estimate,
        };
        self.filtered = Some(value);
        value
    }
}

impl Estimator for Assolo {
    fn figure(&self) -> &'static str {
        "queuing delay [ns]"
    }

    fn see(&mut self, train: &Observed<'_>) {
        self.packets.extend(train.packets);
    }

    fn answer(&mut self) -> Answer {
        let packets = core::mem::take(&mut self.packets);
        let mut answer = excursion::read(&packets, self.capacity);
        if let Some(found) = &mut answer.estimate {
            found.value = self.filter(found.value);
            // The interval is the chirp's; the filter may be without it.
            found.low = found.low.min(found.value);
            found.high = found.high.max(found.value);
        }
        answer
    }
}
