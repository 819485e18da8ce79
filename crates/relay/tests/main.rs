//! Relays: nodes that compress, duplicate, split and discard.

mod allocation;
mod cast;
mod compress;
mod compress_allocation;
mod duplicate;
mod early_discard;
mod paths;
mod split;
mod transport;
mod xor;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
