//! Estimators of available bandwidth: pure functions of when packets left and came.
//!
//! | method | what it looks at | published |
//! |---|---|---|
//! | [`minprobe`] | where the variance of queuing delays turns upwards, over a sweep of rates | paper 002 section 4.4, and IMC 2014 |
//! | [`spruce`] | how far pairs with the least gap are pulled apart | Strauss, Katabi, Kaashoek: IMC 2003 |
//! | [`igi`] | the rate at which a train's gaps stay what they were (PTR), and what stretches them (IGI) | Hu, Steenkiste: JSAC 21(6), 2003 |
//! | [`pathchirp`] | excursions of the queuing delay within a chirp | Ribeiro, Riedi, Baraniuk, Navratil, Cottrell: PAM 2003 |
//! | [`assolo`] | excursions within a chirp that is fine in the middle, filtered | Goldoni, Rossi, Torelli: ICIMP 2009 |
//! | [`pathload`] | whether one-way delays of a stream grow, by a search over rates | Jain, Dovrolis: SIGCOMM 2002 |
//! | [`yaz`] | whether a stream's mean gap stays what it was, lowering its rate until it does | Sommers, Barford, Willinger: ISCC 2006 |
//! | [`topp`] | where offered rates begin to be above those measured | Melander, Björkman, Gunningberg: Globecom 2000 |
//!
//! Each says "no answer", with the reason, where its rule finds none. What it cost is what was sent: who sends counts it.

pub mod assolo;
pub mod burst;
mod excursion;
pub mod igi;
pub mod minprobe;
mod mixed;
pub mod pathchirp;
pub mod pathload;
pub mod spruce;
pub mod topp;
mod turning;
pub mod yaz;

use crate::train::{Gap, Rates, Trains, rate};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use node::{Rate, Time};

/// A packet of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When its first bit left, by the sender's clock.
    pub left: Time,
    /// When its first bit came, by the receiver's clock, which may be any other; `None`: it is lost.
    pub came: Option<Time>,
    /// Its bits on the wire, with preamble, FCS and least gap.
    pub bits: u64,
}

/// A train that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The rate that was asked for.
    pub rate: Rate,
    /// In the order in which they left.
    pub packets: &'a [Packet],
}

impl Observed<'_> {
    /// How much longer than the first each packet that came was on its way, picoseconds: `sum(h) - sum(g)` up to it.
    pub fn delays(&self) -> Vec<f64> {
        let came = self
            .packets
            .iter()
            .filter_map(|packet| Some((packet.left, packet.came?)));
        let mut delays =
            came.map(|(left, came)| i128::from(came.as_ps()) - i128::from(left.as_ps()));
        let Some(first) = delays.next() else {
            return Vec::new();
        };
        let rest = delays.map(|delay| (delay - first) as f64);
        core::iter::once(0.0).chain(rest).collect()
    }

    /// Packets that did not come.
    pub fn lost(&self) -> usize {
        self.packets
            .iter()
            .filter(|packet| packet.came.is_none())
            .count()
    }

    /// The gaps from first bit to first bit of packets that were neighbours and both came, as they left and as they came, picoseconds,
    /// and the bits of the first of the two.
    pub fn gaps(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        self.packets.windows(2).filter_map(|pair| {
            let sent = (pair[1].left - pair[0].left).as_ps() as f64;
            // Packets may overtake each other: a gap of less than nothing is none.
            let came = pair[1].came?.as_ps().checked_sub(pair[0].came?.as_ps())? as f64;
            Some((sent, came, pair[0].bits as f64))
        })
    }
}

/// A value, and the spread of what the method looked at for it, bits a second. The spread is no confidence interval: it knows
/// nothing of what the method's own model is off by, nor of how others' traffic changes between samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// What comes of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The available bandwidth; `None`: no answer.
    pub estimate: Option<Spread>,
    /// How it got there, or why there is no answer.
    pub how: String,
    /// What the method looked at: the rate of each train in bits a second, and its [figure](Estimator::figure).
    pub points: Vec<(f64, f64)>,
}

impl Answer {
    /// Of a method to which the lowest rate sent seems too high: that rate is an upper bound, and no estimate.
    fn below(lowest: f64, points: Vec<(f64, f64)>) -> Answer {
        let how = format!(
            "delays grow from the lowest rate on: less than {:.0} Mb/s is free, or trains met a queue; send slower trains",
            lowest / 1e6
        );
        Answer::none(how, points)
    }

    fn none(how: impl Into<String>, points: Vec<(f64, f64)>) -> Answer {
        Answer {
            estimate: None,
            how: how.into(),
            points,
        }
    }
}

/// A method, over and over: trains come in the order in which they left, then the sample ends.
pub trait Estimator: Send {
    /// What the second of its points is, with its unit.
    fn figure(&self) -> &'static str;

    /// The rate of the next train, of a sample whose rates are [adaptive](Rates::Adaptive); `None`: the sample is over.
    fn next(&mut self) -> Option<Rate> {
        None
    }

    /// Takes a train.
    fn see(&mut self, train: &Observed<'_>);

    /// Ends the sample, and begins the next one.
    fn answer(&mut self) -> Answer;
}

/// By which method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Method {
    #[default]
    MinProbe,
    Spruce,
    Igi,
    Ptr,
    PathChirp,
    Pathload,
    Topp,
    Yaz,
    Assolo,
}

/// From train to train where the method's paper has no figure: at 10 Gb/s some nine times as long as the fastest train takes. What a train above the available bandwidth leaves in
/// a queue has drained then, so that the next does not find it.
const APART: Gap = Gap::After(Time::from_us(300));

