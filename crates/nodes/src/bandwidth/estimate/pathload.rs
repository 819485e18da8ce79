//! Pathload: whether the one-way delays of periodic streams grow, by a search over their rates (SLoPS).
//!
//! Jain and Dovrolis, "End-to-end available bandwidth: measurement methodology, dynamics, and relation with TCP throughput", SIGCOMM 2002, section 4. A
//! stream of K = 100 packets is cut into groups of sqrt(K), of each the median delay is taken; delays grow if of neighbouring medians more than
//! 0.55 increase (PCT), or if the last is above the first by more than 0.4 of all that they differ by (PDT). A fleet is 12 streams of one
//! rate; it is above the available bandwidth if 0.7 of them grow, below if 0.7 do not, else grey. The search halves what
//! is left until it is 1 % of the capacity, or the grey region is within 1.5 % of it on both sides.

use super::{Answer, Estimator, Observed, Spread};
use alloc::format;
use alloc::vec::Vec;
use node::Rate;

/// K: packets of a stream.
pub const STREAM: u32 = 100;
/// The idle time behind a stream is nine times the stream's duration at the least, so that a fleet takes no more than a tenth of its rate
/// and what a stream left in queues is gone.
pub const IDLE: u32 = 9;
/// N: streams of a fleet.
pub const FLEET: usize = 12;
/// f: the share of a fleet that has to agree.
pub const AGREE: f64 = 0.7;
pub const PCT: f64 = 0.55;
pub const PDT: f64 = 0.4;
/// A stream with a greater share of losses says that its rate is too high.
pub const LOSSY: f64 = 0.1;
/// The resolution of the estimate and of the grey region, of the capacity.
pub const RESOLUTION: f64 = 0.01;
pub const GREY_RESOLUTION: f64 = 0.015;

#[derive(Clone, Debug)]
pub struct Pathload {
    capacity: f64,
    /// The least rise of a trend, picoseconds.
    least: f64,
    low: f64,
    high: f64,
    grey: Option<[f64; 2]>,
    rate: f64,
    /// Streams of the fleet so far, and how many of them grew.
    streams: usize,
    grew: usize,
    fleets: usize,
    points: Vec<(f64, f64)>,
}

impl Pathload {
    /// That looks up to this rate, with packets of so many bits on the wire.
    pub fn new(capacity: Rate, bits: u64) -> Pathload {
        let capacity = capacity.bits_per_second() as f64;
        Pathload::fresh(capacity, bits as f64 / capacity * 1e12)
    }

    fn fresh(capacity: f64, least: f64) -> Pathload {
        Pathload {
            capacity,
            least,
            low: 0.0,
            high: capacity,
            grey: None,
            rate: capacity / 2.0,
            streams: 0,
            grew: 0,
            fleets: 0,
            points: Vec::new(),
        }
    }

    /// A fleet is over: what is left, and where to look next.
    fn fleet(&mut self) {
        let share = self.grew as f64 / self.streams as f64;
        self.points.push((self.rate, share));
        self.fleets += 1;
        (self.streams, self.grew) = (0, 0);
        let rate = self.rate;
        if share >= AGREE {
            self.high = rate;
        } else if 1.0 - share >= AGREE {
            self.low = rate;
        } else {
            let [least, most] = self.grey.unwrap_or([rate, rate]);
            self.grey = Some([least.min(rate), most.max(rate)]);
        }
        // Grey is what is between.
        self.grey = self.grey.and_then(|[least, most]| {
            let (least, most) = (least.max(self.low), most.min(self.high));
            (least <= most).then_some([least, most])
        });
        self.rate = match self.grey {
            Some([_, most]) if self.high - most > GREY_RESOLUTION * self.capacity => {
                f64::midpoint(self.high, most)
            }
            Some([least, _]) => f64::midpoint(least, self.low),
            None => f64::midpoint(self.high, self.low),
        };
    }

    fn is_over(&self) -> bool {
        let near = |a: f64, b: f64| b - a <= GREY_RESOLUTION * self.capacity;
        let grey = |[least, most]: [f64; 2]| near(self.low, least) && near(most, self.high);
        self.high - self.low <= RESOLUTION * self.capacity || self.grey.is_some_and(grey)
    }
}

impl Estimator for Pathload {
    fn figure(&self) -> &'static str {
        "share of streams whose delays grow"
    }

    fn next(&mut self) -> Option<Rate> {
        if self.is_over() {
            return None;
        }
        Rate::from_bits_per_second(libm::round(self.rate) as u64)
    }

    fn see(&mut self, train: &Observed<'_>) {
        self.streams += 1;
        let lossy = train.lost() as f64 > LOSSY * train.packets.len() as f64;
        self.grew += usize::from(lossy || grows(&train.delays(), self.least));
        if self.streams == FLEET {
            self.fleet();
        }
    }

    fn answer(&mut self) -> Answer {
        let fresh = Pathload::fresh(self.capacity, self.least);
        let over = core::mem::replace(self, fresh);
        if over.fleets == 0 {
            return Answer::none("no fleet came whole", over.points);
        }
        let (low, high) = (over.low, over.high);
        // A bound that no fleet has found is none.
        if low == 0.0 || high == over.capacity {
            let wrong = match low == 0.0 {
                true => format!(
                    "delays grew at every rate down to {:.0} Mb/s",
                    over.rate / 1e6
                ),
                false => format!("delays grew at no rate up to {:.0} Mb/s", over.rate / 1e6),
            };
            return Answer::none(wrong, over.points);
        }
        let grey = if over.grey.is_some() {
            ", with a grey region"
        } else {
            ""
        };
        let value = f64::midpoint(low, high);
        Answer {
            estimate: Some(Spread { value, low, high }),
            how: format!("a search by {} fleets{grey}", over.fleets),
            points: over.points,
        }
    }
}

/// Whether delays grow, by at least so much from the first median to the last.
pub fn grows(delays: &[f64], least: f64) -> bool {
    let size = libm::sqrt(delays.len() as f64) as usize;
    if size < 2 {
        return false;
    }
    let medians: Vec<f64> = delays
        .chunks_exact(size)
        .map(|group| {
            let mut group: Vec<f64> = group.to_vec();
            group.sort_by(f64::total_cmp);
            group[group.len() / 2]
        })
        .collect();
    let pairs = || medians.windows(2).map(|pair| pair[1] - pair[0]);
    let up = pairs().filter(|more| *more > 0.0).count() as f64;
    let all: f64 = pairs().map(f64::abs).sum();
    let net: f64 = pairs().sum();
    net > least && (up > PCT * (medians.len() - 1) as f64 || net > PDT * all)
}
