//! Sends packets on as they came: what a hook costs by itself (004 section 5.1).
//!
//! - **Ports:** 2; what comes in by one goes out by the other.
//! - **Parameters:** none.
//! - **Counters:** `packets`; `bytes`, without FCS.
//! - **Drops:** none.

use node::{Frame, Node, Out, Port, Time};

/// What it is made from: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {}

/// The node. See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Through {
    packets: u64,
    bytes: u64,
}

impl Through {
    /// A new one.
    pub fn new(_: Config) -> Through {
        Through::default()
    }
}

impl Node for Through {
    fn ports(&self) -> usize {
        2
    }

    fn frame(&mut self, _: Time, port: Port, frame: Frame, out: &mut Out) {
        self.packets += 1;
        self.bytes += frame.len() as u64;
        out.send(Port(1 - port.0), frame);
    }

    fn changes_frames(&self) -> bool {
        false
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        visit("packets", self.packets);
        visit("bytes", self.bytes);
    }
}
