//! Routes through load balancers: Paris traceroute and multipath discovery.
//!
//! A probe's flow identifier decides its path through per-flow load balancers. [`probe`] keeps it constant where a path is
//! followed, and varies it where all paths are looked for; [`discovery`] decides which flow is sent to which hop.
//! Everything here does no I/O and reads no clock; whatever peers send, memory is bounded.
//!
//! | module | content |
//! |---|---|
//! | [`tracer`] | [`Trace`](tracer::Trace), the node: start here |
//! | [`discovery`] | the algorithms, as a state machine: Paris, MDA, MDA-Lite |
//! | [`graph`] | interfaces found at each hop, and the links between them |
//! | [`stopping`] | number of probes after which a search for further interfaces stops |
//! | [`probe`] | building probes and reading answers |
//! | [`labels`] | MPLS label stacks in ICMP errors |
//! | [`warts`] | archives of scamper: reading and writing |
//! | [`archive`] | a trace as records of an archive |
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod archive;
pub mod discovery;
pub mod graph;
pub mod labels;
pub mod probe;
pub mod stopping;
pub mod tracer;
pub mod warts;

pub use discovery::Algorithm;
