mod allocation;
mod autoconfiguration;
mod errors;
mod frames;
mod hostile;
mod link;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
