//! Configuration of hosts: DHCP and DHCPv6 servers, relays and clients, prefix delegation, router advertisements.
//!
//! Everything here does no I/O and reads no clock. The protocols are cores that take a message and give a message: a
//! program outside a node can use them, too. [`service`] puts them next to the interfaces of hosts and routers.
//!
//! | module | content |
//! |---|---|
//! | [`service`] | the services of labs and their configurations: start here |
//! | [`v4`] | DHCP: messages, [server](v4::server), [its policy](v4::policy), [client](v4::client), [relay](v4::relay) |
//! | [`v6`] | DHCPv6: the same, with delegated prefixes |
//! | [`advertisement`] | router advertisements and their times |
//! | [`leases`] | leases of addresses and prefixes, with limits |
//! | [`domain`] | domain names in options |
//! | [`datagram`] | UDP datagrams in frames |
//!
//! A server asks a policy which addresses a client may have. This one gives each client a subnet of four addresses of its own, for 30 s:
//!
//! ```
//! use dhcp::leases::Range;
//! use dhcp::v4::message::{Header, Kind, Message, REQUEST, Writer, option};
//! use dhcp::v4::options::Options;
//! use dhcp::v4::policy::{Grant, Policy, Request};
//! use dhcp::v4::server::{Arrival, Server, Settings};
//! use node::Time;
//! use std::borrow::Cow;
//! use std::collections::BTreeMap;
//! use std::net::Ipv4Addr;
//!
//! #[derive(Debug, Default)]
//! struct Apart(BTreeMap<Vec<u8>, u32>);
//!
//! impl Policy for Apart {
//!     fn decide(&mut self, _now: Time, request: &Request<'_>) -> Result<Grant<'_>, &'static str> {
//!         let next = self.0.len() as u32;
//!         let subnet = 0x0A00_0100 + 4 * *self.0.entry(request.client.to_vec()).or_insert(next);
//!         let mut options = Options::default();
//!         options.set_addresses(option::ROUTER, &[Ipv4Addr::from(subnet + 1)]);
//!         Ok(Grant {
//!             ranges: Cow::Owned(vec![Range::one((subnet + 2).into())]),
//!             prefix: 30,
//!             lease: Time::from_secs(30),
//!             server: Some(Ipv4Addr::from(subnet + 1)),
//!             options: Cow::Owned(options),
//!         })
//!     }
//! }
//!
//! let mut server = Server::new(Apart::default(), Settings::default());
//! let header = Header {
//!     op: REQUEST,
//!     xid: 7,
//!     secs: 0,
//!     broadcast: false,
//!     ciaddr: Ipv4Addr::UNSPECIFIED,
//!     yiaddr: Ipv4Addr::UNSPECIFIED,
//!     siaddr: Ipv4Addr::UNSPECIFIED,
//!     giaddr: Ipv4Addr::UNSPECIFIED,
//!     chaddr: "02:00:00:00:00:07".parse().unwrap(),
//! };
//! let (mut discover, mut offer) = (Vec::new(), Vec::new());
//! Writer::new(&mut discover, &header, Kind::Discover, 1472).end();
//! let arrival = Arrival { port: 0, server: [10, 0, 0, 1].into() };
//! let reply = server.handle(Time::ZERO, &arrival, &discover, &mut offer)?.unwrap();
//! let message = Message::new(&offer).unwrap();
//! assert_eq!((reply.kind, message.yiaddr()), (Kind::Offer, [10, 0, 1, 2].into()));
//! assert_eq!(message.address(option::SUBNET_MASK), Some([255, 255, 255, 252].into()));
//! # Ok::<(), &'static str>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod advertisement;
pub mod datagram;
pub mod domain;
pub mod leases;
pub mod service;
pub mod v4;
pub mod v6;
