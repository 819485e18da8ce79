//! The OpenFlow messages, the switch and its channel.

mod channel_allocation;
mod faults;
mod flops;
mod messages;
mod os_ken;
mod properties;
mod samples;
mod switch_allocation;
mod text;
mod wireshark;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
