//! OpenFlow 1.0 and 1.3: codec, flow tables, a switch as a node, and controllers.
//!
//! Nothing here does I/O or reads a clock. A control channel is [segments](packet::segment) on a port of the node,
//! which a simulated link, a socket or a simulated TCP connection carries.
//!
//! | module | what is in it |
//! |---|---|
//! | [`message`] | the messages of both versions as one model: [`message::Message`], encode, decode, framing |
//! | [`handshake`] | the exchange of hellos that picks a version |
//! | [`oxm`], [`matching`] | match fields, and the match that 1.0 and 1.3 write differently |
//! | [`action`], [`instruction`] | what is done with a packet |
//! | [`text`] | flows, groups and meters in the syntax of ovs-ofctl |
//! | [`port`] | port numbers and descriptions |
//! | [`fault`] | the errors that the specification names |
//! | [`cbench`] | a benchmark of controllers |
//! | [`channel`] | control channels: connections over segments |
//! | [`controller`] | controllers: the library and its programs |
//! | [`key`], [`table`] | a frame's fields packed into words, and flow tables over them |
//! | [`switch`] | a switch as a node |
//! | [`rewrite`] | what actions do to the bytes of a frame |
//! | [`flops`] | OFLOPS: measurements of a switch |
//! | [`snmp`] | requests and answers of SNMP version 2c |
//! | [`list`] | lists that are read from the bytes of a message, or written from a slice |
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod action;
mod bytes;
pub mod cbench;
pub mod channel;
pub mod controller;
pub mod fault;
pub mod flops;
pub mod handshake;
pub mod instruction;
pub mod key;
pub mod list;
pub mod matching;
pub mod message;
pub mod oxm;
pub mod port;
#[allow(unsafe_code)] // an instruction that every processor of the kind has
mod prefetch;
pub mod rewrite;
pub mod snmp;
pub mod switch;
pub mod table;
pub mod text;
pub mod version;
