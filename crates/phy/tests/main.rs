//! The 10GBASE-R coding against a reference of a bit at a time.

mod allocation;
mod blocks;
mod decode;
mod receive;
mod reference;
mod scramble;
mod streams;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
