//! Routers and what stands in them: forwarding by longest prefix, ICMP errors as Linux sends them, network address
//! translation.
//!
//! Everything here does no I/O and reads no clock.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod nat;
pub mod siit;
