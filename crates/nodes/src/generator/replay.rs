//! Frames that were taken down before, with their own timing or another.

use super::Config;
use alloc::boxed::Box;
use alloc::vec::Vec;
use node::ConfigError;
use node::{Frame, Out, Time};

/// Where replayed frames come from: a capture that is read as it is sent, or a list.
pub trait Source: Send {
    /// Appends the next frame's bytes to `frame`, which is empty, and tells its time from the first
    /// frame on, in ps; `None` at the end.
    fn next(&mut self, frame: &mut Frame) -> Option<u128>;

    /// Begins again with the first frame; `false` if it cannot.
    fn rewind(&mut self) -> bool;

    /// The replay ends before the frame that was given last: it would leave at `at_ps` of the run,
    /// whose time ends at [`Time::MAX`].
    fn too_late(&mut self, at_ps: u128) {
        let _ = at_ps;
    }
}

/// Frames in memory, with their times from the first one on.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    frames: Vec<(Time, Vec<u8>)>,
    next: usize,
}

impl Frames {
    /// These, in order. Times that do not begin with zero leave a gap at the front of every loop.
    pub fn new(frames: Vec<(Time, Vec<u8>)>) -> Frames {
        Frames { frames, next: 0 }
    }
}

impl Source for Frames {
    fn next(&mut self, frame: &mut Frame) -> Option<u128> {
        let (time, bytes) = self.frames.get(self.next)?;
        self.next += 1;
        frame.extend(bytes);
        Some(time.as_ps().into())
    }

    fn rewind(&mut self) -> bool {
        self.next = 0;
        true
    }
}

/// `speed` is kept as millionths, so that the scaled times are exact.
const MILLION: u64 = 1_000_000;
/// Minimum pause before the next repetition. Without it, a capture of no duration would stop
/// simulated time.
const MIN_PAUSE: Time = Time::from_ns(1);

/// A source at work.
pub(super) struct Replay {
    source: Box<dyn Source>,
    /// The frame that leaves next, and its time from the start of its loop, in ps.
    in_hand: Option<(u128, Frame)>,
    speed: u64,
    loops: u64,
    pause: Time,
    begun: u64,
    loop_start: Option<Time>,
    /// Whether this loop has given a frame.
    gave: bool,
    /// Whether the rest does not fit into the time of a run.
    ended: bool,
}

impl Replay {
    pub(super) fn new(config: &Config, source: Box<dyn Source>) -> Result<Replay, ConfigError> {
        let speed = config.speed * MILLION as f64 + 0.5;
        if !(1.0..=1e12).contains(&speed) {
            return Err(ConfigError::new("speed", "a speed is 0.000001 to 1000000"));
        }
        Ok(Replay {
            source,
            in_hand: None,
            speed: speed as u64,
            loops: config.loops,
            pause: config.pause.max(MIN_PAUSE),
            begun: 1,
            loop_start: None,
            gave: false,
            ended: false,
        })
    }

    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Sees to it that a frame is in hand, and tells when it leaves by its own timing, in ps of the
    /// run. `last` is the
    /// last departure, or where the first is to be. `None` at the end of the last loop.
    pub(super) fn fill(&mut self, last: Time, out: &mut Out) -> Option<u128> {
        if self.ended {
            return None;
        }
        let start = *self.loop_start.get_or_insert(last);
        if let Some((time, _)) = self.in_hand {
            return Some(self.departure(start, time));
        }
        let mut frame = out.frame();
        if let Some(time) = self.source.next(&mut frame) {
            self.gave = true;
            self.in_hand = Some((time, frame));
            return Some(self.departure(start, time));
        }
        // The end. A loop that gave nothing is not tried again.
        let again = self.gave && (self.loops == 0 || self.begun < self.loops);
        let first = (again && self.source.rewind())
            .then(|| self.source.next(&mut frame))
            .flatten();
        let Some(time) = first else {
            out.done(frame);
            return None;
        };
        let start = last + self.pause;
        self.begun += 1;
        self.loop_start = Some(start);
        self.in_hand = Some((time, frame));
        Some(self.departure(start, time))
    }

    /// Ends the replay before the frame in hand, which would leave later than any time of a run.
    pub(super) fn end_before(&mut self, at_ps: u128, out: &mut Out) {
        self.ended = true;
        self.source.too_late(at_ps);
        if let Some((_, frame)) = self.in_hand.take() {
            out.done(frame);
        }
    }

    pub(super) fn take(&mut self) -> Option<Frame> {
        self.in_hand.take().map(|(_, frame)| frame)
    }

    fn departure(&self, start: Time, time: u128) -> u128 {
        let scaled = match self.speed {
            MILLION => time,
            speed => time.saturating_mul(MILLION.into()) / u128::from(speed),
        };
        scaled.saturating_add(start.as_ps().into())
    }
}
