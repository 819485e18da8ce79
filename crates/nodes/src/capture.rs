//! Hands every frame to a recorder, unchanged.
//!
//! - **Ports:** 1; with `tap` 2, and what comes in by one goes out by the other.
//! - **Parameters:** `tap`, false.
//! - **Counters:** `packets`; `bytes`, without FCS.
//!
//! The recorder sees [`Frame::arrived`], the arrival of the first bit. In line, a frame leaves when
//! its last bit is in: the tap costs one serialisation time.

use alloc::boxed::Box;
use alloc::vec::Vec;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};

/// What a capture is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Whether it is put in line, with two ports.
    pub tap: bool,
}

/// Takes down frames: into a file, a vector, a meter.
///
/// It is called on a hot path: one that writes to a slow place collects first.
pub trait Recorder: Send {
    /// A frame has arrived by `port`, at [`Frame::arrived`].
    fn record(&mut self, now: Time, port: Port, frame: &Frame);
}

pub struct Capture {
    tap: bool,
    recorder: Box<dyn Recorder>,
    packets: u64,
    bytes: u64,
}

impl Capture {
    /// A capture that hands frames to `recorder`.
    pub fn new(config: Config, recorder: Box<dyn Recorder>) -> Capture {
        Capture {
            tap: config.tap,
            recorder,
            packets: 0,
            bytes: 0,
        }
    }
}

impl Node for Capture {
    fn properties(&self) -> Properties {
        Properties::of(if self.tap { 2 } else { 1 })
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.packets += 1;
            self.bytes += frame.len() as u64;
            self.recorder.record(now, port, &frame);
            if self.tap {
                out.send(Port(port.0 ^ 1), frame);
            } else {
                out.done(frame);
            }
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([("packets", self.packets), ("bytes", self.bytes)])
    }
}
