//! The model of probe trains: (N, R, G, D) of paper 002 section 4.4.2, figure 4.12.
//!
//! A *train* is N packets at the rate R. A *sample* is the trains of one estimate, G apart. Samples are D apart. Sizes are
//! the sender's, fixed or drawn: the rate holds from packet to packet, whatever they are.

use alloc::vec::Vec;
use core::str::FromStr;
use node::ConfigError;
use node::random::Random;
use node::{Rate, Time, link};

/// What is sent: trains, as values.
///
/// As a text `N, R, G, D`: `20, 0.1:0.1:9.6 Gb/s, 10 us, 4 ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trains {
    /// N: packets in a train, at least 1.
    pub packets: u32,
    /// R: the rate within each train.
    pub rates: Rates,
    /// G: from the last packet of a train to the first of the next one in the sample.
    pub gap: Gap,
    /// D: from the last packet of a sample to the first of the next sample.
    pub distance: Gap,
}

/// The rates of the trains in a sample, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rates {
    /// As many trains at one rate: `10 Gb/s * 100`; `10 Gb/s` is one train.
    Same { rate: Rate, trains: u32 },
    /// From the first rate up to the last by steps: `0.1:0.1:9.6 Gb/s`.
    Sweep { from: Rate, step: Rate, to: Rate },
    /// Each so many times the one before, up to the last: `0.1:x1.2:9.6 Gb/s`.
    Growing { from: Rate, factor: f64, to: Rate },
    /// From the first to the last with the smallest steps in the middle of them, a reflected exponential chirp's (REACH): the first step to both sides is `step` of half the range, each one
    /// `factor` of the one before, as far as they fit. `0.1:reach 5% x1.2:9.6 Gb/s`.
    Reach {
        from: Rate,
        step: f64,
        factor: f64,
        to: Rate,
    },
    /// Each follows from what came back of those before: `adaptive`.
    Adaptive,
}

/// A distance in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// This time: `10 us`.
    After(Time),
    /// Drawn from the exponential distribution with this mean: `exponential(48 us)`.
    Exponential(Time),
    /// This multiple of a packet's time at the train's own rate: `900 packets`. `chirp` is one,
    /// with which trains of one packet make a chirp.
    Packets(u32),
}

/// Maximum number of trains of one sample.
pub const MAX_TRAINS: usize = 10_000;

impl Trains {
    /// Pathload as the first row of table 4.2 has it: N = 20, all else from what came back. The paper's R is the range that the
    /// search covers.
    pub const PATHLOAD: Trains = Trains {
        packets: 20,
        rates: Rates::Adaptive,
        gap: Gap::After(Time::from_us(10)),
        distance: Gap::After(Time::from_ms(4)),
    };
    /// pathChirp as the second row has it: trains of one packet whose distances decrease.
    pub const PATHCHIRP: Trains = Trains {
        packets: 1,
        rates: SWEEP,
        gap: Gap::Packets(1),
        distance: Gap::After(Time::from_ms(4)),
    };
    /// Spruce as the third row has it: pairs with the least gap every 48 us in the mean. Of 1500 bytes these are 500 Mb/s, which
    /// is what the row has as R. 100 pairs make an estimate.
    pub const SPRUCE: Trains = Trains {
        packets: 2,
        rates: Rates::Same {
            rate: Rate::TEN_GIGABIT,
            trains: 100,
        },
        gap: Gap::Exponential(Time::from_us(48)),
        distance: Gap::Exponential(Time::from_us(48)),
    };
    /// IGI as the fourth row has it: 60 packets, each train and each sample 30 s behind the one before.
    pub const IGI: Trains = Trains {
        packets: 60,
        rates: SWEEP,
        gap: Gap::After(Time::from_secs(30)),
        distance: Gap::After(Time::from_secs(30)),
    };
    /// MinProbe's own (section 4.4.4): (20, [0.1:0.1:9.6] Gb/s, 10 us, 4 ms).
    pub const MINPROBE: Trains = Trains {
        packets: 20,
        rates: SWEEP,
        gap: Gap::After(Time::from_us(10)),
        distance: Gap::After(Time::from_ms(4)),
    };

