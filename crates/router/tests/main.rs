//! Behaviour of routers.

mod nat;
mod siit;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
