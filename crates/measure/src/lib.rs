//! What is measured of packets, and is no node: figures of a stream, comparisons of two, and what test packets carry.
//!
//! | module | what is in it |
//! |---|---|
//! | [`clock`] | reports on clocks: how far off one was, and what it shows |
//! | [`compare`] | what a device did to packets, from captures on both sides of it |
//! | [`distribution`] | how times and sizes that differ are spread, and draws from it |
//! | [`durations`] | lengths of time beyond 64 bits: sums and how they are spread |
//! | [`probe`] | the test payload by which a meter knows a generator's frames |
//! | [`profile`] | what a stream of packets is like in time: gaps, bursts, rate |
//! | [`statistics`] | loss, order, gaps and delays of a stream, frame by frame |
//!
//! The histogram is [`node::Histogram`]: links, worlds and reports count in it too.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod clock;
pub mod compare;
pub mod distribution;
pub mod durations;
pub mod probe;
pub mod profile;
pub mod statistics;
