//! Wireline for those who write nodes of their own: all that such a program needs, from one crate.
//!
//! [`main`] is the command `wire` with the kinds of nodes of a [`Registry`]; the folder `examples/own-node` has a whole program.
//! A node can also be put into a [`node::Graph`] by hand:
//!
//! ```
//! use wireline::node::{Channel, Frame, Graph, Node, Out, Port, Properties, Time};
//! use wireline::{nodes, sim};
//!
//! /// Sends every frame back.
//! struct Mirror;
//!
//! impl Node for Mirror {
//!     fn properties(&self) -> Properties {
//!         Properties::of(1)
//!     }
//!     fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
//!         frames.drain(..).for_each(|frame| out.send(port, frame));
//!     }
//! }
//!
//! let generator = nodes::generator::Config { count: Some(3), gap: Some(Time::from_us(2)), ..Default::default() };
//! let mut graph = Graph::default();
//! let a = graph.add("a", Box::new(nodes::generator::Generator::new(generator).unwrap()));
//! let b = graph.add("b", Box::new(Mirror));
//! graph.connect((a, 0), (b, 0), Channel { delay: Time::from_ns(500), ..Channel::default() });
//! let outcome = sim::run(graph, sim::Options::default())?;
//! assert_eq!(outcome.nodes[0].counters[2], ("received".into(), 3));
//! # Ok::<(), sim::SimError>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub use cli::main;
pub use lab::{Context, Instrument, Lab, Registry, Report};
pub use node::ConfigError;
pub use {serde, serde_json};

pub use {lab, live, measure, node, nodes, packet, plot, report, sim};
