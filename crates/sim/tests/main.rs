//! The simulation: exact times, links and what happens to frames on them.

mod allocation;
mod bad_nodes;
mod blocks;
mod cast;
mod disciplines;
mod dtp;
mod dtp_messages;
mod dtp_rules;
mod dtp_trees;
mod exactness;
mod facts;
mod impairments;
mod middlebox;
mod netem;
mod outages;
mod parallel;
mod pauses;
mod replays;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
