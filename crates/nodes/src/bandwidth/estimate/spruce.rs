//! Spruce: how far pairs of packets that leave with the least gap are pulled apart at the tight link.
//!
//! Strauss, Katabi, Kaashoek, "A measurement study of available bandwidth estimation tools", IMC 2003. The gap `in` is the time that
//! a packet of 1500 bytes takes on the tight link, whose capacity C is known; a pair's estimate is
//! `C * (1 - (out - in) / in)`, and that of the method the mean of 100 pairs, whose distances are drawn from an
//! exponential distribution so that the load is at most 5 % of C.
//!
//! A mean that is not above zero by its own 95 % is no answer here: so far pairs are pulled apart by a link that is full, and by one whose
//! capacity is less than C. By as much as C is too great the formula is too low: of a bucket of 200 Mb/s taken for one of 250 it found
//! 11 Mb/s where 116 were free.

use super::{Answer, Estimator, Observed, Spread};
use alloc::format;
use alloc::vec::Vec;
use node::Rate;

/// Of so many pairs half have to come.
const ENOUGH: f64 = 0.5;

#[derive(Clone, Debug)]
pub struct Spruce {
    capacity: Rate,
    points: Vec<(f64, f64)>,
    sent: usize,
}

impl Spruce {
    /// Of a tight link of this capacity.
    pub fn new(capacity: Rate) -> Spruce {
        Spruce {
            capacity,
            points: Vec::new(),
            sent: 0,
        }
    }
}

impl Estimator for Spruce {
    fn figure(&self) -> &'static str {
        "estimate of a pair [b/s]"
    }

    fn see(&mut self, train: &Observed<'_>) {
        self.sent += train.packets.len().saturating_sub(1);
        let rate = train.rate.bits_per_second() as f64;
        let capacity = self.capacity.bits_per_second() as f64;
        for (_, out, bits) in train.gaps() {
            let least = bits / capacity * 1e12;
            self.points
                .push((rate, capacity * (1.0 - (out - least) / least)));
        }
    }

    fn answer(&mut self) -> Answer {
        let points = core::mem::take(&mut self.points);
        let sent = core::mem::take(&mut self.sent);
        let count = points.len() as f64;
        if points.len() < 2 || count < ENOUGH * sent as f64 {
            return Answer::none(
                format!("of {sent} pairs {} came whole", points.len()),
                points,
            );
        }
        let mean = points.iter().map(|(_, value)| value).sum::<f64>() / count;
        let squares = points
            .iter()
            .map(|(_, value)| (value - mean) * (value - mean));
        let error = 1.96 * libm::sqrt(squares.sum::<f64>() / (count - 1.0) / count);
        if mean <= error {
            let how = format!(
                "pairs are pulled apart as by a link of {} that is full, or by one that carries less",
                self.capacity
            );
            return Answer::none(how, points);
        }
        let held = |value: f64| value.clamp(0.0, self.capacity.bits_per_second() as f64);
        Answer {
            estimate: Some(Spread {
                value: held(mean),
                low: held(mean - error),
                high: held(mean + error),
            }),
            how: format!("the mean of {} pairs", points.len()),
            points,
        }
    }
}
