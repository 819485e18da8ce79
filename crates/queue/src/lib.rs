//! Queue disciplines as pure state machines over exact time: which packet leaves a port next, and
//! when.
//!
//! A [`Discipline`] has no clock and does no I/O. Its owner - a link's sender in simulated time, an
//! egress port of a machine - enqueues a packet when it arrives, and dequeues when the line is free
//! and [`next_time`](Discipline::next_time) has come. A [`Packet`] is a small value with a handle
//! of the owner's frame and the [`Facts`] that classifiers need. Drops and marks come as
//! [`Decision`]s, each with its reason and the state that decided it. The same seed and the same
//! calls give the same decisions on every machine: probabilities and times are integers.
//!
//! | module | contents |
//! |---|---|
//! | [`discipline`] | [`Discipline`]: the contract |
//! | [`packet`] | [`Packet`], [`Facts`], [`Ecn`] |
//! | [`segment`] | [`Segment`]: TCP fields for an ACK filter |
//! | [`decision`] | [`Decision`]: reasons and states of drops and marks |
//! | [`classify`] | facts by which a class is chosen |
//! | [`fifo`] | first in, first out; limits in packets, bytes and time; DCTCP's step |
//! | [`prio`], [`drr`] | strict priority; deficit round robin |
//! | [`tbf`], [`htb`], [`policer`] | token buckets that delay, alone and in a tree, and one that drops |
//! | [`varying`] | a line whose rate changes over time |
//! | [`red`] | random early detection, gentle and adaptive |
//! | [`codel`], [`fq_codel`] | controlled delay, for one queue and for each flow |
//! | [`pie`], [`docsis_pie`] | proportional integral controller, and that of cable modems |
//! | [`dualpi2`] | coupled dual queue for L4S |
//! | [`cake`] | shaper, tins, host fairness, ACK filter |
//! | [`egress`] | a direction of a link with a discipline: frames, and their fates |
//! | [`pause`] | PAUSE and PFC: lossless priorities |
//! | [`tc`] | disciplines in the words of tc(8) |
//! | [`parameter`], [`replay`] | parameters by name; what others would have done to the same arrivals |
//!
//! Each module's documentation lists where its RFC, Linux and ns-3 differ, and which of them it
//! follows. `tests/models` has an independent model of each in Python.
//!
//! ```
//! use node::Time;
//! use queue::{Config, Decisions, Facts, Packet, codel};
//!
//! let config = Config::Codel(codel::Config { limit: 2, ..codel::Config::default() });
//! let mut queue = config.build(0)?;
//! let mut decisions = Decisions::new();
//! for handle in 0..3 {
//!     queue.enqueue(Time::ZERO, Packet::new(handle, 1514, Facts::default()), &mut decisions);
//! }
//! // The third found the queue full.
//! assert_eq!(decisions[0].packet.handle, 2);
//! assert_eq!(decisions[0].reason, queue::Reason::Full);
//!
//! let now = queue.next_time(Time::from_us(3)).expect("packets wait");
//! let packet = queue.dequeue(now, &mut decisions).expect("it may leave now");
//! assert_eq!((packet.handle, packet.sojourn(now)), (0, Time::from_us(3)));
//! # Ok::<(), node::ConfigError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod cake;
mod child;
pub mod classify;
pub mod codel;
pub mod decision;
pub mod discipline;
pub mod docsis_pie;
pub mod drr;
pub mod dualpi2;
pub mod egress;
pub mod fifo;
pub mod fq_codel;
pub mod htb;
mod ledger;
mod lists;
mod names;
pub mod packet;
pub mod parameter;
pub mod pause;
pub mod pie;
pub mod policer;
pub mod prio;
pub mod red;
pub mod replay;
pub mod segment;
pub mod tbf;
pub mod tc;
mod tokens;
pub mod varying;

pub use decision::{Backlog, Decision, Decisions, Reason, State, Verdict};
pub use discipline::Discipline;
pub use ledger::Counters;
pub use packet::{Ecn, Facts, Packet};
pub use segment::Segment;

use alloc::boxed::Box;
use node::ConfigError;

/// A discipline with its parameters, as data. In a file `kind` has tc's name, and the other keys
/// are the parameters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "snake_case"))]
pub enum Config {
    /// First in, first out.
    Fifo(fifo::Config),
    /// Controlled delay.
    Codel(codel::Config),
    /// Flow queues with controlled delay.
    FqCodel(fq_codel::Config),
    /// Proportional integral controller enhanced.
    Pie(pie::Config),
    /// PIE of cable modems.
    DocsisPie(docsis_pie::Config),
    /// Coupled dual queue for L4S.
    #[cfg_attr(feature = "serde", serde(rename = "dualpi2"))]
    DualPi2(dualpi2::Config),
    /// Shaper, tins, fair queues and AQM in one.
    Cake(cake::Config),
    /// Random early detection.
    Red(red::Config),
    /// Token bucket filter: a shaper.
    Tbf(tbf::Config),
    /// Hierarchical token bucket.
    Htb(htb::Config),
    /// Policer in front of a queue.
    Policer(policer::Config),
    /// Line whose rate changes over time.
    Varying(varying::Config),
    /// Deficit round robin.
    Drr(drr::Config),
    /// Strict priority.
    Prio(prio::Config),
}

impl Default for Config {
    /// A FIFO of 1000 packets.
    fn default() -> Config {
        Config::Fifo(fifo::Config::default())
    }
}

impl Config {
    /// Makes an empty queue. The same seed gives the same decisions.
    ///
    /// # Errors
    /// For a parameter that makes no sense.
    pub fn build(&self, seed: u64) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(match self {
            Config::Fifo(config) => Box::new(fifo::Fifo::new(config.clone())),
            Config::Codel(config) => Box::new(codel::Codel::new(config)?),
            Config::FqCodel(config) => Box::new(fq_codel::FqCodel::new(config.clone(), seed)?),
            Config::Pie(config) => Box::new(pie::Pie::new(config.clone(), seed)?),
            Config::DocsisPie(config) => {
                Box::new(docsis_pie::DocsisPie::new(config.clone(), seed)?)
            }
            Config::DualPi2(config) => Box::new(dualpi2::DualPi2::new(config.clone())?),
            Config::Cake(config) => Box::new(cake::Cake::new(config.clone(), seed)?),
            Config::Red(config) => Box::new(red::Red::new(config.clone(), seed)?),
            Config::Tbf(config) => Box::new(tbf::Tbf::new(config, seed)?),
            Config::Htb(config) => Box::new(htb::Htb::new(config, seed)?),
            Config::Policer(config) => Box::new(policer::Policer::new(config, seed)?),
            Config::Varying(config) => Box::new(varying::Varying::new(config, seed)?),
            Config::Drr(config) => Box::new(drr::Drr::new(config, seed)?),
            Config::Prio(config) => Box::new(prio::Prio::new(config, seed)?),
        })
    }
}
