//! Bridges and their protocols, in time that the tests move.

mod allocation;
#[path = "../../nodes/tests/hand.rs"]
mod hand;
mod protocols;
mod snooping;
mod stp;
mod switch;
mod world;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
