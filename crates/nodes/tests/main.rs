//! What nodes do, told as stories: frames go in at times that the test moves by hand.

mod allocation;
mod capture;
mod covert;
mod echo;
mod filter;
mod fragments;
mod hand;
mod host;
#[cfg(feature = "serde")]
mod keys;
mod meter;
mod mirror;
mod ping;
mod schedules;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
