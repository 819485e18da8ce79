//! The contract between packet functions and the worlds that run them.
//!
//! A [`Node`] is told that frames arrived, or that its alarm went off, and the [`Time`]; it
//! answers into an [`Out`] that the caller owns. A [`Graph`] is nodes and the links between their
//! ports, as data. A world - exact simulated time, or Linux interfaces - runs a graph; neither
//! knows the other. Nothing here does I/O or reads a clock.
//!
//! | module | what is in it |
//! |---|---|
//! | [`time`] | [`Time`], an integer count of picoseconds |
//! | [`rate`] | [`Rate`] and exact serialisation times |
//! | [`size`] | [`Size`], a count of bytes |
//! | [`quantity`] | how all three are read from texts |
//! | [`frame`] | [`Frame`], an Ethernet frame in a pooled buffer with headroom; [`Pool`] |
//! | [`out`] | [`Out`]: what a node asks the world to do |
//! | [`event`] | [`Event`]: what a world tells a node of its links, queues and interfaces |
//! | [`extension`] | [`extension::Extensions`]: reports of a node with a type of their own |
//! | [`driver`] | [`Driver`]: the rules of the contract, kept for every world |
//! | [`graph`] | [`Graph`], its checks, and the errors they find |
//! | [`histogram`] | [`Histogram`]: counts and percentiles in bounded space |
//! | [`outcome`] | [`Outcome`], what came of a run: the same from every world; [`Tap`] on a link |
//! | [`link`] | [`Channel`], one direction of a link as data, and [`Transmitter`], what it does to frames |
//! | [`budget`] | [`budget::Budget`]: memory that far ends may take, each alone and all together |
//! | [`random`] | [`random::Random`]: random numbers with a seed |
//! | [`clock`] | [`clock::Clock`]: what an oscillator shows at a time, exactly |
//! | [`oscillator`] | [`Oscillator`], what a port's clock is like, as data |
//! | [`timekeeper`] | the time of a clock that is slow to read, by a counter that is quick to read |
//! | [`sublayer`] | [`Sublayer`]: what works below a node's frames, in the idle blocks between them |
//!
//! ```
//! use node::{Frame, Node, Out, Port, Properties, Time};
//!
//! /// Sends every frame back where it came from, one millisecond after it arrived.
//! struct Boomerang;
//!
//! impl Node for Boomerang {
//!     fn properties(&self) -> Properties {
//!         Properties::of(1)
//!     }
//!     fn frames(&mut self, _now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
//!         for frame in frames.drain(..) {
//!             let at = frame.arrived() + Time::from_ms(1);
//!             out.send_at(port, at, frame);
//!         }
//!     }
//! }
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod budget;
pub mod clock;
mod config;
pub mod driver;
pub mod event;
pub mod extension;
pub mod frame;
pub mod graph;
pub mod histogram;
pub mod link;
pub mod oscillator;
pub mod out;
pub mod outcome;
pub mod quantity;
pub mod random;
pub mod rate;
pub mod size;
pub mod sublayer;
#[cfg(feature = "serde")]
pub mod text;
pub mod time;
pub mod timekeeper;

pub use config::ConfigError;
pub use driver::{Driver, Refusal};
pub use event::Event;
pub use frame::{Frame, Pool, StampId, Ticket};
pub use graph::{End, Graph, GraphError, Link, Member, NodeId};
pub use histogram::Histogram;
pub use link::{Channel, Clocks, Flight, Level, QueueLimit, Transmitter};
pub use oscillator::{Oscillator, OscillatorError};
pub use out::{Departure, Out, When};
pub use outcome::{Direction, Flow, Outcome, Statistics, Tap};
pub use quantity::QuantityError;
pub use random::Probability;
pub use rate::Rate;
pub use size::Size;
pub use sublayer::Sublayer;
pub use time::Time;

use alloc::vec::Vec;

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
/// A [`Driver`] keeps these rules for every world: the time passed in never decreases from call to call; a port
/// passed in is below [`ports`](Properties::ports); after every call the world asks
/// [`next_wake`](Node::next_wake) again. Rules that every node keeps: a spurious wake does no
/// harm; a bad packet is a counted [drop](Out::drop), never a panic; no call allocates per packet
/// in steady state (take frames from [`Out::frame`] and [`Out::copy`], give them back with
/// [`Out::drop`] or by sending them).
pub trait Node: Send {
    /// What the node is. Constant over its life.
    fn properties(&self) -> Properties;

