//! What a delay box does to frames in one direction, in the words of `tc netem`.
//!
//! A SPEC is what stands behind `netem` on a line of tc(8), and such a line may be given whole: what stands
//! before the word `netem` is left out. The words, in any order; a word may be cut short to three letters:
//!
//! ```text
//! delay TIME [JITTER [CORRELATION]] [distribution uniform|normal|pareto [SHAPE]|paretonormal|exponential|FILE]
//! delay LAW [CORRELATION]          LAW as in the module `distribution`: uniform(5ms, 15ms)
//! delay trace FILE                 a delay for each frame, or for each time
//! loss [random] PERCENT [CORRELATION]
//! loss gemodel P [R [1-H [1-K]]]   Gilbert and Elliott
//! loss state P13 [P31 [P32 [P23 [P14]]]]
//! ecn                              marks instead of losing, where a packet can be marked
//! duplicate PERCENT [CORRELATION]
//! corrupt PERCENT [CORRELATION]    one bit of the frame
//! reorder PERCENT [CORRELATION] [gap DISTANCE]
//! rate RATE [PACKETOVERHEAD [CELLSIZE [CELLOVERHEAD]]]
//! burst BYTES                      the rate is a token bucket of this depth, tbf's
//! slot MIN [MAX] [packets N] [bytes N]
//! slot distribution NAME DELAY JITTER [packets N] [bytes N]
//! queue DISCIPLINE ...             what waits for the rate, in tc's words: last, as in `queue fq_codel limit 100`
//! limit PACKETS
//! seed NUMBER
//! ```
//!
//! `none`, or nothing, does nothing.

mod clauses;
mod read;
mod words;

pub use words::{SpecError, TableError};

use super::trace::{Trace, TraceError};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use measure::distribution::Distribution;
use node::{Rate, Time};

/// A number of hundredths, 0 to 100, as it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Percent(f64);

impl Percent {
    pub const ALL: Percent = Percent(100.0);

    /// From a number in 0..=100; `None` outside it.
    pub fn new(percent: f64) -> Option<Percent> {
        (0.0..=100.0).contains(&percent).then_some(Percent(percent))
    }

    /// As a part of 1.
    pub fn part(self) -> f64 {
        self.0 / 100.0
    }

    /// What is left of 100.
    pub fn rest(self) -> Percent {
        Percent(100.0 - self.0)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

/// Something that happens to some frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chance {
    /// To how many.
    pub percent: Percent,
    /// The correlation of what happens to one frame with what happened to the one before.
    pub correlation: Percent,
}

/// What one direction does to frames. By default nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// How long a frame is under way.
    pub delay: Lag,
    /// Which are lost.
    pub loss: Loss,
    /// Whether a packet that can say that there is congestion says so instead of being lost.
    pub ecn: bool,
    /// Which come twice; the copy goes its own way, but is not copied again.
    pub duplicate: Chance,
    /// In which one bit, of any part of the frame, is wrong.
    pub corrupt: Chance,
    /// Which are not delayed.
    pub reorder: Option<Reorder>,
    /// How fast they may leave.
    pub rate: Option<Shaping>,
    /// Whether they leave in bundles.
    pub slot: Option<Slot>,
    /// The queue discipline of what waits for the rate; left out: a FIFO.
    pub queue: Option<Discipline>,
    /// Frames under way, those that wait for the rate included; left out: see
    /// [`LIMIT`](super::LIMIT) and [`QUEUE`](super::QUEUE).
    pub limit: Option<u64>,
    /// Of everything that is drawn by lot; left out: 0.
    pub seed: Option<u64>,
}

/// How long a frame is under way.
#[derive(Clone, Debug, PartialEq)]
pub enum Lag {
    /// Always as long.
    Fixed(Time),
    /// `base` and, up and down, `jitter` times what the shape gives; not below 0.
    Spread {
        base: Time,
        /// The standard deviation; of the uniform shape, half of the width.
        jitter: Time,
        /// How it is spread.
        shape: Shape,
        /// Of one frame's delay with that of the next.
        correlation: Percent,
    },
    /// As a distribution says.
    Drawn {
        distribution: Distribution,
        /// Of one frame's delay with that of the next.
        correlation: Percent,
    },
    /// As a list says.
    Trace(Trace),
}

impl Default for Lag {
    fn default() -> Lag {
        Lag::Fixed(Time::ZERO)
    }
}

/// How a delay is spread round its base. All but the first have mean 0 and deviation 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// From -1 to 1.
    #[default]
    Uniform,
    /// The bell curve.
    Normal,
    /// Pareto's, of this shape above 2; netem's is 3.
    Pareto(f64),
    /// A quarter normal and three quarters Pareto of shape 3, at the same quantile.
    ParetoNormal,
    /// Exponential: never below -1.
    Exponential,
    /// A table as tc has them: quantiles, 8192 to a deviation.
    Table(Vec<i16>),
    /// Such a table, to be read from this file.
    File(String),
}

