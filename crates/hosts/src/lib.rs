//! Hosts with a TCP/IP stack, and the programs that run on them.
//!
//! Nothing here does I/O or reads a clock: a host is a node with one port, and its stack is told the world's time.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod address;
mod connections;
pub mod control;
pub mod endpoint;
pub mod host;
mod net;
pub mod pinger;
pub mod program;
mod thinned;
