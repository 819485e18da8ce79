//! What talks to the kernel. Nothing here knows of ports, nodes or graphs.

pub mod bpf;
pub mod capability;
pub mod control;
pub mod datagram;
pub mod ebpf;
pub mod filter;
pub mod interface;
pub mod netlink;
pub mod netns;
pub mod nfqueue;
pub mod page;
pub mod remover;
pub mod scheduling;
pub mod statistics;
pub mod thread;
pub mod user;
pub mod wait;
pub mod wake;
