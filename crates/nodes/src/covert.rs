//! Covert timing channels: bits in the gaps between frames that somebody else sends for another reason.
//!
//! A frame is sent so that the gap before it is `idles` less `epsilon` idle characters for a 0, and `idles` plus
//! `epsilon` for a 1. Frames, their order and their rate stay; every gap is at least the standard's 12. A few
//! characters of 800 ps are far below what software's stamps resolve, so that only who counts characters sees them
//! (paper 002 chapter 4: covert channels that software cannot detect).
//!
//! - **Ports:** to encode 2: what comes in by port 0 leaves by port 1 with the message in its gaps, the way back is
//!   left alone. To decode and detect 1; with `tap` 2, in line.
//! - **Parameters:** `role`, encode: or decode, or detect. `message`: text of up to 4096 bytes. `idles`, 170, and
//!   `epsilon`, 16; `line`, 10 Gb/s: the rate of the line on which characters are counted. `times`, 0 forever: how often the
//!   message is sent. `delay`, 5 us: how long a frame is held in the mean, to be early or late by. `limit`, 1 ms: how
//!   long at most; beyond it frames leave without a bit, with least gaps, until half of it is left. `window`, 200: gaps
//!   that a detector judges at once.
//! - **Counters:** to encode `packets`; `bits` sent; `uncoded`: gaps without a bit. To decode `packets`, `bits`, `uncoded`,
//!   `chunks`, `failed`, `bit_errors` (of 400 a chunk), `messages`. To detect `packets`, `windows`, and `suspicious` ones.
//! - **Paper:** 002 sections 4 (introduction) and 4.1.4.
//!
//! A bit goes out only if its frame is there in time; where the traffic pauses, the gap is made too long to be
//! taken for one. [`code`] makes bits of a message, with a marker, so that a receiver may join at any time.
//! The gap before a frame carries the bit, so a lost frame costs two bits and one chunk.

pub mod code;
mod demodulate;
pub mod detect;
mod modulate;

pub use demodulate::{Demodulator, Reception};
pub use modulate::Modulator;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Rate, Statistics, Time, link};

/// Minimum epsilon, and minimum gap that it must leave, idle characters: the standard's 12.
const MIN_GAP: u32 = link::GAP as u32;

/// Role of a covert node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Role {
    /// Puts a message into gaps.
    #[default]
    Encode,
    /// Takes messages out of gaps.
    Decode,
    /// Tells whether there is something in the gaps.
    Detect,
}

/// What a covert node is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// What it does.
    pub role: Role,
    /// What is said, 1 to 4096 bytes; only to encode.
    pub message: String,
    /// The gap that stands for neither bit, in idle characters.
    pub idles: u32,
    /// How many more or fewer stand for a bit.
    pub epsilon: u32,
    /// The rate of the line whose characters are counted.
    pub line: Rate,
    /// How often the message is sent; 0 forever.
    pub times: u64,
    /// How long a frame is held when nothing else is in the way.
    pub delay: Time,
    /// How long a frame is held at most for the sake of the message.
    pub limit: Time,
    /// Gaps that a detector judges at once, 50 to 1,000,000.
    pub window: usize,
    /// Whether a decoder or detector is put in line, with two ports.
    pub tap: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            role: Role::Encode,
            message: String::new(),
            idles: 170,
            epsilon: 16,
            line: Rate::TEN_GIGABIT,
            times: 0,
            delay: Time::from_us(5),
            limit: Time::from_ms(1),
            window: 200,
            tap: false,
        }
    }
}

impl Config {
    /// Refuses gaps that no line has, or that cannot be told apart.
    fn checked_gaps(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: &str| Err(ConfigError::new(key, reason));
        match (self.idles, self.epsilon) {
            (_, 0) => wrong("epsilon", "a bit is at least 1 idle character more or less"),
            (idles, epsilon) if idles > 1 << 24 || idles < MIN_GAP.saturating_add(epsilon) => {
                wrong(
                    "idles",
                    "idles less epsilon are at least the standard's 12 characters, idles at most 2^24",
                )
            }
            _ => Ok(()),
        }
    }
}

