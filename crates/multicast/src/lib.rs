//! Membership of multicast groups: IGMP and MLD, of routers, hosts and those between them.
//!
//! Everything here does no I/O and reads no clock.
//!
//! | module | content |
//! |---|---|
//! | [`message`] | messages of IGMPv1 to v3, MLDv1 and v2 |
//! | [`membership`] | state of one group |
//! | [`querier`] | queries, and which querier sends them |
//! | [`host`] | reports of a host |
//! | [`proxy`] | a service of routers: querier, proxy, forwarding of packets to groups |
//! | [`member`] | a service of hosts: a member of groups |
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod host;
mod link;
pub mod member;
pub mod membership;
pub mod message;
pub mod proxy;
pub mod querier;