/// Which frames are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Some.
    Random(Chance),
    /// Gilbert's and Elliott's two states, good and bad.
    Gemodel {
        /// From good to bad.
        p: Percent,
        /// From bad to good.
        r: Percent,
        /// 1-h: lost in the bad state.
        bad: Percent,
        /// 1-k: lost in the good state.
        good: Percent,
    },
    /// Four states: 1 received in a gap, 2 received in a burst, 3 lost in a burst, 4 lost in a gap.
    State {
        /// From 1 to 3.
        p13: Percent,
        /// From 3 to 1.
        p31: Percent,
        /// From 3 to 2.
        p32: Percent,
        /// From 2 to 3.
        p23: Percent,
        /// From 1 to 4.
        p14: Percent,
    },
}

impl Default for Loss {
    fn default() -> Loss {
        Loss::Random(Chance::default())
    }
}

/// Frames that are sent at once, and so overtake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    pub chance: Chance,
    /// So many frames on, counted from one that was sent at once, the next may be; at least 1.
    pub gap: u64,
}

/// A rate that frames leave at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shaping {
    /// Bits a second, of the frame without FCS.
    pub rate: Rate,
    /// Bytes that a frame counts more; or less.
    pub packet_overhead: i32,
    /// Bytes of a cell, into which frames are cut, the last one being filled up; 0: no cells.
    pub cell_size: u32,
    /// Bytes that a cell counts more; or less.
    pub cell_overhead: i32,
    /// Bytes that a token bucket holds (tbf(8)): behind a pause so many pass at once. A frame that is longer passes when the bucket is full. 0: none, as in netem.
    pub burst: u32,
}

/// A queue discipline.
#[derive(Clone, Debug, PartialEq)]
pub struct Discipline {
    /// As it was written, in tc's words.
    pub words: String,
    /// Itself.
    pub config: queue::Config,
}

/// Times at which a bundle of frames leaves, and none between.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// From one to the next.
    pub wait: Lag,
    /// Frames in one; 0: any number.
    pub packets: u64,
    /// Bytes in one; 0: any number. The frame that exceeds it is still part of it.
    pub bytes: u64,
}

/// Finds out whether `text` may stand behind the keyword `name`, by itself.
///
/// # Errors
/// What is wrong with it.
#[cfg(feature = "serde")]
pub(super) fn clause(name: &str, text: &str) -> Result<(), SpecError> {
    let mut reader = read::Reader::new(text)?;
    let mut draft = clauses::Draft::default();
    // Every name given here is one.
    draft.set(clauses::keyword(name).unwrap_or("seed"), &mut reader)?;
    match reader.take() {
        None => Ok(()),
        // `delay` may have its distribution behind it; the rest is for the whole to judge.
        Some(word) => draft.clause(word, &mut reader),
    }
}

impl Spec {
    /// Reads a SPEC, or what stands behind its `delay` alone: `100ms 10ms`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn or_delay(text: &str) -> Result<Spec, SpecError> {
        let first = text.split_whitespace().next().unwrap_or("none");
        let law = first.contains('(') || first.starts_with(|c: char| c.is_ascii_digit());
        match law {
            true => alloc::format!("delay {text}").parse(),
            false => text.parse(),
        }
    }

    /// Reads the files that it names, with `read`, which gives the text of a file.
    ///
    /// # Errors
    /// What is wrong with a file, or what `read` says, with the file's name before it.
    pub fn load<E: fmt::Display>(
        &mut self,
        read: &mut dyn FnMut(&str) -> Result<String, E>,
    ) -> Result<(), FileError<E>> {
        let slot = self.slot.as_mut().map(|slot| &mut slot.wait);
        for lag in [Some(&mut self.delay), slot].into_iter().flatten() {
            lag.load(read)?;
        }
        Ok(())
    }

    /// A file that has not been read yet.
    pub fn missing(&self) -> Option<&str> {
        let slot = self.slot.as_ref().map(|slot| &slot.wait);
        let mut lags = [Some(&self.delay), slot].into_iter().flatten();
        lags.find_map(|lag| match lag {
            Lag::Trace(Trace::File(name)) => Some(name.as_str()),
            Lag::Spread {
                shape: Shape::File(name),
                ..
            } => Some(name.as_str()),
            _ => None,
        })
    }
}

/// What is wrong with a file that a SPEC names, behind the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError<E: fmt::Display> {
    /// It cannot be read.
    #[error("{0}: {1}")]
    Read(String, E),
    /// It is no list of delays.
    #[error("{0}: {1}")]
    Trace(String, TraceError),
    /// It is no distribution table.
    #[error("{0}: {1}")]
    Table(String, TableError),
}