/// The rates that chirps go through: an excursion has to begin above the first one and to stay below the last.
const CHIRPED: (Rate, Rate) = (rate(1_000_000_000), Rate::TEN_GIGABIT);

impl Method {
    /// All of them.
    pub const ALL: [Method; 9] = [
        Method::MinProbe,
        Method::Spruce,
        Method::Igi,
        Method::Ptr,
        Method::PathChirp,
        Method::Pathload,
        Method::Topp,
        Method::Yaz,
        Method::Assolo,
    ];

    /// Its name, as files have it.
    pub fn name(self) -> &'static str {
        match self {
            Method::MinProbe => "minprobe",
            Method::Spruce => "spruce",
            Method::Igi => "igi",
            Method::Ptr => "ptr",
            Method::PathChirp => "pathchirp",
            Method::Pathload => "pathload",
            Method::Topp => "topp",
            Method::Yaz => "yaz",
            Method::Assolo => "assolo",
        }
    }

    /// The trains that it sends if nobody says otherwise, and their packets' bytes with FCS. The constants are those of its own
    /// paper, scaled to 10 Gb/s where that had slower paths; table 4.2's are in [`Trains`].
    pub fn usual(self) -> (Trains, u16) {
        let own = |packets, rates| Trains {
            packets,
            rates,
            ..Trains::MINPROBE
        };
        let apart = |trains: Trains, gap: Gap| Trains { gap, ..trains };
        let chirp = |rates| apart(own(1, rates), Gap::Packets(1));
        match self {
            Method::MinProbe => (Trains::MINPROBE, 792),
            Method::Topp => (apart(Trains::MINPROBE, APART), 1518),
            Method::Spruce => (Trains::SPRUCE, 1518),
            // Hu and Steenkiste: 60 packets of 500 to 700 bytes suit most paths.
            Method::Igi | Method::Ptr => (apart(own(60, Rates::Adaptive), APART), 700),
            Method::Pathload => {
                let streams = own(pathload::STREAM, Rates::Adaptive);
                (
                    apart(streams, Gap::Packets(pathload::IDLE * pathload::STREAM)),
                    792,
                )
            }
            Method::PathChirp => {
                let factor = pathchirp::SPREAD;
                let (from, to) = CHIRPED;
                (chirp(Rates::Growing { from, factor, to }), 1000)
            }
            Method::Assolo => {
                let (step, factor) = (assolo::STEP, assolo::SPREAD);
                let (from, to) = CHIRPED;
                let rates = Rates::Reach {
                    from,
                    step,
                    factor,
                    to,
                };
                (chirp(rates), 1000)
            }
            Method::Yaz => (apart(own(yaz::STREAM, Rates::Adaptive), APART), 1518),
        }
    }

    /// The same for a path whose tight link carries no more than `capacity`: rates in proportion, and times as much longer.
    pub fn usual_at(self, capacity: Rate) -> (Trains, u16) {
        let (trains, size) = self.usual();
        let share = capacity.bits_per_second() as f64 / Rate::TEN_GIGABIT.bits_per_second() as f64;
        let rate = |rate: Rate| {
            let bits = libm::round(rate.bits_per_second() as f64 * share) as u64;
            Rate::from_bits_per_second(bits.max(1)).unwrap_or(rate)
        };
        let time = |time: Time| Time::from_ps(libm::round(time.as_ps() as f64 / share) as u64);
        let gap = |gap: Gap| match gap {
            Gap::After(after) => Gap::After(time(after)),
            Gap::Exponential(mean) => Gap::Exponential(time(mean)),
            Gap::Packets(count) => Gap::Packets(count),
        };
        let rates = match trains.rates {
            Rates::Same { rate: of, trains } => Rates::Same {
                rate: rate(of),
                trains,
            },
            Rates::Sweep { from, step, to } => Rates::Sweep {
                from: rate(from),
                step: rate(step),
                to: rate(to),
            },
            Rates::Growing { from, factor, to } => Rates::Growing {
                from: rate(from),
                factor,
                to: rate(to),
            },
            Rates::Reach {
                from,
                step,
                factor,
                to,
            } => Rates::Reach {
                from: rate(from),
                step,
                factor,
                to: rate(to),
            },
            Rates::Adaptive => Rates::Adaptive,
        };
        let scaled = Trains {
            packets: trains.packets,
            rates,
            gap: gap(trains.gap),
            distance: gap(trains.distance),
        };
        (scaled, size)
    }

    /// An estimator. The capacity of the tight link is what Spruce, IGI and PTR reckon with and where Pathload and Yaz begin; to
    /// MinProbe, pathChirp and ASSOLO it is the most that it might be; TOPP does without.
    pub fn estimator(self, capacity: Rate, bits: u64) -> Box<dyn Estimator> {
        match self {
            Method::MinProbe => Box::new(minprobe::MinProbe::new(capacity)),
            Method::Spruce => Box::new(spruce::Spruce::new(capacity)),
            Method::Igi => Box::new(igi::Igi::new(igi::Formula::Igi, capacity, bits)),
            Method::Ptr => Box::new(igi::Igi::new(igi::Formula::Ptr, capacity, bits)),
            Method::PathChirp => Box::new(pathchirp::PathChirp::new(capacity)),
            Method::Pathload => Box::new(pathload::Pathload::new(capacity, bits)),
            Method::Topp => Box::new(topp::Topp::default()),
            Method::Yaz => Box::new(yaz::Yaz::new(capacity)),
            Method::Assolo => Box::new(assolo::Assolo::new(capacity)),
        }
    }
}

#[cfg(test)]
mod tests;