    /// Refuses what cannot be sent.
    ///
    /// # Errors
    /// Trains without packets, a gap of zero, and a sweep without an end or with more than
    /// [`MAX_TRAINS`] trains.
    pub fn checked(self) -> Result<Trains, ConfigError> {
        if self.packets == 0 || self.packets > 10_000 {
            return Err(ConfigError::new(
                "packets",
                "a train has 1 to 10000 packets",
            ));
        }
        for (key, gap) in [("gap", self.gap), ("distance", self.distance)] {
            if let Gap::After(Time::ZERO) | Gap::Exponential(Time::ZERO) | Gap::Packets(0) = gap {
                return Err(ConfigError::new(key, "trains are at least 1 ps apart"));
            }
        }
        let wrong = |reason: &str| Err(ConfigError::new("rates", reason));
        match self.rates {
            Rates::Same { trains: 0, .. } => wrong("a sample has at least 1 train"),
            Rates::Sweep { from, to, .. }
            | Rates::Growing { from, to, .. }
            | Rates::Reach { from, to, .. }
                if from > to =>
            {
                wrong("the first rate is above the last")
            }
            Rates::Growing { factor, .. } if !(factor > 1.0 && factor.is_finite()) => {
                wrong("each rate is more than once the one before, such as x1.2")
            }
            Rates::Reach { step, factor, .. }
                if !(step > 0.0 && step < 1.0 && factor > 1.0 && factor.is_finite()) =>
            {
                wrong(
                    "the first step is above 0 % and below 100 %, and each more than once the one before, such as reach 5% x1.2",
                )
            }
            _ if self.rate(MAX_TRAINS).is_some() => wrong("a sample has at most 10000 trains"),
            _ => Ok(self),
        }
    }

    /// The rate of the train with this index in a sample; `None` behind the last one, and where it follows from what came back.
    pub fn rate(&self, index: usize) -> Option<Rate> {
        match self.rates {
            Rates::Same { rate, trains } => ((index as u64) < u64::from(trains)).then_some(rate),
            Rates::Sweep { from, step, to } => {
                let more = step.bits_per_second().checked_mul(index as u64)?;
                let bits = from.bits_per_second().checked_add(more)?;
                Rate::from_bits_per_second(bits).filter(|rate| *rate <= to)
            }
            Rates::Growing { from, factor, to } => {
                let bits = from.bits_per_second() as f64 * libm::pow(factor, index as f64);
                let rate = Rate::from_bits_per_second(libm::round(bits) as u64);
                rate.filter(|rate| bits.is_finite() && *rate <= to)
            }
            Rates::Reach {
                from,
                step,
                factor,
                to,
            } => {
                let [from, to] = [from, to].map(|rate| rate.bits_per_second() as f64);
                let half = (to - from) / 2.0;
                // The sum of so many steps is `step * (factor^n - 1) / (factor - 1)` of half the range.
                let each = step / (factor - 1.0);
                let side = libm::floor(libm::log(1.0 + 1.0 / each) / libm::log(factor) + 1e-9);
                let place = index as f64 - side;
                let off = half * each * (libm::pow(factor, libm::fabs(place)) - 1.0);
                let rate = from + half + libm::copysign(off, place);
                let rate = Rate::from_bits_per_second(libm::round(rate) as u64);
                rate.filter(|_| place <= side)
            }
            Rates::Adaptive => None,
        }
    }
}

const SWEEP: Rates = Rates::Sweep {
    from: rate(100_000_000),
    step: rate(100_000_000),
    to: rate(9_600_000_000),
};

pub(crate) const fn rate(bits: u64) -> Rate {
    match Rate::from_bits_per_second(bits) {
        Some(rate) => rate,
        None => unreachable!(),
    }
}

/// Bits on the wire of a frame of `len` bytes without FCS: with preamble, padding, FCS and the least gap.
pub fn wire_bits(len: usize) -> u64 {
    8 * (link::PREAMBLE + len.max(link::MIN_WIRE_FRAME_LEN) + link::FCS + link::GAP) as u64
}

