//! The contract between packet functions and the worlds that run them.
//!
//! A [`Node`] is told that a frame arrived, or that its alarm went off, and the [`Time`]; it
//! answers into an [`Out`] that the caller owns. A [`Graph`] is nodes and the links between their
//! ports, as data. A world - exact simulated time, or Linux interfaces - runs a graph; neither
//! knows the other. Nothing here does I/O or reads a clock.
//!
//! | module | what is in it |
//! |---|---|
//! | [`time`] | [`Time`], an integer count of picoseconds; [`Rate`] and exact serialisation times |
//! | [`frame`] | [`Frame`], an Ethernet frame in a pooled buffer with headroom; [`Pool`] |
//! | [`out`] | [`Out`]: what a node asks the world to do |
//! | [`fact`] | [`Fact`]: what a world tells a node of queues and interfaces |
//! | [`graph`] | [`Graph`], its checks, and the errors they find |
//! | [`histogram`] | [`Histogram`]: counts and percentiles in bounded space |
//! | [`outcome`] | [`Outcome`], what came of a run: the same from every world; [`Tap`] on a link |
//! | [`link`] | [`Channel`], one direction of a link as data, and [`Transmitter`], what it does to frames |
//! | [`oscillator`] | [`Oscillator`], what a port's clock is like, as data |
//!
//! ```
//! use node::{Frame, Node, Out, Port, Time};
//!
//! /// Sends every frame back where it came from, one millisecond after it arrived.
//! struct Boomerang;
//!
//! impl Node for Boomerang {
//!     fn ports(&self) -> usize {
//!         1
//!     }
//!     fn frame(&mut self, _now: Time, port: Port, frame: Frame, out: &mut Out) {
//!         let at = frame.arrived() + Time::from_ms(1);
//!         out.send_at(port, at, frame);
//!     }
//! }
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod fact;
pub mod frame;
pub mod graph;
pub mod histogram;
pub mod link;
pub mod oscillator;
pub mod out;
pub mod outcome;
pub mod time;

pub use fact::Fact;
pub use frame::{Frame, Pool, Ticket};
pub use graph::{End, Graph, GraphError, Link, Member, NodeId};
pub use histogram::Histogram;
pub use link::{Channel, Clocks, Flight, Level, Probability, QueueLimit, Transmitter};
pub use oscillator::{Oscillator, OscillatorError};
pub use out::{Departure, Out, When};
pub use outcome::{Direction, Flow, Outcome, Tap};
pub use time::{Rate, Time};

/// A port of a node, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

impl Port {
    /// The port's number as an index.
    pub fn index(self) -> usize {
        self.0.into()
    }
}

impl core::fmt::Display for Port {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// A packet function with no I/O and no clock of its own.
///
/// Rules that every world keeps: the time passed in never decreases from call to call; a port
/// passed in is below [`ports`](Node::ports); after every call the world asks
/// [`next_wake`](Node::next_wake) again. Rules that every node keeps: a spurious wake does no
/// harm; a bad packet is a counted [drop](Out::drop), never a panic; no call allocates per packet
/// in steady state (take frames from [`Out::frame`] and [`Out::copy`], give them back with
/// [`Out::drop`] or by sending them).
pub trait Node: Send {
    /// How many ports the node has. Constant over its life.
    fn ports(&self) -> usize;

    /// Whether ports of the node may be without a link, as those of a switch are into which nothing is plugged. What it
    /// sends there is lost, and counted among its drops. Constant over its life.
    fn may_lack_links(&self) -> bool {
        false
    }

    /// A frame has arrived on `port`, whole, or as far as the node [`needs`](Node::needs) it.
    ///
    /// `now` is when its last bit was in, or the last one that was needed; [`Frame::arrived`] is when its first bit was, and what
    /// a delay is counted from.
    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out);

    /// Frames have arrived on `port`, one after the other, and all are here by `now`: as many calls of
    /// [`frame`](Node::frame), which a node may do better at once. The list is empty afterwards.
    fn frames(
        &mut self,
        now: Time,
        port: Port,
        frames: &mut alloc::vec::Vec<Frame>,
        out: &mut Out,
    ) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    /// The alarm that [`next_wake`](Node::next_wake) asked for has gone off, or some earlier one.
    fn wake(&mut self, now: Time, out: &mut Out) {
        let _ = (now, out);
    }

    /// The link at a port has gone down, or come up again. Up is what a node takes links for that it was never told of.
    ///
    /// What is sent by a port without a link is lost.
    fn link(&mut self, now: Time, port: Port, up: bool, out: &mut Out) {
        let _ = (now, port, up, out);
    }

    /// How old the [facts](fact) may be that the node acts by; `None`, for most nodes, when it acts by none. Constant
    /// over its life.
    ///
    /// With zero it is told anew before every other call.
    fn wants_facts(&self) -> Option<Time> {
        None
    }

    /// Something that the world knows. Before a call of [`frame`](Node::frame), [`frames`](Node::frames) or
    /// [`wake`](Node::wake), if the facts that the node has are older than it [wants](Node::wants_facts), it is told
    /// of each port's interface and queue; of routes and neighbours at the beginning and when they change, in worlds
    /// that have any. Old ones may come late: [`Fact::taken`] says how old they are.
    fn fact(&mut self, now: Time, fact: &Fact, out: &mut Out) {
        let _ = (now, fact, out);
    }

    /// Whether frames may leave this node with other bytes than they came with. Constant over its life.
    ///
    /// A world gives a node that never changes any a whole chain of segments as one frame, where the system has it
    /// so (generic segmentation offload): that may be up to 64 KiB long, and its checksums need not be complete.
    fn changes_frames(&self) -> bool {
        true
    }

    /// When the node wants to be woken; `None` for not until something arrives.
    ///
    /// A time already past means at once. A node that always asks for a time already past starves
    /// its world, so each wake must move this forward.
    fn next_wake(&self) -> Option<Time> {
        None
    }

    /// How many bytes of a frame, from its first, must be in before the node is told of it; `None` for
    /// all, FCS included. Constant over the node's life.
    ///
    /// A world that can - exact simulated time - calls [`frame`](Node::frame) when that byte is in, so
    /// that a cut-through switch may begin to send what still arrives; other worlds deliver whole frames.
    /// The [`Frame`] is whole in any case, and one that fails its FCS is not delivered even so. Not fewer
    /// bytes than it has are needed of a shorter frame. Sending on by a faster link what is not in yet is
    /// for the node to avoid.
    fn needs(&self) -> Option<usize> {
        None
    }

    /// Shows the node's counters, by the names its documentation gives them, in a fixed order.
    ///
    /// Drops are not among them: the world has those from [`Out::drops`].
    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        let _ = visit;
    }

    /// Shows what became of the node's conversations, in the order in which they began: of a host with
    /// programs. Most nodes have none.
    fn flows(&self, visit: &mut dyn FnMut(outcome::Flow)) {
        let _ = visit;
    }
}