impl Lag {
    fn load<E: fmt::Display>(
        &mut self,
        read: &mut dyn FnMut(&str) -> Result<String, E>,
    ) -> Result<(), FileError<E>> {
        let mut read = |name: &str| read(name).map_err(|error| FileError::Read(name.into(), error));
        match self {
            Lag::Trace(trace) => {
                if let Trace::File(name) = trace {
                    let list = Trace::from_text(&read(name)?);
                    *trace = list.map_err(|error| FileError::Trace(name.clone(), error))?;
                }
            }
            Lag::Spread { shape, .. } => {
                if let Shape::File(name) = shape {
                    let table = words::table(&read(name)?);
                    *shape = table.map_err(|error| FileError::Table(name.clone(), error))?;
                }
            }
            Lag::Fixed(_) | Lag::Drawn { .. } => {}
        }
        Ok(())
    }
}

/// A quantity as one word.
fn word(quantity: impl fmt::Display) -> String {
    quantity.to_string().replace(' ', "")
}

impl fmt::Display for Spec {
    /// In the words that it is read from; `none` for one that does nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut clauses: Vec<String> = Vec::new();
        let mut say = |clause: fmt::Arguments<'_>| clauses.push(clause.to_string());
        if self.delay != Lag::default() {
            say(format_args!("delay {}", self.delay));
        }
        match &self.loss {
            Loss::Random(chance) if chance.percent == Percent::default() => {}
            loss => say(format_args!("loss {loss}")),
        }
        if self.ecn {
            say(format_args!("ecn"));
        }
        for (name, chance) in [("duplicate", self.duplicate), ("corrupt", self.corrupt)] {
            if chance.percent != Percent::default() {
                say(format_args!("{name} {chance}"));
            }
        }
        if let Some(Reorder { chance, gap }) = self.reorder {
            say(format_args!("reorder {chance} gap {gap}"));
        }
        if let Some(shaping) = self.rate {
            say(format_args!("rate {shaping}"));
            if shaping.burst > 0 {
                say(format_args!("burst {}", shaping.burst));
            }
        }
        if let Some(slot) = &self.slot {
            say(format_args!("slot {slot}"));
        }
        if let Some(limit) = self.limit {
            say(format_args!("limit {limit}"));
        }
        if let Some(seed) = self.seed {
            say(format_args!("seed {seed}"));
        }
        if let Some(queue) = &self.queue {
            say(format_args!("queue {}", queue.words));
        }
        match clauses.is_empty() {
            true => f.write_str("none"),
            false => f.write_str(&clauses.join(" ")),
        }
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.percent)?;
        match self.correlation == Percent::default() {
            true => Ok(()),
            false => write!(f, " {}", self.correlation),
        }
    }
}

impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let correlation = match self {
            Lag::Fixed(time) => return f.write_str(&word(time)),
            Lag::Trace(Trace::File(name)) => return write!(f, "trace {name}"),
            Lag::Trace(_) => return f.write_str("trace"),
            Lag::Spread {
                base,
                jitter,
                correlation,
                ..
            } => {
                write!(f, "{} {}", word(base), word(jitter))?;
                correlation
            }
            Lag::Drawn {
                distribution,
                correlation,
            } => {
                write!(f, "{distribution}")?;
                correlation
            }
        };
        if *correlation != Percent::default() {
            write!(f, " {correlation}")?;
        }
        match self {
            Lag::Spread { shape, .. } if *shape != Shape::Uniform => {
                write!(f, " distribution {shape}")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Uniform => f.write_str("uniform"),
            Shape::Normal => f.write_str("normal"),
            Shape::Pareto(3.0) => f.write_str("pareto"),
            Shape::Pareto(shape) => write!(f, "pareto {shape}"),
            Shape::ParetoNormal => f.write_str("paretonormal"),
            Shape::Exponential => f.write_str("exponential"),
            Shape::Table(_) => f.write_str("table"),
            Shape::File(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Random(chance) => write!(f, "{chance}"),
            Loss::Gemodel { p, r, bad, good } => write!(f, "gemodel {p} {r} {bad} {good}"),
            Loss::State {
                p13,
                p31,
                p32,
                p23,
                p14,
            } => write!(f, "state {p13} {p31} {p32} {p23} {p14}"),
        }
    }
}

impl fmt::Display for Shaping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", word(self.rate))?;
        let more = [
            i64::from(self.packet_overhead),
            self.cell_size.into(),
            self.cell_overhead.into(),
        ];
        let used = more.iter().rposition(|&value| value != 0);
        let used = used.map_or(0, |last| last + 1);
        more[..used]
            .iter()
            .try_for_each(|value| write!(f, " {value}"))
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wait {
            Lag::Drawn {
                distribution: Distribution::Uniform { least, greatest },
                ..
            } => write!(f, "{} {}", word(least), word(greatest))?,
            Lag::Spread {
                base,
                jitter,
                shape,
                ..
            } => write!(f, "distribution {shape} {} {}", word(base), word(jitter))?,
            wait => write!(f, "{wait}")?,
        }
        if self.packets > 0 {
            write!(f, " packets {}", self.packets)?;
        }
        match self.bytes {
            0 => Ok(()),
            bytes => write!(f, " bytes {bytes}"),
        }
    }
}

#[cfg(test)]
mod tests;
