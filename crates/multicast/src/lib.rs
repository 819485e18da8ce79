//! Membership of multicast groups: IGMP and MLD, of routers, hosts and those between them.
//!
//! Everything here does no I/O and reads no clock.
//!
//! | module | content |
//! |---|---|
//! | [`message`] | messages of IGMPv1 to v3, MLDv1 and v2 |
//! | [`membership`] | state of one group |
//! | [`querier`] | queries, and who sends them |
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod membership;
pub mod message;
pub mod querier;
