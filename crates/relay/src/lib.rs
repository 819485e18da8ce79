//! Relay nodes: what a router may do with packets beyond sending them on (paper 004).
//!
//! Each is a node with as many ports as the router has ways, so the same one runs between links in simulated time,
//! on live ports, and at a hook of the kernel's own forwarding path, where each packet waits for the answer: sent on
//! unchanged, sent on changed, or dropped (004 section 4.2, figure 7).
//!
//! | module | what it does with packets |
//! |---|---|
//! | [`compress`] | compresses them while they would wait anyway, and restores them |
//! | [`duplicate`] | sends them over several paths at once, and takes what comes first |
//! | [`early_discard`] | drops those of delay-sensitive flows that would come too late |
//! | [`paths`] | sends flows over several paths, by rule, share, or wait |
//! | [`split`] | splits TCP connections in two while a queue is long |
//! | [`through`] | nothing: they go on as they came |
//! | [`xor`] | sends two that go opposite ways as one, where both sides hear it |
//!
//! | shared by them | what it is |
//! |---|---|
//! | [`backlog`] | how long the queue is behind a port, from one fact to the next |
//! | [`codec`] | the compressors |
//! | [`dictionary`] | dictionaries for zstd, trained on packets |
//! | [`encapsulation`] | compressed packets that ordinary routers forward |
//! | [`rule`] | which packets are meant |
//! | [`table`] | what is remembered of flows, in a fixed space |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod backlog;
pub mod codec;
pub mod compress;
pub mod dictionary;
pub mod duplicate;
pub mod early_discard;
pub mod encapsulation;
pub mod paths;
pub mod rule;
pub mod split;
pub mod table;
pub mod through;
pub mod xor;