impl Gap {
    /// How long it is, behind a packet of so many bits on the wire in a train of this rate.
    pub fn time(self, rate: Rate, bits: u64, random: &mut Random) -> Time {
        match self {
            Gap::After(time) => time,
            Gap::Exponential(mean) => {
                let drawn = -libm::log(random.unit()) * mean.as_ps() as f64;
                // Never before the packet itself is over.
                rate.time_of(bits, 0).0.max(Time::from_ps(drawn as u64))
            }
            Gap::Packets(count) => rate.time_of(bits.saturating_mul(count.into()), 0).0,
        }
    }
}

/// Where a sender is in its trains: gives the departure behind each packet. Rounding never accumulates within a train.
#[derive(Clone, Debug)]
pub struct Walk {
    trains: Trains,
    /// The index of the train in its sample.
    train: usize,
    rate: Rate,
    /// Packets of the train that have left.
    left: u32,
    carry: u64,
    random: Random,
}

/// What a departure begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// The next packet of the train.
    Packet,
    /// A train of the same sample.
    Train,
    /// A sample.
    Sample,
}

impl Walk {
    /// At the first packet of the first train; `None` if its rate has to be [asked](Rates::Adaptive) for.
    pub fn new(trains: Trains, seed: u64) -> Option<Walk> {
        Some(Walk {
            rate: trains.rate(0)?,
            trains,
            train: 0,
            left: 0,
            carry: 0,
            random: Random::new(seed),
        })
    }

    /// The rate of the train that it is in.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The departure behind that of a packet at `at` with so many bits on the wire, and what it begins.
    pub fn next(&mut self, at: Time, bits: u64) -> (Time, Begins) {
        self.left += 1;
        if self.left < self.trains.packets {
            let (time, carry) = self.rate.time_of(bits, self.carry);
            self.carry = carry;
            return (at + time, Begins::Packet);
        }
        (self.left, self.carry) = (0, 0);
        let (gap, begins, train) = match self.trains.rate(self.train + 1) {
            Some(_) => (self.trains.gap, Begins::Train, self.train + 1),
            None => (self.trains.distance, Begins::Sample, 0),
        };
        let next = at + gap.time(self.rate, bits, &mut self.random);
        self.train = train;
        self.rate = self.trains.rate(train).unwrap_or(self.rate);
        (next, begins)
    }
}

/// What is wrong with the text of trains, rates or a gap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrainError {
    #[error("trains are N, R, G, D, such as 20, 0.1:0.1:9.6 Gb/s, 10 us, 4 ms")]
    Trains,
    #[error(
        "rates are one such as 10 Gb/s or 10 Gb/s * 100, a sweep 0.1:0.1:9.6 Gb/s, one by a factor 0.1:x1.2:9.6 Gb/s, one that is fine in the middle 0.1:reach 5% x1.2:9.6 Gb/s, or adaptive"
    )]
    Rates,
    #[error("a gap is a time such as 10 us, exponential(48 us), 900 packets, or chirp")]
    Gap,
    #[error(transparent)]
    Unfit(#[from] ConfigError),
}

impl FromStr for Trains {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Trains, TrainError> {
        let mut parts = text.split(',').map(str::trim);
        let mut part = || parts.next().ok_or(TrainError::Trains);
        let trains = Trains {
            packets: part()?.parse().map_err(|_| TrainError::Trains)?,
            rates: part()?.parse()?,
            gap: part()?.parse()?,
            distance: part()?.parse()?,
        };
        match parts.next() {
            None => Ok(trains.checked()?),
            Some(_) => Err(TrainError::Trains),
        }
    }
}

