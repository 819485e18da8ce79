//! Behaviour of servers, forwarders, resolvers and relays.

mod forwarder;
#[cfg(target_os = "linux")]
mod kernel;
mod scenarios;
