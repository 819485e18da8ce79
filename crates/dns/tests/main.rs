//! Behaviour of servers, forwarders, resolvers and relays.

#[cfg(target_os = "linux")]
mod kernel;