impl FromStr for Rates {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Rates, TrainError> {
        let text = text.trim();
        if text == "adaptive" {
            return Ok(Rates::Adaptive);
        }
        let wrong = |_| TrainError::Rates;
        if !text.contains(':') {
            let (rate, trains) = text.split_once('*').unwrap_or((text, "1"));
            return Ok(Rates::Same {
                rate: rate.trim().parse().map_err(wrong)?,
                trains: trains.trim().parse().map_err(|_| TrainError::Rates)?,
            });
        }
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let [from, step, to] = parts[..] else {
            return Err(TrainError::Rates);
        };
        // The unit stands behind the last number and holds for all.
        let unit = to.trim_start_matches(|c: char| !c.is_alphabetic());
        let rate = |number: &str| {
            let rate = alloc::format!("{number} {unit}").parse::<Rate>();
            rate.map_err(wrong)
        };
        let factor = |text: &str| {
            let number = text.strip_prefix('x').map(str::trim);
            let number = number.ok_or(TrainError::Rates)?;
            number.parse().map_err(|_| TrainError::Rates)
        };
        let (from, to) = (rate(from)?, rate(to[..to.len() - unit.len()].trim())?);
        if let Some(reach) = step.strip_prefix("reach") {
            let (step, spread) = reach.split_once('%').ok_or(TrainError::Rates)?;
            let step: f64 = step.trim().parse().map_err(|_| TrainError::Rates)?;
            return Ok(Rates::Reach {
                from,
                step: step / 100.0,
                factor: factor(spread.trim())?,
                to,
            });
        }
        Ok(match step.starts_with('x') {
            true => Rates::Growing {
                from,
                factor: factor(step)?,
                to,
            },
            false => Rates::Sweep {
                from,
                step: rate(step)?,
                to,
            },
        })
    }
}

