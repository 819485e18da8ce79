//! Behaviour of servers, forwarders, resolvers and relays.

mod allocation;
mod forwarder;
#[cfg(target_os = "linux")]
mod kernel;
mod relays;
mod resolver;
mod scenarios;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
