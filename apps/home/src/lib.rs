//! A home router on which people admit devices, and which all traffic of a device passes.
//!
//! A new device gets an address for 30 s and reaches nothing until there is a decision about it. Each device has a /30 of its own, so that
//! traffic between two devices is routed and checked like any other (paper 003, chapter 4).
//!
//! ```text
//! devices - LAN ports - OpenFlow switch - uplink - router (gateway address, NAT) - WAN
//!                             |
//!                     control program (Gateway)
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`home`](mod@home) | start here: [`Home`], the devices and all decisions, and their changes |
//! | [`device`] | a [`Device`] and the decisions about it |
//! | [`people`], [`limits`] | owners of devices; bedtime and quota of devices and people |
//! | [`bedtime`], [`calendar`] | times of the week; local time |
//! | [`identity`] | evidence that a new MAC address is a known device again |
//! | [`authentication`] | IEEE 802.1X |
//! | [`association`] | text of hostapd's control interface |
//! | [`domains`] | domains that a device may reach |
//! | [`plan`], [`networks`] | addresses of the devices and of the router, in IPv4 and in IPv6 |
//! | `live` | the router on interfaces of this machine |
//! | `clock` | router time and Unix time |
//! | `secret` | random secrets |
//! | `store` | state that survives a restart, in SQLite |
//! | `invitations` | links by which guests are permitted |
//! | `messages` | messages by webhook and MQTT |
//! | `web` | the API and the board, over HTTPS |
//! | [`gateway`] | the control program of the switch, with the parts below |
//! | [`dhcp`] | IPv4 addresses of devices |
//! | [`delegation`] | the IPv6 prefix of the home |
//! | [`discovery`], [`dhcpv6`] | prefixes and IPv6 addresses of devices: router advertisements and DHCPv6 |
//! | [`dns`], [`names`] | interception of DNS, and the names of addresses |
//! | [`flows`] | flows and their entries in the switch |
//! | [`accounts`] | traffic of devices, flows and ports |
//! | [`groups`] | broadcasts, multicast DNS and SSDP |
//! | [`rehearse`] | a decision tried on the flows of the last hour, in simulated time |
//! | [`rules`], [`frame`] | entries and frames that the program makes |
//! | [`rate`] | token buckets |
//! | [`record`] | rows about flows, links and leases for a database |
//! | `tables` | these rows in a stream database |
//! | [`node`] | the control program as a node |
//! | `lab` | with the feature of this name: the kind `home` for lab files |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod accounts;
pub mod association;
pub mod authentication;
pub mod bedtime;
pub mod calendar;
#[cfg(feature = "program")]
pub mod clock;
pub mod delegation;
pub mod device;
pub mod dhcp;
pub mod dhcpv6;
pub mod discovery;
pub mod dns;
pub mod domains;
pub mod flows;
pub mod frame;
pub mod gateway;
pub mod groups;
pub mod home;
pub mod identity;
#[cfg(feature = "program")]
pub mod invitations;
#[cfg(feature = "lab")]
pub mod lab;
pub mod limits;
#[cfg(feature = "program")]
pub mod live;
#[cfg(feature = "program")]
pub mod messages;
pub mod names;
pub mod networks;
pub mod node;
pub mod people;
pub mod plan;
pub mod rate;
pub mod record;
pub mod rehearse;
pub mod rules;
#[cfg(feature = "program")]
pub mod secret;
#[cfg(feature = "program")]
pub mod store;
#[cfg(feature = "program")]
pub mod tables;
#[cfg(feature = "program")]
pub mod web;

pub use device::{Admission, Device};
pub use gateway::{Gateway, Settings};
pub use home::{Change, Home, Journal, Notice, Refused, Shared};
pub use node::HomeNode;
