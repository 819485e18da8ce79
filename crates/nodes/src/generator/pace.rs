//! The time from one departure to the next.

use super::{Config, Pattern, Pause};
use crate::train::{Walk, wire_bits};
use node::ConfigError;
use node::random::Random;
use node::{Rate, Time, link};

/// How departures follow each other, and what is left of a picosecond.
///
/// Two clocks: the pace's, which never drifts, and the line's, on which a frame cannot leave before the one
/// before it has. What is drawn lands on the line's characters (800 ps at 10 Gb/s), counted from the
/// first departure, since a real line has no other times.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    kind: Kind,
    carry: u64,
    pattern: Pattern,
    line: Rate,
    /// Mean length on the wire, bytes with preamble, FCS and least gap, of frames whose sizes are known.
    mean: Option<f64>,
    /// The first departure, from which characters are counted; known from then on.
    origin: Option<Time>,
    /// When the next frame would leave if all were evenly spread, or at random but never held up.
    due: Time,
    /// Frames of this train or chain that have left.
    left: u32,
    /// The first departure of this train.
    began: Time,
    random: Random,
    /// Where it is in trains, if those are what it sends.
    walk: Option<Walk>,
}

#[derive(Clone, Debug)]
enum Kind {
    Gap(Time),
    /// Bits a second on the wire.
    Bits(Rate),
    /// Frames a second: a rate whose unit is the frame.
    Frames(Rate),
    /// Idle characters between frames.
    Idles(u32),
}

/// Characters, and thereby bytes, that a frame of `len` bytes without FCS takes besides the gap.
fn characters(len: usize) -> u64 {
    (link::PREAMBLE + len.max(link::MIN_WIRE_FRAME_LEN) + link::FCS) as u64
}

impl Pace {
    /// The one that is asked for, if any is. `mean` is that of the frames' lengths without FCS.
    pub(super) fn new(config: &Config, mean: Option<f64>) -> Result<Option<Pace>, ConfigError> {
        let (gap, rate, idles) = (config.gap, config.rate, config.idles);
        if let (Pattern::Trains(_), true) = (
            config.pattern,
            gap.is_some()
                || rate.is_some()
                || config.packets_per_second.is_some()
                || idles.is_some(),
        ) {
            let reason =
                "trains have rates of their own: leave gap, rate, packets_per_second and idles out";
            return Err(ConfigError::new("pattern", reason));
        }
        let kind = match (gap, rate, config.packets_per_second, idles) {
            (None, None, None, None) => {
                return match config.pattern {
                    Pattern::Even => Ok(None),
                    _ => Pace::of(Kind::Gap(Time::from_ms(1)), config, mean).map(Some),
                };
            }
            (Some(Time::ZERO), None, None, None) => {
                return Err(ConfigError::new(
                    "gap",
                    "departures are at least 1 ps apart",
                ));
            }
            (Some(gap), None, None, None) => Kind::Gap(gap),
            (None, Some(rate), None, None) => Kind::Bits(rate),
            (None, None, Some(frames), None) => Kind::Frames(
                Rate::from_bits_per_second(frames)
                    .filter(|_| frames <= 1_000_000_000_000)
                    .ok_or_else(|| {
                        ConfigError::new(
                            "packets_per_second",
                            "1 to 10^12 packets a second can leave",
                        )
                    })?,
            ),
            (None, None, None, Some(idles)) => Kind::Idles(idles),
            _ => {
                let reason = "only one of gap, rate, packets_per_second and idles can hold";
                return Err(ConfigError::new("gap", reason));
            }
        };
        Pace::of(kind, config, mean).map(Some)
    }

    /// Evenly, this far apart.
    pub(super) fn gap(gap: Time, config: &Config) -> Result<Pace, ConfigError> {
        Pace::of(Kind::Gap(gap), config, None)
    }

    fn of(kind: Kind, config: &Config, mean: Option<f64>) -> Result<Pace, ConfigError> {
        let shortest = (link::MIN_WIRE_FRAME_LEN) as f64;
        let overhead = (link::PREAMBLE + link::FCS + link::GAP) as f64;
        Ok(Pace {
            kind,
            carry: 0,
            pattern: config.pattern.checked()?,
            line: config.line,
            mean: mean.map(|mean| mean.max(shortest) + overhead),
            origin: None,
            due: Time::ZERO,
            left: 0,
            began: Time::ZERO,
            random: Random::new(config.seed),
            walk: match config.pattern {
                Pattern::Trains(trains) => Walk::new(trains, config.seed),
                _ => None,
            },
        })
    }

