//! OFLOPS: what an OpenFlow switch does, measured at its control channel and its ports together.
//!
//! A test is a [`Module`]; [`Flops`] is the node that runs it. The node has a control channel (port 0) and two
//! data channels (ports 1 and 2), all of one clock, so that what a switch says can be held against what it does.
//! Nothing here knows a world: in simulated time a switch with known delays tests the instrument, in the live
//! world the same test measures a real one.
//!
//! ```text
//!            port 0: control            port 1: probes leave      port 2: probes arrive
//!                 |                            |                         |
//!          [ switch under test ] <-------------+                         |
//!                 +------------------------------------------------------+
//! ```
//!
//! With [`Setup::cable`] ports 3 and 4 are a cable without a switch: what probes take there is the instrument's own.
//!
//! A module is told what happens - the switch is connected, a message came, a probe arrived, a timer went off, an
//! SNMP value came - and acts through its [`Bench`]: it sends messages, starts streams of probes, sets timers,
//! and ends the test. [`Report`] is what came of it.
//!
//! | module | the paper's | what it measures |
//! |---|---|---|
//! | [`actions::Actions`] | table 3.2, section 3.4.1 | delay and loss of each action, and of several in one entry |
//! | [`update::Update`] | figures 3.4, 3.5 and, with polls, 3.7 | insertion, modification, deletion: the barrier beside the data plane |
//! | [`intercept::Intercept`] | figure 3.3 | latency of packet-in and packet-out |
//! | [`monitor::Monitor`] | figure 3.6 | the delay of flow statistics, and what they cost the processor |
//!
//! A module of one's own is as good as these:
//!
//! ```
//! use node::{Channel, Graph, Time};
//! use openflow::flops::{Bench, Flops, Module, Report, Row, Setup};
//! use openflow::message::Message;
//! use openflow::switch::{Config, Switch};
//! use std::sync::mpsc;
//!
//! /// How long an echo takes.
//! struct Echo {
//!     asked: Time,
//!     row: Row,
//! }
//!
//! impl Module for Echo {
//!     fn name(&self) -> &str {
//!         "echo"
//!     }
//!
//!     fn start(&mut self, bench: &mut Bench<'_>) {
//!         self.asked = bench.now();
//!         bench.send(&Message::BarrierRequest);
//!     }
//!
//!     fn message(&mut self, bench: &mut Bench<'_>, _xid: u32, message: &Message<'_>) {
//!         if *message == Message::BarrierReply {
//!             self.row.add("delay", bench.now() - self.asked);
//!             bench.finish();
//!         }
//!     }
//!
//!     fn report(&mut self) -> Report {
//!         Report {
//!             of: "message".into(),
//!             rows: vec![std::mem::take(&mut self.row)],
//!             ..Report::default()
//!         }
//!     }
//! }
//!
//! let (sender, reports) = mpsc::channel();
//! let echo: Box<dyn Module> = Box::new(Echo {
//!     asked: Time::ZERO,
//!     row: Row::new("barrier", 1),
//! });
//! let sink = Box::new(move |report| sender.send(report).unwrap());
//! let mut graph = Graph::default();
//! let flops = graph.add("flops", Box::new(Flops::new(Setup::default(), [echo], sink)));
//! let config = Config {
//!     ports: 2,
//!     ..Config::default()
//! };
//! let switch = graph.add("s1", Box::new(Switch::new(config)?));
//! // Port 2 of the switch is its control port.
//! for (own, far, delay) in [(0, 2, 50), (1, 0, 0), (2, 1, 0)] {
//!     let channel = Channel {
//!         rate: None,
//!         delay: Time::from_us(delay),
//!         ..Channel::default()
//!     };
//!     graph.connect((flops, own), (switch, far), channel);
//! }
//! let options = sim::Options {
//!     until: Some(Time::from_secs(5)),
//!     ..sim::Options::default()
//! };
//! sim::run(graph, options)?;
//! let report: Report = reports.recv()?;
//! assert_eq!(report.rows[0].times("delay"), [Time::from_us(100)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod actions;
mod bench;
pub mod intercept;
mod modification;
pub mod monitor;
mod node;
pub mod probe;
mod report;
mod rules;
pub mod update;

pub use bench::{Agent, Bench, Value};
pub use node::{CABLE, CAPTURE, CONTROL, Flops, GENERATE, Sink};
pub use report::{Report, Row, Series};
pub use rules::Matching;

use crate::message::Message;
use crate::port::PortNo;
use crate::version::Version;
use ::node::Time;
use probe::Arrival;

/// What all tests need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The version to speak.
    pub version: Version,
    /// The switch's port at which probes come in.
    pub enters: PortNo,
    /// The switch's port by which they leave.
    pub leaves: PortNo,
    /// Whether the instrument's ports 3 and 4 are the two ends of a cable, by which it tells what it takes itself.
    pub cable: bool,
}

impl Default for Setup {
    /// Version 1.3, from port 1 to port 2, no cable.
    fn default() -> Setup {
        Setup {
            version: Version::V13,
            enters: PortNo(1),
            leaves: PortNo(2),
            cable: false,
        }
    }
}

/// A test. Each call is one event; what it does is done through the bench.
pub trait Module: Send {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// The switch is connected, has no entries, and sends whole packets to the controller.
    fn start(&mut self, bench: &mut Bench<'_>);

    /// A message of the switch: its xid, and what it says. Hellos and echoes are dealt with.
    fn message(&mut self, _bench: &mut Bench<'_>, _xid: u32, _message: &Message<'_>) {}

    /// Whether an error message of the switch is a result of this test. Default `false`: it is a fault.
    fn measures_refusals(&self) -> bool {
        false
    }

    /// A probe has arrived at a data channel.
    fn probe(&mut self, _bench: &mut Bench<'_>, _arrival: &Arrival<'_>) {}

    /// A timer went off: the number that it was set with.
    fn timer(&mut self, _bench: &mut Bench<'_>, _number: u64) {}

    /// A value came over the SNMP channel, in answer to [`Bench::ask`].
    fn value(&mut self, _bench: &mut Bench<'_>, _value: Value) {}

    /// All that the controller has sent so far was taken by the far end.
    fn taken(&mut self, _bench: &mut Bench<'_>) {}

    /// What was measured.
    fn report(&mut self) -> Report;
}

/// How long a switch has to settle before something is measured.
pub const SETTLE: Time = Time::from_ms(100);
