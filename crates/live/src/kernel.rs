//! What talks to the kernel. Nothing here knows of ports, nodes or graphs.

pub mod bpf;
pub mod capability;
pub mod clock;
pub mod control;
pub mod datagram;
pub mod ebpf;
pub mod file;
pub mod file_system;
pub mod filter;
pub mod interface;
pub mod netlink;
pub mod netns;
pub mod nfqueue;
pub mod output;
pub mod page;
pub mod random;
pub mod remover;
pub mod scheduling;
pub mod signal;
pub mod statistics;
pub mod thread;
pub mod user;
pub mod wait;
pub mod wake;
