//! Bridges and their protocols, in time that the tests move.

mod allocation;
mod hand;
mod protocols;
mod snooping;
mod stp;
mod switch;
mod world;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
