//! TOPP: where the rates that are offered begin to be above those that are measured.
//!
//! Melander, Björkman, Gunningberg, "A new end-to-end probing and analysis method for estimating bandwidth bottlenecks", Globecom 2000. Above
//! the available bandwidth A of a link of the capacity C the offered rate over that measured is `o / m = 1 + (o - A) / C`:
//! a line whose turning point is A and whose slope tells C. Here a rate's pairs are the neighbours of one train, but for the first, which find the queue as others left it: over them delays grow below A,
//! too, and A would be too low by 0.2 of 9 Gb/s ([MinProbe's](super::minprobe::WARM_UP) reason).

use super::minprobe::WARM_UP;
use super::turning::turning;
use super::{Answer, Estimator, Observed, Spread};
use alloc::format;
use alloc::vec::Vec;

/// The least share of the variance that the line has to explain.
const SIGNIFICANT: f64 = 0.5;

#[derive(Clone, Debug, Default)]
pub struct Topp {
    points: Vec<(f64, f64)>,
}

impl Estimator for Topp {
    fn figure(&self) -> &'static str {
        "offered rate over measured rate"
    }

    fn see(&mut self, train: &Observed<'_>) {
        let (mut sent, mut came) = (0.0, 0.0);
        let warm_up = WARM_UP.min(train.packets.len() / 6);
        for (one, other, _) in train.gaps().skip(warm_up) {
            (sent, came) = (sent + one, came + other);
        }
        if sent > 0.0 && came > 0.0 {
            self.points
                .push((train.rate.bits_per_second() as f64, came / sent));
        }
    }

    fn answer(&mut self) -> Answer {
        let points = core::mem::take(&mut self.points);
        let found = turning(&points, 0.0, |rate, at| (rate - at).max(0.0));
        match found.filter(|found| found.explained >= SIGNIFICANT) {
            None => Answer::none(
                format!("no turning point in {} trains", points.len()),
                points,
            ),
            Some(found) if found.from_the_first => Answer::below(points[0].0, points),
            Some(found) => Answer {
                estimate: Some(Spread {
                    value: found.at,
                    low: found.low,
                    high: found.high,
                }),
                how: format!("a line that explains {:.1} %", 100.0 * found.explained),
                points,
            },
        }
    }
}
