//! DNS: authoritative server, forwarder, resolver; relays of mDNS and SSDP.
//!
//! Everything here does no I/O and reads no clock.
//!
//! | module | content |
//! |---|---|
//! | [`server`], [`zone`] | authoritative server, and zones from master files |
//! | [`recursive`] | the interface of forwarder and resolver |
//! | [`forwarder`] | forwarder with a cache |
//! | [`resolver`] | iterative resolver |
//! | [`mdns`], [`ssdp`] | relays between links |
//! | [`service`] | all of these as services of a router or host |
//! | [`policy`] | decisions about the questions of clients |
//! | [`front`], [`reply`] | questions of clients that wait, and their responses |
//! | [`dns64`] | AAAA records for a NAT64 |
//! | [`cache`] | responses that are kept |
//! | [`exchange`] | queries under way to servers |
//! | [`message`], [`name`] | messages and names in place |
//! | [`recent`] | rates of relays, and the end of loops |
//! | [`lru`] | a map that knows which entry was used least recently |
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod build;
pub mod cache;
pub mod dns64;
pub mod exchange;
pub mod forwarder;
pub mod front;
pub mod lru;
pub mod mdns;
pub mod message;
pub mod name;
pub mod policy;
pub mod recent;
pub mod recursive;
pub mod reply;
pub mod resolver;
pub mod server;
pub mod service;
pub mod ssdp;
pub mod zone;
