//! Ports, hooks and worlds on Linux, in namespaces that the tests make. Without the rights to make them a test says that it was skipped.

mod around_router;
mod callback;
mod facts;
mod filter_expressions;
mod hook;
mod kernel_and_bridge;
mod kernel_and_ecn;
mod kernel_and_firewall;
mod kernel_and_hosts;
mod kernel_and_interface;
mod kernel_and_nodes;
mod kernel_and_router;
mod page;
mod ports;
mod programs;
mod world;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