impl FromStr for Gap {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Gap, TrainError> {
        let text = text.trim();
        let time = |text: &str| text.parse::<Time>().map_err(|_| TrainError::Gap);
        if text == "chirp" {
            return Ok(Gap::Packets(1));
        }
        if let Some(count) = text.strip_suffix("packets") {
            let count = count.trim().parse().ok().filter(|count| *count > 0);
            return count.map(Gap::Packets).ok_or(TrainError::Gap);
        }
        match text.strip_prefix("exponential(") {
            Some(mean) => {
                time(mean.strip_suffix(')').ok_or(TrainError::Gap)?).map(Gap::Exponential)
            }
            None => time(text).map(Gap::After),
        }
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(
    Trains: "trains N, R, G, D, such as \"20, 0.1:0.1:9.6 Gb/s, 10 us, 4 ms\"",
    Rates: "rates, such as \"0.1:0.1:9.6 Gb/s\"",
    Gap: "a gap, such as \"10 us\"",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_the_rows_of_table_4_2() {
        let trains = |text: &str| text.parse::<Trains>();
        assert_eq!(trains("20, adaptive, 10 us, 4 ms"), Ok(Trains::PATHLOAD));
        assert_eq!(
            trains("1, 0.1:0.1:9.6 Gb/s, chirp, 4 ms"),
            Ok(Trains::PATHCHIRP)
        );
        let spruce = "2, 10 Gb/s * 100, exponential(48 us), exponential(48 us)";
        assert_eq!(trains(spruce), Ok(Trains::SPRUCE));
        assert_eq!(trains("60, 0.1:0.1:9.6Gb/s, 30 s, 30 s"), Ok(Trains::IGI));
        assert_eq!(
            trains("20, 0.1:0.1:9.6 Gb/s, 10 us, 4 ms"),
            Ok(Trains::MINPROBE)
        );
        let idle = trains("100, adaptive, 900 packets, 4 ms").unwrap().gap;
        assert_eq!(idle, Gap::Packets(900));
        let ten = idle.time(Rate::TEN_GIGABIT, 10_000, &mut Random::new(0));
        assert_eq!(ten, Time::from_us(900));
        assert!(trains("20, 1 Gb/s, 0 packets, 4 ms").is_err());
        assert!(trains("20, 0.1:0.1:9.6 Gb/s, 10 us").is_err());
        assert!(trains("0, 1 Gb/s, 10 us, 4 ms").is_err());
        assert!(trains("20, 2:0.1:1 Gb/s, 10 us, 4 ms").is_err());
        assert!(trains("20, 1:x1:2 Gb/s, 10 us, 4 ms").is_err());
        assert!(trains("20, 1:1:2000000 b/s, 10 us, 4 ms").is_err());
        assert!(trains("20, 1 Gb/s, 0 s, 4 ms").is_err());
        assert!(trains("20, 1 Gb/s, exponential(1 us, 4 ms").is_err());
    }

    #[test]
    fn a_sweep_has_96_rates_and_a_factor_has_as_many_as_fit() {
        let count = |trains: Trains| (0..).take_while(|&n| trains.rate(n).is_some()).count();
        assert_eq!(count(Trains::MINPROBE), 96);
        assert_eq!(Trains::MINPROBE.rate(95), Some(rate(9_600_000_000)));
        let rates = "1:x2:9 Gb/s".parse().unwrap();
        let growing = Trains {
            rates,
            ..Trains::MINPROBE
        };
        assert_eq!(count(growing), 4);
        assert_eq!(growing.rate(3), Some(rate(8_000_000_000)));
        assert_eq!(Trains::PATHLOAD.rate(0), None);
        assert!(Walk::new(Trains::PATHLOAD, 0).is_none());
    }

    #[test]
    fn a_reflected_chirp_is_fine_in_the_middle() {
        let reach = |text: &str| Trains {
            rates: text.parse().unwrap(),
            ..Trains::PATHCHIRP
        };
        // The tool's own range and constants: 10 to 200 Mb/s, 5 %, 1.2.
        let tool = reach("10:reach 5% x1.2:200 Mb/s");
        let rates: Vec<u64> = (0..)
            .map_while(|n| tool.rate(n))
            .map(Rate::bits_per_second)
            .collect();
        assert_eq!(rates.len(), 17);
        assert_eq!(rates[8], 105_000_000);
        assert_eq!((rates[7], rates[9]), (100_250_000, 109_750_000));
        assert_eq!((rates[6], rates[10]), (94_550_000, 115_450_000));
        assert!(rates.is_sorted() && rates[0] >= 10_000_000 && rates[16] <= 200_000_000);
        for wrong in [
            "10:reach:200 Mb/s",
            "10:reach 5%:200 Mb/s",
            "10:reach x1.2:200 Mb/s",
        ] {
            assert_eq!(wrong.parse::<Rates>(), Err(TrainError::Rates), "{wrong}");
        }
        for wrong in [
            "10:reach 0% x1.2:200 Mb/s",
            "10:reach 5% x1:200 Mb/s",
            "200:reach 5% x1.2:10 Mb/s",
        ] {
            assert!(reach(wrong).checked().is_err(), "{wrong}");
        }
    }

    /// Figure 4.12: packets at the rate, trains G apart, samples D apart.
    #[test]
    fn departures_follow_the_model() {
        let trains = "3, 4:1:5 Gb/s, 10 us, 4 ms".parse().unwrap();
        let mut walk = Walk::new(trains, 0).unwrap();
        let mut at = Time::ZERO;
        let steps: Vec<_> = (0..6)
            .map(|_| {
                let (next, begins) = walk.next(at, 8_000);
                let step = ((next - at).as_ps(), begins);
                at = next;
                step
            })
            .collect();
        let (two_us, less) = (2_000_000, 1_600_000);
        assert_eq!(steps[..2], [(two_us, Begins::Packet); 2]);
        assert_eq!(steps[2], (10_000_000, Begins::Train));
        assert_eq!(steps[3..5], [(less, Begins::Packet); 2]);
        assert_eq!(steps[5], (4_000_000_000, Begins::Sample));
        assert_eq!(walk.rate(), rate(4_000_000_000));
    }

    /// Table 4.2: a pair every 48 us is a load of 5 % of the capacity.
    #[test]
    fn spruce_loads_the_path_with_500_megabits_a_second() {
        let mut walk = Walk::new(Trains::SPRUCE, 7).unwrap();
        let (mut at, mut packets) = (Time::ZERO, 0u64);
        while packets < 40_000 {
            at = walk.next(at, 8 * 1_500).0;
            packets += 1;
        }
        let load = packets as f64 * 8.0 * 1_500.0 / at.as_secs_f64();
        // Each pair takes 1.2 us besides its distance.
        assert!((load - 500e6).abs() < 25e6, "{load}");
    }
}
