//! Routers: forwarding by longest prefix, ICMP errors as Linux sends them, address translation.
//!
//! Everything here does no I/O and reads no clock.
//!
//! | module | content |
//! |---|---|
//! | [`router`] | [`Router`](router::Router), the node: start here |
//! | [`route`], [`rule`] | routes and rules in the words of iproute2 |
//! | [`tables`] | routing tables of a VRF, and the rules that choose one |
//! | [`fib`] | longest prefix match |
//! | [`mpls`] | routes of labels |
//! | [`nat`] | network address translation |
//! | [`siit`] | stateless translation between IPv4 and IPv6 |
//! | [`prefix`] | prefixes of networks |
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod fib;
pub mod mpls;
pub mod nat;
pub mod prefix;
pub mod route;
pub mod router;
pub mod rule;
pub mod siit;
pub mod tables;