/// Characters of a line, counted without loss.
#[derive(Clone, Copy, Debug)]
struct Line(Rate);

impl Line {
    /// Idle characters, to the nearest, between the end of a frame of `len` bytes without FCS and the preamble
    /// of one whose first bit comes `interval` after its own; negative if they overlap.
    fn idles(self, interval: Time, len: usize) -> i64 {
        const CHARACTER: u128 = 8_000_000_000_000;
        let rate = u128::from(self.0.bits_per_second());
        let all = (u128::from(interval.as_ps()) * rate + CHARACTER / 2) / CHARACTER;
        let frame = (link::PREAMBLE + len.max(link::MIN_WIRE_FRAME_LEN) + link::FCS) as i64;
        i64::try_from(all).unwrap_or(i64::MAX).saturating_sub(frame)
    }

    /// From first bit to first bit of two frames with so many idles between them, the first of `len` bytes; rounded
    /// to the nearest picosecond, so that a reader counts as many.
    fn interval(self, idles: u32, len: usize) -> Time {
        let frame = (link::PREAMBLE + len.max(link::MIN_WIRE_FRAME_LEN) + link::FCS) as u64;
        let (time, rest) = self.0.time_of(8 * (frame + u64::from(idles)), 0);
        time + Time::from_ps(u64::from(2 * rest >= self.0.bits_per_second()))
    }
}

/// Told of each message that a decoder has made whole.
pub type Reader = Box<dyn FnMut(Time, &[u8]) + Send>;

pub struct Covert {
    tap: bool,
    packets: u64,
    work: Work,
}

enum Work {
    Encode(Box<Modulator>),
    Decode(Box<Demodulator>, Reader),
    Detect(Box<detect::Watch>),
}

impl Covert {
    /// A covert node; `reader` is told of what a decoder has read.
    ///
    /// # Errors
    /// For gaps below the standard's, a message of no or too great length, or a window out of its range.
    pub fn new(config: Config, reader: Reader) -> Result<Covert, ConfigError> {
        let work = match config.role {
            Role::Encode => Work::Encode(Box::new(Modulator::new(&config)?)),
            Role::Decode => Work::Decode(Box::new(Demodulator::new(&config)?), reader),
            Role::Detect => Work::Detect(Box::new(detect::Watch::new(config.line, config.window)?)),
        };
        Ok(Covert {
            tap: config.tap && config.role != Role::Encode,
            packets: 0,
            work,
        })
    }

    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        if port != Port(0) {
            out.send(Port(0), frame);
            return;
        }
        self.packets += 1;
        let (arrived, len) = (frame.arrived(), frame.len());
        match &mut self.work {
            Work::Encode(modulator) => {
                let at = modulator.departure(now, arrived, len);
                return out.send_at(Port(1), at, frame);
            }
            Work::Decode(demodulator, reader) => {
                if let Some(message) = demodulator.frame(arrived, len) {
                    reader(arrived, message);
                }
            }
            Work::Detect(watch) => watch.frame(arrived, len),
        }
        match self.tap {
            true => out.send(Port(1), frame),
            false => out.done(frame),
        }
    }
}

impl Node for Covert {
    fn properties(&self) -> Properties {
        Properties::of(match self.work {
            Work::Encode(_) => 2,
            _ if self.tap => 2,
            _ => 1,
        })
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        statistics.counter("packets", self.packets);
        match &self.work {
            Work::Encode(modulator) => {
                statistics.counter("bits", modulator.bits());
                statistics.counter("uncoded", modulator.uncoded());
            }
            Work::Decode(demodulator, _) => {
                let reception = demodulator.reception();
                statistics.counter("bits", reception.bits);
                statistics.counter("uncoded", reception.uncoded);
                statistics.counter("chunks", reception.found.chunks);
                statistics.counter("failed", reception.found.failed);
                statistics.counter("bit_errors", reception.found.bit_errors);
                statistics.counter("messages", reception.found.messages);
            }
            Work::Detect(watch) => {
                statistics.counter("windows", watch.windows());
                statistics.counter("suspicious", watch.suspicious());
            }
        }
        statistics
    }
}
