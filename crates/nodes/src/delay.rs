//! Delay box: every frame leaves by the other port, its first bit `delay` after its first bit
//! arrived.
//!
//! - **Ports:** 2; what comes in by one goes out by the other.
//! - **Parameters:** `delay`, 1 s: from port 0 to port 1. `back`: from port 1 to port 0; left out,
//!   the same. `limit`, 1,048,576 frames that may be under way in each direction.
//! - **Counters:** `packets`; `bytes`, without FCS; `most_held`, the most frames that were under way
//!   in one direction.
//! - **Drops:** `delay line full`.
//! - **Paper:** 000 section 6.3.2, figure 6.7: received stamp + delay = departure, so that what the
//!   box itself takes does not show.
//!
//! A frame is complete only when its last bit is in; a delay shorter than the frame's own duration
//! cannot be kept, and the port counts the frame as late.

use alloc::collections::VecDeque;
use node::{Frame, Node, Out, Port, Time};

/// What a delay box is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// From port 0 to port 1.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::config::text::parse")
    )]
    pub delay: Time,
    /// From port 1 to port 0; `None`: as `delay`.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::config::text::parse_some")
    )]
    pub back: Option<Time>,
    /// Frames that may be under way in each direction.
    pub limit: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            delay: Time::from_secs(1),
            back: None,
            limit: 1 << 20,
        }
    }
}

/// See the module's description.
#[derive(Debug)]
pub struct Delay {
    lines: [Line; 2],
    limit: usize,
    packets: u64,
    bytes: u64,
    most_held: usize,
}

/// One direction: its delay, and when the frames that are under way leave.
#[derive(Debug)]
struct Line {
    delay: Time,
    leaving: VecDeque<Time>,
}

impl Delay {
    /// An empty delay box.
    pub fn new(config: Config) -> Delay {
        let line = |delay| Line {
            delay,
            leaving: VecDeque::new(),
        };
        Delay {
            lines: [
                line(config.delay),
                line(config.back.unwrap_or(config.delay)),
            ],
            limit: config.limit,
            packets: 0,
            bytes: 0,
            most_held: 0,
        }
    }
}

impl Node for Delay {
    fn ports(&self) -> usize {
        2
    }

    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        let line = &mut self.lines[port.index()];
        while line.leaving.front().is_some_and(|&at| at <= now) {
            line.leaving.pop_front();
        }
        if line.leaving.len() >= self.limit {
            out.drop(frame, "delay line full");
            return;
        }
        let departure = frame.arrived() + line.delay;
        line.leaving.push_back(departure);
        self.most_held = self.most_held.max(line.leaving.len());
        self.packets += 1;
        self.bytes += frame.len() as u64;
        out.send_at(Port(port.0 ^ 1), departure, frame);
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        visit("packets", self.packets);
        visit("bytes", self.bytes);
        visit("most_held", self.most_held as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::When;

    fn frame_arrived(at: Time) -> Frame {
        let mut frame = Frame::new(&[0; 60]);
        frame.set_arrived(at);
        frame
    }

    #[test]
    fn departure_is_arrival_and_delay_in_either_direction() {
        let mut delay = Delay::new(Config {
            back: Some(Time::from_ms(1)),
            ..Config::default()
        });
        let mut out = Out::default();
        let (arrived, now) = (Time::from_ns(100), Time::from_ns(151));
        delay.frame(now, Port(0), frame_arrived(arrived), &mut out);
        delay.frame(now, Port(1), frame_arrived(arrived), &mut out);
        let sends: std::vec::Vec<_> = out.sends().map(|d| (d.port, d.when)).collect();
        let forth = (Port(1), When::At(arrived + Time::from_secs(1)));
        let back = (Port(0), When::At(arrived + Time::from_ms(1)));
        assert_eq!(sends, [forth, back]);
    }

    #[test]
    fn a_full_line_drops_until_a_frame_has_left() {
        let mut delay = Delay::new(Config {
            limit: 1,
            ..Config::default()
        });
        let mut out = Out::default();
        for at in [0, 1, 1_000] {
            let at = Time::from_ms(at);
            delay.frame(at, Port(0), frame_arrived(at), &mut out);
        }
        assert_eq!(out.sends().count(), 2);
        assert_eq!(out.drops(), [("delay line full", 1)]);
    }
}
