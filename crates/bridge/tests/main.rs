//! Bridges and their protocols, in time that the tests move.

mod hand;
mod stp;
mod switch;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
