//! DNS: authoritative server, forwarder, resolver; relays of mDNS and SSDP.
//!
//! Everything here does no I/O and reads no clock.
//!
//! | module | content |
//! |---|---|
//! | [`name`], [`message`] | names and messages in place |
//! | [`zone`] | zones from master files |
//! | [`server`] | authoritative server |
//! | [`lru`] | a map that knows which entry was used least recently |
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod cache;
pub mod exchange;
pub mod forwarder;
pub mod front;
pub mod lru;
pub mod message;
pub mod name;
pub mod policy;
pub mod reply;
pub mod resolver;
pub mod server;
pub mod service;
pub mod zone;
