//! Behaviour of routers.

mod nat;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
