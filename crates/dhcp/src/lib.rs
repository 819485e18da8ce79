#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]
//! x
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod datagram;
pub mod domain;
pub mod leases;
pub mod service;
pub mod v4;
pub mod v6;
