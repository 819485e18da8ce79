//! The home router: people admit devices, and all traffic of a device passes the router.
//!
//! A new device gets an address for 30 s and reaches nothing until somebody decides. Each device has a /30 of its own, so that
//! traffic between two devices is routed, seen and permitted like any other (paper 003, chapter 4).
//!
//! | module | content |
//! |---|---|
//! | [`home`](mod@home) | start here: [`Home`], all that people have decided, and the changes of it |
//! | [`device`] | a [`Device`] and the decisions about it |
//! | [`domains`] | domains that a device may reach |
//! | [`plan`] | addresses of the devices and of the router |
//! | [`clock`] | time of the router and of day |
//! | [`store`] | what survives a restart, in SQLite |
//! | [`web`] | the API and the board, over HTTPS |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod clock;
pub mod device;
pub mod domains;
pub mod home;
pub mod plan;
pub mod store;
pub mod web;

pub use device::{Admission, Device};
pub use home::{Change, Home, Journal, Notice, Refused, Shared};
