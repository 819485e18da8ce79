//! The nodes that the tests play with.

use node::{Frame, Node, Out, Port, Properties, Time};
use std::sync::{Arc, Mutex};

/// Sends `count` frames of `len` bytes (without FCS) by its one port: the n-th not before
/// `start + n * gap`, numbered in its first four bytes. Handed over `ahead` early.
pub struct Source {
    pub count: u32,
    pub len: usize,
    pub start: Time,
    pub gap: Time,
    pub ahead: Time,
    pub sent: u32,
}

pub fn source(count: u32, len: usize, start: Time, gap: Time) -> Box<Source> {
    Box::new(Source {
        count,
        len,
        start,
        gap,
        ahead: Time::from_us(1),
        sent: 0,
    })
}

impl Source {
    fn at(&self) -> Time {
        self.start + self.gap * self.sent.into()
    }
}

impl Node for Source {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.done(frame);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        while self.sent < self.count && self.at() - self.ahead <= now {
            let mut frame = out.frame();
            frame.extend(&self.sent.to_be_bytes());
            frame.resize(self.len);
            out.send_at(Port(0), self.at(), frame);
            self.sent += 1;
        }
    }

    fn next_wake(&self) -> Option<Time> {
        (self.sent < self.count).then(|| self.at() - self.ahead)
    }
}

/// What a sink has seen: when the call came, when the first bit did, the number, the length.
pub type Seen = Arc<Mutex<Vec<(Time, Time, u32, usize)>>>;

#[derive(Default)]
pub struct Sink {
    pub seen: Seen,
}

pub fn sink() -> (Box<Sink>, Seen) {
    let sink = Sink::default();
    let seen = sink.seen.clone();
    (Box::new(sink), seen)
}

impl Node for Sink {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            let number = u32::from_be_bytes(frame[..4].try_into().unwrap());
            let seen = (now, frame.arrived(), number, frame.len());
            self.seen.lock().unwrap().push(seen);
            out.drop(frame, "test sink");
        }
    }
}

/// Sends what comes in by one port out by all others.
pub struct Hub(pub usize);

impl Node for Hub {
    fn properties(&self) -> Properties {
        Properties::of(self.0)
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            for other in (0..self.0 as u16).map(Port).filter(|&other| other != port) {
                let copy = out.copy(&frame);
                out.send(other, copy);
            }
            out.done(frame);
        }
    }
}

/// Sends every frame back where it came from.
pub struct Echo;

impl Node for Echo {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.send(port, frame);
        }
    }
}
