//! Multicast membership, in time that the tests move.

mod messages;
mod proxy;
