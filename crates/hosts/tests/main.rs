//! Hosts and their transport protocols, as the network sees them.

mod allocation;
mod bbr;
mod closed;
mod control;
mod fragments;
mod grid;
mod hostile;
mod marking;
mod services;
mod transfer;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
