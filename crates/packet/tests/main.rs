//! Packets, their lines, records and capture files.

mod allocation;
mod bounds;
mod captures;
mod headers;
mod line;
mod record;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
