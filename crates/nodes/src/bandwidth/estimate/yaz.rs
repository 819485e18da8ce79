//! Yaz: the rate is lowered until a stream's mean gap comes out as it went in, by half of what it is off each time.
//!
//! Sommers, Barford, Willinger, "A proposed framework for calibration of available bandwidth estimation tools", ISCC 2006; what the paper's abstract leaves open is as in
//! the authors' tool. Streams of 50 packets of 1500 bytes begin at the least gap. A stream is too fast if its mean gap comes longer *or shorter* than it was sent, by more than what
//! would make its rate less by the resolution zeta, or if more than one packet is lost. The next gap is the one sent and half of the difference. Single gaps, which suffer from operating
//! systems, do not count.

use super::{Answer, Estimator, Observed, Spread};
use alloc::format;
use alloc::vec::Vec;
use node::Rate;

/// Packets of a stream.
pub const STREAM: u32 = 50;
/// zeta, of the capacity. The tool's is 500 kb/s, which are 1/310 of the narrowest link in its description, an OC-3 of 155 Mb/s.
pub const RESOLUTION: f64 = 1.0 / 310.0;
/// Lost packets that say nothing yet.
pub const LOSSES: usize = 1;
/// Maximum number of streams. Each at least halves the distance of the rate from its target.
const MAX_STREAMS: usize = 200;
/// Factor by which the next stream is slower after one without a difference that lost packets.
const SLOWER: f64 = 1.02;

#[derive(Clone, Debug)]
pub struct Yaz {
    capacity: f64,
    /// The next stream's rate.
    rate: f64,
    /// The last one that was too fast.
    above: Option<f64>,
    found: Option<Spread>,
    points: Vec<(f64, f64)>,
}

impl Yaz {
    /// That begins at this rate.
    pub fn new(capacity: Rate) -> Yaz {
        let capacity = capacity.bits_per_second() as f64;
        Yaz {
            capacity,
            rate: capacity,
            above: None,
            found: None,
            points: Vec::new(),
        }
    }
}

impl Estimator for Yaz {
    fn figure(&self) -> &'static str {
        "mean gap that came over mean gap sent"
    }

    fn next(&mut self) -> Option<Rate> {
        if self.found.is_some() || self.points.len() >= MAX_STREAMS {
            return None;
        }
        let rate = Rate::from_bits_per_second(libm::round(self.rate) as u64)?;
        // Where the resolution is all that there is, nothing can be told apart.
        (self.rate > RESOLUTION * self.capacity).then_some(rate)
    }

    fn see(&mut self, train: &Observed<'_>) {
        let (mut sent, mut came, mut bits) = (0.0, 0.0, 0.0);
        for (one, other, size) in train.gaps() {
            (sent, came, bits) = (sent + one, came + other, bits + size);
        }
        if sent <= 0.0 {
            // A stream of which nothing came is lost.
            let rate = train.rate.bits_per_second() as f64;
            self.points.push((rate, 0.0));
            self.rate = rate / 2.0;
            return;
        }
        let rate = bits / sent * 1e12;
        self.points.push((rate, came / sent));
        let off = (came / sent - 1.0).abs();
        let least = rate - RESOLUTION * self.capacity;
        let is_lossy = train.lost() > LOSSES;
        if is_lossy || off > rate / least - 1.0 {
            let slower = 1.0 + off / 2.0;
            self.above = Some(rate);
            self.rate = rate / if is_lossy { slower.max(SLOWER) } else { slower };
        } else {
            self.found = Some(Spread {
                value: rate,
                low: least.max(0.0),
                high: self.above.unwrap_or(rate),
            });
        }
    }

    fn answer(&mut self) -> Answer {
        let fresh = Yaz {
            capacity: self.capacity,
            rate: self.capacity,
            above: None,
            found: None,
            points: Vec::new(),
        };
        let over = core::mem::replace(self, fresh);
        let streams = over.points.len();
        match (over.found, over.above) {
            (None, _) => Answer::none(
                format!("no rate was low enough in {streams} streams"),
                over.points,
            ),
            // The first stream has the greatest rate that there is.
            (Some(_), None) => Answer::none("the greatest rate was not too high", over.points),
            (found, _) => Answer {
                estimate: found,
                how: format!("a mean gap came as it was sent in the {streams}th stream"),
                points: over.points,
            },
        }
    }
}
