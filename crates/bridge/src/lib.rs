//! Bridges: the learning switch, spanning trees, link aggregation, snooping of multicast membership.
//!
//! Everything here does no I/O and reads no clock.
//!
//! | module | content |
//! |---|---|
//! | [`switch`] | [`Switch`](switch::Switch), the node: start here |
//! | [`lacp`] | link aggregation  trees: STP and RSTP |
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod lacp;
pub mod snooping;
pub mod stp;
pub mod switch;
mod wire;