    /// Frames have arrived on `port`, one after the other, whole, or as far as the node [`needs`](Properties::needs)
    /// them. The node takes all of them out.
    ///
    /// All are there by `now`: in exact simulated time one frame comes at a time, and `now` is when its last bit was in,
    /// or the last one that was needed. [`Frame::arrived`] is when a frame's first bit was, and what a delay is counted from.
    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out);

    /// The alarm that [`next_wake`](Node::next_wake) asked for has gone off, or some earlier one.
    fn wake(&mut self, now: Time, out: &mut Out) {
        let _ = (now, out);
    }

    /// When the node wants to be woken; `None` for not until something arrives.
    ///
    /// A time already past means at once. A node that always asks for a time already past starves
    /// its world, so each wake must move this forward.
    fn next_wake(&self) -> Option<Time> {
        None
    }

    /// Gives the node a waker for other threads, such as a control plane: the world
    /// [wakes](Node::wake) the node soon after a call. A world in simulated time gives none; the node
    /// must then poll by its alarm.
    fn set_waker(&mut self, waker: &core::task::Waker) {
        let _ = waker;
    }

    /// Something has happened around the node, or is known of it: see [`event`].
    fn event(&mut self, now: Time, event: &Event, out: &mut Out) {
        let _ = (now, event, out);
    }

    /// The node's counters, by the names its documentation gives them, in a fixed order, and what became of its
    /// conversations.
    ///
    /// Drops are not among them: the world has those from [`Out::drops`].
    fn statistics(&self) -> Statistics {
        Statistics::default()
    }

    /// The tables by which the node treats packets, for people who look into it: the addresses that a switch has learned, flow
    /// tables, those of a program. Most nodes have none.
    fn tables(&self, now: Time) -> Vec<outcome::Table> {
        let _ = now;
        Vec::new()
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// How many ports the node has.
    pub ports: usize,
    /// Whether ports of the node may be without a link, as those of a switch are into which nothing is plugged. What it
    /// sends there is lost, and counted among its drops. Default no.
    pub may_lack_links: bool,
    /// How old the statistics of interfaces and queues may be that the node acts by; `None`, for most nodes, when it acts
    /// by none. With zero it is told anew before every other call.
    pub statistics_age: Option<Time>,
    /// Whether frames may leave the node with other bytes than they came with. Default yes.
    ///
    /// A world gives a node that never changes any a whole chain of segments as one frame, where the system has it
    /// so (generic segmentation offload): that may be up to 64 KiB long, and its checksums need not be complete.
    pub changes_frames: bool,
    /// How many bytes of a frame, from its first, must be in before the node is told of it; `None` for
    /// all, FCS included.
    ///
    /// A world that can - exact simulated time - calls [`frames`](Node::frames) when that byte is in, so
    /// that a cut-through switch may begin to send what still arrives; other worlds deliver whole frames.
    /// The [`Frame`] is whole in any case, and one that fails its FCS is not delivered even so. Not fewer
    /// bytes than it has are needed of a shorter frame. Sending on by a faster link what is not in yet is
    /// for the node to avoid.
    pub needs: Option<usize>,
    /// Why the node goes on without end if nothing arrives, such as "sends messages of its clock";
    /// `None`, for most nodes, if it only answers, or comes to an end by itself. Where no duration
    /// bounds a run, people are warned at its start.
    pub endless: Option<&'static str>,
    /// Whether the node passes frames on whatever their headers say, without a hop limit, as a
    /// switch does: a loop of such nodes keeps them forever. Default no.
    pub forwards: bool,
}

impl Properties {
    /// Those of most nodes, with `ports` ports.
    pub const fn of(ports: usize) -> Properties {
        Properties {
            ports,
            may_lack_links: false,
            statistics_age: None,
            changes_frames: true,
            needs: None,
            endless: None,
            forwards: false,
        }
    }
}
