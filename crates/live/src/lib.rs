//! World 2: Linux ports, their clock, and whole graphs on real interfaces.
//!
//! Everything that needs Linux is here; files, the clock and signals are in the crate `capture`. A port's stamps are CLOCK_MONOTONIC, the counter
//! that all ports of a machine share (FORMATS section 3); what they are worth stands in
//! [`PortInfo`](port::PortInfo).
//!
//! | storey | what is in it |
//! |---|---|
//! | [`world`] | graphs over veth pairs, nodes on ports and at hooks of the kernel, programs in namespaces, ports as files |
//! | [`port`] | what a port is, its kinds, opening one, departures at a time |
//! | `kernel` | what talks to the kernel: the modules below, and netlink, netfilter queues, real-time priority |
//!
//! A storey names only those below it; `.ci/circles` proves it. The modules of the lowest stand at the top of the crate:
//!
//! | module | what is in it |
//! |---|---|
//! | [`bpf`] | filter expressions, compiled by libpcap |
//! | [`datagram`] | UDP in bulk, with stamps of arrival |
//! | [`ebpf`] | programs that run in the kernel, and their maps |
//! | [`filter`] | filter expressions at work on packets of any link type |
//! | [`interface`] | what the kernel tells about an interface |
//! | [`netlink`] | the messages of rtnetlink, nf_tables and netfilter queues |
//! | [`netns`] | network namespaces and veth pairs |
//! | [`nfqueue`] | queues of netfilter: packets that the kernel holds until they are answered |
//! | [`page`] | a clock for programs: its time without a system call |
//! | [`remover`] | a process that removes files in the end |
//! | [`scheduling`] | real-time priority and cores |
//! | [`statistics`] | interface statistics, queues, routes and neighbours, for nodes |
//! | [`thread`] | starting threads |
//! | [`user`] | giving up root |
//!
//! ```no_run
//! use live::port::{self, Options, PortError};
//! use std::time::Duration;
//!
//! let mut port = port::open(&"eth0".parse()?, &Options::default())?;
//! port.rx.receive(Duration::from_secs(1), &mut |packet| {
//!     println!("{} bytes at {} ns", packet.bytes.len(), packet.at_ns);
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod kernel;
pub mod port;
pub mod world;

pub use kernel::{
    bpf, datagram, ebpf, filter, interface, netlink, netns, nfqueue, page, remover, scheduling,
    statistics, thread, user,
};
