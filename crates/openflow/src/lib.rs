//! OpenFlow 1.0 and 1.3: codec, flow tables, a switch as a node, and controllers.
//!
//! Nothing here does I/O or reads a clock. A control channel is [segments](packet::segment) on a port of the node,
//! which a simulated link, a socket or a simulated TCP connection carries.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod channel;
pub mod key;
pub mod table;
