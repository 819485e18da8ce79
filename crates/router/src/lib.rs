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
//! | [`mpls`], [`label_route`] | label stacks, and routes of labels |
//! | [`nat`] | network address translation |
//! | [`nat64`] | stateful translation between IPv6 clients and IPv4 servers |
//! | [`siit`] | stateless translation between IPv4 and IPv6 |
//! | [`port_mapping`] | PCP, NAT-PMP and UPnP for the NAT |
//! | [`conntrack`] | connections and their states |
//! | [`firewall`] | rules in a subset of the language of nftables, and the SYN proxy |
//! | [`prefix`] | prefixes of networks |
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod conntrack;
pub mod fib;
pub mod firewall;
pub mod label_route;
pub mod mpls;
pub mod nat;
pub mod nat64;
pub mod port_mapping;
pub mod prefix;
pub mod route;
pub mod router;
pub mod rule;
pub mod siit;
pub mod tables;
