//! Compiled P4 programs against the interpreter.

mod agreement;
mod allocation;
mod corpus;
mod lookups;
mod nic;
mod passes;
mod paxos;
mod random;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
