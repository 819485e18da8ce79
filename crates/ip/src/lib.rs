//! One IP interface: addresses, routes, neighbours, ICMP and fragments, of both versions, over Ethernet.
//!
//! An [`Interface`] does no I/O and reads no clock. It answers for its addresses (ARP, neighbour discovery, pings, closed
//! ports), finds the MAC addresses of those it sends to, cuts and reassembles packets, and hands packets for the
//! host's own protocols to its caller. Whatever peers send, its memory and the bytes it sends back are bounded.
//!
//! | module | content |
//! |---|---|
//! | [`interface`] | [`Interface`]: start here |
//! | [`address`] | addresses with a prefix, as people write them |
//! | [`addresses`] | own addresses: duplicate detection and lifetimes |
//! | [`routes`] | routes by longest prefix |
//! | [`neighbours`] | neighbours and their states, packets that wait |
//! | [`discovery`] | messages of ARP and neighbour discovery |
//! | [`routers`] | autoconfiguration from router advertisements |
//! | [`icmp`] | echo and errors |
//! | [`embedding`] | IPv4 addresses in IPv6 addresses |
//! | [`extended`] | extensions of ICMP errors |
//! | [`reset`] | the answer of a closed TCP port |
//! | [`limit`] | the rate limit of errors |
//! | [`fragments`] | fragmentation and reassembly |
//! | [`options`] | options of IPv4 headers |
//! | [`extensions`] | extension headers of IPv6 with options |
//! | [`host`] | a node that only answers |
//! | [`service`] | what runs next to interfaces: servers of DHCP, DNS and the like |
//! | [`header`] | IP and UDP headers in frames |
//!
//! ```
//! use ip::interface::{Config, Interface, Received};
//! use node::{Frame, Out, Time};
//! use packet::{arp::Arp, ethernet::Mac};
//!
//! let mut interface = Interface::new(Config {
//!     addresses: vec!["10.0.0.2/24".parse().unwrap()],
//!     ..Config::default()
//! });
//! let mut request = Vec::new();
//! Arp::request(Mac([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into(), [10, 0, 0, 2].into())
//!     .build_frame(&mut request);
//! let mut out = Out::default();
//! let received = interface.handle_frame(Time::ZERO, Frame::new(&request), &mut out);
//! assert!(matches!(received, Received::Consumed));
//! let reply = out.sends().next().unwrap().frame;
//! assert_eq!(Arp::parse(&reply[14..]).unwrap().sender.octets(), [10, 0, 0, 2]);
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod address;
pub mod addresses;
pub mod discovery;
pub mod embedding;
pub mod extended;
pub mod extensions;
pub mod fragments;
pub mod header;
pub mod host;
pub mod icmp;
pub mod interface;
pub mod limit;
pub mod neighbours;
pub mod options;
pub mod reset;
pub mod routers;
pub mod routes;
pub mod service;

pub use interface::{Config, Interface, Received};
