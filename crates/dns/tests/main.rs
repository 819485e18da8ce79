//! Behaviour of servers, forwarders, resolvers and relays.

mod forwarder;
mod scenarios;
#[cfg(target_os = "linux")]
mod kernel;