    /// The departure behind that of a frame of `len` bytes, without FCS, which leaves at `at`.
    pub(super) fn next(&mut self, at: Time, len: usize) -> Time {
        if self.origin.is_none() {
            (self.origin, self.due, self.began) = (Some(at), at, at);
        }
        if let Some(walk) = &mut self.walk {
            return walk.next(at, wire_bits(len)).0;
        }
        self.left = self.left.saturating_add(1);
        match self.pattern {
            Pattern::Even | Pattern::Trains(_) => at + self.interval(len),
            Pattern::Train { frames, .. } if self.left < frames => at + self.interval(len),
            Pattern::Train { pause, .. } => {
                let next = match pause {
                    Pause::After(pause) => at + pause,
                    // A train that takes longer than its period is followed at once by the next.
                    Pause::Every(period) => (self.began + period).max(self.behind(at, len)),
                };
                (self.left, self.began, self.carry) = (0, next, 0);
                next
            }
            Pattern::Poisson => {
                let mean = self.mean_interval(len);
                // Never 0: the longest interval is 37 times the mean.
                let uniform = self.random.unit();
                self.due += Time::from_ps((-libm::log(uniform) * mean + 0.5) as u64);
                self.on_line(self.due.max(self.behind(at, len)))
            }
            Pattern::Chains { d_len } => {
                let interval = self.interval(len);
                self.due += interval;
                let goes_on = self.random.chance(d_len);
                let behind = self.behind(at, len);
                match goes_on {
                    true => behind,
                    false => self.on_line(self.due.max(behind)),
                }
            }
        }
    }

    /// What lies between two departures at the pace, the first of a frame of `len` bytes.
    fn interval(&mut self, len: usize) -> Time {
        let (time, carry) = match self.kind {
            Kind::Gap(gap) => (gap, 0),
            Kind::Bits(rate) => rate.time_of(8 * (characters(len) + link::GAP as u64), self.carry),
            Kind::Frames(rate) => rate.time_of(1, self.carry),
            Kind::Idles(idles) => {
                let bits = 8 * (characters(len) + u64::from(idles));
                self.line.time_of(bits, self.carry)
            }
        };
        self.carry = carry;
        time
    }

    /// The same in the mean over all sizes, in picoseconds.
    fn mean_interval(&self, len: usize) -> f64 {
        let least = (characters(len) + link::GAP as u64) as f64;
        let mean = self.mean.unwrap_or(least);
        let ps_per_byte = |rate: Rate| 8e12 / rate.bits_per_second() as f64;
        match self.kind {
            Kind::Gap(gap) => gap.as_ps() as f64,
            Kind::Bits(rate) => mean * ps_per_byte(rate),
            Kind::Frames(rate) => 1e12 / rate.bits_per_second() as f64,
            Kind::Idles(idles) => {
                (mean - link::GAP as f64 + f64::from(idles)) * ps_per_byte(self.line)
            }
        }
    }

    /// The first departure that the line allows behind a frame of `len` bytes which leaves at `at`.
    fn behind(&self, at: Time, len: usize) -> Time {
        let bits = 8 * (characters(len) + link::GAP as u64);
        self.on_line(at + self.line.time_of(bits, 0).0)
    }

    /// The first character of the line that begins at `time` or later.
    fn on_line(&self, time: Time) -> Time {
        const CHARACTER: u128 = 8_000_000_000_000;
        let origin = self.origin.unwrap_or(Time::ZERO);
        let rate = u128::from(self.line.bits_per_second());
        let since = time - origin;
        if CHARACTER.is_multiple_of(rate) {
            let character = (CHARACTER / rate) as u64;
            let count = since.as_ps().div_ceil(character);
            return origin + Time::from_ps(count.saturating_mul(character));
        }
        let count = (u128::from(since.as_ps()) * rate).div_ceil(CHARACTER);
        let ps = count * CHARACTER / rate;
        origin + Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}
