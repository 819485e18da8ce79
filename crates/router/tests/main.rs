//! Behaviour of routers, by hand-made frames. What Linux does is compared in `crates/live/tests/kernel_and_router.rs`.

mod allocation;
mod border;
mod conntrack;
mod crossing;
mod firewall;
mod forwarding;
mod hand;
mod hostile;
mod mpls;
mod multipath;
mod nat;
mod nat64_model;
mod port_mapping;
mod services;
mod siit;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
