//! Behaviour of the disciplines: against independent models and against theory, and properties that
//! hold for every sequence.

mod acks;
mod allocation;
mod drive;
mod facts;
#[cfg(feature = "serde")]
mod keys;
mod models;
mod ns3;
mod properties;
mod tc;
mod tc_testing;
mod theory;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
